"""Distributed trees: votes of a holder, and sums of residuals in the leaves of random trees.

The proofs are in docs/privacy.md, "Distributed trees".
"""

from __future__ import annotations

import math

from privcurve.privacy.sensitivity.impurity import split_range

# Residuals are whole numbers of a unit, a power of two that is at most this.
LARGEST_UNIT = 2.0**-10


def vote_range(size: int, criterion: str) -> float:
    """Range of the change of −ΣF over all nodes of a level, for a holder's replaced record: 2F₁.

    F₁ is the same for any number of classes of Gini, entropy and the zero-one error; root-Gini
    is for two. The zero-one F is twice the error of each question's best 1-rule.
    Source: PRIVACY.md §0, L2 and L3 (proved), §e.

    Parameters
    ----------
    size : int
        Records of the holder, in all nodes.
    criterion : str
    """
    return split_range(size, criterion)


def residual_norm(n_classes: int) -> float:
    """Largest norm c of a record's residual, to which it is clipped.

    ½ of the one score of two classes, 1/√2 of one score a class. Source: docs/privacy.md,
    "Distributed trees".

    Parameters
    ----------
    n_classes : int
    """
    return 0.5 if n_classes == 2 else 0.5**0.5


def residual_sums_l2(n_classes: int) -> float:
    """L2 sensitivity of (Σg, Σ‖g‖) in the leaves of one tree, ‖g‖ ≤ c: 2c, for a replaced record.

    For two classes it is 1, exactly, for residuals in whole units. For K > 2 classes each of the
    K + 1 entries of a record is rounded by at most half a unit. Source: docs/privacy.md,
    "Distributed trees" (proved). c is :func:`residual_norm`.

    Parameters
    ----------
    n_classes : int
    """
    exact = 2 * residual_norm(n_classes)
    return exact if n_classes == 2 else exact + math.sqrt(n_classes + 1) * LARGEST_UNIT
