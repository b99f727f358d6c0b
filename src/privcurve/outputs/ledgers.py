"""What each private model is made of: its ledger, in words."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar

from privcurve.experiments.results import IncompleteError
from privcurve.lazy import pd
from privcurve.learners import registry
from privcurve.outputs.base import Context, Option, Output, OutputRequest, Reads
from privcurve.tables.table import Table, text_frame

if TYPE_CHECKING:
    from privcurve.datasets import Dataset
    from privcurve.experiments.study import Arm

CAPTION = "The ledger of each private learner"
NOTES = (
    "Of one training of the selected setting on all of a dataset's training part. ε of the ledger "
    "is what its steps add up to; that is at most the ε of the curve. δ used is that of the "
    "model's statement, which may be less than was asked for.",
    "Status: whether what is claimed is proved, not proved or refuted (docs/privacy.md).",
)
MODEL = ["dataset", "arm", "learner", "calibration", "delta", "epsilon"]
STATED = [
    *("neighbours", "composition", "steps", "epsilon_spent", "delta_used", "status", "ledger"),
]


class Ledgers(Output):
    """Table ``ledgers``: mechanisms, steps and accountant of each private learner at each ε.

    A model is trained for each row.
    """

    word: ClassVar[str] = "ledgers"
    version: ClassVar[int] = 2
    local: ClassVar[bool] = False
    options: ClassVar = {
        "epsilons": Option("a list of ε of the study; by default all of them", list, None)
    }

    def check(self, request: OutputRequest) -> None:
        epsilons = {epsilon for arm in request.study.arms.values() for epsilon in arm.epsilons}
        for epsilon in request.options["epsilons"] or ():
            if epsilon not in epsilons:
                raise ValueError(f"the study has no epsilon = {epsilon}")
        if not _arms(request):
            raise ValueError("the study has no private learner that trains on all records")

    def reads(self, request: OutputRequest) -> Reads:
        arms = _arms(request)
        versions = [[arm.name, registry.entry(arm.learner).version] for arm in arms]
        return Reads(request.curves_of(arms), data=request.study.datasets, facts=versions)

    def make(self, context: Context) -> None:
        selected = context.selected()
        rows = [
            _row(context, data, arm, epsilon, selected)
            for data in map(context.data, context.study.datasets)
            for arm in _arms(context.request)
            for epsilon in sorted(context.options["epsilons"] or arm.epsilons)
            if epsilon in arm.epsilons and math.isfinite(epsilon)
        ]
        frame = pd.DataFrame(rows, columns=[*MODEL, *STATED])
        names = ["dataset", "arm", "epsilon", "neighbours", "epsilon_spent", "delta_used"]
        names += ["status", "ledger"]
        context.write(Table(frame, CAPTION, NOTES, text_frame(frame[names])))


def _arms(request: OutputRequest) -> list[Arm]:
    """Return the private methods; a model of a part of the records is no release."""
    arms = request.study.arms.values()
    return [arm for arm in arms if arm.calibration is not None and arm.train_share == 1]


def _row(
    context: Context, data: Dataset, arm: Arm, epsilon: float, selected: pd.DataFrame
) -> dict[str, Any]:
    from privcurve.experiments import models

    model = (data.name, arm.name, arm.learner, arm.calibration, arm.delta, epsilon)
    row: dict[str, Any] = dict(zip(MODEL, model, strict=True))
    try:
        point = models.selected_point(arm, selected, data.name, epsilon)
        (trained,) = models.train_afresh(data, arm, point, 1, context.seed)
    except (IncompleteError, ValueError) as error:
        return {**row, "status": f"failed: {error}"}
    statement = trained.learner.privacy_
    stated = (
        *(statement.neighbours, statement.composition, len(statement.ledger)),
        *(statement.epsilon_spent, statement.delta, statement.status, statement.made_of()),
    )
    return row | dict(zip(STATED, stated, strict=True))
