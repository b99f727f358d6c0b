"""Compute L1 and L2 sensitivities of counts, histograms, margins and clipped sums."""

from __future__ import annotations

import math

from privcurve.privacy.budget import REPLACE_ONE, relation

# Maximum of the unit to whose integer multiples residuals are rounded; a unit is a power of two.
LARGEST_UNIT = 2.0**-10


# Sensitivity of the margin of votes in DP bagging, divided by the number k of partitions. A record
# is in one part of each partition, so a replacement flips at most k votes, each of which counts 2.
VOTES_MARGIN = 2.0


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


def answers_l1(n_answers: int, n_teachers: int) -> float:
    """Return the L1 sensitivity 2(Q − 1 + K) of the margins n₊ − n₋ of votes in all PATE's answers.

    K = `n_teachers` teachers vote on Q = `n_answers` rows: training records and rows to score. A
    changed record changes one teacher, who changes each of the other Q − 1 margins by at most 2.
    The margin of the changed record itself changes by at most 2K, as every teacher may vote
    differently. The neighbours are private-columns. Source: papers/partial/proofs.md, 'PATE'
    (proved).
    """
    return 2.0 * (n_answers - 1 + n_teachers)


def noisy_counts_published(n_candidates: int) -> float:
    """Return the published L1 sensitivity of NoisyCounts (paper 003): 3 · `n_candidates`.

    It is correct for add-remove; for replace-one, twice as much is needed. Source:
    papers/distributed/proofs.md, 'NoisyCounts'.
    """
    return 3.0 * n_candidates


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


def released_error(weight_bound: float) -> float:
    """Return the sensitivity of a tree's error, Σ min(A, B) over its leaves: `weight_bound`.

    A and B are the weights of the two labels in a leaf. The function min has slopes in [0, 1], so a
    record adds between 0 and its weight, which is at most `weight_bound`. The neighbours are
    replace-one. Source: papers/boosted_dp/proofs.md, 'Errors' (proved).
    """
    return weight_bound


def margins_l2() -> float:
    """Return the L2 sensitivity 2 of the margins A − B of all leaves of one tree together.

    A and B are the weights of the two labels in a leaf; a record has a weight of at most 1. A
    record that changes its label changes one margin by 2. A record that changes its leaf changes
    two margins by 1 each, which is only √2 in L2. The neighbours are replace-one. Source:
    papers/boosted_dp/proofs.md, 'Leaves' (proved).
    """
    return 2.0


def ensemble_weight_bound(reach: float, alpha: float) -> float:
    """Return the largest weight ψ⁻¹(reach) that any possible record can have.

    A record (x, y) with the label y = ±1 has the weight ψ⁻¹(−y·H(x)), where ψ⁻¹ is an increasing
    function that depends on `alpha`. H = Σ β_s h_s is the ensemble of the released trees h_s with
    their factors β_s, and `reach` = Σ |β_s| · max |h_s| bounds |H|. The result is ½ as long as
    reach ≤ 2(1 − α). Source: papers/boosted_dp/proofs.md, 'Weights' (proved).
    """
    beyond = max(reach / 2 - (1 - alpha), 0.0)
    return 0.5 * (1 + beyond / math.sqrt(alpha * alpha + beyond * beyond))


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
