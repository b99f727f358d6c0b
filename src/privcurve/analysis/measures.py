"""Measures of classifiers, and the standard error of their means over repeats."""

from __future__ import annotations

import math
from typing import Any

from privcurve.analysis.selection import ACCURACY, LOSSES
from privcurve.lazy import pd

MEASURES = (ACCURACY, "auc", "log_loss")
# Names of measures as costs: less is better, and 0 is best.
COSTS = {ACCURACY: "error", "auc": "1 − AUC", "log_loss": "log loss"}
NO_LOG_LOSS = "Learners that fit votes, not log-odds, have no log loss."
TEST = "test"


def check_measures(names: object) -> None:
    """Raise ValueError unless a list is not empty and names only `MEASURES`."""
    if not (isinstance(names, list | tuple) and names and all(n in MEASURES for n in names)):
        raise ValueError(f"measures: {names!r} is not a list of some of: {', '.join(MEASURES)}")


def cost(values: pd.DataFrame | pd.Series, measure: str) -> Any:
    """Return scores as costs: less is better, and 0 is best."""
    return values if measure in LOSSES else 1 - values


def add_errors(runs: pd.DataFrame, measure: str) -> pd.DataFrame:
    """Return runs with a measure as a cost, in a column ``error``; NaN where a training failed.

    A method of which no setting could be selected gets a failed run for each split. Methods without
    the measure on a dataset are left out there: those that fit votes have no log loss, and a scored
    part with one label has no AUC.
    """
    runs = _add_failed(runs)
    good = runs["status"].eq("ok") & runs[ACCURACY].notna()
    values = runs[measure].astype(float).where(good)
    lacks = (good & values.isna()).groupby([runs["dataset"], runs["arm"]]).transform("any")
    return runs.assign(error=cost(values, measure))[~lacks]


def _add_failed(runs: pd.DataFrame) -> pd.DataFrame:
    """Add failed runs of methods that have runs at an ε, but none on one of the datasets there."""
    names = [name for name in ("arm", "learner") if name in runs]
    methods: dict[Any, Any] = {
        epsilon: part[names].drop_duplicates().to_dict("records")
        for epsilon, part in runs.groupby("epsilon")
    }
    added = []
    for (epsilon, _), part in runs.groupby(["epsilon", "dataset"]):
        splits = part[["epsilon", "dataset", "fold", "repeat"]].drop_duplicates()
        added += [
            splits.assign(**method, status="failed")
            for method in methods[epsilon]
            if method["arm"] not in set(part["arm"])
        ]
    return pd.concat([runs, *added], ignore_index=True) if added else runs


def share_held_out(fold: str) -> float:
    """Return the share of the records that a fold scores; 0 for a test part."""
    if fold == TEST:
        return 0.0
    _, folds, number = fold.partition("/")
    return 1 / int(number) if folds else float(fold.partition("@")[2])


def error_factor(n: int, share: float) -> float:
    """Return the factor of a standard deviation over `n` repeats that makes it a standard error.

    On a test part all repeats score the same records: 1/√n, of the noise of training alone, and of
    the draw of what is trained on where that is a share of the training part. Hold-outs and folds,
    a share h of the records, overlap, and so do their training parts: √(1/n + h/(1 − h)) (Nadeau
    and Bengio 2003, *Inference for the generalization error*, Machine Learning 52). h/(1 − h) comes
    of the records that two repeats both score, whatever share of the others is trained on.
    """
    return math.sqrt(1 / n + share / (1 - share))
