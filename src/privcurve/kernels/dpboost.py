"""Trees of a fixed depth for gradient boosting with square loss, over coded columns.

A tree is a complete binary tree. Inner node i has the children 2i + 1 and 2i + 2; at
each the question is "is the bin in its column at most b?" (``thresholds``) or "is it b?".
Yes goes to the first child. A candidate has the number of its bin.

Which candidates a node has follows from the questions above it alone: those that tell
apart two codes that can still occur there. Nothing depends on which codes do occur.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from privcurve.coding import Bools, Floats, Ints
from privcurve.kernels.trees.form import NO_QUESTION, Ranges, count_rows

# Stands for the question of a node that has no candidate; every row answers yes.
NO_SPLIT = NO_QUESTION


@njit(cache=True, nogil=True)
def grow_tree(
    bins: NDArray[Any],
    gradients: Floats,
    weights: Floats,
    bin_starts: Ints,
    depth: int,
    thresholds: bool,
    regularisation: float,
    scale: float,
    noise: Floats,
    splits: Ints,
    questions: Ranges,
) -> tuple[Floats, Floats]:
    """Choose the splits of a tree and sum up its leaves.

    Parameters
    ----------
    bins : ndarray of unsigned integers, shape (n_rows, n_columns)
    gradients, weights : ndarray of shape (n_rows,)
        The gradient of a row counts `weight` times.
    bin_starts : ndarray of shape (n_columns + 1,)
    depth : int
    thresholds : bool
        Which questions are asked; see the module.
    regularisation : float
        λ, at least 0.
    scale : float
        Of the noise; 0: the best split, the first of equals.
    noise : ndarray of shape (2**depth - 1, n_bins), or (1, 0) without noise
        Gumbel gives the exponential mechanism, standard exponential permute-and-flip. Changed in
        place: gain/scale of each candidate that a node has is added.
    splits : ndarray of shape (2**depth - 1,)
        Output: the candidate chosen at each inner node, or `NO_SPLIT`.
    questions : Ranges
        Output: the same questions as ranges.

    Returns
    -------
    sums, totals : ndarray of shape (2**depth,)
        Σ weight · gradient and Σ weight of each leaf.
    """
    width = bin_starts[-1]
    rows = np.arange(len(bins))
    weighted = weights * gradients
    column, low, high = questions
    place = np.zeros(len(bins), np.int64)
    # Codes that the questions above leave open, for each node of the level.
    possible = np.ones((1, width), np.bool_)
    for level in range(depth):
        n_nodes = 1 << level
        sums = np.empty((n_nodes, width))
        totals = np.empty((n_nodes, width))
        count_rows(bins, place, weighted, rows, sums)
        count_rows(bins, place, weights, rows, totals)
        children = np.empty((2 * n_nodes, width), np.bool_)
        for node in range(n_nodes):
            index = n_nodes - 1 + node
            split = _choose(
                sums[node],
                totals[node],
                possible[node],
                bin_starts,
                thresholds,
                regularisation,
                scale,
                noise[index] if scale > 0 else noise[0],
            )
            splits[index] = split
            divide(possible[node], bin_starts, thresholds, split, children, 2 * node)
            column[index], low[index], high[index] = 0, 0, width
            if split != NO_SPLIT:
                column[index] = column_of(bin_starts, split)
                low[index], high[index] = 0 if thresholds else split, split
        possible = children
        for i in range(len(bins)):
            index = n_nodes - 1 + place[i]
            b = np.int64(bins[i, column[index]])
            place[i] = 2 * place[i] + (not (low[index] <= b and b <= high[index]))
    leaf_sums = np.zeros(1 << depth)
    leaf_totals = np.zeros(1 << depth)
    for i in range(len(bins)):
        leaf_sums[place[i]] += weighted[i]
        leaf_totals[place[i]] += weights[i]
    return leaf_sums, leaf_totals


@njit(cache=True, nogil=True)
def _choose(
    sums: Floats,
    totals: Floats,
    possible: Bools,
    bin_starts: Ints,
    thresholds: bool,
    regularisation: float,
    scale: float,
    noise: Floats,
) -> int:
    best = NO_SPLIT
    best_value = -np.inf
    for j in range(len(bin_starts) - 1):
        first, last = bin_starts[j], bin_starts[j + 1]
        n_possible = 0
        column_sum = 0.0
        column_total = 0.0
        for b in range(first, last):
            n_possible += possible[b]
            column_sum += sums[b]
            column_total += totals[b]
        yes_sum = 0.0
        yes = 0.0
        n_yes = 0
        for b in range(first, last):
            if not possible[b]:
                continue
            if thresholds:
                yes_sum += sums[b]
                yes += totals[b]
                n_yes += 1
            else:
                yes_sum, yes, n_yes = sums[b], totals[b], 1
            if n_yes == n_possible:
                continue
            gain = part_gain(yes_sum, yes, regularisation) + part_gain(
                column_sum - yes_sum, column_total - yes, regularisation
            )
            if scale > 0:
                noise[b] += gain / scale
                gain = noise[b]
            if gain > best_value:
                best, best_value = b, gain
    return best


@njit(cache=True, nogil=True)
def part_gain(gradient_sum: float, total: float, regularisation: float) -> float:
    """Gain of one side of a split, S²/(n + λ); 0 for an empty side."""
    if total <= 0:
        return 0.0
    return gradient_sum * gradient_sum / (total + regularisation)


@njit(cache=True, nogil=True)
def divide(
    possible: Bools, bin_starts: Ints, thresholds: bool, split: int, children: Bools, where: int
) -> None:
    """Write which codes can still occur in the two children of a node."""
    children[where] = possible
    children[where + 1] = possible
    if split == NO_SPLIT:
        return
    j = column_of(bin_starts, split)
    for b in range(bin_starts[j], bin_starts[j + 1]):
        yes = b <= split if thresholds else b == split
        if yes:
            children[where + 1, b] = False
        else:
            children[where, b] = False


@njit(cache=True, nogil=True)
def column_of(bin_starts: Ints, split: int) -> int:
    """Return the column of a candidate."""
    return int(np.searchsorted(bin_starts, split, side="right")) - 1
