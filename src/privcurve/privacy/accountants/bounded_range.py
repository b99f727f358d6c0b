"""Optimal adaptive composition of bounded-range mechanisms, as a rigorous upper bound.

Proof: docs/proofs.md, 'The optimal adaptive bound'. A mechanism is ε₀-bounded-range if its privacy
loss lies in an interval [t − ε₀, t] with 0 ≤ t ≤ ε₀; t may depend on all earlier outputs. The worst
case of k such mechanisms is a game, solved backwards::

    V₀(s) = max(0, 1 − eˢ)
    V_j(s) = sup over t of  p_t V_{j−1}(s − t) + (1 − p_t) V_{j−1}(s − t + ε₀)
    p_t = (1 − e^{t−ε₀}) / (1 − e^{−ε₀}),      δ(ε) = V_k(ε)

Outward rounding: V_j is convex in u = eˢ, so connecting its values at grid points by straight lines
in u gives an upper bound. With such a bound W in place of V_{j−1}, and t between two grid steps,
the expression is const − A/eᵗ − B·eᵗ with A, B ≥ 0, whose maximum has a closed form. So the
supremum is over all t, not over a grid. By induction the result is never below the true δ.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from privcurve.coding import Floats
from privcurve.lazy import arithmetic

MAX_CALLS = 512

# Tolerance for floating-point rounding: the recursion adds and multiplies numbers of one sign only,
# a few operations per call, so 1e-13 per call is far more than it can lose.
_ROUNDING = 1e-13


def _check_calls(n_calls: int) -> None:
    if not 1 <= n_calls <= MAX_CALLS:
        raise ValueError(f"n_calls must be between 1 and {MAX_CALLS}; got {n_calls}")


def _steps(n_calls: int) -> int:
    """Return the grid steps in ε₀: fewer for many calls, as the cost is (calls · steps)²."""
    if n_calls <= 8:
        return 256
    if n_calls <= 64:
        return 64
    if n_calls <= 128:
        return 32
    return 16 if n_calls <= 256 else 8


def _chances(bounded_range: float, steps: int) -> Floats:
    """Return p_t for t = 0, h, …, ε₀."""
    left = arithmetic.expm1s(bounded_range / steps * np.arange(steps + 1) - bounded_range)
    return np.asarray(left / arithmetic.expm1(-bounded_range))


@lru_cache(maxsize=4096)
def bounded_range_delta(bounded_range: float, n_calls: int, epsilon: float) -> float:
    """Bound δ of adaptively composed bounded-range mechanisms."""
    from privcurve.privacy.accountants.game import step_back

    _check_calls(n_calls)
    if not (0 < bounded_range < math.inf and epsilon >= 0):
        raise ValueError(
            f"bounded_range must be finite and > 0, and epsilon ≥ 0; got {bounded_range} and "
            f"{epsilon}"
        )
    if epsilon >= bounded_range * n_calls:
        return 0.0
    steps = _steps(n_calls)
    h = bounded_range / steps
    if h > 700:  # e^h overflows; 1 bounds any δ
        return 1.0
    chance = _chances(bounded_range, steps)
    reach = n_calls * steps
    # Point i of the array of round j is s = ε + h(i − reach_j), reach_j = (k − j)·steps: all points
    # that play can reach from s = ε. Points with s ≥ jε₀ have V_j = 0 and are left out.
    s = epsilon + h * np.arange(-reach, reach + 1)
    values = -arithmetic.expm1s(np.minimum(s, 0.0))
    for played in range(1, n_calls + 1):
        reach -= steps
        # Indices of the new array that can be positive: s < played · ε₀.
        alive = math.ceil((played * bounded_range - epsilon) / h) + reach
        values = step_back(values, chance, bounded_range, min(2 * reach + 1, alive))
        values = np.concatenate([values, np.zeros(2 * reach + 1 - values.size)])
    return min(1.0, max(0.0, float(values[0])) * (1.0 + _ROUNDING * n_calls))


# The Gaussian loss is integrated over this many standard deviations; beyond, δ is bounded by 1.
_REACH = 12.0
# Approximate number of grid points for Gaussian noise: the recursion takes (calls · steps) times as
# many sums.
_POINTS, _MOST_POINTS = 2_000, 8_000
_COARSEST = 8


@lru_cache(maxsize=4096)
def mixed_delta(bounded_range: float, n_calls: int, mu: float, epsilon: float) -> float:
    """Bound δ of bounded-range and Gaussian mechanisms, composed adaptively in any order.

    The loss of Gaussian noise is N(μ²/2, μ²), independent of earlier outputs, so a Gaussian step
    takes the mean of V over it. The mean of a supremum is at least the supremum of a mean: the
    worst case has all Gaussian steps first, so that t may depend on them. So δ(ε) ≤ E V_k(ε − L), L
    ~ N(μ²/2, μ²), in any order, with equality in the worst one. Between grid points the mean of a
    straight line in eˢ has a closed form.
    """
    from privcurve.privacy.accountants.game import step_back

    _check_calls(n_calls)
    if not (0 < bounded_range < math.inf and 0 < mu < math.inf and epsilon >= 0):
        raise ValueError(
            "bounded_range, mu and epsilon must be finite and ≥ 0; got "
            f"{bounded_range!r}, {mu!r} and {epsilon!r}"
        )
    if bounded_range + mu > 30:  # far beyond any use, and e^s would overflow
        return 1.0
    middle = epsilon - (mu * mu) / 2
    low, missed = middle - _REACH * mu, arithmetic.normal_cdf(-_REACH)
    # A step is at most ε₀/8, and fine enough for the Gaussian's loss. A mechanism with a short
    # range also has a longer one, for which a coarser grid suffices. The grid is a fixed fraction
    # of ε₀ and μ, so that δ is smooth in a common scale.
    span = 2 * _REACH * mu
    bounded_range = max(bounded_range, _COARSEST * span / _MOST_POINTS)
    steps = max(_COARSEST, min(256, round(_POINTS * bounded_range / span)))
    # V_k(s) = 0 from s = kε₀ on.
    high = min(n_calls * bounded_range, middle + _REACH * mu)
    if high <= low:
        return missed
    h = bounded_range / steps
    size = max(2, math.ceil((high - low) / h) + 1)
    chance = _chances(bounded_range, steps)
    reach = n_calls * steps
    s = low + h * np.arange(-reach, size + reach)
    values = -arithmetic.expm1s(np.minimum(s, 0.0))
    for played in range(1, n_calls + 1):
        values = step_back(values, chance, bounded_range, values.size - 2 * steps)
        # Values that are exactly 0 stay 0, without outward rounding.
        start = low - (reach - played * steps) * h
        values[math.ceil((played * bounded_range - start) / h) + 1 :] = 0.0
    s = low + h * np.arange(size)
    inside = np.diff(arithmetic.normal_cdfs((s - middle) / mu))
    tilted = arithmetic.exp(epsilon) * np.diff(arithmetic.normal_cdfs((s - middle - mu * mu) / mu))
    # For each piece: the mean share of its right end, in e^s.
    right = np.clip((tilted * arithmetic.exps(-s[:-1]) - inside) / arithmetic.expm1(h), 0.0, inside)
    delta = float(arithmetic.total((inside - right) * values[:-1] + right * values[1:]))
    delta += missed + float(values[-1]) * float(arithmetic.normal_cdf((middle - s[-1]) / mu))
    return min(1.0, delta * (1.0 + _ROUNDING * (n_calls + size)))
