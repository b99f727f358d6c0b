"""The spread of fresh trainings at each value of what varies: box plots, one panel a dataset."""

from __future__ import annotations

import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from privcurve.figures import style


def boxes(frame: pd.DataFrame, x: str, y: str, label: str) -> Figure:
    """Draw the median, the quartiles and all trainings beyond 1.5 times their distance.

    All panels have the same y axis: they are to be compared.

    Parameters
    ----------
    frame : DataFrame
        One row a training, with the columns `x`, `y`, line and panel. A box with a training that
        failed (`y` missing) is left out.
    x, y : str
    label : str
        Of the x axis.

    Raises
    ------
    ValueError
        If there is nothing to draw.
    """
    style.check_any(frame)
    titles = list(dict.fromkeys(frame["panel"]))
    lines = list(dict.fromkeys(frame["line"]))
    order = sorted(set(frame[x])) if pd.api.types.is_numeric_dtype(frame[x]) else None
    looks = style.method_looks(lines)
    failed = frame[y].isna().groupby([frame["panel"], frame["line"], frame[x]]).transform("any")
    frame = frame.assign(**{y: frame[y].where(~failed)})
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
                palette={line: look[0] for line, look in looks.items()},
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
        for panel in panels[:: style.PANELS_PER_ROW]:
            panel.set_ylabel(y.replace("_", " ").capitalize())
        if len(lines) > 1:
            handles = [Patch(facecolor=looks[line][0], label=line) for line in lines]
            style.legend_below(figure, handles)
    return figure
