"""Counts, histograms, margins and clamped sums: L1 and L2 sensitivities."""

from __future__ import annotations

import math

from privcurve.privacy.budget import REPLACE_ONE, relation

# Residuals are integer multiples of a unit, a power of two that is at most this.
LARGEST_UNIT = 2.0**-10


def histogram_l1(neighbours: str = REPLACE_ONE, weight_bound: float = 1.0) -> float:
    """Return the L1 sensitivity of one vector of disjoint counts: 2 (replace-one), 1 (add/remove).

    This is multiplied by `weight_bound`, the largest weight of a record. The sensitivity is for all
    cells together: Lap(2/ε) on each cell is ε-DP. Source: docs/proofs.md, 'Counts' (proved).
    """
    return touched_cells(neighbours) * weight_bound


def histogram_l2(neighbours: str = REPLACE_ONE, weight_bound: float = 1.0) -> float:
    """Return the L2 sensitivity of one vector of disjoint counts: √2 (replace-one), 1 (add/remove).

    It is multiplied by `weight_bound`. Source: docs/proofs.md, 'Counts' (proved).
    """
    return math.sqrt(touched_cells(neighbours)) * weight_bound


def margins_l1() -> float:
    """Return the L1 sensitivity 2 of the margins n₊ − n₋ of all leaves of one tree together.

    A flipped label changes one margin by 2, a moved record two margins by 1 each. Replace-one.
    Source: docs/proofs.md, 'Counts' (proved).
    """
    return 2.0


def feature_histograms_l1(n_features: int, neighbours: str = REPLACE_ONE) -> float:
    """Return the L1 sensitivity 2 · #features of one (bin × label) histogram per feature.

    This is for replace-one; for add-remove it is half as large. Source: docs/proofs.md, 'Counts'
    (proved).
    """
    return touched_cells(neighbours) * n_features


def feature_histograms_l2(n_features: int, neighbours: str = REPLACE_ONE) -> float:
    """Return the L2 sensitivity √(2 · #features) of one (bin × label) histogram per feature.

    This is for replace-one; for add-remove it is √#features. It holds for all nodes of a tree's
    level together: a replaced record leaves one cell per feature and enters another. Source:
    docs/proofs.md, 'Counts' (proved).
    """
    return math.sqrt(touched_cells(neighbours) * n_features)


def touched_cells(neighbours: str) -> float:
    """Return how many cells of a histogram one record can alter: 1 under add-remove, else 2."""
    return relation(neighbours).touched


def residual_norm(n_classes: int) -> float:
    """Return the largest L2 norm c of a clipped residual.

    It is ½ for two classes (one score), else 1/√2 (one score per class). Source: docs/proofs.md,
    'Clipped residuals'.
    """
    return 0.5 if n_classes == 2 else math.sqrt(0.5)


def residual_sums_l2(n_classes: int) -> float:
    """Return the L2 sensitivity of (Σg, Σ‖g‖) in the leaves of a tree: 2c, if ‖g‖ ≤ c.

    g is the clipped residual of a record; the sums are over the records of a leaf.

    c is :func:`residual_norm`. For two classes the result is exactly 1, also for residuals that are
    rounded to units. For K > 2 classes the result includes rounding, which moves each of the K + 1
    numbers of a record by at most half a unit. Replace-one. Source: docs/proofs.md, 'Clipped
    residuals' (proved).
    """
    exact = 2 * residual_norm(n_classes)
    return exact if n_classes == 2 else exact + math.sqrt(n_classes + 1) * LARGEST_UNIT
