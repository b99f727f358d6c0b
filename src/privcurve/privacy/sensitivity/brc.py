"""Boosting with random classifiers (BRC): sensitivities of a weighted error (§d)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from privcurve.coding import Floats
from privcurve.privacy.sensitivity.impurity import check_n


def brc_delta(n: int, c1: float, c2: float) -> float:
    """Sensitivity Δ = c₁c₂/(n − 1 + c₁c₂) of BRC's weighted error, weights in [1/c₁, c₂].

    Replace-one; the same under private-columns with public labels, where a record may still come
    to be wrong. Source: §d (proved, attained).
    """
    _check_brc(n, c1, c2)
    return c1 * c2 / (n - 1 + c1 * c2)


def brc_delta_published(n: int, c1: float, c2: float) -> float:
    """Return paper 001's Δ = c₁c₂/n: valid, too large by 1 + (c₁c₂ − 1)/n.

    Replace-one. Source: §d.
    """
    _check_brc(n, c1, c2)
    return c1 * c2 / n


def brc_delta_rounds(n: int, c1: float, c2: float, alphas: Sequence[float]) -> Floats:
    """Sensitivity Δ_t of BRC's error from the transcript of released α's; Δ₁ = 1/n.

    Δ_t = w̄/((n − 1)w̲ + w̄) with w̄ = min(c₂, e^{Σα⁺}), w̲ = max(1/c₁, e^{Σα⁻}) over the
    rounds before t. Replace-one. Source: §d (proved).

    Parameters
    ----------
    n : int
    c1, c2 : float
    alphas : sequence of float
        α of the rounds so far.

    Returns
    -------
    ndarray of shape (len(alphas) + 1,)
        Δ₁ … Δ_t, the last for the round to come.
    """
    _check_brc(n, c1, c2)
    steps = np.asarray(alphas, dtype=np.float64)
    up = np.concatenate([[0.0], np.cumsum(np.maximum(steps, 0.0))])
    down = np.concatenate([[0.0], np.cumsum(np.minimum(steps, 0.0))])
    largest = np.exp(np.minimum(up, math.log(c2)))
    smallest = np.exp(np.maximum(down, -math.log(c1)))
    return largest / ((n - 1) * smallest + largest)


def brc_edge_rounds(n: int, c2: float, alphas: Sequence[float]) -> Floats:
    """Sensitivity w̄_t/n of BRC's edge from the transcript of released α's; 1/n at first.

    w̄_t is that of :func:`brc_delta_rounds`. Replace-one. Source: §d (proved).

    Parameters
    ----------
    n : int
    c2 : float
    alphas : sequence of float
        α of the rounds so far.

    Returns
    -------
    ndarray of shape (len(alphas) + 1,)
    """
    _check_brc(n, 1.0, c2)
    steps = np.maximum(np.asarray(alphas, dtype=np.float64), 0.0)
    up = np.concatenate([[0.0], np.cumsum(steps)])
    return np.exp(np.minimum(up, math.log(c2))) / n


def brc_edge_sensitivity(n: int, c2: float) -> float:
    """Sensitivity c₂/n of the unnormalised edge (1/n) Σ w(½ − χ).

    Replace-one. Source: §d (proved).
    """
    _check_brc(n, 1.0, c2)
    return c2 / n


def _check_brc(n: int, c1: float, c2: float) -> None:
    check_n(n)
    if not (c1 >= 1 and c2 >= 1):
        raise ValueError(f"c1 = {c1} and c2 = {c2} must be at least 1: weights start at 1")
