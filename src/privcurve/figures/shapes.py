"""The shape functions of an additive model: a panel a column or pair, with standard errors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import AutoLocator, FuncFormatter, NullLocator

from privcurve.analysis.shapes import CROSSED
from privcurve.figures import style

# A figure has room for so many columns; its CSV has all.
MOST_PANELS = 12
# Categories that have room for a name each; of more, some of the lowest and highest have.
NAMED = 9
ENDS = 3
ROOM = 20
LONGEST_NAME = 16
LONGEST_LABEL = 40
TICKS = 4
COLOUR = style.COLOURS[0]
BAND: Any = {"color": style.COLOURS[4], "alpha": 0.45, "linewidth": 0}
EQUAL, LOG, LOG1P = "equal", "log", "log1p"


def shapes(frame: pd.DataFrame, spacings: dict[str, str], title: str, positive: str) -> Figure:
    """Draw a panel for each column, in the order of the frame, on one scale; then pairs.

    Parameters
    ----------
    frame : DataFrame
        See :func:`privcurve.analysis.shapes.bins`; and, below them, ``pairs``.
    spacings : dict of str to str
        Of the bins of each numeric column: ``equal``, ``log`` or ``log1p``.
    title : str
        Above all panels; may have several lines.
    positive : str
        Name of the positive label.

    Raises
    ------
    ValueError
        If no column has an effect.
    """
    if frame.empty:
        raise ValueError("a model in which no column has an effect has no shape to draw")
    crossed = frame["first"].notna() if "first" in frame else pd.Series(False, frame.index)
    alone = list(frame[~crossed].groupby("column", sort=False))[:MOST_PANELS]
    pairs = list(frame[crossed].groupby("column", sort=False))
    with style.paper():
        # Pairs have axes of their own.
        scales = [0] * len(alone) + list(range(1, len(pairs) + 1))
        figure, panels = style.panels(len(scales), scales)
        for i, (panel, (name, part)) in enumerate(zip(panels, alone, strict=False)):
            if part["low"].notna().any():
                _numbers(panel, part, spacings[str(name)])
            else:
                _categories(panel, part)
            panel.axhline(0, color="0.2", linewidth=0.6)
            panel.set_title(str(name))
            if i % style.PANELS_PER_ROW == 0:
                panel.set_ylabel("Value")
        largest = float(frame.loc[crossed, "value"].abs().max())
        for panel, (name, part) in zip(panels[len(alone) :], pairs, strict=True):
            _pair(panel, str(name), part, largest)
        figure.suptitle(title, fontsize=8.5)
        style.legend_below(
            figure,
            [
                Line2D(
                    [],
                    [],
                    color=COLOUR,
                    label=f"value; above 0: for {_cut(positive, LONGEST_LABEL)}",
                ),
                Patch(**BAND, label="± one standard error"),
            ],
        )
    return figure


def _numbers(panel: Axes, part: pd.DataFrame, spacing: str) -> None:
    """Draw a step function between the bounds, and what is missing beside them."""
    within, beyond = part[part["low"].notna()], part[part["low"].isna()]
    edges = np.append(within["low"], within["high"].iloc[-1])
    value, error = within["value"].to_numpy(), within["error"].to_numpy()
    panel.fill_between(
        edges, np.append(value - error, (value - error)[-1]),
        np.append(value + error, (value + error)[-1]), step="post", **BAND,
    )  # fmt: skip
    panel.step(edges, np.append(value, value[-1]), where="post", color=COLOUR)
    if spacing == EQUAL:
        panel.xaxis.set_major_locator(AutoLocator())
    else:
        panel.set_xscale("log" if spacing == LOG else "symlog")
        panel.set_xlim(edges[0], edges[-1])
        panel.set_xticks(_decades(float(edges[0]), float(edges[-1])))
    panel.xaxis.set_major_formatter(FuncFormatter(_short))
    panel.xaxis.set_minor_locator(NullLocator())
    for value, error in beyond[["value", "error"]].to_numpy().tolist():
        panel.errorbar(
            [1.06], [value], [error], fmt="o", color=COLOUR, ecolor=style.COLOURS[4],
            clip_on=False, transform=panel.get_yaxis_transform(),
        )  # fmt: skip
        panel.annotate(
            "missing", (1.06, 0), xycoords="axes fraction", xytext=(0, -3),
            textcoords="offset points", ha="center", va="top", rotation=90, fontsize=6,
        )  # fmt: skip


def _categories(panel: Axes, part: pd.DataFrame) -> None:
    """Draw a point a category, by value."""
    ranked = part.sort_values("value", kind="stable")
    places = np.arange(len(ranked))
    value, error = ranked["value"].to_numpy(), ranked["error"].to_numpy()
    bars = {"color": BAND["color"], "alpha": BAND["alpha"], "linewidth": 3}
    panel.vlines(places, value - error, value + error, **bars)
    panel.plot(places, value, linestyle="", marker="o", color=COLOUR)
    names = [_name(text) for text in ranked["condition"]]
    if len(names) > NAMED:
        apart = np.arange(ENDS) * math.ceil(len(names) / ROOM)
        places = np.append(apart, len(names) - 1 - apart[::-1])
        names = [names[place] for place in places]
    panel.set_xticks(places, names, rotation=90, fontsize=6)
    panel.grid(False, axis="x")


def _pair(panel: Axes, name: str, part: pd.DataFrame, largest: float) -> None:
    """Draw the values of two columns' groups as colours, one scale for all pairs."""
    grid = part.pivot(index="second", columns="first", values="value").to_numpy()
    mesh = panel.pcolormesh(grid, cmap="PuOr_r", vmin=-largest, vmax=largest, rasterized=True)
    first, second = name.split(CROSSED)
    panel.set_xlabel(f"groups of {_cut(first, LONGEST_LABEL)}")
    panel.set_ylabel(f"groups of {_cut(second, LONGEST_NAME)}")
    panel.set_xticks([])
    panel.set_yticks([])
    panel.grid(False)
    bar = panel.figure.colorbar(mesh, ax=panel, location="top", aspect=30)
    bar.outline.set_visible(False)


def _name(condition: str) -> str:
    return _cut(condition.partition(" = ")[2] or condition, LONGEST_NAME)


def _cut(name: str, letters: int) -> str:
    return name if len(name) <= letters else f"{name[: letters - 1]}…"


def _decades(low: float, high: float) -> list[float]:
    """Give a few powers of ten between two numbers, and 0 if it is one; else the two."""
    first = 0 if low <= 0 else math.ceil(math.log10(low))
    last = math.floor(math.log10(high))
    if last < first:
        return [low, high]
    powers = [10.0**k for k in range(first, last + 1, (last - first) // TICKS + 1)]
    return [0.0] * (low <= 0 < high) + [power for power in powers if power >= low]


def _short(value: float, _: int | None = None) -> str:
    """Write a number in few letters: 250k for 250,000."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= 10 * size or (abs(value) >= size and math.fmod(value, size) == 0):
            return f"{value / size:g}{letter}".replace("-", "−")
    return f"{value:g}".replace("-", "−")
