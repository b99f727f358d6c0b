"""The hyperparameters that cross-validation selected."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from privcurve.experiments.study import Study
from privcurve.outputs.accuracy import SELECTION_NOTES, complete, whole
from privcurve.outputs.base import Asked, Files, Output, Reads
from privcurve.outputs.context import Context

if TYPE_CHECKING:
    import pandas as pd

    from privcurve.tables.table import Table


class SelectedSettings(Output):
    """Table ``selected_settings``: one row for each dataset, arm and ε, a column an axis."""

    word: ClassVar[str] = "selected_settings"

    def files(self, asked: Asked) -> Files:  # noqa: D102
        return Files(tables=(asked.table,))

    def reads(self, asked: Asked) -> Reads:  # noqa: D102
        return whole(asked.study)

    def make(self, context: Context) -> None:  # noqa: D102
        context.write(settings_of(context.study, complete(context)))


def settings_of(study: Study, selected: pd.DataFrame) -> Table:
    """Give the table of the selected settings of a study."""
    from privcurve.analysis.accuracy import selected_settings_table
    from privcurve.tables.table import Table, shown

    frame = selected_settings_table(selected, study.datasets, list(study.arms))
    texts = shown(frame.drop(columns=["learner", "error"]))
    return Table(frame, "Settings selected by cross-validation", SELECTION_NOTES, texts)
