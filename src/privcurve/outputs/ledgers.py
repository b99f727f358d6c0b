"""Make the table of each private model's ledger, written in words."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from privcurve.datasets import Dataset
from privcurve.experiments.results import IncompleteError
from privcurve.experiments.study import Method
from privcurve.lazy import pd
from privcurve.outputs.base import Context, Option, Output, OutputRequest, Reads
from privcurve.tables.table import Table, text_frame

CAPTION = "The ledger of each private learner"
NOTES = (
    (
        "Each ledger is from one training of the selected setting on a dataset's entire "
        "training part. ε of the ledger is the sum of its steps and at most the ε of the "
        "curve. δ used is the δ in the model's statement, which may be smaller than the "
        "requested δ."
    ),
    (
        "Status: derived from how sums are made, proved by this project, claimed by its "
        "author, or refuted; for a user's own learner also the result of the contract "
        "(docs/privacy.md)."
    ),
)
MODEL = ["dataset", "method", "learner", "calibration", "delta", "epsilon"]
STATED = ["neighbours", "composition", "steps", "epsilon_spent", "delta_used", "status", "ledger"]


class Ledgers(Output):
    """Table ``ledgers``: mechanisms, steps and accountant of each private learner at each ε.

    For each row one model is trained.
    """

    word: ClassVar[str] = "ledgers"
    version: ClassVar[int] = 6
    local: ClassVar[bool] = False
    options: ClassVar = {
        "epsilons": Option("a list of ε of the study; by default all of them", list, None)
    }

    def check(self, request: OutputRequest) -> None:
        methods = request.study.methods.values()
        # Membership in a set would fail for a bad value that is a list, which is not hashable.
        epsilons = [epsilon for method in methods for epsilon in method.epsilons]
        for epsilon in request.options["epsilons"] or ():
            if epsilon not in epsilons:
                raise ValueError(f"epsilon must be an ε of the study; got {epsilon}")
        if not _private_methods(request):
            raise ValueError("the study has no private learner that trains on all records")

    def reads(self, request: OutputRequest) -> Reads:
        methods = _private_methods(request)
        versions = [[method.name, method.version] for method in methods]
        return Reads(request.curves_of(methods), data=request.study.datasets, facts=versions)

    def make(self, context: Context) -> None:
        selected = context.read_selected()
        rows = [
            _make_row(context, data, method, epsilon, selected)
            for data in map(context.data, context.study.datasets)
            for method in _private_methods(context.request)
            for epsilon in sorted({*(context.options["epsilons"] or method.epsilons)})
            if epsilon in method.epsilons and math.isfinite(epsilon)
        ]
        frame = pd.DataFrame(rows, columns=[*MODEL, *STATED])
        names = ["dataset", "method", "epsilon", "neighbours", "epsilon_spent", "delta_used"]
        names += ["status", "ledger"]
        context.write(Table(frame, CAPTION, NOTES, text_frame(frame[names])))


def _private_methods(request: OutputRequest) -> list[Method]:
    """Return the private methods that train on all records, as every release does."""
    methods = request.study.methods.values()
    return [method for method in methods if method.calibration and method.train_share == 1]


def _make_row(
    context: Context, data: Dataset, method: Method, epsilon: float, selected: pd.DataFrame
) -> dict[str, Any]:
    from privcurve.experiments import models

    model = (data.name, method.name, method.learner, method.calibration, method.delta, epsilon)
    row: dict[str, Any] = dict(zip(MODEL, model, strict=True))
    try:
        point = models.selected_point(method, selected, data.name, epsilon)
        (trained,) = models.train_afresh(data, method, point, 1, context.seed)
    except (IncompleteError, ValueError) as error:
        return {**row, "status": f"failed: {error}"}
    statement = trained.learner.privacy_
    status = "; ".join(filter(None, (statement.status, method.contract)))
    stated = (
        statement.neighbours,
        statement.composition,
        len(statement.ledger),
        statement.epsilon_spent,
        statement.delta,
        status,
        statement.describe_ledger(),
    )
    return row | dict(zip(STATED, stated, strict=True))
