"""Noise of Boosting for People with half-spaces, and the statement.

After Dwork, Rothblum and Vadhan (Boosting and Differential Privacy, 2010), as Shen et al.
compare with it; neither prints constants. Proof: docs/partial.md, Boosting for People.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from privcurve.privacy.accountants.compose import BASIC
from privcurve.privacy.budget import CERTIFIED, PUBLISHED, is_private
from privcurve.privacy.calibration.brc import BRCNoise
from privcurve.privacy.calibration.objective import Objective, perturbed
from privcurve.privacy.curator import Call, call_of
from privcurve.privacy.ledger import LedgerEntry, PrivacyStatement
from privcurve.privacy.mechanisms import LAPLACE, OBJECTIVE_PERTURBATION
from privcurve.privacy.public_facts import state

LEARNER = "boosting_for_people"
SOURCE = "docs/partial.md, Boosting for People"

# Part of a classifier's ε for its penalty; the rest is for its noise.
CURVATURE_SHARE = 0.1


@dataclass(frozen=True)
class PeopleNoise:
    """Noise of one fit.

    Attributes
    ----------
    error : BRCNoise
        Of the errors, with their part of ε.
    classifier : Objective
        Of the classifier of each round.
    weight_scale : float
        Laplace noise of every weight that a classifier is given (``published`` alone).
    epsilon : float
    calibration : str
        ``certified``: ε/(2T) for each classifier and each error. ``published``: ε/(3T) for
        each classifier, error, and weights, which need none.
    """

    error: BRCNoise
    classifier: Objective
    weight_scale: float
    epsilon: float
    calibration: str

    def of_weights(self, t: int) -> Call:
        """Return the call that releases all weights, for the classifier of round t from 0."""
        return call_of(self._weights(t))

    def of_classifier(self, t: int) -> Call:
        """Return the call that releases the classifier of round t from 0."""
        return call_of(self._learned(t))

    def _weights(self, t: int) -> LedgerEntry | None:
        if self.weight_scale == 0:
            return None
        spread = self.error.largest - self.error.smallest
        return LedgerEntry(
            mechanism=LAPLACE,
            what=f"round {t + 1}: weights of all records",
            noise_rate=1 / self.weight_scale,
            sensitivity=spread,
            epsilon=spread / self.weight_scale,
            source=SOURCE,
        )

    def _learned(self, t: int) -> LedgerEntry | None:
        private = is_private(self.epsilon)
        return self.classifier.entry(f"round {t + 1}: classifier", SOURCE) if private else None

    def statement(self, alphas: Sequence[float], public: Sequence[int] | None) -> PrivacyStatement:
        """Make the statement of a fit; see :meth:`BRCNoise.statement`."""
        calls = [
            (self._weights(t), self._learned(t), self.error.estimate_entry(alphas[:t]))
            for t in range(self.error.n_rounds)
        ]
        return state(
            LEARNER,
            epsilon=self.epsilon,
            delta=0.0,
            calibration=self.calibration,
            composition=BASIC,
            ledger=[entry for entries in calls for entry in entries if entry is not None],
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
    """Calibrate Boosting for People.

    Parameters
    ----------
    n : int
        Records.
    n_columns : int
        Private columns, d: rows [x, 1] of scaled columns have an L2 norm of √(d + 1) at most.
    n_rounds : int
        T.
    smallest, largest : float
        Caps of a weight.
    epsilon : float
        May be infinite.
    calibration : str
    """
    parts = 3 if calibration == PUBLISHED else 2
    share = epsilon / parts
    each = share / n_rounds
    square_norm = n_columns + 1.0
    classifier = perturbed(
        OBJECTIVE_PERTURBATION,
        epsilon=each,
        curvature_share=CURVATURE_SHARE,
        gradient=largest * math.sqrt(square_norm),
        square_norm=largest * square_norm,
        least_penalty=1.0,
    )
    error = BRCNoise(LEARNER, n, n_rounds, smallest, largest, share, 0.0, calibration)
    noisy = calibration != CERTIFIED and is_private(epsilon)
    return PeopleNoise(
        error, classifier, (largest - smallest) / each if noisy else 0.0, epsilon, calibration
    )
