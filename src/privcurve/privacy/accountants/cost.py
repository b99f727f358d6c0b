"""Define the cost of mechanism calls, and the search for zeros that all accountants use."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from privcurve.lazy import arithmetic
from privcurve.privacy.budget import ADD_REMOVE

PURE_KIND = "pure"
BOUNDED_RANGE_KIND = "bounded_range"
LAPLACE_KIND = "laplace"
GAUSSIAN_KIND = "gaussian"
ZCDP_KIND = "zcdp"
# The kinds of Gaussian noise on a sum over a Poisson batch: the first kind is for neighbours that
# add or remove a record, the second for neighbours that replace a record.
SAMPLED_KIND = "sampled gaussian"
SAMPLED_OPPOSITE_KIND = "sampled gaussian, replaced"
SAMPLED_KINDS = (SAMPLED_KIND, SAMPLED_OPPOSITE_KIND)


@dataclass(frozen=True)
class Cost:
    """The cost of `count` equal mechanism calls."""

    kind: str  # one of the constants above
    # The cost of one call, which is in proportion to the noise rate. It is ε for a pure call and
    # for Laplace noise, the length of the range for a bounded-range call, sensitivity/σ for
    # Gaussian noise (also on batches), and √(2ρ) for zCDP.
    amount: float
    count: int = 1
    rate: float = 1.0  # the probability that a record is in the batch, for a sampled kind

    def __post_init__(self) -> None:
        pure = (PURE_KIND, BOUNDED_RANGE_KIND, LAPLACE_KIND)
        kinds = (*pure, GAUSSIAN_KIND, ZCDP_KIND, *SAMPLED_KINDS)
        if self.kind not in kinds:
            raise ValueError(f"kind must be one of {', '.join(kinds)}; got {self.kind!r}")
        if not (self.amount > 0 and self.count >= 1):
            raise ValueError(f"a cost must have an amount > 0 and a count ≥ 1; got {self}")

    @property
    def epsilon(self) -> float:
        """Pure ε of one call; infinite if the call has no pure ε."""
        no_epsilon = (GAUSSIAN_KIND, ZCDP_KIND, *SAMPLED_KINDS)
        return math.inf if self.kind in no_epsilon else self.amount

    @property
    def rho(self) -> float:
        """ρ (zCDP) of one call, such as ε²/8 for bounded range and ε²/2 for pure ε.

        For a call on a batch, ρ of the same call on all records is an upper bound.
        """
        if self.kind == BOUNDED_RANGE_KIND:
            return (self.amount * self.amount) / 8.0
        if self.kind == LAPLACE_KIND:
            # The smallest ρ for one number, and valid for vectors: docs/proofs.md, 'Laplace noise'.
            return self.amount + arithmetic.expm1(-self.amount)
        return (self.amount * self.amount) / 2.0


Costs = Sequence[Cost]

# TOLERANCE is the relative error of `solve`. Noise rates are multiplied by SAFETY to cover it.
TOLERANCE = 1e-11
SAFETY = 1 - 3e-11


def on_batches(cost: Cost, rate: float, neighbours: str) -> Cost:
    """Convert the cost of Gaussian calls on all records to the cost on Poisson batches.

    `rate` is the sampling rate; at a rate of 1 the cost is returned unchanged. `cost.amount` must
    be the sensitivity divided by σ. Under replace-one, this sensitivity must be twice the largest
    contribution of a record.
    """
    if rate == 1:
        return cost
    kind = SAMPLED_KIND if neighbours == ADD_REMOVE else SAMPLED_OPPOSITE_KIND
    return replace(cost, kind=kind, rate=rate)


def scale_costs(costs: Costs, scale: float) -> tuple[Cost, ...]:
    """Return the costs that the same calls have if every noise rate is multiplied by `scale`."""
    return tuple(replace(cost, amount=cost.amount * scale) for cost in costs)


def log_ratio(delta: float, target: float) -> float:
    """Return ln(δ/target), where a δ below 1e-300 is replaced by 1e-300: the result is finite."""
    return arithmetic.log(max(delta, 1e-300)) - arithmetic.log(target)


def solve(growing: Callable[[float], float], near: float, first_step: float = 0.1) -> float:
    """Find the zero of an increasing function on (0, ∞), with relative error `TOLERANCE`.

    The search multiplies or divides `near` by 1 + step until the function changes its sign. The
    step is `first_step` at first, and is then multiplied by 8, up to 1.
    """
    low = high = near
    value = at_low = at_high = growing(near)
    step = first_step
    if value == 0:
        return near
    for _ in range(400):
        if value > 0:
            high, at_high, low = low, at_low, low / (1 + step)
            at_low = growing(low)
            bracketed = at_low <= 0
        else:
            low, at_low, high = high, at_high, high * (1 + step)
            at_high = growing(high)
            bracketed = at_high >= 0
        if bracketed:
            return _find_zero(growing, (low, at_low), (high, at_high))
        step = min(8 * step, 1.0)
    raise ValueError(f"no solution near {near}")


Point = tuple[float, float]


def _find_zero(growing: Callable[[float], float], low: Point, high: Point) -> float:
    """Find the zero of `growing` between two points (x, f(x)) with Chandrupatla's method (1997).

    A step is inverse quadratic interpolation if the last three points are suitable, else bisection.
    """
    (x1, f1), (x2, f2), t = low, high, 0.5
    if f1 == 0 or f2 == 0:
        return x1 if f1 == 0 else x2
    while True:
        x = x1 + t * (x2 - x1)
        f = growing(x)
        if (f > 0) == (f1 > 0):
            x3, f3 = x1, f1
        else:
            (x3, f3), (x2, f2) = (x2, f2), (x1, f1)
        x1, f1 = x, f
        best = x1 if abs(f1) < abs(f2) else x2
        nearest = 0.5 * TOLERANCE * abs(best) / abs(x2 - x1)
        if nearest > 0.5 or f == 0:
            return best
        along, up = (x1 - x2) / (x3 - x2), (f1 - f2) / (f3 - f2)
        t = 0.5
        if up * up < along and (1 - up) * (1 - up) < 1 - along:
            t = f1 / (f2 - f1) * f3 / (f2 - f3)
            t += (x3 - x1) / (x2 - x1) * f1 / (f3 - f1) * f2 / (f3 - f2)
        t = min(max(t, nearest), 1 - nearest)


def zcdp_simple(rho: float, delta: float) -> float:
    """Convert ρ-zCDP to ε at δ by the simple rule ρ + 2√(ρ ln 1/δ) (docs/proofs.md, 'zCDP')."""
    return rho + 2 * math.sqrt(rho * arithmetic.log(1 / delta))


def zcdp_delta(rho: float, epsilon: float) -> float:
    """Return δ(ε) of ρ-zCDP: the infimum over a > 1 of e^{(a−1)(aρ−ε)} (1−1/a)^a / (a−1).

    Source: Canonne, Kamath and Steinke; docs/proofs.md, 'zCDP'.
    """
    # The logarithm of the expression is convex in y = a − 1: bisect for the zero of its derivative,
    # on the scale of ln y. Every y gives a valid bound, so that rounding can't break the guarantee.
    exp, log1p = arithmetic.exp, arithmetic.log1p
    low, high = -700.0, 700.0
    while high - low > 1e-13 * max(1.0, abs(low)):
        middle = 0.5 * (low + high)
        if not low < middle < high:
            break
        y = exp(middle)
        if (2 * y + 1) * rho - epsilon - log1p(1 / y) < 0:
            low = middle
        else:
            high = middle
    y = exp(0.5 * (low + high))
    return float(exp(y * ((y + 1) * rho - epsilon) - y * log1p(1 / y) - log1p(y)))


def total_rho(costs: Costs) -> float:
    """Return ρ of all calls together, which is the sum of their ρ."""
    return math.fsum(cost.count * cost.rho for cost in costs)
