"""Minimise a smooth convex function of many variables by L-BFGS."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from privcurve.coding import Floats
from privcurve.kernels.arithmetic import dot, norm

# Number of recent steps that L-BFGS keeps to estimate the curvature.
MEMORY = 10

# A step is accepted if the function's value falls by at least LOWER times the fall that the
# gradient predicts. If the value changes by less than ROUNDING, its relative rounding error, a step
# is accepted if it reduces the slope in the step's direction to at most FLATTER times the slope
# before (Hager and Zhang, 2005). Other steps are halved, down to the length SHORTEST.
LOWER, FLATTER = 1e-4, 0.9
ROUNDING = 1e-13
SHORTEST = 1e-12
# The search stops at a point with a larger coordinate: then the function probably has no minimum.
FARTHEST = 1e10


def find_lowest(
    function: Callable[[Floats], tuple[float, Floats]],
    start: Floats,
    tolerance: float,
    most_steps: int,
) -> tuple[Floats, bool]:
    """Minimise a function until its gradient is at most `tolerance`, or float64 allows no progress.

    If the function has no minimum, the search stops beyond `FARTHEST`.

    Parameters
    ----------
    function : callable
        It returns the value and the gradient at a point.
    start : ndarray of shape (n,)
    tolerance : float
        Bound on the largest absolute entry of the gradient.
    most_steps : int

    Returns
    -------
    point : ndarray of shape (n,)
    near : bool
        False if `most_steps` steps did not suffice.
    """
    point = start.astype(np.float64)
    value, slope = function(point)
    moves: list[tuple[Floats, Floats, float]] = []
    for _ in range(most_steps):
        if not np.abs(slope).max(initial=0.0) > tolerance:
            return point, True
        way = -_times_inverse_curvature(slope, moves)
        along = dot(way, slope)
        if not along < 0:
            moves.clear()
            way = -slope
            along = dot(way, slope)
        length = 1.0 if moves else min(1.0, 1.0 / norm(slope))
        while True:
            next_point = point + length * way
            next_value, next_slope = function(next_point)
            if next_value <= value + LOWER * length * along:
                break
            rounded = next_value <= value + ROUNDING * abs(value)
            if rounded and abs(dot(next_slope, way)) <= -FLATTER * along:
                break
            length /= 2
            if length < SHORTEST:
                return point, True
        move, change = next_point - point, next_slope - slope
        bend = dot(move, change)
        if bend > 0:
            moves = [*moves[1 - MEMORY :], (move, change, bend)]
        point, value, slope = next_point, next_value, next_slope
        if np.abs(point).max() > FARTHEST:
            return point, True
    return point, False


def _times_inverse_curvature(slope: Floats, moves: list[tuple[Floats, Floats, float]]) -> Floats:
    """Return the product of an estimated inverse Hessian and the gradient `slope`.

    This is the two-loop recursion of L-BFGS; `moves` has, for each recent step, the change of the
    point, the change of the gradient, and their dot product.
    """
    way, shares = slope.copy(), []
    for move, change, bend in reversed(moves):
        shares.append(dot(move, way) / bend)
        way -= shares[-1] * change
    if moves:
        _, change, bend = moves[-1]
        way *= bend / dot(change, change)
    for (move, change, bend), share in zip(moves, reversed(shares), strict=True):
        way += (share - dot(change, way) / bend) * move
    return way
