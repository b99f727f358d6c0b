"""The Rademacher complexity of 1-rules, and the bound on the accuracy of boosted ones."""

from __future__ import annotations

import itertools
from typing import ClassVar

from privcurve.learners import registry
from privcurve.outputs.base import Asked, Files, Output, Reads
from privcurve.outputs.context import Context
from privcurve.outputs.options import COUNT, NUMBER, REQUIRED, TEXT, Option


class Rademacher(Output):
    """Table ``rademacher``: estimate, bound and accuracy of boosted 1-rules at one ε."""

    word: ClassVar[str] = "rademacher"
    local: ClassVar[bool] = False
    options: ClassVar = {
        "learner": Option("an entry of the study's learners: LazyBB with 1-rules", TEXT, REQUIRED),
        "epsilon": Option("an ε of that learner", NUMBER, REQUIRED),
        "draws": Option("how many sign vectors an estimate takes", COUNT, 2000),
    }

    def check(self, asked: Asked) -> None:  # noqa: D102
        asked.check_one_rules(asked.options["learner"])
        asked.check_epsilon(asked.options["learner"], asked.options["epsilon"])

    def files(self, asked: Asked) -> Files:  # noqa: D102
        return Files(tables=(asked.table,))

    def reads(self, asked: Asked) -> Reads:  # noqa: D102
        arms = asked.arms_of(asked.options["learner"])
        datasets = asked.study.datasets
        return Reads(
            tuple(itertools.product(datasets, [arm.name for arm in arms])),
            data=datasets,
            outputs=("accuracy",),
            facts=[registry.entry(arm.learner).version for arm in arms],
        )

    def make(self, context: Context) -> None:  # noqa: D102
        import pandas as pd

        from privcurve import datasets
        from privcurve.analysis import rademacher
        from privcurve.experiments import models
        from privcurve.tables.table import Table

        selected = context.selected()
        rows = []
        for name in context.study.datasets:
            data = context.data(name)
            X, _, counts = datasets.distinct(data.X, data.y)
            rng = models.stream("rademacher", data, context.seed)
            draws = context.options["draws"]
            found = rademacher.estimate(X, data.domain.n_bins, counts, draws, rng)
            print(f"{data.name}: {found}", flush=True)
            for arm in context.asked.arms_of(context.options["learner"]):
                point = models.selected_point(arm, selected, name, context.options["epsilon"])
                repeats = context.study.repeats
                for model in models.inspect(data, arm, point, repeats, context.seed):
                    margins = model.margins(model.train)
                    bound = rademacher.bound(margins, model.train.counts, found)
                    rows.append(
                        rademacher.row(name, arm.name, arm.calibration, point.epsilon, found, bound)
                    )
        frame = rademacher.table(pd.DataFrame(rows), context.table_of("accuracy"))
        notes = rademacher.notes(frame)
        context.write(Table(frame, rademacher.CAPTION, notes, rademacher.shown(frame)))
