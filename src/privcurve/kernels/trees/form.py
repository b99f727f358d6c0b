"""Represent trees on encoded rows: convert questions, find leaves, compute histograms.

Here the bins of all columns are numbered consecutively; a *code* is the number of a bin within its
column. Question ``b`` is "is the row in bin b?". Question ``n + b``, with the number n of all bins,
is "is the row's bin in the column of b at most b?".
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from privcurve.coding import Codes, Ints, Signs, bin_starts
from privcurve.kernels.jit import jit

NO_QUESTION = -1

# A range (column, low, high) to which every row answers no, and one to which every row answers yes.
NOBODY = 0, 1, 0
EVERYBODY = 0, 0, 2**62


class Ranges(NamedTuple):
    """Questions as ranges: a row answers yes if its bin in `column` is from `low` to `high`."""

    column: Ints
    low: Ints
    high: Ints


class Trees(NamedTuple):
    """The trees of any learner, as arrays that the prediction kernels read."""

    # The question of each node as a range (see `Ranges`): three arrays of shape (n_trees, n_inner).
    column: Ints
    low: Ints
    high: Ints
    # (n_trees, n_inner): the first of a node's two consecutive children; 0 for a leaf.
    # All nodes from n_inner on are leaves.
    child: Ints
    yes: int = 1  # the child for the answer yes: 0 means the first child, 1 the second

    def subset(self, start: int, stop: int | None) -> Trees:
        """Return the trees `start` to `stop` (exclusive)."""
        one = slice(start, stop)
        return Trees(self.column[one], self.low[one], self.high[one], self.child[one], self.yes)


def ranges(numbers: Ints, n_bins: Ints, none: tuple[int, int, int] = NOBODY) -> Ranges:
    """Convert question numbers to ranges of bins; the number −1 (no question) becomes `none`."""
    b = np.arange(n_bins.sum())
    column = np.repeat(np.arange(len(n_bins)), n_bins)
    first = bin_starts(n_bins)[column]
    table = (column, column), (b, first), (b, b)
    columns = (np.concatenate([*part, [end]]) for part, end in zip(table, none, strict=True))
    return Ranges(*(column[numbers] for column in columns))


def complete_trees(questions: Ranges, yes: int = 1) -> Trees:
    """Return complete trees with these questions: node i has the children 2i + 1 and 2i + 2.

    `yes` says which child is for the answer yes, as in `Trees`.
    """
    child = np.empty_like(questions.column)
    child[:] = 2 * np.arange(child.shape[1]) + 1
    return Trees(*questions, child, yes)


def ask_two_columns(trees: Trees) -> bool:
    """Return whether some path of a tree tests more than one column."""
    column, low, high, child, _ = trees
    n_trees, n_inner = column.shape
    every = np.arange(n_trees)
    above = np.full((n_trees, int(child.max(initial=0)) + n_inner + 2), NO_QUESTION)
    # For each node, `above` has the column that the questions above the node test; the loop returns
    # as soon as there are two such columns. Children come after their parents, so one pass over the
    # nodes fills `above`.
    for node in range(n_inner):
        earlier, own, first = above[:, node], column[:, node], child[:, node]
        divides = (first > 0) & (low[:, node] <= high[:, node]) & (high[:, node] < EVERYBODY[2])
        if (divides & (earlier != NO_QUESTION) & (earlier != own)).any():
            return True
        below = np.where(divides, own, earlier)
        inner = every[first > 0]
        for side in (0, 1):
            above[inner, first[inner] + side] = below[inner]
    return False


def bin_codes(codes: Codes, n_bins: Ints) -> NDArray[np.unsignedinteger[Any]]:
    """Return the bin of each code, of shape (n_rows, n_columns)."""
    width = int(n_bins.sum())
    dtype = np.uint16 if width <= 2**16 else np.uint32
    starts = np.cumsum(n_bins) - n_bins
    return np.add(codes, starts.astype(dtype), dtype=dtype)


def bin_rows(codes: Codes, n_bins: Ints, signs: Signs) -> tuple[NDArray[Any], NDArray[np.uint8]]:
    """Return the bin of each code, and each label (−1 or +1) as 0 or 1."""
    return bin_codes(codes, n_bins), (signs > 0).astype(np.uint8)


@jit
def find_leaves(bins: NDArray[Any], trees: Trees) -> Ints:
    """Return the node number of the leaf that each row reaches in each tree: (n_trees, n_rows)."""
    column, low, high, child, yes = trees
    n_trees = len(column)
    n_inner = np.uint64(column.shape[1])
    leaves = np.empty((n_trees, len(bins)), np.int64)
    for t in range(n_trees):
        # With unsigned indices, Numba need not test for negative indices, which halves the time.
        of_tree, children = column[t].astype(np.uint32), child[t].astype(np.uint32)
        first, last = low[t], high[t]
        for i in range(len(bins)):
            node = np.uint64(0)
            while node < n_inner and children[node] > 0:
                b = np.int64(bins[i, of_tree[node]])
                second = (first[node] <= b and b <= last[node]) == yes
                node = np.uint64(children[node]) + np.uint64(second)
            leaves[t, i] = node
    return leaves


@jit
def add_leaves(leaves: Ints, values: NDArray[Any], scores: NDArray[Any]) -> None:
    """Add the values of each row's leaves to its scores, in place.

    `leaves` has shape (n_trees, n_rows), and counts the leaves of a tree from 0; `values` has shape
    (n_trees, n_leaves, n_outputs), and `scores` (n_rows, n_outputs).
    """
    n_trees, n_rows = leaves.shape
    for t in range(n_trees):
        for i in range(n_rows):
            for c in range(scores.shape[1]):
                scores[i, c] += values[t, leaves[t, i], c]


@jit
def add_trees(bins: NDArray[Any], trees: Trees, values: NDArray[Any], scores: NDArray[Any]) -> None:
    """Add the values of trees to the scores of rows, tree by tree.

    Parameters
    ----------
    bins : ndarray of unsigned integers, shape (n_rows, n_columns)
    trees : Trees
    values : ndarray of shape (n_trees, n_values, n_outputs)
        The values of all nodes; or, for complete trees, of the leaves, which are the last nodes.
    scores : ndarray of shape (n_rows, n_outputs)
        It is changed in place.
    """
    column, low, high, child, yes = trees
    n_leaves = values.shape[1]
    first = 0 if n_leaves == column.shape[1] else n_leaves - 1
    for t in range(len(values)):
        one = slice(t, t + 1)
        tree = Trees(column[one], low[one], high[one], child[one], yes)
        add_leaves(find_leaves(bins, tree) - first, values[one], scores)


@jit
def count_rows(
    bins: NDArray[Any],
    labels: NDArray[Any],
    weights: NDArray[Any],
    rows: Ints,
    histogram: NDArray[Any],
) -> None:
    """Write the sums of the weights of some rows by label and bin.

    Parameters
    ----------
    bins : ndarray of unsigned integers, shape (n_rows, n_columns)
    labels : ndarray of shape (n_rows,)
        Labels as positions on the first axis of `histogram`.
    weights : ndarray of shape (n_rows,)
    rows : ndarray of int64
        Positions of the rows to count.
    histogram : ndarray of shape (n_labels, n_bins)
        Output.
    """
    histogram[:] = 0
    n_columns = bins.shape[1]
    even = n_columns - n_columns % 2
    for i in rows:
        weight = weights[i]
        of_label = histogram[labels[i]]
        # Count two columns at a time: for a thousand rows, a loop over single columns takes 1.5
        # times as long.
        for j in range(0, even, 2):
            of_label[bins[i, j]] += weight
            of_label[bins[i, j + 1]] += weight
        if even < n_columns:
            of_label[bins[i, even]] += weight


@jit
def answers(histogram: NDArray[Any], low: Ints, high: Ints) -> NDArray[Any]:
    """Return the weight of rows that answer yes, by question and label: (n_questions, n_labels).

    Question q asks whether a bin is from `low[q]` to `high[q]`. Ranges with the same first bin must
    be consecutive, in the order of their last bins, because each sum continues the one before.
    """
    yes = np.empty((len(low), len(histogram)), histogram.dtype)
    for c in range(len(histogram)):
        weights = histogram[c]
        for q in range(len(low)):
            if q > 0 and low[q - 1] == low[q]:
                first, total = high[q - 1] + 1, yes[q - 1, c]
            else:
                first, total = low[q] + 1, weights[low[q]]
            for b in range(first, high[q] + 1):
                total += weights[b]
            yes[q, c] = total
    return yes
