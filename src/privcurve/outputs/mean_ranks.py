"""Mean ranks over datasets, and which of them differ."""

from __future__ import annotations

from typing import ClassVar

from privcurve.outputs.base import Asked, Files, Output, Reads
from privcurve.outputs.context import Context
from privcurve.outputs.error_table import ErrorTable, arm_titles, private

CAPTION = "Which learners' ranks differ over the datasets"
NOTES = (
    "A learner's rank on a dataset is that of its mean error over fresh trainings.",
    "Pairs differ if Friedman's test and Wilcoxon's signed-rank test of the pair, with Holm's "
    "correction for all pairs of an ε, reject at the level 0.05; Nemenyi's critical difference is "
    "given beside.",
    "Beside learners by rule, 'unpaid' are those whose best setting cross-validation chose, which "
    "ε does not cover.",
)


class MeanRanks(Output):
    """Figure and table: ranks of learners over all datasets, and pairs that do not differ."""

    word: ClassVar[str] = "mean_ranks"
    version: ClassVar[int] = 2

    def check(self, asked: Asked) -> None:  # noqa: D102
        if len(asked.study.datasets) < 2 or len(private(asked)) < 2:
            raise ValueError("ranks need two private arms and two datasets or more")

    def files(self, asked: Asked) -> Files:  # noqa: D102
        return Files(tables=(asked.table,), figures=(asked.figure,))

    def reads(self, asked: Asked) -> Reads:  # noqa: D102
        return Reads(outputs=(ErrorTable.word,), facts=list(arm_titles(asked).items()))

    def make(self, context: Context) -> None:  # noqa: D102
        from privcurve.analysis import ranks
        from privcurve.figures.critical_difference import critical_difference
        from privcurve.tables.table import Table

        frame = ranks.pairs(context.table_of(ErrorTable.word))
        context.write(Table(frame, CAPTION, NOTES))
        context.draw(critical_difference(frame, arm_titles(context.asked)), frame)
