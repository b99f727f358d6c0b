"""How a tree chooses: scores of questions, and noisy choices among them.

Of two classes, in integers: criteria of any number of classes, which
:mod:`privcurve.kernels.holder_counts` has, take 25 times as long (27 µs, not 1, for 292 questions).
Questions are those of :mod:`privcurve.kernels.trees.form`.
"""

from __future__ import annotations

import numpy as np

from privcurve.coding import Floats, Ints
from privcurve.kernels.arithmetic import exp, log2
from privcurve.kernels.jit import jit

CRITERIA = ("gini", "entropy", "root_gini", "zero_one")
GINI, ENTROPY, ROOT_GINI = 0, 1, 2


@jit
def two_class_impurity(positive: float, negative: float, criterion: int) -> float:
    """Return F(a, b) = (a + b)·G(a / (a + b)), the criterion times the weight of a node.

    `criterion` is a place in `CRITERIA`; F is 0 for a pure or empty node.
    """
    if positive <= 0.0 or negative <= 0.0:
        return 0.0
    both = positive + negative
    if criterion == GINI:
        return 4.0 * positive * negative / both
    if criterion == ENTROPY:
        return -(positive * log2(positive / both) + negative * log2(negative / both))
    if criterion == ROOT_GINI:
        return 2.0 * np.sqrt(positive) * np.sqrt(negative)
    return 2.0 * min(positive, negative)


@jit
def split_values(yes: Ints, totals: Ints, criterion: int, values: Floats) -> None:
    """Write F of both children together, for each question.

    `yes`, of shape (n_questions, 2), has weights by label, negative first; `totals` are those of
    the node.
    """
    for q in range(len(values)):
        negative, positive = yes[q, 0], yes[q, 1]
        values[q] = two_class_impurity(
            float(totals[1] - positive), float(totals[0] - negative), criterion
        ) + two_class_impurity(float(positive), float(negative), criterion)


@jit
def pick_least(values: Floats | Ints, scale: float, noise: Floats) -> int:
    """Pick the question of largest noise − scale · value, the first of equals.

    Without noise (an empty array), that of least value; else the scores are added to it in place.
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


@jit
def rule_error(yes: Ints, totals: Ints, rule: int) -> int:
    """Return the weight of the rows of a node that a 1-rule gets wrong.

    Rules are numbered as in :mod:`privcurve.kernels.lazybb_rules`: 2q says + to a yes and − to a
    no, 2q + 1 the contrary; then come + and − for all rows. `yes` and `totals` are as for
    :func:`split_values`.
    """
    q = rule >> 1
    # The constant + is the rule of a question to which every row says yes.
    negative, positive = totals[0], totals[1]
    if q < len(yes):
        negative, positive = yes[q, 0], yes[q, 1]
    if rule & 1 == 0:
        return totals[1] - positive + negative
    return positive + totals[0] - negative


@jit
def pick_rule(yes: Ints, totals: Ints, scale: float, noise: Floats) -> int:
    """Pick the 1-rule of largest noise − scale · error on the rows of a node.

    Without noise (an empty array), the rule of least error is picked, the first of equals.
    """
    errors = np.empty(2 * len(yes) + 2)
    for rule in range(len(errors)):
        errors[rule] = rule_error(yes, totals, rule)
    return pick_least(errors, scale, noise)


@jit
def pick_gain(
    gains: Floats, children: Ints, n_nodes: int, scale: float, chance: float
) -> tuple[int, int]:
    """Pick a leaf and a question with probability ∝ exp(scale · gain), by one uniform number.

    Of the first `n_nodes` nodes those with children are passed over. An infinite scale picks the
    largest gain, the first of equals; `chance` is uniform in [0, 1).
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
                total += exp(scale * (gains[node, q] - largest))
    left_over = chance * total
    for node in range(n_nodes):
        if children[node] == 0:
            for q in range(gains.shape[1]):
                left_over -= exp(scale * (gains[node, q] - largest))
                if left_over < 0.0:
                    return node, q
    return best_node, best_question
