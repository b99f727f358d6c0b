"""Growth of one decision tree over coded columns, by histograms, in exact integers.

A split asks whether a column has a given code: *bin* ``b`` stands for one code of one
column, in the order of the domain. Rows that are in the bin go to the right child, the
others to the left. A node's histogram holds the weight of its rows in each bin, apart for
the two labels: entries ``b`` for the positive label and ``n_bins + b`` for the negative.
Of two children only the one with fewer rows is counted; the other is the difference.
All sums are of integers, so no order of rows changes them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

CRITERIA = ("gini", "entropy", "root_gini", "zero_one")
_GINI, _ENTROPY, _ROOT_GINI = 0, 1, 2


@njit(cache=True, nogil=True)
def impure_weight(positive: float, negative: float, criterion: int) -> float:
    """Give F(a, b) = (a + b)·G(a / (a + b)), the criterion times the weight of a node.

    Parameters
    ----------
    positive, negative : float
        Weight of either label.
    criterion : int
        Place in `CRITERIA`.

    Returns
    -------
    float
        In the unit of the weights; 0 for a pure or empty node.
    """
    if positive <= 0.0 or negative <= 0.0:
        return 0.0
    both = positive + negative
    if criterion == _GINI:
        return 4.0 * positive * negative / both
    if criterion == _ENTROPY:
        return -(positive * np.log2(positive / both) + negative * np.log2(negative / both))
    if criterion == _ROOT_GINI:
        return 2.0 * np.sqrt(positive) * np.sqrt(negative)
    return 2.0 * min(positive, negative)


@njit(cache=True, nogil=True)
def _count_rows(
    bins: NDArray[Any],
    mass: NDArray[np.int64],
    rows: NDArray[np.int64],
    histogram: NDArray[np.int64],
) -> None:
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
def _part_rows(
    bins: NDArray[Any],
    column: int,
    b: int,
    n_bins: int,
    order: NDArray[np.int64],
    buffer: NDArray[np.int64],
    start: int,
    stop: int,
) -> int:
    """Bring the rows of a node that are outside a bin before those in it; give the border."""
    n_left = 0
    n_right = 0
    for k in range(start, stop):
        i = order[k]
        code = np.int64(bins[i, column])
        inside = code == b or code == b + n_bins
        order[start + n_left] = i
        buffer[n_right] = i
        n_left += not inside
        n_right += inside
    order[start + n_left : stop] = buffer[:n_right]
    return start + n_left


@njit(cache=True, nogil=True)
def _fill_children(
    bins: NDArray[Any],
    mass: NDArray[np.int64],
    order: NDArray[np.int64],
    borders: NDArray[np.int64],
    parent: NDArray[np.int64],
    left: NDArray[np.int64],
    right: NDArray[np.int64],
) -> None:
    """Make the histograms of two children, whose rows lie between three borders."""
    start, border, stop = borders
    if border - start < stop - border:
        _count_rows(bins, mass, order[start:border], left)
        right[:] = parent - left
    else:
        _count_rows(bins, mass, order[border:stop], right)
        left[:] = parent - right


@njit(cache=True, nogil=True)
def _split_values(
    histogram: NDArray[np.int64],
    totals: NDArray[np.int64],
    criterion: int,
    values: NDArray[np.float64],
) -> None:
    """Write F of both children together, for each bin."""
    n_bins = len(values)
    for b in range(n_bins):
        positive, negative = histogram[b], histogram[n_bins + b]
        values[b] = impure_weight(
            float(totals[0] - positive), float(totals[1] - negative), criterion
        ) + impure_weight(float(positive), float(negative), criterion)


@njit(cache=True, nogil=True)
def _pick_least(values: NDArray[np.float64], scale: float, noise: NDArray[np.float64]) -> int:
    """Pick the bin of least value; with noise, of largest noise − scale · value."""
    best = 0
    if len(noise) == 0:
        for b in range(1, len(values)):
            if values[b] < values[best]:
                best = b
        return best
    best_score = -np.inf
    for b in range(len(values)):
        score = noise[b] - scale * values[b]
        if score > best_score:
            best, best_score = b, score
    return best


@njit(cache=True, nogil=True)
def _pick_rule(
    histogram: NDArray[np.int64],
    totals: NDArray[np.int64],
    scale: float,
    noise: NDArray[np.float64],
) -> int:
    """Pick the 1-rule of least error on the rows of a node; with noise, of least noisy error.

    Rules are numbered as in :mod:`privcurve.kernels.one_rule`: 2b says + in the bin and −
    outside, 2b + 1 the contrary; then come + and − for all rows.
    """
    n_bins = len(histogram) // 2
    best = 0
    best_score = -np.inf
    for rule in range(2 * n_bins + 2):
        b = rule >> 1
        positive, negative = totals
        if b < n_bins:
            positive, negative = histogram[b], histogram[n_bins + b]
        wrong = totals[0] - positive + negative
        if rule & 1 == 1:
            wrong = positive + totals[1] - negative
        score = -float(wrong) if len(noise) == 0 else noise[rule] - scale * wrong
        if score > best_score:
            best, best_score = rule, score
    return best


@njit(cache=True, nogil=True)
def _pick_gain(
    gains: NDArray[np.float64],
    children: NDArray[np.int64],
    n_nodes: int,
    scale: float,
    chance: float,
) -> tuple[int, int]:
    """Pick a leaf and a bin with probability ∝ exp(scale · gain), by one uniform number.

    An infinite scale gives the largest gain, the first of equals.
    """
    best_node, best_bin = -1, -1
    for node in range(n_nodes):
        if children[node] == 0:
            for b in range(gains.shape[1]):
                if best_node < 0 or gains[node, b] > gains[best_node, best_bin]:
                    best_node, best_bin = node, b
    if np.isinf(scale):
        return best_node, best_bin
    largest = gains[best_node, best_bin]
    total = 0.0
    for node in range(n_nodes):
        if children[node] == 0:
            for b in range(gains.shape[1]):
                total += np.exp(scale * (gains[node, b] - largest))
    left_over = chance * total
    for node in range(n_nodes):
        if children[node] == 0:
            for b in range(gains.shape[1]):
                left_over -= np.exp(scale * (gains[node, b] - largest))
                if left_over < 0.0:
                    return node, b
    return best_node, best_bin


@njit(cache=True, nogil=True)
def _split_node(
    bins: NDArray[Any],
    columns: NDArray[np.int64],
    node: int,
    b: int,
    left: int,
    histogram: NDArray[np.int64],
    splits: NDArray[np.int64],
    children: NDArray[np.int64],
    totals: NDArray[np.int64],
    order: NDArray[np.int64],
    buffer: NDArray[np.int64],
    borders: NDArray[np.int64],
) -> None:
    """Turn a leaf into an internal node with the children `left` and `left + 1`."""
    n_bins = len(columns)
    splits[node] = b
    children[node] = left
    totals[left + 1, 0] = histogram[b]
    totals[left + 1, 1] = histogram[n_bins + b]
    totals[left] = totals[node] - totals[left + 1]
    start, stop = borders[node]
    border = _part_rows(bins, columns[b], b, n_bins, order, buffer, start, stop)
    borders[left, 0], borders[left, 1] = start, border
    borders[left + 1, 0], borders[left + 1, 1] = border, stop


@njit(cache=True, nogil=True)
def _plant(
    bins: NDArray[Any],
    mass: NDArray[np.int64],
    first_column: int,
    n_bins: int,
    histogram: NDArray[np.int64],
    children: NDArray[np.int64],
    splits: NDArray[np.int64],
    totals: NDArray[np.int64],
    order: NDArray[np.int64],
    borders: NDArray[np.int64],
) -> None:
    """Start with a root that holds all rows."""
    children[:] = 0
    splits[:] = -1
    borders[:] = 0
    for i in range(len(order)):
        order[i] = i
    _count_rows(bins, mass, order, histogram)
    # Every row is in one bin of the first column.
    totals[0, 0] = histogram[:first_column].sum()
    totals[0, 1] = histogram[n_bins : n_bins + first_column].sum()
    borders[0, 0], borders[0, 1] = 0, len(order)


@njit(cache=True, nogil=True)
def grow_by_levels(
    bins: NDArray[Any],
    columns: NDArray[np.int64],
    mass: NDArray[np.int64],
    depth: int,
    criterion: int,
    scale: float,
    noise: NDArray[np.float64],
    rule_scale: float,
    rule_noise: NDArray[np.float64],
    histograms: NDArray[np.int64],
    splits: NDArray[np.int64],
    children: NDArray[np.int64],
    labels: NDArray[np.int8],
    totals: NDArray[np.int64],
    order: NDArray[np.int64],
    buffer: NDArray[np.int64],
    borders: NDArray[np.int64],
) -> None:
    """Grow a tree level by level: one private choice of a bin at each node.

    Node i has the children 2i + 1 and 2i + 2. A node without rows gets a split too. If
    there are draws in `rule_noise` (or `rule_scale` is infinite), the nodes of the last
    level get a 1-rule each instead of a split: a bin and the labels of both leaves, or one
    label for all rows.

    Parameters
    ----------
    bins : ndarray of unsigned integers, shape (n_rows, n_columns)
        Where a row's weight goes in a histogram: its bin, plus `n_bins` for the negative
        label.
    columns : ndarray of shape (n_bins,)
        The column of each bin, non-decreasing.
    mass : ndarray of shape (n_rows,)
        Weight of each row.
    depth : int
        Levels of splits, D.
    criterion : int
        Place in `CRITERIA`.
    scale : float
        The noise rate, in the unit of 1/mass.
    noise : ndarray of shape (2**depth − 1, n_bins)
        Added to −scale · F; of shape (2**depth − 1, 0) to pick the least F.
    rule_scale : float
        The noise rate of the 1-rules, in the unit of 1/mass; 0: there are none.
    rule_noise : ndarray of shape (2**(depth − 1), 2 · n_bins + 2)
        Added to −rule_scale · error; of shape (…, 0) to pick the least error.
    histograms : ndarray of shape (2**depth − 1, 2 · n_bins)
        Work space.
    splits, children : ndarray of shape (2**(depth + 1) − 1,)
        Output: the bin of each node (−1: leaf) and its left child (0: leaf).
    labels : ndarray of shape (2**(depth + 1) − 1,)
        Output: −1 or +1 for the leaves of 1-rules; the others are not changed.
    totals : ndarray of shape (2**(depth + 1) − 1, 2)
        Output: weight of the rows of each node with either label, positive first.
    order, buffer : ndarray of shape (n_rows,)
        Output: the rows, ordered by leaf; work space.
    borders : ndarray of shape (2**(depth + 1) − 1, 2)
        Output: where the rows of each node begin and end in `order`.
    """
    n_bins = len(columns)
    values = np.empty(n_bins)
    first_column = np.searchsorted(columns, 1)
    _plant(
        bins, mass, first_column, n_bins, histograms[0], children, splits, totals, order, borders
    )
    triple = np.empty(3, np.int64)
    for node in range(2**depth - 1):
        left = 2 * node + 1
        first_of_level = 2 ** (depth - 1) - 1
        if rule_scale > 0.0 and node >= first_of_level:
            rule = _pick_rule(
                histograms[node], totals[node], rule_scale, rule_noise[node - first_of_level]
            )
            b = rule >> 1
            sign = 1 - 2 * (rule & 1)
            if b == n_bins:
                labels[node] = sign
                continue
            labels[left], labels[left + 1] = -sign, sign
        else:
            _split_values(histograms[node], totals[node], criterion, values)
            b = _pick_least(values, scale, noise[node])
        _split_node(
            bins, columns, node, b, left, histograms[node],
            splits, children, totals, order, buffer, borders,
        )  # fmt: skip
        if left < 2**depth - 1:
            triple[0], triple[1], triple[2] = borders[left, 0], borders[left, 1], borders[node, 1]
            _fill_children(
                bins, mass, order, triple,
                histograms[node], histograms[left], histograms[left + 1],
            )  # fmt: skip


@njit(cache=True, nogil=True)
def grow_best_first(
    bins: NDArray[Any],
    columns: NDArray[np.int64],
    mass: NDArray[np.int64],
    n_splits: int,
    criterion: int,
    scale: float,
    noise: NDArray[np.float64],
    histograms: NDArray[np.int64],
    gains: NDArray[np.float64],
    splits: NDArray[np.int64],
    children: NDArray[np.int64],
    totals: NDArray[np.int64],
    order: NDArray[np.int64],
    buffer: NDArray[np.int64],
    borders: NDArray[np.int64],
) -> None:
    """Grow a tree by a private choice among all leaves and bins (thesis, Algorithm 3).

    Nodes are numbered as they appear: the k-th split makes the nodes 2k − 1 and 2k.

    Parameters
    ----------
    bins, columns, mass, criterion, scale, order, buffer
        As for :func:`grow_by_levels`; an infinite `scale` picks the largest gain.
    n_splits : int
        Internal nodes, t.
    noise : ndarray of shape (n_splits,)
        Uniform in [0, 1), one number a split.
    histograms, gains : ndarray of shape (2 · n_splits + 1, 2 · n_bins) and (…, n_bins)
        Work space.
    splits, children, totals, borders
        As for :func:`grow_by_levels`, of length 2 · n_splits + 1.
    """
    n_bins = len(columns)
    first_column = np.searchsorted(columns, 1)
    _plant(
        bins, mass, first_column, n_bins, histograms[0], children, splits, totals, order, borders
    )
    triple = np.empty(3, np.int64)
    fresh = np.zeros(1, np.int64)
    for k in range(n_splits):
        for node in fresh:
            _split_values(histograms[node], totals[node], criterion, gains[node])
            whole = impure_weight(float(totals[node, 0]), float(totals[node, 1]), criterion)
            for b in range(n_bins):
                gains[node, b] = whole - gains[node, b]
        left = 2 * k + 1
        node, b = _pick_gain(gains, children, left, scale, noise[k])
        _split_node(
            bins, columns, node, b, left, histograms[node],
            splits, children, totals, order, buffer, borders,
        )  # fmt: skip
        if k < n_splits - 1:
            triple[0], triple[1], triple[2] = borders[left, 0], borders[left, 1], borders[node, 1]
            _fill_children(
                bins, mass, order, triple,
                histograms[node], histograms[left], histograms[left + 1],
            )  # fmt: skip
        fresh = np.array([left, left + 1])
