r"""Compute δ(ε) of Gaussian calls on Poisson batches, by privacy loss distributions.

The worst case of one such call is a single number with two distributions, one for each of the
neighbouring tables (docs/proofs.md, 'Poisson batches'). Let q be the sampling rate, and N(c)
Gaussian noise with mean c. If a record is replaced, the distributions are (1 − q)N(0) + qN(c) and
(1 − q)N(0) + qN(−c). If a record is added or removed, they are (1 − q)N(0) + qN(c) and N(0), in
both orders. The privacy losses of calls add up. Each loss is rounded to a grid in a way that never
lowers δ. The distribution of the total loss is tilted (multiplied by e^(tilt·loss)), such that its
mean is near ε: so even a tiny δ has a small relative error.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from privcurve.coding import Floats
from privcurve.lazy import arithmetic
from privcurve.privacy.accountants.cost import SAMPLED_KIND, SAMPLED_OPPOSITE_KIND, Costs

# Grid steps per standard deviation of a privacy loss. Rounding a loss to the grid raises its
# variance by at most 1/1024 of the variance.
FINENESS = 16
# The grid has the privacy losses of the answers from DOWN standard deviations below the mean of the
# noise to UP standard deviations above it.
UP, DOWN = 12.0, 10.0
# If c (sensitivity/σ of a call) or ε is larger, the result is the trivial bound 1.
MOST_SHIFT, MOST_EPSILON = 20.0, 300.0
# Maximum number of grid points for the loss of one call, and for the total loss. If a grid would
# have more points, its step is made larger.
MOST_POINTS, MOST_SIZE = 2**16, 2**17
# ln of the largest tilted probability outside the grid, on each side; the bound on δ includes it.
BEYOND = -30.0
# ln of a probability that is treated as 0.
NOTHING = -690.0
MOST_TILTS, LEAST_SPREAD = 100, 1e-100


# A function of the tilt. It returns ln Σ mass·e^(tilt·loss) over the distribution of the total
# loss, and the mean and variance of the total loss under the tilted distribution.
Moments = Callable[[float], tuple[float, float, float]]


class _Part(NamedTuple):
    """The distribution of the privacy loss of one call, and the number of such calls."""

    law: Floats  # ln of the probabilities at consecutive grid points
    first: int  # index of the first of these grid points; the grid point k is the loss k · step
    times: int


def sampled_delta(costs: Costs, epsilon: float) -> float:
    """Return an upper bound on δ(ε) of Gaussian calls, some of which read only Poisson batches.

    The bound is the trivial 1 if ε, or sensitivity/σ of a call, is too large for the grids.
    """
    opposite = any(cost.kind == SAMPLED_OPPOSITE_KIND for cost in costs)
    calls = []
    for cost in costs:
        is_sampled = cost.kind in (SAMPLED_KIND, SAMPLED_OPPOSITE_KIND)
        shift = cost.amount / 2 if opposite else cost.amount
        calls.append((cost.rate if is_sampled else 1.0, shift, cost.count))
    if epsilon > MOST_EPSILON or any(shift > MOST_SHIFT for _, shift, _ in calls):
        return 1.0
    # The items of a pair say whether the differing record is in the first table, and whether it is
    # in the second (1: yes). A replaced record is in both, with other values. An added record is in
    # one of them: both orders are tried.
    sides = ((1, 1),) if opposite else ((1, 0), (0, 1))
    return max(_delta(calls, epsilon, side) for side in sides)


def _delta(
    calls: list[tuple[float, float, int]],
    epsilon: float,
    side: tuple[int, int],
    fineness: float = FINENESS,
) -> float:
    from privcurve.kernels.loss_law import add_losses, excess_above, tilted

    step, parts = _grid(calls, side, fineness)
    beyond = sum(part.times for part in parts) * arithmetic.normal_cdf(-UP)
    if step * sum(part.times * (part.first + len(part.law) - 1) for part in parts) <= epsilon:
        return beyond

    def moments(tilt: float) -> tuple[float, float, float]:
        each = [(part.times, tilted(part.law, part.first, step, tilt)) for part in parts]
        a, b, c = (math.fsum(n * one[i] for n, one in each) for i in range(3))
        return a, b, c

    near = _tilt(moments, epsilon)
    if near is None:
        return beyond
    tilt, log_total, spread = near
    reach = _reach(moments, epsilon, near)
    while sum(reach) > MOST_SIZE * step and tilt > 1e-3 / spread:
        # If rare large losses make the tilted distribution too wide for the grid, tilt less.
        tilt /= 2
        log_total, _, variance = moments(tilt)
        spread = math.sqrt(variance)
        reach = _reach(moments, epsilon, (tilt, log_total, spread))
    size = 1
    while size * step < sum(reach) + 2 * step:
        size *= 2
    if size > 2 * MOST_SIZE:
        return _delta(calls, epsilon, side, fineness / 4)
    spectrum, errors = np.ones(size, dtype=np.complex128), np.zeros(size)
    for part in parts:
        add_losses(spectrum, errors, part.law, part.first, step, tilt, part.times)
    start = math.floor((epsilon - reach[0]) / step)
    above = excess_above(spectrum, errors, epsilon, start, step, tilt)
    above += arithmetic.exp(BEYOND)
    return beyond + above * arithmetic.exp(log_total - tilt * epsilon)


def _reach(
    moments: Moments, epsilon: float, near: tuple[float, float, float]
) -> tuple[float, float]:
    """Return how far the tilted distribution of the total loss reaches below and above ε.

    A probability of at most e^`BEYOND` lies beyond each of the two distances, by Chernoff bounds at
    a few other tilts. `near` is a result of `_tilt`.
    """
    tilt, log_total, spread = near
    down = up = math.inf
    for factor in (0.5, 1.0, 2.0, 4.0, 8.0):
        t = factor / spread
        down = min(down, (moments(tilt - t)[0] - log_total + t * epsilon - BEYOND) / t)
        up = min(up, (moments(tilt + t)[0] - log_total - t * epsilon - BEYOND) / t)
    return max(down, 0.0), max(up, 0.0)


def _grid(
    calls: list[tuple[float, float, int]], side: tuple[int, int], fineness: float
) -> tuple[float, list[_Part]]:
    """Return the step of a grid, and the loss distribution of each kind of call on this grid.

    `calls` has the sampling rate, sensitivity/σ and number of each kind of call. `side` says which
    of the two tables have the differing record. `fineness` is like `FINENESS`.
    """
    from privcurve.kernels.loss_law import loss_at, loss_law

    n = sum(count for *_, count in calls)
    variance = math.fsum(
        count * min(shift * shift, rate * rate * arithmetic.expm1(shift * shift))
        for rate, shift, count in calls
    )
    step = sum(side) * math.sqrt(variance / n) / fineness
    bounds = []
    for rate, shift, count in calls:
        p, r = (rate * one for one in side)
        low = max(loss_at(-DOWN, p, r, shift), -50.0)
        bounds.append((p, r, shift, count, low, loss_at(shift + UP, p, r, shift)))
    step = max(step, max(high - low for *_, low, high in bounds) / MOST_POINTS)
    parts = []
    for p, r, shift, count, low, high in bounds:
        first, last = math.floor(low / step), math.ceil(high / step)
        parts.append(_Part(loss_law(first, last, step, p, r, shift), first, count))
    return step, parts


def _tilt(moments: Moments, epsilon: float) -> tuple[float, float, float] | None:
    """Find a tilt at which the mean of the total loss is near ε.

    Returns the tilt, ln Σ mass·e^(tilt·loss), and the standard deviation of the tilted loss; or
    None if the probability of a loss of at least ε is below e^`NOTHING`. The bound on δ is valid
    for any tilt, so the search may end at a tilt whose mean is not near ε.
    """
    tilt, low, high = 0.0, 0.0, math.inf
    for _ in range(MOST_TILTS):
        log_total, mean, variance = moments(tilt)
        spread = max(math.sqrt(variance), LEAST_SPREAD)
        if log_total - tilt * epsilon < NOTHING:
            return None
        if abs(mean - epsilon) <= 0.3 * spread or (tilt == 0.0 and mean > epsilon):
            break
        low, high = (tilt, high) if mean < epsilon else (low, tilt)
        guess = tilt + (epsilon - mean) / (spread * spread)
        if not low < guess < high:
            guess = (low + high) / 2
        # Newton's step assumes that the variance is the same at all tilts. Limit the step, as the
        # variance may be very different at a distant tilt.
        tilt = min(guess, 4 * low + 16 / spread)
    return tilt, log_total, spread
