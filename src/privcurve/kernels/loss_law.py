"""Compute the distribution of a privacy loss on a grid, and of a sum of losses by an FFT.

The code uses only sums, products, quotients and roots in a fixed order, so that it has the same
bits on every machine.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from privcurve.coding import Floats
from privcurve.kernels.arithmetic import compiled, exp, expm1, log, log1p, normal_cdf

Complexes = NDArray[np.complex128]


@compiled
def loss_at(z: float, p: float, r: float, c: float) -> float:
    """Return the privacy loss of the answer z between two mixtures of normal distributions.

    It is the logarithm of the density of (1−p)N(0, 1) + pN(c, 1) at z, over the density of
    (1−r)N(0, 1) + rN(−c, 1).
    """
    half = 0.5 * c * c
    return log1p(p * expm1(c * z - half)) - log1p(r * expm1(-c * z - half))


@compiled
def _answer_of(loss: float, p: float, r: float, c: float) -> float:
    """Return the answer z with a given privacy loss: the inverse of `loss_at`.

    It is ±∞ if no answer has so large or so small a loss.
    """
    gap = expm1(loss) * (1.0 - r) + (p - r)
    small = exp(-0.5 * c * c)
    if p == 0.0 and gap >= 0.0:
        return np.inf
    if r == 0.0 and gap <= 0.0:
        return -np.inf
    factor = exp(loss)
    root = math.sqrt(gap * gap + 4.0 * p * r * factor * small * small)
    if gap > 0.0:
        odds = (gap + root) / (2.0 * p * small)
    else:
        odds = 2.0 * factor * r * small / (root - gap)
    return log(odds) / c


@compiled
def _between(low: float, high: float) -> float:
    """Return the probability of N(0, 1) between two numbers.

    It is computed as a difference of probabilities of the nearer tail, which avoids cancellation.
    """
    if low + high > 0.0:
        low, high = -high, -low
    return normal_cdf(high) - normal_cdf(low)


@compiled
def loss_law(first: int, last: int, step: float, p: float, r: float, c: float) -> Floats:
    """Return log-probabilities on a grid of a distribution that dominates a privacy loss.

    :func:`loss_at` defines the loss, and the two mixtures with the parameters p, r and c. The grid
    has the losses k·step, for k from `first` to `last`. Probability mass between two grid points
    moves to both points, such that its sum under each mixture stays the same. Mass below the grid
    moves up to the first point; mass above the grid is left out.
    """
    # `more` increases each mass, and `upward` the part that moves to the upper grid point, by more
    # than the rounding errors, so that the result is an upper bound.
    more, upward = 1.0 + 2.0**-32, 2.0**-30
    law = np.zeros(last - first + 1)
    low = _answer_of(first * step, p, r, c)
    law[0] = (1.0 - p) * normal_cdf(low) + p * normal_cdf(low - c)
    for j in range(first, last):
        high = _answer_of((j + 1) * step, p, r, c)
        if high > low:
            own = _between(low, high)
            mass, other = (1.0 - p) * own, (1.0 - r) * own
            if p > 0.0:
                mass += p * _between(low - c, high - c)
            if r > 0.0:
                other += r * _between(low + c, high + c)
            above = (mass - exp(j * step) * other) / -expm1(-step)
            above = min(max(above + upward * mass, 0.0), mass)
            law[j - first] += more * (mass - above)
            law[j - first + 1] += more * above
        low = high
    for k in range(len(law)):
        law[k] = log(law[k])
    return law


@compiled
def tilted(law: Floats, first: int, step: float, tilt: float) -> tuple[float, float, float]:
    """Return ln Σ mass·e^(tilt·loss), and the mean and variance of the loss under tilted masses.

    `law` has the logarithms of the masses at the losses k·step, from k = `first` on. The tilted
    masses are proportional to mass·e^(tilt·loss).
    """
    most = -np.inf
    for k in range(len(law)):
        most = max(most, law[k] + tilt * step * (first + k))
    total = mean = square = 0.0
    for k in range(len(law)):
        loss = step * (first + k)
        height = law[k] + tilt * loss - most
        if height > -50.0:
            mass = exp(height)
            total += mass
            mean += mass * loss
            square += mass * loss * loss
    mean /= total
    return most + log(total), mean, max(square / total - mean * mean, 0.0)


@compiled
def _roots(n: int) -> Complexes:
    """Return the powers 0 … n/2 − 1 of the n-th root of unity, computed by halving the angle."""
    roots = np.ones(max(n // 2, 1), dtype=np.complex128)
    cosine, sine = -1.0, 0.0
    at = n // 2
    while at > 1:
        # Compute the root with half the angle. Its odd powers are its even powers, which are
        # already computed, times the root.
        half = math.sqrt(max(0.5 * (1.0 + cosine), 0.0))
        cosine, sine = half, (1.0 if cosine == -1.0 else sine / (2.0 * half))
        at //= 2
        for k in range(at, n // 2, 2 * at):
            roots[k] = roots[k - at] * complex(cosine, sine)
    return roots


@compiled
def _transform(values: Complexes, roots: Complexes) -> None:
    """Replace values by their discrete Fourier transform; their number must be a power of two."""
    n = len(values)
    j = 0
    for i in range(1, n):
        bit = n >> 1
        while j & bit:
            j ^= bit
            bit >>= 1
        j |= bit
        if i < j:
            values[i], values[j] = values[j], values[i]
    size = 1
    while size < n:
        stride = n // (2 * size)
        for start in range(0, n, 2 * size):
            for k in range(size):
                a = values[start + k]
                b = values[start + k + size] * roots[k * stride]
                values[start + k] = a + b
                values[start + k + size] = a - b
        size *= 2


@compiled
def add_losses(
    spectrum: Complexes,
    errors: Floats,
    law: Floats,
    first: int,
    step: float,
    tilt: float,
    n: int,
) -> None:
    """Add n independent losses to a sum of losses: multiply the spectrum of the sum, in place.

    Parameters
    ----------
    spectrum : ndarray of shape (size,)
        The Fourier transform of the masses of the sum.
    errors : ndarray of shape (size,)
        Bounds on the rounding errors of `spectrum`; the function updates them. With masses that add
        up to 1, a stage of a transform adds an error of at most 4 · 2⁻⁵³, and a complex product one
        of at most 3 · 2⁻⁵³.
    law, first, step
        The distribution of each of the n losses: see :func:`tilted`.
    tilt : float
        The function multiplies the masses of `law` by e^(tilt·loss) and scales them to a total of
        1. All losses of a sum must have the same tilt.
    n : int
        Number of losses to add.
    """
    size = len(spectrum)
    log_total = tilted(law, first, step, tilt)[0]
    values = np.zeros(size, dtype=np.complex128)
    for k in range(len(law)):
        height = law[k] + tilt * step * (first + k) - log_total
        values[(first + k) % size] += exp(height)
    _transform(values, _roots(size))
    error = stage_error(size)
    for k in range(size):
        # Compute the (n − 1)-th power by repeated squaring, and an upper bound on its absolute
        # value, rounding errors included.
        left, square, power = n - 1, values[k], complex(1.0, 0.0)
        most, size_power = abs(values[k].real) + abs(values[k].imag), 1.0
        most = min(most, 1.0) + error
        while left:
            if left & 1:
                power *= square
                size_power *= most
            square *= square
            most *= most
            left >>= 1
        most = min(abs(values[k].real) + abs(values[k].imag), 1.0) + error
        before = abs(spectrum[k].real) + abs(spectrum[k].imag)
        errors[k] = size_power * (errors[k] * most + before * n * error)
        spectrum[k] *= power * values[k]


@compiled
def stage_error(size: int) -> float:
    """Return a bound on the rounding error of the transform of `size` numbers that add up to 1."""
    error, left = 4.0 * 2.0**-53, size
    while left > 1:
        error += 4.0 * 2.0**-53
        left >>= 1
    return error


@compiled
def excess_above(
    spectrum: Complexes, errors: Floats, epsilon: float, start: int, step: float, tilt: float
) -> float:
    """Return an upper bound on δ(ε) of a sum of losses, divided by Σ mass·e^(tilt·(loss − ε)).

    The result is Σ (tilted mass)·(1 − e^(ε − loss))·e^(tilt·(ε − loss)) over all losses above ε,
    plus all rounding errors; tilted masses add up to 1. `spectrum` and `errors` are from
    :func:`add_losses`. The losses are k·step, from k = `start` on.
    """
    size = len(spectrum)
    values = np.conj(spectrum)
    _transform(values, _roots(size))
    total, error = 0.0, stage_error(size)
    for k in range(start, start + size):
        over = k * step - epsilon
        if over > 0.0:
            mass = max(values[k % size].real / size, 0.0)
            total += mass * -expm1(-over) * exp(-tilt * over)
    for k in range(size):
        total += errors[k] + error * (abs(spectrum[k].real) + abs(spectrum[k].imag))
    return total
