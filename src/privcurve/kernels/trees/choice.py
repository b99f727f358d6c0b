"""What a tree chooses from, and how: questions, their scores, noisy choices.

*Bin* ``b`` stands for one code of one column, in the order of the domain. A split asks a
*question*: number ``b`` is whether a row is in bin b, and number ``n_bins + b``, where
thresholds are allowed, whether its code in that column is at most that of bin b. Weights
are integers.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from privcurve.coding import Floats, Ints

CRITERIA = ("gini", "entropy", "root_gini", "zero_one")
_GINI, _ENTROPY, _ROOT_GINI = 0, 1, 2


@njit(cache=True, nogil=True)
def impure_weight(positive: float, negative: float, criterion: int) -> float:
    """Return F(a, b) = (a + b)·G(a / (a + b)), the criterion times the weight of a node.

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
def answer_questions(histogram: Ints, columns: Ints, answers: Ints) -> None:
    """Write the weight of the rows that say yes to each question.

    Parameters
    ----------
    histogram : ndarray of shape (2 · n_bins,)
        Weight in each bin, of the positive label and then of the negative.
    columns : ndarray of shape (n_bins,)
        The column of each bin, non-decreasing.
    answers : ndarray of shape (2 · n_questions,)
        Output, positive label first; n_questions is n_bins, or twice that with thresholds.
    """
    n_bins = len(columns)
    n_questions = len(answers) // 2
    for label in range(2):
        bins = histogram[label * n_bins : (label + 1) * n_bins]
        yes = answers[label * n_questions : (label + 1) * n_questions]
        yes[:n_bins] = bins
        for b in range(n_questions - n_bins):
            first = b == 0 or columns[b] != columns[b - 1]
            yes[n_bins + b] = bins[b] if first else yes[n_bins + b - 1] + bins[b]


@njit(cache=True, nogil=True)
def split_values(answers: Ints, totals: Ints, criterion: int, values: Floats) -> None:
    """Write F of both children together, for each question.

    Parameters
    ----------
    answers : ndarray of shape (2 · n_questions,)
        See :func:`answer_questions`.
    totals : ndarray of shape (2,)
        Weight of the node, positive label first.
    criterion : int
        Place in `CRITERIA`.
    values : ndarray of shape (n_questions,)
        Output.
    """
    n_questions = len(values)
    for q in range(n_questions):
        positive, negative = answers[q], answers[n_questions + q]
        values[q] = impure_weight(
            float(totals[0] - positive), float(totals[1] - negative), criterion
        ) + impure_weight(float(positive), float(negative), criterion)


@njit(cache=True, nogil=True)
def pick_least(values: Floats, scale: float, noise: Floats) -> int:
    """Pick the question of largest noise − scale · value, the first of equals.

    Parameters
    ----------
    values : ndarray of shape (n_questions,)
    scale : float
    noise : ndarray of shape (n_questions,), or (0,)
        Without noise, the question of least value is picked.

    Returns
    -------
    int
    """
    best = 0
    best_score = -np.inf
    for q in range(len(values)):
        score = -values[q]
        if len(noise) > 0:
            noise[q] += scale * score
            score = noise[q]
        if score > best_score:
            best, best_score = q, score
    return best


@njit(cache=True, nogil=True)
def rule_error(answers: Ints, totals: Ints, rule: int) -> int:
    """Return the weight of the rows of a node that a 1-rule gets wrong.

    Parameters
    ----------
    answers, totals
        As for :func:`split_values`.
    rule : int
        Numbered as in :mod:`privcurve.kernels.lazybb_rules`: 2q says + to a yes and − to a no,
        2q + 1 the contrary; then come + and − for all rows.

    Returns
    -------
    int
    """
    n_questions = len(answers) // 2
    q = rule >> 1
    # The constant + is the rule of a question that every row says yes to.
    positive = totals[0]
    negative = totals[1]
    if q < n_questions:
        positive = answers[q]
        negative = answers[n_questions + q]
    if rule & 1 == 0:
        return totals[0] - positive + negative
    return positive + totals[1] - negative


@njit(cache=True, nogil=True)
def pick_rule(answers: Ints, totals: Ints, scale: float, noise: Floats) -> int:
    """Pick the 1-rule of largest noise − scale · error on the rows of a node.

    Parameters
    ----------
    answers, totals
        As for :func:`split_values`.
    scale : float
    noise : ndarray of shape (2 · n_questions + 2,), or (0,)
        Without noise, the rule of least error is picked, the first of equals.

    Returns
    -------
    int
        See :func:`rule_error`.
    """
    errors = np.empty(len(answers) + 2)
    for rule in range(len(errors)):
        errors[rule] = rule_error(answers, totals, rule)
    return pick_least(errors, scale, noise)


@njit(cache=True, nogil=True)
def pick_gain(
    gains: Floats, children: Ints, n_nodes: int, scale: float, chance: float
) -> tuple[int, int]:
    """Pick a leaf and a question with probability ∝ exp(scale · gain), by one uniform number.

    Parameters
    ----------
    gains : ndarray of shape (n_nodes, n_questions)
    children : ndarray of shape (n_nodes,)
        0 for a leaf; the others are passed over.
    n_nodes : int
        Nodes so far.
    scale : float
        Infinite: the largest gain, the first of equals.
    chance : float
        Uniform in [0, 1).

    Returns
    -------
    node, question : int
    """
    best_node, best_question = -1, -1
    for node in range(n_nodes):
        if children[node] == 0:
            for q in range(gains.shape[1]):
                if best_node < 0 or gains[node, q] > gains[best_node, best_question]:
                    best_node, best_question = node, q
    if np.isinf(scale):
        return best_node, best_question
    largest = gains[best_node, best_question]
    total = 0.0
    for node in range(n_nodes):
        if children[node] == 0:
            for q in range(gains.shape[1]):
                total += np.exp(scale * (gains[node, q] - largest))
    left_over = chance * total
    for node in range(n_nodes):
        if children[node] == 0:
            for q in range(gains.shape[1]):
                left_over -= np.exp(scale * (gains[node, q] - largest))
                if left_over < 0.0:
                    return node, q
    return best_node, best_question
