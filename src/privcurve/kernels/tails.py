"""Compute tail probabilities of a sum of Laplace or normal noise and a normal variable."""

from __future__ import annotations

import math

from privcurve.coding import Floats
from privcurve.kernels.arithmetic import exp, log, normal_cdf
from privcurve.kernels.jit import jit

# For a `value` below this number of standard deviations, the sum with Laplace noise is treated as
# normal, because the saddle-point approximation is inaccurate near 0.
LEAST_Z = 1.0
# Number of bisection steps in the search for the saddle point.
N_HALVINGS = 60


@jit
def tail(value: float, deviations: Floats, variance: float, laplace: bool) -> float:
    """Return P(|S + Z| ≥ value), for the sum S of all noise terms and a normal variable Z.

    With Laplace noise the result is the saddle-point approximation of Lugannani and Rice (1980).

    Parameters
    ----------
    value : float
        At least 0.
    deviations : ndarray
        Standard deviations of the independent noise terms; at least one is above 0.
    variance : float
        Variance of the normal variable.
    laplace : bool
        Whether the noise is Laplace noise; otherwise it is normal.
    """
    total, largest = variance, 0.0
    for deviation in deviations:
        total += deviation * deviation
        largest = max(largest, deviation * deviation / 2.0)
    z = value / math.sqrt(total)
    if z < LEAST_Z or not laplace:
        return 2.0 * normal_cdf(-z)
    # Find the saddle point s. The cumulant generating function of Laplace noise of scale b is
    # -log(1 - b²s²).
    low, high = 0.0, math.sqrt(1.0 / largest)
    for _ in range(N_HALVINGS):
        s = (low + high) / 2.0
        slope = variance * s
        for deviation in deviations:
            scale = deviation * deviation / 2.0
            rest = 1.0 - scale * s * s
            slope += 2.0 * s * scale / rest if rest > 0.0 else math.inf
        if slope < value:
            low = s
        else:
            high = s
    cumulant, curvature = variance * low * low / 2.0, variance
    for deviation in deviations:
        scale = deviation * deviation / 2.0
        rest = 1.0 - scale * low * low
        cumulant -= log(rest)
        curvature += 2.0 * scale * (2.0 - rest) / (rest * rest)
    exponent = max(low * value - cumulant, 0.0)
    root = math.sqrt(2.0 * exponent)
    density = exp(-exponent) / math.sqrt(2.0 * math.pi)
    factor = 1.0 / (low * math.sqrt(curvature)) - 1.0 / root
    return min(1.0, max(0.0, 2.0 * (normal_cdf(-root) + density * factor)))
