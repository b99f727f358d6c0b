"""What learners there are, and what may be asked of each: facts only, light to import.

The workflow reads this file while it builds the DAG, so nothing heavy is imported
here. An entry names the class by its path; :func:`estimator_class` imports it.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Protocol

from privcurve.learners import costs, own
from privcurve.learners.entry import OPTIONAL, LearnerEntry, Parameter
from privcurve.privacy.budget import ADD_REMOVE, CERTIFIED, PRIVATE_COLUMNS, PUBLISHED, REPLACE_ONE
from privcurve.schema import nearest

BOTH = (PUBLISHED, CERTIFIED)

_MECHANISM = Parameter("auto", choices=("auto", "permute_and_flip", "exponential"))
_HALF_SPACES = {
    "n_rounds": Parameter(25, int, low=1, size=True),
    "largest": Parameter(2**0.5, float, low=1),
    "smallest": Parameter(0.5**0.5, float, low=0, high=1, open_low=True),
}
_START = Parameter("none", choices=("none", "public"))
_INPUTS = {
    "columns": Parameter("all", choices=("all", "public", "private")),
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


def entry(name: str) -> LearnerEntry:
    """Give the entry of a learner.

    Raises
    ------
    ValueError
        If there is no such learner; the message names the nearest one.
    """
    if name in LEARNERS:
        return LEARNERS[name]
    if name in own.names():
        return own.entry(name)
    known = names()
    hint = nearest(name, known)
    raise ValueError(f"unknown learner {name!r}{hint} There are: {', '.join(known)}.")


def names() -> list[str]:
    """Give the names of all learners: those of this project, then the user's own."""
    return list(dict.fromkeys([*LEARNERS, *own.names()]))


def check_parameters(name: str, parameters: Mapping[str, Any]) -> None:
    """Check hyperparameters of a learner against what the registry allows.

    Parameters
    ----------
    name : str
    parameters : mapping
        The others are at their defaults.

    Raises
    ------
    ValueError
        Naming the parameter, its value, and what is allowed: a value that is out of range, or
        one (other than the default) that is never used beside the others.
    """
    known = entry(name).parameters
    for key, value in parameters.items():
        if key not in known:
            hint = nearest(key, known)
            allowed = ", ".join(known) or "none"
            raise ValueError(f"{name} has no parameter {key!r}{hint} Its parameters: {allowed}.")
        if not known[key].admits(value):
            raise ValueError(f"{name}: {key} = {value!r} is not {known[key]}.")
    whole = entry(name).whole(parameters)
    for key, value in parameters.items():
        if value == known[key].default:
            continue
        for other, values in known[key].used_with.items():
            if whole[other] not in values:
                raise ValueError(
                    f"{name}: {key} = {value!r} has no effect with {other} = {whole[other]!r}: "
                    f"leave it out, or give {other} = {' or '.join(map(repr, values))}."
                )


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


class PublicFacts(Protocol):
    """What is public of a dataset: a `Domain`, or :class:`~privcurve.learners.entry.Facts`."""

    @property
    def n_bins(self) -> Any:
        """How many codes each column has."""


def make(
    name: str,
    domain: PublicFacts,
    parameters: Mapping[str, Any] | None = None,
    neighbours: str = REPLACE_ONE,
) -> Any:
    """Give a learner that knows the public facts of a dataset: the one road for them.

    Labels are −1 and +1, as everywhere in the pipeline.

    Parameters
    ----------
    name : str
    domain : Domain or Facts
        Has what the learner's entry says that it needs.
    parameters : mapping, optional
        Of the estimator: ε, hyperparameters, ….
    neighbours : str
        The claim of a study. With ``private-columns`` a learner that offers it is told the
        public columns; another one runs as it is, and states what it states.

    Returns
    -------
    CodedClassifier
        Not fitted.

    Raises
    ------
    ValueError
        If the learner is unknown, needs a fact that is not given, or is private for other
        neighbours alone.
    ImportError
        If it needs an optional package that is not installed.
    """
    facts = {"n_bins": domain.n_bins, "classes": (-1, 1)}
    known = entry(name)
    if neighbours == PRIVATE_COLUMNS and not getattr(domain, "public_label", None):
        raise ValueError(
            f"neighbours = {PRIVATE_COLUMNS!r} is for data whose label is public, and the "
            "dataset does not say so (public_label: true)"
        )
    needs = known.needs
    if PRIVATE_COLUMNS in known.neighbours and neighbours == PRIVATE_COLUMNS:
        needs = (*needs, "public_columns")
    elif REPLACE_ONE not in known.neighbours and ADD_REMOVE not in known.neighbours:
        raise ValueError(
            f"{name} is private for neighbours = {PRIVATE_COLUMNS!r} alone, not for "
            f"{neighbours!r}: give the study neighbours: {PRIVATE_COLUMNS}"
        )
    for need in needs:
        facts[need] = getattr(domain, need, None)
        if facts[need] is None:
            raise ValueError(f"{name} needs the public fact {need!r}, which is not given")
    return estimator_class(name)(**facts, **(parameters or {}))
