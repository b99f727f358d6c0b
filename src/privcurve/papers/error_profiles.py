"""Profiles of errors over a grid of ensembles: the share of runs with an error up to x."""

from __future__ import annotations

import itertools
from typing import Any, ClassVar

import numpy as np

from privcurve.figures import style
from privcurve.lazy import Axes, Figure, pd, sns
from privcurve.outputs.base import Asked, Files, Option, Output, Reads, dataset_title
from privcurve.outputs.context import Context
from privcurve.papers import ensembles
from privcurve.tables.table import Table


class ErrorProfiles(Output):
    """Figures: the share of runs with an error up to x, by α and by ε, for each dataset."""

    word: ClassVar[str] = "error_profiles"
    selects: ClassVar[bool] = False
    memory: ClassVar[int] = 2000
    options: ClassVar = {
        "at": Option("an error: the table says which share of runs is not above it", float, 0.2)
    }

    def files(self, asked: Asked) -> Files:
        figures = tuple(asked.figure / name for name in asked.study.datasets)
        return Files(tables=(asked.table,), figures=figures)

    def reads(self, asked: Asked) -> Reads:
        titles = asked.dataset_titles()
        return Reads(data=asked.study.datasets, outputs=(ensembles.WORD,), facts=titles)

    def make(self, context: Context) -> None:
        frame, at = ensembles.read_errors(context), context.options["at"]
        majority = {name: _majority(context, name) for name in context.study.datasets}
        caption = f"Spread of errors over the grid; share: those up to {at:g}"
        notes = ("A run is a setting at an ε; its error is the mean over the folds.",)
        context.write(Table(profile_shares(frame, majority, at), caption, notes))
        stems = dict(zip(context.study.datasets, context.asked.files.figures, strict=True))
        for name, part in ensembles.boosted(frame).groupby("dataset", sort=False):
            curves = _panels(part)
            figure = draw(curves, dataset_title(str(name)), majority[str(name)])
            style.save(figure, curves, stems[str(name)])


def _majority(context: Context, name: str) -> float:
    labels = context.data(name).y
    share = float((labels == 1).mean())
    return min(share, 1 - share)


def _panels(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the curves of all panels of a dataset, in their order."""
    order = {alpha: place for place, alpha in enumerate(ensembles.ALPHAS)}
    frame = frame.sort_values("alpha", key=lambda names: names.map(order), kind="stable")
    free, private = frame[np.isinf(frame["epsilon"])], ensembles.of_paper(frame)
    alphas = set(private["alpha"])
    alpha = ensembles.CALIBRATED if ensembles.CALIBRATED in alphas else frame["alpha"].iloc[0]
    by_epsilon = private[private["alpha"] == alpha].sort_values("epsilon", kind="stable")
    epsilon = by_epsilon["epsilon"].map("ε = {:g}".format)
    parts = [
        profile(private, "private, all ε", "α = " + private["alpha"]),
        profile(by_epsilon, f"private, α = {alpha}", epsilon),
        profile(private, f"private, all ε{CROPPED}", "α = " + private["alpha"]),
    ]
    if len(free):
        lines = "α = " + free["alpha"]
        parts = [
            profile(free, "without privacy", lines),
            *parts,
            running(free, "expected depth, without privacy", lines, "expected_depth"),
            running(free, "leaves, without privacy", lines, "n_leaves"),
        ]
    return pd.concat(parts, ignore_index=True)[["panel", "line", "error", "value", "value_std"]]


CROPPED = " (cropped)"


def profile_shares(frame: pd.DataFrame, majority: dict[str, float], at: float) -> pd.DataFrame:
    """Say how errors are spread over a grid: what a profile shows, in numbers.

    Of ``private`` (all ε of the paper) and ``none``, by α and n_trees (or ``all``): the share of
    runs with an error up to `at`, the least, median and largest error, and that of the majority.
    """
    rows = []
    for (dataset, alpha), part in ensembles.boosted(frame).groupby(
        ["dataset", "alpha"], sort=False
    ):
        kinds = {"none": part[np.isinf(part["epsilon"])], "private": ensembles.of_paper(part)}
        for privacy, own in kinds.items():
            for n_trees, runs in [(ensembles.ALL, own), *own.groupby("n_trees", sort=True)]:
                errors = runs["error"]
                if errors.empty or errors.isna().any():
                    continue
                rows.append(
                    {
                        **{"dataset": dataset, "privacy": privacy, "alpha": alpha},
                        **{"n_trees": str(n_trees), "n_runs": len(errors)},
                        "share": float((errors <= at + ensembles.ROUNDING).mean()),
                        **{"least": errors.min(), "median": errors.median()},
                        **{"largest": errors.max(), "majority": majority[str(dataset)]},
                    }
                )
    return pd.DataFrame(rows)


def profile(frame: pd.DataFrame, panel: str, lines: pd.Series) -> pd.DataFrame:
    """Return the steps of a panel's curves: shares of a curve's runs with an error up to x."""
    parts = []
    for line, part in frame.groupby(lines.to_numpy(), sort=False):
        errors = np.sort(part["error"].to_numpy(dtype=float))
        shares = np.arange(len(errors) + 1) / len(errors)
        # From nothing to the largest error of all curves.
        ends = [*errors, frame["error"].max()]
        steps = {"error": [errors[0], *ends], "value": [*shares, 1.0]}
        parts.append(pd.DataFrame({**steps, "line": str(line)}))
    return pd.concat(parts, ignore_index=True).assign(panel=panel, value_std=np.nan)


def running(frame: pd.DataFrame, panel: str, lines: pd.Series, name: str) -> pd.DataFrame:
    """Return the mean and standard deviation of a measure over runs with an error up to x."""
    parts = []
    for line, part in frame.groupby(lines.to_numpy(), sort=False):
        own = part.sort_values("error", kind="stable", ignore_index=True)
        grown = own[name].expanding(min_periods=1)
        means = own[["error"]].assign(value=grown.mean(), value_std=grown.std(ddof=0))
        parts.append(means.assign(line=str(line)))
    return pd.concat(parts, ignore_index=True).assign(panel=panel)


def draw(frame: pd.DataFrame, title: str, majority: float) -> Figure:
    """Draw the profiles of a dataset, a panel each."""
    style.check_any(frame)
    names = list(dict.fromkeys(frame["panel"]))
    with style.paper():
        figure, panels = style.panels(len(names))
        for panel, name in zip(panels, names, strict=True):
            _draw(panel, frame[frame["panel"] == name], name, majority)
        figure.suptitle(title, fontsize=9)
    return figure


def _draw(panel: Axes, part: pd.DataFrame, name: str, majority: float) -> None:
    lines = list(dict.fromkeys(part["line"]))
    colours = dict(zip(lines, itertools.cycle(style.COLOURS), strict=False))
    look = {"hue": "line", "palette": colours, "drawstyle": "steps-post"}
    sns.lineplot(part, x="error", y="value", estimator=None, legend=False, ax=panel, **look)
    spread = part.dropna(subset="value_std")
    for line, own in spread.groupby("line", sort=False):
        low, high = own["value"] - own["value_std"], own["value"] + own["value_std"]
        band: Any = {"alpha": 0.16, "linewidth": 0, "color": colours[str(line)]}
        panel.fill_between(own["error"], low, high, step="post", **band)
    if spread.empty:
        panel.axvline(majority, color=style.BASELINE_COLOUR, linestyle="--", linewidth=0.8)
    panel.set_title(name)
    panel.set_xlabel("error")
    panel.set_ylabel("share of runs" if spread.empty else "mean ± sd of runs up to it")
    if name.endswith(CROPPED):
        least = float(part["error"].min())
        panel.set_xlim(least - 0.01, min(float(part["error"].max()), majority) + 0.01)
        panel.set_ylim(0, 1.02)
    handles = [style.key_line(line, color=colours[line]) for line in lines]
    panel.legend(handles=handles, loc="best", fontsize=6, handlelength=1.4)
