"""Counts, histograms, margins and clamped sums: L1 and L2 sensitivities."""

from __future__ import annotations

import math

from privcurve.privacy.budget import REPLACE_ONE, relation

# Residuals are integer multiples of a unit, a power of two that is at most this.
LARGEST_UNIT = 2.0**-10


# Sensitivity of the margin of DP bagging's votes, divided by the number k of partitions: a record
# is in one part of each partition, so replacing it flips at most k votes.
VOTES_MARGIN = 2.0


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


def answers_l1(n_answers: int, n_teachers: int) -> float:
    """Return the L1 sensitivity 2(Q − 1 + K) of the margins n₊ − n₋ of all of PATE's answers.

    The K teachers vote on Q rows: training records and rows to score. A changed record changes one
    teacher, and so each of the Q − 1 other margins by at most 2. It also changes its own row, on
    which every teacher may vote differently: 2K. Private-columns. Source: papers/partial/proofs.md,
    'PATE' (proved).
    """
    return 2.0 * (n_answers - 1 + n_teachers)


def noisy_counts_published(n_candidates: int) -> float:
    """Return the L1 sensitivity of NoisyCounts in paper 003: 3|H|, for |H| = `n_candidates`.

    It is right for add/remove; replace-one needs 6|H|. Source: papers/distributed/proofs.md,
    'NoisyCounts'.
    """
    return 3.0 * n_candidates


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


def released_error(weight_bound: float) -> float:
    """Return the sensitivity w̄ of a tree's error Σ min(A, B) over its leaves.

    A and B are the weights of the two labels in a leaf, and w̄ is `weight_bound`. min has slopes in
    [0, 1], so a record adds between 0 and its weight. Replace-one. Source:
    papers/boosted_dp/proofs.md, 'Errors' (proved).
    """
    return weight_bound


def margins_l2() -> float:
    """Return the L2 sensitivity 2 of the margins A − B of all leaves of one tree together.

    A and B are the weights of the two labels in a leaf; no record weighs more than 1.

    A replacement with another label in the same leaf changes one margin by 2; a replacement in
    another leaf changes two margins by 1 each, and only √2 in L2. Replace-one. Source:
    papers/boosted_dp/proofs.md, 'Leaves' (proved).
    """
    return 2.0


def ensemble_weight_bound(reach: float, alpha: float) -> float:
    """Return the largest weight w̄ = ψ⁻¹(reach) that any possible record can have.

    H is the sum of the released trees, and y is the label, −1 or +1. The record (x, y) has the
    weight ψ⁻¹(−y·H(x)); ψ⁻¹ is increasing (it depends on `alpha`), and |H| ≤ `reach`. `reach` is
    the sum of |β_s| · max |h_s| over the trees h_s of earlier rounds, with the factors β_s. w̄ is ½
    as long as reach ≤ 2(1 − α). Source: papers/boosted_dp/proofs.md, 'Weights' (proved).
    """
    beyond = max(reach / 2 - (1 - alpha), 0.0)
    return 0.5 * (1 + beyond / math.sqrt(alpha * alpha + beyond * beyond))


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
