"""The cost of mechanism calls, and the search that all accountants share."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

PURE_KIND = "pure"
BOUNDED_RANGE_KIND = "bounded_range"
LAPLACE_KIND = "laplace"
GAUSSIAN_KIND = "gaussian"
ZCDP_KIND = "zcdp"


@dataclass(frozen=True)
class Cost:
    """The cost of `count` equal mechanism calls."""

    kind: str  # `pure`, `bounded_range`, `laplace`, `gaussian` or `zcdp`
    # ε (pure; Laplace, of a number or a vector), length of the range (bounded range), sensitivity/σ
    # (Gaussian), √(2ρ) (zCDP). All grow in proportion to the noise rate.
    amount: float
    count: int = 1

    def __post_init__(self) -> None:
        kinds = (PURE_KIND, BOUNDED_RANGE_KIND, LAPLACE_KIND, GAUSSIAN_KIND, ZCDP_KIND)
        if self.kind not in kinds:
            raise ValueError(f"kind = {self.kind!r} is not one of: {', '.join(kinds)}")
        if not (self.amount > 0 and self.count >= 1):
            raise ValueError(f"a cost needs an amount above 0 and a count of at least 1: {self}")

    @property
    def epsilon(self) -> float:
        """Pure ε of one call; infinite if it has none."""
        return math.inf if self.kind in (GAUSSIAN_KIND, ZCDP_KIND) else self.amount

    @property
    def rho(self) -> float:
        """Return ρ (zCDP) of one call: ε²/8 for bounded range (§0, L1), ε²/2 for pure ε (§g)."""
        if self.kind == BOUNDED_RANGE_KIND:
            return self.amount**2 / 8.0
        if self.kind == LAPLACE_KIND:
            # Tight for one number (§g, cited); right for vectors too, as a Rényi divergence
            # is convex in the shift, so that one long shift is worst. See docs/proofs.md.
            return self.amount + math.expm1(-self.amount)
        return self.amount**2 / 2.0


Costs = Sequence[Cost]

# `solve` is right to 1e-11; stay on the side that keeps δ.
SAFETY = 1 - 3e-11


def scaled(costs: Costs, scale: float) -> tuple[Cost, ...]:
    """Multiply every noise rate by `scale`."""
    return tuple(replace(cost, amount=cost.amount * scale) for cost in costs)


def log_ratio(delta: float, target: float) -> float:
    """ln(δ/target), kept finite at δ = 0."""
    return math.log(max(delta, 1e-300)) - math.log(target)


def solve(growing: Callable[[float], float], near: float, first_step: float = 0.1) -> float:
    """Find where a growing function of a positive number is zero, to 1e-11 of it.

    The bracket grows around `near`, by steps that are multiplied by 8 up to a factor 2.
    """
    from scipy.optimize import brentq

    low = high = near
    value = growing(near)
    step = first_step
    if value == 0:
        return near
    for _ in range(400):
        if value > 0:
            high, low = low, low / (1 + step)
            bracketed = growing(low) <= 0
        else:
            low, high = high, high * (1 + step)
            bracketed = growing(high) >= 0
        if bracketed:
            return float(brentq(growing, low, high, xtol=1e-300, rtol=1e-11))
        step = min(8 * step, 1.0)
    raise ValueError(f"no solution near {near}")


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
