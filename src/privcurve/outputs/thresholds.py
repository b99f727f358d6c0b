"""One BRC model of thresholds on a line: where they were drawn, and what each weighs."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from privcurve.experiments import canonical
from privcurve.learners import registry
from privcurve.outputs.base import Asked, Files, Output, Reads, about
from privcurve.outputs.context import Context
from privcurve.outputs.learning_curves import dataset_title
from privcurve.outputs.options import NUMBER, REQUIRED, TEXT, Option
from privcurve.privacy.budget import PRIVATE_COLUMNS

if TYPE_CHECKING:
    from privcurve.datasets.domain import Column, Domain
    from privcurve.experiments.study import Arm

KIND = "thresholds are drawn of brc with intercept: threshold, one setting, on one number"


class Thresholds(Output):
    """Figure: the thresholds of one BRC model as a histogram, and the weight α of each.

    The model is trained for it, with an ε that need not be one of the study's. Of a learner with
    several calibrations the first is shown.
    """

    word: ClassVar[str] = "thresholds"
    selects: ClassVar[bool] = False
    local: ClassVar[bool] = False
    options: ClassVar = {
        "learner": Option("an entry of the study's learners: brc with intercept: threshold",
                          TEXT, REQUIRED),
        "epsilon": Option("the budget of the model, above 0", NUMBER, REQUIRED),
        "dataset": Option("a dataset of the study; by default its first", TEXT),
        "boundary": Option("where the label changes, in the column's unit, if known", NUMBER),
    }  # fmt: skip

    def check(self, asked: Asked) -> None:  # noqa: D102
        dataset = _dataset(asked)
        asked.check_dataset(dataset)
        if not asked.options["epsilon"] > 0:
            raise ValueError(f"epsilon = {asked.options['epsilon']:g} is not above 0")
        column = _column(_arm(asked), about(dataset).domain)
        boundary = asked.options["boundary"]
        if boundary is not None and not column.edges[0] <= boundary <= column.edges[-1]:
            raise ValueError(
                f"boundary = {boundary:g} is not within the bounds of {column.name}, "
                f"{column.edges[0]:g} to {column.edges[-1]:g}"
            )

    def files(self, asked: Asked) -> Files:  # noqa: D102
        return Files(figures=(asked.figure,))

    def reads(self, asked: Asked) -> Reads:  # noqa: D102
        arm, dataset = _arm(asked), _dataset(asked)
        version = registry.entry(arm.learner).version
        # Nothing of the study is read: what the model hangs on is said here.
        budget = [arm.calibration, arm.delta, arm.claim]
        settings = [canonical.text(setting) for setting in arm.settings]
        titles = [arm.title, dataset_title(dataset)]
        return Reads(data=(dataset,), facts=[arm.name, version, budget, settings, titles])

    def make(self, context: Context) -> None:  # noqa: D102
        from privcurve.analysis.thresholds import thresholds
        from privcurve.experiments import models
        from privcurve.experiments.study import Point
        from privcurve.figures import thresholds as drawing

        arm, epsilon = _arm(context.asked), context.options["epsilon"]
        data = context.data(_dataset(context.asked))
        (setting,) = arm.settings
        point = Point(epsilon, setting, canonical.text(setting))
        (model,) = models.train_afresh(data, arm, point, 1, context.seed)
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


def _dataset(asked: Asked) -> str:
    return asked.options["dataset"] or asked.study.datasets[0]


def _arm(asked: Asked) -> Arm:
    return asked.arms_of(asked.options["learner"])[0]


def _column(arm: Arm, domain: Domain) -> Column:
    """Give the one column that all thresholds of an arm are of; ValueError if there is none."""
    setting = arm.settings[0]
    if arm.learner != "brc" or setting.get("intercept") != "threshold":
        raise ValueError(f"{arm.name} is not brc with intercept: threshold, and {KIND}")
    if len(arm.settings) > 1 or arm.train_share < 1:
        raise ValueError(f"{arm.name} has a grid or a share of the records, and {KIND}")
    # As the learner itself takes it: it draws from the columns that are not public to it.
    blind = setting.get("algorithm") == "private" or setting.get("weights") == "adaboost"
    known = domain.public_columns if arm.claim == PRIVATE_COLUMNS and not blind else ()
    columns = [column for j, column in enumerate(domain.columns) if j not in known]
    if len(columns) != 1 or not columns[0].ordered or columns[0].missing_bin:
        names = ", ".join(column.name for column in columns)
        raise ValueError(f"{arm.name} draws from {names}, and {KIND}")
    return columns[0]
