"""Methods without privacy."""

from __future__ import annotations

from privcurve.learners import costs
from privcurve.learners.entries.parameters import INPUTS, C
from privcurve.learners.entry import LearnerEntry, Parameter
from privcurve.privacy.budget import PRIVATE_COLUMNS, REPLACE_ONE

ENTRIES: tuple[LearnerEntry, ...] = (
    LearnerEntry(
        name="logistic_regression",
        path="privcurve.learners.linear:LogisticRegressionClassifier",
        version=1,
        title="Logistic regression",
        calibrations=(),
        approximate=False,
        parameters={"C": C, **INPUTS},
        seconds=costs.logistic_regression,
        slow_by_class=True,
        neighbours=(REPLACE_ONE, PRIVATE_COLUMNS),
        multiclass=True,
    ),
    LearnerEntry(
        name="gradient_boosting",
        path="privcurve.learners.gradient_boosting:GradientBoostingClassifier",
        version=1,
        title="Gradient boosting",
        calibrations=(),
        approximate=False,
        parameters={
            "n_estimators": Parameter(100, int, low=1, size=True),
            "max_depth": Parameter(3, int, low=1),
            "learning_rate": Parameter(0.1, float, low=0, open_low=True),
        },
        seconds=costs.gradient_boosting,
    ),
    LearnerEntry(
        name="majority_class",
        path="privcurve.learners.majority:MajorityClassClassifier",
        version=1,
        title="Majority class",
        calibrations=(),
        approximate=False,
        parameters={},
        seconds=costs.majority,
        multiclass=True,
    ),
)
