"""Grow trees on weighted records, with questions chosen by the Mα-loss or drawn at random.

A question asks whether a row's bin in a column is at most a threshold. Nodes and questions are
numbered as in :mod:`privcurve.kernels.trees.levels`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from privcurve.coding import Bools, Floats, Ints
from privcurve.kernels.arithmetic import exp
from privcurve.kernels.jit import jit
from privcurve.kernels.trees.form import NO_QUESTION, count_rows
from privcurve.kernels.trees.levels import column_of, divide, open_questions, pick_best

from ._m_alpha import bayes_weight

# How a node chooses its question: BEST takes the largest score; NOISY the largest sum of
# score/scale and noise, where the caller gives the noise; DRAWN samples from the exponential
# mechanism in this module.
BEST = 0
NOISY = 1
DRAWN = 2

# Rejection sampling is used if it accepts a candidate with a probability of at least
# e^−MOST_REJECTED; otherwise many candidates would be rejected, and computing all scores is faster.
MOST_REJECTED = 1.0


@jit
def draw_tree(bin_starts: Ints, restrict: bool, rng: np.random.Generator, splits: Ints) -> None:
    """Draw the question of each node uniformly, without reading records, and write it to `splits`.

    With `restrict`, a node's question is drawn only from the questions that separate two bins which
    rows at the node can have.
    """
    n_inner = len(splits)
    possible = np.ones((2 * n_inner + 1, bin_starts[-1]), np.bool_)
    candidates = open_questions(possible[0], bin_starts, True)
    for node in range(n_inner):
        if restrict:
            candidates = open_questions(possible[node], bin_starts, True)
        n = len(candidates)
        splits[node] = candidates[rng.integers(0, n)] if n else NO_QUESTION
        if restrict:
            divide(possible[node], bin_starts, True, splits[node], possible, 2 * node + 1)


class WeightedRows(NamedTuple):
    """Rows with their bins, labels and weights in one round of boosting."""

    bins: NDArray[Any]  # (n_rows, n_columns): bins, numbered consecutively over all columns
    labels: NDArray[np.uint8]  # (n_rows,): 1 for the positive label, else 0
    weights: Floats  # (n_rows,): total weight of the records that are equal to the row
    # (n_columns + 1,): the first bin of each column, then the total number of bins
    bin_starts: Ints

    def sum_by_leaf(self, leaves: Ints, n_leaves: int) -> tuple[Floats, Floats]:
        """Return the total weight of the positive, and of the negative, rows in each leaf."""
        sums = np.empty((2, n_leaves))
        count_rows(leaves[:, None], self.labels, self.weights, np.arange(len(leaves)), sums)
        return sums[1], sums[0]


class Growth(NamedTuple):
    """State of a tree that grows level by level."""

    splits: Ints  # (2**depth - 1,): the question of each inner node, or `NO_QUESTION`
    order: Ints  # (n_rows,): the rows, sorted by their node on the present level
    # (2**depth + 1,): node i of the present level has the rows order[starts[i] : starts[i + 1]].
    starts: Ints
    # (2**(depth + 1) - 1, 2): weight of the negative and of the positive rows in each node
    sums: Floats
    # (2**(depth + 1) - 1, n_bins): whether a row at the node can have the bin. The shape is (1,
    # n_bins) if nodes may choose any question.
    possible: Bools

    def error(self, level: int) -> float:
        """Return the training error of a level: Σ min(A, B) over its nodes.

        A and B are the weights of the positive and of the negative rows in a node.
        """
        return float(self.sums[2**level - 1 : 2 ** (level + 1) - 1].min(axis=1).sum())


@jit
def begin_tree(splits: Ints, data: WeightedRows, restrict: bool) -> Growth:
    """Return a tree with only a root that has all rows; later choices are written to `splits`."""
    n_rows, n_nodes = len(data.bins), 2 * len(splits) + 1
    starts = np.zeros(len(splits) + 2, np.int64)
    starts[1] = n_rows
    sums = np.zeros((n_nodes, 2))
    for i in range(n_rows):
        sums[0, data.labels[i]] += data.weights[i]
    possible = np.ones((n_nodes if restrict else 1, data.bin_starts[-1]), np.bool_)
    return Growth(splits, np.arange(n_rows), starts, sums, possible)


@jit
def leaves_of(tree: Growth) -> Ints:
    """Return the leaf of each row, counted from 0, of a completely grown tree."""
    leaves = np.empty(len(tree.order), np.int64)
    for leaf in range(len(tree.splits) + 1):
        leaves[tree.order[tree.starts[leaf] : tree.starts[leaf + 1]]] = leaf
    return leaves


@jit
def grow_levels(
    tree: Growth,
    first: int,
    last: int,
    data: WeightedRows,
    alphas: Floats,
    by_error: bool,
    chooses: int,
    scales: Floats,
    slope: float,
    noise: Floats,
    rng: np.random.Generator,
) -> None:
    """Choose the questions of the nodes on some levels of a tree, by the Bayes risk of the Mα-loss.

    Parameters
    ----------
    tree : Growth
        A tree whose questions above level `first` are already chosen; it is changed in place.
    first, last : int
        The levels whose questions are chosen: from `first` to `last` − 1, counted from 0.
    data : WeightedRows
    alphas : ndarray of shape (depth,)
        α of each level.
    by_error : bool
        Whether each node multiplies α by the present error of the tree, divided by the error of
        the root.
    chooses : int
        `BEST` (the first one of equally good questions; a node whose rows have only one label
        gets no question), `NOISY` or `DRAWN`.
    scales : ndarray of shape (depth,)
        For each level, the noise scale of a choice with α = 0.
    slope : float
        The noise scale of a choice with another α is multiplied by 1 + α · `slope`.
    noise : ndarray of shape (2**depth - 1, n_bins), or (1, 0)
        Noise for `NOISY`: see :func:`~privcurve.kernels.trees.levels.pick_best`. It is changed in
        place.
    rng : numpy.random.Generator
        The source of randomness for `DRAWN`.
    """
    for level in range(first, last):
        _grow_level(
            tree, level, data, alphas[level], by_error, chooses, scales[level], slope, noise, rng
        )


@jit
def _grow_level(
    tree: Growth,
    level: int,
    data: WeightedRows,
    alpha: float,
    by_error: bool,
    chooses: int,
    scale: float,
    slope: float,
    noise: Floats,
    rng: np.random.Generator,
) -> None:
    """Choose the question of each node of one level; see :func:`grow_levels` for the arguments."""
    splits, order, starts, sums, possible = tree
    bins, labels, weights, bin_starts = data
    width = bin_starts[-1]
    restrict = len(possible) > 1
    candidates = open_questions(possible[0], bin_starts, True)
    histogram = np.empty((2, width))
    scores = np.empty(width)
    n_nodes = 1 << level
    error = 0.0
    for node in range(n_nodes - 1, 2 * n_nodes - 1):
        error += min(sums[node, 0], sums[node, 1])
    root_error = min(sums[0, 0], sums[0, 1])
    moved = np.empty(len(order), np.int64)
    next_starts = np.zeros(2 * n_nodes + 1, np.int64)
    for place in range(n_nodes):
        node = n_nodes - 1 + place
        low, high = starts[place], starts[place + 1]
        rows = order[low:high]
        if restrict:
            candidates = open_questions(possible[node], bin_starts, True)
        node_alpha = alpha
        if by_error and root_error > 0:
            node_alpha *= error / root_error
        node_scale = scale * (1.0 + node_alpha * slope)
        of_node = sums[node]
        if len(candidates) == 0 or (chooses == BEST and min(of_node[0], of_node[1]) <= 0.0):
            split = NO_QUESTION
        elif (
            chooses == DRAWN
            and bayes_weight(of_node[1], of_node[0], node_alpha) / node_scale <= MOST_REJECTED
        ):
            split = _draw_by_rejection(data, rows, of_node, node_alpha, node_scale, candidates, rng)
        else:
            count_rows(bins, labels, weights, rows, histogram)
            _score(histogram, of_node, bin_starts, node_alpha, scores)
            if chooses == DRAWN:
                split = _draw_among(scores, candidates, node_scale, rng)
            else:
                of_question = noise[node if chooses == NOISY else 0]
                split = pick_best(scores, candidates, node_scale, of_question)
        splits[node] = split
        if restrict:
            divide(possible[node], bin_starts, True, split, possible, 2 * node + 1)
        left = 2 * node + 1
        # A node without a question sends all its rows to the yes child.
        j = 0 if split == NO_QUESTION else column_of(bin_starts, split)
        threshold = width if split == NO_QUESTION else split
        first, last = low, high - 1
        for i in range(low, high):
            row = order[i]
            yes = 1 if bins[row, j] <= threshold else 0
            sums[left + 1 - yes, labels[row]] += weights[row]
            # To avoid a branch, write the row to the next free place on the left (yes) and also to
            # the next free place on the right (no). Only the correct place is then marked as used
            # (`first` or `last` moves), so that a later row overwrites the wrong copy.
            moved[first] = row
            moved[last] = row
            first += yes
            last -= 1 - yes
        next_starts[2 * place + 1] = first
        next_starts[2 * place + 2] = high
        error += (
            min(sums[left, 0], sums[left, 1])
            + min(sums[left + 1, 0], sums[left + 1, 1])
            - min(of_node[0], of_node[1])
        )
    for i in range(len(order)):
        order[i] = moved[i]
    for place in range(2 * n_nodes + 1):
        starts[place] = next_starts[place]


@jit
def _score(
    histogram: Floats, of_node: Floats, bin_starts: Ints, alpha: float, scores: Floats
) -> None:
    """Write the score −Φ of each question to `scores`; :func:`split_risk` defines the risk Φ."""
    for j in range(len(bin_starts) - 1):
        negative = positive = 0.0
        for b in range(bin_starts[j], bin_starts[j + 1]):
            negative += histogram[0, b]
            positive += histogram[1, b]
            scores[b] = -split_risk(positive, negative, of_node[1], of_node[0], alpha)


@jit(inline="always")
def split_risk(
    positive: float, negative: float, all_positive: float, all_negative: float, alpha: float
) -> float:
    """Return Φ, the sum of the Bayes risks of the two sides of a question.

    `positive` and `negative` are the weights of positive and negative rows on the first side,
    `all_positive` and `all_negative` the weights on both sides together.
    """
    return bayes_weight(positive, negative, alpha) + bayes_weight(
        all_positive - positive, all_negative - negative, alpha
    )


@jit
def _draw_among(scores: Floats, candidates: Ints, scale: float, rng: np.random.Generator) -> int:
    """Draw a candidate by the exponential mechanism, from scores that are already computed."""
    largest = -np.inf
    for b in candidates:
        largest = max(largest, scores[b])
    sums = np.empty(len(candidates))
    total = 0.0
    for i in range(len(candidates)):
        total += exp((scores[candidates[i]] - largest) / scale)
        sums[i] = total
    chosen = int(np.searchsorted(sums, rng.random() * total, side="right"))
    return int(candidates[min(chosen, len(candidates) - 1)])


@jit
def _draw_by_rejection(
    data: WeightedRows,
    rows: Ints,
    of_node: Floats,
    alpha: float,
    scale: float,
    candidates: Ints,
    rng: np.random.Generator,
) -> int:
    """Draw a candidate by the exponential mechanism without computing all scores.

    A candidate is drawn uniformly, and accepted with the probability exp(−Φ/scale), which is at
    most 1 because Φ ≥ 0. So accepted candidates have probabilities proportional to exp(−Φ/scale).
    Φ of every candidate is at most the Bayes risk R of the undivided node. So each candidate is
    accepted with a probability of at least exp(−R/scale).
    """
    bins, labels, weights, bin_starts = data
    while True:
        b = candidates[rng.integers(0, len(candidates))]
        j = column_of(bin_starts, b)
        negative = positive = 0.0
        for row in rows:
            weight = weights[row] if bins[row, j] <= b else 0.0
            positive += weight if labels[row] > 0 else 0.0
            negative += weight if labels[row] == 0 else 0.0
        chance = exp(-split_risk(positive, negative, of_node[1], of_node[0], alpha) / scale)
        if rng.random() < chance:
            return int(b)
