"""Thresholds of a vote: how they are spread, and what each weighs."""

from __future__ import annotations

import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from privcurve.figures import style

BUCKETS = 10
ROOM = 0.02  # beside the bounds, for marks that stand on them
SIGNS = {True: "α ≥ 0: above is positive", False: "α < 0: above is negative"}
COLOURS = {SIGNS[True]: style.COLOURS[0], SIGNS[False]: style.COLOURS[3]}
MARKS = {SIGNS[True]: "o", SIGNS[False]: "X"}
DOTS = (0, (1, 1.2))
DASHES = (0, (3.2, 1.4))


def thresholds(
    frame: pd.DataFrame,
    title: str,
    column: str,
    bounds: tuple[float, float],
    boundary: float | None,
) -> Figure:
    """Draw the histogram of thresholds at the left, and α against the threshold at the right.

    Parameters
    ----------
    frame : DataFrame
        threshold and alpha, a row a round.
    title : str
        Above both panels.
    column : str
        What the thresholds are of.
    bounds : tuple of two floats
        Of that column: both x axes span them.
    boundary : float, optional
        Where the label changes, if that is known.

    Raises
    ------
    ValueError
        If there is nothing to draw.
    """
    if frame.empty:
        raise ValueError("a model without a threshold of its own has nothing to draw")
    with style.paper():
        figure = style.new_figure(style.TEXT_WIDTH, style.SINGLE_PANEL_HEIGHT)
        left, right = figure.subplots(1, 2)
        _draw_histogram(left, frame, bounds)
        _draw_weights(right, frame, boundary)
        room = ROOM * (bounds[1] - bounds[0])
        for panel in (left, right):
            panel.set_xlim(bounds[0] - room, bounds[1] + room)
            panel.set_xlabel(f"Threshold on {column}")
        figure.suptitle(title, fontsize=8.5)
        style.legend_below(figure, right.get_legend_handles_labels()[0])
    return figure


def _draw_histogram(panel: Axes, frame: pd.DataFrame, bounds: tuple[float, float]) -> None:
    sns.histplot(
        frame,
        x="threshold",
        bins=BUCKETS,
        binrange=bounds,
        color=style.COLOURS[4],
        alpha=1,
        edgecolor="white",
        linewidth=0.5,
        ax=panel,
    )
    panel.axhline(len(frame) / BUCKETS, color="0.2", linewidth=0.8, linestyle=DOTS)
    panel.set_title("Thresholds drawn; dotted: an even draw")
    panel.set_ylabel("Rounds")


def _draw_weights(panel: Axes, frame: pd.DataFrame, boundary: float | None) -> None:
    sns.scatterplot(
        frame.assign(sign=(frame["alpha"] >= 0).map(SIGNS)),
        x="threshold",
        y="alpha",
        hue="sign",
        style="sign",
        hue_order=list(COLOURS),
        style_order=list(COLOURS),
        palette=COLOURS,
        markers=MARKS,
        s=16,
        linewidth=0.3,
        zorder=3,
        ax=panel,
    )
    panel.axhline(0, color="0.2", linewidth=0.6)
    if boundary is not None:
        panel.axvline(
            boundary, color="0.2", linewidth=0.8, linestyle=DASHES, label="where the label changes"
        )
    panel.set_title("What each weighs")
    panel.set_ylabel("α")
    legend = panel.get_legend()
    if legend is not None:
        legend.remove()
