"""Select the best setting of a curve for each ε, and train it afresh."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import pandas as pd

from privcurve.analysis import selection

if TYPE_CHECKING:
    from privcurve.experiments.jobs import Curve
    from privcurve.experiments.study import Point
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
    finalists = curve.finalists
    parts = curve.selection(selection.CELL_COLUMNS)
    best = selection.rank(parts, finalists.settings if finalists else 1)
    if finalists:
        again = trainer.run(itertools.product(_points(curve, best), curve.final_splits))
        best = selection.final(best, pd.DataFrame(again, columns=selection.CELL_COLUMNS))
    splits = curve.fresh_splits(trainer.has_test)
    rows = trainer.run(itertools.product(_points(curve, best), splits))
    return selection.table(best), rows


def _points(curve: Curve, candidates: list[selection.Candidate]) -> list[Point]:
    """Give the points of the settings that some candidates are left with."""
    chosen = {(one.key[2], setting) for one in candidates for setting in one.settings}
    return [point for point in curve.arm.points if (point.epsilon, point.text) in chosen]
