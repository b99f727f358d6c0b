"""LazyBB: sensitivities of the weights, and so of the scores of 1-rules and trees."""

from __future__ import annotations

import numpy as np

from privcurve.coding import Floats
from privcurve.lazy import arithmetic
from privcurve.privacy.budget import round_up
from privcurve.privacy.sensitivity.impurity import check_n, impurity

# The pure ε of one choice of a 1-rule is this number times ηζ, for the rate η that multiplies
# errors, and ζ of :func:`lazybb_zeta`. Published: thesis, Theorem 2.7.2. Proved: the sensitivity of
# the error is ζ, the range of the errors' change 2ζ (docs/proofs.md, 'LazyBB: 1-rules').
ONE_RULE_PUBLISHED = 4.0
ONE_RULE_PROVED = 2.0

# The pure ε, and the range, of one split of DP-TopDown in LazyBB is this number times ηζ. Published
# and proved agree (docs/proofs.md, 'LazyBB: trees': the thesis' Lemmas 4.2.3 and 4.2.4 are wrong,
# its Theorem 4.2.2 is right). This ε also pays for *all* splits of one tree level together.
TOP_DOWN_SPLIT = 8.0

# By floating-point rounding, a weight may exceed its bound by this share; ζ includes the excess.
DENSITY_TOLERANCE = 1e-9

# Maximum relative increase of a sensitivity by the rounding of LazyBB's weights.
LARGEST_ROUNDING = 1e-3


def lazybb_zeta(n: int, density: float) -> float:
    """Return the largest distance ζ = 1/(κn) of neighbours' normalised weights, κ the density.

    The distance is the total variation on labelled points, with the *capped* projection.
    Replace-one; also add/remove, if n is the larger of the two sizes. Source: docs/proofs.md,
    'LazyBB: weights' (proved, attained).
    """
    check_n(n)
    return 1.0 / (density * n)


def lazybb_zeta_rounds(n: int, density: float, learning_rate: float, n_rounds: int) -> Floats:
    """Return a bound ζ_t, for each round t, on the distance of neighbours' normalised weights.

    The distance is as in :func:`lazybb_zeta`, whose bound 1/(κn) holds in all rounds. Early weights
    are nearly equal, so that ζ_t starts at 1/n and increases. With the learning rate λ, weights of
    round t differ by a factor of at most R = e^{2λ(t−1)}, so no weight has a share above R/(R + n −
    1). The result is ζ_t = min{1/(κn), max{R/(R + n − 1), √R/n}}: with √R/n, it also bounds the
    change of the unnormalised error Σμχ/(κn) of a 1-rule (μ: weights, χ: 1 for an error). √R/n
    matters only if κ(n − 1) < 1. Replace-one. Source: docs/proofs.md, 'LazyBB: first rounds'
    (proved).
    """
    drift = learning_rate * np.arange(n_rounds, dtype=np.float64)
    share = 1.0 / (1.0 + (n - 1) * arithmetic.exps(-2.0 * drift))
    # exp(700) is near the largest float; the minimum reaches 1/(κn) long before.
    unscaled = arithmetic.exps(np.minimum(drift, 700.0)) / n
    return np.minimum(lazybb_zeta(n, density), np.maximum(share, unscaled))


def lazybb_weight_unit(n: int) -> float:
    """Return the unit of LazyBB's weights: 2^−b, b = min(52, 62 − ⌈log₂ n⌉).

    Weights are rounded up to multiples of this unit, so that the sum of n weights fits in 62 bits.
    The kernels have the same b (``kernels.projection.fixed_point_bits``); a test compares the two.
    """
    check_n(n)
    return 2.0 ** -min(52, 62 - (n - 1).bit_length())


def lazybb_smallest_density(n: int, normalise: bool = False) -> float:
    """Return the smallest density at which rounding adds at most `LARGEST_ROUNDING` to ζ.

    With the unit u, rounding adds at most (n + 1)u to the weight that moves between neighbours.
    For unnormalised scores this weight is at most κnζ_t, which is κ in round 1, so κ must be at
    least (n + 1)u / `LARGEST_ROUNDING`. For normalised scores (`normalise`), ζ is 1/(κn) in all
    rounds, the share of a weight of 1, so n alone decides: the result is 0 or 1. At κ = 1 every
    weight is 1, and nothing is rounded. Replace-one. Source: docs/proofs.md, 'Fixed-point weights'
    (proved).
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

    The margin of a leaf is a − b, for the weights a and b of its labels; the pairs (a, b) of all
    leaves have the same sensitivity. Hence ε pays for Lap(2ζ/ε) on each margin, or for labels with
    P(+) = σ(ε·margin/(2ζ)). Replace-one. Source: docs/proofs.md, 'LazyBB: trees' (proved; the
    thesis' Lap(ζ/ε), "by parallel composition", costs 2ε).
    """
    return 2 * zeta


def check_largest_weight(largest: float, who: str) -> None:
    """Check the assumption of the proofs that no weight exceeds its maximum.

    `largest` is the largest weight, divided by the maximum. Raises ArithmeticError if it is above
    1, which would be a bug of the kernels.
    """
    if not largest <= 1 + DENSITY_TOLERANCE:
        raise ArithmeticError(
            f"internal error in {who}: a record had {largest!r} times the maximum weight of the "
            "privacy proof; the model is withheld. Please report this with the parameters."
        )


def lazybb_split_range(n: int, zeta: float, criterion: str) -> float:
    """Return the range of LazyBB's split scores' change, for all nodes of one tree level together.

    The scores are −ΣF(a, b), with F(a, b) = (a + b)G(a/(a + b)) for the weights a and b of the two
    labels, in units of κn. In these units no record weighs more than ζ
    (:func:`lazybb_zeta_rounds`). The range is 2F(ζ, nζ); for Gini it is just below the 8ζ of
    `TOP_DOWN_SPLIT`. Replace-one. Source: docs/proofs.md, 'LazyBB: trees' (proved).
    """
    check_n(n)
    return 2 * zeta * (n + 1) * impurity(1 / (n + 1), criterion)
