"""The noise that holders of a distributed tree are asked for: as printed, and as proved."""

import math

import numpy as np
import pytest
from scipy import stats
from scipy.special import gamma, kv

from privcurve.holders.best_first import BestFirstPlan, grow_best_first
from privcurve.holders.boosting import BoostingPlan, boost, draw_trees, trees_of_questions
from privcurve.holders.by_levels import LevelsPlan, grow_by_levels
from privcurve.holders.holder import HolderRows, LocalHolder, published_scale
from privcurve.holders.sums import FINEST, Sums, sums_of
from privcurve.holders.transcript import Transcript
from privcurve.kernels.holder_counts import list_questions
from privcurve.kernels.trees.form import bin_codes
from privcurve.privacy.calibration.holders import level_holders, published_holders
from privcurve.privacy.mechanisms import GAUSSIAN, LAPLACE

N_BINS = np.array([3, 4])
QUESTIONS = list_questions(N_BINS, [True, True])
SHARED = {"criterion": "gini", "leaf_share": 0.25, "n_splits": 8, "epsilon": 2.0, "delta": 0.0}


class Noted(LocalHolder):
    """A holder that takes note of what it is asked for."""

    def __init__(self, n, seed):
        rng = np.random.default_rng(seed)
        codes = rng.integers(0, N_BINS, (n, 2)).astype(np.uint8)
        labels = (codes[:, 0] > 0) ^ (codes[:, 1] > 1)
        ones = np.ones(n, dtype=np.int64)
        rows = HolderRows(bin_codes(codes, N_BINS), labels.astype(np.int64), ones)
        super().__init__(rows, QUESTIONS, 2, [seed])
        self.rates, self.scales = [], {}

    def vote(self, node, ballot):
        self.rates.append((node, ballot.rate))
        return super().vote(node, ballot)

    def _note(self, kind, release):
        self.scales.setdefault(kind, []).append(release.scale)

    def counts(self, node, columns, release):
        self._note("counts", release)
        return super().counts(node, columns, release)

    def families(self, nodes, questions, release):
        (n_questions,) = set(map(len, questions))
        self._note(f"families of {n_questions}", release)
        return super().families(nodes, questions, release)

    def weights(self, nodes, release):
        self._note("weights", release)
        return super().weights(nodes, release)

    def labels(self, nodes, release):
        self._note("labels", release)
        return super().labels(nodes, release)


def test_published_budgets_are_as_printed():
    """a_d = (1 − LPF)·α·B(d), all of it for the root's split, half for those below (e5)."""
    decay = published_holders(protocol="noisy_counts", budget="decay", **SHARED)
    assert [decay.level(d) for d in (1, 2, 3)] == [0.75, 0.375, 0.1875]
    assert [decay.split_budget(d) for d in (1, 2, 3)] == [0.75, 0.1875, 0.09375]
    assert decay.weight_scale(2) == 2 / 0.375
    # Lap(3|H|/α′), and Lap(1/(LPF·α)) of a label's count; of one machine Lap(2/(LPF·α)).
    assert decay.families_scale(0.5, 7) == 42.0
    assert decay.label_scale == 2.0
    single = published_holders(protocol="single", budget="decay", **SHARED)
    assert single.label_scale == 4.0
    uniform = published_holders(protocol="single", budget="uniform", **SHARED)
    assert [uniform.level(d) for d in (1, 2)] == [0.75 * 2 / 8] * 2


@pytest.mark.parametrize(
    ("protocol", "budget", "status", "proved"),
    [
        # A replaced record costs twice as much; a chain of 8 splits 9/8 of it (A6).
        ("noisy_counts", "decay", "refuted", 4.0),
        ("noisy_counts", "uniform", "refuted", 4.5),
        ("single", "decay", "refuted", math.inf),
        ("local_rnm", "decay", "claimed", None),
    ],
)
def test_what_published_noise_is_worth(protocol, budget, status, proved):
    said = published_holders(protocol=protocol, budget=budget, **SHARED).statement
    assert (said.status, said.proved_epsilon) == (status, proved)
    assert said.epsilon_spent == pytest.approx(2.0)


@pytest.mark.parametrize("protocol", ["noisy_counts", "local_rnm"])
def test_published_holders_are_asked_for_the_printed_noise(protocol):
    noise = published_holders(protocol=protocol, budget="decay", **{**SHARED, "n_splits": 2})
    holders = [Noted(60, 1), Noted(50, 2)]
    plan = BestFirstPlan(QUESTIONS, 2, 110, "gini", 2, 80, -math.inf, -math.inf, noise)
    grow_best_first(holders, plan, Transcript(2))
    n_questions = len(QUESTIONS.columns)
    for holder in holders:
        assert set(holder.scales["weights"]) <= {2 / 0.375, 2 / 0.1875}
        assert set(holder.scales["labels"]) == {2.0}
        if protocol == "noisy_counts":
            # α′ of the root, then of its children.
            scale = holder.scales[f"families of {n_questions}"]
            assert scale[0] == 3 * n_questions / 0.75
            assert scale[1] == 3 * n_questions / 0.1875
        else:
            # Half of α′ for the votes, half for the counts of one question a holder.
            assert holder.rates[0] == (0, 0.375)
            assert holder.scales["families of 2"][0] == 3 * 2 / 0.375


def test_a_published_vote_has_noise_for_twice_the_printed_sensitivity():
    """Lap(2Δ(m)/α′) with Δ(m) = 20/m of Gini; of one record, as of two."""
    scales = [published_scale(size, "gini", 0.5) for size in (50, 1)]
    assert scales == [2 * 20 / 50 / 0.5, 2 * 20 / 2 / 0.5]


def test_a_proved_vote_is_calibrated_to_its_own_holder():
    """ε/(2F₁(m)) with m the records of the holder: 4(m − 1)/m of Gini, 2 on the last level."""
    sizes = (20, 200)
    holders = [Noted(n, n) for n in sizes]
    noise = level_holders(
        depth=2, votes=True, vote_share=0.4, budget="levels", criterion="gini", n=200,
        n_columns=2, epsilon=5.0, delta=0.0, trust="local", n_colluding=0,
    )  # fmt: skip
    plan = LevelsPlan(QUESTIONS, 2, 220, "gini", 2, noise)
    grow_by_levels(holders, plan, Sums(2), Transcript(2))
    # Of ε a half for either level, 0.4 of that for votes and the rest for histograms.
    for n, holder in zip(sizes, holders, strict=True):
        (first, *later) = holder.rates
        assert first == (0, pytest.approx(1.0 / (2 * 4 * (n - 1) / n)))
        assert later
        assert {rate for _, rate in later} == {1.0 / (2 * 2)}
        # Two cells a column, of as many columns as were named: one or two.
        assert set(holder.scales["counts"]) <= {2 / 1.5, 4 / 1.5}


def test_noise_that_all_holders_know_is_refused():
    with pytest.raises(ValueError, match="n_colluding = 3 must be less than n_holders = 3"):
        sums_of("secure_sum", 3, 3)
    assert sums_of("secure_sum", 3, 2).release(GAUSSIAN, 1.0, 1.0, 1.0).parts == 1


def test_residuals_are_in_fine_units_however_many_records_there_are():
    """Of three classes the sensitivity allows for rounding to 2^-10; the ring rounds no more."""
    units = []

    class Summed(Noted):
        def leaves(self, trees, release):
            units.append((trees.unit, release.unit))
            return super().leaves(trees, release)

    holder = Summed(40, 1)
    holder.n_classes = 3
    drawn = draw_trees(QUESTIONS, 2, 1, np.random.default_rng(0))
    plan = BoostingPlan(3, 2**24, trees_of_questions(QUESTIONS, drawn), 2, 1.0, 2.0)
    boost([holder], plan, sums_of("secure_sum", 1), Transcript(1))
    ((unit, of_ring),) = units
    assert of_ring <= unit == 2**-10


# Shares that are rounded one by one ------------------------------------------------------


def of_shares(mechanism, scale, parts):
    """Chances of −K … K units that the rounded shares of so many holders add up to; exact."""
    share = scale / math.sqrt(parts)
    far = math.ceil(40 * scale) + 40
    edges = np.arange(far + 1) + 0.5
    if mechanism == GAUSSIAN:
        tails = stats.norm.sf(edges / share)
    else:
        # The difference of two Gamma(1/m) numbers.
        a = 1 / parts
        nodes, weights = np.polynomial.legendre.leggauss(40)
        middles = (np.arange(1, far + 2)[:, None] + nodes / 2) / scale
        density = (middles / 2) ** (a - 0.5) * kv(a - 0.5, middles)
        cells = (density / (math.sqrt(math.pi) * gamma(a)) @ weights) / (2 * scale)
        tails = cells[::-1].cumsum()[::-1]
    one = -np.diff(tails)
    width = 1 << math.ceil(math.log2(8 * far))
    table = np.zeros(width)
    table[1 : far + 1], table[-far:] = one, one[::-1]
    table[0] = 1 - table.sum()
    values = np.fft.ifft(np.fft.fft(table).real ** parts).real
    return np.roll(np.maximum(values, 0), far)[: 2 * far + 1]


def excess_of_delta(scale, parts):
    """How far δ of a change by some units is above that of Gaussian noise, at worst."""
    chances = of_shares(GAUSSIAN, scale, parts)
    worst = -1.0
    for shift in (1, 2, 5):
        mu = shift / scale
        for epsilon in (0.01, 0.1, 0.5, 1, 2):
            moved = np.exp(epsilon) * np.roll(chances, shift)
            delta = np.maximum(chances - moved, 0).sum()
            of_noise = stats.norm.cdf(mu / 2 - epsilon / mu)
            of_noise -= math.exp(epsilon) * stats.norm.cdf(-mu / 2 - epsilon / mu)
            worst = max(worst, delta - of_noise)
    return worst


@pytest.mark.parametrize("parts", [1, 2, 5, 100])
def test_gaussian_shares_may_be_rounded_where_the_unit_is_fine(parts):
    """In units: whole numbers change by whole numbers."""
    assert excess_of_delta(FINEST * math.sqrt(parts), parts) < 1e-9


def test_gaussian_shares_below_a_unit_are_not_private_as_stated():
    """What is refused: with shares of a quarter of a unit δ is almost twice what it should be."""
    assert excess_of_delta(0.25 * math.sqrt(16), 16) > 0.1


@pytest.mark.parametrize("parts", [2, 5, 100])
def test_gamma_shares_may_be_rounded_where_the_unit_is_fine(parts):
    """No two neighbouring sums differ by a larger factor than Laplace noise has."""
    scale = FINEST * math.sqrt(parts)
    chances = of_shares(LAPLACE, scale, parts)
    middle = len(chances) // 2
    near = chances[middle : middle + math.ceil(12 * scale)]
    assert np.abs(np.diff(np.log(near))).max() <= (1 + 1e-6) / scale
