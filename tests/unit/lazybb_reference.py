"""LazyBB with 1-rules in plain Python, record by record, straight from the paper.

Weights follow docs/proofs.md, 'LazyBB: weights': w = κe^{−λσ}, μ = min(1, c·w) with the smallest
c ≥ 1 that makes |μ| ≥ κn. This file shares nothing with the package: no histogram of margins, no
counts, no joint codes.
"""

import math

import numpy as np


def literals(n_bins):
    """All literals in order: (column, code, sign); column None is a constant."""
    candidates = [
        (column, code, sign)
        for column, size in enumerate(n_bins)
        for code in range(size)
        for sign in (1, -1)
    ]
    return [*candidates, (None, 0, 1), (None, 0, -1)]


def predict(literal, row):
    column, code, sign = literal
    inside = column is None or row[column] == code
    return sign if inside else -sign


def project(weights, density):
    """Scale and cap weights so that their sum is at least κn: try each number of capped records."""
    n = len(weights)
    required = density * n
    capped = [min(1.0, w) for w in weights]
    if math.fsum(capped) >= required * (1 - 1e-15):
        return capped
    order = sorted(range(n), key=lambda i: -weights[i])
    for n_capped in range(n):
        rest = math.fsum(weights[i] for i in order[n_capped:])
        factor = (required - n_capped) / rest
        if factor * weights[order[n_capped]] <= 1:
            return [min(1.0, factor * w) for w in weights]
    return [1.0] * n


def errors(X, y, picks, n_bins, density, learning_rate, normalise, begin=None):
    """Return the errors of all literals after some picks; margins begin at 0 or at `begin`."""
    rules = literals(n_bins)
    n = len(y)
    first = [0] * n if begin is None else begin
    margins = [first[i] + y[i] * sum(predict(rules[j], X[i]) for j in picks) for i in range(n)]
    weights = [density * math.exp(-learning_rate * margin) for margin in margins]
    measure = project(weights, density)
    total = math.fsum(measure) if normalise else density * n
    return np.array(
        [
            math.fsum(measure[i] for i in range(n) if predict(literal, X[i]) != y[i]) / total
            for literal in rules
        ]
    )


def boost(X, y, n_bins, density, learning_rate, rates, normalise, noise, begin=None):
    """Return the literals that are picked with the given noise."""
    picks = []
    for rate, draws in zip(rates, noise, strict=True):
        scores = errors(X, y, picks, n_bins, density, learning_rate, normalise, begin)
        picks.append(int(np.argmax(draws - rate * scores)))
    return picks
