"""What data holders send in each protocol of a study, and how good the models are."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from privcurve.analysis.names import method_of
from privcurve.experiments.study import Arm
from privcurve.outputs.base import Asked, Files, Output, Reads
from privcurve.outputs.context import Context
from privcurve.outputs.learning_curves import dataset_title
from privcurve.outputs.options import LIST, NUMBER, Option

if TYPE_CHECKING:
    import pandas as pd


class Communication(Output):
    """Table ``communication``: rounds, messages, bytes of a holder, and accuracy at one ε."""

    word: ClassVar[str] = "communication"
    selects: ClassVar[bool] = False
    options: ClassVar = {
        "epsilon": Option("the ε of the models", NUMBER, 1),
        "learners": Option("a list of entries of the study's learners; by default all", LIST),
    }

    def check(self, asked: Asked) -> None:  # noqa: D102
        for learner in asked.options["learners"] or ():
            asked.check_epsilon(learner, asked.options["epsilon"])
        if not _arms(asked):
            raise ValueError(f"no learner of it has epsilon = {asked.options['epsilon']:g}")

    def files(self, asked: Asked) -> Files:  # noqa: D102
        return Files(tables=(asked.table,))

    def reads(self, asked: Asked) -> Reads:  # noqa: D102
        arms = _arms(asked)
        return Reads(
            tuple(itertools.product(asked.study.datasets, [arm.name for arm in arms])),
            facts=[
                [[arm.name, arm.base_title] for arm in arms],
                [[name, dataset_title(name)] for name in asked.study.datasets],
            ],
        )

    def make(self, context: Context) -> None:  # noqa: D102
        from privcurve.analysis import communication
        from privcurve.tables.table import Table

        frame = communication.communication(context.described_runs(), context.options["epsilon"])
        titles = {method_of(curve.arm.base): curve.arm.base_title for curve in context.curves}
        context.write(
            Table(frame, communication.CAPTION, communication.NOTES, _shown(frame, titles))
        )


def _shown(frame: pd.DataFrame, titles: Mapping[str, str]) -> pd.DataFrame:
    """Give the table as a reader wants it: titles in place of names, whole bytes."""
    import pandas as pd

    from privcurve.analysis.communication import ABOUT, MESSAGES, SCORES
    from privcurve.tables.table import decimals, plus_minus, shown

    texts = pd.DataFrame(
        {
            "dataset": [dataset_title(name) for name in frame["dataset"]],
            "method": frame["method"].map(titles),
            "calibration": frame["calibration"],
            "δ": [f"{delta:g}" for delta in frame["delta"]],
        }
    )
    told = shown(frame[[name for name in frame if name not in (*ABOUT, *SCORES)]])
    texts = pd.concat([texts, told], axis=1)
    texts["accuracy"] = plus_minus(frame["accuracy"], frame["accuracy_std"])
    for name in MESSAGES:
        texts[name.replace("_", " ")] = decimals(frame[name], 0)
    return texts


def _arms(asked: Asked) -> list[Arm]:
    """Give the arms that are trained at the ε, of the learners that are asked for."""
    return [arm for arm in asked.wanted_arms() if asked.options["epsilon"] in arm.epsilons]
