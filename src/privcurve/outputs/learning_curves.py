"""Accuracy against ε, one panel a dataset."""

from __future__ import annotations

from typing import ClassVar

from privcurve.experiments.study import Study
from privcurve.outputs.base import FIGURES, Asked, Files, Output, Reads, about, set_the_rule
from privcurve.outputs.context import Context


class LearningCurves(Output):
    """Figure: a curve an arm; methods without privacy are horizontal lines."""

    word: ClassVar[str] = "learning_curves"
    version: ClassVar[int] = 3
    selects: ClassVar[bool] = False

    def files(self, asked: Asked) -> Files:  # noqa: D102
        # Its place is older than the options: the study's `figure`.
        return Files(figures=(FIGURES / (asked.options["name"] or asked.study.figure),))

    def reads(self, asked: Asked) -> Reads:  # noqa: D102
        titles = [[arm.name, arm.title] for arm in asked.study.arms.values()]
        named = [[name, dataset_title(name), source(name)] for name in asked.study.datasets]
        return Reads(outputs=("accuracy",), facts=[titles, named, asked.study.metric])

    def make(self, context: Context) -> None:  # noqa: D102
        from privcurve.figures.learning_curves import learning_curves

        study = context.study
        frame = context.table_of("accuracy")
        figure = learning_curves(
            frame,
            titles={arm.name: arm.title for arm in study.arms.values()},
            datasets={name: panel_title(study, name) for name in study.datasets},
            groups={name: source(name) for name in study.datasets},
            metric=study.metric,
        )
        context.draw(figure, frame)


def panel_title(study: Study, name: str) -> str:
    """Return the title of a dataset's panel: it says where a rule is not apart from the records."""
    seen = name in set_the_rule(study)
    return dataset_title(name) + (" (set PrivGAM's constants)" if seen else "")


def dataset_title(name: str) -> str:
    """Give the short title of a dataset: what stands before the colon."""
    return about(name).title.partition(":")[0]


def source(name: str) -> str:
    """Give the dataset whose raw files one is made from: of the same records, panels compare."""
    return about(name).source
