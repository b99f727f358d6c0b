"""Profiles of errors over a grid: the share of runs with an error up to x."""

from __future__ import annotations

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from privcurve.figures import style

CROPPED = " (cropped)"


def profile(frame: pd.DataFrame, panel: str, lines: pd.Series) -> pd.DataFrame:
    """Give the steps of a panel's curves.

    Parameters
    ----------
    frame : DataFrame
        A row a run, with its `error`.
    panel : str
    lines : Series of str
        What each row's curve is called.

    Returns
    -------
    DataFrame
        panel, line, error, and `value`, the share of the curve's runs with an error up to it.
    """
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
    """Give the mean and standard deviation of a measure over runs with an error up to x.

    Parameters
    ----------
    frame : DataFrame
        A row a run, with its `error` and the measure.
    panel : str
    lines : Series of str
    name : str
        Of the measure.

    Returns
    -------
    DataFrame
        panel, line, error, value, value_std.
    """
    parts = []
    for line, part in frame.groupby(lines.to_numpy(), sort=False):
        own = part.sort_values("error", kind="stable")
        grown = own[name].expanding(min_periods=1)
        parts.append(
            pd.DataFrame(
                {
                    **{"line": line, "error": own["error"].to_numpy()},
                    "value": grown.mean().to_numpy(),
                    "value_std": grown.std(ddof=0).to_numpy(),
                }
            )
        )
    return pd.concat(parts, ignore_index=True).assign(panel=panel)


def error_profiles(frame: pd.DataFrame, title: str, majority: float) -> Figure:
    """Draw the profiles of a dataset, a panel each.

    Parameters
    ----------
    frame : DataFrame
        panel, line, error, value, value_std, as of :func:`profile` and :func:`running`.
    title : str
    majority : float
        The error of the majority class: a vertical bar.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        If there is nothing to draw.
    """
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
    colours = dict(zip(lines, [style.COLOURS[i % len(style.COLOURS)] for i in range(len(lines))],
                       strict=True))  # fmt: skip
    sns.lineplot(
        part,
        x="error",
        y="value",
        hue="line",
        palette=colours,
        estimator=None,
        drawstyle="steps-post",
        legend=False,
        ax=panel,
    )
    spread = part.dropna(subset="value_std")
    for line, own in spread.groupby("line", sort=False):
        panel.fill_between(
            own["error"],
            own["value"] - own["value_std"],
            own["value"] + own["value_std"],
            step="post",
            alpha=0.16,
            linewidth=0,
            color=colours[str(line)],
        )
    if spread.empty:
        panel.axvline(majority, color=style.BASELINE_COLOUR, linestyle="--", linewidth=0.8)
    panel.set_title(name)
    panel.set_xlabel("error")
    panel.set_ylabel("share of runs" if spread.empty else "mean ± sd of runs up to it")
    if name.endswith(CROPPED):
        least = float(part["error"].min())
        panel.set_xlim(least - 0.01, min(float(part["error"].max()), majority) + 0.01)
        panel.set_ylim(0, 1.02)
    handles = [Line2D([], [], color=colours[line], label=line) for line in lines]
    panel.legend(handles=handles, loc="best", fontsize=6, handlelength=1.4)
