"""Registered loops (`sums.adds`): each record adds its own amount, within the loop's bounds."""

import itertools

import numpy as np
import pytest

from privcurve.audit.pairs import records
from privcurve.learners import noisy_bayes
from privcurve.learners.additive.residuals import Query, ScoredRows, bounds_of, round_scores
from privcurve.learners.linear import dp_sgd, joint
from privcurve.privacy import sums
from privcurve.privacy.sealed import open_values
from privcurve.privacy.sums import LOOPS

BINS = (2, 3, 4)
DOMAIN = list(itertools.product(*map(range, BINS), (-1, 1)))
WIDTH = sum(BINS) + 1
MODEL = np.random.default_rng(5).normal(scale=3, size=WIDTH)
GROUPS = [np.arange(k, dtype=np.uint8) for k in BINS]


# Two columns of numbers in [0, 1], and a one-hot column.
LEVELS = [np.array([0.0, 1.0]), np.array([0.0, 0.5, 1.0]), None]
CONSTANT = [np.zeros_like(group) for group in GROUPS[:2]]


def one_hot(part):
    return joint.input_rows(part.codes, GROUPS, [None] * 3, [*BINS, 1])


def numbers(part):
    return joint.input_rows(part.codes, [*CONSTANT, GROUPS[2]], LEVELS, [1, 1, BINS[2], 1])


# {loop: function that makes its arguments from records}
GIVEN = {
    "CountedRows.tables": lambda part: (noisy_bayes.CountedRows(part), (0, 2), (2, 4)),
    "logistic_slopes": lambda part: (one_hot(part), part.labels, part.counts, MODEL, 4),
    "linear_slopes": lambda part: (one_hot(part), part.labels, part.counts, MODEL, 4),
    "network_gradients": lambda part: (*part[:3], INPUTS, *LAYERS, 0.5),
    "packed_gram": lambda part: (one_hot(part), part.counts, 4, WIDTH),
    "ScoredRows.counts": lambda part: (scored(part, 2), query(2)),
    "ScoredRows.sums": lambda part: (scored(part, 2), *SCORES, query(2)),
}  # fmt: skip
# The same loops on other arguments.
ALSO = {
    "linear_slopes": lambda part: (numbers(part), part.labels, part.counts, MODEL[:7], 4, 2.0**-10),
    "packed_gram": lambda part: (numbers(part), part.counts, 4, 7),
}
TRIED = [*GIVEN.items(), *ALSO.items()]
SCORES = round_scores(MODEL[None, :-1]), round_scores(MODEL[-1:])
BITS = 20
INPUTS, N_INPUTS = dp_sgd.inputs_of(GROUPS)
LAYERS = [np.random.default_rng(6).normal(size=size) for size in ((N_INPUTS + 1, 3), (4, 1))]


def scored(part, n_classes):
    return ScoredRows(part, range(len(BINS)), GROUPS, n_classes, BITS, 1)


def query(n_classes):
    return Query(n_classes, len(BINS), sum(BINS), 2 ** (BITS - 1), 1)


def table(rows, counts):
    rows = np.array(rows, dtype=np.int64).reshape(-1, len(BINS) + 1)
    return records(rows[:, :-1], rows[:, -1], BINS, np.array(counts, dtype=np.int64))


def parts_of(total, bounds):
    """Return the sums that a loop returns together, with their bounds."""
    made = sums.with_bounds(total, "", bounds)
    return made if isinstance(made, list) else [made]


def test_each_loop_is_tried():
    assert set(LOOPS) == set(GIVEN)


@pytest.mark.parametrize(("name", "given"), TRIED)
def test_the_contribution_of_a_record_does_not_depend_on_others(name, given):
    loop, _ = LOOPS[name]
    rng = np.random.default_rng(1)
    rows = [DOMAIN[k] for k in rng.integers(len(DOMAIN), size=60)]
    counts = rng.integers(1, 5, size=60)
    total = loop(*given(table(rows, counts)))
    alone = [loop(*given(table([row], [1]))) for row in rows]
    # Exact up to rounding: sums are of integers, and one product with √2 follows.
    together = sum(n * one for n, one in zip(counts, alone, strict=True))
    np.testing.assert_allclose(total, together, rtol=1e-14, atol=0)
    order = rng.permutation(60)
    mixed = loop(*given(table([rows[k] for k in order], counts[order])))
    assert np.array_equal(total, mixed)


@pytest.mark.parametrize(("name", "given"), TRIED)
def test_the_contribution_of_a_record_is_within_the_bounds(name, given):
    loop, bounds = LOOPS[name]
    bounds = bounds(*given(table(DOMAIN[:1], [1])))
    at = [parts_of(loop(*given(table([row], [1]))), bounds) for row in DOMAIN]
    for part in zip(*at, strict=True):
        size, change, *_ = part[0]._bounds
        alone = [open_values(one) for one in part]
        for moves, apart in (
            (size, alone),
            (change, [one - other for one, other in itertools.combinations(alone, 2)]),
        ):
            apart = np.abs(np.array(apart)).reshape(len(apart), -1)
            assert (apart <= moves.entries.ravel() * (1 + 1e-15)).all()
            assert apart.sum(axis=1).max() <= moves.l1
            largest = np.sqrt((apart**2).sum(axis=1).max())
            # Bounds are nearly attained; not fully, as two records share the bound of the
            # intercept.
            assert 0.7 * moves.l2 <= largest <= moves.l2 * (1 + 1e-15)


@pytest.mark.parametrize("norm", [1, 2])
def test_residuals_of_several_classes_are_within_the_bounds(norm):
    """Their labels are positions, so they have their own test."""
    rng = np.random.default_rng(2)
    scores = (
        round_scores(rng.normal(scale=4, size=(3, sum(BINS)))),
        round_scores(rng.normal(size=3)),
    )
    form = Query(3, len(BINS), sum(BINS), 2 ** (BITS - 1), norm)
    alone = []
    for row in itertools.product(*map(range, BINS), range(3)):
        part = records([row[:-1]], [row[-1]], BINS)
        made = ScoredRows(part, range(len(BINS)), GROUPS, 3, BITS, norm)
        alone.append(parts_of(made.sums(*scores, form), bounds_of(form, True)))
    for part in zip(*alone, strict=True):
        change = part[0]._bounds.change
        values = [open_values(one).ravel() for one in part]
        apart = np.abs([one - other for one, other in itertools.combinations(values, 2)])
        assert (apart <= change.entries.ravel()).all()
        bound = change.l1 if norm == 1 else change.l2
        largest = np.linalg.norm(apart, norm, axis=1).max()
        assert 0.8 * bound <= largest <= bound * (1 + 1e-15)
