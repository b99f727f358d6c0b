"""Objective perturbation of logistic losses: noise and penalty.

The objective is Σ wᵢ ℓ(yᵢ(oᵢ + θ·xᵢ)) + (Λ/2)‖θ‖² + b·θ, with weights w, public offsets o, and
noise b. Proofs: docs/proofs.md, 'Box noise', and 'Logistic regression' (noise in a ball, as in
diffprivlib).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from privcurve.lazy import arithmetic
from privcurve.privacy.accountants.compose import BASIC
from privcurve.privacy.budget import PROVED, PUBLISHED, is_private
from privcurve.privacy.ledger import (
    CLAIMED,
    REFUTED,
    LedgerEntry,
    PrivacyStatement,
    state,
)
from privcurve.privacy.mechanisms import BOX_PERTURBATION, OBJECTIVE_PERTURBATION

# The logistic loss has |ℓ'| ≤ 1 and ℓ'' ≤ 1/4.
CURVATURE = 0.25

PROOF = "docs/proofs.md, 'Box noise'"

# What a minimisation releases, for the ledger.
COEFFICIENTS = "the objective, and with it all coefficients"


@dataclass(frozen=True)
class Objective:
    """The noise and the penalty of a perturbed objective.

    The density of the noise decreases with ‖b‖_∞ (``box_perturbation``) or ‖b‖₂
    (``objective_perturbation``).
    """

    mechanism: str
    sensitivity: float  # sensitivity of the gradient, in the norm on which the noise depends
    scale: float  # noise scale; 0 at ε = ∞
    penalty: float  # Λ
    epsilon: float  # ε₁ (for the noise) + ε₂ (for the Jacobian)

    def entry(self, what: str, source: str) -> LedgerEntry:
        """Return the ledger entry of a minimisation; ε must be finite."""
        return LedgerEntry(
            mechanism=self.mechanism,
            what=what,
            noise_rate=1 / self.scale,
            sensitivity=self.sensitivity,
            epsilon=self.epsilon,
            source=source,
        )


def perturb_objective(
    mechanism: str,
    *,
    epsilon: float,
    curvature_share: float,
    gradient: float,
    square_norm: float,
    least_penalty: float,
) -> Objective:
    """Split ε between the noise (ε₁) and the penalty (ε₂), and return both.

    The gradients of neighbours differ by at most 2·gradient at any θ, so noise of scale
    2·gradient/ε₁ costs ε₁. Their curvatures differ by c xxᵀ − c′x′x′ᵀ, so the ratio of the
    Jacobians is at most 1 + ‖x‖²ℓ''/Λ, which costs ε₂ = ln(1 + square_norm/(4Λ)).

    `gradient` bounds ‖w x‖ of one record in the norm of the mechanism, `square_norm` bounds
    w‖x‖₂². ε₂ is `curvature_share` of ε, or less if Λ = `least_penalty` costs less.
    """
    if not is_private(epsilon):
        return Objective(mechanism, 2 * gradient, 0.0, least_penalty, epsilon)
    # The cap avoids overflow: for such a large exponent, nearly any penalty is enough.
    needed = CURVATURE * square_norm / arithmetic.expm1(min(curvature_share * epsilon, 100.0))
    penalty = max(needed, least_penalty)
    for_noise = epsilon - arithmetic.log1p(CURVATURE * square_norm / penalty)
    return Objective(mechanism, 2 * gradient, 2 * gradient / for_noise, penalty, epsilon)


def box_objective(*, n_columns: int, C: float, epsilon: float, curvature_share: float) -> Objective:
    """Calibrate box noise for rows [x, 1] with all entries in [−1, 1]; the penalty is at least 1/C.

    With d original columns, ‖[x, 1]‖₂² is at most d + 1, scaled or one-hot.
    """
    return perturb_objective(
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
    """Return the privacy statement of a fit; `public` are its public columns, if it has any."""
    if not is_private(objective.epsilon):
        return PrivacyStatement.not_private(learner)
    return state(
        learner,
        epsilon=objective.epsilon,
        delta=0.0,
        calibration=PROVED,
        composition=BASIC,
        ledger=[objective.entry(COEFFICIENTS, PROOF)],
        status=PROVED,
        public=public,
        exclusions=["the rounding of the solver (the proof is about the exact minimum)"],
    )


BALL_SOURCE = "Chaudhuri, Monteleoni and Sarwate 2011, Algorithm 2 and Theorem 9"


@dataclass(frozen=True)
class Perturbation:
    """The perturbed objective of diffprivlib, computed from public facts alone."""

    n_columns: int
    value: float  # the one-hot matrix has one entry of this value per row and column
    C: float  # inverse penalty of the coefficients
    intercept: bool  # whether there is an intercept, which has no penalty
    norm: float  # R, the L2 norm of every row, including the intercept's 1
    calibration: str

    @classmethod
    def from_calibration(cls, C: float, n_columns: int, calibration: str) -> Perturbation:
        """Return the objective as diffprivlib computes it (published), or as proved."""
        if calibration == PUBLISHED:
            return cls(n_columns, 1.0, C, True, math.sqrt(n_columns + 1), PUBLISHED)
        # The model is the same in other units: its coefficients are √n_columns times larger.
        return cls(n_columns, 1 / math.sqrt(n_columns), C * n_columns, False, 1.0, PROVED)

    def _epsilon_left(self, epsilon: float) -> float:
        """Return the part of ε that remains after paying for the Jacobian; it may be negative."""
        alpha = 1 / self.C
        return epsilon - 2 * arithmetic.log(1 + CURVATURE * self.norm / alpha)

    def noise_epsilon(self, epsilon: float) -> float:
        """Return ε', the part of ε that pays for the noise vector, as diffprivlib computes it."""
        left = self._epsilon_left(epsilon)
        return left if left > 0 else epsilon / 2

    def noise_scale(self, epsilon: float) -> float:
        """Return the scale 2R/ε' of the noise vector: its density falls as e^(−‖b‖/scale)."""
        return self.norm * 2 / self.noise_epsilon(epsilon)

    def extra_penalty(self, epsilon: float) -> float:
        """Return nΔ, an additional penalty of coefficients and intercept; 0 unless ε is small."""
        if self._epsilon_left(epsilon) > 0:
            return 0.0
        return CURVATURE * self.norm / arithmetic.expm1(epsilon / 4) - 1 / self.C

    def proved_epsilon(self, epsilon: float) -> float:
        """Return the ε that the argument of Chaudhuri et al. proves for this noise and penalty.

        The noise costs ε'. The Jacobian of the map from minimum to noise changes by at most the
        factor 1 + c·xᵀH⁻¹x when the record x replaces another, where H contains the penalties: α +
        nΔ for a coefficient, and nΔ for an intercept.
        """
        extra = self.extra_penalty(epsilon)
        change = self.n_columns * (self.value * self.value) / (1 / self.C + extra)
        if self.intercept:
            change += 1 / extra if extra > 0 else math.inf
        return self.noise_epsilon(epsilon) + arithmetic.log1p(CURVATURE * change)

    def statement(self, learner: str, epsilon: float, tolerance: float) -> PrivacyStatement:
        """Return the privacy statement of a fit; an exclusion names the solver's `tolerance`.

        If the intercept has no penalty, the published noise has no finite ε. Counterexample: all n
        records have a positive label and, in the only column, the bin 0; then one record's bin
        changes to 1. At a model with scores t for bin 0 and 0 for bin 1, as t → ∞, the
        determinant of the Jacobian tends to 0 like e^(−t) before the change, but not after it;
        the noise b changes by less than 2R. So the ratio of the densities is unbounded
        (``tests/privacy/test_objective_perturbation.py``).
        """
        if math.isinf(epsilon):
            return PrivacyStatement.not_private(learner)
        scale, penalty = self.noise_scale(epsilon), self.extra_penalty(epsilon)
        posed = Objective(OBJECTIVE_PERTURBATION, 2 * self.norm, scale, penalty, epsilon)
        status, caveat, proved = PROVED, "", None
        if self.calibration == PUBLISHED and self.proved_epsilon(epsilon) > epsilon:
            proved = self.proved_epsilon(epsilon)
            status = CLAIMED if math.isfinite(proved) else REFUTED
            caveat = "a flaw of the published noise (diffprivlib 0.6): " + (
                "its curvature bound is wrong for rows of norm above 1"
                if math.isfinite(proved)
                else "the intercept is not penalised, so one replaced record can make some models "
                "likelier by any factor (exact counterexample)"
            )
        return state(
            learner,
            epsilon=epsilon,
            delta=0.0,
            calibration=self.calibration,
            composition=BASIC,
            ledger=(posed.entry(COEFFICIENTS, BALL_SOURCE),),
            assumptions=(f"the L2 norm {self.norm:.4g} of every row (it follows from the coding)",),
            exclusions=(
                f"the tolerance of the solver (gradient {tolerance:g}; the proof is about the "
                "exact minimum)",
            ),
            status=status,
            caveat=caveat,
            proved_epsilon=proved,
        )
