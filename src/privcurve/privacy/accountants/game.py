"""Compute one backward step of the game in `bounded_range.py`, in compiled loops.

The notation is as in that file: V_j is a value of the game, and W an upper bound. Noise rates, and
so stored results, depend on every bit of V. So this file must use the same operations in the same
order as a reference implementation in the tests.
"""

from __future__ import annotations

import numpy as np

from privcurve.coding import Floats, Ints
from privcurve.kernels.arithmetic import compiled
from privcurve.lazy import arithmetic


def step_back(before: Floats, chance: Floats, bounded_range: float, size: int) -> Floats:
    """Return V_j at grid points, from V_{j−1} at grid points that reach ε₀ farther on both sides.

    Parameters
    ----------
    before : ndarray of shape (at least size + 2 · steps,)
        V_{j−1} at the grid points, or upper bounds of these values.
    chance : ndarray of shape (steps + 1,)
        p_t for t = 0, h, …, ε₀, with h = ε₀/steps.
    bounded_range : float
        ε₀.
    size : int
        Number of points at which V_j is computed; the first one is entry `steps` of `before`. For a
        size below 1, the result is empty.
    """
    if size <= 0:
        return np.zeros(0)
    steps = len(chance) - 1
    assert len(before) >= size + 2 * steps  # compiled loops do not check indices
    h = bounded_range / steps
    after = _at_grid_points(before, chance, size)
    width, shrink = arithmetic.expm1(h), arithmetic.exp(-bounded_range)
    pieces, ratios = _pieces_with_peaks(before, steps, width, shrink)
    logs = arithmetic.logs(ratios)
    pieces, points, to_end, to_range = _peaks(pieces, logs, steps, bounded_range, size)
    shares = arithmetic.expm1s(to_end) / width
    chances = arithmetic.expm1s(to_range) / arithmetic.expm1(-bounded_range)
    _raise(after, before, steps, pieces, points, shares, chances)
    return after


@compiled
def _at_grid_points(before: Floats, chance: Floats, size: int) -> Floats:
    """Return V_j at `size` points s, with the supremum over the grid t = 0, h, …, ε₀ alone."""
    steps = len(chance) - 1
    after = np.zeros(size)
    for j in range(steps + 1):
        p, rest = chance[j], 1.0 - chance[j]
        low = before[steps - j : steps - j + size]
        high = before[2 * steps - j : 2 * steps - j + size]
        for i in range(size):
            value = p * low[i] + rest * high[i]
            if value > after[i]:
                after[i] = value
    return after


@compiled
def _pieces_with_peaks(
    before: Floats, steps: int, width: float, shrink: float
) -> tuple[Ints, Floats]:
    """Find the pieces of the upper bound W inside which a maximum over t can be.

    W, u, A, B, s and t are as in `bounded_range.py`. `before` has the values of W at grid points
    with the distance h, `width` is e^h − 1, `shrink` is e^{−ε₀}, and ε₀ = `steps` · h. A piece is
    the part of W between two neighbouring grid points, on which W is linear in u.

    If s is grid point i, and t is strictly between jh and (j + 1)h, then s − t lies in piece l =
    i + steps − j − 1, and s − t + ε₀ in piece l + steps. Returns the indices l of the pieces inside
    which the derivative with respect to t can vanish, and for each piece the number A/B ·
    e^{−ε₀−(j+1)h}, from which :func:`_peaks` computes the t of the maximum.
    """
    slope = np.empty(len(before) - 1)
    for k in range(len(slope)):
        slope[k] = (before[k + 1] - before[k]) / width
    pieces = np.empty(len(slope) - steps, dtype=np.int64)
    ratios = np.empty(len(pieces))
    n = 0
    for k in range(len(pieces)):
        # A e^{−(j+1)h}, up to a positive factor
        falling = slope[k + steps] * shrink - slope[k]
        # B e^{ε₀}, up to the same factor
        rising = (before[k] - slope[k]) - (before[k + steps] - slope[k + steps])
        if falling > 0 and rising > 0:
            pieces[n], ratios[n] = k, falling / rising
            n += 1
    return pieces[:n], ratios[:n]


@compiled
def _peaks(
    pieces: Ints, log_ratios: Floats, steps: int, bounded_range: float, size: int
) -> tuple[Ints, Ints, Floats, Floats]:
    """Find the maxima inside pieces.

    Returns, for each maximum: its piece, the index i of its point s, (j + 1)h − t, and t − ε₀.
    """
    h = bounded_range / steps
    most = 2 * len(pieces)
    inside, points = np.empty(most, dtype=np.int64), np.empty(most, dtype=np.int64)
    to_end, to_range = np.empty(most), np.empty(most)
    n = 0
    for k in range(len(pieces)):
        # For each j, the maximum is at eᵗ = √(A/B). This t is inside (jh, (j + 1)h) for at most two
        # values of j.
        ratio = (log_ratios[k] + bounded_range) / h
        lower = np.floor(ratio)
        for j in (lower, lower + 1.0):
            peak = 0.5 * (ratio + j + 1.0)  # t/h
            if not (j < peak < j + 1.0 and 0.0 <= j < steps):
                continue
            i = pieces[k] + int(j) + 1 - steps
            if 0 <= i < size:
                inside[n], points[n] = pieces[k], i
                to_end[n], to_range[n] = h * (j + 1.0) - h * peak, h * peak - bounded_range
                n += 1
    return inside[:n], points[:n], to_end[:n], to_range[:n]


@compiled
def _raise(
    after: Floats,
    before: Floats,
    steps: int,
    pieces: Ints,
    points: Ints,
    shares: Floats,
    chances: Floats,
) -> None:
    """Raise each value in `after` to the largest maximum that `_peaks` returns for its point.

    For each maximum, `chances` has p_t, and `shares` has the weight of the right end of the piece:
    W is interpolated linearly between the two ends of the piece.
    """
    for n in range(len(pieces)):
        k, share, p = pieces[n], shares[n], chances[n]
        down = (1.0 - share) * before[k] + share * before[k + 1]
        up = (1.0 - share) * before[k + steps] + share * before[k + steps + 1]
        value = p * down + (1.0 - p) * up
        if value > after[points[n]]:
            after[points[n]] = value
