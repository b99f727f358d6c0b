"""The votes of a model as bars (thesis, Table 5.3)."""

from __future__ import annotations

import textwrap

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, MaxNLocator

from privcurve.figures import style

HEIGHT_OF_A_BAR = 0.19
HEIGHT_OF_THE_REST = 1.0
# A figure has room for so many; the table has all.
MOST_BARS = 30
WIDEST = 46  # letters of a condition in one line


def _signed(value: float, _: int | None = None) -> str:
    return f"{value:+g}".replace("-", "−") if value else "0"


def model_card(card: pd.DataFrame, title: str, positive: str) -> Figure:
    """Draw a bar for each vote, in the order of the card.

    Parameters
    ----------
    card : DataFrame
        votes and condition.
    title : str
        Above the bars; may have several lines.
    positive : str
        Name of the positive label.

    Raises
    ------
    ValueError
        If there are no votes.
    """
    if card.empty:
        raise ValueError("a model without votes has no card to draw")
    colours = {True: style.COLOURS[0], False: style.COLOURS[3]}
    with style.paper():
        names = [textwrap.fill(text, WIDEST) for text in card["condition"]]
        lines = sum(0.6 * name.count("\n") + 1 for name in names)
        wide = card["condition"].map(len).max() > WIDEST
        height = HEIGHT_OF_THE_REST + HEIGHT_OF_A_BAR * lines
        figure = style.new_figure(style.TEXT_WIDTH if wide else style.COLUMN_WIDTH, height)
        panel = figure.add_subplot()
        places = range(len(card))
        panel.barh(
            list(places),
            card["votes"],
            height=0.7,
            color=[colours[bool(votes > 0)] for votes in card["votes"]],
        )
        panel.set_yticks(list(places), names)
        if wide:
            panel.margins(y=0.01)
        panel.invert_yaxis()
        panel.tick_params(axis="y", length=0)
        panel.grid(False, axis="y")
        panel.axvline(0, color="0.2", linewidth=0.6)
        panel.xaxis.set_major_locator(MaxNLocator(5, integer=True))
        panel.xaxis.set_major_formatter(FuncFormatter(_signed))
        panel.set_xlabel("Votes where it holds")
        figure.suptitle(title, fontsize=7.5)
        figure.legend(
            handles=[
                Patch(color=colours[True], label=f"for {positive}"),
                Patch(color=colours[False], label=f"against {positive}"),
            ],
            loc="outside lower center",
            ncols=2,
            handlelength=1.2,
            borderaxespad=0.2,
        )
    return figure
