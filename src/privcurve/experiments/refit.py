"""Select the best setting of a curve for each ε, and train it afresh."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import pandas as pd

from privcurve.analysis import selection
from privcurve.experiments.jobs import is_lone

if TYPE_CHECKING:
    from privcurve.experiments.arms import Point
    from privcurve.experiments.jobs import Curve
    from privcurve.experiments.train import Trainer


def select_and_train(curve: Curve, trainer: Trainer) -> tuple[pd.DataFrame, list[dict[str, Any]]]:
    """Select at each ε, in a second round too where the study has one, and train what won.

    Parameters
    ----------
    curve : Curve
        Its cross-validation must be there.
    trainer : Trainer
        Of the curve's arm and dataset.

    Returns
    -------
    selected : DataFrame
        One row an ε: :func:`privcurve.analysis.selection.table`.
    rows : list of dict
        One row a fresh training.

    Raises
    ------
    IncompleteError
        If a shard of the cross-validation is missing, damaged, or made for something else.
    """
    lone = is_lone(curve.study, curve.arm)
    best = _taken(curve) if lone else _selected(curve, trainer)
    splits = curve.fresh_splits(trainer.has_test)
    rows = trainer.run(itertools.product(_points(curve, best), splits))
    return selection.table(best, curve.study.metric), rows


def _selected(curve: Curve, trainer: Trainer) -> list[selection.Candidate]:
    """Select by cross-validation, then among finalists if the study has a second round."""
    finalists, metric = curve.finalists, curve.study.metric
    columns = selection.cell_columns(metric)
    folds = [split.fold for split in curve.splits]
    n_best = finalists.settings if finalists else 1
    best = selection.rank(curve.selection(columns), n_best, metric, folds)
    if finalists:
        again = trainer.run(itertools.product(_points(curve, best), curve.final_splits))
        best = selection.final(best, pd.DataFrame(again, columns=columns), metric)
    return best


def _taken(curve: Curve) -> list[selection.Candidate]:
    """Take a lone setting as selected at each ε."""
    arm = curve.arm
    carried = (arm.learner, arm.calibration, arm.delta)
    return [
        selection.taken((curve.dataset.name, arm.name, point.epsilon), carried, point.text)
        for point in arm.points
    ]


def _points(curve: Curve, candidates: list[selection.Candidate]) -> list[Point]:
    """Return the points of the settings that some candidates are left with."""
    chosen = {(one.key[2], setting) for one in candidates for setting in one.settings}
    return [point for point in curve.arm.points if (point.epsilon, point.text) in chosen]
