"""Trees of weighted records, node by node: chosen by the Mα-loss, or drawn without the data.

Nodes and candidates are numbered as in :mod:`privcurve.kernels.dpboost`; every question is "is
the code of a column at most b?".
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from privcurve.kernels.dpboost import NO_SPLIT, answer, column_of, divide
from privcurve.kernels.m_alpha import bayes_weight

# How α follows from the records: not at all; at each node from the error of the tree so far;
# at each level from that error with noise.
FIXED = 0
EXACT = 1
RELEASED = 2

# How a question is chosen: the best; the largest rate · score + noise; or by the exponential
# mechanism, drawn in here.
BEST = 0
NOISY = 1
DRAWN = 2

# A proposal is accepted with a chance of at least e^−this, or else all scores are computed.
MOST_REJECTED = 1.0


@njit(cache=True, nogil=True)
def questions(possible: NDArray[np.bool_], bin_starts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Give the candidates that tell two possible codes of their column apart."""
    found = np.empty(len(possible), np.int64)
    n = 0
    for j in range(len(bin_starts) - 1):
        last = -1
        for b in range(bin_starts[j], bin_starts[j + 1]):
            if possible[b]:
                if last >= 0:
                    found[n] = last
                    n += 1
                last = b
    return found[:n]


@njit(cache=True, nogil=True)
def draw_tree(
    bin_starts: NDArray[np.int64],
    restrict: bool,
    rng: np.random.Generator,
    splits: NDArray[np.int64],
) -> None:
    """Draw the question of every node uniformly, whatever the records are.

    Parameters
    ----------
    bin_starts : ndarray of shape (n_columns + 1,)
    restrict : bool
        Whether a question must tell apart codes that the questions above it leave open.
    rng : numpy.random.Generator
    splits : ndarray of shape (2**depth - 1,)
        Output.
    """
    n_inner = len(splits)
    possible = np.ones((2 * n_inner + 1, bin_starts[-1]), np.bool_)
    asked = questions(possible[0], bin_starts)
    for node in range(n_inner):
        if restrict:
            asked = questions(possible[node], bin_starts)
        splits[node] = asked[rng.integers(0, len(asked))] if len(asked) else NO_SPLIT
        if restrict:
            divide(possible[node], bin_starts, True, splits[node], possible, 2 * node + 1)


@njit(cache=True, nogil=True)
def find_leaves(
    codes: NDArray[Any], bin_starts: NDArray[np.int64], splits: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Give the leaf that each row ends in, from 0 on.

    Parameters
    ----------
    codes : ndarray of unsigned integers, shape (n_rows, n_columns)
    bin_starts : ndarray of shape (n_columns + 1,)
    splits : ndarray of shape (2**depth - 1,)

    Returns
    -------
    ndarray of shape (n_rows,)
    """
    n_inner = len(splits)
    leaves = np.empty(len(codes), np.int64)
    for i in range(len(codes)):
        node = 0
        while node < n_inner:
            yes = answer(codes[i], bin_starts, True, splits[node])
            node = 2 * node + (1 if yes else 2)
        leaves[i] = node - n_inner
    return leaves


@njit(cache=True, nogil=True)
def leaf_weights(
    leaves: NDArray[np.int64],
    signs: NDArray[np.int8],
    weights: NDArray[np.float64],
    n_leaves: int,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Add up the weights of positive and of negative records in each leaf."""
    positive, negative = np.zeros(n_leaves), np.zeros(n_leaves)
    for i in range(len(leaves)):
        if signs[i] > 0:
            positive[leaves[i]] += weights[i]
        else:
            negative[leaves[i]] += weights[i]
    return positive, negative


@njit(cache=True, nogil=True)
def grow_tree(
    codes: NDArray[Any],
    signs: NDArray[np.int8],
    weights: NDArray[np.float64],
    bin_starts: NDArray[np.int64],
    restrict: bool,
    alphas: NDArray[np.float64],
    calibrated: int,
    error_noise: NDArray[np.float64],
    chooses: int,
    spent: NDArray[np.float64],
    bound: float,
    slope: float,
    noise: NDArray[np.float64],
    rng: np.random.Generator,
    splits: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Choose the question of every node by the Mα-loss of its two sides.

    Parameters
    ----------
    codes : ndarray of unsigned integers, shape (n_rows, n_columns)
    signs : ndarray of int8, shape (n_rows,)
    weights : ndarray of shape (n_rows,)
        Of all records that a row stands for.
    bin_starts : ndarray of shape (n_columns + 1,)
    restrict : bool
        As for :func:`draw_tree`.
    alphas : ndarray of shape (depth,)
        α of each level. With `RELEASED` they are changed in place: multiplied by the error
        of the tree so far with noise, relative to that of its root, between 0 and 1.
    calibrated : int
        `FIXED`, `EXACT` or `RELEASED`.
    error_noise : ndarray of shape (depth,), or empty
        With `RELEASED`: added to the error Σ min(A, B) at the beginning of each level.
    chooses : int
        `BEST` (the first of equals; a pure node has no question), `NOISY` or `DRAWN`.
    spent : ndarray of shape (depth,)
        ε of a choice on each level; its rate is that over 2(`bound` + α · `slope`).
    bound, slope : float
        Sensitivity of a score at α = 0, and what α = 1 adds to it.
    noise : ndarray of shape (2**depth - 1, n_bins), or empty
        With `NOISY`: Gumbel (the exponential mechanism) or exponential (permute-and-flip).
    rng : numpy.random.Generator
        Used with `DRAWN`.
    splits : ndarray of shape (2**depth - 1,)
        Output: the candidate chosen at each inner node, or ``NO_SPLIT``.

    Returns
    -------
    ndarray of shape (n_rows,)
        The leaf of each row.
    """
    n_inner = len(splits)
    width = bin_starts[-1]
    n_rows = len(signs)
    # Rows in the order of the nodes of a level; node i has those from starts[i] to starts[i + 1].
    order = np.arange(n_rows)
    moved = np.empty(n_rows, np.int64)
    starts = np.zeros(n_inner + 2, np.int64)
    starts[1] = n_rows
    next_starts = np.zeros(n_inner + 2, np.int64)
    possible = np.ones((2 * n_inner + 1, width) if restrict else (1, width), np.bool_)
    asked = questions(possible[0], bin_starts)
    sums = np.zeros((2 * n_inner + 1, 2))
    for i in range(n_rows):
        sums[0, 1 if signs[i] > 0 else 0] += weights[i]
    histogram = np.empty((width, 2))
    scores = np.empty(width)
    error = min(sums[0, 0], sums[0, 1])
    root_error = error
    root_seen = 0.0
    for level in range(len(alphas)):
        n_nodes = 1 << level
        if calibrated == RELEASED:
            seen = error + error_noise[level]
            if level == 0:
                root_seen = seen
            if root_seen > 0:
                alphas[level] *= min(max(seen / root_seen, 0.0), 1.0)
        next_starts[0] = 0
        for place in range(n_nodes):
            node = n_nodes - 1 + place
            low, high = starts[place], starts[place + 1]
            rows = order[low:high]
            if restrict:
                asked = questions(possible[node], bin_starts)
            alpha = alphas[level]
            if calibrated == EXACT and root_error > 0:
                alpha *= error / root_error
            rate = spent[level] / (2.0 * (bound + alpha * slope))
            whole = sums[node]
            if len(asked) == 0 or (chooses == BEST and min(whole[0], whole[1]) <= 0.0):
                split = NO_SPLIT
            elif (
                chooses == DRAWN and rate * bayes_weight(whole[1], whole[0], alpha) <= MOST_REJECTED
            ):
                split = _draw_by_rejection(
                    codes, rows, signs, weights, bin_starts, whole, alpha, rate, asked, rng
                )
            else:
                _count(codes, rows, signs, weights, bin_starts, histogram)
                _score(histogram, whole, bin_starts, alpha, scores)
                if chooses == DRAWN:
                    split = _draw_among(scores, asked, rate, rng)
                else:
                    split = _best(
                        scores, asked, rate, noise[node if chooses == NOISY else 0], chooses
                    )
            splits[node] = split
            if restrict:
                divide(possible[node], bin_starts, True, split, possible, 2 * node + 1)
            left = 2 * node + 1
            # Without a question every row answers yes.
            j = 0 if split == NO_SPLIT else column_of(bin_starts, split)
            threshold = width if split == NO_SPLIT else split - bin_starts[j]
            first, last = low, high - 1
            for i in range(low, high):
                row = order[i]
                yes = 1 if codes[row, j] <= threshold else 0
                sums[left + 1 - yes, 1 if signs[row] > 0 else 0] += weights[row]
                # Written to both ends: the wrong one is written again, by a later row.
                moved[first] = row
                moved[last] = row
                first += yes
                last -= 1 - yes
            next_starts[2 * place + 1] = first
            next_starts[2 * place + 2] = high
            error += (
                min(sums[left, 0], sums[left, 1])
                + min(sums[left + 1, 0], sums[left + 1, 1])
                - min(whole[0], whole[1])
            )
        order, moved = moved, order
        starts, next_starts = next_starts, starts
    leaves = np.empty(n_rows, np.int64)
    for leaf in range(n_inner + 1):
        for i in range(starts[leaf], starts[leaf + 1]):
            leaves[order[i]] = leaf
    return leaves


@njit(cache=True, nogil=True)
def _count(
    codes: NDArray[Any],
    rows: NDArray[np.int64],
    signs: NDArray[np.int8],
    weights: NDArray[np.float64],
    bin_starts: NDArray[np.int64],
    histogram: NDArray[np.float64],
) -> None:
    """Add up the weights of each code of each column by label, negative first."""
    n_columns = len(bin_starts) - 1
    histogram[:] = 0.0
    for i in range(len(rows)):
        row = rows[i]
        label = 1 if signs[row] > 0 else 0
        for j in range(n_columns):
            histogram[bin_starts[j] + codes[row, j], label] += weights[row]


@njit(cache=True, nogil=True)
def _score(
    histogram: NDArray[np.float64],
    whole: NDArray[np.float64],
    bin_starts: NDArray[np.int64],
    alpha: float,
    scores: NDArray[np.float64],
) -> None:
    """Write −Φ of each candidate."""
    for j in range(len(bin_starts) - 1):
        negative = positive = 0.0
        for b in range(bin_starts[j], bin_starts[j + 1]):
            negative += histogram[b, 0]
            positive += histogram[b, 1]
            scores[b] = -both_sides(positive, negative, whole[1], whole[0], alpha)


@njit(cache=True, nogil=True, inline="always")
def both_sides(
    positive: float, negative: float, all_positive: float, all_negative: float, alpha: float
) -> float:
    """Give Φ of a question whose first side has A and B, out of those of the node."""
    return bayes_weight(positive, negative, alpha) + bayes_weight(
        all_positive - positive, all_negative - negative, alpha
    )


@njit(cache=True, nogil=True)
def _best(
    scores: NDArray[np.float64],
    asked: NDArray[np.int64],
    rate: float,
    noise: NDArray[np.float64],
    chooses: int,
) -> int:
    best, best_value = NO_SPLIT, -np.inf
    for b in asked:
        value = scores[b] if chooses == BEST else rate * scores[b] + noise[b]
        if value > best_value:
            best, best_value = b, value
    return best


@njit(cache=True, nogil=True)
def _draw_among(
    scores: NDArray[np.float64],
    asked: NDArray[np.int64],
    rate: float,
    rng: np.random.Generator,
) -> int:
    """Draw from the exponential mechanism, whose chances are computed."""
    largest = -np.inf
    for b in asked:
        largest = max(largest, scores[b])
    sums = np.empty(len(asked))
    total = 0.0
    for i in range(len(asked)):
        total += np.exp(rate * (scores[asked[i]] - largest))
        sums[i] = total
    chosen = int(np.searchsorted(sums, rng.random() * total, side="right"))
    return int(asked[min(chosen, len(asked) - 1)])


@njit(cache=True, nogil=True)
def _draw_by_rejection(
    codes: NDArray[Any],
    rows: NDArray[np.int64],
    signs: NDArray[np.int8],
    weights: NDArray[np.float64],
    bin_starts: NDArray[np.int64],
    whole: NDArray[np.float64],
    alpha: float,
    rate: float,
    asked: NDArray[np.int64],
    rng: np.random.Generator,
) -> int:
    """Draw from the exponential mechanism without computing all scores.

    A score −Φ is at most 0, so a question drawn uniformly and kept with the chance
    exp(−rate · Φ) has just the chances ∝ exp(−rate · Φ). Φ of the undivided node bounds
    all Φ, and so the number of questions that are thrown away.
    """
    while True:
        b = asked[rng.integers(0, len(asked))]
        j = column_of(bin_starts, b)
        threshold = b - bin_starts[j]
        negative = positive = 0.0
        for row in rows:
            weight = weights[row] if codes[row, j] <= threshold else 0.0
            positive += weight if signs[row] > 0 else 0.0
            negative += weight if signs[row] < 0 else 0.0
        kept = np.exp(-rate * both_sides(positive, negative, whole[1], whole[0], alpha))
        if rng.random() < kept:
            return int(b)
