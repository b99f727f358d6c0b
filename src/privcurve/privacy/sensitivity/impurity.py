"""Compute impurities, and the sensitivities of the scores that they give to splits."""

from __future__ import annotations

import math

from privcurve.lazy import arithmetic

CRITERIA = ("gini", "entropy", "root_gini", "zero_one", "m_alpha")


def impurity(q: float, criterion: str, alpha: float = 1.0) -> float:
    """Return the value G(q) of a split criterion, scaled to [0, 1]; q is the share of one label.

    ``root_gini`` is Matsushita's criterion, and ``m_alpha`` is α · root-Gini + (1 − α) · zero-one.
    """
    _check_criterion(criterion, alpha)
    if criterion == "gini":
        return 4 * q * (1 - q)
    if criterion == "entropy":
        return -math.fsum(p * arithmetic.log2(p) for p in (q, 1 - q) if p > 0)
    root, zero_one = 2 * math.sqrt(q * (1 - q)), 2 * min(q, 1 - q)
    if criterion == "m_alpha":
        return alpha * root + (1 - alpha) * zero_one
    return root if criterion == "root_gini" else zero_one


def split_sensitivity(n: int, criterion: str, alpha: float = 1.0) -> float:
    """Return the sensitivity F₁ = n·G(1/n) of the score of a split, Σ w·G(q) over the leaves.

    G is :func:`impurity`, w the weight of a leaf, and q the share of one label in the leaf. A score
    changes by an amount in [0, F₁] if a record is added, and in [−F₁, F₁] if a record is replaced.
    So the range of the scores' change is F₁ (add-remove) or 2F₁ (replace-one); both are attained.
    If the weights of records are at most w̄ instead of 1, the result must be multiplied by w̄. If n
    is the number of records of the entire dataset, not of a node, the exponential mechanisms at all
    nodes of a tree's level together cost as much as a single one. Source: docs/proofs.md, 'Split
    scores' and 'Levels of a tree' (proved).
    """
    check_n(n)
    _check_criterion(criterion, alpha)
    if criterion == "gini":
        return 4 * (n - 1) / n
    if criterion == "entropy":
        # Compute n log₂ n − (n − 1) log₂(n − 1) without a difference of large numbers.
        below = arithmetic.log1p(-1 / n) / arithmetic.log(2.0) if n > 1 else 0.0
        return arithmetic.log2(n) - (n - 1) * below
    root, zero_one = 2 * math.sqrt(n - 1), 2.0 if n >= 2 else 0.0
    if criterion == "m_alpha":
        return alpha * root + (1 - alpha) * zero_one
    return root if criterion == "root_gini" else zero_one


def split_range(n: int, criterion: str, alpha: float = 1.0) -> float:
    """Return the range R of the change of split scores for replace-one: twice the sensitivity.

    The exponential mechanism with the rate η is ηR-DP and ηR-bounded-range. The sensitivity is
    `split_sensitivity`. Source: docs/proofs.md, 'Choices' and 'Levels of a tree' (proved).
    """
    return 2 * split_sensitivity(n, criterion, alpha)


def boosted_split_published(m: int, criterion: str, alpha: float = 1.0) -> float:
    """Return the published sensitivity of the score of a split (paper 002), for m records.

    It is max{3, 1 + (m + 1)·G(1/(m + 1))} for the criterion G (:func:`impurity`), but 3 + 2α(√m −
    1) for the criterion Mα. It is valid, and less than twice as large as needed. The neighbours are
    replace-one. Source: papers/boosted_dp/proofs.md, 'Published noise'.
    """
    check_n(m)
    if criterion == "m_alpha":
        _check_criterion(criterion, alpha)
        return 3 + 2 * alpha * (math.sqrt(m) - 1)
    return max(3.0, 1 + (m + 1) * impurity(1 / (m + 1), criterion))


def distributed_split_published(m: int, criterion: str) -> float:
    """Return the published sensitivity of the purity gain in a leaf of m records (paper 003).

    This is only to reproduce the paper: noise that depends on m reveals m, so a gain with this
    noise is never private. For fixed m, the sensitivity (2/m)(3 log₂ m + 1) for entropy is at least
    2 times as large as needed, and 20/m for Gini at least 2.5 times. The sensitivity 10/m for
    root-Gini is **false** for m ≥ 27. Source: papers/distributed/proofs.md, 'Gains' and 'Local
    scale'.
    """
    check_n(m)
    if criterion == "entropy":
        return 2 / m * (3 * arithmetic.log2(m) + 1)
    if criterion == "gini":
        return 20 / m
    if criterion == "root_gini":
        return 10 / m
    raise ValueError(f"criterion must have a sensitivity in paper 003; got {criterion!r}")


def check_n(n: int) -> None:
    """Raise ValueError if a number of records is below 1."""
    if n < 1:
        raise ValueError(f"n must be ≥ 1; got {n}")


def _check_criterion(criterion: str, alpha: float) -> None:
    if criterion not in CRITERIA:
        raise ValueError(f"criterion must be one of {', '.join(CRITERIA)}; got {criterion!r}")
    if criterion == "m_alpha" and not 0 <= alpha <= 1:
        raise ValueError(f"alpha must be in [0, 1]; got {alpha}")
