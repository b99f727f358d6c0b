"""Calibrate the noise of Boosting for People: for its classifiers, their errors, and the weights.

Proofs: papers/partial/proofs.md, 'Boosting for People'.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from privcurve.privacy.accountants.compose import BASIC
from privcurve.privacy.budget import PROVED, PUBLISHED, is_private
from privcurve.privacy.calibration.objective import Objective, perturb_objective
from privcurve.privacy.curator import EXACT, Call, call_of
from privcurve.privacy.ledger import LedgerEntry, PrivacyStatement, state
from privcurve.privacy.mechanisms import LAPLACE, OBJECTIVE_PERTURBATION

from .._half_spaces_noise import BRCNoise

PEOPLE = "boosting_for_people"
OF_PEOPLE = "papers/partial/proofs.md, 'Boosting for People'"

# Objective perturbation spends this share of a classifier's ε on the change of the Jacobian
# determinant, which the penalty limits, and the rest of ε on the noise vector.
CURVATURE_SHARE = 0.1


@dataclass(frozen=True)
class PeopleNoise:
    """The noise of the classifier, its error, and the weights, in each of T rounds.

    With ``proved``, each classifier and each error gets ε/(2T), and weights have no noise, because
    the proof needs none. With ``published``, the classifier, its error and the weights of a round
    get ε/(3T) each; the weights get Laplace noise of scale `weight_scale`.
    """

    error: BRCNoise
    classifier: Objective
    weight_scale: float
    epsilon: float
    calibration: str

    def weights_call(self, t: int) -> Call:
        """Return the mechanism call that releases all weights in round `t`, counted from 0."""
        if self.weight_scale == 0:
            return EXACT
        spread = self.error.largest - self.error.smallest
        entry = LedgerEntry(
            mechanism=LAPLACE,
            what=f"round {t + 1}: weights of all records",
            noise_rate=1 / self.weight_scale,
            sensitivity=spread,
            epsilon=spread / self.weight_scale,
            source=OF_PEOPLE,
        )
        return call_of(entry)

    def classifier_call(self, t: int) -> Call:
        """Return the mechanism call that releases the classifier of round `t`, counted from 0."""
        if not is_private(self.epsilon):
            return EXACT
        return call_of(self.classifier.entry(f"round {t + 1}: classifier", OF_PEOPLE))

    def statement(self, alphas: Sequence[float], public: Sequence[int] | None) -> PrivacyStatement:
        """Return the privacy statement of a fit; for arguments see :meth:`BRCNoise.statement`."""
        calls = [
            call
            for t in range(self.error.n_rounds)
            for call in (
                self.weights_call(t), self.classifier_call(t), self.error.estimate_call(alphas[:t])
            )
        ]  # fmt: skip
        return state(
            PEOPLE,
            epsilon=self.epsilon,
            delta=0.0,
            calibration=self.calibration,
            composition=BASIC,
            ledger=[call.entry for call in calls if call.entry],
            status=PROVED,
            public=public,
        )


def people_noise(
    *,
    n: int,
    n_columns: int,
    n_rounds: int,
    smallest: float,
    largest: float,
    epsilon: float,
    calibration: str,
) -> PeopleNoise:
    """Calibrate Boosting for People on d = `n_columns` private columns.

    The rows of a regression are [x, 1] with scaled columns x, so their L2 norm is at most √(d + 1).
    `smallest` and `largest` are the caps of a weight; ε may be infinite.
    """
    parts = 3 if calibration == PUBLISHED else 2
    share = epsilon / parts
    each = share / n_rounds
    square_norm = n_columns + 1.0
    classifier = perturb_objective(
        OBJECTIVE_PERTURBATION,
        epsilon=each,
        curvature_share=CURVATURE_SHARE,
        gradient=largest * math.sqrt(square_norm),
        square_norm=largest * square_norm,
        least_penalty=1.0,
    )
    error = BRCNoise(PEOPLE, n, n_rounds, smallest, largest, share, 0.0, calibration)
    noisy = calibration != PROVED and is_private(epsilon)
    return PeopleNoise(
        error, classifier, (largest - smallest) / each if noisy else 0.0, epsilon, calibration
    )
