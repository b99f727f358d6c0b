"""Draw box plots of a score over repeated trainings, with one panel for each dataset."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

from privcurve.analysis.sweep import Axes
from privcurve.figures import style
from privcurve.lazy import Figure, pd, sns
from privcurve.outputs.sweep import Sweep, drop_incomplete_points, looks_of


class Boxes(Sweep):
    """Figure: a box plot of a score over repeated trainings, for each value of a parameter or ε."""

    word: ClassVar[str] = "boxes"
    version: ClassVar[int] = 5
    options: ClassVar = {
        name: option
        for name, option in Sweep.options.items()
        if name not in ("levels", "scale", "compare")
    }

    def _draw_all(
        self, parts: list[tuple[pd.DataFrame, Axes]], label: str, options: Mapping[str, object]
    ) -> tuple[Figure, pd.DataFrame]:
        ((frame, axes),) = parts
        return draw(frame, axes.x, axes.y, label), box_statistics(frame, axes)


def draw(frame: pd.DataFrame, x: str, y: str, label: str) -> Figure:
    """Draw box plots of column `y` by the values of column `x`, with one panel for each dataset.

    A box shows the median and the quartiles. Whiskers extend from a box by up to 1.5 times the
    interquartile range; trainings beyond the whiskers are single points. All panels share the y
    axis.
    """
    style.check_not_empty(frame)
    titles = list(dict.fromkeys(frame["panel"]))
    lines = list(dict.fromkeys(frame["line"]))
    order = sorted(set(frame[x])) if pd.api.types.is_numeric_dtype(frame[x]) else None
    looks = looks_of(frame)
    frame = drop_incomplete_points(frame, y, ["panel", "line", x])
    with style.paper():
        figure, panels = style.panels(len(titles), ["compared"] * len(titles))
        for panel, title in zip(panels, titles, strict=True):
            sns.boxplot(
                frame[frame["panel"] == title],
                x=x,
                y=y,
                hue="line",
                hue_order=lines,
                order=order,
                palette={line: look.colour for line, look in looks.items()},
                saturation=1,
                width=0.7,
                linewidth=0.7,
                fliersize=2,
                legend=False,
                ax=panel,
            )
            panel.set_title(title)
            panel.set_xlabel(label)
            panel.set_ylabel("")
        for panel in panels[:: style.panel_columns(len(panels))]:
            panel.set_ylabel(y.replace("_", " ").capitalize())
        if len(lines) > 1:
            handles = [style.key_patch(line, facecolor=looks[line].colour) for line in lines]
            style.legend_below(figure, handles)
    return figure


def box_statistics(frame: pd.DataFrame, axes: Axes) -> pd.DataFrame:
    """Return a table with one row for each box, and the statistics that the box shows.

    The columns are `least`, `lower` (the first quartile), `median`, `upper` (the third quartile),
    `largest` and `range` of the score over the trainings of the box. They are NaN if one of these
    trainings has failed.
    """
    shares = {"least": 0.0, "lower": 0.25, "median": 0.5, "upper": 0.75, "largest": 1.0}
    rows = []
    for key, group in frame.groupby(axes.keys, sort=False, dropna=False):
        scores = group[axes.y]
        row: dict[Any, Any] = dict(zip(axes.keys, key, strict=True))
        failed = bool(scores.isna().any())
        row |= {name: math.nan if failed else scores.quantile(q) for name, q in shares.items()}
        row["range"] = row["largest"] - row["least"]
        rows.append({**row, "n_repeats": len(group), "n_failed": int(scores.isna().sum())})
    return pd.DataFrame(rows)
