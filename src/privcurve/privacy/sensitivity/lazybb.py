"""Compute the sensitivities of LazyBB's weights, and of the scores of 1-rules and trees."""

from __future__ import annotations

import numpy as np

from privcurve.coding import Floats
from privcurve.lazy import arithmetic
from privcurve.privacy.budget import round_up
from privcurve.privacy.sensitivity.impurity import check_n, impurity

# The pure ε of one choice of a 1-rule is this number times ηζ: η is the factor of errors in scores,
# and ζ is the result of :func:`lazybb_zeta`. The published number is Theorem 2.7.2 of the thesis.
# The proved number follows from the range 2ζ of the change of errors (docs/proofs.md, 'LazyBB:
# 1-rules').
ONE_RULE_PUBLISHED = 4.0
ONE_RULE_PROVED = 2.0

# The pure ε, and the bounded range, of one split of DP-TopDown in LazyBB is this number times ηζ.
# It also pays for *all* splits of a tree's level together. The published number is also proved:
# Lemmas 4.2.3 and 4.2.4 of the thesis are false, but its Theorem 4.2.2 is true (docs/proofs.md,
# 'LazyBB: trees').
TOP_DOWN_SPLIT = 8.0

# Floating-point rounding may raise a weight above its maximum by this share; ζ covers the excess.
DENSITY_TOLERANCE = 1e-9

# Maximum relative increase of a sensitivity by the rounding of weights to multiples of a unit;
# parameters with a larger increase are refused.
LARGEST_ROUNDING = 1e-3


def lazybb_zeta(n: int, density: float) -> float:
    """Return the largest distance ζ = 1/(κn) of the normalised weights of neighbours.

    κ is the density. The distance is the total variation of the weights, as distributions on
    labelled points, if the *capped* projection computes them. The neighbours are replace-one, or
    add-remove if n is the larger of the two sizes. Source: docs/proofs.md, 'LazyBB: weights'
    (proved, attained).
    """
    check_n(n)
    return 1.0 / (density * n)


def lazybb_zeta_rounds(n: int, density: float, learning_rate: float, n_rounds: int) -> Floats:
    """Return, for each round t, a bound ζ_t on the distance of neighbours' normalised weights.

    The distance is as in :func:`lazybb_zeta`, whose bound 1/(κn) holds in all rounds. In early
    rounds weights are nearly equal, so that ζ_t starts at 1/n and increases. With the learning rate
    λ, weights of round t differ by a factor of at most R = e^{2λ(t−1)}, so the share of a weight is
    at most R/(R + n − 1). The result is ζ_t = min{1/(κn), max{R/(R + n − 1), √R/n}}. Due to √R/n,
    which matters only if κ(n − 1) < 1, ζ_t also bounds the change of a 1-rule's unnormalised error:
    the sum of the weights of wrongly predicted records, divided by κn. The neighbours are
    replace-one. Source: docs/proofs.md, 'LazyBB: first rounds' (proved).
    """
    drift = learning_rate * np.arange(n_rounds, dtype=np.float64)
    share = 1.0 / (1.0 + (n - 1) * arithmetic.exps(-2.0 * drift))
    # The limit 700 avoids an overflow of exp: for such values, the minimum below is 1/(κn) anyway.
    unscaled = arithmetic.exps(np.minimum(drift, 700.0)) / n
    return np.minimum(lazybb_zeta(n, density), np.maximum(share, unscaled))


def lazybb_weight_unit(n: int) -> float:
    """Return the unit of LazyBB's weights: 2^−b with b = min(52, 62 − ⌈log₂ n⌉).

    Weights are rounded up to multiples of this unit, so that the sum of n weights fits in 62 bits.
    The kernels compute the same b (``kernels.projection.fixed_point_bits``), as a test checks.
    """
    check_n(n)
    return 2.0 ** -min(52, 62 - (n - 1).bit_length())


def lazybb_smallest_density(n: int, normalise: bool = False) -> float:
    """Return the smallest density at which rounding increases ζ by at most `LARGEST_ROUNDING`.

    With the unit u, rounding adds at most (n + 1)u to the weight that moves between neighbours. For
    unnormalised scores, this weight is at most κnζ_t, which is κ in round 1: so κ must be at least
    (n + 1)u / `LARGEST_ROUNDING`. For normalised scores (`normalise`), κnζ is 1 for any κ, so that
    n alone decides: the result is 0 if every density is allowed, and 1 if only κ = 1 is allowed. At
    κ = 1 every weight is 1, and nothing is rounded. The neighbours are replace-one. Source:
    docs/proofs.md, 'Fixed-point weights' (proved).
    """
    needed = (n + 1) * lazybb_weight_unit(n) / LARGEST_ROUNDING
    if normalise:
        return 0.0 if needed <= 1 else 1.0
    return min(1.0, needed)


def check_lazybb_rounding(n: int, density: float, normalise: bool = False) -> None:
    """Refuse a density at which the rounding of weights invalidates LazyBB's sensitivities."""
    smallest = lazybb_smallest_density(n, normalise)
    if density < smallest:
        raise ValueError(
            f"density must be ≥ {round_up(smallest)} for n = {n} records; got {density:g}: "
            f"weights are rounded to multiples of {lazybb_weight_unit(n):.3g}, which the "
            "privacy proof covers only from there on (docs/proofs.md, 'Fixed-point weights')"
        )


def lazybb_margins_l1(zeta: float) -> float:
    """Return the L1 sensitivity 2ζ of the weighted margins of all leaves together.

    The margin of a leaf is a − b, where a and b are the weights of the two labels; the pairs (a, b)
    of all leaves have the same sensitivity as the margins. So ε pays for the noise Lap(2ζ/ε) on
    each margin, or for labels that are drawn with P(+) = σ(ε·margin/(2ζ)). The noise Lap(ζ/ε) of
    the thesis, "by parallel composition", costs 2ε. The neighbours are replace-one. Source:
    docs/proofs.md, 'LazyBB: trees' (proved).
    """
    return 2 * zeta


def check_largest_weight(largest: float, who: str) -> None:
    """Check an assumption of the proofs: no record's weight exceeds the maximum.

    `largest` is the largest weight, divided by the maximum; `who` names the compiled loop in the
    message. Raises ArithmeticError if `largest` is above 1, which would be a bug of the loop.
    """
    if not largest <= 1 + DENSITY_TOLERANCE:
        raise ArithmeticError(
            f"internal error in {who}: a record had {largest!r} times the maximum weight of the "
            "privacy proof; the model is withheld. Please report this with the parameters."
        )


def lazybb_split_range(n: int, zeta: float, criterion: str) -> float:
    """Return the range of LazyBB's split scores' change, for all nodes of one tree level together.

    The score of a split is −ΣF(a, b) over its leaves, where a and b are the weights of the two
    labels in units of κn, and F(a, b) = (a + b)·G(a/(a + b)) with G the :func:`impurity`. In these
    units, the weight of a record is at most ζ (:func:`lazybb_zeta_rounds`). The range is 2F(ζ, nζ);
    for Gini it is just below `TOP_DOWN_SPLIT` · ζ. The neighbours are replace-one. Source:
    docs/proofs.md, 'LazyBB: trees' (proved).
    """
    check_n(n)
    return 2 * zeta * (n + 1) * impurity(1 / (n + 1), criterion)
