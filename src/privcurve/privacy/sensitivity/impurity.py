"""Compute impurities, and the sensitivities of the scores that they give to splits."""

from __future__ import annotations

import math

from privcurve.lazy import arithmetic

CRITERIA = ("gini", "entropy", "root_gini", "zero_one")


def impurity(q: float, criterion: str) -> float:
    """Evaluate a split criterion G at the share q of one label; its maximum is 1.

    ``root_gini`` is Matsushita's criterion, 2√(q(1 − q)).
    """
    _check_criterion(criterion)
    if criterion == "gini":
        return 4 * q * (1 - q)
    if criterion == "entropy":
        return -math.fsum(p * arithmetic.log2(p) for p in (q, 1 - q) if p > 0)
    return 2 * math.sqrt(q * (1 - q)) if criterion == "root_gini" else 2 * min(q, 1 - q)


def split_sensitivity(n: int, criterion: str) -> float:
    """Return the sensitivity F₁(n) = n·G(1/n) of the split score Φ = Σ over leaves of w·G(q).

    G is :func:`impurity`, w the weight of a leaf, and q the share of one label in the leaf. A score
    changes by an amount in [0, F₁] if a record is added, and in [−F₁, F₁] if a record is replaced.
    So the range of the scores' change is F₁ (add-remove) or 2F₁ (replace-one); both are attained.
    If the weights of records are at most w̄ instead of 1, the result must be multiplied by w̄. If n
    is the number of records of the entire dataset, not of a node, the exponential mechanisms at all
    nodes of a tree's level together cost as much as a single one. Source: docs/proofs.md, 'Split
    scores' and 'Levels of a tree' (proved).
    """
    check_n(n)
    _check_criterion(criterion)
    if criterion == "gini":
        return 4 * (n - 1) / n
    if criterion == "entropy":
        # Compute n log₂ n − (n − 1) log₂(n − 1) without a difference of large numbers.
        below = arithmetic.log1p(-1 / n) / arithmetic.log(2.0) if n > 1 else 0.0
        return arithmetic.log2(n) - (n - 1) * below
    if criterion == "root_gini":
        return 2 * math.sqrt(n - 1)
    return 2.0 if n >= 2 else 0.0


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


def _check_criterion(criterion: str) -> None:
    if criterion not in CRITERIA:
        raise ValueError(f"criterion must be one of {', '.join(CRITERIA)}; got {criterion!r}")
