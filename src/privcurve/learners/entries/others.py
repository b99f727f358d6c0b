"""What the project's learners are compared with: other libraries', and methods without privacy."""

from __future__ import annotations

from privcurve.learners import costs
from privcurve.learners.entries.private import INPUTS, C, positive
from privcurve.learners.entry import LearnerEntry, Parameter
from privcurve.privacy.budget import ADD_REMOVE, PRIVATE_COLUMNS, PUBLISHED, REPLACE_ONE

ENTRIES: tuple[LearnerEntry, ...] = (
    # Other libraries' methods.
    LearnerEntry(
        name="dp_ebm",
        path="privcurve.learners.peers.ebm:DPExplainableBoostingClassifier",
        title="DP-EBM (interpret)",
        calibrations=(PUBLISHED,),
        approximate=True,
        parameters={
            "learning_rate": positive(0.1),
            "max_rounds": Parameter(300, int, low=1, size=True),
            "max_bins": Parameter(32, int, low=3),
            "max_leaves": Parameter(3, int, low=2),
            "composition": Parameter("gdp", choices=("gdp", "classic")),
        },
        seconds=costs.dp_ebm,
        pure=False,
        neighbours=(ADD_REMOVE,),
        requires="interpret",
        peer=True,
    ),
    LearnerEntry(
        name="dpl_random_forest",
        path="privcurve.learners.peers.diffprivlib:DiffprivlibRandomForestClassifier",
        title="Random forest (diffprivlib)",
        calibrations=(PUBLISHED,),
        parameters={
            "n_estimators": Parameter(10, int, low=1, size=True),
            "max_depth": Parameter(5, int, low=1, high=16, size=True),
        },
        seconds=costs.dpl_trees,
        neighbours=(ADD_REMOVE,),
        peer=True,
    ),
    LearnerEntry(
        name="dpl_decision_tree",
        path="privcurve.learners.peers.diffprivlib:DiffprivlibDecisionTreeClassifier",
        title="Decision tree (diffprivlib)",
        calibrations=(PUBLISHED,),
        parameters={"max_depth": Parameter(5, int, low=1, high=16, size=True)},
        seconds=costs.dpl_trees,
        neighbours=(ADD_REMOVE,),
        peer=True,
    ),
    # Methods without privacy.
    LearnerEntry(
        name="logistic_regression",
        path="privcurve.learners.linear:LogisticRegressionClassifier",
        title="Logistic regression",
        parameters={"C": C, **INPUTS},
        seconds=costs.logistic_regression,
        slow_by_class=True,
        neighbours=(REPLACE_ONE, PRIVATE_COLUMNS),
        multiclass=True,
    ),
    LearnerEntry(
        name="gradient_boosting",
        path="privcurve.learners.gradient_boosting:GradientBoostingClassifier",
        title="Gradient boosting",
        parameters={
            "n_estimators": Parameter(100, int, low=1, size=True),
            "max_depth": Parameter(3, int, low=1),
            "learning_rate": positive(0.1),
        },
        seconds=costs.gradient_boosting,
    ),
    LearnerEntry(
        name="majority_class",
        path="privcurve.learners.majority:MajorityClassClassifier",
        title="Majority class",
        seconds=costs.majority,
        multiclass=True,
    ),
)
