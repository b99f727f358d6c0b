"""Compute L1 and L2 sensitivities of counts, histograms, margins and clipped sums."""

from __future__ import annotations

import math

from privcurve.privacy.budget import REPLACE_ONE, relation

# Residuals are rounded to integer multiples of a unit. This is the largest allowed unit; a unit is
# a power of two.
LARGEST_UNIT = 2.0**-10


def histogram_l1(neighbours: str = REPLACE_ONE, weight_bound: float = 1.0) -> float:
    """Return the L1 sensitivity of a histogram: 2w (replace-one) or w (add-remove).

    w is `weight_bound`, the largest weight of a record. The sensitivity is for all cells together:
    for w = 1, Lap(2/ε) on each cell is ε-DP. Source: docs/proofs.md, 'Counts' (proved).
    """
    return touched_cells(neighbours) * weight_bound


def histogram_l2(neighbours: str = REPLACE_ONE, weight_bound: float = 1.0) -> float:
    """Return the L2 sensitivity of a histogram: √2·w (replace-one) or w (add-remove).

    w is `weight_bound`, the largest weight of a record. Source: docs/proofs.md, 'Counts' (proved).
    """
    return math.sqrt(touched_cells(neighbours)) * weight_bound


def margins_l1() -> float:
    """Return the L1 sensitivity 2 of the margins n₊ − n₋ of all leaves of one tree together.

    A record that changes its label changes one margin by 2; a record that changes its leaf changes
    two margins by 1 each. The neighbours are replace-one. Source: docs/proofs.md, 'Counts'
    (proved).
    """
    return 2.0


def feature_histograms_l1(n_features: int, neighbours: str = REPLACE_ONE) -> float:
    """Return the L1 sensitivity of histograms by bin and label, one for each feature.

    It is 2 · `n_features` for replace-one, and half as large for add-remove. Source:
    docs/proofs.md, 'Counts' (proved).
    """
    return touched_cells(neighbours) * n_features


def feature_histograms_l2(n_features: int, neighbours: str = REPLACE_ONE) -> float:
    """Return the L2 sensitivity of histograms by bin and label, one for each feature.

    It is √(2 · `n_features`) for replace-one, and √`n_features` for add-remove. If each node of a
    tree's level has such histograms, it is the sensitivity of all nodes together: a replaced record
    leaves one cell for each feature, and enters another. Source: docs/proofs.md, 'Counts' (proved).
    """
    return math.sqrt(touched_cells(neighbours) * n_features)


def touched_cells(neighbours: str) -> float:
    """Return how many cells of a histogram one record can change: 1 for add-remove, else 2."""
    return relation(neighbours).touched


def residual_norm(n_classes: int) -> float:
    """Return the largest L2 norm of a record's clipped residual.

    It is ½ for two classes, where the residual is a number, and 1/√2 for more classes, where it is
    a vector with an entry for each class. Source: docs/proofs.md, 'Clipped residuals'.
    """
    return 0.5 if n_classes == 2 else math.sqrt(0.5)


def residual_sums_l2(n_classes: int) -> float:
    """Return the L2 sensitivity of the sums (Σg, Σ‖g‖) in all leaves of a tree together.

    g is the clipped residual of a record; the sums are over the records of a leaf. With ‖g‖ ≤ c
    (:func:`residual_norm`), the sensitivity is 2c. For two classes this is exactly 1, also for
    residuals that are rounded to multiples of a unit. For K > 2 classes, the result also covers
    rounding, which changes each of the K + 1 numbers of a record by at most half a unit. The
    neighbours are replace-one. Source: docs/proofs.md, 'Clipped residuals' (proved).
    """
    exact = 2 * residual_norm(n_classes)
    return exact if n_classes == 2 else exact + math.sqrt(n_classes + 1) * LARGEST_UNIT
