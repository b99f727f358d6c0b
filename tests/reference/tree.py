"""Grow and boost DP-TopDown trees in plain NumPy, as in the papers.

The sources are Algorithms 2 and 3 of the thesis, and docs/proofs.md, 'LazyBB'. Unlike the package,
the module has no histograms, no distinct rows and no fixed point: weights are floats. Every
function takes the noise as numbers, so that tests compare trees with equal noise.
"""

from __future__ import annotations

import numpy as np


def weights_of(margins, density, learning_rate):
    """Return min(1, c·κe^{−λσ}) with the smallest c ≥ 1 that gives a sum of κn."""
    weights = density * np.exp(-learning_rate * margins)
    required = density * len(margins)
    if np.minimum(1, weights).sum() >= required * (1 - 1e-13):
        return np.minimum(1, weights)
    ordered = np.sort(weights)[::-1]
    # If the k largest weights are capped at 1, the others must sum to the required sum minus k.
    for k in range(len(ordered)):
        factor = (required - k) / ordered[k:].sum()
        if factor * ordered[k] <= 1 + 1e-12:
            return np.minimum(1, factor * weights)
    return np.ones_like(weights)


def impurity(a, b, criterion):
    """Return the impurity w·G(q) of a node with the weights `a` and `b` of its two labels.

    w = a + b is its weight, q = a/w, and G the criterion.
    """
    w = a + b
    if a == 0 or b == 0:
        return 0.0
    q = a / w
    return (
        w
        * {
            "gini": 4 * q * (1 - q),
            "entropy": -q * np.log2(q) - (1 - q) * np.log2(1 - q),
            "root_gini": 2 * np.sqrt(q * (1 - q)),
            "zero_one": 2 * min(q, 1 - q),
        }[criterion]
    )


def questions_of(X, n_bins, thresholds):
    """Return whether each row answers each question with yes: (n_rows, n_questions)."""
    pairs = [(j, v) for j, size in enumerate(n_bins) for v in range(size)]
    answers = [X[:, j] == v for j, v in pairs]
    if thresholds:
        answers += [X[:, j] <= v for j, v in pairs]
    return np.column_stack(answers)


def node_impurity(y, w, rows, criterion):
    return impurity(w[rows & (y > 0)].sum(), w[rows & (y < 0)].sum(), criterion)


def split_values(yes, y, w, rows, criterion):
    return np.array(
        [
            node_impurity(y, w, rows & answer, criterion)
            + node_impurity(y, w, rows & ~answer, criterion)
            for answer in yes.T
        ]
    )


def rule_errors(yes, y, w, rows):
    """Return the weighted error of each 1-rule.

    The rules are each question and its negation, and then the two constants.
    """
    answers = [*yes.T, np.ones(len(y), dtype=bool)]
    result = [sign * np.where(answer, 1, -1) for answer in answers for sign in (1, -1)]
    return np.array([w[rows & (one != y)].sum() for one in result])


def grow_by_levels(yes, y, w, depth, criterion, rate, noise, rules, label_rate, rule_noise, labels):
    """Grow a tree level by level; return its splits and the votes of all rows.

    The children of node i are 2i + 1 (answer no) and 2i + 2 (answer yes).
    """
    votes = np.zeros(len(y), dtype=int)
    members = {0: np.ones(len(y), dtype=bool)}
    splits = {}
    last = 2 ** (depth - 1) - 1
    for node in range(2**depth - 1):
        rows = members[node]
        if rules and node >= last:
            errors = rule_errors(yes, y, w, rows)
            number, negated = divmod(
                int(np.argmax(rule_noise[node - last] - label_rate * errors)), 2
            )
            answer = np.ones(len(y), dtype=bool)
            if number < yes.shape[1]:
                splits[node] = number
                answer = yes[:, number]
            votes[rows] = (np.where(answer, 1, -1) * (1 - 2 * negated))[rows]
            continue
        scores = noise[node] - rate * split_values(yes, y, w, rows, criterion)
        splits[node] = int(np.argmax(scores))
        answer = yes[:, splits[node]]
        members[2 * node + 1], members[2 * node + 2] = rows & ~answer, rows & answer
    if not rules:
        for node in range(2**depth - 1, 2 ** (depth + 1) - 1):
            rows = members[node]
            votes[rows] = 1 if label_rate * (w * y)[rows].sum() + labels[node] > 0 else -1
    return splits, votes


def grow_best_first(yes, y, w, n_splits, criterion, rate, chances, label_rate, labels):
    """Grow a tree split by split, best first; return its splits and the votes of all rows.

    The k-th split makes the nodes 2k + 1 (answer no) and 2k + 2 (answer yes).
    """
    members = {0: np.ones(len(y), dtype=bool)}
    splits = {}
    for k, chance in enumerate(chances):
        leaves = sorted(node for node in members if node not in splits)
        gains = np.concatenate(
            [
                node_impurity(y, w, members[leaf], criterion)
                - split_values(yes, y, w, members[leaf], criterion)
                for leaf in leaves
            ]
        )
        p = np.exp(rate * (gains - gains.max()))
        place = int(np.searchsorted(np.cumsum(p / p.sum()), chance, side="right"))
        leaf, question = leaves[place // yes.shape[1]], place % yes.shape[1]
        splits[leaf] = question
        answer = yes[:, question]
        members[2 * k + 1] = members[leaf] & ~answer
        members[2 * k + 2] = members[leaf] & answer
    votes = np.zeros(len(y), dtype=int)
    for leaf, rows in members.items():
        if leaf not in splits:
            votes[rows] = 1 if label_rate * (w * y)[rows].sum() + labels[leaf] > 0 else -1
    return splits, votes


def boost(
    X, y, n_bins, density, learning_rate, depth, n_splits, thresholds, criterion,
    rates, label_rates, rules, normalise, noise,
):  # fmt: skip
    """Boost trees; return the splits of each round, and the sum of the votes of each row.

    `noise` has the fields splits, rules and labels of the package's TreeNoise.
    """
    yes = questions_of(X, n_bins, thresholds)
    margins = np.zeros(len(y))
    total_votes = np.zeros(len(y), dtype=int)
    forest = []
    for t in range(len(rates)):
        w = weights_of(margins, density, learning_rate)
        w = w / (w.sum() if normalise else density * len(y))
        if depth:
            splits, votes = grow_by_levels(
                yes, y, w, depth, criterion, rates[t], noise.splits[t],
                rules, label_rates[t], noise.rules[t], noise.labels[t],
            )  # fmt: skip
        else:
            splits, votes = grow_best_first(
                yes, y, w, n_splits, criterion, rates[t], noise.splits[t, :, 0],
                label_rates[t], noise.labels[t],
            )  # fmt: skip
        forest.append(splits)
        margins += y * votes
        total_votes += votes
    return forest, total_votes
