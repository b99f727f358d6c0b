"""Transcripts of DP bagging: its student, which is all that it releases."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from privcurve.audit.attacks.any_learner import sampled, whole_state
from privcurve.audit.attacks.pairs import alone_in_two_bins, nine_balanced, rare_in_part
from privcurve.audit.claim import Attack, Claim
from privcurve.audit.fits import sample_numbered
from privcurve.audit.pairs import Pair, Records
from privcurve.audit.states import States, sample_states
from privcurve.coding import Codes
from privcurve.learners.dp_bagging import DPBaggingClassifier
from privcurve.privacy.budget import CERTIFIED

# Further digits are rounding, of which no statement claims anything.
DIGITS = 6


def _remembering(learner: DPBaggingClassifier) -> DPBaggingClassifier:
    """Give a learner of the same fits, which trains each student once.

    A student is a function of the queries and their answers, in whatever order, and takes
    nearly all of the time of a fit. There are few on tiny data.
    """
    students: dict[bytes, DPBaggingClassifier] = {}

    class Remembering(type(learner)):  # type: ignore[misc]
        def _train_student(self, pool: Codes, answers: NDArray[np.int8]) -> None:
            order = np.lexsort([answers, *pool.T])
            key = pool[order].tobytes() + answers[order].tobytes()
            if key not in students:
                super()._train_student(pool[order], answers[order])
                students[key] = self
            known = students[key]
            self.coef_, self.intercept_ = known.coef_, known.intercept_
            self.n_features_used_ = known.n_features_used_

    made: DPBaggingClassifier = Remembering(**learner.get_params(deep=False))
    return made


def sample_students(
    learner: DPBaggingClassifier, pair: Pair, side: Records, n: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Train n times, and number the coefficients of each student.

    All but the pair, which is not used, is given as to :func:`~privcurve.audit.fits.fits`.

    Returns
    -------
    ndarray of shape (n,)
    """

    def released(model: DPBaggingClassifier) -> list[NDArray[np.float64]]:
        # Adding 0 makes one of the two zeros.
        return [np.round([*model.coef_, model.intercept_], DIGITS) + 0.0]

    return sample_numbered(released, _remembering(learner), side, n, rng)


def sample_whole_students(
    learner: DPBaggingClassifier, pair: Pair, side: Records, n: int, rng: np.random.Generator
) -> States:
    """Train n times, and take all that a fit leaves: ``sample_states`` in less time."""
    return sample_states(_remembering(learner), pair, side, n, rng)


def _dp_bagging() -> Iterator[Claim]:
    two = {"n_teachers": 1, "n_partitions": 1, "n_queries": 2}
    four = {"n_teachers": 1, "n_partitions": 1, "n_queries": 4}
    some = {"n_teachers": 20, "n_partitions": 2, "n_queries": 5}
    for pairs, setting, delta in (
        (nine_balanced, two, 0.0),
        (alone_in_two_bins, two, 0.0),
        (alone_in_two_bins, four, 1e-2),
    ):
        yield sampled("dp_bagging", CERTIFIED, setting, 20_000, pairs, delta, sample_students)
    yield sampled("dp_bagging", CERTIFIED, some, 500, rare_in_part)
    parts = {"n_teachers": 2, "n_partitions": 2, "n_queries": 2}
    for n_trainings, delta in ((10_000, 0.0), (4_000, 1e-2)):
        yield whole_state(
            "dp_bagging",
            CERTIFIED,
            parts,
            n_trainings,
            delta=delta,
            sample=sample_whole_students,
        )


RELEASED = {
    "coef_": "of the student, which sees queries from the public domain and noisy answers",
    "intercept_": "of the student",
}

ATTACKS = (Attack("dp_bagging", tuple(_dp_bagging()), RELEASED),)
