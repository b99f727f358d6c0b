"""Impurities and the splits that they score: sensitivities and ranges."""

from __future__ import annotations

import math

from privcurve.lazy import arithmetic

CRITERIA = ("gini", "entropy", "root_gini", "zero_one")


def impurity(q: float, criterion: str) -> float:
    """Evaluate a split criterion G at the share q of one label; its maximum is 1.

    ``root_gini`` is Matsushita's.
    """
    _check_criterion(criterion)
    if criterion == "gini":
        return 4 * q * (1 - q)
    if criterion == "entropy":
        return -math.fsum(p * arithmetic.log2(p) for p in (q, 1 - q) if p > 0)
    return 2 * math.sqrt(q * (1 - q)) if criterion == "root_gini" else 2 * min(q, 1 - q)


def split_sensitivity(n: int, criterion: str) -> float:
    """Return the sensitivity F₁(n) = n·G(1/n) of the split score Φ = Σ over leaves of w·G(q).

    G is :func:`impurity`; a leaf has the weight w, and the share q of one label.

    If a record is added, Φ changes by an amount in [0, F₁]; if a record is replaced, by an amount
    in [−F₁, F₁]. So the range of the scores' change is F₁ (add-remove) or 2F₁ (replace-one; both
    are attained). If the weights of records are at most w̄, multiply by w̄. The exponential
    mechanisms at all nodes of a tree level together cost as much as a single one, if n is the
    number of records of the entire dataset, not of a node. Source: docs/proofs.md, 'Split scores'
    and 'Levels of a tree' (proved).
    """
    check_n(n)
    _check_criterion(criterion)
    if criterion == "gini":
        return 4 * (n - 1) / n
    if criterion == "entropy":
        # Compute n lg n − (n − 1) lg(n − 1) without cancellation.
        below = arithmetic.log1p(-1 / n) / arithmetic.log(2.0) if n > 1 else 0.0
        return arithmetic.log2(n) - (n - 1) * below
    if criterion == "root_gini":
        return 2 * math.sqrt(n - 1)
    return 2.0 if n >= 2 else 0.0


def distributed_split_published(m: int, criterion: str) -> float:
    """Return the sensitivity of a leaf's purity gain that paper 003 publishes, for m records.

    The sensitivities for entropy, (2/m)(3 lg m + 1), and for Gini, 20/m, are valid for fixed m, but
    at least 2 and 2.5 times as large as needed. The one for root-Gini, 10/m, is **false** for m ≥
    27. Noise that depends on m reveals m, so a gain with this noise is never private. For
    reproduction only. Source: papers/distributed/proofs.md, 'Gains' and 'Local scale'.
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
    """Refuse a number of records below 1."""
    if n < 1:
        raise ValueError(f"n must be ≥ 1; got {n}")


def _check_criterion(criterion: str) -> None:
    if criterion not in CRITERIA:
        raise ValueError(f"criterion must be one of {', '.join(CRITERIA)}; got {criterion!r}")
