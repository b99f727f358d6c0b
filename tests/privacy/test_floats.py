"""Floating point reveals nothing about exact numbers (docs/proofs.md, 'Floating point', F1, F2)."""

import warnings
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from float_attacks import Floating, contradicts_noise, count_only_from_one, distinguishes

from privcurve.audit.contract import Case, neighbours, train
from privcurve.audit.contract_cases import CASES, RELEASES
from privcurve.audit.fits import CHOICES, MINIMA, NUMBERS, POINTS, SHARES, STREAMS, WHOLE
from privcurve.audit.replay_fits import Replay
from privcurve.coding import Records
from privcurve.learners.majority import NoisyMajorityClassifier
from privcurve.learners.registry import LEARNERS
from privcurve.privacy.account import DoorError
from privcurve.privacy.budget import PUBLISHED
from privcurve.privacy.curator import Curator, call_of
from privcurve.privacy.grid import BITS, LARGEST, grid_of, unit_of
from privcurve.privacy.ledger import (
    ANY_FLOATS,
    OF_CHOICES,
    OF_OBJECTIVES,
    OF_SHARES,
    OF_STREAMS,
    LedgerEntry,
)
from privcurve.privacy.mechanisms import GAUSSIAN, LAPLACE, LARGEST_SCALE, draw_piece
from privcurve.privacy.mechanisms import POINTS as N_POINTS

LAWS = (LAPLACE, GAUSSIAN)


def call(mechanism, scale, loss=1.0):
    """Return a call whose sensitivity is `loss` times the scale."""
    return call_of(LedgerEntry(mechanism, "numbers", 1 / scale, loss * scale, loss))


def curator(seed, kind=Curator):
    return kind(np.random.default_rng(seed))


# The grid ------------------------------------------------------------------------------------


@pytest.mark.parametrize("mechanism", LAWS)
def test_answers_are_whole_units_with_noise_that_no_exact_number_changes(mechanism):
    """Exact numbers from 2^-30 to 2^50 of either sign: answers differ like rounded numbers."""
    rng = np.random.default_rng(0)
    sizes = 2.0 ** rng.uniform(-30, 50, 300)
    for scale in (2.0**-20, 0.3, 1.0, 77.7, 2.0**33):
        of, unit = call(mechanism, scale), unit_of(scale)
        # Below 2^51 units a float holds sums to the unit.
        exact = (rng.choice([-1, 1], 300) * sizes)[sizes < 2.0**51 * unit]
        if not len(exact):
            continue
        none = curator(1)._numbers(of, np.zeros(len(exact))) / unit
        some = curator(1)._numbers(of, exact) / unit
        assert (some == np.rint(some)).all()
        assert (some - none == np.rint(exact / unit)).all()


def test_the_largest_sums_are_rounded_as_functions_of_the_whole_sum():
    """Beyond 2^53 units a float is the float nearest to the integer sum."""
    of, unit = call(LAPLACE, 1.0, loss=2.0**20), unit_of(1.0)
    exact = np.array([2.0**49 + 1 / 8, -(2.0**50) - 0.25, 2.0**30 + 0.75])
    noise = curator(1)._numbers(of, np.zeros(3)) / unit
    answers = curator(1)._numbers(of, exact)
    sums = [int(e / unit) + int(z) for e, z in zip(exact, noise, strict=True)]
    assert answers.tolist() == [float(one) * unit for one in sums]


@pytest.mark.parametrize("mechanism", LAWS)
def test_whole_noise_pays_for_rounding(mechanism):
    """(sensitivity of rounded numbers) / (integer scale) is at most the announced loss.

    Numbers from 2^-30 to 2^50 that differ by the sensitivity, computed with a relative error of
    2^-52.
    """
    rng = np.random.default_rng(2)
    norm = np.linalg.norm if mechanism == GAUSSIAN else lambda x: np.abs(x).sum()
    for _ in range(400):
        size = int(rng.integers(1, 200))
        loss, sensitivity = 2.0 ** rng.uniform(-12, 6), 2.0 ** rng.uniform(-30, 20)
        scale = sensitivity / loss
        grid = grid_of(mechanism, scale, loss, size)
        exact = rng.normal(size=size) * min(2.0 ** rng.uniform(-30, 50), LARGEST * sensitivity)
        exact /= max(1.0, np.abs(exact).sum() / (LARGEST * sensitivity))
        step = rng.normal(size=size) * (rng.random(size) < rng.random())
        step[0] += 1e-9
        moved = exact + step * sensitivity / norm(step)
        sides = [x * (1 + rng.choice([-1, 1], size) * 2.0**-52) for x in (exact, moved)]
        rounded = [np.rint(side / grid.unit) for side in sides]
        assert norm(rounded[0] - rounded[1]) <= loss * grid.scale
        assert grid.scale * grid.unit <= scale * (1 + 2.0**-19) + 2 * size * grid.unit / loss


def test_the_grid_follows_only_from_the_scale_and_its_noise_has_room():
    for scale in (1e-300, 1e-6, 0.5, 1.0, 3.0, 1e30):
        grid = grid_of(LAPLACE, scale, 1.0, 10)
        assert np.frexp(grid.unit)[0] == 0.5
        assert 2 ** (BITS - 1) <= grid.scale <= 2**BITS * 1.001
    with pytest.raises(ValueError, match=r"epsilon must be larger: laplace noise .* does not fit"):
        grid_of(LAPLACE, 1.0, 1e-12, 100)
    assert grid_of(LAPLACE, 1.0, 1e-10, 100).scale <= LARGEST_SCALE


@pytest.mark.parametrize("mechanism", LAWS)
@pytest.mark.parametrize(
    ("exact", "why"),
    [
        (np.nan, "finite"),
        (np.inf, "finite"),
        (-np.inf, "finite"),
        (2.0**50, "times their sensitivity"),
        (-(2.0**1000), "times their sensitivity"),
    ],
)
def test_numbers_that_no_grid_holds_are_refused(mechanism, exact, why):
    """Floating-point sums of 2^50 can have a sensitivity of 2^20, but not of 1."""
    entry = LedgerEntry(mechanism, "numbers", 1.0, 1.0, 1.0)
    with pytest.raises(DoorError, match=why):
        curator(0).numbers(call_of(entry), [0.0, exact])
    if exact == 2.0**50:
        wide = replace(entry, noise_rate=2.0**-20, sensitivity=2.0**20)
        curator(0).numbers(call_of(wide), [0.0, exact])


# Kinds of answers of each learner --------------------------------------------------------------

ASKED = {
    "_numbers": NUMBERS, "_whole_numbers": WHOLE, "_choose_exactly": WHOLE, "_choose": CHOICES,
    "_signs": CHOICES, "_noise": CHOICES, "uniform": CHOICES, "_threshold": POINTS,
    "_objective": MINIMA, "generator": STREAMS,
}  # fmt: skip


class Noted(Curator):
    """A curator that notes how a fit, its runs and its parties release answers."""

    def __init__(self, source, party=False, seen=None):
        super().__init__(source, party)
        self.seen = set() if seen is None else seen

    def _inner(self, start):
        return Noted(super()._inner(start)._source, seen=self.seen)

    def _holder(self, start):
        return Noted(super()._holder(start)._source, True, self.seen)

    def _share(self, call, exact, parts, unit):
        self.seen.add(SHARES if parts > 1 and call.mechanism == LAPLACE else NUMBERS)
        return super()._share(call, exact, parts, unit)


def noting(name, kind):
    def ask(self, *given, **more):
        self.seen.add(kind)
        return getattr(super(Noted, self), name)(*given, **more)

    return ask


for method, kind in ASKED.items():
    setattr(Noted, method, noting(method, kind))

# Published loops that draw by themselves are not cases, because no script can answer them.
FITTED = [
    *CASES,
    *(Case(name, {"calibration": PUBLISHED}) for name in ("bdpe", "dp_forest") if name in LEARNERS),
]


# Sentences on floating-point arithmetic, by kind of answer.
LEAVES = {CHOICES: OF_CHOICES, POINTS: OF_CHOICES, SHARES: OF_SHARES, MINIMA: OF_OBJECTIVES,
          STREAMS: OF_STREAMS}  # fmt: skip


def seen_in(case):
    """Return the kinds of answers in a real fit, and its statement's sentences; or nothing."""
    rng = np.random.default_rng(1)
    universe = case.universe
    for _ in range(5):
        rows = [universe[k] for k in rng.integers(len(universe), size=max(case.sizes))]
        noted = Noted(np.random.default_rng(3))
        try:
            model = train(case, case.table(rows), noted)
        except ValueError:
            continue
        return noted.seen, {t for t in model.privacy_.exclusions if t.startswith(ANY_FLOATS)}
    return set(), set()


@pytest.mark.parametrize("name", [n for n, e in LEARNERS.items() if e.private and not e.peer])
def test_each_learner_says_how_it_releases_answers(name):
    """A new learner fails until it is listed; answers in numbers or points are attacked below."""
    fits = [seen_in(case) for case in FITTED if case.learner == name]
    assert set().union(*(seen for seen, _ in fits)) == RELEASES[name]
    for seen, text in fits:
        left = {LEAVES[kind] for kind in seen & set(LEAVES)}
        # `tuned` keeps its settings secret, so its statement has the sentences of all of them.
        assert text >= left if name == "tuned" else text == left


# Attacks on exact numbers ----------------------------------------------------------------------


@cache
def numbers_of(name):
    """Return a learner's calls, each with the exact numbers of two neighbours."""
    calls = []
    for case in (case for case in CASES if case.learner == name):
        some = {}
        for k, pair in enumerate(neighbours(replace(case, sizes=case.sizes[-1:]), 8, seed=3)):
            first = Replay([k])
            second = Replay([k], first)
            try:
                for side, replay in zip(pair, (first, second), strict=True):
                    train(case, side, replay)
            except ValueError:
                continue
            runs = [(first, second), *zip(first.runs, second.runs, strict=True)]
            events = [e for a, b in runs for e in zip(a.all_events, b.all_events, strict=True)]
            for one, other in events:
                if one.kind == "numbers":
                    (of,) = one.calls.ravel().tolist()
                    place = np.argmax(np.abs(one.exact - other.exact))
                    exact = [side.exact.ravel()[place] * of.scale for side in (one, other)]
                    if exact[0] != exact[1]:
                        some.setdefault((of.mechanism, of.what or of.entry.what), (of, *exact))
        calls += [value for _, value in sorted(some.items())[:1]]
    return calls


CONTINUOUS = sorted(name for name, kinds in RELEASES.items() if NUMBERS in kinds)


@pytest.mark.parametrize("name", CONTINUOUS)
def test_an_attack_on_floating_point_noise_finds_nothing(name):
    """Attack answers to the exact numbers of neighbours, by their possible digits."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        calls = numbers_of(name)
    assert calls
    result = {"exact": 0, "floating": 0}
    for of, one, other in calls[:3]:
        n = 500 if of.mechanism == LAPLACE else 20_000
        result["exact"] += distinguishes(curator, of, one, other, n)
        result["floating"] += distinguishes(lambda k: curator(k, Floating), of, one, other, n)
    # The same attacks distinguish floating-point noise.
    assert result["exact"] == 0
    assert result["floating"] > 0


def fits(kind, learner, rows, n):
    for seed in range(n):
        yield learner.fit_records(rows, [{}], [curator(seed, kind)])[0]


def test_a_majority_does_not_tell_its_margin():
    """One released number: floating-point noise excluded a neighbour in 376 of 400 fits."""
    learner = NoisyMajorityClassifier(n_bins=2, classes=(-1, 1), epsilon=1.0)
    codes, n_bins, ones = np.zeros((100, 1), np.uint8), np.array([2]), np.ones(100, np.int64)
    labels = np.where(np.arange(100) < 50, 1, -1).astype(np.int8)
    moved = labels.copy()
    moved[0] = -1
    result = {}
    for kind in (Floating, Curator):
        margins = [
            np.array([
                model.margin_
                for model in fits(kind, learner, Records(codes, side, ones, n_bins), 300)
            ])
            for side in (labels, moved)
        ]  # fmt: skip
        hits = [count_only_from_one(answers, 0.0, -2.0, call(LAPLACE, 2.0)) for answers in margins]
        result[kind] = contradicts_noise(*hits, 300, LAPLACE, 1.0)
    assert result == {Floating: True, Curator: False}


# Points of an interval -------------------------------------------------------------------------


def draw_between_floats(ends, scores, rate, rng):
    """Draw a piece by its score, and a uniform point of it, whose digits show the piece's ends."""
    weights = np.diff(ends) * np.exp(rate * np.asarray(scores))
    piece = np.searchsorted(np.cumsum(weights), rng.random() * weights.sum(), side="right")
    return ends[piece] + (ends[piece + 1] - ends[piece]) * rng.random()


def could_be_between(points, ends):
    """Return whether a uniform number of 53 bits in a piece can be each point."""
    low = np.asarray(ends)[np.searchsorted(ends, points, side="right") - 1]
    high = np.asarray(ends)[np.searchsorted(ends, points, side="right")]
    words = np.rint((points - low) / (high - low) * 2**53)[:, None] + np.arange(-4, 5)
    return (low[:, None] + (high - low)[:, None] * (words * 2.0**-53) == points[:, None]).any(1)


def test_a_point_does_not_show_where_pieces_begin():
    """Pieces of BRC's intercepts begin at records; the exponential mechanism once showed where."""
    sides, scores, n = ([-1.0, 0.3, 1.0], [-1.0, 0.31, 1.0]), [0.0, 0.0], 2_000
    result = {}
    for draw in (draw_between_floats, draw_piece):
        points = [
            np.array([draw(ends, scores, 1.0, rng) for _ in range(n)])
            for ends, rng in ((ends, np.random.default_rng(3)) for ends in sides)
        ]
        hits = [
            int((could_be_between(p, sides[0]) & ~could_be_between(p, sides[1])).sum())
            for p in points
        ]
        result[draw] = contradicts_noise(*hits, n, LAPLACE, 0.0)
    assert result == {draw_between_floats: True, draw_piece: False}
    cells = (points[0] + 1) / 2 * N_POINTS
    assert (cells == np.rint(cells)).all()


def test_points_have_the_density_of_the_mechanism():
    """Widths of pieces differ much; one piece has no point of the grid."""
    ends = [-1.0, -0.9, 0.5, 0.5 + 2.0**-45, 1.0]
    scores, rate, n = [3.0, 1.0, 9.0, 0.0], 0.7, 4_000
    rng = np.random.default_rng(0)
    points = np.array([draw_piece(ends, scores, rate, rng) for _ in range(n)])
    weights = np.diff(ends) * np.exp(rate * np.array(scores))
    weights[2] = 0.0
    shares = np.histogram(points, ends)[0] / n
    # Five standard errors.
    assert shares == pytest.approx(weights / weights.sum(), abs=5 * 0.5 / np.sqrt(n))
