"""List the entries of other libraries' learners, of methods without privacy, and of `tuned`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from privcurve.learners.entries import costs, of_papers, private
from privcurve.learners.entries import parameters as declared
from privcurve.learners.entry import LearnerEntry, Proof, parameters_of
from privcurve.privacy.budget import ADD_REMOVE, PRIVATE_COLUMNS, PROVED, PUBLISHED, REPLACE_ONE

# Fields that the entries of diffprivlib's learners share.
DIFFPRIVLIB: dict[str, Any] = {
    "calibrations": (PUBLISHED,),
    "requires": "diffprivlib",
    "peer": True,
}

# Assumed seconds of a fit of a user's own learner, as a candidate of `tuned`: this module does not
# read the learner's entry.
_SECONDS = 0.1


def _estimate_runs(setting: Mapping[str, Any], n_rows: int, n_columns: int) -> float:
    """Estimate the seconds of a private selection, as if all runs trained one setting.

    The setting is in the middle of the list of settings, or has the middle value in the list of
    each hyperparameter.
    """
    name, settings = setting["learner"], setting["settings"]
    middle: dict[str, Any] = {}
    if isinstance(settings, Mapping):
        middle = {axis: values[len(values) // 2] for axis, values in settings.items()}
    elif settings:
        middle = dict(settings[len(settings) // 2])
        name = middle.pop("learner", name)
    costs_of = {
        entry.name: entry.cost for entry in (*ENTRIES, *private.ENTRIES, *of_papers.ENTRIES)
    }
    of_run = costs_of[name](middle, n_rows, n_columns) if name in costs_of else _SECONDS
    return 5e-3 + float(setting["expected_runs"]) * of_run


ENTRIES: tuple[LearnerEntry, ...] = (
    # Other libraries' methods.
    LearnerEntry(
        name="dp_ebm",
        path="privcurve.learners.peers.ebm:DPExplainableBoostingClassifier",
        title="DP-EBM (interpret)",
        calibrations=(PUBLISHED,),
        approximate=True,
        parameters=parameters_of(declared.DPEBMParameters),
        seconds=costs.dp_ebm,
        pure=False,
        takes=("ordered",),
        neighbours=(ADD_REMOVE,),
        requires="interpret",
        peer=True,
    ),
    LearnerEntry(
        name="dpl_random_forest",
        path="privcurve.learners.peers.diffprivlib:DiffprivlibRandomForestClassifier",
        title="Random forest (diffprivlib)",
        **DIFFPRIVLIB,
        parameters=parameters_of(declared.DiffprivlibForestParameters),
        seconds=costs.dpl_trees,
        neighbours=(ADD_REMOVE,),
    ),
    LearnerEntry(
        name="dpl_decision_tree",
        path="privcurve.learners.peers.diffprivlib:DiffprivlibDecisionTreeClassifier",
        title="Decision tree (diffprivlib)",
        **DIFFPRIVLIB,
        parameters=parameters_of(declared.DiffprivlibTreeParameters),
        seconds=costs.dpl_trees,
        neighbours=(ADD_REMOVE,),
    ),
    LearnerEntry(
        name="dpl_logistic_regression",
        path="privcurve.learners.peers.diffprivlib_scaled:DiffprivlibLogisticRegressionClassifier",
        title="Logistic regression (diffprivlib)",
        **DIFFPRIVLIB,
        parameters=parameters_of(declared.PenaltyParameters),
        seconds=costs.dpl_logistic_regression,
        takes=("ordered",),
    ),
    LearnerEntry(
        name="dpl_gaussian_nb",
        path="privcurve.learners.peers.diffprivlib_scaled:DiffprivlibGaussianNBClassifier",
        title="Gaussian naive Bayes (diffprivlib)",
        **DIFFPRIVLIB,
        seconds=costs.dpl_gaussian_nb,
        takes=("ordered",),
        neighbours=(ADD_REMOVE,),
    ),
    # Methods without privacy.
    LearnerEntry(
        name="logistic_regression",
        path="privcurve.learners.linear.linear:LogisticRegressionClassifier",
        version=2,
        title="Logistic regression",
        parameters=parameters_of(declared.InputParameters),
        seconds=costs.logistic_regression,
        slow_by_class=True,
        neighbours=(REPLACE_ONE, PRIVATE_COLUMNS),
        multiclass=True,
        peak=(83, 31.8),
    ),
    LearnerEntry(
        name="gradient_boosting",
        path="privcurve.learners.boosting.gradient_boosting:GradientBoostingClassifier",
        title="Gradient boosting",
        parameters=parameters_of(declared.GradientBoostingParameters),
        seconds=costs.gradient_boosting,
        peak=(60, 9.0),
    ),
    LearnerEntry(
        name="majority_class",
        path="privcurve.learners.majority:MajorityClassClassifier",
        version=2,
        title="Majority class",
        seconds=costs.majority,
        multiclass=True,
        peak=(87, 2.7),
    ),
    # Private selection among the settings of proved learners.
    LearnerEntry(
        name="tuned",
        path="privcurve.learners.tuned:TunedClassifier",
        version=3,
        title="Tuned, paid",
        calibrations=(PROVED,),
        approximate=True,
        parameters=parameters_of(declared.TunedParameters),
        seconds=_estimate_runs,
        takes=("ordered",),
        multiclass=True,
        proof=Proof(
            "docs/proofs.md, 'Private selection'",
            "tests/privacy/test_selection.py::test_the_stated_cost_of_pure_selection_is_attained",
        ),
    ),
)
