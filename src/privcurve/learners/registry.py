"""What learners there are, and what may be asked of each: facts only, light to import.

The workflow reads this file while it builds the DAG, so nothing heavy is imported
here. An entry names the class by its path; :func:`estimator_class` imports it.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Mapping
from typing import Any

from privcurve.learners import costs
from privcurve.learners.entry import OPTIONAL, LearnerEntry, Parameter
from privcurve.schema import nearest

PUBLISHED = "published"
CERTIFIED = "certified"


_MECHANISM = Parameter(str, choices=("auto", "permute_and_flip", "exponential"))
_TREE = {
    "depth": Parameter(int, low=1, high=10),
    "n_splits": Parameter(int, low=1, high=255, optional=True),
    "criterion": Parameter(str, choices=("gini", "entropy", "root_gini", "zero_one")),
    "splits": Parameter(str, choices=("equality", "threshold")),
    "leaves": Parameter(str, choices=("labels", "rules")),
    "split_share": Parameter(float, 0, 1, open_low=True, open_high=True, optional=True),
}

_ENTRIES = (
    LearnerEntry(
        name="lazybb",
        path="privcurve.learners.lazybb:LazyBBClassifier",
        version=1,
        title="LazyBB, 1-rules",
        calibrations=(PUBLISHED, CERTIFIED),
        approximate=True,
        parameters={
            "weak_learner": Parameter(str, choices=("one_rule", "topdown")),
            "n_rounds": Parameter(int, low=1),
            "learning_rate": Parameter(float, low=0, high=1, open_low=True),
            "density": Parameter(float, low=0, high=1, open_low=True),
            "mechanism": _MECHANISM,
            **_TREE,
        },
        cost=costs.boosting,
        shared=("n_rounds",),
    ),
    LearnerEntry(
        name="one_rule",
        path="privcurve.learners.one_rule:OneRuleClassifier",
        version=1,
        title="1-rule",
        calibrations=(PUBLISHED, CERTIFIED),
        approximate=True,
        parameters={"mechanism": _MECHANISM},
        cost=lambda setting, n_rows, n_columns: costs.boosting({"n_rounds": 1}, n_rows, n_columns),
    ),
    LearnerEntry(
        name="topdown",
        path="privcurve.learners.topdown:TopDownTreeClassifier",
        version=1,
        title="DP-TopDown tree",
        calibrations=(PUBLISHED, CERTIFIED),
        approximate=True,
        parameters={**_TREE, "mechanism": _MECHANISM},
        cost=costs.topdown,
    ),
    LearnerEntry(
        name="dpboost",
        path="privcurve.learners.dpboost:DPBoostClassifier",
        version=1,
        title="DPBoost",
        calibrations=(PUBLISHED, CERTIFIED),
        approximate=True,
        parameters={
            "n_trees": Parameter(int, low=1),
            "trees_per_ensemble": Parameter(int, low=1),
            "max_depth": Parameter(int, low=1, high=12),
            "learning_rate": Parameter(float, low=0, high=1, open_low=True),
            "regularisation": Parameter(float, low=0),
            "chunks": Parameter(str, choices=("geometric", "equal")),
            "splits": Parameter(str, choices=("threshold", "equality")),
        },
        cost=costs.dpboost,
    ),
    LearnerEntry(
        name="dp_bagging",
        path="privcurve.learners.dp_bagging:DPBaggingClassifier",
        version=1,
        title="DP bagging",
        calibrations=(CERTIFIED,),
        approximate=True,
        parameters={
            "n_teachers": Parameter(int, low=1),
            "n_partitions": Parameter(int, low=1),
            "n_queries": Parameter(int, low=1),
            "C": Parameter(float, low=0, open_low=True),
        },
        cost=costs.dp_bagging,
    ),
    LearnerEntry(
        name="dp_logistic_regression",
        path="privcurve.learners.linear:DPLogisticRegressionClassifier",
        version=1,
        title="DP logistic regression",
        calibrations=(PUBLISHED, CERTIFIED),
        approximate=False,
        parameters={"C": Parameter(float, low=0, open_low=True)},
        cost=costs.logistic_regression,
    ),
    LearnerEntry(
        name="brc",
        path="privcurve.learners.brc:BRCClassifier",
        version=1,
        title="BRC",
        calibrations=(PUBLISHED, CERTIFIED),
        approximate=True,
        parameters={
            "n_rounds": Parameter(int, low=1),
            "largest": Parameter(float, low=1),
            "smallest": Parameter(float, low=0, high=1, open_low=True),
            "intercept": Parameter(str, choices=("uniform", "zero", "threshold", "em")),
            "intercept_share": Parameter(float, 0, 1, open_low=True, open_high=True),
            "estimate": Parameter(str, choices=("error", "edge")),
            "weights": Parameter(str, choices=("clipped", "adaboost")),
            "algorithm": Parameter(str, choices=("auto", "partial", "private")),
            "n_kept": Parameter(int, low=1, optional=True),
        },
        cost=costs.brc,
    ),
    LearnerEntry(
        name="dp_ebm",
        path="privcurve.learners.peers.ebm:DPExplainableBoostingClassifier",
        version=1,
        title="DP-EBM (interpret)",
        calibrations=(PUBLISHED,),
        approximate=True,
        parameters={
            "learning_rate": Parameter(float, low=0, open_low=True),
            "max_rounds": Parameter(int, low=1),
            "max_bins": Parameter(int, low=3),
            "max_leaves": Parameter(int, low=2),
            "composition": Parameter(str, choices=("gdp", "classic")),
        },
        cost=costs.dp_ebm,
        pure=False,
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
            "n_estimators": Parameter(int, low=1),
            "max_depth": Parameter(int, low=1, high=16),
        },
        cost=lambda setting, n_rows, n_columns: costs.dpl_tree(
            {"n_estimators": 10, **setting}, n_rows, n_columns
        ),
        peer=True,
    ),
    LearnerEntry(
        name="dpl_decision_tree",
        path="privcurve.learners.peers.diffprivlib:DiffprivlibDecisionTreeClassifier",
        version=1,
        title="Decision tree (diffprivlib)",
        calibrations=(PUBLISHED,),
        approximate=False,
        parameters={"max_depth": Parameter(int, low=1, high=16)},
        cost=costs.dpl_tree,
        peer=True,
    ),
    LearnerEntry(
        name="logistic_regression",
        path="privcurve.learners.linear:LogisticRegressionClassifier",
        version=1,
        title="Logistic regression",
        calibrations=(),
        approximate=False,
        parameters={"C": Parameter(float, low=0, open_low=True)},
        cost=costs.logistic_regression,
    ),
    LearnerEntry(
        name="gradient_boosting",
        path="privcurve.learners.gradient_boosting:GradientBoostingClassifier",
        version=1,
        title="Gradient boosting",
        calibrations=(),
        approximate=False,
        parameters={
            "n_estimators": Parameter(int, low=1),
            "max_depth": Parameter(int, low=1),
            "learning_rate": Parameter(float, low=0, open_low=True),
        },
        cost=costs.gradient_boosting,
    ),
    LearnerEntry(
        name="majority_class",
        path="privcurve.learners.majority:MajorityClassClassifier",
        version=1,
        title="Majority class",
        calibrations=(),
        approximate=False,
        parameters={},
        cost=lambda setting, n_rows, n_columns: 2e-3,
    ),
)

LEARNERS: Mapping[str, LearnerEntry] = {entry.name: entry for entry in _ENTRIES}


def entry(name: str) -> LearnerEntry:
    """Give the entry of a learner.

    Raises
    ------
    ValueError
        If there is no such learner; the message names the nearest one.
    """
    if name not in LEARNERS:
        hint = nearest(name, LEARNERS)
        raise ValueError(f"unknown learner {name!r}{hint} There are: {', '.join(LEARNERS)}.")
    return LEARNERS[name]


def check_parameters(name: str, parameters: Mapping[str, Any]) -> None:
    """Check hyperparameters of a learner against what the registry allows.

    Raises
    ------
    ValueError
        Naming the parameter, its value, and what is allowed.
    """
    known = entry(name).parameters
    for key, value in parameters.items():
        if key not in known:
            hint = nearest(key, known)
            allowed = ", ".join(known) or "none"
            raise ValueError(f"{name} has no parameter {key!r}{hint} Its parameters: {allowed}.")
        if not known[key].admits(value):
            raise ValueError(f"{name}: {key} = {value!r} is not {known[key]}.")


def missing_package(name: str) -> str | None:
    """Say what a learner needs that is not installed, and how to get it; None if nothing."""
    requires = entry(name).requires
    if requires is None or importlib.util.find_spec(requires) is not None:
        return None
    return f"{name} needs the package {OPTIONAL[requires]}: pip install 'privcurve[peers]'"


def estimator_class(name: str) -> type[Any]:
    """Import and give the estimator class of a learner.

    Raises
    ------
    ImportError
        If the learner needs an optional package that is not installed.
    """
    missing = missing_package(name)
    if missing:
        raise ImportError(missing)
    module, _, attribute = entry(name).path.partition(":")
    found = getattr(importlib.import_module(module), attribute)
    assert isinstance(found, type)
    return found
