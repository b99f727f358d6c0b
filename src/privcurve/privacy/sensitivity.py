"""How much one record can change a score: every constant of the project, with its source.

All constants are for replace-one neighbours unless their docstring says otherwise.
Sections are those of PRIVACY.md; status is proved, brute force, or cited.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

# A 1-rule's weighted error: loss of one EM call in units of η·ζ (§b).
ONE_RULE_PUBLISHED = 4.0
ONE_RULE_CERTIFIED = 2.0


def lazybb_zeta(n: int, density: float) -> float:
    """Distance of the normalised weights of two neighbouring data sets: ζ = 1/(κn).

    Total variation on labelled points, with the capped projection. Replace-one; also
    add/remove with n the larger of the two sizes. Source: PRIVACY.md §a, Theorem a
    (proved, attained).

    Parameters
    ----------
    n : int
        Number of records.
    density : float
        κ, in (0, 1].

    Returns
    -------
    float
    """
    _check_lazybb(n, density)
    return 1.0 / (density * n)


def lazybb_zeta_rounds(
    n: int, density: float, learning_rate: float, n_rounds: int
) -> NDArray[np.float64]:
    """The distance ζ_t round by round: smaller in the first rounds, at no cost.

    After t − 1 rounds weights differ by a factor of at most R = e^{2λ(t−1)}, so none has
    a share above R/(R + n − 1): ζ_t = min{1/(κn), R/(R + n − 1)}, ζ₁ = 1/n. The same ζ_t
    bounds the change of the unnormalised score Σμχ/(κn); for that, weights that needed
    no scaling must stay below κnζ_t too, which adds the term √R/n. It is the largest of
    the three only if κ(n − 1) < 1. Replace-one. Source: PRIVACY.md §a, free refinement
    (proved; the added term in docs/privacy.md).

    Parameters
    ----------
    n : int
        Number of records.
    density, learning_rate : float
        κ and λ.
    n_rounds : int
        τ.

    Returns
    -------
    ndarray of shape (n_rounds,)
        ζ_t, non-decreasing, at most 1/(κn).
    """
    _check_lazybb(n, density)
    if n_rounds < 1:
        raise ValueError(f"n_rounds = {n_rounds} must be at least 1")
    if not (math.isfinite(learning_rate) and learning_rate >= 0):
        raise ValueError(f"learning_rate = {learning_rate} must be a finite number of at least 0")
    drift = learning_rate * np.arange(n_rounds, dtype=np.float64)
    share = 1.0 / (1.0 + (n - 1) * np.exp(-2.0 * drift))
    # exp(700) is near the largest float; 1/(κn) is the minimum long before.
    unscaled = np.exp(np.minimum(drift, 700.0)) / n
    return np.minimum(lazybb_zeta(n, density), np.maximum(share, unscaled))


def _check_lazybb(n: int, density: float) -> None:
    if n < 1:
        raise ValueError(f"n = {n} must be at least 1 record")
    if not 0 < density <= 1:
        raise ValueError(f"density = {density} is not in (0, 1]")
