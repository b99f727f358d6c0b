"""Differences of accuracy to one learner: a panel an ε, a line a learner."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, SymmetricalLogLocator

from privcurve.analysis.names import method_of
from privcurve.figures import style

LINE = 0.2  # inches
# Below so many points the axis is linear, above it logarithmic.
LINEAR = 1.0


def comparison(
    frame: pd.DataFrame, each: pd.DataFrame, titles: Mapping[str, str], reference: str
) -> Figure:
    """Draw differences in points of a hundred, with their intervals.

    Parameters
    ----------
    frame : DataFrame
        epsilon, arm, difference, low and high, one row for each ε and arm: what is marked.
    each : DataFrame
        The same of single datasets, which are dots.
    titles : mapping of str to str
        Of each arm.
    reference : str
        The title of the arm that the others are compared with.

    Returns
    -------
    matplotlib.figure.Figure
        Right of 0 an arm is ahead. Within a point of 0 the axis is linear, beyond logarithmic.

    Raises
    ------
    ValueError
        If there is nothing to draw.
    """
    epsilons = sorted(set(frame["epsilon"]))
    if not epsilons:
        raise ValueError("nothing to draw")
    arms = list(dict.fromkeys(frame["arm"]))
    looks = style.method_looks(map(method_of, arms))
    columns = min(len(epsilons), style.PANELS_PER_ROW)
    rows = math.ceil(len(epsilons) / columns)
    with style.paper():
        height = rows * (LINE * len(arms) + 0.62) + 0.25
        figure = style.new_figure(style.TEXT_WIDTH, height)
        made = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True).ravel()
        for panel in made[len(epsilons) :]:
            panel.remove()
        for i, (panel, epsilon) in enumerate(zip(made, epsilons, strict=False)):
            for y, arm in enumerate(arms):
                colour, marker = looks[method_of(arm)]
                dots = each[(each["epsilon"] == epsilon) & (each["arm"] == arm)]
                if each is not frame:
                    _dots(panel, dots, y, colour)
                _mark(panel, frame[(frame["epsilon"] == epsilon) & (frame["arm"] == arm)], y,
                      {"color": colour, "marker": marker})  # fmt: skip
            _finish(panel, epsilon, [titles[arm] for arm in arms])
            panel.tick_params(labelbottom=i + columns >= len(epsilons))
        figure.supxlabel(f"Accuracy less that of {reference}, in points of a hundred", fontsize=7.5)
    return figure


def _dots(panel: Axes, rows: pd.DataFrame, y: int, colour: str) -> None:
    points = (100 * rows["difference"]).dropna().tolist()
    panel.plot(
        points, [y + 0.24] * len(points), linestyle="none", marker=".", markersize=3,
        markeredgewidth=0, color=colour, alpha=0.45, zorder=2,
    )  # fmt: skip


def _mark(panel: Axes, rows: pd.DataFrame, y: int, look: Mapping[str, Any]) -> None:
    for row in rows.to_dict("records"):
        panel.plot(
            [100 * row["low"], 100 * row["high"]], [y, y], color=look["color"], linewidth=1.2
        )
        panel.plot([100 * row["difference"]], [y], linestyle="none", zorder=3, **look)


def _finish(panel: Axes, epsilon: float, names: list[str]) -> None:
    panel.set_title(f"ε = {epsilon:g}")
    panel.axvline(0, color="0.35", linewidth=0.8, zorder=1)
    panel.set_xscale("symlog", linthresh=LINEAR)
    panel.xaxis.set_major_locator(SymmetricalLogLocator(base=10, linthresh=LINEAR, subs=[1]))
    panel.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:+g}" if value else "0"))
    panel.set_yticks(range(len(names)), names)
    panel.set_ylim(len(names) - 0.4, -0.6)
