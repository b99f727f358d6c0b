"""Counts, histograms, margins and clamped sums: L1 and L2 sensitivities (§0, §e, §f)."""

from __future__ import annotations

import math

from privcurve.privacy.budget import REPLACE_ONE, relation


def histogram_l1(neighbours: str = REPLACE_ONE, weight_bound: float = 1.0) -> float:
    """L1 sensitivity of one vector of disjoint counts: 2 (replace-one), 1 (add/remove).

    Times the largest weight. It covers all cells together: Lap(2/ε) on each. Source: §0,
    L4, §f5 (proved).
    """
    return per_change(neighbours) * weight_bound


def histogram_l2(neighbours: str = REPLACE_ONE, weight_bound: float = 1.0) -> float:
    """L2 sensitivity of one vector of disjoint counts: √2 (replace-one), 1 (add/remove).

    Source: §e, certified form (proved).
    """
    return math.sqrt(per_change(neighbours)) * weight_bound


def margins_l1(weight_bound: float = 1.0) -> float:
    """L1 sensitivity 2w̄ of the margins n₊ − n₋ of all leaves of one tree together.

    A flipped label changes one margin by 2, a moved record two margins by 1 each.
    Replace-one. Source: §e (certified form), §f6 (proved).
    """
    return 2 * weight_bound


def candidate_counts_l1(n_candidates: int, neighbours: str = REPLACE_ONE) -> float:
    """L1 sensitivity of the four joint counts (side × label) of each of |H| candidates.

    2|H| (replace-one), |H| (add/remove). Source: §e4 (proved).
    """
    return per_change(neighbours) * n_candidates


def noisy_counts_published(n_candidates: int) -> float:
    """Give paper 003's L1 sensitivity 3|H| of NoisyCounts.

    Right for add/remove; replace-one needs 6|H|. Source: §e4.
    """
    return 3.0 * n_candidates


def feature_histograms_l1(n_features: int, neighbours: str = REPLACE_ONE) -> float:
    """L1 sensitivity of one (bin × label) histogram a feature: 2 · #features.

    Replace-one; half of it for add/remove. Source: §e4 (proved).
    """
    return per_change(neighbours) * n_features


def feature_histograms_l2(n_features: int, neighbours: str = REPLACE_ONE) -> float:
    """L2 sensitivity of one (bin × label) histogram a feature: √(2 · #features).

    Replace-one; add/remove without the 2. It holds for all nodes of a tree's level together, for
    a record that moves leaves one cell a feature and enters one. Source: §e4 (proved).
    """
    return math.sqrt(per_change(neighbours) * n_features)


def clamped_leaves_l1(bound: float) -> float:
    """L1 sensitivity 4M of leaf values clamped to [−M, M] *before* noise is added.

    A moved record can turn two leaves around. Replace-one. Source: §f5 (attained).
    """
    return 4 * bound


def noisy_max_and_value_epsilon(n_candidates: int, alpha: float) -> float:
    """Pure ε of releasing argmax *and* maximum of k scores with Lap(2Δ/α): kα/2, not α.

    Source: §e1 (proved).
    """
    return n_candidates * alpha / 2


def per_change(neighbours: str) -> float:
    """How many of a partition's cells a change of one record may touch: 2, or 1."""
    return relation(neighbours).touched
