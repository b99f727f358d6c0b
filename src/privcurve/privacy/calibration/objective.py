"""Objective perturbation of logistic losses: how much noise, how much penalty.

Minimised is Σ wᵢ ℓ(yᵢ(oᵢ + θ·xᵢ)) + (Λ/2)‖θ‖² + b·θ. Proofs: docs/partial.md, P1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privcurve.privacy.budget import is_private
from privcurve.privacy.mechanisms import MECHANISMS

# The logistic loss has |ℓ'| ≤ 1 and ℓ'' ≤ 1/4.
CURVATURE = 0.25

PROOF = "docs/partial.md, P1"


@dataclass(frozen=True)
class Objective:
    """A perturbed objective.

    Attributes
    ----------
    mechanism : str
        ``box_perturbation`` (density falls with ‖b‖_∞) or ``objective_perturbation`` (‖b‖₂).
    sensitivity : float
        How far the gradient moves when a record changes, in that norm.
    scale : float
        Of the noise; 0 at ε = ∞.
    penalty : float
        Λ.
    epsilon : float
        ε₁ + ε₂.
    """

    mechanism: str
    sensitivity: float
    scale: float
    penalty: float
    epsilon: float

    def tilt(self, dimension: int, rng: np.random.Generator) -> NDArray[np.float64]:
        """Draw b."""
        if self.scale == 0:
            return np.zeros(dimension)
        return MECHANISMS[self.mechanism].draw(rng, dimension, self.scale)


def perturbed(
    mechanism: str,
    *,
    epsilon: float,
    curvature_share: float,
    gradient: float,
    square_norm: float,
    least_penalty: float,
) -> Objective:
    """Share ε between noise and penalty.

    Two neighbours' gradients differ by at most 2·gradient at any θ, so noise of scale
    2·gradient/ε₁ costs ε₁. Their curvatures differ by c xxᵀ − c′x′x′ᵀ, so the Jacobians'
    ratio is at most 1 + ‖x‖²ℓ''/Λ, which costs ε₂ = ln(1 + square_norm/(4Λ)).

    Parameters
    ----------
    mechanism : str
    epsilon : float
        May be infinite: no noise.
    curvature_share : float
        ε₂/ε, where the least penalty does not make ε₂ smaller still.
    gradient : float
        Bound of ‖w x‖ of one record, in the mechanism's norm.
    square_norm : float
        Bound of w‖x‖₂² of one record.
    least_penalty : float
        Λ is never smaller.

    Returns
    -------
    Objective
    """
    if not is_private(epsilon):
        return Objective(mechanism, 2 * gradient, 0.0, least_penalty, epsilon)
    # Beyond e^100 any penalty will do.
    needed = CURVATURE * square_norm / math.expm1(min(curvature_share * epsilon, 100.0))
    penalty = max(needed, least_penalty)
    for_noise = epsilon - math.log1p(CURVATURE * square_norm / penalty)
    return Objective(mechanism, 2 * gradient, 2 * gradient / for_noise, penalty, epsilon)
