"""Fit a logistic regression on few columns by Newton's method, exactly up to rounding errors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from privcurve.coding import Floats, Signs
from privcurve.kernels import arithmetic
from privcurve.kernels.arithmetic import dot, total
from privcurve.kernels.rows import gram, times, weighted_sum

if TYPE_CHECKING:
    from scipy.sparse import csr_array

MAX_STEPS = 100

# The search ends with the first step whose largest entry is at most this share of the solution's
# largest entry.
LAST_STEP = 1e-8

# A step that moves each margin by at most m can't increase the value if m ≤ 1.79. Reason: for each
# loss, the third derivative is at most the second derivative. So the curvature along the step grows
# at most by a factor e^m, and the value by at most λ²((e^m − 1 − m)/m² − 1), where λ is Newton's
# decrement.
SURE_MOVE = 1.7

# An increase of the value by less than this share of the value may be due to rounding, and is
# accepted. A step is not halved below the share SHORTEST of Newton's step.
ROUNDING = 1e-13
SHORTEST = 1e-8


class NoMinimumError(ArithmeticError):
    """Newton's method did not reach a minimum, which may not exist."""


def minimise_logistic(
    rows: Floats | csr_array,
    signs: Signs,
    weights: Floats,
    penalty: Floats,
    start: Floats | None = None,
    offset: Floats | float = 0.0,
    tilt: Floats | float = 0.0,
) -> Floats:
    r"""Minimise Σ wᵢ ℓ(yᵢ(oᵢ + θ·xᵢ)) + ½ Σ λⱼθⱼ² + b·θ, where ℓ(m) = ln(1 + e⁻ᵐ).

    Parameters
    ----------
    rows : ndarray or sparse array of shape (n_rows, n_columns)
    signs : ndarray of shape (n_rows,)
        −1 or +1.
    weights : ndarray of shape (n_rows,)
    penalty : ndarray of shape (n_columns,)
        λ, the L2 penalties. At most one entry may be 0; both signs must occur then.
    start : ndarray of shape (n_columns,), optional
        The θ at which the search starts; 0 by default.
    offset : ndarray of shape (n_rows,) or float
        o, added to the score of each row.
    tilt : ndarray of shape (n_columns,) or float
        b, the linear term.

    Returns
    -------
    ndarray of shape (n_columns,)

    Raises
    ------
    NoMinimumError
        If no minimum exists, or float64 can't resolve it.
    """
    y = signs.astype(np.float64)
    theta = np.zeros(rows.shape[1]) if start is None else start.astype(np.float64)

    def objective(margins: Floats, at: Floats) -> float:
        losses = dot(weights, arithmetic.softplus(-margins))
        return float(losses + 0.5 * dot(penalty, at * at) + total(tilt * at))

    margins = y * (offset + times(rows, theta))
    for _ in range(MAX_STEPS):
        doubt = 1.0 / (1.0 + arithmetic.exps(margins))
        gradient = penalty * theta - weighted_sum(rows, weights * y * doubt) + tilt
        hessian = gram(rows, weights * doubt * (1.0 - doubt))
        hessian[np.diag_indices_from(hessian)] += penalty
        step = arithmetic.cholesky_solve(arithmetic.cholesky(hessian), gradient)
        if np.isnan(step).any():
            raise NoMinimumError("logistic regression: the curvature vanishes")
        if np.abs(step).max() <= LAST_STEP * np.abs(theta).max():
            # Near the minimum, each step squares the relative error. So after this step the error
            # is smaller than rounding errors.
            return theta - step
        proposed = theta - step
        moved = y * (offset + times(rows, proposed))
        if not np.abs(moved - margins).max() <= SURE_MOVE:
            value, length = objective(margins, theta), 1.0
            largest = value + ROUNDING * abs(value)
            while not objective(moved, proposed) <= largest and length >= SHORTEST:
                length /= 2
                proposed = theta - length * step
                moved = y * (offset + times(rows, proposed))
        theta, margins = proposed, moved
    raise NoMinimumError(f"logistic regression: no minimum after {MAX_STEPS} steps")


def logistic_gradient(
    theta: Floats,
    rows: Floats | csr_array,
    signs: Signs,
    weights: Floats,
    penalty: Floats,
    offset: Floats | float = 0.0,
) -> Floats:
    """Return the gradient at θ of the objective of :func:`minimise_logistic` without a tilt."""
    y = signs.astype(np.float64)
    doubt = 1.0 / (1.0 + arithmetic.exps(y * (offset + times(rows, theta))))
    return np.asarray(penalty * theta - weighted_sum(rows, weights * y * doubt))
