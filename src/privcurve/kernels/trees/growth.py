"""Grow one decision tree on encoded columns, from integer histograms.

Rows with the answer yes go to the right child, all other rows to the left child. Only the rows of
the smaller child are counted; the histogram of the larger child is the parent's histogram minus the
smaller child's. Sums of integers do not depend on the order of the rows.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from privcurve.coding import Floats, Ints, Signs
from privcurve.kernels.jit import jit
from privcurve.kernels.trees.choice import (
    pick_gain,
    pick_least,
    pick_rule,
    split_values,
    two_class_impurity,
)
from privcurve.kernels.trees.form import Ranges, answers, count_rows


class RoundRows(NamedTuple):
    """Rows with their weights in one round, and the possible questions."""

    bins: NDArray[Any]  # (n_rows, n_columns): bins, numbered through all columns
    labels: NDArray[Any]  # (n_rows,): 1 for the positive label, else 0
    mass: Ints  # (n_rows,): total weight of the records of each row
    questions: Ranges  # all questions that a node may ask


class GrowingTree(NamedTuple):
    """A growing tree; all fields are output or work space."""

    splits: Ints  # (n_nodes,): the number of each node's question; −1 for a leaf
    children: Ints  # (n_nodes,): the left child of each node; 0 for a leaf
    labels: Signs  # (n_nodes,): −1 or +1 for leaves of 1-rules; other entries are not changed
    totals: Ints  # (n_nodes, 2): weight of the rows of each node by label
    # (n_nodes, 2): node i has the rows order[borders[i, 0] : borders[i, 1]].
    borders: Ints
    order: Ints  # (n_rows,): the rows, ordered by leaf
    buffer: Ints  # (n_rows,): work space
    # (n_nodes, 2, n_bins): work space. Trees grown by levels need it for inner nodes only.
    histograms: Ints


@jit
def _part_rows(rows: RoundRows, question: int, tree: GrowingTree, start: int, stop: int) -> int:
    """Sort a node's rows by answer, no before yes; return the position of the first yes."""
    order, buffer = tree.order, tree.buffer
    column, low, high = rows.questions
    j, first, last = column[question], low[question], high[question]
    n_left = 0
    n_right = 0
    for k in range(start, stop):
        i = order[k]
        b = np.int64(rows.bins[i, j])
        yes = first <= b and b <= last
        order[start + n_left] = i
        buffer[n_right] = i
        n_left += not yes
        n_right += yes
    for k in range(n_right):
        order[start + n_left + k] = buffer[k]
    return start + n_left


@jit
def _fill_children(rows: RoundRows, tree: GrowingTree, node: int, left: int) -> None:
    """Compute the histograms of the children `left` and `left + 1` of a node."""
    start, border, stop = tree.borders[left, 0], tree.borders[left, 1], tree.borders[node, 1]
    fewer, more = left, left + 1
    members = tree.order[start:border]
    if border - start >= stop - border:
        fewer, more = more, fewer
        members = tree.order[border:stop]
    histograms = tree.histograms
    count_rows(rows.bins, rows.labels, rows.mass, members, histograms[fewer])
    for label in range(2):
        for b in range(histograms.shape[2]):
            histograms[more, label, b] = histograms[node, label, b] - histograms[fewer, label, b]


@jit
def _split_node(rows: RoundRows, tree: GrowingTree, node: int, question: int, left: int) -> None:
    """Turn a leaf into an internal node with the children `left` and `left + 1`."""
    totals, borders = tree.totals, tree.borders
    tree.splits[node] = question
    tree.children[node] = left
    inside = slice(rows.questions.low[question], rows.questions.high[question] + 1)
    for label in range(2):
        totals[left + 1, label] = tree.histograms[node, label, inside].sum()
        totals[left, label] = totals[node, label] - totals[left + 1, label]
    start, stop = borders[node]
    border = _part_rows(rows, question, tree, start, stop)
    borders[left, 0], borders[left, 1] = start, border
    borders[left + 1, 0], borders[left + 1, 1] = border, stop


@jit
def _plant(rows: RoundRows, tree: GrowingTree) -> None:
    """Reset a tree to a root that contains all rows."""
    tree.children[:] = 0
    tree.splits[:] = -1
    tree.borders[:] = 0
    order, totals = tree.order, tree.totals
    totals[0] = 0
    for i in range(len(order)):
        order[i] = i
        totals[0, rows.labels[i]] += rows.mass[i]
    count_rows(rows.bins, rows.labels, rows.mass, order, tree.histograms[0])
    tree.borders[0, 0], tree.borders[0, 1] = 0, len(order)


@jit
def grow_by_levels(
    rows: RoundRows,
    tree: GrowingTree,
    depth: int,
    criterion: int,
    scale: float,
    noise: Floats,
    rule_scale: float,
    rule_noise: Floats,
) -> None:
    """Grow a tree level by level, with one private choice of a question at each node.

    Node i has the children 2i + 1 and 2i + 2. A node without rows also gets a split. If
    `rule_scale` is above 0, each node of the last level chooses a 1-rule instead of a split: a
    question and the labels of both leaves, or one label for all rows (the node is then a leaf).

    Parameters
    ----------
    rows : RoundRows
    tree : GrowingTree
        Output, with 2**(depth + 1) − 1 nodes.
    depth : int
        Number of levels of splits, D.
    criterion : int
        Position in `CRITERIA`.
    scale : float
        Factor of the sum of F (``choice.two_class_impurity``) over the two children of a question,
        in units of 1/mass.
    noise : ndarray of shape (2**depth − 1, n_questions)
        Noise of the choices of splits. The function adds −scale · ΣF to it in place. The shape
        (2**depth − 1, 0) means no noise.
    rule_scale : float
        Factor of the error of a 1-rule, in units of 1/mass; 0 means that there are no 1-rules.
    rule_noise : ndarray of shape (2**(depth − 1), 2 · n_questions + 2)
        Noise of the choices of 1-rules. The function adds −rule_scale · error to it in place. The
        shape (…, 0) means no noise.
    """
    _, low, high = rows.questions
    n_questions = len(low)
    values = np.empty(n_questions)
    totals, labels = tree.totals, tree.labels
    _plant(rows, tree)
    for node in range(2**depth - 1):
        left = 2 * node + 1
        yes = answers(tree.histograms[node], low, high)
        first_of_level = 2 ** (depth - 1) - 1
        if rule_scale > 0.0 and node >= first_of_level:
            rule = pick_rule(yes, totals[node], rule_scale, rule_noise[node - first_of_level])
            question = rule >> 1
            sign = 1 - 2 * (rule & 1)
            if question == n_questions:
                labels[node] = sign
                continue
            labels[left], labels[left + 1] = -sign, sign
        else:
            split_values(yes, totals[node], criterion, values)
            question = pick_least(values, scale, noise[node])
        _split_node(rows, tree, node, question, left)
        if left < 2**depth - 1:
            _fill_children(rows, tree, node, left)


@jit
def grow_best_first(
    rows: RoundRows,
    tree: GrowingTree,
    n_splits: int,
    criterion: int,
    scale: float,
    noise: Floats,
    gains: Floats,
) -> None:
    """Grow a tree best first: each split is a private choice of a leaf and a question.

    This is Algorithm 3 of the thesis. The k-th split creates the nodes 2k − 1 and 2k.

    Parameters
    ----------
    rows, tree, criterion, scale
        See :func:`grow_by_levels`. Here the tree has 2 · n_splits + 1 nodes, and `scale` is the
        factor of the gain; if it is infinite, the largest gain is chosen.
    n_splits : int
        Number of internal nodes.
    noise : ndarray of shape (n_splits,)
        Uniform numbers in [0, 1), one for each split.
    gains : ndarray of shape (2 · n_splits + 1, n_questions)
        Work space.
    """
    _, low, high = rows.questions
    totals, histograms = tree.totals, tree.histograms
    _plant(rows, tree)
    fresh = np.zeros(1, np.int64)
    for k in range(n_splits):
        for leaf in fresh:
            yes = answers(histograms[leaf], low, high)
            split_values(yes, totals[leaf], criterion, gains[leaf])
            value = two_class_impurity(float(totals[leaf, 1]), float(totals[leaf, 0]), criterion)
            for q in range(len(low)):
                gains[leaf, q] = value - gains[leaf, q]
        left = 2 * k + 1
        node, question = pick_gain(gains, tree.children, left, scale, noise[k])
        _split_node(rows, tree, node, question, left)
        if k < n_splits - 1:
            _fill_children(rows, tree, node, left)
        fresh = np.array([left, left + 1])
