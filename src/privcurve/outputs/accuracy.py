"""The accuracy of each learner at each ε: of fresh trainings, beside the optimistic one."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from privcurve.experiments.results import IncompleteError
from privcurve.experiments.study import Study
from privcurve.outputs.base import Asked, Files, Output, Reads
from privcurve.outputs.context import Context

if TYPE_CHECKING:
    import pandas as pd

    from privcurve.tables.table import Table

METRIC_NAMES = {"auc": "AUC"}
SELECTION_NOTES = (
    "The cross-validated accuracy of the selected setting is optimistic: it is the best of "
    "the settings that were compared, on the folds that chose it.",
    "The selection of settings is itself not private: ε is the budget of one training, not of "
    "the search.",
    "Accuracies and other scores are exact statistics of the records they are measured on, "
    "without noise: ε covers the models, not these numbers.",
    "Calibration 'published' sets the noise as the method's paper prints it, 'certified' as "
    "this project proves it; a method without privacy has none, and ε = inf.",
)
FRESH_NOTES = (
    "Accuracy is of fresh trainings with the selected setting: mean ± one standard deviation over "
    "the repeats. Where a dataset has no test set, the fresh folds are new partitions of the "
    "records that also chose the setting.",
    "A value is missing (–) when a repeat it needs is missing or has failed; nothing is averaged "
    "over the rest.",
)


class Accuracy(Output):
    """Table ``accuracy``: one row for each dataset, arm and ε."""

    word: ClassVar[str] = "accuracy"
    version: ClassVar[int] = 3

    def files(self, asked: Asked) -> Files:  # noqa: D102
        return Files(tables=(asked.table,))

    def reads(self, asked: Asked) -> Reads:  # noqa: D102
        return whole(asked.study)

    def make(self, context: Context) -> None:  # noqa: D102
        table = accuracy_of(context.study, complete(context), context.refits())
        context.write(replace(table, notes=(*table.notes, *context.data_notes())))


def accuracy_of(study: Study, selected: pd.DataFrame, refits: pd.DataFrame) -> Table:
    """Give the table of accuracy of a study from its selected settings and fresh trainings."""
    from privcurve.analysis import kinds
    from privcurve.analysis.accuracy import accuracy_table
    from privcurve.tables.table import Table

    order = study.datasets, list(study.arms)
    frame = accuracy_table(selected, refits, study.repeats, *order, study.metric)
    frame.insert(list(frame).index("epsilon") + 1, "kind", kinds.column(frame, study.arms))
    caption = "Accuracy of each learner at each ε"
    notes = (*SELECTION_NOTES, *kinds.NOTES, *FRESH_NOTES)
    return Table(frame, caption, notes, _shown(frame, study.metric))


def whole(study: Study) -> Reads:
    """Read every curve of a study, in its order."""
    curves = tuple(itertools.product(study.datasets, study.arms))
    return Reads(
        curves, data=study.datasets, facts=[list(study.datasets), list(study.arms), study.metric]
    )


def complete(context: Context) -> pd.DataFrame:
    """Give the selected settings of all curves of a study.

    Raises
    ------
    IncompleteError
        If nothing was selected for one.
    """
    selected = context.selected()
    found = set(zip(selected["dataset"], selected["arm"], strict=True))
    missing = [pair for pair in context.asked.reads.curves if pair not in found]
    if missing:
        raise IncompleteError(f"{context.study.name}: nothing selected for {missing}")
    return selected


def _shown(frame: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Give the table as a reader wants it: fewer columns, four decimals."""
    from privcurve.analysis.accuracy import optimistic
    from privcurve.tables.table import decimals, plus_minus, shown

    name = METRIC_NAMES.get(metric, metric.replace("_", " "))
    texts = shown(frame[["dataset", "arm", "epsilon", "kind"]])
    texts[f"CV {name} (optimistic)"] = plus_minus(
        frame[optimistic(metric)], frame[f"{optimistic(metric)}_std"]
    )
    for column in ("accuracy", "balanced_accuracy", "auc", "log_loss"):
        name = METRIC_NAMES.get(column, column.replace("_", " "))
        std = f"{column}_std"
        texts[name] = (
            plus_minus(frame[column], frame[std]) if std in frame else decimals(frame[column], 4)
        )
    texts["features used"] = decimals(frame["n_features_used"], 1)
    good = frame["n_repeats"] - frame["n_failed"]
    texts["repeats"] = [f"{n} of {m}" for n, m in zip(good, frame["n_repeats"], strict=True)]
    return texts
