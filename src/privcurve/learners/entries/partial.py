"""Partially private features, and what a public start is worth beside it."""

from __future__ import annotations

from privcurve.learners import costs
from privcurve.learners.entries.parameters import BOTH, START
from privcurve.learners.entry import LearnerEntry, Parameter
from privcurve.privacy.budget import CERTIFIED, PRIVATE_COLUMNS, REPLACE_ONE

HALF_SPACES = {
    "n_rounds": Parameter(25, int, low=1, size=True),
    "largest": Parameter(2**0.5, float, low=1),
    "smallest": Parameter(0.5**0.5, float, low=0, high=1, open_low=True),
}

ENTRIES: tuple[LearnerEntry, ...] = (
    LearnerEntry(
        name="brc",
        path="privcurve.learners.brc:BRCClassifier",
        version=2,
        title="BRC",
        calibrations=BOTH,
        approximate=True,
        parameters={
            **HALF_SPACES,
            "intercept": Parameter("uniform", choices=("uniform", "zero", "threshold", "em")),
            "intercept_share": Parameter(
                0.5, float, 0, 1, open_low=True, open_high=True, used_with={"intercept": ("em",)}
            ),
            "estimate": Parameter("error", choices=("error", "edge")),
            "weights": Parameter("clipped", choices=("clipped", "adaboost")),
            "algorithm": Parameter("auto", choices=("auto", "private")),
            "n_kept": Parameter(None, int, low=1),
        },
        seconds=costs.brc,
        neighbours=(REPLACE_ONE, PRIVATE_COLUMNS),
    ),
    LearnerEntry(
        name="boosting_for_people",
        path="privcurve.learners.boosting_for_people:BoostingForPeopleClassifier",
        version=1,
        title="Boosting for People",
        calibrations=BOTH,
        approximate=False,
        parameters={**HALF_SPACES},
        seconds=costs.boosting_for_people,
        neighbours=(REPLACE_ONE, PRIVATE_COLUMNS),
    ),
    LearnerEntry(
        name="pate",
        path="privcurve.learners.pate:PATEClassifier",
        version=1,
        title="PATE",
        calibrations=BOTH,
        approximate=False,
        parameters={
            "n_teachers": Parameter(50, int, low=1, size=True),
            "n_answers": Parameter(None, int, low=1),
        },
        seconds=costs.pate,
        neighbours=(PRIVATE_COLUMNS,),
    ),
    LearnerEntry(
        name="noisy_bayes",
        path="privcurve.learners.noisy_bayes:NoisyBayesClassifier",
        version=1,
        title="Noisy naive Bayes",
        calibrations=(CERTIFIED,),
        approximate=True,
        parameters={
            "n_columns": Parameter(None, int, low=1),
            "choice_share": Parameter(0.3, float, 0, 1, open_low=True, open_high=True),
            "damping": Parameter(1.0, float, 0, 1, open_low=True),
            "smoothing": Parameter(5.0, float, low=0, open_low=True),
            "start": START,
        },
        seconds=costs.noisy_bayes,
        neighbours=(REPLACE_ONE, PRIVATE_COLUMNS),
    ),
)
