"""LazyBB over decision trees (thesis, Algorithms 2 and 3): the loop over rounds.

One round weighs the records by their margins, grows a tree (see
:mod:`privcurve.kernels.trees.growth`), labels its leaves, and adds its votes to the margins. A
single tree is a single round with equal weights of all records.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from privcurve.coding import Floats, Ints, Signs
from privcurve.kernels.jit import jit
from privcurve.kernels.projection import Weighing, project, weighing
from privcurve.kernels.trees.choice import CRITERIA
from privcurve.kernels.trees.form import Ranges, ranges
from privcurve.kernels.trees.growth import GrowingTree, RoundRows, grow_best_first, grow_by_levels


class BinnedRows(NamedTuple):
    """The rows that the tree kernels read."""

    bins: NDArray[Any]  # (n_rows, n_columns): bins, numbered through all columns
    labels: NDArray[np.uint8]  # (n_rows,): 1 for the positive label, else 0
    counts: Ints  # (n_rows,): number of records of each row
    n_bins: Ints  # (n_columns,): number of bins of each column

    def questions(self, thresholds: bool) -> Ranges:
        """Return the questions that trees may ask: one per bin; with `thresholds`, two per bin."""
        width = int(self.n_bins.sum())
        return ranges(np.arange(2 * width if thresholds else width), self.n_bins)


class TreeNoise(NamedTuple):
    """All random numbers of a fit. The kernel adds scores to this noise, in place."""

    # Noise of the choices of splits. For trees grown by levels the shape is (n_rounds, 2**depth −
    # 1, n_questions), and the noise is Gumbel or (for permute-and-flip) standard exponential. For
    # trees grown best first the shape is (n_rounds, n_splits, 1), and the noise is uniform. At ε =
    # ∞ the last axis has length 0.
    splits: Floats
    # Noise of the choices of 1-rules, which replace the last level of splits; the distribution is
    # the same as in `splits`. The shape is (n_rounds, 2**(depth − 1), 2 · n_questions + 2); without
    # 1-rules the last two axes may have length 0.
    rules: Floats
    # (n_rounds, n_nodes): noise that is added to the product of a leaf's margin and the round's
    # rate (`label_rates`); 0 at ε = ∞ and with 1-rules.
    labels: Floats


class Forest(NamedTuple):
    """Trees in the order of the rounds, as model files store them."""

    # (n_trees, n_nodes): each node's question, numbered as in `kernels.trees.form`; −1 for a leaf.
    splits: Ints
    # (n_trees, n_nodes): the child c for the answer no (0 for a leaf); the child for yes is c + 1.
    children: Ints
    labels: Signs  # (n_trees, n_nodes): −1 or +1 for a leaf; 0 for an internal node


def node_count(depth: int, n_splits: int) -> int:
    """Return a tree's number of nodes, by its `depth`, or by `n_splits` if `depth` is 0."""
    return 2 ** (depth + 1) - 1 if depth else 2 * n_splits + 1


def boost_trees(
    rows: BinnedRows,
    density: float,
    learning_rate: float,
    depth: int,
    n_splits: int,
    thresholds: bool,
    criterion: str,
    rates: Floats,
    label_rates: Floats,
    rules: bool,
    normalise: bool,
    noise: TreeNoise,
    begin: Ints | None = None,
) -> tuple[Forest, float]:
    """Grow a tree in each round, with noisy choices of splits and noisy labels of leaves.

    Parameters
    ----------
    rows : BinnedRows
    density, learning_rate : float
        κ and λ.
    depth : int
        Number of levels of splits of trees grown by levels; 0: trees are grown best first.
    n_splits : int
        Number of internal nodes of a tree grown best first.
    thresholds : bool
        Whether trees may also ask whether a bin is at most a threshold.
    criterion : str
        One of `CRITERIA`.
    rates, label_rates : ndarray of shape (n_rounds,)
        Factors of the scores of splits, and of the margins of leaves (or the errors of 1-rules). If
        all are infinite there is no noise.
    rules : bool
        Whether the nodes of the last level choose 1-rules; only for trees grown by levels.
    normalise : bool
        Whether weights are divided by their sum |μ| (as published), or by κn
        (docs/proofs.md, 'LazyBB: first rounds').
    noise : TreeNoise
    begin : ndarray of shape (n_rows,), optional
        The margin of each row before the first round, in votes; 0 by default.

    Returns
    -------
    forest : Forest
    largest : float
        The largest result of ``project`` in any round. The privacy proof needs at most 1.

    Raises
    ------
    ValueError
        If rates are finite, but `noise` is empty.
    """
    # The kernel adds no noise if an array is empty, so with finite rates no array may be empty.
    private = np.isfinite(rates).any() or np.isfinite(label_rates).any()
    drawn = noise.splits.shape[-1] > 0 and (not rules or noise.rules.shape[-1] > 0)
    if private and not drawn:
        raise ValueError("noise must have all arrays if rates are finite; got an empty one")
    # Numba would compile the kernel again for read-only arrays such as a plan's rates: copy them.
    splits, children, labels, largest = _boost(
        RoundRows(rows.bins, rows.labels, np.empty_like(rows.counts), rows.questions(thresholds)),
        rows.counts, weighing(rows.counts, begin, density, learning_rate, normalise),
        depth, n_splits, CRITERIA.index(criterion), rates.copy(), label_rates.copy(), rules, noise,
    )  # fmt: skip
    return Forest(splits, children, labels), float(largest)


@jit
def _boost(
    rows: RoundRows,
    counts: Ints,
    weighed: Weighing,
    depth: int,
    n_splits: int,
    criterion: int,
    rates: Floats,
    label_rates: Floats,
    rules: bool,
    noise: TreeNoise,
) -> tuple[Ints, Ints, Signs, float]:
    levels, spread, step, density, learning_rate, unit, normalise = weighed
    labels_of_rows, mass, questions = rows.labels, rows.mass, rows.questions
    split_noise, rule_noise, label_noise = noise
    n_rows = len(counts)
    width = questions.high[-1] + 1
    n_rounds, n_nodes = label_noise.shape
    splits = np.empty((n_rounds, n_nodes), np.int64)
    children = np.empty((n_rounds, n_nodes), np.int64)
    labels = np.zeros((n_rounds, n_nodes), np.int8)
    histograms = np.empty((2**depth - 1 if depth > 0 else n_nodes, 2, width), np.int64)
    gains = np.empty((0 if depth > 0 else n_nodes, len(questions.low)))
    totals = np.empty((n_nodes, 2), np.int64)
    borders = np.empty((n_nodes, 2), np.int64)
    order = np.empty(n_rows, np.int64)
    buffer = np.empty(n_rows, np.int64)
    # The level of a row starts at `levels`, and each correct vote adds `step` to it.
    level = levels.copy()
    by_level = np.zeros(spread + step * n_rounds + 1, np.int64)
    weights = np.zeros(len(by_level), np.int64)
    n = counts.sum()
    largest = 0.0
    for t in range(n_rounds):
        last = spread + step * t
        by_level[:] = 0
        for i in range(n_rows):
            by_level[level[i]] += counts[i]
        largest = max(largest, project(by_level, last, density, learning_rate, unit, weights))
        total = density * n * unit
        if normalise:
            mass_of_all = 0
            for k in range(last + 1):
                mass_of_all += by_level[k] * weights[k]
            total = float(mass_of_all)
        for i in range(n_rows):
            mass[i] = weights[level[i]] * counts[i]
        tree = GrowingTree(
            splits[t], children[t], labels[t], totals, borders, order, buffer, histograms
        )
        if depth > 0:
            rule_rate = label_rates[t] / total if rules else 0.0
            grow_by_levels(
                rows, tree, depth, criterion, rates[t] / total, split_noise[t],
                rule_rate, rule_noise[t],
            )  # fmt: skip
        else:
            grow_best_first(
                rows, tree, n_splits, criterion, rates[t] / total, split_noise[t, :, 0], gains
            )
        for node in range(n_nodes):
            if children[t, node] > 0:
                continue
            if not rules:
                margin = float(totals[node, 1] - totals[node, 0])
                if not np.isinf(label_rates[t]):
                    label_noise[t, node] += label_rates[t] * margin / total
                    margin = label_noise[t, node]
                labels[t, node] = 1 if margin > 0.0 else -1
            plus = labels[t, node] > 0
            for k in range(borders[node, 0], borders[node, 1]):
                level[order[k]] += step * ((labels_of_rows[order[k]] > 0) == plus)
    return splits, children, labels, largest
