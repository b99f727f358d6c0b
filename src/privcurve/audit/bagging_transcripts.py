"""Transcripts of DP bagging: its student, which is all that it releases."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from privcurve.audit.fits import sample_numbered
from privcurve.audit.pairs import Pair, Records
from privcurve.coding import Codes
from privcurve.learners.dp_bagging import DPBaggingClassifier

# Further digits are rounding, of which no statement claims anything.
DIGITS = 6


def sample_students(
    learner: DPBaggingClassifier, pair: Pair, side: Records, n: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Train n times, and number the coefficients of each student.

    A student is a function of the queries and their answers, in whatever order, and takes
    nearly all of the time of a fit. There are few on tiny data: each is trained once.

    Parameters
    ----------
    learner : DPBaggingClassifier
        Not fitted.
    pair : Pair
        Not used.
    side : Records
        What is trained on.
    n : int
    rng : numpy.random.Generator

    Returns
    -------
    ndarray of shape (n,)
    """
    students: dict[bytes, DPBaggingClassifier] = {}

    class Remembering(DPBaggingClassifier):
        def _train_student(self, pool: Codes, answers: NDArray[np.int8]) -> None:
            order = np.lexsort([answers, *pool.T])
            key = pool[order].tobytes() + answers[order].tobytes()
            if key not in students:
                super()._train_student(pool[order], answers[order])
                students[key] = self
            known = students[key]
            self.coef_, self.intercept_ = known.coef_, known.intercept_

    def released(model: DPBaggingClassifier) -> list[NDArray[np.float64]]:
        # Adding 0 makes one of the two zeros.
        return [np.round([*model.coef_, model.intercept_], DIGITS) + 0.0]

    remembering = Remembering(**learner.get_params(deep=False))
    return sample_numbered(released, remembering, side, n, rng)
