"""The hyperparameters that cross-validation selected."""

from __future__ import annotations

from typing import ClassVar

from privcurve.outputs.accuracy import SELECTION_NOTES, complete, whole
from privcurve.outputs.base import Asked, Context, Files, Output, Reads


class SelectedSettings(Output):
    """Table ``selected_settings``: one row for each dataset, arm and ε, a column an axis."""

    word: ClassVar[str] = "selected_settings"

    def files(self, asked: Asked) -> Files:  # noqa: D102
        return Files(tables=(asked.table,))

    def reads(self, asked: Asked) -> Reads:  # noqa: D102
        return whole(asked.study)

    def make(self, context: Context) -> None:  # noqa: D102
        from privcurve.analysis.accuracy import selected_settings_table
        from privcurve.tables.table import Table, shown

        study = context.study
        frame = selected_settings_table(complete(context), study.datasets, list(study.arms))
        texts = shown(frame.drop(columns=["learner", "error"]))
        caption = "Settings selected by cross-validation"
        context.write(Table(frame, caption, SELECTION_NOTES, texts))
