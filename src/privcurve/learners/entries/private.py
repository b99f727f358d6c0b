"""The project's private learners, and the hyperparameters that several of them have."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from privcurve.learners.entries import costs
from privcurve.learners.entry import ANY, LearnerEntry, Parameter
from privcurve.privacy.budget import ADD_REMOVE, PRIVATE_COLUMNS, PROVED, PUBLISHED, REPLACE_ONE

BOTH = (PUBLISHED, PROVED)
OF_PUBLISHED, OF_PROVED = {ANY: PUBLISHED}, {ANY: PROVED}

# Mixed bins of a column that are best where single ones are asked for, and where each has a number
# of its own, by public tables (docs/research/coding.md).
FEW, SOME = 8, 12


def positive(default: float | None, **more: Any) -> Parameter:
    """Return a parameter that is a number above 0."""
    return Parameter(default, float, low=0, open_low=True, **more)


def share(default: float | None, **more: Any) -> Parameter:
    """Return a parameter that is a part of a whole, neither none nor all of it."""
    return Parameter(default, float, 0, 1, open_low=True, open_high=True, **more)


def part(default: float, **more: Any) -> Parameter:
    """Return a parameter that is a part of a whole, and may be all of it."""
    return Parameter(default, float, 0, 1, open_low=True, **more)


MECHANISM = Parameter("auto", choices=("auto", "permute_and_flip", "exponential"))
TREE = {
    "depth": Parameter(3, int, low=1, high=10, size=True, used_with={"n_splits": (None,)}),
    "n_splits": Parameter(None, int, low=1, high=255, only=OF_PUBLISHED),
    "criterion": Parameter("gini", choices=("gini", "entropy", "root_gini", "zero_one")),
    "splits": Parameter("equality", choices=("equality", "threshold"), only=OF_PROVED),
    "leaves": Parameter("labels", choices=("labels", "rules")),
    "split_share": share(None),
}
START = Parameter("none", choices=("none", "public"), with_public=("public",))
INPUTS = {
    "columns": Parameter(
        "all", choices=("all", "public", "private"), with_public=("public", "private")
    ),
    "encoding": Parameter("one_hot", choices=("one_hot", "scaled")),
}
C = positive(1.0)

BOOSTED_TREE = {
    name: replace(parameter, used_with={**parameter.used_with, "weak_learner": ("topdown",)})
    for name, parameter in TREE.items()
}

HALF_SPACES = {
    "n_rounds": Parameter(25, int, low=1, size=True),
    "largest": Parameter(math.sqrt(2), float, low=1),
    "smallest": part(math.sqrt(0.5)),
}

SHARED = ("noisy_counts", "local_rnm")
# Which party has a record follows from its values.
BY_VALUE = (
    "records are dealt to parties by their values, so that one replaced record may move, and "
    "change what several parties send"
)
HOLDERS = {
    "n_holders": Parameter(4, int, low=1, high=1000),
    "n_colluding": Parameter(0, int, low=0, high=999, used_with={"trust": ("secure_sum",)}),
    "placement": Parameter(
        "random",
        choices=("random", "sizes", "label", "column"),
        unproved={"label": BY_VALUE, "column": BY_VALUE},
    ),
}
TRUSTS = ("central", "local", "secure_sum")

# Shared by the learners with Gaussian noise on sums of all columns at once.
GAUSSIAN: dict[str, Any] = {
    "calibrations": (PROVED,),
    "approximate": True,
    "pure": False,
    "takes": ("ordered",),
    "neighbours": (REPLACE_ONE, ADD_REMOVE),
}
GROUPS = Parameter(16, int, low=2)

_CHOSEN = {"splits": ("chosen",)}

ENTRIES: tuple[LearnerEntry, ...] = (
    # The thesis: smooth boosting, its weak learners, and what it is compared with.
    LearnerEntry(
        name="lazybb",
        path="privcurve.learners.lazybb:LazyBBClassifier",
        version=3,
        title="LazyBB, 1-rules",
        calibrations=BOTH,
        approximate=True,
        parameters={
            "weak_learner": Parameter("one_rule", choices=("one_rule", "topdown")),
            "n_rounds": Parameter(39, int, low=1, size=True),
            "learning_rate": part(0.45),
            "density": part(0.35),
            "mechanism": MECHANISM,
            "ties": Parameter("auto", choices=("auto", "last_round", "negative")),
            **BOOSTED_TREE,
            "start": START,
            "vote_worth": positive(None, used_with={"start": ("public",)}),
        },
        seconds=costs.boosting,
        neighbours=(REPLACE_ONE, PRIVATE_COLUMNS),
        shared=("n_rounds",),
        few_bins=FEW,
        few_with={"splits": ("equality",)},
    ),
    LearnerEntry(
        name="one_rule",
        path="privcurve.learners.one_rule:OneRuleClassifier",
        version=2,
        title="1-rule",
        calibrations=BOTH,
        approximate=True,
        parameters={"mechanism": MECHANISM},
        seconds=costs.one_rule,
        few_bins=FEW,
    ),
    LearnerEntry(
        name="topdown",
        path="privcurve.learners.trees:TopDownTreeClassifier",
        version=2,
        title="DP-TopDown tree",
        calibrations=BOTH,
        approximate=True,
        parameters={**TREE, "mechanism": MECHANISM},
        seconds=costs.topdown,
        few_bins=FEW,
        few_with={"splits": ("equality",)},
    ),
    LearnerEntry(
        name="dpboost",
        path="privcurve.learners.boosting.dpboost:DPBoostClassifier",
        version=4,
        title="DPBoost",
        calibrations=BOTH,
        approximate=True,
        parameters={
            "n_trees": Parameter(50, int, low=1, size=True),
            "trees_per_ensemble": Parameter(50, int, low=1),
            "max_depth": Parameter(6, int, low=1, high=12, size=True),
            "learning_rate": part(0.1),
            "regularisation": Parameter(0.1, float, low=0),
            "chunks": Parameter("geometric", choices=("geometric", "equal")),
            "splits": Parameter("threshold", choices=("threshold", "equality")),
        },
        seconds=costs.dpboost,
    ),
    LearnerEntry(
        name="dp_bagging",
        path="privcurve.learners.dp_bagging:DPBaggingClassifier",
        version=3,
        title="DP bagging",
        calibrations=(PROVED,),
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
        path="privcurve.learners.linear.linear:DPLogisticRegressionClassifier",
        version=2,
        title="DP logistic regression",
        calibrations=BOTH,
        parameters={
            "C": C,
            **INPUTS,
            "noise": Parameter("ball", choices=("ball", "box"), only=OF_PROVED),
            "start": replace(START, used_with={"noise": ("box",)}),
            "curvature_share": share(0.1, used_with={"noise": ("box",)}),
        },
        seconds=costs.logistic_regression,
        neighbours=(REPLACE_ONE, PRIVATE_COLUMNS),
        few_bins=SOME,
    ),
    # Partially private features, and what a public start is worth beside it.
    LearnerEntry(
        name="brc",
        path="privcurve.learners.brc:BRCClassifier",
        version=5,
        title="BRC",
        calibrations=BOTH,
        approximate=True,
        parameters={
            **HALF_SPACES,
            "intercept": Parameter("uniform", choices=("uniform", "zero", "threshold", "em")),
            "intercept_share": share(0.5, used_with={"intercept": ("em",)}),
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
        path="privcurve.learners.brc:BoostingForPeopleClassifier",
        version=3,
        title="Boosting for People",
        calibrations=BOTH,
        parameters=HALF_SPACES,
        seconds=costs.boosting_for_people,
        neighbours=(REPLACE_ONE, PRIVATE_COLUMNS),
    ),
    LearnerEntry(
        name="pate",
        path="privcurve.learners.pate:PATEClassifier",
        version=3,
        title="PATE",
        calibrations=BOTH,
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
        version=3,
        title="Noisy naive Bayes",
        calibrations=(PROVED,),
        approximate=True,
        parameters={
            "n_columns": Parameter(None, int, low=1),
            "choice_share": share(0.3),
            "damping": part(1.0),
            "smoothing": positive(5.0),
            "start": START,
        },
        seconds=costs.noisy_bayes,
        neighbours=(REPLACE_ONE, PRIVATE_COLUMNS),
        few_bins=SOME,
        in_parts={"start": ("none",)},
    ),
    # Trees of several data holders.
    LearnerEntry(
        name="distributed_topdown",
        path="privcurve.learners.distributed_topdown:DistributedTopDownClassifier",
        version=5,
        title="Distributed DP-TopDown",
        calibrations=BOTH,
        approximate=True,
        parameters={
            "protocol": Parameter("noisy_counts", choices=("single", *SHARED)),
            "trust": Parameter(None, choices=TRUSTS, used_with={"protocol": SHARED}),
            **HOLDERS,
            "criterion": Parameter("gini", choices=("gini", "entropy", "root_gini", "zero_one")),
            "budget": Parameter(None, choices=("decay", "uniform", "levels")),
            "leaf_share": share(None, only=OF_PUBLISHED),
            "n_splits": Parameter(None, int, low=1, high=10_000, only=OF_PUBLISHED),
            "depth": Parameter(None, int, low=1, high=80),
            "vote_share": share(0.4, used_with={"protocol": ("local_rnm",)}),
            "smallest_weight": Parameter(0.1, float, low=0, only=OF_PUBLISHED),
            "smallest_gain": Parameter(0.01, float, low=0, only=OF_PUBLISHED),
        },
        seconds=costs.distributed_topdown,
        needs=("ordered",),
        multiclass=True,
    ),
    LearnerEntry(
        name="random_trees",
        path="privcurve.learners.random_trees:RandomTreesClassifier",
        version=4,
        title="Random trees",
        calibrations=(PROVED,),
        approximate=True,
        pure=False,
        parameters={
            "n_trees": Parameter(100, int, low=1, high=10_000, size=True),
            "depth": Parameter(4, int, low=1, high=12, size=True),
            "batch": Parameter(5, int, low=1),
            "learning_rate": positive(1.0),
            "trust": Parameter("secure_sum", choices=TRUSTS),
            **HOLDERS,
        },
        seconds=costs.random_trees,
        needs=("ordered",),
        multiclass=True,
        in_parts={"trust": ("central",)},
    ),
    # Nock and Henecka 2022: boosted private trees, and the private forests they are compared with.
    LearnerEntry(
        name="bdpe",
        path="privcurve.learners.bdpe:BDPEClassifier",
        version=4,
        title="BDPEα",
        calibrations=BOTH,
        approximate=True,
        parameters={
            "n_trees": Parameter(5, int, low=1, size=True),
            "depth": Parameter(3, int, low=1, high=10, size=True),
            "alpha": Parameter(0.0, float, low=0, high=1, used_with=_CHOSEN),
            "alpha_decay": part(
                1.0, used_with={**_CHOSEN, "calibrate_alpha": ("no",)}, only=OF_PROVED
            ),
            "calibrate_alpha": Parameter(
                "no",
                choices=("no", "exact", "released"),
                used_with=_CHOSEN,
                only={"exact": PUBLISHED, "released": PROVED},
            ),
            "boost_alpha": part(1.0),
            "tree_share": Parameter(None, float, low=0, high=1, open_high=True, used_with=_CHOSEN),
            "clamp": positive(10.0, used_with={"votes": (None, "link")}),
            "splits": Parameter("chosen", choices=("chosen", "random"), only=OF_PROVED),
            "votes": Parameter(
                None,
                choices=("link", "shrunk", "sign"),
                only={"shrunk": PROVED, "sign": PROVED},
            ),
            "step": positive(1.0, used_with={"votes": (None, "shrunk", "sign")}),
            "leverage": Parameter(None, choices=("exact", "constant"), only=OF_PUBLISHED),
        },
        seconds=costs.boosted_ensemble,
    ),
    LearnerEntry(
        name="dp_forest",
        path="privcurve.learners.dp_forest:DPForestClassifier",
        version=4,
        title="DP forest of random trees",
        calibrations=BOTH,
        parameters={
            "n_trees": Parameter(7, int, low=1, size=True),
            "depth": Parameter(4, int, low=1, high=10, size=True),
            "leaves": Parameter("laplace", choices=("laplace", "exponential")),
            "votes": Parameter(
                "sign",
                choices=("sign", "shrunk"),
                used_with={"leaves": ("laplace",)},
                only=OF_PROVED,
            ),
        },
        seconds=costs.random_forest,
    ),
    LearnerEntry(
        name="noisy_majority",
        path="privcurve.learners.majority:NoisyMajorityClassifier",
        version=3,
        title="Noisy majority",
        calibrations=(PROVED,),
        seconds=costs.majority,
    ),
    # An additive model, by a trained network whose settings follow from a public rule.
    LearnerEntry(
        name="privgam",
        path="privcurve.learners.additive.privgam:PrivGAMClassifier",
        version=8,
        class_version=5,
        weights="3098be2f7754fd73710240d650a1065d340cf3266e84e8f415bc65b417b75a46",
        title="PrivGAM",
        calibrations=(PROVED,),
        approximate=True,
        parameters={"n_estimate": Parameter(None, int, low=1)},
        seconds=costs.privgam,
        takes=("ordered",),
        neighbours=(REPLACE_ONE, ADD_REMOVE),
        multiclass=True,
        slow_by_class=True,
        in_parts={},
    ),
    # Logistic regression on one-hot codes, all columns at once.
    LearnerEntry(
        name="dp_newton",
        path="privcurve.learners.linear.dp_newton:DPNewtonClassifier",
        version=4,
        title="DP joint Newton",
        **GAUSSIAN,
        parameters={
            "n_steps": Parameter(8, int, low=1, size=True),
            "gram_share": share(0.25),
            "n_groups": GROUPS,
        },
        seconds=costs.dp_newton,
    ),
    LearnerEntry(
        name="dp_gradient_descent",
        path="privcurve.learners.linear.dp_gradient_descent:DPGradientDescentClassifier",
        version=3,
        title="DP gradient descent",
        **GAUSSIAN,
        parameters={
            "n_steps": Parameter(30, int, low=1, size=True),
            "learning_rate": positive(2.0),
            "n_groups": GROUPS,
            "n_estimate": Parameter(None, int, low=1),
        },
        seconds=costs.dp_gradient_descent,
    ),
    # Tang and others 2023: least squares in its place.
    LearnerEntry(
        name="boosted_adassp",
        path="privcurve.learners.linear.boosted_adassp:BoostedAdaSSPClassifier",
        version=3,
        title="Boosted AdaSSP",
        **GAUSSIAN,
        parameters={
            "n_rounds": Parameter(10, int, low=1, size=True),
            "gram_share": share(0.3),
            "n_groups": GROUPS,
        },
        seconds=costs.boosted_adassp,
    ),
    # McKenna, Miklau and Sheldon 2021: synthetic records of a tree of columns, then boosting.
    LearnerEntry(
        name="mst",
        path="privcurve.learners.boosting.mst:MSTClassifier",
        version=4,
        title="MST, then boosting",
        **GAUSSIAN,
        parameters={
            "n_rounds": Parameter(100, int, low=1, size=True),
            "n_groups": GROUPS,
            "most_records": Parameter(20_000, int, low=1),
        },
        seconds=costs.mst,
    ),
    # McKenna, Mullins, Sheldon and Miklau 2022: the same of a graphical model, in rounds.
    LearnerEntry(
        name="aim",
        path="privcurve.learners.boosting.aim:AIMClassifier",
        version=4,
        title="AIM, then boosting",
        **GAUSSIAN,
        parameters={
            "n_rounds": Parameter(100, int, low=1, size=True),
            "n_groups": GROUPS,
            "most_records": Parameter(20_000, int, low=1),
            "most_cells": Parameter(2**17, int, low=1),
        },
        seconds=costs.aim,
    ),
)
