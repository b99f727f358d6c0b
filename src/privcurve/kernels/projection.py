"""Compute the weights of LazyBB, the projection onto dense measures, in exact integers.

A record with margin σ has the weight w = κ e^{−λσ}. The projection is μ = min(1, c·w) with the
smallest c ≥ 1 for which |μ| ≥ κn (docs/proofs.md, 'LazyBB: weights'; thesis, Definition 2.2.4). The
margin after t rounds is 2k − t, where k is the number of correct votes, so the histogram of k
determines all weights. Weights are rounded up to integer multiples of 1/unit. Rounding up keeps the
order of weights and the density, and all sums of weights are exact in any order.
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
    """Return how many fractional bits weights may have if a sum of n must fit in 62 bits."""
    return min(LARGEST_BITS, 62 - (n - 1).bit_length())


def start_levels(begin: Ints | None, n_rows: int) -> tuple[Ints, int, int]:
    """Return the first level of each row, the highest first level, and the step per correct vote.

    Weights depend on a row's *level*, an integer that stands for its margin. If all margins start
    at 0 (`begin` is None), the level is the number of correct votes. Otherwise it is the margin
    minus the smallest possible margin: a correct vote raises it by 2, a wrong one by 0. Callers
    then pass `project` the number of levels in place of the number of votes, and λ/2 in place of λ.
    """
    if begin is None:
        return np.zeros(n_rows, dtype=np.int64), 0, 1
    widest = int(np.abs(begin).max(initial=0))
    return begin.astype(np.int64) + widest, 2 * widest, 2


class Weighing(NamedTuple):
    """Parameters of the weights in all rounds; :func:`start_levels` explains levels."""

    levels: Ints  # (n_rows,): the level of each row before the first round
    spread: int  # the highest level before the first round
    step: int  # number of levels per correct vote
    density: float  # κ
    learning_rate: float  # λ/step: the learning rate per level
    unit: int  # the integer that represents a weight of 1
    normalise: bool  # whether errors are divided by the sum of weights, or by κn


def weighing(
    counts: Ints, begin: Ints | None, density: float, learning_rate: float, normalise: bool
) -> Weighing:
    """Return the parameters for rows with these counts and margins before the first round.

    `begin` has the margins in votes; None means 0.
    """
    levels, spread, step = start_levels(begin, len(counts))
    unit = 1 << fixed_point_bits(int(counts.sum()))
    return Weighing(levels, spread, step, density, learning_rate / step, unit, normalise)


@jit
def project(
    histogram: Ints, n_votes: int, density: float, learning_rate: float, unit: int, weights: Ints
) -> float:
    """Compute the weights of a round: the projection of κ e^{−λσ} onto the dense measures.

    Parameters
    ----------
    histogram : ndarray of shape (at least n_votes + 1,)
        Number of records with k correct votes, for k = 0 … n_votes.
    n_votes : int
        t, the number of rounds so far.
    density : float
        κ, in (0, 1].
    learning_rate : float
        λ, above 0.
    unit : int
        The integer for a weight of 1: ``2**fixed_point_bits(n)``.
    weights : ndarray of shape (at least n_votes + 1,)
        Output: the weight of a record with k correct votes, in multiples of 1/unit.

    Returns
    -------
    float
        κn times the largest normalised weight. The privacy proof needs a value of at most 1
        (docs/proofs.md, 'LazyBB: weights'), which callers check.
    """
    n = 0
    for k in range(n_votes + 1):
        n += histogram[k]
    required = density * n
    log_density = log(density)
    capped_sum = 0.0
    for k in range(n_votes + 1):
        # Cap the exponent at 0, so that a very negative margin does not overflow.
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
    """Write the weights min(1, c·w) that add up to `required`; `ratio` is w(k + 1) / w(k).

    The weights are then rounded up to multiples of 1/unit.
    """
    # tail[k] = Σ_{j ≥ k} histogram[j]·ratio^(j − k) is the sum of the weights of levels k and
    # above, divided by the weight of level k. The division avoids an underflow for large margins.
    tail = np.zeros(n_votes + 2)
    for k in range(n_votes, -1, -1):
        tail[k] = histogram[k] + ratio * tail[k + 1]
    n_capped = 0
    for k in range(n_votes + 1):
        if histogram[k] == 0:
            weights[k] = unit
            continue
        # `weight` is the weight of level k if exactly the levels below k get the weight 1.
        weight = (required - n_capped) / tail[k]
        if weight <= 1.0:
            for j in range(k, n_votes + 1):
                weights[j] = min(unit, math.ceil(weight * unit))
                weight *= ratio
            return
        weights[k] = unit
        n_capped += histogram[k]
