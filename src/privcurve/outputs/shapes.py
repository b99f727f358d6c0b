"""One additive model, drawn: a shape function a column with its standard errors, and in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from privcurve.outputs.base import Asked, Files
from privcurve.outputs.context import Context
from privcurve.outputs.learning_curves import dataset_title
from privcurve.outputs.one_model import OPTIONS, OneModel, of_part
from privcurve.outputs.options import NUMBER, REQUIRED, TEXT, Option

if TYPE_CHECKING:
    from privcurve.experiments.study import Arm

ADDITIVE = ("privgam",)


class Shapes(OneModel):
    """Figure and table of the shape functions of one model.

    Of a learner with several δ the first is shown, or the one that is asked for.
    """

    word: ClassVar[str] = "shapes"
    version: ClassVar[int] = 3
    options: ClassVar = {
        "learner": Option("an entry of the study's learners: privgam", TEXT, REQUIRED),
        **OPTIONS,
        "delta": Option("one of the learner's deltas; by default its first", NUMBER),
    }

    def check(self, asked: Asked) -> None:  # noqa: D102
        super().check(asked)
        arm = self.arm(asked)
        if arm.learner not in ADDITIVE:
            raise ValueError(
                f"{arm.name} is no additive model: shapes are of {', '.join(ADDITIVE)}"
            )
        if of_part(arm):
            raise ValueError(
                f"{arm.name} has a grid or a share of the records: shapes are of one setting, "
                "trained on all records"
            )

    def files(self, asked: Asked) -> Files:  # noqa: D102
        return Files((asked.table,), (asked.figure,))

    def arm(self, asked: Asked) -> Arm:  # noqa: D102
        delta = asked.options["delta"]
        for arm in asked.arms_of(asked.options["learner"]):
            if delta in (None, arm.delta):
                return arm
        raise ValueError(f"{asked.options['learner']} has no delta = {delta:g} in this study")

    def make(self, context: Context) -> None:  # noqa: D102
        import pandas as pd

        from privcurve.analysis import shapes
        from privcurve.figures import shapes as drawing
        from privcurve.tables.table import Table

        arm, epsilon = self.arm(context.asked), context.options["epsilon"]
        data, model = self.trained(context)
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
