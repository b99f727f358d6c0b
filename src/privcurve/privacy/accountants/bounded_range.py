"""Compute a rigorous upper bound on the optimal adaptive composition of bounded-range mechanisms.

Proof: docs/proofs.md, 'The optimal adaptive bound'. A mechanism is ε₀-bounded-range if its privacy
loss lies in an interval [t − ε₀, t] with 0 ≤ t ≤ ε₀; t may depend on all earlier outputs. The worst
case of k such mechanisms is a game of k rounds, which is solved from its last round to its first::

    V₀(s) = max(0, 1 − eˢ)
    V_j(s) = sup over t of  p_t V_{j−1}(s − t) + (1 − p_t) V_{j−1}(s − t + ε₀)
    p_t = (1 − e^{t−ε₀}) / (1 − e^{−ε₀}),      δ(ε) = V_k(ε)

V_j is computed at the points of a grid of s. It is convex in u = eˢ, so that straight lines in u
between these points give an upper bound W. With W in place of V_{j−1}, and t between two grid
steps, the expression in the supremum is const − A/eᵗ − B·eᵗ with A, B ≥ 0, whose maximum has a
closed form. So the supremum is over all t, not only over grid points, and by induction the result
is never below the true δ.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from privcurve.lazy import arithmetic

# Maximum number of calls: more would take too long, as the time grows with (calls · steps)².
MAX_CALLS = 512

# The result is increased by this share for each call, to cover floating-point rounding. The true
# rounding error is far smaller: the recursion only adds and multiplies numbers of one sign, with a
# few operations per call.
_ROUNDING = 1e-13


# Pairs (k, steps): for up to k calls, ε₀ is divided into this number of grid steps. More calls get
# fewer steps, to limit the time.
STEPS = ((8, 256), (64, 64), (128, 32), (256, 16), (MAX_CALLS, 8))


@lru_cache(maxsize=4096)
def bounded_range_delta(bounded_range: float, n_calls: int, epsilon: float) -> float:
    """Return an upper bound on δ(ε) of `n_calls` adaptive mechanisms with ε₀ = `bounded_range`."""
    from privcurve.privacy.accountants.game import step_back

    if not 1 <= n_calls <= MAX_CALLS:
        raise ValueError(f"n_calls must be between 1 and {MAX_CALLS}; got {n_calls}")
    if not (0 < bounded_range < math.inf and epsilon >= 0):
        raise ValueError(
            f"bounded_range must be finite and > 0, and epsilon ≥ 0; got {bounded_range} and "
            f"{epsilon}"
        )
    if epsilon >= bounded_range * n_calls:
        return 0.0
    steps = next(steps for most, steps in STEPS if n_calls <= most)
    h = bounded_range / steps
    if h > 700:  # e^h would overflow: return the trivial bound
        return 1.0
    # p_t for t = 0, h, …, ε₀
    left = arithmetic.expm1s(h * np.arange(steps + 1) - bounded_range)
    chance = left / arithmetic.expm1(-bounded_range)
    reach = n_calls * steps
    # `values` has V_j at the points s = ε + h(i − reach_j) with reach_j = (k − j)·steps. These are
    # all points that the game can reach from s = ε when j rounds are left. For s ≥ jε₀, V_j is 0
    # and need not be computed.
    s = epsilon + h * np.arange(-reach, reach + 1)
    values = -arithmetic.expm1s(np.minimum(s, 0.0))
    for played in range(1, n_calls + 1):
        reach -= steps
        # The new values can be positive only at the first `alive` points, where s < played · ε₀.
        alive = math.ceil((played * bounded_range - epsilon) / h) + reach
        values = step_back(values, chance, bounded_range, min(2 * reach + 1, alive))
        values = np.concatenate([values, np.zeros(2 * reach + 1 - values.size)])
    return min(1.0, max(0.0, float(values[0])) * (1.0 + _ROUNDING * n_calls))
