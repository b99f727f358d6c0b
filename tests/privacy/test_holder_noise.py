"""The noise of holders of distributed trees, and its shares."""

import math

import numpy as np
import pytest
from scipy import stats
from scipy.special import gamma, kv

from privcurve.kernels.holder_counts import list_questions
from privcurve.kernels.trees.form import bin_codes
from privcurve.learners.holders.boosting import BoostingPlan, boost, draw_trees, trees_of_questions
from privcurve.learners.holders.holder import HolderRows, LocalHolder
from privcurve.learners.holders.sums import FINEST, sums_of
from privcurve.learners.holders.transcript import Transcript
from privcurve.privacy.mechanisms import GAUSSIAN, LAPLACE

N_BINS = np.array([3, 4])
QUESTIONS = list_questions(N_BINS, [True, True])
ONES = np.ones(40, dtype=np.int64)


def test_noise_that_all_holders_know_is_refused():
    with pytest.raises(ValueError, match="n_colluding must be less than n_holders, 3; got 3"):
        sums_of("secure_sum", 3, 3)
    assert sums_of("secure_sum", 3, 2).release(GAUSSIAN, 1.0, 1.0, 1.0).parts == 1


def test_residuals_are_in_fine_units_however_many_records_there_are():
    """Residuals of three classes are rounded to 2^-10, which the sensitivity includes.

    The unit of the secure sum is at most as large, so that sums are not rounded again.
    """
    units = []

    class Summed(LocalHolder):
        def leaves(self, trees, release):
            units.append((trees.unit, release.unit))
            return super().leaves(trees, release)

    codes = np.random.default_rng(1).integers(0, N_BINS, (40, 2)).astype(np.uint8)
    rows = HolderRows(bin_codes(codes, N_BINS), (codes[:, 0] > 0).astype(np.int64), ONES)
    holder = Summed(rows, QUESTIONS, 3, [1])
    drawn = draw_trees(QUESTIONS, 2, 1, np.random.default_rng(0))
    plan = BoostingPlan(3, 2**24, trees_of_questions(QUESTIONS, drawn), 2, 1.0, 2.0)
    boost([holder], plan, sums_of("secure_sum", 1), Transcript(1))
    ((unit, of_ring),) = units
    assert of_ring <= unit == 2**-10


# Shares that are rounded one by one ------------------------------------------------------


def of_shares(mechanism, scale, parts):
    """Return the exact probabilities of −K … K units for the sum of rounded shares."""
    share = scale / math.sqrt(parts)
    far = math.ceil(40 * scale) + 40
    edges = np.arange(far + 1) + 0.5
    if mechanism == GAUSSIAN:
        tails = stats.norm.sf(edges / share)
    else:
        # A Laplace share is the difference of two Gamma(1/m) numbers.
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
    """Return the largest excess of δ over Gaussian noise, for a change by some units."""
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
    """In units: integers change by integers."""
    assert excess_of_delta(FINEST * math.sqrt(parts), parts) < 1e-9


def test_gaussian_shares_below_a_unit_are_not_private_as_stated():
    """This is refused: with shares of a quarter of a unit δ is almost doubled."""
    assert excess_of_delta(0.25 * math.sqrt(16), 16) > 0.1


@pytest.mark.parametrize("parts", [2, 5, 100])
def test_gamma_shares_may_be_rounded_where_the_unit_is_fine(parts):
    """The probabilities of neighbouring sums differ by at most the factor of Laplace noise."""
    scale = FINEST * math.sqrt(parts)
    chances = of_shares(LAPLACE, scale, parts)
    middle = len(chances) // 2
    near = chances[middle : middle + math.ceil(12 * scale)]
    assert np.abs(np.diff(np.log(near))).max() <= (1 + 1e-6) / scale
