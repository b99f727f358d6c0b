"""Fresh trainings against whatever varies, one panel a dataset or another value."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from privcurve.figures import style

LOG, CATEGORIES = "log", "categories"
DASHES = (3.2, 1.4)
# Letters of a title that have room above a panel.
LONGEST_TITLE = 32
# A note's letters in points, and its height in inches.
NOTE_SIZE, NOTE_HEIGHT = 6.5, 0.15
# Of a panel's width, what a letter below its axis takes.
LETTER = 0.026
# What any classifier must be above: as in curves, a grey line.
MAJORITY = "majority"
NAMES = {"n_nodes": "number of nodes"}
ENDLESS = "the same without noise"
LEVEL: Any = {"linestyle": (0, (1, 1)), "linewidth": 1.0}


def sweep(
    frame: pd.DataFrame,
    x: str,
    y: str,
    label: str,
    scale: str = "linear",
    levels: pd.DataFrame | None = None,
) -> Figure:
    """Draw means over trainings with a band of one standard deviation.

    Parameters
    ----------
    frame : DataFrame
        One row a training, with the columns `x`, `y`, line, panel, and of each line its method
        and calibration, which tell how it looks; of each panel, if not all are compared, the
        group that shares its y axis. A point with a training that failed (`y` missing) has no mean.
    x, y : str
    label : str
        Of the x axis.
    scale : str
        "linear", "log" or "categories".
    levels : DataFrame, optional
        Trainings that have no x, or no place on its axis: their means are horizontal lines, of
        the look of the line of that name.

    Returns
    -------
    matplotlib.figure.Figure
        Panels of one group have the same y axis: they are to be compared.

    Raises
    ------
    ValueError
        If there is nothing to draw, or no place for it on the axis.
    """
    style.check_any(frame)
    groups = dict(zip(frame["panel"], frame.get("group", [""] * len(frame)), strict=True))
    titles = list(groups)
    whole = frame if levels is None else pd.concat([frame, levels])
    lines = list(dict.fromkeys(whole["line"]))
    looks = _looks(whole)
    frame, places, texts = _placed(frame, x, scale)
    with style.paper():
        figure, panels = style.panels(len(titles), list(groups.values()))
        for panel, title in zip(panels, titles, strict=True):
            _draw(panel, frame[frame["panel"] == title], x, y, looks)
            if levels is not None:
                _draw_levels(panel, levels[levels["panel"] == title], y, looks)
            panel.set_title(textwrap.fill(title, LONGEST_TITLE))
            panel.set_xlabel(label)
            panel.set_ylabel("")
            _ticks(panel, places, texts, scale)
        for panel in panels[:: style.PANELS_PER_ROW]:
            panel.set_ylabel(NAMES.get(y, y.replace("_", " ")).capitalize())
        if len(lines) > 1:
            flat = set(whole["line"]) - set(frame["line"])
            handles = [_handle(line, looks[line], line in flat) for line in lines]
            if levels is not None and set(levels["line"]) - flat:
                handles.append(Line2D([], [], label=ENDLESS, color="black", **LEVEL))
            style.legend_below(figure, handles)
    return figure


def note(figure: Figure, text: str) -> None:
    """Write a line above the panels of a figure."""
    width, height = figure.get_size_inches()
    figure.set_size_inches(width, height + NOTE_HEIGHT)
    figure.suptitle(text, x=0.01, ha="left", fontsize=NOTE_SIZE)


def _placed(frame: pd.DataFrame, x: str, scale: str) -> tuple[pd.DataFrame, list[float], list[str]]:
    """Give numbers for the x axis, where its ticks are and what stands there."""
    values = list(dict.fromkeys(frame[x]))
    numeric = all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in values)
    if scale == CATEGORIES or not numeric or not all(map(math.isfinite, values)):
        order = sorted(values) if numeric else values
        texts = [f"{v:g}" if numeric else str(v) for v in order]
        places = {value: float(i) for i, value in enumerate(order)}
        return frame.assign(**{x: frame[x].map(places)}), list(places.values()), texts
    if scale == LOG and min(values) <= 0:
        raise ValueError(f"{x} = {min(values):g} has no place on a log axis")
    ordered = sorted(map(float, values))
    return frame, ordered, [f"{v:.3g}" if v < 1 else f"{v:g}" for v in ordered]


def _draw(
    panel: Axes, frame: pd.DataFrame, x: str, y: str, looks: Mapping[str, style.CurveStyle]
) -> None:
    # seaborn leaves out what is missing: a point that lacks one training must lack its mean.
    failed = frame[y].isna().groupby([frame["line"], frame[x]]).transform("any")
    sns.lineplot(
        frame.assign(**{y: frame[y].where(~failed)}),
        x=x,
        y=y,
        hue="line",
        style="line",
        palette={line: look.colour for line, look in looks.items()},
        markers={line: look.marker for line, look in looks.items()},
        dashes={line: "" if look.filled else DASHES for line, look in looks.items()},
        errorbar="sd",
        err_kws={"alpha": 0.16, "linewidth": 0},
        markeredgewidth=0,
        markersize=4,
        legend=False,
        ax=panel,
    )


def _draw_levels(
    panel: Axes, levels: pd.DataFrame, y: str, looks: Mapping[str, style.CurveStyle]
) -> None:
    for line, part in levels.groupby("line", sort=False):
        look = looks[str(line)]
        # A mean that lacks a training is missing, and draws nothing.
        panel.axhline(part[y].mean(skipna=False), color=look.colour, **LEVEL)


def _looks(frame: pd.DataFrame) -> dict[str, style.CurveStyle]:
    """Give each line its method's look, or one of its own where the method has several lines."""
    lines = frame.drop_duplicates("line").set_index("line")
    methods = style.method_looks(map(str, lines["method"]))
    own = style.method_looks(map(str, lines.index))
    taken = {colour for colour, _ in methods.values()}
    looks: dict[str, style.CurveStyle] = {}
    for line, method, calibration in lines[["method", "calibration"]].itertuples(name=None):
        filled = calibration != "published"
        look = style.CurveStyle(*methods[method], "-" if filled else (0, DASHES), filled)
        if look in looks.values():
            free = [colour for colour in style.COLOURS if colour not in taken]
            colour = free[0] if free else own[line][0]
            taken.add(colour)
            look = style.CurveStyle(colour, own[line][1], look.linestyle, filled)
        looks[line] = look
        if method == MAJORITY:
            looks[line] = replace(look, colour=style.BASELINE_COLOUR)
    return looks


def _handle(line: str, look: style.CurveStyle, level: bool = False) -> Line2D:
    if level:
        return Line2D([], [], label=line, color=look.colour, **LEVEL)
    whole = {**look.line(), "markerfacecolor": look.colour, "markeredgewidth": 0}
    return Line2D([], [], label=line, markersize=4, **whole)


def _ticks(panel: Axes, places: Sequence[float], texts: Sequence[str], scale: str) -> None:
    if scale == LOG:
        panel.set_xscale("log")
    names: dict[float, Any] = dict(zip(places, texts, strict=True))
    room = max(0.07, LETTER * max(map(len, texts)))
    panel.xaxis.set_major_locator(FixedLocator(_apart(places, scale == LOG, room)))
    panel.xaxis.set_major_formatter(FuncFormatter(lambda value, _: names.get(value, "")))
    panel.xaxis.set_minor_locator(NullLocator())


def _apart(places: Sequence[float], logarithmic: bool, share: float) -> list[float]:
    """Choose the places to label: the outermost, then those that are not too near another."""
    at = {place: math.log(place) if logarithmic else place for place in places}
    room = share * (at[places[-1]] - at[places[0]])
    chosen: list[float] = []
    for place in [places[0], places[-1], *places]:
        if all(abs(at[place] - at[other]) > room for other in chosen):
            chosen.append(place)
    return sorted(chosen)
