"""Profiles of errors over a grid of ensembles: one figure a dataset, all from one call."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from privcurve.outputs import ensemble_errors
from privcurve.outputs.base import Asked, Files, Output, Reads
from privcurve.outputs.context import Context
from privcurve.outputs.learning_curves import dataset_title
from privcurve.outputs.options import NUMBER, Option

if TYPE_CHECKING:
    import pandas as pd


class ErrorProfiles(Output):
    """Figures: the share of runs with an error up to x, by α and by ε, for each dataset."""

    word: ClassVar[str] = "error_profiles"
    selects: ClassVar[bool] = False
    memory: ClassVar[int] = 2000
    options: ClassVar = {
        "at": Option("an error: the table says which share of runs is not above it", NUMBER, 0.2)
    }

    def files(self, asked: Asked) -> Files:  # noqa: D102
        folder = asked.figure
        figures = tuple(folder / name for name in asked.study.datasets)
        return Files(tables=(asked.table,), figures=figures)

    def reads(self, asked: Asked) -> Reads:  # noqa: D102
        names = asked.study.datasets
        return Reads(
            data=names,
            outputs=(ensemble_errors.WORD,),
            facts=[[name, dataset_title(name)] for name in names],
        )

    def make(self, context: Context) -> None:  # noqa: D102
        from privcurve.analysis import ensembles
        from privcurve.figures import style
        from privcurve.figures.error_profiles import error_profiles
        from privcurve.tables.table import Table

        frame = ensemble_errors.read(context)
        majority = {name: _majority(context, name) for name in context.study.datasets}
        at = context.options["at"]
        context.write(
            Table(
                ensembles.profile_shares(frame, majority, at),
                f"Spread of errors over the grid; share: those up to {at:g}",
                ("A run is a setting at an ε; its error is the mean over the folds.",),
            )
        )
        stems = dict(zip(context.study.datasets, context.asked.files.figures, strict=True))
        for name, part in ensembles.boosted(frame).groupby("dataset", sort=False):
            shown = _panels(part)
            figure = error_profiles(shown, dataset_title(str(name)), majority[str(name)])
            style.save(figure, shown, stems[str(name)])


def _majority(context: Context, name: str) -> float:
    labels = context.data(name).y
    share = float((labels == 1).mean())
    return min(share, 1 - share)


def _panels(frame: pd.DataFrame) -> pd.DataFrame:
    """Give the curves of all panels of a dataset, in their order."""
    import numpy as np
    import pandas as pd

    from privcurve.analysis import ensembles
    from privcurve.figures import error_profiles as figure

    order = {alpha: place for place, alpha in enumerate(ensembles.ALPHAS)}
    frame = frame.sort_values("alpha", key=lambda names: names.map(order), kind="stable")
    alpha = "α = " + frame["alpha"]
    free = np.isinf(frame["epsilon"])
    private = ~free & (frame["epsilon"] >= ensembles.LEAST_EPSILON)
    calibrated = private & (frame["alpha"] == ensembles.CALIBRATED)
    first = frame["alpha"].iloc[0]
    mine = calibrated if calibrated.any() else private & (frame["alpha"] == first)
    by_epsilon = frame[mine].sort_values("epsilon", kind="stable")
    epsilon = by_epsilon["epsilon"].map("ε = {:g}".format)
    parts = []
    if free.any():
        parts += [figure.profile(frame[free], "without privacy", alpha[free])]
    parts += [
        figure.profile(frame[private], "private, all ε", alpha[private]),
        figure.profile(by_epsilon, f"private, α = {frame.loc[mine, 'alpha'].iloc[0]}", epsilon),
        figure.profile(frame[private], f"private, all ε{figure.CROPPED}", alpha[private]),
    ]
    if free.any():
        parts += [
            figure.running(frame[free], "expected depth, without privacy", alpha[free],
                           "expected_depth"),
            figure.running(frame[free], "leaves, without privacy", alpha[free], "n_leaves"),
        ]  # fmt: skip
    return pd.concat(parts, ignore_index=True)[["panel", "line", "error", "value", "value_std"]]
