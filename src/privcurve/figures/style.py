"""The look of all figures, and how they are saved."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pandas as pd
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from privcurve.files import replace_file

# Widths of a two-column paper, in inches.
COLUMN_WIDTH = 3.4
TEXT_WIDTH = 7.0

# Okabe and Ito's palette, safe for colour-blind readers, without its yellow (too light on
# white) and its black (kept for baselines), and with Tol's wine as a seventh. The order
# alternates dark and light, so that neighbours differ in grey too.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#56B4E9", "#CC79A7", "#882255")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "h")
BASELINE_COLOUR = "0.35"
BASELINE_DASHES: tuple[tuple[float, ...], ...] = ((4, 1.5), (1, 1.2), (6, 1.5, 1, 1.5), (9, 2))

_PAPER: Any = {
    "font.family": "DejaVu Sans",  # ships with matplotlib: the same bytes everywhere
    "font.size": 7.5,
    "axes.titlesize": 8.5,
    "axes.labelsize": 7.5,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "legend.fontsize": 7,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "0.9",
    "grid.linewidth": 0.5,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.minor.width": 0.4,
    "lines.linewidth": 1.2,
    "lines.markersize": 3.4,
    "legend.frameon": False,
    "pdf.fonttype": 42,  # TrueType: text stays text, as publishers ask
    "ps.fonttype": 42,
    "savefig.dpi": 300,
    "figure.dpi": 150,
}


def paper() -> Any:
    """Give a context in which figures look as in a paper, whatever the user's own style is.

    Returns
    -------
    context manager
    """
    return mpl.rc_context({**mpl.rcParamsDefault, **_PAPER, "backend": "agg"})


def new_figure(width: float, height: float) -> Figure:
    """Give an empty figure that no window knows of; sizes in inches."""
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


@dataclass(frozen=True)
class CurveStyle:
    """How one curve is drawn.

    Attributes
    ----------
    colour, marker : str
        The method's.
    linestyle : str or tuple
        The calibration's, as is `filled`: certified is solid (dash-dotted where δ > 0) and
        filled, published dashed (dotted) and hollow.
    filled : bool
    """

    colour: str
    marker: str
    linestyle: Any
    filled: bool

    def line(self) -> dict[str, Any]:
        """Give matplotlib's keywords for the line."""
        return {
            "color": self.colour,
            "marker": self.marker,
            "linestyle": self.linestyle,
            "markerfacecolor": self.colour if self.filled else "white",
            "markeredgecolor": self.colour,
            "markeredgewidth": 0.8,
        }


def method_of(arm: str) -> str:
    """Give the method of an arm: its name before the calibration (``lazybb~certified``)."""
    return arm.partition("~")[0]


def curve_styles(
    arms: Iterable[str], calibrations: Mapping[str, str | None], deltas: Mapping[str, float]
) -> dict[str, CurveStyle]:
    """Give each arm its style: by method, in the order of the study, and by calibration.

    Parameters
    ----------
    arms : iterable of str
    calibrations, deltas : mapping
        Of each arm.

    Returns
    -------
    dict of str to CurveStyle
    """
    styles: dict[str, CurveStyle] = {}
    methods: dict[str, int] = {}
    for arm in arms:
        number = methods.setdefault(method_of(arm), len(methods))
        published = calibrations[arm] == "published"
        if deltas[arm] > 0:
            linestyle: Any = (0, (5, 1.2, 1, 1.2)) if not published else (0, (1, 1.2))
        else:
            linestyle = (0, (3.2, 1.4)) if published else "-"
        styles[arm] = CurveStyle(
            COLOURS[number % len(COLOURS)], MARKERS[number % len(MARKERS)], linestyle, not published
        )
    return styles


def save(figure: Figure, frame: pd.DataFrame, stem: Path) -> None:
    """Save a figure as PDF and PNG with the frame that it was drawn from as CSV beside it.

    Each file is written under a temporary name, then moved into place. The same figure and
    frame give the same bytes: no date, no name of a program is written.

    Parameters
    ----------
    figure : Figure
    frame : DataFrame
    stem : Path
        Without ending.
    """
    with paper():
        replace_file(
            stem.with_name(stem.name + ".pdf"),
            lambda path: figure.savefig(path, format="pdf", metadata={"CreationDate": None}),
        )
        replace_file(
            stem.with_name(stem.name + ".png"),
            lambda path: figure.savefig(path, format="png", metadata={"Software": None}),
        )
    replace_file(
        stem.with_name(stem.name + ".csv"),
        # Twelve digits: what CSV can't carry exactly, it does not pretend to.
        lambda path: frame.to_csv(path, index=False, float_format="%.12g", lineterminator="\n"),
    )
