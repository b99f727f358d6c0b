"""PATE with public columns: answers about training records, as real fits give them.

A fit keeps its teachers, who are not private: what is claimed is about answers. So the attack
sees the answers to training records and the student, and no more.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from privcurve.audit.claim import Attack, Claim
from privcurve.audit.fits import untrained
from privcurve.audit.pairs import Pair, Records, Target, records
from privcurve.coding import Codes
from privcurve.learners.pate import PATEClassifier
from privcurve.learners.public_part import LinearScore
from privcurve.privacy.budget import CERTIFIED, PRIVATE_COLUMNS, PUBLISHED
from privcurve.privacy.curator import Curator

N_TEACHERS = 5

# A record that has the codes and the label that the one that moves has on the left.
EQUAL = 2


def own_answer(c: Claim, target: Target) -> list[Pair]:
    """Give one positive record among twenty whose label is their code; it moves.

    Its own answer goes from all teachers for it to all against it.
    """
    codes = [[i % 2] for i in range(20)]
    signs = [1, *(2 * (i % 2) - 1 for i in range(20))]
    left, right = (records([[code], *codes], signs, [2]) for code in (1, 0))
    return [Pair("tiny", "a record's own answer", left, right, 0, PRIVATE_COLUMNS, (0,))]


class _Answers(PATEClassifier):
    """A PATE learner that keeps what it answered in training, and trains no student."""

    def _train_student(
        self, codes: Codes, signs: NDArray[np.int8], positive: NDArray[np.bool_]
    ) -> LinearScore:
        self.answers_ = positive
        return LinearScore(np.zeros(1), 0.0)


def sample_sums(
    learner: PATEClassifier, pair: Pair, side: Records, n: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Train n times; give the record's own answer, and that of one it equals on the left.

    Records of equal label and codes come in one place, one after another.
    """
    blank = untrained(learner, side)
    blank.__class__ = _Answers
    places = _places(side)[[pair.where, EQUAL]]
    found = np.empty(n, dtype=np.int64)
    for i in range(n):
        blank._fit_one(side.coded, Curator(rng))
        mine, equal = blank.answers_[places]
        found[i] = mine + 2 * equal
    return found


def _places(side: Records) -> NDArray[np.intp]:
    """Give the place of each record in the learner's order: by label, then codes."""
    order = np.lexsort([side.codes[:, 0], side.signs > 0])
    place = np.empty(len(order), dtype=np.intp)
    place[order] = np.arange(len(order))
    return place


def _pate() -> Iterator[Claim]:
    for calibration in (PUBLISHED, CERTIFIED):
        yield Claim(
            "pate",
            calibration,
            1.0,
            own_answer,
            0.0,
            {"n_teachers": N_TEACHERS, "public_columns": ()},
            sample=sample_sums,
            n_trainings=800,
            neighbours=PRIVATE_COLUMNS,
        )


RELEASED = {
    "student_": "a function of public columns, labels and noisy answers",
    "_teachers": "not private, and not released: what is claimed is about answers",
    "_key": "drawn at random",
    "_scale": "of the noise, from parameters",
    "_left": "answers that are left, from parameters and the number of records",
    "_asked": "what was asked since the fit",
    "_own_rows": "where the rows of the fit are, and whether they were asked about since",
    "_roles": "which columns are public, a parameter",
}

ATTACKS = (Attack("pate", tuple(_pate()), RELEASED),)
