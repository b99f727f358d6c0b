"""The audit: ε found against ε claimed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from privcurve.figures import style

COLUMNS = ("learner", "calibration", "method", "epsilon", "found_epsilon", "verdict")
HEIGHT = 3.1

# Methods by shape, calibrations by filling (as in the learning curves).
EXACT, SAMPLED = "o", "^"
NOTHING = "v"
VIOLATION = "#000000"

# Points of one claim are set side by side: so far apart, in powers of ten.
STEP = 0.042

# Where points go that show nothing: this far below the smallest claim.
DEPTH = 50.0


def audit(frame: pd.DataFrame, titles: Mapping[str, str]) -> Figure:
    """Draw what was found against what is claimed, log-log, with the diagonal.

    Points below the diagonal are claims that stand. Those above it are marked with a ring
    when they are violations; a sampled search that found nothing is drawn on the floor.

    Parameters
    ----------
    frame : DataFrame
        One row a claim, with the columns learner, calibration, method (exact or sampled),
        epsilon, found_epsilon and verdict.
    titles : mapping of str to str
        The names of the learners, in the order of colours.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        If a column is missing, there are no rows, or a learner has no title.
    """
    absent = [name for name in COLUMNS if name not in frame]
    if absent:
        raise ValueError(f"the table of the audit has no column {absent[0]!r}")
    unnamed = sorted(set(frame["learner"]) - set(titles))
    if unnamed or frame.empty:
        raise ValueError(f"nothing to draw, or no title for the learners {unnamed}")
    claims = sorted(set(frame["epsilon"]))
    floor = claims[0] / DEPTH
    ceiling = 4 * max([*claims, *frame.loc[frame["found_epsilon"] < math.inf, "found_epsilon"]])
    with style.paper():
        figure = style.new_figure(style.COLUMN_WIDTH, HEIGHT)
        panel = figure.add_subplot()
        groups = [(name, c) for name in titles for c in ("published", "certified")]
        for i, (learner, calibration) in enumerate(groups):
            rows = frame[(frame["learner"] == learner) & (frame["calibration"] == calibration)]
            shift = 10 ** (STEP * (i - (len(groups) - 1) / 2))
            colour = style.COLOURS[i // 2 % len(style.COLOURS)]
            _draw(panel, rows, shift, colour, calibration == "certified", floor, ceiling)
        _finish(panel, claims, floor, ceiling)
        figure.legend(
            handles=_handles(frame, titles),
            loc="outside lower center",
            ncols=2,
            handletextpad=0.4,
            columnspacing=1.2,
            borderaxespad=0.2,
        )
    return figure


def _draw(
    panel: Axes,
    rows: pd.DataFrame,
    shift: float,
    colour: str,
    filled: bool,
    floor: float,
    ceiling: float,
) -> None:
    for row in rows.to_dict("records"):
        shape = EXACT if row["method"] == "exact" else SAMPLED
        if row["verdict"] == "found nothing":
            shape = NOTHING
        x = row["epsilon"] * shift
        y = min(max(row["found_epsilon"], floor), ceiling)
        panel.plot(x, y, **_mark(shape, colour, filled), zorder=3, clip_on=False)
        if row["verdict"] == "violated":
            panel.plot(x, y, **_ring(), zorder=4, clip_on=False)


def _mark(shape: str, colour: str, filled: bool) -> dict[str, Any]:
    return {
        "marker": shape,
        "linestyle": "none",
        "color": colour,
        "markersize": 3.6,
        "markeredgewidth": 0.8,
        "markerfacecolor": colour if filled else "white",
    }


def _ring() -> dict[str, Any]:
    return {
        "marker": "o",
        "linestyle": "none",
        "color": VIOLATION,
        "markersize": 8,
        "markeredgewidth": 1.2,
        "markerfacecolor": "none",
    }


def _finish(panel: Axes, claims: Sequence[float], floor: float, ceiling: float) -> None:
    panel.set_xscale("log")
    panel.set_yscale("log")
    panel.set_xlim(claims[0] / 2.5, claims[-1] * 2.5)
    panel.set_ylim(floor, ceiling)
    panel.plot([floor, ceiling], [floor, ceiling], color="0.35", linewidth=0.9, zorder=2)
    panel.fill_between(
        [claims[0] / 2.5, claims[-1] * 2.5],
        [claims[0] / 2.5, claims[-1] * 2.5],
        ceiling,
        color="0.5",
        alpha=0.12,
        linewidth=0,
        zorder=1,
    )
    panel.text(0.03, 0.97, "more than claimed", transform=panel.transAxes, va="top", color="0.35")
    panel.set_xlabel("Claimed ε")
    panel.set_ylabel("Found ε: exact, or a 95 % lower bound")
    panel.xaxis.set_major_locator(FixedLocator(list(claims)))
    panel.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    panel.xaxis.set_minor_locator(NullLocator())
    panel.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def _handles(frame: pd.DataFrame, titles: Mapping[str, str]) -> list[Line2D]:
    handles = [
        Line2D([], [], label=title, **_mark("s", style.COLOURS[i % len(style.COLOURS)], True))
        for i, title in enumerate(titles.values())
    ]
    grey = "0.35"
    handles += [
        Line2D([], [], label="certified", **_mark(EXACT, grey, True)),
        Line2D([], [], label="published", **_mark(EXACT, grey, False)),
        Line2D([], [], label="exact", **_mark(EXACT, grey, True)),
        Line2D([], [], label="sampled", **_mark(SAMPLED, grey, True)),
    ]
    if (frame["verdict"] == "found nothing").any():
        handles.append(Line2D([], [], label="found nothing", **_mark(NOTHING, grey, True)))
    if (frame["verdict"] == "violated").any():
        handles.append(Line2D([], [], label="violated", **_ring()))
    return handles
