"""Weights of LazyBB: the projection onto dense measures, in exact integers.

A record with margin σ has the weight w = κ e^{−λσ}. The projection is μ = min(1, c·w) with
the smallest c ≥ 1 for which |μ| ≥ κn (docs/proofs.md, 'LazyBB: weights'; thesis, Definition
2.2.4). Margins after `t` rounds are 2k − t, where k is the number of correct votes, so
everything is done on the histogram of k. Weights are rounded up to whole multiples of
1/unit, which keeps their order and the density, and makes every later sum exact, in any
order.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from privcurve.coding import Ints
from privcurve.kernels.arithmetic import exp, log
from privcurve.kernels.jit import jit

LARGEST_BITS = 52


def fixed_point_bits(n: int) -> int:
    """Return the number of fractional bits of a weight, so that n weights fit in 62 bits."""
    return min(LARGEST_BITS, 62 - (n - 1).bit_length())


def start_levels(begin: Ints | None, n_rows: int) -> tuple[Ints, int, int]:
    """Return the levels that rows begin at, where margins need not begin at 0.

    With margins of any parity the level of a row is its margin less the smallest that is
    possible, so that a vote moves it by 0 or 2, and `project` is given the number of levels
    above the lowest in place of the votes, and λ/2 in place of λ. With the levels come the
    highest of them, and how many levels a correct vote is worth: 1 if all begin at 0, else 2.
    """
    if begin is None:
        return np.zeros(n_rows, dtype=np.int64), 0, 1
    widest = int(np.abs(begin).max(initial=0))
    return begin.astype(np.int64) + widest, 2 * widest, 2


class Weighing(NamedTuple):
    """How the records are weighed in each round; see :func:`start_levels` of levels."""

    levels: Ints  # (n_rows,): the first level of each row
    spread: int  # the highest of them
    step: int  # how many levels a correct vote is worth
    density: float  # κ
    learning_rate: float  # λ of a level
    unit: int  # the weight of one in fixed point
    normalise: bool  # whether weights are relative to their sum, or to κn


def weighing(
    counts: Ints, begin: Ints | None, density: float, learning_rate: float, normalise: bool
) -> Weighing:
    """Return how rows of so many records each are weighed, from these margins on."""
    levels, spread, step = start_levels(begin, len(counts))
    unit = 1 << fixed_point_bits(int(counts.sum()))
    return Weighing(levels, spread, step, density, learning_rate / step, unit, normalise)


@jit
def project(
    histogram: Ints, n_votes: int, density: float, learning_rate: float, unit: int, weights: Ints
) -> float:
    """Project onto the dense measures.

    Parameters
    ----------
    histogram : ndarray of shape (at least n_votes + 1,)
        Records that have k correct votes, for k = 0 … n_votes.
    n_votes : int
        Rounds so far, t.
    density : float
        κ, in (0, 1].
    learning_rate : float
        λ, above 0.
    unit : int
        What a weight of one is in fixed point: ``2**fixed_point_bits(n)``.
    weights : ndarray of shape (at least n_votes + 1,)
        Output: the weight of a record with k correct votes, in multiples of 1/unit.

    Returns
    -------
    float
        κn times the largest normalised weight. The privacy proof needs this to be at
        most 1 (docs/proofs.md, 'LazyBB: weights'); callers check it.
    """
    n = 0
    for k in range(n_votes + 1):
        n += histogram[k]
    required = density * n
    log_density = log(density)
    capped_sum = 0.0
    for k in range(n_votes + 1):
        # The cap comes before exp, so that very negative margins do not overflow.
        weight = exp(min(0.0, log_density - learning_rate * (2 * k - n_votes)))
        capped_sum += histogram[k] * weight
        weights[k] = min(unit, math.ceil(weight * unit))
    if capped_sum < required:
        _scale_up(histogram, n_votes, required, exp(-2.0 * learning_rate), unit, weights)
    total = 0
    largest = 0
    for k in range(n_votes + 1):
        total += histogram[k] * weights[k]
        if histogram[k] > 0:
            largest = max(largest, weights[k])
    return required * largest / total


@jit
def _scale_up(
    histogram: Ints, n_votes: int, required: float, ratio: float, unit: int, weights: Ints
) -> None:
    """Set the weights min(1, c·w) whose sum is `required`; `ratio` is w(k + 1) / w(k)."""
    # tail[k] = Σ_{j ≥ k} histogram[j]·ratio^(j − k): sums relative to level k, so that
    # it does not underflow where there are records, however far the margins spread.
    tail = np.zeros(n_votes + 2)
    for k in range(n_votes, -1, -1):
        tail[k] = histogram[k] + ratio * tail[k + 1]
    n_capped = 0
    for k in range(n_votes + 1):
        if histogram[k] == 0:
            weights[k] = unit
            continue
        # The weight of level k if the levels below were at the cap and the others free:
        weight = (required - n_capped) / tail[k]
        if weight <= 1.0:
            for j in range(k, n_votes + 1):
                weights[j] = min(unit, math.ceil(weight * unit))
                weight *= ratio
            return
        weights[k] = unit
        n_capped += histogram[k]
