"""What the contract is tried on: settings of each learner that reach all of its mechanism calls."""

from __future__ import annotations

from collections.abc import Iterable

from privcurve.audit.contract import Case
from privcurve.learners import own, registry
from privcurve.privacy.budget import CERTIFIED, PRIVATE_COLUMNS, REPLACE_ONE

DELTA = 1e-2

STARTED = {"start": "public", "public_columns": (0,)}
TREES = {"weak_learner": "topdown", "depth": 2, "n_rounds": 2, "density": 0.5}

MAJORITY = (Case("noisy_majority", {}),)

BAYES = (
    Case("noisy_bayes", {}),
    Case("noisy_bayes", {"n_columns": 1}),
    Case("noisy_bayes", {"n_columns": 1, "delta": DELTA}),
    Case("noisy_bayes", {"n_columns": 1, **STARTED}, neighbours=PRIVATE_COLUMNS),
)

PARTIAL = (
    Case("brc", {"n_rounds": 3}),
    Case("brc", {"n_rounds": 3, "calibration": "published", "epsilon": 20.0}),
    Case("brc", {"n_rounds": 3, "delta": DELTA, "intercept": "threshold"}),
    Case("brc", {"n_rounds": 3, "intercept": "em"}),
    Case("brc", {"n_rounds": 3, "intercept": "em", "estimate": "edge", "delta": DELTA}),
    Case("brc", {"n_rounds": 4, "intercept": "em", "epsilon": 40.0}, neighbours=PRIVATE_COLUMNS),
    Case("brc", {"n_rounds": 4, "calibration": "published"}, neighbours=PRIVATE_COLUMNS),
    Case("boosting_for_people", {"n_rounds": 2}),
    Case("boosting_for_people", {"n_rounds": 3, "calibration": "published", "epsilon": 20.0}),
    Case("boosting_for_people", {"n_rounds": 2, "largest": 1.1}, neighbours=PRIVATE_COLUMNS),
    Case("pate", {"n_teachers": 2, "n_answers": 12}, neighbours=PRIVATE_COLUMNS, sizes=(4, 12, 12)),
)

LINEAR = (
    Case("dp_logistic_regression", {}),
    Case("dp_logistic_regression", {"encoding": "scaled", "C": 0.01}),
    Case("dp_logistic_regression", {"noise": "box"}),
    Case(
        "dp_logistic_regression",
        {"noise": "box", "encoding": "scaled", "columns": "private", **STARTED},
        neighbours=PRIVATE_COLUMNS,
    ),
)

LAZYBB = (
    Case("one_rule", {}),
    Case("one_rule", {"delta": DELTA}),
    Case("lazybb", {"n_rounds": 3, "density": 0.5}),
    Case("lazybb", {"n_rounds": 3, "density": 0.5, "delta": DELTA}),
    Case("lazybb", {"n_rounds": 3, "density": 0.5, **STARTED}, neighbours=PRIVATE_COLUMNS),
    Case("lazybb", TREES),
    Case("lazybb", {**TREES, "delta": DELTA, "splits": "threshold", "criterion": "entropy"}),
    Case("lazybb", {**TREES, **STARTED}, neighbours=PRIVATE_COLUMNS),
    Case("topdown", {"depth": 2}),
    Case("topdown", {"depth": 2, "delta": DELTA, "criterion": "root_gini"}),
    Case("topdown", {"depth": 2, "leaves": "rules", "delta": DELTA, "splits": "threshold"}),
)

CASES: tuple[Case, ...] = (*MAJORITY, *BAYES, *PARTIAL, *LINEAR, *LAZYBB)


def cases_of(learner: str) -> Iterable[Case]:
    """Return what a learner is tried on; of one's own: its defaults, with each δ that it offers.

    A file ``learners/<name>.py`` may say more: ``contract()``, which returns cases.
    """
    known = [case for case in CASES if case.learner == learner]
    if known:
        return known
    said = own.contract(learner) if learner in own.names() else None
    if said is not None:
        return said
    entry = registry.entry(learner)
    deltas = [0.0] * entry.pure + [DELTA] * entry.approximate
    return [
        Case(learner, {"delta": delta, "calibration": CERTIFIED}, neighbours=relation)
        for delta in deltas
        for relation in entry.neighbours
        if relation != PRIVATE_COLUMNS or entry.neighbours == (PRIVATE_COLUMNS,)
    ] or [Case(learner, {}, neighbours=REPLACE_ONE)]
