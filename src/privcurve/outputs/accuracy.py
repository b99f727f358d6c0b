"""The accuracy of each learner at each ε: of fresh trainings, beside the optimistic one."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, ClassVar

from privcurve.experiments.results import IncompleteError
from privcurve.experiments.study import Study
from privcurve.outputs.base import Asked, Context, Files, Output, Reads

if TYPE_CHECKING:
    import pandas as pd

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

    def files(self, asked: Asked) -> Files:  # noqa: D102
        return Files(tables=(asked.table,))

    def reads(self, asked: Asked) -> Reads:  # noqa: D102
        return whole(asked.study)

    def make(self, context: Context) -> None:  # noqa: D102
        from privcurve.analysis.accuracy import accuracy_table
        from privcurve.tables.table import Table

        study = context.study
        frame = accuracy_table(
            complete(context),
            context.refits(),
            study.repeats,
            study.datasets,
            list(study.arms),
        )
        caption = "Accuracy of each learner at each ε"
        context.write(Table(frame, caption, SELECTION_NOTES + FRESH_NOTES, _shown(frame)))


def whole(study: Study) -> Reads:
    """Read every curve of a study, in its order."""
    curves = tuple(itertools.product(study.datasets, study.arms))
    return Reads(curves, data=study.datasets, facts=[list(study.datasets), list(study.arms)])


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


def _shown(frame: pd.DataFrame) -> pd.DataFrame:
    """Give the table as a reader wants it: fewer columns, four decimals."""
    from privcurve.analysis.accuracy import OPTIMISTIC
    from privcurve.tables.table import decimals, plus_minus, shown

    texts = shown(frame[["dataset", "arm", "epsilon"]])
    texts["CV accuracy (optimistic)"] = plus_minus(frame[OPTIMISTIC], frame[f"{OPTIMISTIC}_std"])
    texts["accuracy"] = plus_minus(frame["accuracy"], frame["accuracy_std"])
    texts["balanced accuracy"] = decimals(frame["balanced_accuracy"], 4)
    texts["AUC"] = decimals(frame["auc"], 4)
    texts["log loss"] = decimals(frame["log_loss"], 4)
    texts["features used"] = decimals(frame["n_features_used"], 1)
    good = frame["n_repeats"] - frame["n_failed"]
    texts["repeats"] = [f"{n} of {m}" for n, m in zip(good, frame["n_repeats"], strict=True)]
    return texts
