"""Grow trees of a fixed depth on encoded data, for gradient boosting with the square loss.

Nodes and questions are numbered as in :mod:`privcurve.kernels.trees.levels`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from privcurve.coding import Floats, Ints
from privcurve.kernels.jit import jit
from privcurve.kernels.trees.form import NO_QUESTION, Ranges, count_rows
from privcurve.kernels.trees.levels import column_of, divide, open_questions, pick_best


@jit
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
    """Choose the questions of a tree, and return sums of gradients and of weights by leaf.

    Parameters
    ----------
    bins : ndarray of unsigned integers, shape (n_rows, n_columns)
        Bins, numbered consecutively over all columns.
    gradients, weights : ndarray of shape (n_rows,)
        The gradient of each row's records, and the number of these records.
    bin_starts : ndarray of shape (n_columns + 1,)
        The first bin of each column, then the total number of bins.
    depth : int
        Number of levels of questions.
    thresholds : bool
        Whether questions ask if the bin is at most b; otherwise they ask if the bin equals b.
    regularisation : float
        λ ≥ 0, which is added to the number of records in gains.
    scale : float
        Noise scale of the choices. With 0 a node has the best question, or the first one of several
        best questions.
    noise : ndarray of shape (2**depth - 1, n_bins), or (1, 0) without noise
        See :func:`~privcurve.kernels.trees.levels.pick_best`. It is changed in place.
    splits : ndarray of shape (2**depth - 1,)
        Output: the number of each inner node's question, or `NO_QUESTION`.
    questions : Ranges
        Output: the same questions, each as a column and the range of bins that answer yes.

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
    gains = np.empty(width)
    # For each node on the present level, whether rows at the node can have each bin.
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
            _write_gains(sums[node], totals[node], bin_starts, thresholds, regularisation, gains)
            candidates = open_questions(possible[node], bin_starts, thresholds)
            split = pick_best(gains, candidates, scale, noise[index if scale > 0 else 0])
            splits[index] = split
            divide(possible[node], bin_starts, thresholds, split, children, 2 * node)
            column[index], low[index], high[index] = 0, 0, width
            if split != NO_QUESTION:
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


@jit
def _write_gains(
    sums: Floats,
    totals: Floats,
    bin_starts: Ints,
    thresholds: bool,
    regularisation: float,
    gains: Floats,
) -> None:
    for j in range(len(bin_starts) - 1):
        first, last = bin_starts[j], bin_starts[j + 1]
        column_sum = 0.0
        column_total = 0.0
        for b in range(first, last):
            column_sum += sums[b]
            column_total += totals[b]
        yes_sum = 0.0
        yes = 0.0
        for b in range(first, last):
            yes_sum = yes_sum + sums[b] if thresholds else sums[b]
            yes = yes + totals[b] if thresholds else totals[b]
            gains[b] = part_gain(yes_sum, yes, regularisation) + part_gain(
                column_sum - yes_sum, column_total - yes, regularisation
            )


@jit
def part_gain(gradient_sum: float, total: float, regularisation: float) -> float:
    """Return the gain of one side of a split, S²/(n + λ), or 0 for an empty side.

    S is the sum of the gradients, and n (`total`) the number of records.
    """
    if total <= 0:
        return 0.0
    return gradient_sum * gradient_sum / (total + regularisation)
