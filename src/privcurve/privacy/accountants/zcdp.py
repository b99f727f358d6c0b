"""Zero-concentrated differential privacy."""

from __future__ import annotations

import math

from privcurve.privacy.accountants.cost import Costs


def zcdp_simple(rho: float, delta: float) -> float:
    """Convert ρ-zCDP by ε = ρ + 2√(ρ ln 1/δ) (§g)."""
    return rho + 2 * math.sqrt(rho * math.log(1 / delta))


def zcdp_delta(rho: float, epsilon: float) -> float:
    """Convert ρ-zCDP: δ = inf over a > 1 of e^{(a−1)(aρ−ε)} (1−1/a)^a / (a−1) [cited: CKS, §g]."""
    # With y = a − 1 the exponent is convex and its derivative grows with y: bisect on ln y.
    # Any y gives a valid bound, so the bisection's rounding cannot break the guarantee.
    low, high = -700.0, 700.0
    while high - low > 1e-13 * max(1.0, abs(low)):
        middle = 0.5 * (low + high)
        if not low < middle < high:
            break
        y = math.exp(middle)
        if (2 * y + 1) * rho - epsilon - math.log1p(1 / y) < 0:
            low = middle
        else:
            high = middle
    y = math.exp(0.5 * (low + high))
    return math.exp(y * ((y + 1) * rho - epsilon) - y * math.log1p(1 / y) - math.log1p(y))


def total_rho(costs: Costs) -> float:
    """Sum ρ: zCDP adds up."""
    return math.fsum(cost.count * cost.rho for cost in costs)
