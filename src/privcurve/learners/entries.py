"""The table of learners: what there are, and what may be asked of each. Facts only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from privcurve.learners import costs
from privcurve.learners.entry import LearnerEntry, Parameter
from privcurve.privacy.budget import (
    ADD_REMOVE,
    CERTIFIED,
    PRIVATE_COLUMNS,
    PUBLISHED,
    REPLACE_ONE,
)

BOTH = (PUBLISHED, CERTIFIED)

_MECHANISM = Parameter("auto", choices=("auto", "permute_and_flip", "exponential"))
_HALF_SPACES = {
    "n_rounds": Parameter(25, int, low=1, size=True),
    "largest": Parameter(2**0.5, float, low=1),
    "smallest": Parameter(0.5**0.5, float, low=0, high=1, open_low=True),
}
_START = Parameter("none", choices=("none", "public"), with_public=("public",))
_INPUTS = {
    "columns": Parameter(
        "all", choices=("all", "public", "private"), with_public=("public", "private")
    ),
    "encoding": Parameter("one_hot", choices=("one_hot", "scaled")),
}
_C = Parameter(1.0, float, low=0, open_low=True)
_TREE = {
    "depth": Parameter(3, int, low=1, high=10, size=True, used_with={"n_splits": (None,)}),
    "n_splits": Parameter(None, int, low=1, high=255),
    "criterion": Parameter("gini", choices=("gini", "entropy", "root_gini", "zero_one")),
    "splits": Parameter("equality", choices=("equality", "threshold")),
    "leaves": Parameter("labels", choices=("labels", "rules")),
    "split_share": Parameter(None, float, 0, 1, open_low=True, open_high=True),
}
_BOOSTED_TREE = {
    name: replace(known, used_with={**known.used_with, "weak_learner": ("topdown",)})
    for name, known in _TREE.items()
}

_ENTRIES = (
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
            "mechanism": _MECHANISM,
            "ties": Parameter("auto", choices=("auto", "last_round", "negative")),
            **_BOOSTED_TREE,
            "start": _START,
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
        parameters={"mechanism": _MECHANISM},
        seconds=costs.one_rule,
    ),
    LearnerEntry(
        name="topdown",
        path="privcurve.learners.topdown:TopDownTreeClassifier",
        version=1,
        title="DP-TopDown tree",
        calibrations=BOTH,
        approximate=True,
        parameters={**_TREE, "mechanism": _MECHANISM},
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
            "C": _C,
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
            "C": _C,
            **_INPUTS,
            "noise": Parameter("ball", choices=("ball", "box")),
            "start": replace(_START, used_with={"noise": ("box",)}),
            "curvature_share": Parameter(
                0.1, float, 0, 1, open_low=True, open_high=True, used_with={"noise": ("box",)}
            ),
        },
        seconds=costs.logistic_regression,
        neighbours=(REPLACE_ONE, PRIVATE_COLUMNS),
    ),
    LearnerEntry(
        name="brc",
        path="privcurve.learners.brc:BRCClassifier",
        version=1,
        title="BRC",
        calibrations=BOTH,
        approximate=True,
        parameters={
            **_HALF_SPACES,
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
        parameters={**_HALF_SPACES},
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
            "start": _START,
        },
        seconds=costs.noisy_bayes,
        neighbours=(REPLACE_ONE, PRIVATE_COLUMNS),
    ),
    LearnerEntry(
        name="dp_ebm",
        path="privcurve.learners.peers.ebm:DPExplainableBoostingClassifier",
        version=1,
        title="DP-EBM (interpret)",
        calibrations=(PUBLISHED,),
        approximate=True,
        parameters={
            "learning_rate": Parameter(0.1, float, low=0, open_low=True),
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
        version=1,
        title="Random forest (diffprivlib)",
        calibrations=(PUBLISHED,),
        approximate=False,
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
        version=1,
        title="Decision tree (diffprivlib)",
        calibrations=(PUBLISHED,),
        approximate=False,
        parameters={"max_depth": Parameter(5, int, low=1, high=16, size=True)},
        seconds=costs.dpl_trees,
        neighbours=(ADD_REMOVE,),
        peer=True,
    ),
    LearnerEntry(
        name="logistic_regression",
        path="privcurve.learners.linear:LogisticRegressionClassifier",
        version=1,
        title="Logistic regression",
        calibrations=(),
        approximate=False,
        parameters={"C": _C, **_INPUTS},
        seconds=costs.logistic_regression,
        neighbours=(REPLACE_ONE, PRIVATE_COLUMNS),
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
    ),
)

LEARNERS: Mapping[str, LearnerEntry] = {entry.name: entry for entry in _ENTRIES}
