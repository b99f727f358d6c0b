"""The fold errors of every setting of a grid of ensembles: what the tables of it are made from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from privcurve.experiments.study import ALL
from privcurve.learners import registry
from privcurve.outputs.base import TABLES, Asked, Files, Output, Reads
from privcurve.outputs.context import Context

if TYPE_CHECKING:
    import pandas as pd

WORD = "ensemble_errors"
ERRORS = "errors"
# What the tables know of a setting (privcurve.analysis.ensembles).
LEARNERS = ("bdpe", "dp_forest")


class EnsembleErrors(Output):
    """File: errors of all folds of each setting of `bdpe` and `dp_forest`; others read it."""

    word: ClassVar[str] = WORD
    selects: ClassVar[bool] = False
    memory: ClassVar[int] = 2000

    def check(self, asked: Asked) -> None:  # noqa: D102
        study = asked.study
        if study.select != ALL or not study.folds or study.repeats:
            raise ValueError(
                "it is of all runs: give the study select: all and splits: {folds: 10}"
            )
        if not any(arm.learner == LEARNERS[0] for arm in study.arms.values()):
            raise ValueError(f"the study has no learner {LEARNERS[0]}, and it is about them")

    def files(self, asked: Asked) -> Files:  # noqa: D102
        return Files(others={ERRORS: TABLES / f"{asked.place}.csv"})

    def reads(self, asked: Asked) -> Reads:  # noqa: D102
        arms = [name for name, arm in asked.study.arms.items() if arm.learner in LEARNERS]
        return Reads(tuple((dataset, arm) for dataset in asked.study.datasets for arm in arms))

    def make(self, context: Context) -> None:  # noqa: D102
        from privcurve.analysis import ensembles
        from privcurve.files import replace_text

        # A curve at a time: memory does not grow with the study.
        def parts() -> Iterator[pd.DataFrame]:
            for curve in context.curves:
                yield from curve.results(ensembles.CELL_COLUMNS)

        defaults = {name: registry.entry(name).defaults for name in LEARNERS}
        frame = ensembles.fold_errors(parts(), defaults)
        text = frame.to_csv(index=False, float_format="%.12g", lineterminator="\n")
        replace_text(context.asked.files.others[ERRORS], text)


def read(context: Context) -> pd.DataFrame:
    """Read the errors of all settings."""
    import pandas as pd

    path = context.others[WORD].files.others[ERRORS]
    names = dict.fromkeys(("dataset", "learner", "forest", "alpha", "leverage"), "str")
    return pd.read_csv(path, dtype=names, keep_default_na=False, na_values=[""])
