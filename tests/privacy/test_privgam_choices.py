"""PrivGAM's choices of columns: their scores, the change by one record, and the ledger."""

import itertools
import math
from functools import cache

import numpy as np
import pytest

import privgam as reference
from privcurve.learners.additive import rule
from privcurve.learners.additive.residuals import column_scores
from privcurve.privacy.budget import ADD_REMOVE, REPLACE_ONE
from privcurve.privacy.calibration.privgam import SCORE_RANGE, grid_bits
from privcurve.privacy.mechanisms import EXPONENTIAL, GAUSSIAN, LAPLACE, PERMUTE_AND_FLIP

BITS = 20
N_BINS = 3


def score(counts, ordered, bits=BITS):
    """Return the score of a single column, in units of 2^-bits; rows of `counts` are classes."""
    counts = np.array(counts, dtype=np.int64)
    starts = np.array([0, counts.shape[1]])
    return int(column_scores(counts, counts.sum(axis=1), starts, (ordered,), bits)[0])


@cache
def score_of(cells, ordered):
    return score(np.reshape(cells, (-1, N_BINS)), ordered)


def tables(n, n_cells):
    """Yield all tables of n records as numbers of records in cells."""
    for chosen in itertools.combinations_with_replacement(range(n_cells), n):
        yield tuple(np.bincount(chosen, minlength=n_cells).tolist())


def moved(cells, source=None, target=None):
    """Return the table after a record leaves a cell, or enters one, or both."""
    changed = list(cells)
    if source is not None:
        changed[source] -= 1
    if target is not None:
        changed[target] += 1
    return tuple(changed)


@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_scores_match_the_plain_program(ordered, n_classes):
    """The integers are the exact scores, rounded down."""
    rng = np.random.default_rng(n_classes)
    for n in (1, 2, 5, 17, 300):
        n_bins = (4, 1, 2, 5)
        y = rng.integers(0, n_classes, n)
        X = (rng.integers(0, n_bins, (n, 4)) + y[:, None]) % n_bins
        starts = np.append(0, np.cumsum(n_bins))
        counts = np.zeros((n_classes, starts[-1]), dtype=np.int64)
        for j in range(4):
            np.add.at(counts, (y, starts[j] + X[:, j]), 1)
        totals = np.bincount(y, minlength=n_classes)
        made = column_scores(counts, totals, starts, (ordered,) * 4, BITS)
        for j, width in enumerate(n_bins):
            expected = 2**BITS * reference.column_score(y, X[:, j], width, ordered)
            assert expected - 1 - 1e-3 < made[j] < expected + 1e-3
        assert made[1] == 0  # a column of one bin


@pytest.mark.parametrize("ordered", [True, False])
def test_no_record_moves_a_score_by_more_than_one(ordered):
    """All neighbours of all tables of at most five records of two classes in three bins."""
    n_cells, largest = 2 * N_BINS, {ADD_REMOVE: 0, REPLACE_ONE: 0}
    for n in range(6):
        for cells in tables(n, n_cells):
            before = score_of(cells, ordered)
            for k in range(n_cells):
                change = abs(score_of(moved(cells, target=k), ordered) - before)
                largest[ADD_REMOVE] = max(largest[ADD_REMOVE], change)
            for source, target in itertools.product(np.flatnonzero(cells), range(n_cells)):
                change = abs(score_of(moved(cells, source, target), ordered) - before)
                largest[REPLACE_ONE] = max(largest[REPLACE_ONE], change)
    # (n−1)/n for the largest n: six records after the addition, five with a replacement.
    assert largest[ADD_REMOVE] <= 5 / 6 * 2**BITS
    assert largest[REPLACE_ONE] == math.floor(4 / 5 * 2**BITS)


@pytest.mark.parametrize("ordered", [True, False])
def test_one_record_moves_a_score_by_almost_one(ordered):
    """One record differs from 99 equal records in its class and its bin: the score is 99/100."""
    alike, other = score([[0, 0], [100, 0]], ordered), score([[0, 1], [99, 0]], ordered)
    assert (alike, other) == (0, math.floor(0.99 * 2**BITS))


def test_one_score_can_rise_by_almost_one_while_another_falls_by_almost_one():
    """An added record of a rare class is in the rare bin of both columns.

    Members of this class are more often than others in the rare bin of the first column, and less
    often in the rare bin of the second. The range of the scores is nearly 2.
    """
    n, rare, few = 10_000, 400, 300
    positive, negative = [rare - few, few], [n - 2 * rare + few, rare - few]
    # In the second column no record of the class is in the rare bin.
    other = [rare, 0], [n - 2 * rare, rare]

    def scores(added):
        counts = np.array([[*negative, *other[1]], [*positive, *other[0]]])
        counts[1, [1, 3]] += added
        return column_scores(counts, counts[:, :2].sum(axis=1), np.array([0, 2, 4]), (0, 0), BITS)

    first, second = (scores(1) - scores(0)) / 2**BITS
    assert 0.9 < first <= 1
    assert -1 <= second < -0.9
    assert first - second <= SCORE_RANGE


def test_scores_of_the_most_records_are_exact():
    """Compare with Python's integers, which have any length, at 2^31 − 1 records and 30 bits."""
    n, rng = 2**31 - 1, np.random.default_rng(4)
    half = n // 2
    some = [np.diff(np.sort(rng.integers(0, n, 3)), prepend=0, append=n) for _ in range(20)]
    for cells in ([half, 0, 0, n - half], [0, half, n - half, 0], [n, 0, 0, 0], *some):
        a, b, c, d = (int(one) for one in cells)
        excess = abs(a * (a + b + c + d) - (a + b) * (a + c))
        for ordered in (True, False):
            assert score([[a, b], [c, d]], ordered, 30) == (excess << 30) // n
    assert score([[half, 0], [0, n - half]], True, 30) == ((n - half) * half << 30) // n


def test_an_empty_table_and_columns_of_one_bin_score_0():
    assert score(np.zeros((2, 3)), True) == score(np.zeros((2, 3)), False) == 0
    assert score([[7], [9]], True) == score([[7], [9]], False) == 0


# The rule and the ledger -------------------------------------------------------------------------


def facts(n=3000, d=40, n_classes=2, epsilon=3.0, delta=0.0, neighbours=REPLACE_ONE):
    return rule.FitFacts(n, (True,) * d, n_classes, epsilon, delta, neighbours)


@pytest.mark.parametrize(
    ("some", "n_chosen"),
    [
        (facts(), 11),  # .12·√9000 = 11.4
        (facts(neighbours=ADD_REMOVE), 11),
        (facts(d=22), 11),
        (facts(d=21), 0),
        (facts(n=10), 4),
        (facts(n=0, d=8), 4),
        (facts(n=10, d=7), 0),
        (facts(n=10**6, d=416), 208),
        (facts(delta=1e-6), 0),  # μ = .648, and (.12·√1943)² = 28 is more than half
        (facts(delta=1e-6, d=56), 28),
        (facts(delta=1e-6, epsilon=0.1, d=32), 16),
        (facts(delta=1e-6, epsilon=0.1, d=31), 0),
        (facts(n_classes=3), 0),
        (facts(epsilon=math.inf), 0),
    ],
    ids=str,
)
def test_the_rule_says_how_many_columns_are_chosen(some, n_chosen):
    if some.delta == 0:
        assert rule.n_chosen(some, some.epsilon) == n_chosen
    if some.n:
        assert len(rule.plan(some).choices) == n_chosen


@pytest.mark.parametrize("neighbours", [REPLACE_ONE, ADD_REMOVE])
@pytest.mark.parametrize("epsilon", [0.05, 3.0, 20.0])
def test_choices_spend_a_quarter_and_releases_the_rest(epsilon, neighbours):
    some = facts(n=20_000, d=400, epsilon=epsilon, neighbours=neighbours)
    ledger, k = rule.plan(some).ledger, rule.n_chosen(some, epsilon)
    choices, releases = ledger[:k], ledger[k:]
    assert {entry.mechanism for entry in choices} == {PERMUTE_AND_FLIP}
    assert {entry.mechanism for entry in releases} == {LAPLACE}
    assert [entry.what for entry in choices] == [f"choice {j} of a column" for j in range(1, k + 1)]
    assert all(math.isclose(entry.epsilon, epsilon / 4 / k) for entry in choices)
    # Permute-and-flip of scores with the range 2: its rate is half of its ε.
    assert all(math.isclose(2 * entry.noise_rate, entry.epsilon) for entry in choices)
    assert math.fsum(entry.epsilon for entry in releases) == pytest.approx(epsilon * 3 / 4)
    assert math.fsum(entry.epsilon for entry in ledger) == pytest.approx(epsilon, rel=1e-12)
    # Releases are of the chosen columns: each record moves one count of each, and nothing else.
    assert releases[0].sensitivity == pytest.approx(k if neighbours == REPLACE_ONE else k / 2)
    assert "and bin of the chosen columns" in releases[0].what
    assert grid_bits(ledger, epsilon) == 30


@pytest.mark.parametrize("neighbours", [REPLACE_ONE, ADD_REMOVE])
def test_choices_with_a_delta_spend_a_quarter_of_zcdp(neighbours):
    some = facts(n=20_000, d=400, epsilon=1.0, delta=1e-6, neighbours=neighbours)
    plan = rule.plan(some)
    k = len(plan.choices)
    choices, releases = plan.ledger[:k], plan.ledger[k:]
    assert k > 16
    assert {entry.mechanism for entry in choices} == {EXPONENTIAL}
    assert {entry.mechanism for entry in releases} == {GAUSSIAN}
    # ρ of zCDP: r²/8 for a choice with a bounded range r, (sensitivity/σ)²/2 for a release.
    of_choices = math.fsum(entry.bounded_range**2 / 8 for entry in choices)
    of_releases = math.fsum((e.sensitivity * e.noise_rate) ** 2 / 2 for e in releases)
    assert of_choices / (of_choices + of_releases) == pytest.approx(1 / 4)
    assert of_choices + of_releases == pytest.approx(plan.budget.amount**2 / 2)
    # The exponential mechanism of scores with the range 2 at the rate η has a bounded range of 2η.
    assert all(math.isclose(entry.bounded_range, 2 * entry.noise_rate) for entry in choices)
    # Bun and Steinke (2016), Proposition 1.3, is weaker than the conversion that the fit uses.
    rho = of_choices + of_releases
    assert 1.0 < rho + 2 * math.sqrt(rho * math.log(1e6)) < 1.25
