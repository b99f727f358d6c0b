"""Growth of one decision tree over coded columns, by histograms, in exact integers.

Questions are those of :mod:`privcurve.kernels.trees.choice`. Rows that say yes go to the
right child, the others to the left. A node's histogram holds the weight of its rows in
each bin, apart for the two labels: entries ``b`` for the positive label and
``n_bins + b`` for the negative. Of two children only the one with fewer rows is counted;
the other is the difference. All sums are of integers, so no order of rows changes them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from privcurve.coding import Floats, Ints, Signs
from privcurve.kernels.trees.choice import (
    answer_questions,
    impure_weight,
    pick_gain,
    pick_least,
    pick_rule,
    split_values,
)


class Weighed(NamedTuple):
    """Rows with their weights in one round.

    Attributes
    ----------
    bins : ndarray of unsigned integers, shape (n_rows, n_columns)
        Where a row's weight goes in a histogram: its bin, plus `n_bins` for the negative
        label.
    columns : ndarray of shape (n_bins,)
        The column of each bin, non-decreasing.
    mass : ndarray of shape (n_rows,)
        Weight of each row.
    """

    bins: NDArray[Any]
    columns: Ints
    mass: Ints


class Tree(NamedTuple):
    """A tree while it grows: all of it is output or work space.

    Attributes
    ----------
    splits, children : ndarray of shape (n_nodes,)
        The question of each node (−1: leaf) and its left child (0: leaf).
    labels : ndarray of shape (n_nodes,)
        −1 or +1 for the leaves of 1-rules; the others are not changed.
    totals : ndarray of shape (n_nodes, 2)
        Weight of the rows of each node with either label, positive first.
    borders : ndarray of shape (n_nodes, 2)
        Where the rows of each node begin and end in `order`.
    order, buffer : ndarray of shape (n_rows,)
        The rows, ordered by leaf; work space.
    histograms : ndarray of shape (n_nodes, 2 · n_bins)
        Work space; by levels the leaves need none.
    """

    splits: Ints
    children: Ints
    labels: Signs
    totals: Ints
    borders: Ints
    order: Ints
    buffer: Ints
    histograms: Ints


@njit(cache=True, nogil=True)
def _count_rows(bins: NDArray[Any], mass: Ints, rows: Ints, histogram: Ints) -> None:
    histogram[:] = 0
    n_columns = bins.shape[1]
    even = n_columns - n_columns % 2
    for i in rows:
        weight = mass[i]
        # Two at a time: a plain loop here is compiled to slower code.
        for j in range(0, even, 2):
            histogram[bins[i, j]] += weight
            histogram[bins[i, j + 1]] += weight
        if even < n_columns:
            histogram[bins[i, even]] += weight


@njit(cache=True, nogil=True)
def _part_rows(rows: Weighed, question: int, tree: Tree, start: int, stop: int) -> int:
    """Bring the rows of a node that say no before those that say yes; return the border."""
    order, buffer = tree.order, tree.buffer
    n_bins = len(rows.columns)
    b = question % n_bins
    column = rows.columns[b]
    # A yes is a bin from `low` to b; for a plain question that is b alone.
    low = b if question == b else int(np.searchsorted(rows.columns, column))
    n_left = 0
    n_right = 0
    for k in range(start, stop):
        i = order[k]
        place = int(rows.bins[i, column])
        if place >= n_bins:
            place -= n_bins
        yes = low <= place and place <= b
        order[start + n_left] = i
        buffer[n_right] = i
        n_left += not yes
        n_right += yes
    order[start + n_left : stop] = buffer[:n_right]
    return start + n_left


@njit(cache=True, nogil=True)
def _fill_children(rows: Weighed, tree: Tree, node: int, left: int) -> None:
    """Make the histograms of the two children of a node."""
    parent, no, yes = tree.histograms[node], tree.histograms[left], tree.histograms[left + 1]
    start, border, stop = tree.borders[left, 0], tree.borders[left, 1], tree.borders[node, 1]
    if border - start < stop - border:
        _count_rows(rows.bins, rows.mass, tree.order[start:border], no)
        yes[:] = parent - no
    else:
        _count_rows(rows.bins, rows.mass, tree.order[border:stop], yes)
        no[:] = parent - yes


@njit(cache=True, nogil=True)
def _split_node(
    rows: Weighed, tree: Tree, node: int, question: int, left: int, answers: Ints
) -> None:
    """Turn a leaf into an internal node with the children `left` and `left + 1`."""
    totals, borders = tree.totals, tree.borders
    tree.splits[node] = question
    tree.children[node] = left
    totals[left + 1, 0] = answers[question]
    totals[left + 1, 1] = answers[len(answers) // 2 + question]
    totals[left] = totals[node] - totals[left + 1]
    start, stop = borders[node]
    border = _part_rows(rows, question, tree, start, stop)
    borders[left, 0], borders[left, 1] = start, border
    borders[left + 1, 0], borders[left + 1, 1] = border, stop


@njit(cache=True, nogil=True)
def _plant(rows: Weighed, tree: Tree) -> None:
    """Start with a root that holds all rows."""
    tree.children[:] = 0
    tree.splits[:] = -1
    tree.borders[:] = 0
    order, histogram = tree.order, tree.histograms[0]
    for i in range(len(order)):
        order[i] = i
    _count_rows(rows.bins, rows.mass, order, histogram)
    # Every row is in one bin of the first column.
    n_bins = len(rows.columns)
    first_column = int(np.searchsorted(rows.columns, 1))
    tree.totals[0, 0] = histogram[:first_column].sum()
    tree.totals[0, 1] = histogram[n_bins : n_bins + first_column].sum()
    tree.borders[0, 0], tree.borders[0, 1] = 0, len(order)


@njit(cache=True, nogil=True)
def grow_by_levels(
    rows: Weighed,
    tree: Tree,
    depth: int,
    thresholds: bool,
    criterion: int,
    scale: float,
    noise: Floats,
    rule_scale: float,
    rule_noise: Floats,
) -> None:
    """Grow a tree level by level: one private choice of a question at each node.

    Node i has the children 2i + 1 and 2i + 2. A node without rows gets a split too. If
    there are draws in `rule_noise` (or `rule_scale` is infinite), the nodes of the last
    level get a 1-rule each instead of a split: a question and the labels of both leaves, or one
    label for all rows.

    Parameters
    ----------
    rows : Weighed
    tree : Tree
        Output, of 2**(depth + 1) − 1 nodes.
    depth : int
        Levels of splits, D.
    thresholds : bool
        Whether there are questions for thresholds too: then n_questions = 2 · n_bins,
        else n_bins.
    criterion : int
        Place in `CRITERIA`.
    scale : float
        The noise rate, in the unit of 1/mass.
    noise : ndarray of shape (2**depth − 1, n_questions)
        −scale · F is added to it in place; of shape (2**depth − 1, 0) to pick the least F.
    rule_scale : float
        The noise rate of the 1-rules, in the unit of 1/mass; 0: there are none.
    rule_noise : ndarray of shape (2**(depth − 1), 2 · n_questions + 2)
        Added to −rule_scale · error; of shape (…, 0) to pick the least error.
    """
    n_questions = len(rows.columns) * (2 if thresholds else 1)
    values = np.empty(n_questions)
    answers = np.empty(2 * n_questions, np.int64)
    totals, labels = tree.totals, tree.labels
    _plant(rows, tree)
    for node in range(2**depth - 1):
        left = 2 * node + 1
        answer_questions(tree.histograms[node], rows.columns, answers)
        first_of_level = 2 ** (depth - 1) - 1
        if rule_scale > 0.0 and node >= first_of_level:
            rule = pick_rule(answers, totals[node], rule_scale, rule_noise[node - first_of_level])
            question = rule >> 1
            sign = 1 - 2 * (rule & 1)
            if question == n_questions:
                labels[node] = sign
                continue
            labels[left], labels[left + 1] = -sign, sign
        else:
            split_values(answers, totals[node], criterion, values)
            question = pick_least(values, scale, noise[node])
        _split_node(rows, tree, node, question, left, answers)
        if left < 2**depth - 1:
            _fill_children(rows, tree, node, left)


@njit(cache=True, nogil=True)
def grow_best_first(
    rows: Weighed,
    tree: Tree,
    n_splits: int,
    criterion: int,
    scale: float,
    noise: Floats,
    gains: Floats,
) -> None:
    """Grow a tree by a private choice among all leaves and bins (thesis, Algorithm 3).

    Nodes are numbered as they appear: the k-th split makes the nodes 2k − 1 and 2k.

    Parameters
    ----------
    rows, tree, criterion, scale
        As for :func:`grow_by_levels`, with 2 · n_splits + 1 nodes; an infinite `scale` picks
        the largest gain.
    n_splits : int
        Internal nodes, t.
    noise : ndarray of shape (n_splits,)
        Uniform in [0, 1), one number a split.
    gains : ndarray of shape (2 · n_splits + 1, n_bins)
        Work space.
    """
    n_bins = len(rows.columns)
    totals, histograms = tree.totals, tree.histograms
    _plant(rows, tree)
    fresh = np.zeros(1, np.int64)
    for k in range(n_splits):
        for leaf in fresh:
            split_values(histograms[leaf], totals[leaf], criterion, gains[leaf])
            whole = impure_weight(float(totals[leaf, 0]), float(totals[leaf, 1]), criterion)
            for b in range(n_bins):
                gains[leaf, b] = whole - gains[leaf, b]
        left = 2 * k + 1
        node, question = pick_gain(gains, tree.children, left, scale, noise[k])
        _split_node(rows, tree, node, question, left, histograms[node])
        if k < n_splits - 1:
            _fill_children(rows, tree, node, left)
        fresh = np.array([left, left + 1])
