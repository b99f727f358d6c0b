"""Calibrate objective perturbation of the logistic loss: its noise and its penalty.

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

# Upper bound on the second derivative ℓ'' of the logistic loss (and |ℓ'| ≤ 1).
CURVATURE = 0.25

PROOF = "docs/proofs.md, 'Box noise'"

# The name (`what`) of the ledger entry that pays for minimising a perturbed objective.
COEFFICIENTS = "the objective, and with it all coefficients"


@dataclass(frozen=True)
class Objective:
    """The noise and the penalty of a perturbed objective.

    The density of the noise vector b is ∝ e^{−‖b‖/scale}. The norm is ‖b‖_∞ for the mechanism
    ``box_perturbation``, and ‖b‖₂ for ``objective_perturbation``.
    """

    mechanism: str
    sensitivity: float  # L2 sensitivity of the gradient; L∞ for box perturbation
    scale: float  # noise scale; 0 at ε = ∞
    penalty: float  # the factor Λ of ‖θ‖²/2
    epsilon: float  # ε₁ (pays for the noise) + ε₂ (pays for the change of the Jacobian)

    def entry(self, what: str, source: str) -> LedgerEntry:
        """Return the ledger entry of a minimisation with this noise; ε must be finite."""
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
    """Split ε into ε₁ for the noise and ε₂ for the change of curvature; return noise and penalty.

    The gradients of neighbours differ by at most 2·gradient at any θ, so noise of scale
    2·gradient/ε₁ costs ε₁. Their Hessians differ by c xxᵀ − c′x′x′ᵀ with c ≤ w/4 and c′ ≤ w′/4, so
    the ratio of the Jacobians is at most 1 + w‖x‖²/(4Λ), which costs ε₂ = ln(1 + square_norm/(4Λ)).

    `gradient` is an upper bound on ‖w x‖ of one record in the norm of the mechanism, and
    `square_norm` on w‖x‖₂². ε₂ is the share `curvature_share` of ε, or less if the penalty Λ =
    `least_penalty` costs less.
    """
    if not is_private(epsilon):
        return Objective(mechanism, 2 * gradient, 0.0, least_penalty, epsilon)
    # The limit 100 avoids an overflow of exp. At this limit, the needed penalty is nearly 0.
    needed = CURVATURE * square_norm / arithmetic.expm1(min(curvature_share * epsilon, 100.0))
    penalty = max(needed, least_penalty)
    for_noise = epsilon - arithmetic.log1p(CURVATURE * square_norm / penalty)
    return Objective(mechanism, 2 * gradient, 2 * gradient / for_noise, penalty, epsilon)


def box_objective(*, n_columns: int, C: float, epsilon: float, curvature_share: float) -> Objective:
    """Calibrate box noise for rows [x, 1] with all entries in [−1, 1]; the penalty is at least 1/C.

    For both encodings (scaled and one-hot), ‖[x, 1]‖₂² is at most `n_columns` + 1, where
    `n_columns` is the number of columns before the encoding.
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
    """Return the privacy statement of a fit; `public` has the public columns, if there are any."""
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
    """The parameters of diffprivlib's perturbed objective, as functions of public facts alone."""

    n_columns: int
    value: float  # value of every nonzero entry of the one-hot matrix
    C: float  # inverse of the penalty on coefficients
    intercept: bool  # whether there is an intercept (without penalty)
    norm: float  # R, the L2 norm of every row, including the intercept's 1
    calibration: str

    @classmethod
    def from_calibration(cls, C: float, n_columns: int, calibration: str) -> Perturbation:
        """Return diffprivlib's objective (published), or a variant with a valid proof (proved)."""
        if calibration == PUBLISHED:
            return cls(n_columns, 1.0, C, True, math.sqrt(n_columns + 1), PUBLISHED)
        # Scale rows to the norm 1. Coefficients are then √n_columns times larger, so C is
        # multiplied by n_columns: without noise, the model remains the same.
        return cls(n_columns, 1 / math.sqrt(n_columns), C * n_columns, False, 1.0, PROVED)

    def _epsilon_left(self, epsilon: float) -> float:
        """Return ε minus the cost of the Jacobian's change; the result may be negative."""
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
        """Return nΔ, an additional penalty on coefficients and intercept; 0 if ε is large."""
        if self._epsilon_left(epsilon) > 0:
            return 0.0
        return CURVATURE * self.norm / arithmetic.expm1(epsilon / 4) - 1 / self.C

    def proved_epsilon(self, epsilon: float) -> float:
        """Return the ε that the argument of Chaudhuri et al. proves for this noise and penalty.

        The noise costs ε'. If the record x replaces another one, the Jacobian of the map from
        minimum to noise changes by at most the factor 1 + c·xᵀH⁻¹x. Here c is `CURVATURE`, and H is
        the diagonal matrix of the penalties: α + nΔ for a coefficient, and nΔ for an intercept.
        """
        extra = self.extra_penalty(epsilon)
        change = self.n_columns * (self.value * self.value) / (1 / self.C + extra)
        if self.intercept:
            change += 1 / extra if extra > 0 else math.inf
        return self.noise_epsilon(epsilon) + arithmetic.log1p(CURVATURE * change)

    def statement(self, learner: str, epsilon: float, tolerance: float) -> PrivacyStatement:
        """Return the privacy statement of a fit, which excludes the error of the solver.

        If the intercept has no penalty, the published noise has no finite ε. Counterexample: all n
        records have a positive label and, in the only column, the bin 0; then one record's bin
        changes to 1. Consider a model with scores t for bin 0 and 0 for bin 1. As t → ∞, the
        determinant of the Jacobian tends to 0 like e^(−t) before the change, but not after it,
        and the noise b changes by less than 2R. So the ratio of the densities is unbounded
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
