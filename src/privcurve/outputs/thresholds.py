"""One BRC model of thresholds on a line: where they were drawn, and what each weighs."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from privcurve.outputs.base import Asked, Files, about
from privcurve.outputs.context import Context
from privcurve.outputs.learning_curves import dataset_title
from privcurve.outputs.one_model import OPTIONS, OneModel, of_part
from privcurve.outputs.options import NUMBER, REQUIRED, TEXT, Option
from privcurve.privacy.budget import PRIVATE_COLUMNS

if TYPE_CHECKING:
    from privcurve.datasets.domain import Column, Domain
    from privcurve.experiments.study import Arm

KIND = "thresholds are drawn of brc with intercept: threshold, one setting, on one number"


class Thresholds(OneModel):
    """Figure: the thresholds of one BRC model as a histogram, and the weight α of each.

    Of a learner with several calibrations the first is shown.
    """

    word: ClassVar[str] = "thresholds"
    options: ClassVar = {
        "learner": Option("an entry of the study's learners: brc with intercept: threshold",
                          TEXT, REQUIRED),
        **OPTIONS,
        "boundary": Option("where the label changes, in the column's unit, if known", NUMBER),
    }  # fmt: skip

    def check(self, asked: Asked) -> None:  # noqa: D102
        super().check(asked)
        column = _column(self.arm(asked), about(self.dataset(asked)).domain)
        boundary = asked.options["boundary"]
        if boundary is not None and not column.edges[0] <= boundary <= column.edges[-1]:
            raise ValueError(
                f"boundary = {boundary:g} is not within the bounds of {column.name}, "
                f"{column.edges[0]:g} to {column.edges[-1]:g}"
            )

    def files(self, asked: Asked) -> Files:  # noqa: D102
        return Files(figures=(asked.figure,))

    def make(self, context: Context) -> None:  # noqa: D102
        from privcurve.analysis.thresholds import thresholds
        from privcurve.figures import thresholds as drawing

        arm, epsilon = self.arm(context.asked), context.options["epsilon"]
        data, model = self.trained(context)
        column = _column(arm, data.domain)
        votes = model.learner.votes_
        # Its coefficient is 1.
        borders = [
            (t, -vote.intercept, vote.alpha) for t, vote in enumerate(votes, 1) if not vote.public
        ]
        frame = thresholds(borders, column.edges)
        title = f"{dataset_title(data.name)}\n{arm.title}, {arm.calibration} noise, ε = {epsilon:g}"
        if len(frame) < len(votes):
            title += f"; public columns vote in {len(votes) - len(frame)} of {len(votes)} rounds"
        bounds = column.edges[0], column.edges[-1]
        figure = drawing.thresholds(frame, title, column.name, bounds, context.options["boundary"])
        context.draw(figure, frame)


def _column(arm: Arm, domain: Domain) -> Column:
    """Give the one column that all thresholds of an arm are of; ValueError if there is none."""
    setting = arm.settings[0]
    if arm.learner != "brc" or setting.get("intercept") != "threshold":
        raise ValueError(f"{arm.name} is not brc with intercept: threshold, and {KIND}")
    if of_part(arm):
        raise ValueError(f"{arm.name} has a grid or a share of the records, and {KIND}")
    # As the learner itself takes it: it draws from the columns that are not public to it.
    blind = setting.get("algorithm") == "private" or setting.get("weights") == "adaboost"
    known = domain.public_columns if arm.claim == PRIVATE_COLUMNS and not blind else ()
    columns = [column for j, column in enumerate(domain.columns) if j not in known]
    if len(columns) != 1 or not columns[0].ordered or columns[0].missing_bin:
        names = ", ".join(column.name for column in columns)
        raise ValueError(f"{arm.name} draws from {names}, and {KIND}")
    return columns[0]
