"""Sensitivities of PrivGAM's releases and choices (docs/privgam.md, proof 1 and 2)."""

from __future__ import annotations

import math

from privcurve.privacy.mechanisms import score_range
from privcurve.privacy.sensitivity.counts import histogram_l1, histogram_l2, per_change


def cells_l1(clip: float, neighbours: str) -> float:
    """L1 sensitivity of the sums of residuals by (bin, label): 2c (replace-one), c (add/remove).

    A record adds at most c to one cell. Source: docs/privgam.md, proof 1 (proved, attained).
    """
    return histogram_l1(neighbours, clip)


def cells_l2(clip: float, neighbours: str) -> float:
    """L2 sensitivity of the sums of residuals by (bin, label): √2·c (replace-one), c (add/remove).

    Source: docs/privgam.md, proof 1 (proved, attained).
    """
    return histogram_l2(neighbours, clip)


def edge(clip: float, neighbours: str) -> float:
    """Sensitivity of Σ_b |G_b|, G the signed sums of residuals: 2c (replace-one), c (add/remove).

    It is 1-Lipschitz in the L1 norm of G. Source: docs/privgam.md, proof 2 (proved).
    """
    return cells_l1(clip, neighbours)


def edge_range(clip: float, neighbours: str) -> float:
    """Range of the change of all columns' Σ_b |G_b|: 4c (replace-one), 2c (add/remove).

    Source: docs/privgam.md, proof 2 (proved).
    """
    return score_range(edge(clip, neighbours), neighbours)


def slopes_l1(clip: float, size: int, neighbours: str) -> float:
    """L1 sensitivity of sums of residual times place, `size` of them: a record adds c/2 to each.

    Source: docs/privgam.md, proof 3 (proved).
    """
    return per_change(neighbours) * clip * size / 2


def slopes_l2(clip: float, size: int, neighbours: str) -> float:
    """L2 sensitivity of sums of residual times place: a record adds at most c·√(size/4).

    Source: docs/privgam.md, proof 3 (proved).
    """
    return per_change(neighbours) * clip * math.sqrt(size / 4)


def products_l1(size: int, neighbours: str) -> float:
    """L1 sensitivity of the upper triangle of Σ uuᵀ, |u_i| ≤ 1/2: at most (size/2)² a record.

    Source: docs/privgam.md, proof 3 (proved).
    """
    return per_change(neighbours) * (size / 2) ** 2


def products_l2(size: int, neighbours: str) -> float:
    """Sensitivity of Σ uuᵀ in the norm of Frobenius: √2·size/4 (replace-one), size/4 (add/remove).

    Source: docs/privgam.md, proof 3 (proved).
    """
    return math.sqrt(per_change(neighbours)) * size / 4
