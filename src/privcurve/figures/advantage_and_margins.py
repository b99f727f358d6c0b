"""The advantage of each round, and the margins of the vote (thesis, Figure 5.1)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from privcurve.figures import style

COLUMNS = ("quantity", "calibration", "part", "round", "margin", "value", "window_mean")
HEIGHT = 4.9

# The order of curves; what is not among them is drawn in grey.
CALIBRATIONS = ("certified", "published")
DASHES = {"certified": "-", "published": (0, (3.2, 1.4))}


def advantage_and_margins(
    frame: pd.DataFrame,
    required: float,
    failing: Mapping[str, int | None],
    titles: Mapping[str, str],
    drawn: str,
) -> Figure:
    """Draw the advantage by round above, and the histogram of margins below.

    Thin lines are means over runs, thick ones means over a window of rounds too; a mark is
    the round where the weak learner's assumption fails.

    Parameters
    ----------
    frame : DataFrame
        Tidy, with the columns `COLUMNS`; `quantity` is "advantage" or "margin".
    required : float
        γ: drawn as a line in both panels.
    failing : mapping of str to int or None
        The round where the assumption fails, by calibration.
    titles : mapping of str to str
        Names of the calibrations.
    drawn : str
        The calibration whose margins are drawn.

    Raises
    ------
    ValueError
        If a column is missing, or there is nothing to draw.
    """
    absent = [name for name in COLUMNS if name not in frame]
    if absent:
        raise ValueError(f"the frame of advantages has no column {absent[0]!r}")
    advantages = frame[frame["quantity"] == "advantage"]
    margins = frame[(frame["quantity"] == "margin") & (frame["calibration"] == drawn)]
    if advantages.empty or margins.empty:
        raise ValueError(f"no advantages, or no margins of {drawn!r}, to draw")
    with style.paper():
        figure = style.new_figure(style.COLUMN_WIDTH, HEIGHT)
        upper, lower = figure.subplots(2, 1)
        _draw_advantages(upper, advantages, required, failing, titles)
        _draw_margins(lower, margins, required, titles[drawn])
    return figure


def _draw_advantages(
    panel: Axes,
    frame: pd.DataFrame,
    required: float,
    failing: Mapping[str, int | None],
    titles: Mapping[str, str],
) -> None:
    for calibration, rows in frame.groupby("calibration", sort=False):
        name = str(calibration)
        look = _look(name)
        rounds = rows["round"].to_numpy(dtype=float)
        panel.plot(rounds, rows["value"], color=look["color"], linewidth=0.4, alpha=0.35)
        fails = failing.get(name)
        verdict = "never below γ" if fails is None else f"below γ from round {fails}"
        label = f"{titles[name]}: {verdict}"
        panel.plot(rounds, rows["window_mean"], label=label, zorder=3, **look)
        if fails is not None:
            level = rows["window_mean"].iloc[fails - 1]
            panel.plot(
                fails,
                level,
                marker="o",
                markersize=4.5,
                color=look["color"],
                markerfacecolor="white",
                markeredgewidth=1.2,
                zorder=4,
            )
    panel.axhline(required, color="0.2", linewidth=0.8, linestyle=(0, (1, 1.2)), zorder=2)
    panel.annotate(
        f"γ = {required:g}",
        (0.015, required),
        xycoords=panel.get_yaxis_transform(),
        xytext=(0, -2),
        textcoords="offset points",
        va="top",
        color="0.2",
    )
    panel.set_xscale("log")
    panel.set_xlim(1, frame["round"].max())
    panel.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    panel.set_xlabel("Round of boosting")
    panel.set_ylabel("Advantage over guessing")
    panel.legend(loc="lower left", bbox_to_anchor=(0, 1), borderaxespad=0.2, handlelength=2.4)


def _look(calibration: str) -> dict[str, Any]:
    if calibration not in CALIBRATIONS:
        return {"color": style.BASELINE_COLOUR, "linestyle": (0, (6, 1.5, 1, 1.5))}
    return {
        "color": style.COLOURS[CALIBRATIONS.index(calibration)],
        "linestyle": DASHES[calibration],
    }


def _draw_margins(panel: Axes, frame: pd.DataFrame, required: float, title: str) -> None:
    for part, rows in frame.groupby("part", sort=False):
        left = rows["margin"].to_numpy(dtype=float)
        width = left[1] - left[0]
        edges = np.append(left, left[-1] + width)
        percent = 100 * rows["value"].to_numpy(dtype=float)
        if part == "train":
            panel.stairs(percent, edges, fill=True, color=style.COLOURS[4], label="training set")
        else:
            panel.stairs(percent, edges, color=style.COLOURS[3], linewidth=0.9, label="test set")
    shown = frame[frame["value"] > 0]["margin"]
    room = 0.04
    panel.set_xlim(shown.min() - room, shown.max() + width + room)
    panel.axvline(0, color="0.2", linewidth=0.6)
    panel.axvline(
        required,
        color="0.2",
        linewidth=0.8,
        linestyle=(0, (1, 1.2)),
        label=f"margin γ = {required:g}",
    )
    panel.set_xlabel("Normalised margin, right less wrong votes per round")
    panel.set_ylabel(f"Records, % per {width:.2g} of margin")
    panel.legend(loc="upper left", title=title, handlelength=2)
