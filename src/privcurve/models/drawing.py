"""Draw the shape of each column (what its bins add to a score) in a panel of a figure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from privcurve.binning import LOG, LOG1P
from privcurve.coding import Floats
from privcurve.datasets.domain import NUMERIC, Column
from privcurve.lazy import ticker
from privcurve.models.shape import Shape
from privcurve.numerals import two_digits

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Maximum number of categories in a panel, and of characters in the name of a category, which
# limits the space that labels need.
MOST_CATEGORIES, LONGEST_NAME = 12, 18
PANEL_WIDTH, PANEL_HEIGHT, PANELS_A_ROW = 3.4, 2.8, 3
# Maximum height of the grey area that shows numbers of people, as a share of a panel's height.
PEOPLE_SHARE = 0.2


def make_panels(n: int) -> Any:
    """Make a figure with `n` panels, and return its axes."""
    from matplotlib import pyplot

    n_rows = math.ceil(n / PANELS_A_ROW)
    n_columns = min(n, PANELS_A_ROW)
    size = (PANEL_WIDTH * n_columns, PANEL_HEIGHT * n_rows)
    _, grid = pyplot.subplots(n_rows, n_columns, figsize=size, layout="constrained", squeeze=False)
    axes = grid.ravel()
    for unused in axes[n:]:
        unused.remove()
    return axes[:n]


def draw_shape(axes: Axes, shape: Shape, outputs: Sequence[str], reach: float) -> None:
    """Draw the shape of a column: a step curve with an error band, or points with error bars.

    Categories have no order, so they are points. The axis of scores is from −`reach` to `reach`. A
    grey area under a step curve shows noisy numbers of people.
    """
    column = shape.column
    draw = _draw_steps if column.kind == NUMERIC else _draw_points
    for k, name in enumerate(outputs):
        draw(axes, column, shape.values[k], shape.spread[k], f"C{k}", name)
    if column.kind == NUMERIC:
        axes.set_ylim(-reach, reach)
        if shape.people is not None:
            _draw_people(axes, column, shape.people, reach)
        _scale_numbers(axes, column)
    else:
        axes.set_xlim(-reach, reach)
    axes.set_title(column.label, fontsize="medium")
    axes.spines[["top", "right"]].set_visible(False)
    if len(outputs) > 1:
        axes.legend(fontsize="small", frameon=False)


def _scale_numbers(axes: Axes, column: Column) -> None:
    """Set the axis for the values of a numeric column: its scale, and ticks at round numbers."""
    if column.dates:
        from matplotlib import dates

        locator = dates.AutoDateLocator(minticks=2, maxticks=4)
        axes.xaxis.set_major_locator(locator)
        axes.xaxis.set_major_formatter(dates.ConciseDateFormatter(locator))
        return
    if column.spacing in (LOG, LOG1P):
        axes.set_xscale("log" if column.spacing == LOG else "symlog")
    else:
        axes.xaxis.set_major_locator(
            ticker.MaxNLocator(5, steps=[1, 2, 5, 10], integer=column.is_whole)
        )
    axes.xaxis.set_major_formatter(
        ticker.FuncFormatter(
            lambda value, _: f"{value:,.3g}" if abs(value) < 1000 else f"{value:,.0f}"
        )
    )


def _draw_people(axes: Axes, column: Column, people: Floats, reach: float) -> None:
    """Draw the density of people in each bin, and write the total number of people.

    The density is a grey area at the lower edge of the panel.
    """
    edges = _edges_of(column)
    widths = np.diff(np.array(column.edges))
    heights = people[: column.bins] / widths
    if not heights.max() > 0:
        return
    tops = -reach + 2 * reach * PEOPLE_SHARE * heights / heights.max()
    axes.fill_between(
        edges, np.append(tops, tops[-1]), -reach, step="post", color="0.85", linewidth=0, zorder=0
    )
    axes.annotate(
        f"{two_digits(float(people.sum()))} people", (1.0, PEOPLE_SHARE), color="0.45",
        xycoords="axes fraction", fontsize="x-small", ha="right",
    )  # fmt: skip


def _edges_of(column: Column) -> Any:
    """Return the edges of bins on the axis; for whole numbers, each edge is halfway between two."""
    edges: Any = np.array(column.edges) - (0.5 if column.is_whole else 0.0)
    return edges.astype("datetime64[D]") if column.dates else edges


def _draw_steps(
    axes: Axes, column: Column, values: Floats, errors: Floats, colour: str, name: str
) -> None:
    bins = column.bins
    edges = _edges_of(column)
    low, high = values - errors, values + errors
    axes.fill_between(
        edges, np.append(low[:bins], low[bins - 1]), np.append(high[:bins], high[bins - 1]),
        step="post", color=colour, alpha=0.25, linewidth=0,
    )  # fmt: skip
    steps = np.append(values[:bins], values[bins - 1])
    axes.step(edges, steps, where="post", color=colour, label=name)
    axes.axhline(0, color="0.7", linewidth=0.8, zorder=0)
    if column.missing_bin:
        beside = axes.get_yaxis_transform()
        point: Any = {"fmt": "o", "color": colour, "transform": beside, "clip_on": False}
        axes.errorbar([1.06], [values[bins]], [errors[bins]], **point)
        axes.annotate(
            "missing", (1.06, 0), xycoords="axes fraction", ha="center", va="top",
            rotation=90, fontsize="x-small",
        )  # fmt: skip


def _draw_points(
    axes: Axes, column: Column, values: Floats, errors: Floats, colour: str, name: str
) -> None:
    # Draw only the categories with the largest effects, in the order of the domain.
    shown = np.sort(np.argsort(-np.abs(values), kind="stable")[:MOST_CATEGORIES])
    places = np.arange(len(shown))
    axes.errorbar(values[shown], places, xerr=errors[shown], fmt="o", color=colour, label=name)
    axes.set_yticks(places, [_shorten(column.titles[k]) for k in shown], fontsize="small")
    axes.set_ylim(len(shown) - 0.5, -0.5)
    axes.axvline(0, color="0.7", linewidth=0.8, zorder=0)
    if more := len(values) - len(shown):
        axes.set_xlabel(f"and {more} others nearer to 0", fontsize="small")


def _shorten(name: str) -> str:
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"
