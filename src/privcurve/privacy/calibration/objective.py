"""Objective perturbation of logistic losses: how much noise, how much penalty; box noise.

Minimised is Σ wᵢ ℓ(yᵢ(oᵢ + θ·xᵢ)) + (Λ/2)‖θ‖² + b·θ. Proofs: docs/partial.md, P1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from privcurve.privacy.accountants.compose import BASIC
from privcurve.privacy.budget import CERTIFIED, is_private
from privcurve.privacy.ledger import LedgerEntry, PrivacyStatement
from privcurve.privacy.mechanisms import BOX_PERTURBATION
from privcurve.privacy.public_facts import state

# The logistic loss has |ℓ'| ≤ 1 and ℓ'' ≤ 1/4.
CURVATURE = 0.25

PROOF = "docs/partial.md, P1"

# What a minimisation releases.
COEFFICIENTS = "the objective, and with it all coefficients"


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

    def entry(self, what: str, source: str) -> LedgerEntry:
        """Return what a minimisation is charged to; ε is finite."""
        return LedgerEntry(
            mechanism=self.mechanism,
            what=what,
            noise_rate=1 / self.scale,
            sensitivity=self.sensitivity,
            epsilon=self.epsilon,
            source=source,
        )


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


def box(*, n_columns: int, C: float, epsilon: float, curvature_share: float) -> Objective:
    """Calibrate box noise for rows [x, 1] with all entries in [−1, 1].

    Parameters
    ----------
    n_columns : int
        d: ‖[x, 1]‖₂² is d + 1 at most, for scaled columns and for one-hot ones.
    C : float
        The penalty is 1/C at least.
    epsilon : float
        May be infinite.
    curvature_share : float
        ε₂/ε.
    """
    return perturbed(
        BOX_PERTURBATION,
        epsilon=epsilon,
        curvature_share=curvature_share,
        gradient=1.0,
        square_norm=n_columns + 1.0,
        least_penalty=1 / C,
    )


def box_statement(
    learner: str, objective: Objective, public: tuple[int, ...] | None
) -> PrivacyStatement:
    """Make the statement of a fit.

    Parameters
    ----------
    learner : str
    objective : Objective
    public : tuple of int or None
        Public columns, if a public start was made of them.
    """
    if not is_private(objective.epsilon):
        return PrivacyStatement.not_private(learner)
    return state(
        learner,
        epsilon=objective.epsilon,
        delta=0.0,
        calibration=CERTIFIED,
        composition=BASIC,
        ledger=[objective.entry(COEFFICIENTS, PROOF)],
        public=public,
        exclusions=["the rounding of the solver (the proof is about the exact minimum)"],
    )
