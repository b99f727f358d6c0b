"""Logistic regression by box noise, and the statement. Proof: docs/partial.md, P1."""

from __future__ import annotations

from privcurve.privacy.accountants.compose import BASIC
from privcurve.privacy.budget import CERTIFIED, is_private
from privcurve.privacy.calibration.objective import PROOF, Objective, perturbed
from privcurve.privacy.ledger import LedgerEntry, PrivacyStatement
from privcurve.privacy.mechanisms import BOX_PERTURBATION
from privcurve.privacy.public_facts import state


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
    entry = LedgerEntry(
        mechanism=objective.mechanism,
        what="the objective, and with it all coefficients",
        noise_rate=1 / objective.scale,
        sensitivity=objective.sensitivity,
        epsilon=objective.epsilon,
        source=PROOF,
    )
    return state(
        learner,
        epsilon=objective.epsilon,
        delta=0.0,
        calibration=CERTIFIED,
        composition=BASIC,
        ledger=[entry],
        public=public,
        exclusions=["the rounding of the solver (the proof is about the exact minimum)"],
    )
