"""How much one record can change a score: every constant of the project, with its source.

Sections are those of PRIVACY.md. *Proved* and *brute force* say how a constant was
checked there; tests/privacy enumerates small cases again. Unless a docstring says
otherwise, neighbours replace one record by another (the number of records is public),
and record weights are at most 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

CRITERIA = ("gini", "entropy", "root_gini", "zero_one", "m_alpha")
MATSUSHITA = "root_gini"

ADD_REMOVE = "add-remove"
REPLACE_ONE = "replace-one"
# The private columns of one record may change; its public ones and its label may not.
PRIVATE_COLUMNS = "private-columns"

# Pure ε of one choice of a 1-rule, in units of ηζ. Published: thesis, Theorem 2.7.2.
# Certified: §b (proved, attained as ζ → 0): the error's sensitivity is ζ, its range 2ζ.
ONE_RULE_PUBLISHED = 4.0
ONE_RULE_CERTIFIED = 2.0

# Pure ε and range of one split of DP-TopDown in LazyBB, in units of ηζ: published and
# certified agree (§c: proved, tight; the thesis' Lemmas 4.2.3 and 4.2.4 are wrong, its
# Theorem 4.2.2 is right). It also covers *all* splits of one tree level together.
TOP_DOWN_SPLIT = 8.0
# ε of one round with t splits, labels included, in units of tηζ (thesis, Corollary 4.2.5).
TOP_DOWN_ROUND_PUBLISHED = 16.0

# What the rounding of LazyBB's weights may add to a sensitivity, as a share of it.
LARGEST_ROUNDING = 1e-3


# Impurities ------------------------------------------------------------------------


def impurity(q: float, criterion: str, alpha: float = 1.0) -> float:
    """Evaluate a split criterion G at the share q of one label; its maximum is 1.

    Parameters
    ----------
    q : float
        In [0, 1].
    criterion : str
        One of `CRITERIA`; ``root_gini`` is Matsushita's.
    alpha : float
        α of ``m_alpha``: α · root-Gini + (1 − α) · zero-one.

    Returns
    -------
    float
    """
    _check_criterion(criterion, alpha)
    if criterion == "gini":
        return 4 * q * (1 - q)
    if criterion == "entropy":
        return -math.fsum(p * math.log2(p) for p in (q, 1 - q) if p > 0)
    root, zero_one = 2 * math.sqrt(q * (1 - q)), 2 * min(q, 1 - q)
    if criterion == "m_alpha":
        return alpha * root + (1 - alpha) * zero_one
    return root if criterion == "root_gini" else zero_one


def split_sensitivity(n: int, criterion: str, alpha: float = 1.0) -> float:
    """Sensitivity F₁(n) = n·G(1/n) of the split score Φ = Σ over leaves of w·G(q).

    Adding a record changes Φ by an amount in [0, F₁]; replacing one, by an amount in
    [−F₁, F₁], so the range of the scores' change is F₁ (add/remove) or 2F₁ (replace-one,
    attained). With weights of at most w̄, multiply by w̄. One exponential mechanism at
    each node of a tree level costs together no more than one of them (§0, L3).
    Source: §0, L2 and §f1 (proved).

    Parameters
    ----------
    n : int
        Number of records in the whole data set, not in the node.
    criterion, alpha
        As for :func:`impurity`.

    Returns
    -------
    float
    """
    _check_n(n)
    _check_criterion(criterion, alpha)
    if criterion == "gini":
        return 4 * (n - 1) / n
    if criterion == "entropy":
        # n lg n − (n − 1) lg(n − 1), written without cancellation.
        return 0.0 if n == 1 else math.log2(n) - (n - 1) * math.log1p(-1 / n) / math.log(2)
    root, zero_one = 2 * math.sqrt(n - 1), 2.0 if n >= 2 else 0.0
    if criterion == "m_alpha":
        return alpha * root + (1 - alpha) * zero_one
    return root if criterion == "root_gini" else zero_one


def split_range(n: int, criterion: str, alpha: float = 1.0, neighbours: str = REPLACE_ONE) -> float:
    """Range of the split score's change: 2F₁ (replace-one) or F₁ (add/remove).

    The exponential mechanism at rate η is ηR-DP and ηR-bounded-range. Source: §0, L0–L3
    (proved).
    """
    return _per_change(neighbours) * split_sensitivity(n, criterion, alpha)


def boosted_split_published(m: int, criterion: str, alpha: float = 1.0) -> float:
    """Give paper 002's Δ of a split: max{3, 1 + Ľ(1, m+1)}, for Mα 3 + 2α(√m − 1).

    Valid, up to 1.5 times too large. Replace-one. Source: §f1.
    """
    _check_n(m)
    if criterion == "m_alpha":
        _check_criterion(criterion, alpha)
        return 3 + 2 * alpha * (math.sqrt(m) - 1)
    return max(3.0, 1 + (m + 1) * impurity(1 / (m + 1), criterion))


def distributed_split_published(m: int, criterion: str) -> float:
    """Give paper 003's sensitivity of a leaf's purity gain, for a leaf of m records.

    Entropy (2/m)(3 lg m + 1) and Gini 20/m: true for fixed m, 5–6 and 2.5 times too large.
    Root-Gini 10/m: **false** for m ≥ 27. Scaling noise by m is not private in any case
    (§e2). For reproduction only. Source: §e2, §e3.
    """
    _check_n(m)
    if criterion == "entropy":
        return 2 / m * (3 * math.log2(m) + 1)
    if criterion == "gini":
        return 20 / m
    if criterion == "root_gini":
        return 10 / m
    raise ValueError(f"paper 003 has no sensitivity for the criterion {criterion!r}")


# LazyBB ----------------------------------------------------------------------------


def lazybb_zeta(n: int, density: float) -> float:
    """Distance of the normalised weights of two neighbouring data sets: ζ = 1/(κn).

    Total variation on labelled points, with the *capped* projection. Replace-one; also
    add/remove with n the larger of the two sizes. Source: §a, Theorem a (proved, attained).

    Parameters
    ----------
    n : int
        Number of records.
    density : float
        κ, in (0, 1].

    Returns
    -------
    float
    """
    _check_lazybb(n, density)
    return 1.0 / (density * n)


def lazybb_zeta_rounds(
    n: int, density: float, learning_rate: float, n_rounds: int
) -> NDArray[np.float64]:
    """Distance ζ_t round by round: smaller in the first rounds, at no cost.

    After t − 1 rounds weights differ by a factor of at most R = e^{2λ(t−1)}, so none has
    a share above R/(R + n − 1): ζ_t = min{1/(κn), R/(R + n − 1)}, ζ₁ = 1/n. The same ζ_t
    bounds the change of the unnormalised score Σμχ/(κn); for that, weights that needed
    no scaling must stay below κnζ_t too, which adds the term √R/n inside the minimum. It
    matters only if κ(n − 1) < 1. Replace-one. Source: §a, free refinement (proved; the
    unnormalised form in docs/privacy.md).

    Parameters
    ----------
    n : int
        Number of records.
    density, learning_rate : float
        κ and λ.
    n_rounds : int
        τ.

    Returns
    -------
    ndarray of shape (n_rounds,)
        ζ_t, non-decreasing, at most 1/(κn).
    """
    _check_lazybb(n, density)
    if n_rounds < 1:
        raise ValueError(f"n_rounds = {n_rounds} must be at least 1")
    if not (math.isfinite(learning_rate) and learning_rate >= 0):
        raise ValueError(f"learning_rate = {learning_rate} must be a finite number of at least 0")
    drift = learning_rate * np.arange(n_rounds, dtype=np.float64)
    share = 1.0 / (1.0 + (n - 1) * np.exp(-2.0 * drift))
    # exp(700) is near the largest float; 1/(κn) is the minimum long before.
    unscaled = np.exp(np.minimum(drift, 700.0)) / n
    return np.minimum(lazybb_zeta(n, density), np.maximum(share, unscaled))


def lazybb_weight_unit(n: int) -> float:
    """Give the unit of LazyBB's weights: 2^−b, b = min(52, 62 − ⌈log₂ n⌉).

    Weights are rounded up to multiples of it, so that n of them fit in 62 bits. The kernels
    have the same b (``kernels.projection.fixed_point_bits``); a test holds the two together.
    """
    _check_n(n)
    return 2.0 ** -min(52, 62 - math.ceil(math.log2(n)))


def lazybb_smallest_density(n: int, normalise: bool = False) -> float:
    """Smallest density at which the rounding of weights keeps to `LARGEST_ROUNDING`.

    With the unit u, rounding adds at most (n + 1)u to the weight that moves between
    neighbours. Unnormalised, that weight is at most κnζ_t, which is κ in round 1:
    κ ≥ (n + 1)u / `LARGEST_ROUNDING`. Normalised, ζ is 1/(κn) in all rounds, the share of a
    weight of 1, so n alone decides. At κ = 1 every weight is 1, and nothing is rounded.
    Replace-one. Source: docs/privacy.md, Fixed-point weights (proved).

    Parameters
    ----------
    n : int
        Number of records.
    normalise : bool
        Whether weights are relative to their sum (published) or to κn (certified).

    Returns
    -------
    float
        In [0, 1]; 0 where any density will do.
    """
    needed = (n + 1) * lazybb_weight_unit(n) / LARGEST_ROUNDING
    if normalise:
        return 0.0 if needed <= 1 else 1.0
    return min(1.0, needed)


def check_lazybb_rounding(n: int, density: float, normalise: bool = False) -> None:
    """Check that the rounding of weights leaves LazyBB's sensitivities true.

    Parameters
    ----------
    n : int
    density : float
        κ.
    normalise : bool
        As for :func:`lazybb_smallest_density`.

    Raises
    ------
    ValueError
        If n or κ is out of range, or κ below :func:`lazybb_smallest_density`.
    """
    _check_lazybb(n, density)
    smallest = lazybb_smallest_density(n, normalise)
    if density < smallest:
        raise ValueError(
            f"density = {density:g} is too small for n = {n} records: weights are rounded to "
            f"multiples of {lazybb_weight_unit(n):.3g}, and the privacy proof allows for that "
            f"from a density of {_rounded_up(smallest)} on (docs/privacy.md, Fixed-point weights)"
        )


def one_rule_exact_epsilon(noise_rate: float, zeta: float) -> float:
    """Pure ε of one choice of a 1-rule: ηζ + ln cosh(η/2) − ln cosh(η(½ − ζ)) ≤ 2ηζ.

    Exact when the 1-rules are closed under negation; the bound 2ηζ is what calibration
    uses. Replace-one. Source: §b (proved).
    """
    return noise_rate * zeta + _log_cosh(noise_rate / 2) - _log_cosh(noise_rate * abs(0.5 - zeta))


def lazybb_margins_l1(zeta: float) -> float:
    """L1 sensitivity 2ζ of the weighted margins of all leaves together.

    Margins a − b of label weights a and b; also of all (a, b). Hence Lap(2ζ/ε) on each
    margin, or labels P(+) = σ(ε·margin/(2ζ)). Replace-one. Source: §c (proved; Lap(ζ/ε),
    "by parallel composition", loses 1.97ε).
    """
    return 2 * zeta


# BRC -------------------------------------------------------------------------------


def brc_delta(n: int, c1: float, c2: float) -> float:
    """Sensitivity Δ = c₁c₂/(n − 1 + c₁c₂) of BRC's weighted error, weights in [1/c₁, c₂].

    Replace-one. Source: §d (proved, attained).
    """
    _check_brc(n, c1, c2)
    return c1 * c2 / (n - 1 + c1 * c2)


def brc_delta_published(n: int, c1: float, c2: float) -> float:
    """Give paper 001's Δ = c₁c₂/n: valid, too large by 1 + (c₁c₂ − 1)/n.

    Replace-one. Source: §d.
    """
    _check_brc(n, c1, c2)
    return c1 * c2 / n


def brc_delta_rounds(n: int, c1: float, c2: float, alphas: Sequence[float]) -> NDArray[np.float64]:
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


def brc_edge_sensitivity(n: int, c2: float) -> float:
    """Sensitivity c₂/n of the unnormalised edge (1/n) Σ w(½ − χ).

    Replace-one. Source: §d (proved).
    """
    _check_brc(n, 1.0, c2)
    return c2 / n


# Histograms, margins, leaf values --------------------------------------------------


def histogram_l1(neighbours: str = REPLACE_ONE, weight_bound: float = 1.0) -> float:
    """L1 sensitivity of one vector of disjoint counts: 2 (replace-one), 1 (add/remove).

    Times the largest weight. It covers all cells together: Lap(2/ε) on each. Source: §0,
    L4, §f5 (proved).
    """
    return _per_change(neighbours) * weight_bound


def histogram_l2(neighbours: str = REPLACE_ONE, weight_bound: float = 1.0) -> float:
    """L2 sensitivity of one vector of disjoint counts: √2 (replace-one), 1 (add/remove).

    Source: §e, certified form (proved).
    """
    return math.sqrt(_per_change(neighbours)) * weight_bound


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
    return _per_change(neighbours) * n_candidates


def noisy_counts_published(n_candidates: int) -> float:
    """Give paper 003's L1 sensitivity 3|H| of NoisyCounts.

    Right for add/remove; replace-one needs 6|H|. Source: §e4.
    """
    return 3.0 * n_candidates


def feature_histograms_l1(n_features: int, neighbours: str = REPLACE_ONE) -> float:
    """L1 sensitivity of one (bin × label) histogram a feature: 2 · #features.

    Replace-one; half of it for add/remove. Source: §e4 (proved).
    """
    return _per_change(neighbours) * n_features


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


# Checks ----------------------------------------------------------------------------


def _per_change(neighbours: str) -> float:
    """How many records a neighbour adds or removes."""
    if neighbours == REPLACE_ONE:
        return 2.0
    if neighbours == ADD_REMOVE:
        return 1.0
    raise ValueError(f"neighbours = {neighbours!r} is not {REPLACE_ONE!r} or {ADD_REMOVE!r}")


def _log_cosh(x: float) -> float:
    return abs(x) + math.log1p(math.exp(-2 * abs(x))) - math.log(2)


def _check_n(n: int) -> None:
    if n < 1:
        raise ValueError(f"n = {n} must be at least 1 record")


def _check_lazybb(n: int, density: float) -> None:
    _check_n(n)
    if not 0 < density <= 1:
        raise ValueError(f"density = {density} is not in (0, 1]")


def _rounded_up(x: float) -> str:
    """Write a number in (0, 1] with three digits, not less than it is."""
    digits = 10.0 ** (2 - math.floor(math.log10(x)))
    return f"{math.ceil(x * digits) / digits:.3g}"


def _check_brc(n: int, c1: float, c2: float) -> None:
    _check_n(n)
    if not (c1 >= 1 and c2 >= 1):
        raise ValueError(f"c1 = {c1} and c2 = {c2} must be at least 1: weights start at 1")


def _check_criterion(criterion: str, alpha: float) -> None:
    if criterion not in CRITERIA:
        raise ValueError(f"criterion = {criterion!r} is not one of: {', '.join(CRITERIA)}")
    if criterion == "m_alpha" and not 0 <= alpha <= 1:
        raise ValueError(f"alpha = {alpha} is not in [0, 1]")


def lazybb_split_range(n: int, zeta: float, criterion: str, alpha: float = 1.0) -> float:
    """Range of the split scores' change in LazyBB, all nodes of one tree level together.

    2F(ζ, nζ) with F(a, b) = (a + b)G(a/(a + b)), for the unnormalised scores −ΣF of
    weights in units of κn, each at most ζ (:func:`lazybb_zeta_rounds`); for Gini it is
    just below the 8ζ of `TOP_DOWN_SPLIT`.

    Proof. Between neighbours weight of at most ζ appears and weight of at most ζ
    disappears (§a, unnormalised form). Let y = (y₊, y₋) appear in a child that holds
    (a, b). F grows by F(a + y₊, b) − F(a, b) ≤ F(y₊, b) and then by at most F(y₋, a + y₊)
    (§0, L2). Summed over the children of a level, by superadditivity, that is at most
    F(Σ(y₊ + y₋), Σ(a + b + y₊)) ≤ F(ζ, nζ): n records have a weight of nζ at most. So for
    every choice of splits the score moves by −F(ζ, nζ) … F(ζ, nζ). Each node has an
    interval of its own, and the bound holds for the sum over nodes of the ends' worst
    cases, because each is bounded by the weight that moves in that node (§0, L3).
    Replace-one; §c has the case of Gini.

    Parameters
    ----------
    n : int
    zeta : float
        ζ_t of the round.
    criterion, alpha
        As for :func:`impurity`.

    Returns
    -------
    float
    """
    _check_n(n)
    return 2 * zeta * (n + 1) * impurity(1 / (n + 1), criterion, alpha)
