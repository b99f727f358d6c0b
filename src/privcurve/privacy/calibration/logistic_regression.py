"""Noise of objective perturbation for logistic regression, and the statement.

Chaudhuri, Monteleoni and Sarwate, *Differentially private empirical risk minimization*, JMLR
12 (2011), Algorithm 2 and Theorem 9; ``published`` is what diffprivlib 0.6 makes of it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from privcurve.privacy.accountants.compose import BASIC
from privcurve.privacy.budget import CERTIFIED, PUBLISHED, check_budget
from privcurve.privacy.calibration.objective import COEFFICIENTS, CURVATURE
from privcurve.privacy.ledger import (
    NOT_PROVED,
    PROVED,
    REFUTED,
    LedgerEntry,
    PrivacyStatement,
)
from privcurve.privacy.mechanisms import OBJECTIVE_PERTURBATION
from privcurve.privacy.public_facts import state

SOURCE = "Chaudhuri, Monteleoni and Sarwate 2011, Algorithm 2 and Theorem 9"


@dataclass(frozen=True)
class Perturbation:
    """How the objective is posed and perturbed, from public facts alone.

    Attributes
    ----------
    n_columns : int
        Coded columns: each row of the one-hot matrix has as many ones.
    value : float
        What stands for a 1 of the one-hot matrix.
    C : float
        Inverse penalty of the coefficients of that matrix.
    intercept : bool
        Whether there is an intercept, which is not penalised.
    norm : float
        R, the L2 norm of every row, with the intercept's 1.
    calibration : str
    """

    n_columns: int
    value: float
    C: float
    intercept: bool
    norm: float
    calibration: str

    @classmethod
    def of(cls, C: float, n_columns: int, calibration: str) -> Perturbation:
        """Give the objective of a calibration."""
        if calibration == PUBLISHED:
            return cls(n_columns, 1.0, C, True, math.sqrt(n_columns + 1), PUBLISHED)
        # The same model in other units: coefficients √n_columns times as large.
        return cls(n_columns, 1 / math.sqrt(n_columns), C * n_columns, False, 1.0, CERTIFIED)

    def _left(self, epsilon: float) -> float:
        """Give what is left of ε when the Jacobian is paid for; this may be below 0."""
        alpha = 1 / self.C
        return epsilon - 2 * float(np.log(1 + CURVATURE * self.norm / alpha))

    def noise_epsilon(self, epsilon: float) -> float:
        """Give ε', the part of ε that the noise vector gets (as diffprivlib computes it)."""
        left = self._left(epsilon)
        return left if left > 0 else epsilon / 2

    def noise_scale(self, epsilon: float) -> float:
        """Give the scale 2R/ε' of the noise vector: its density falls as e^(−‖b‖/scale)."""
        return self.norm * 2 / self.noise_epsilon(epsilon)

    def extra_penalty(self, epsilon: float) -> float:
        """Give nΔ, the penalty of all coefficients and the intercept where ε is small."""
        if self._left(epsilon) > 0:
            return 0.0
        return CURVATURE * self.norm / float(np.expm1(epsilon / 4)) - 1 / self.C

    def proved_epsilon(self, epsilon: float) -> float:
        """Give the ε that follows from Chaudhuri et al.'s argument for this noise.

        The noise costs ε'. The Jacobian of the map from minimum to noise changes by at
        most 1 + c·xᵀH⁻¹x when the record x is put in place of another, where H holds
        the penalties: α + nΔ of a coefficient, and nΔ of an intercept.
        """
        extra = self.extra_penalty(epsilon)
        change = self.n_columns * self.value**2 / (1 / self.C + extra)
        if self.intercept:
            change += 1 / extra if extra > 0 else math.inf
        return self.noise_epsilon(epsilon) + math.log1p(CURVATURE * change)

    def statement(self, learner: str, epsilon: float, tolerance: float) -> PrivacyStatement:
        """Give the statement of a fit.

        Where the intercept has no penalty, the published noise has no ε at all. Let a record
        with the code 0 alone get the code 1, and all n be positive: the determinant of the
        Jacobian at a model with scores t for code 0 and 0 for code 1 tends to 0 with t → ∞
        before, as e^(−t), and not after; the noise b changes by less than 2R. So the ratio of
        the densities grows without bound (``tests/privacy/test_objective_perturbation.py``).

        Parameters
        ----------
        learner : str
        epsilon : float
            May be infinite.
        tolerance : float
            Gradient at which the solver stops.

        Returns
        -------
        PrivacyStatement
        """
        check_budget(epsilon, 0.0)
        if math.isinf(epsilon):
            return PrivacyStatement.not_private(learner)
        entry = LedgerEntry(
            mechanism=OBJECTIVE_PERTURBATION,
            what=COEFFICIENTS,
            noise_rate=1 / self.noise_scale(epsilon),
            sensitivity=2 * self.norm,
            epsilon=epsilon,
            source=SOURCE,
        )
        status, caveat, proved = PROVED, "", None
        if self.calibration == PUBLISHED and self.proved_epsilon(epsilon) > epsilon:
            proved = self.proved_epsilon(epsilon)
            status = NOT_PROVED if math.isfinite(proved) else REFUTED
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
            ledger=(entry,),
            assumptions=(f"the L2 norm {self.norm:.4g} of every row (it follows from the coding)",),
            exclusions=(
                f"the tolerance of the solver (gradient {tolerance:g}; the proof is about the "
                "exact minimum)",
            ),
            status=status,
            caveat=caveat,
            proved_epsilon=proved,
        )
