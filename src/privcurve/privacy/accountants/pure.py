"""Composition of pure guarantees."""

from __future__ import annotations

import math

from privcurve.privacy.accountants.cost import Costs


def basic(costs: Costs) -> float:
    """Sum the pure ε's (infinite if a call has none)."""
    return math.fsum(cost.count * cost.epsilon for cost in costs)


def advanced(epsilon_each: float, n_calls: int, delta: float) -> float:
    """Compose as in the thesis: √(2k ln 1/δ) ε₀ + k ε₀ (e^{ε₀} − 1) (Theorem 2.5.3)."""
    if epsilon_each > 700:
        return math.inf
    spread = math.sqrt(2 * n_calls * math.log(1 / delta)) * epsilon_each
    return spread + n_calls * epsilon_each * math.expm1(epsilon_each)


def kov_delta(epsilon_each: float, n_calls: int, epsilon: float) -> float:
    """Give δ(ε) of k pure ε₀ mechanisms: the optimum of Kairouz, Oh and Viswanath [cited, §g].

    The worst case is k-fold randomised response: its loss is (k − 2i)ε₀ with i of the k
    answers flipped.
    """
    k = n_calls
    log_total = k * (epsilon_each + math.log1p(math.exp(-epsilon_each)))
    terms = []
    for i in range(k // 2 + 1):
        gap = (k - 2 * i) * epsilon_each - epsilon
        if gap <= 0:
            break
        log_choose = math.lgamma(k + 1) - math.lgamma(i + 1) - math.lgamma(k - i + 1)
        terms.append(math.exp(log_choose + (k - i) * epsilon_each - log_total) * -math.expm1(-gap))
    return math.fsum(terms)
