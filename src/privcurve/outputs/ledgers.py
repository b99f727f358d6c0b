"""What each private model is made of: its ledger, in words."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar

from privcurve.learners import registry
from privcurve.outputs.base import Asked, Option, Output, Reads
from privcurve.outputs.context import Context

if TYPE_CHECKING:
    import pandas as pd

    from privcurve.experiments.study import Arm

CAPTION = "The ledger of each private learner"
NOTES = (
    "Of one training of the selected setting on all of a dataset's training part. ε of the ledger "
    "is what its steps add up to; that is at most the ε of the curve.",
    "Status: whether what is claimed is proved, not proved or refuted (docs/privacy.md).",
)
COLUMNS = (
    *("dataset", "arm", "learner", "calibration", "delta", "epsilon", "neighbours"),
    *("composition", "steps", "epsilon_spent", "status", "ledger"),
)


class Ledgers(Output):
    """Table ``ledgers``: mechanisms, steps and accountant of each private learner at each ε.

    A model is trained for each row.
    """

    word: ClassVar[str] = "ledgers"
    local: ClassVar[bool] = False
    options: ClassVar = {
        "epsilons": Option("a list of ε of the study; by default all of them", list, None)
    }

    def check(self, asked: Asked) -> None:
        given = asked.options["epsilons"] or []
        known = {epsilon for arm in asked.study.arms.values() for epsilon in arm.epsilons}
        unknown = [epsilon for epsilon in given if epsilon not in known]
        if unknown:
            raise ValueError(f"the study has no epsilon = {unknown[0]}")
        if not list(_arms(asked)):
            raise ValueError("the study has no private learner that trains on all records")

    def reads(self, asked: Asked) -> Reads:
        arms = _arms(asked)
        versions = [[arm.name, registry.entry(arm.learner).version] for arm in arms]
        return Reads(asked.curves_of(arms), data=asked.study.datasets, facts=versions)

    def make(self, context: Context) -> None:
        import pandas as pd

        from privcurve.tables.table import Table, shown

        selected = context.selected()
        rows = [
            _row(context, data, arm, epsilon, selected)
            for data in map(context.data, context.study.datasets)
            for arm in _arms(context.asked)
            for epsilon in sorted(context.options["epsilons"] or arm.epsilons)
            if epsilon in arm.epsilons and math.isfinite(epsilon)
        ]
        frame = pd.DataFrame(rows, columns=list(COLUMNS))
        names = ["dataset", "arm", "epsilon", "neighbours", "epsilon_spent", "status", "ledger"]
        context.write(Table(frame, CAPTION, NOTES, shown(frame[names])))


def _arms(asked: Asked) -> list[Arm]:
    """Give the private arms; a model of a part of the records is no release."""
    arms = asked.study.arms.values()
    return [arm for arm in arms if arm.calibration is not None and arm.train_share == 1]


def _row(
    context: Context, data: Any, arm: Arm, epsilon: float, selected: pd.DataFrame
) -> dict[str, Any]:
    from privcurve.experiments import models
    from privcurve.experiments.results import IncompleteError

    row: dict[str, Any] = {
        **{"dataset": data.name, "arm": arm.name, "learner": arm.learner},
        **{"calibration": arm.calibration, "delta": arm.delta, "epsilon": epsilon},
    }
    try:
        point = models.selected_point(arm, selected, data.name, epsilon)
        (model,) = models.train_afresh(data, arm, point, 1, context.seed)
    except (IncompleteError, ValueError) as error:
        return {**row, "status": f"failed: {error}"}
    statement = model.learner.privacy_
    return {
        **row,
        **{"neighbours": statement.neighbours, "composition": statement.composition},
        **{"steps": len(statement.ledger), "epsilon_spent": statement.epsilon_spent},
        **{"status": statement.status, "ledger": statement.made_of()},
    }
