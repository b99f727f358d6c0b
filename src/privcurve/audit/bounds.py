"""Compute ε and δ between two distributions: exactly, or as bounds from counts.

A mechanism is (ε, δ)-DP if P(A) ≤ e^ε Q(A) + δ for every event A and both orders of every
pair of neighbours. So each event A proves ε ≥ ln((P(A) − δ)/Q(A)).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincinv

from privcurve.coding import Floats


def exact_epsilon(p: ArrayLike, q: ArrayLike, delta: float = 0.0) -> float:
    """Return the smallest ε for which two known distributions are (ε, δ)-close.

    `p` and `q` have the probability of each outcome. The worst events consist of the outcomes with
    the largest ratios p/q, so the function tries these sets, in both orders. With δ = 0 the result
    is the largest log-ratio of an outcome.
    """
    first, second = np.asarray(p, dtype=np.float64), np.asarray(q, dtype=np.float64)
    return max(0.0, _one_way(first, second, delta), _one_way(second, first, delta))


def _one_way(p: Floats, q: Floats, delta: float) -> float:
    happens = p > 0
    p, q = p[happens], q[happens]
    with np.errstate(divide="ignore"):
        ratio = p / q
    if delta == 0:
        return math.log(ratio.max())
    order = np.argsort(-ratio, kind="stable")
    above = np.cumsum(p[order]) - delta
    # Leave out events whose probability is δ up to rounding: their ratio would be an artefact of
    # rounding.
    some = above > 1e-12 * delta
    with np.errstate(divide="ignore"):
        return float(np.log(above[some] / np.cumsum(q[order])[some]).max(initial=-np.inf))


def exact_delta(p: ArrayLike, q: ArrayLike, epsilon: float) -> float:
    """Return the smallest δ for which two known distributions are (ε, δ)-close.

    The result is the hockey-stick divergence Σ max(0, p − e^ε q), maximal over both orders.
    """
    first, second = np.asarray(p, dtype=np.float64), np.asarray(q, dtype=np.float64)
    factor = math.exp(epsilon)
    there = np.maximum(0.0, first - factor * second).sum()
    back = np.maximum(0.0, second - factor * first).sum()
    return float(max(there, back))


def clopper_pearson(hits: ArrayLike, n: int, error: float) -> tuple[Floats, Floats]:
    """Return lower and upper bounds on probabilities, each wrong with probability at most `error`.

    `hits` are the numbers of hits in `n` trials.
    """
    k = np.asarray(hits, dtype=np.float64)
    # The inverse beta function needs positive parameters. Without hits, the lower bound is 0; with
    # n hits, the upper bound is 1.
    lower = np.where(k > 0, betaincinv(np.maximum(k, 1), n - np.maximum(k, 1) + 1, error), 0.0)
    less = np.minimum(k, n - 1)
    upper = np.where(k < n, betaincinv(less + 1, n - less, 1 - error), 1.0)
    return lower, upper


def epsilon_from_counts(
    hits_p: ArrayLike, hits_q: ArrayLike, n: int, delta: float, error: float
) -> Floats:
    """Return lower bounds on ε: ln((p − δ)/q), with a lower bound for p and an upper one for q.

    `hits_p` and `hits_q` count an event in `n` trials of each distribution. A result is too high
    with probability at most `error`: at most `error` / 2 for each of the two bounds.
    """
    lower, _ = clopper_pearson(hits_p, n, error / 2)
    _, upper = clopper_pearson(hits_q, n, error / 2)
    above = np.asarray(lower) - delta
    with np.errstate(divide="ignore"):
        return np.where(above > 0, np.log(np.maximum(above, 0.0) / upper), -np.inf)


def largest_epsilon(n: int, delta: float, error: float) -> float:
    """Return the largest result of `epsilon_from_counts`: for `n` hits in p and none in q."""
    return float(epsilon_from_counts(n, 0, n, delta, error))
