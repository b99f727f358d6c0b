"""Exact probabilities of what a round of DP-1R picks."""

import numpy as np
from numpy.polynomial.legendre import leggauss


def probabilities(errors, rate, mechanism):
    """Probability of each literal.

    Exponential mechanism: proportional to p_j = exp(−η·(err_j − least)). Permute-and-flip
    goes through the literals in random order and stops at j with probability p_j; with a
    uniform time of arrival x for each, that is p_j·∫₀¹ Π_{i≠j} (1 − x·p_i) dx, a
    polynomial, which Gauss-Legendre integrates exactly.
    """
    p = np.exp(-rate * (errors - errors.min()))
    if mechanism == "exponential":
        return p / p.sum()
    x, weights = leggauss(len(p) // 2 + 1)
    x, weights = (x + 1) / 2, weights / 2
    misses = 1 - np.outer(x, p)
    others = np.stack([np.delete(misses, j, axis=1).prod(axis=1) for j in range(len(p))])
    return p * (others @ weights)
