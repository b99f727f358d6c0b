"""Learning curves: fresh accuracy against ε, one panel a dataset."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullFormatter

from privcurve.figures import style
from privcurve.figures.labels import label_lines
from privcurve.figures.style import save

__all__ = ["learning_curves", "save"]

COLUMNS = (
    "dataset",
    "arm",
    "calibration",
    "delta",
    "epsilon",
    "scored_on",
    "accuracy",
    "accuracy_std",
)
SCORED_ON = {"test": "Accuracy (test set)", "folds": "Accuracy (fresh folds)"}
PANELS_PER_ROW = 3
PANEL_HEIGHT = 2.35
SINGLE_PANEL_HEIGHT = 2.5

# Leading digits of ε in the order in which they are labelled while there is room.
NICE_DIGITS = ("1", "5", "2", "3")


def learning_curves(
    accuracy: pd.DataFrame, titles: Mapping[str, str], datasets: Mapping[str, str]
) -> Figure:
    """Draw accuracy against ε with a band of one standard deviation over repeats.

    A curve joins an arm's finite ε. An arm at ε = ∞ alone is a horizontal line with its
    name on it. A missing accuracy is a gap in the curve and a cross on the ε axis; a
    missing horizontal line is named below its panel.

    Parameters
    ----------
    accuracy : DataFrame
        One row for each dataset, arm and ε, with the columns dataset, arm, calibration,
        delta, epsilon, scored_on ("test" or "folds"), accuracy and accuracy_std.
    titles : mapping of str to str
        The arms to draw and their names; the order settles colours and the legend.
    datasets : mapping of str to str
        The datasets to draw and their titles, in the order of the panels.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        If a column is missing, a dataset has no rows, or a row appears twice.
    """
    frame = _checked(accuracy, titles, datasets)
    finite = frame[np.isfinite(frame["epsilon"])]
    curves = [arm for arm in titles if arm in set(finite["arm"])]
    baselines = [arm for arm in titles if arm in set(frame["arm"]) and arm not in curves]
    facts = frame.drop_duplicates("arm").set_index("arm")
    calibrations = {
        str(arm): None if pd.isna(value) else str(value)
        for arm, value in facts["calibration"].items()
    }
    deltas = {str(arm): float(value) for arm, value in facts["delta"].items()}
    styles = style.curve_styles(curves, calibrations, deltas)
    names = {arm: _name(titles[arm], calibrations[arm], deltas[arm]) for arm in curves}

    with style.paper():
        figure, panels = _panels(len(datasets))
        lines = {}
        for panel, dataset in zip(panels, datasets, strict=True):
            part = frame[frame["dataset"] == dataset].sort_values("epsilon")
            _draw_curves(panel, part, styles)
            lines[panel] = _draw_baselines(panel, part, baselines, titles)
            _finish(panel, part, datasets[dataset])
        _label_axes(panels, frame, list(datasets))
        handles = [Line2D([], [], label=names[arm], **styles[arm].line()) for arm in curves]
        if finite["accuracy"].isna().any():
            handles.append(
                Line2D([], [], color="0.3", marker="x", linestyle="none", label="missing")
            )
        _legend(figure, handles, len(panels))
        figure.draw_without_rendering()
        figure.set_layout_engine("none")  # labels are placed by the layout as it now stands
        for panel, named in lines.items():
            label_lines(panel, named)
    return figure


def _checked(
    accuracy: pd.DataFrame, titles: Mapping[str, str], datasets: Mapping[str, str]
) -> pd.DataFrame:
    absent = [name for name in COLUMNS if name not in accuracy]
    if absent:
        raise ValueError(f"the table of accuracy has no column {absent[0]!r}")
    frame = accuracy[accuracy["arm"].isin(list(titles)) & accuracy["dataset"].isin(list(datasets))]
    empty = [name for name in datasets if name not in set(frame["dataset"])]
    if empty or not datasets:
        raise ValueError(f"nothing to draw for the datasets {empty}")
    twice = frame.duplicated(["dataset", "arm", "epsilon"])
    if twice.any():
        row = frame[twice].iloc[0]
        raise ValueError(
            f"two rows for {row['dataset']}, {row['arm']}, ε = {row['epsilon']:g} "
            "in the table of accuracy"
        )
    return frame


def _name(title: str, calibration: str | None, delta: float) -> str:
    """Give the name in the legend: it always says how the noise was calibrated."""
    parts = [] if calibration is None or calibration in title else [calibration]
    if delta > 0:
        parts.append(f"δ = {delta:g}")
    return f"{title} ({', '.join(parts)})" if parts else title


def _panels(n: int) -> tuple[Figure, list[Axes]]:
    columns = min(n, PANELS_PER_ROW)
    rows = math.ceil(n / columns)
    if n == 1:
        figure = style.new_figure(style.COLUMN_WIDTH, SINGLE_PANEL_HEIGHT)
    else:
        figure = style.new_figure(style.TEXT_WIDTH, rows * PANEL_HEIGHT)
    return figure, [figure.add_subplot(rows, columns, i + 1) for i in range(n)]


def _draw_curves(panel: Axes, part: pd.DataFrame, styles: Mapping[str, style.CurveStyle]) -> None:
    n_crossed = 0
    for order, (arm, curve) in enumerate(styles.items()):
        rows = part[(part["arm"] == arm) & np.isfinite(part["epsilon"])]
        if rows.empty:
            continue
        epsilon, mean, std = (
            rows[name].to_numpy(dtype=float) for name in ("epsilon", "accuracy", "accuracy_std")
        )
        panel.fill_between(
            epsilon, mean - std, mean + std, color=curve.colour, alpha=0.16, linewidth=0, zorder=1.5
        )
        panel.plot(epsilon, mean, label=arm, zorder=3 - 0.01 * order, **curve.line())
        missing = epsilon[np.isnan(mean)]
        panel.plot(
            missing,
            np.full(len(missing), 0.03 + 0.05 * n_crossed),
            transform=panel.get_xaxis_transform(),
            color=curve.colour,
            marker="x",
            linestyle="none",
            zorder=4,
            label=f"_missing {arm}",
        )
        n_crossed += bool(len(missing))


def _draw_baselines(
    panel: Axes, part: pd.DataFrame, baselines: Sequence[str], titles: Mapping[str, str]
) -> list[tuple[Line2D, str]]:
    lines = []
    missing = []
    for order, arm in enumerate(baselines):
        values = part.loc[part["arm"] == arm, "accuracy"]
        if values.empty:
            continue
        if pd.isna(values.iloc[0]):
            missing.append(titles[arm])
            continue
        line = panel.axhline(
            float(values.iloc[0]),
            color=style.BASELINE_COLOUR,
            linewidth=0.9,
            linestyle=(0, style.BASELINE_DASHES[order % len(style.BASELINE_DASHES)]),
            zorder=1.8,
            label=arm,
        )
        lines.append((line, titles[arm]))
    panel.set_xlabel("Privacy budget ε" + (f"\nmissing: {', '.join(missing)}" if missing else ""))
    return lines


def _finish(panel: Axes, part: pd.DataFrame, title: str) -> None:
    panel.set_title(title)
    epsilons = sorted(set(part.loc[np.isfinite(part["epsilon"]), "epsilon"])) or [1.0]
    panel.set_xscale("log")
    pad = (epsilons[-1] / epsilons[0]) ** 0.05 if len(epsilons) > 1 else 2.0
    panel.set_xlim(epsilons[0] / pad, epsilons[-1] * pad)
    panel.xaxis.set_major_locator(FixedLocator(_ticks(epsilons)))
    panel.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    panel.xaxis.set_minor_locator(FixedLocator(epsilons))
    panel.xaxis.set_minor_formatter(NullFormatter())
    panel.margins(y=0.13)
    panel.yaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 2.5, 5, 10]))


def _ticks(epsilons: Sequence[float]) -> list[float]:
    """Choose the ε to label: the outermost, then round ones, none too near another."""
    low, high = epsilons[0], epsilons[-1]
    room = 0.1 * math.log(high / low) if high > low else 0.0

    def rank(epsilon: float) -> int:
        digits = f"{epsilon:.12e}".partition("e")[0].rstrip("0").rstrip(".")
        return NICE_DIGITS.index(digits) if digits in NICE_DIGITS else len(NICE_DIGITS)

    ticks: list[float] = []
    for value in [low, high, *sorted(epsilons, key=rank)]:
        if all(abs(math.log(value / tick)) > room for tick in ticks):
            ticks.append(value)
    return sorted(ticks)


def _label_axes(panels: Sequence[Axes], frame: pd.DataFrame, datasets: Sequence[str]) -> None:
    before = None
    for i, (panel, dataset) in enumerate(zip(panels, datasets, strict=True)):
        kinds = frame.loc[frame["dataset"] == dataset, "scored_on"].dropna().unique()
        label = SCORED_ON[kinds[0]] if len(kinds) else "Accuracy"
        if label != before or i % PANELS_PER_ROW == 0:
            panel.set_ylabel(label)
        before = label


def _legend(figure: Figure, handles: list[Any], n_panels: int) -> None:
    """Put one legend below all panels, as wide as fits, and make the figure taller by it."""
    if not handles:
        return
    width, height = figure.get_size_inches()
    for n_columns in range(min(3, len(handles)), 0, -1):
        legend: Legend = figure.legend(
            handles=handles,
            loc="outside lower center",
            ncols=n_columns,
            handlelength=2.6,
            handletextpad=0.5,
            columnspacing=1.0,
            borderaxespad=0.2,
        )
        box = legend.get_window_extent().transformed(figure.dpi_scale_trans.inverted())
        if box.width <= width or n_columns == 1:
            break
        legend.remove()
    figure.set_size_inches(width, height + box.height)
