"""One additive model, drawn: a shape function a column with its standard errors, and in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from privcurve.experiments import canonical
from privcurve.learners import registry
from privcurve.outputs.base import Asked, Files, Output, Reads
from privcurve.outputs.context import Context
from privcurve.outputs.learning_curves import dataset_title
from privcurve.outputs.options import NUMBER, REQUIRED, TEXT, Option

if TYPE_CHECKING:
    from privcurve.experiments.study import Arm

ADDITIVE = ("privgam",)


class Shapes(Output):
    """Figure and table of the shape functions of one model.

    The model is trained for it on all training records, with an ε that need not be one of the
    study's. Of a learner with several δ the first is shown, or the one that is asked for.
    """

    word: ClassVar[str] = "shapes"
    selects: ClassVar[bool] = False
    local: ClassVar[bool] = False
    options: ClassVar = {
        "learner": Option("an entry of the study's learners: privgam", TEXT, REQUIRED),
        "epsilon": Option("the budget of the model, above 0", NUMBER, REQUIRED),
        "dataset": Option("a dataset of the study; by default its first", TEXT),
        "delta": Option("one of the learner's deltas; by default its first", NUMBER),
    }

    def check(self, asked: Asked) -> None:  # noqa: D102
        asked.check_dataset(_dataset(asked))
        arm = _arm(asked)
        if not asked.options["epsilon"] > 0:
            raise ValueError(f"epsilon = {asked.options['epsilon']:g} is not above 0")
        if arm.learner not in ADDITIVE:
            raise ValueError(
                f"{arm.name} is no additive model: shapes are of {', '.join(ADDITIVE)}"
            )
        if len(arm.settings) > 1 or arm.train_share < 1:
            raise ValueError(
                f"{arm.name} has a grid or a share of the records: shapes are of one setting, "
                "trained on all records"
            )

    def files(self, asked: Asked) -> Files:  # noqa: D102
        return Files((asked.table,), (asked.figure,))

    def reads(self, asked: Asked) -> Reads:  # noqa: D102
        arm, dataset = _arm(asked), _dataset(asked)
        version = registry.entry(arm.learner).version
        # Nothing of the study is read: what the model hangs on is said here.
        budget = [arm.calibration, arm.delta, arm.claim]
        settings = [canonical.text(setting) for setting in arm.settings]
        titles = [arm.title, dataset_title(dataset)]
        return Reads(data=(dataset,), facts=[arm.name, version, budget, settings, titles])

    def make(self, context: Context) -> None:  # noqa: D102
        import pandas as pd

        from privcurve.analysis import shapes
        from privcurve.experiments import models
        from privcurve.experiments.study import Point
        from privcurve.figures import shapes as drawing
        from privcurve.tables.table import Table

        arm, epsilon = _arm(context.asked), context.options["epsilon"]
        data = context.data(_dataset(context.asked))
        (setting,) = arm.settings
        point = Point(epsilon, setting, canonical.text(setting))
        (model,) = models.train_afresh(data, arm, point, 1, context.seed)
        additive, domain = model.learner.model_, data.domain
        edges = [column.edges if column.ordered else () for column in domain.columns]
        frame = shapes.bins(domain.names, domain.bin_names, edges, additive.shapes, additive.errors)
        n_columns = frame["column"].nunique()
        if additive.pairs:
            told = ((p.columns, p.groups, p.values, p.errors) for p in additive.pairs)
            crossed = shapes.pairs(domain.names, domain.bin_names, *zip(*told, strict=True))
            frame = pd.concat([frame, crossed], ignore_index=True)
        ends = shapes.ends(frame)
        title = f"{dataset_title(data.name)}\n{arm.title}, ε = {epsilon:g}, δ = {arm.delta:g}"
        if model.unseen is not None:
            title += f", test accuracy {model.accuracy():.3f}"
        notes = shapes.notes(
            (additive.intercept, additive.intercept_error),
            f"{domain.label.column} {domain.label.positive}",
            [name for name in domain.names if name not in set(ends["column"])],
            str(model.learner.privacy_),
            max(0, n_columns - drawing.MOST_PANELS),
        )
        caption = "Shape functions: " + title.replace("\n", "; ")
        context.write(Table(ends, caption, notes, shapes.shown(ends)))
        spacings = {column.name: column.spacing for column in domain.columns}
        figure = drawing.shapes(frame, spacings, title, domain.label.positive)
        context.draw(figure, frame)


def _dataset(asked: Asked) -> str:
    return asked.options["dataset"] or asked.study.datasets[0]


def _arm(asked: Asked) -> Arm:
    arms, delta = asked.arms_of(asked.options["learner"]), asked.options["delta"]
    if delta is None:
        return arms[0]
    for arm in arms:
        if arm.delta == delta:
            return arm
    raise ValueError(f"{asked.options['learner']} has no delta = {delta:g} in this study")
