"""Draw distributions of errors over a grid of ensembles: the share of runs with error up to x."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar

import numpy as np

from privcurve.figures import style
from privcurve.lazy import Axes, Figure, pd, sns
from privcurve.outputs.base import (
    Context,
    Files,
    Option,
    Output,
    OutputRequest,
    Reads,
    dataset_title,
    source_of,
)
from privcurve.tables.table import Table

from . import ensembles


class ErrorShares(Output):
    """Table: the share of runs with an error up to a threshold, for each dataset and α."""

    word: ClassVar[str] = "error_shares"
    selects: ClassVar[bool] = False
    memory: ClassVar[int] = 2000
    options: ClassVar = {"at": Option("threshold of the error for the share of runs", float, 0.2)}

    def reads(self, request: OutputRequest) -> Reads:
        return Reads(data=request.study.datasets, outputs=(ensembles.WORD,))

    def make(self, context: Context) -> None:
        frame, at = ensembles.read_errors(context), context.options["at"]
        majority = {name: _majority(context, name) for name in context.study.datasets}
        caption = f"Spread of errors over the grid; share: those up to {at:g}"
        notes = ("A run is a setting at an ε; its error is the mean over the folds.",)
        context.write(Table(profile_shares(frame, majority, at), caption, notes))


class ErrorProfiles(Output):
    """Three figures for each dataset: two of the errors of its runs, one of the models' sizes.

    The first two figures show the share of runs with an error up to x. In the first (the paper's
    Figures 9, 12 … 60), some panels join the runs at all ε and have one curve for each α; each
    other panel is for one α and has one curve for each ε. In the second (Figures 10, 13 … 61), each
    panel is for one ε and has one curve for each α. The third (Figures 8, 11 … 59) shows the mean
    depth and the mean number of leaves of the models with an error up to x.
    """

    word: ClassVar[str] = "error_profiles"
    version: ClassVar[int] = 3
    selects: ClassVar[bool] = False
    memory: ClassVar[int] = 2000

    def files(self, request: OutputRequest) -> Files:
        names = (f"{name}{kind}" for name in request.study.datasets for kind in KINDS)
        return Files(figures=tuple(request.figure / name for name in names))

    def reads(self, request: OutputRequest) -> Reads:
        titles = request.dataset_titles()
        return Reads(data=request.study.datasets, outputs=(ensembles.WORD,), facts=titles)

    def make(self, context: Context) -> None:
        frame = ensembles.keep_published(ensembles.read_errors(context))
        stems = {stem.name: stem for stem in context.request.files.figures}
        for name, part in frame.groupby("dataset", sort=False):
            majority = _majority(context, str(name))
            for kind, panels_of in KINDS.items():
                curves = _curves(panels_of(_sort_by_alpha(part)))
                figure = draw(curves, dataset_title(str(name)), majority)
                context.draw(figure, curves, stems[f"{name}{kind}"])


class BinProfiles(Output):
    """Figures: the errors of private runs on two datasets with the same records but other bins.

    The option `pairs` lists pairs of datasets; the second one has more bins per column. Each pair
    has a figure with two panels for each α: one for the runs at all ε, one for the runs at the
    smallest ε (the paper's Figure 62).
    """

    word: ClassVar[str] = "bin_profiles"
    selects: ClassVar[bool] = False
    memory: ClassVar[int] = 2000
    options: ClassVar = {
        "pairs": Option("pairs of a dataset and its version with more bins, {few: more, …}", dict)
    }

    def check(self, request: OutputRequest) -> None:
        for few, more in request.options["pairs"].items():
            for name in (few, more):
                request.check_dataset(name)
            if source_of(few) != source_of(more):
                raise ValueError(
                    f"pairs must have datasets with the same records; got {few} and {more}"
                )

    def files(self, request: OutputRequest) -> Files:
        return Files(figures=tuple(request.figure / name for name in request.options["pairs"]))

    def reads(self, request: OutputRequest) -> Reads:
        pairs: Mapping[str, str] = request.options["pairs"]
        titles = [[name, dataset_title(name)] for pair in pairs.items() for name in pair]
        names = tuple(name for pair in pairs.items() for name in pair)
        return Reads(data=names, outputs=(ensembles.WORD,), facts=titles)

    def make(self, context: Context) -> None:
        frame = ensembles.keep_paper(ensembles.keep_published(ensembles.read_errors(context)))
        pairs: Mapping[str, str] = context.options["pairs"]
        for stem, pair in zip(context.request.files.figures, pairs.items(), strict=True):
            titles = {name: dataset_title(name) for name in pair}
            part = pd.concat([frame[frame["dataset"] == name] for name in pair])
            curves = _curves(_pair_panels(_sort_by_alpha(part), titles))
            figure = draw(curves, titles[pair[0]], _majority(context, pair[0]))
            context.draw(figure, curves, stem)


def _majority(context: Context, name: str) -> float:
    labels = context.data(name).y
    share = float((labels == 1).mean())
    return min(share, 1 - share)


def _sort_by_alpha(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows sorted by α, in the order in which the paper lists the α."""
    order = {alpha: place for place, alpha in enumerate(ensembles.ALPHAS)}
    return frame.sort_values("alpha", key=lambda names: names.map(order), kind="stable")


def _curves(parts: Iterable[pd.DataFrame]) -> pd.DataFrame:
    frame = pd.concat(list(parts), ignore_index=True)
    return frame[["panel", "line", "error", "value", "value_std"]]


def _by_alpha(frame: pd.DataFrame) -> pd.Series:
    return "α = " + frame["alpha"]


def _main_panels(frame: pd.DataFrame) -> list[pd.DataFrame]:
    """Return the panels of a dataset's first figure.

    A panel of the runs without privacy and a panel of the private runs at all ε have one curve for
    each α. Then each α has a panel of private runs with one curve for each ε. Each private panel
    comes twice: with all errors, and cropped.
    """
    free, private = frame[np.isinf(frame["epsilon"])], ensembles.keep_paper(frame)
    parts = [profile(free, "without privacy", _by_alpha(free))] if len(free) else []
    for end in ("", CROPPED):
        parts.append(profile(private, f"private, all ε{end}", _by_alpha(private)))
    groups = [
        (f"private, α = {alpha}", part.sort_values("epsilon", kind="stable"))
        for alpha, part in private.groupby("alpha", sort=False)
    ]
    for end in ("", CROPPED):
        for panel, own in groups:
            parts.append(profile(own, f"{panel}{end}", own["epsilon"].map("ε = {:g}".format)))
    return parts


def _epsilon_panels(frame: pd.DataFrame) -> list[pd.DataFrame]:
    """Return the panels of the second figure: for each ε, a panel with one curve for each α.

    The result has each panel twice: first the panels that show all errors, then the same panels
    cropped to small errors.
    """
    groups = list(ensembles.keep_paper(frame).groupby("epsilon", sort=True))
    return [
        profile(part, f"ε = {epsilon:g}{end}", _by_alpha(part))
        for end in ("", CROPPED)
        for epsilon, part in groups
    ]


def _size_panels(frame: pd.DataFrame) -> list[pd.DataFrame]:
    """Return the panels of the third figure: mean depth and mean number of leaves of models.

    Models without privacy and private models have separate panels.
    """
    free, private = frame[np.isinf(frame["epsilon"])], ensembles.keep_paper(frame)
    return [
        running_means(part, f"{what}, {kind}", _by_alpha(part), name)
        for kind, part in (("without privacy", free), ("private", private))
        if len(part)
        for what, name in (("expected depth", "expected_depth"), ("leaves", "n_leaves"))
    ]


def _pair_panels(frame: pd.DataFrame, titles: Mapping[str, str]) -> list[pd.DataFrame]:
    """Return two cropped panels for each α: one of the runs at all ε, one at the smallest ε.

    Each panel has one curve for each dataset of the pair, named by `titles`.
    """
    least = frame["epsilon"].min()
    parts = {"all ε": frame, f"ε = {least:g}": frame[frame["epsilon"] == least]}
    return [
        profile(own, f"{what}, α = {alpha}{CROPPED}", own["dataset"].map(titles))
        for what, part in parts.items()
        for alpha, own in part.groupby("alpha", sort=False)
    ]


# End of the title of a panel whose axes are cropped to errors below the error of predicting the
# majority class.
CROPPED = " (cropped)"
# Maps the suffix of a figure's file name to the function that returns the figure's panels.
KINDS: Mapping[str, Callable[[pd.DataFrame], list[pd.DataFrame]]] = {
    "": _main_panels,
    "_by_epsilon": _epsilon_panels,
    "_sizes": _size_panels,
}


def profile_shares(frame: pd.DataFrame, majority: dict[str, float], at: float) -> pd.DataFrame:
    """Return statistics of the errors over a grid, with one row for each group of runs.

    The groups are by dataset, `privacy` (``private``: all ε of the paper; ``none``: ε = ∞), α, and
    number of trees (or ``all``). The columns are the share of runs with an error up to `at`; the
    smallest, median and largest error; and `majority`, the error of predicting the majority class
    of the dataset.
    """
    rows = []
    published = ensembles.keep_published(frame)
    for (dataset, alpha), part in published.groupby(["dataset", "alpha"], sort=False):
        kinds = {"none": part[np.isinf(part["epsilon"])], "private": ensembles.keep_paper(part)}
        for privacy, own in kinds.items():
            for n_trees, runs in [(ensembles.ALL, own), *own.groupby("n_trees", sort=True)]:
                errors = runs["error"]
                if errors.empty or errors.isna().any():
                    continue
                rows.append(
                    {
                        "dataset": dataset, "privacy": privacy, "alpha": alpha,
                        "n_trees": str(n_trees), "n_runs": len(errors),
                        "share": float((errors <= at + ensembles.ROUNDING).mean()),
                        "least": errors.min(), "median": errors.median(),
                        "largest": errors.max(), "majority": majority[str(dataset)],
                    }
                )  # fmt: skip
    return pd.DataFrame(rows)


def profile(frame: pd.DataFrame, panel: str, lines: pd.Series) -> pd.DataFrame:
    """Return points of step curves in a panel: the share of a curve's runs with an error up to x.

    `lines` names, for each row of `frame`, its curve. The share is of all runs, but a failed run
    has no error, so a curve with failed runs ends below 1.
    """
    parts = []
    for line, part in frame.groupby(lines.to_numpy(), sort=False):
        errors = np.sort(part["error"].dropna().to_numpy(dtype=float))
        shares = np.arange(len(errors) + 1) / len(part)
        # Each curve starts at share 0 and is extended to the largest error of all curves.
        ends = [*errors, frame["error"].max()]
        steps = {"error": [ends[0], *ends], "value": [*shares, shares[-1]]}
        parts.append(pd.DataFrame({**steps, "line": str(line)}))
    return pd.concat(parts, ignore_index=True).assign(panel=panel, value_std=np.nan)


def running_means(frame: pd.DataFrame, panel: str, lines: pd.Series, name: str) -> pd.DataFrame:
    """Return curves of a panel: running mean and standard deviation of the measure `name`.

    At an error x, the mean and the standard deviation are over the runs of the curve whose error is
    at most x. `lines` names, for each row of `frame`, its curve.
    """
    parts = []
    for line, part in frame.groupby(lines.to_numpy(), sort=False):
        own = part.sort_values("error", kind="stable", ignore_index=True)
        grown = own[name].expanding(min_periods=1)
        means = own[["error"]].assign(value=grown.mean(), value_std=grown.std(ddof=0))
        parts.append(means.assign(line=str(line)))
    return pd.concat(parts, ignore_index=True).assign(panel=panel)


def draw(frame: pd.DataFrame, title: str, majority: float) -> Figure:
    """Draw all panels of a figure; `majority` is the error of predicting the majority class."""
    style.check_not_empty(frame)
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
