"""How many features the models of a learner ask for."""

from __future__ import annotations

import itertools
from typing import ClassVar

from privcurve.outputs.base import Asked, Files, Output, Reads
from privcurve.outputs.context import Context
from privcurve.outputs.options import REQUIRED, TEXT, Option


class Sparsity(Output):
    """Table ``sparsity``: features used by one learner, for each dataset, calibration and ε."""

    word: ClassVar[str] = "sparsity"
    options: ClassVar = {"learner": Option("an entry of the study's learners", TEXT, REQUIRED)}

    def check(self, asked: Asked) -> None:  # noqa: D102
        asked.arms_of(asked.options["learner"])

    def files(self, asked: Asked) -> Files:  # noqa: D102
        return Files(tables=(asked.table,))

    def reads(self, asked: Asked) -> Reads:  # noqa: D102
        arms = [arm.name for arm in asked.arms_of(asked.options["learner"])]
        datasets = asked.study.datasets
        return Reads(tuple(itertools.product(datasets, arms)), data=datasets)

    def make(self, context: Context) -> None:  # noqa: D102
        from privcurve.analysis import sparsity
        from privcurve.tables.table import Table

        widths = {name: context.data(name).domain.width for name in context.study.datasets}
        frame = sparsity.table(context.refits(), widths)
        context.write(Table(frame, sparsity.CAPTION, sparsity.NOTES, sparsity.shown(frame)))
