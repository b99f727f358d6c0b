"""Compute the Mα-loss: its Bayes risk L, its link ψ, and the inverse ψ⁻¹.

With α = 1 it is Matsushita's loss, with α = 0 the 0/1 loss. A and B are the weights of the positive
and of the negative records in a node; q = A/(A + B) is the share of positive weight; z is a score
(margin). See papers/boosted_dp/README.md.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privcurve.coding import Floats, Signs
from privcurve.kernels.arithmetic import arcsinhs
from privcurve.kernels.jit import jit
from privcurve.privacy.sensitivity import impurity

# Before the link is computed, the share q of a leaf is clipped to [ζ, 1 − ζ], so that the link is
# finite (§17.2 of the paper).
ZETA = 1e-4


@jit(inline="always")
def bayes_weight(positive: float, negative: float, alpha: float) -> float:
    """Return the Bayes risk of a node times its weight, or 0 if it has weight of one label only.

    The result is (A + B)·L(q) = α·2√(AB) + (1 − α)·2 min(A, B), where A is the positive weight, B
    the negative weight, and L the Bayes risk at the share q = A/(A + B).
    """
    if positive <= 0.0 or negative <= 0.0:
        return 0.0
    return alpha * 2.0 * math.sqrt(positive * negative) + (1.0 - alpha) * 2.0 * min(
        positive, negative
    )


@jit
def link(q: float, alpha: float) -> float:
    """Return the link ψ(q) = α(2q − 1)/√(q(1 − q)) + 2(1 − α)·sign(2q − 1), for 0 < q < 1.

    It is −L′(q), the negative derivative of the Bayes risk.
    """
    odd = 2.0 * q - 1.0
    return float(alpha * odd / math.sqrt(q * (1.0 - q)) + 2.0 * (1.0 - alpha) * np.sign(odd))


@jit
def inverse_link(margin: float, alpha: float) -> float:
    """Return ψ⁻¹(z), a share in [0, 1], for a margin z.

    It is ½ for |z| ≤ 2(1 − α), above ½ for larger z, and below ½ for smaller z. With α = 0 it is 0
    for z < −2 and 1 for z > 2.
    """
    beyond = abs(margin) / 2.0 - (1.0 - alpha)
    if beyond <= 0.0:
        return 0.5
    share = beyond / math.sqrt(alpha * alpha + beyond * beyond)
    return 0.5 * (1.0 + share) if margin > 0 else 0.5 * (1.0 - share)


def split_sensitivity(n: int, alpha: float) -> float:
    """Return the sensitivity F₁(n) of a split's score, for n records.

    F₁(n) is α times the sensitivity for root-Gini plus 1 − α times the sensitivity for the 0/1
    loss, because the Bayes risk of the Mα-loss is the same mixture of both risks. See
    :func:`privcurve.privacy.sensitivity.impurity.split_sensitivity`.
    """
    root, zero_one = (impurity.split_sensitivity(n, name) for name in ("root_gini", "zero_one"))
    return alpha * root + (1 - alpha) * zero_one


def boosted_split_published(m: int, alpha: float) -> float:
    """Return the sensitivity 3 + 2α(√m − 1) of a split's score that the paper publishes.

    m is the number of records. For replace-one neighbours this is a valid bound, and less than
    twice the proved sensitivity (:func:`split_sensitivity`). Source: papers/boosted_dp/proofs.md,
    'Published noise'.
    """
    return 3 + 2 * alpha * (math.sqrt(m) - 1)


def margins_l2() -> float:
    """Return the L2 sensitivity 2 of the margins A − B of all leaves of one tree together.

    A and B are the weights of the two labels in a leaf; no record weighs more than 1. If a record
    is replaced by a record with the other label in the same leaf, one margin changes by 2. If the
    new record is in another leaf, two margins change by 1 each, which is only √2 in L2. The
    neighbours are replace-one. Source: papers/boosted_dp/proofs.md, 'Leaves' (proved).
    """
    return 2.0


def log_odds_of_margins(scores: Floats, alpha: float) -> Floats:
    """Return the log-odds ln(q/(1 − q)) of the probability q = ψ⁻¹(z) of each score z.

    The log-odds are sign(z)·2 arsinh((|z|/2 − (1 − α))/α), or 0 where q is ½. α must be above 0.
    """
    beyond = np.maximum(np.abs(scores) / 2 - (1 - alpha), 0.0)
    return np.asarray(np.sign(scores) * 2 * arcsinhs(beyond / alpha))


def largest_link(alpha: float) -> float:
    """Return the largest possible link of a leaf: ψ(1 − ζ), because shares are at most 1 − ζ.

    :func:`link_of_leaves` clips the share of positive weight in a leaf to [ζ, 1 − ζ].
    """
    return float(link(1.0 - ZETA, alpha))


@jit
def record_weights(scores: Floats, signs: Signs, alpha: float) -> Floats:
    """Return the boosting weight ψ⁻¹(−y·H(x)) of each record with score H(x) and label y (±1)."""
    weights = np.empty(len(scores))
    for i in range(len(scores)):
        weights[i] = inverse_link(-signs[i] * scores[i], alpha)
    return weights


@jit
def link_of_leaves(positive: Floats, negative: Floats, alpha: float) -> NDArray[Any]:
    """Return the link ψ(q) of each leaf, or 0 for an empty leaf.

    q is the share of positive weight in the leaf, clipped to [ζ, 1 − ζ] with ζ = `ZETA`. Negative
    weights, which noise can cause, count as 0.
    """
    values = np.zeros(len(positive))
    for leaf in range(len(positive)):
        a, b = max(positive[leaf], 0.0), max(negative[leaf], 0.0)
        if a + b > 0:
            values[leaf] = link(min(max(a / (a + b), ZETA), 1.0 - ZETA), alpha)
    return values
