"""The thesis: smooth boosting, its weak learners, and what it is compared with."""

from __future__ import annotations

from dataclasses import replace

from privcurve.learners import costs
from privcurve.learners.entries.parameters import BOTH, INPUTS, MECHANISM, START, TREE, C
from privcurve.learners.entry import LearnerEntry, Parameter
from privcurve.privacy.budget import CERTIFIED, PRIVATE_COLUMNS, REPLACE_ONE

BOOSTED_TREE = {
    name: replace(known, used_with={**known.used_with, "weak_learner": ("topdown",)})
    for name, known in TREE.items()
}

ENTRIES: tuple[LearnerEntry, ...] = (
    LearnerEntry(
        name="lazybb",
        path="privcurve.learners.lazybb:LazyBBClassifier",
        version=2,
        title="LazyBB, 1-rules",
        calibrations=BOTH,
        approximate=True,
        parameters={
            "weak_learner": Parameter("one_rule", choices=("one_rule", "topdown")),
            "n_rounds": Parameter(39, int, low=1, size=True),
            "learning_rate": Parameter(0.45, float, low=0, high=1, open_low=True),
            "density": Parameter(0.35, float, low=0, high=1, open_low=True),
            "mechanism": MECHANISM,
            "ties": Parameter("auto", choices=("auto", "last_round", "negative")),
            **BOOSTED_TREE,
            "start": START,
            "vote_worth": Parameter(
                None, float, low=0, open_low=True, used_with={"start": ("public",)}
            ),
        },
        seconds=costs.boosting,
        neighbours=(REPLACE_ONE, PRIVATE_COLUMNS),
        shared=("n_rounds",),
    ),
    LearnerEntry(
        name="one_rule",
        path="privcurve.learners.one_rule:OneRuleClassifier",
        version=1,
        title="1-rule",
        calibrations=BOTH,
        approximate=True,
        parameters={"mechanism": MECHANISM},
        seconds=costs.one_rule,
    ),
    LearnerEntry(
        name="topdown",
        path="privcurve.learners.topdown:TopDownTreeClassifier",
        version=1,
        title="DP-TopDown tree",
        calibrations=BOTH,
        approximate=True,
        parameters={**TREE, "mechanism": MECHANISM},
        seconds=costs.topdown,
    ),
    LearnerEntry(
        name="dpboost",
        path="privcurve.learners.dpboost:DPBoostClassifier",
        version=1,
        title="DPBoost",
        calibrations=BOTH,
        approximate=True,
        parameters={
            "n_trees": Parameter(50, int, low=1, size=True),
            "trees_per_ensemble": Parameter(50, int, low=1),
            "max_depth": Parameter(6, int, low=1, high=12, size=True),
            "learning_rate": Parameter(0.1, float, low=0, high=1, open_low=True),
            "regularisation": Parameter(0.1, float, low=0),
            "chunks": Parameter("geometric", choices=("geometric", "equal")),
            "splits": Parameter("threshold", choices=("threshold", "equality")),
        },
        seconds=costs.dpboost,
    ),
    LearnerEntry(
        name="dp_bagging",
        path="privcurve.learners.dp_bagging:DPBaggingClassifier",
        version=1,
        title="DP bagging",
        calibrations=(CERTIFIED,),
        approximate=True,
        parameters={
            "n_teachers": Parameter(300, int, low=1, size=True),
            "n_partitions": Parameter(10, int, low=1, size=True),
            "n_queries": Parameter(300, int, low=1, size=True),
            "C": C,
        },
        seconds=costs.dp_bagging,
    ),
    LearnerEntry(
        name="dp_logistic_regression",
        path="privcurve.learners.linear:DPLogisticRegressionClassifier",
        version=1,
        title="DP logistic regression",
        calibrations=BOTH,
        approximate=False,
        parameters={
            "C": C,
            **INPUTS,
            "noise": Parameter("ball", choices=("ball", "box")),
            "start": replace(START, used_with={"noise": ("box",)}),
            "curvature_share": Parameter(
                0.1, float, 0, 1, open_low=True, open_high=True, used_with={"noise": ("box",)}
            ),
        },
        seconds=costs.logistic_regression,
        neighbours=(REPLACE_ONE, PRIVATE_COLUMNS),
    ),
)
