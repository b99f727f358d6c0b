"""Draw the thresholds of one BRC model on a single column, and their weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from privcurve.coding import scale_codes
from privcurve.figures import style
from privcurve.lazy import Axes, Figure, pd, sns
from privcurve.outputs.base import Context, Option, OutputRequest, dataset_title, description_of
from privcurve.outputs.one_model import OPTIONS, OneModel, is_partial
from privcurve.privacy.budget import PRIVATE_COLUMNS

if TYPE_CHECKING:
    from matplotlib.artist import Artist

    from privcurve.datasets.domain import Column, Domain
    from privcurve.experiments.study import Method

    from .learners._half_spaces import Vote


# First words of each message that refuses a learner.
KIND = "learner must be brc with intercept: threshold, one setting, and one numeric column"


class Thresholds(OneModel):
    """Figure: the thresholds of one BRC model as a histogram, and the weight α of each threshold.

    If a learner has several calibrations, the figure shows the first one.
    """

    word: ClassVar[str] = "thresholds"
    writes: ClassVar[tuple[str, ...]] = ("figure",)
    options: ClassVar = {
        "learner": Option("an entry of the study's learners: brc with intercept: threshold", str),
        **OPTIONS,
        "boundary": Option("where the label changes, in the column's unit, if known", float, None),
    }

    def check(self, request: OutputRequest) -> None:
        super().check(request)
        column = column_of(self.method(request), description_of(self.dataset(request)).domain)
        boundary = request.options["boundary"]
        if boundary is not None and not column.edges[0] <= boundary <= column.edges[-1]:
            raise ValueError(
                f"boundary must be within the bounds of {column.name}, {column.edges[0]:g} to "
                f"{column.edges[-1]:g}; got {boundary:g}"
            )

    def make(self, context: Context) -> None:
        method, epsilon = self.method(context.request), context.options["epsilon"]
        data, model = self.train_model(context)
        column = column_of(method, data.domain)
        votes = model.learner.votes_
        frame = votes_frame(votes, column.edges)
        noise = f"{method.calibration} noise, ε = {epsilon:g}"
        title = f"{dataset_title(data.name)}\n{method.title}, {noise}"
        if len(frame) < len(votes):
            title += f"; public columns vote in {len(votes) - len(frame)} of {len(votes)} rounds"
        bounds = column.edges[0], column.edges[-1]
        boundary = context.options["boundary"]
        context.draw(draw(frame, title, column.name, bounds, boundary), frame)


def column_of(method: Method, domain: Domain) -> Column:
    """Return the only column on which a method draws thresholds.

    Raises ValueError if the method does not draw thresholds, or draws them on several columns.
    """
    setting = method.settings[0]
    if method.learner != "brc" or setting.get("intercept") != "threshold":
        raise ValueError(f"{KIND}; got {method.name}")
    if is_partial(method):
        raise ValueError(f"{KIND}; got {method.name} with a grid or a share of the records")
    if setting.get("n_kept") is not None:
        raise ValueError(f"{KIND}; got {method.name} with rounds that do not vote (n_kept)")
    # The learner draws thresholds only on private columns; with these settings it treats all
    # columns as private.
    blind = setting.get("algorithm") == "private" or setting.get("weights") == "adaboost"
    public = domain.public_columns if method.claim == PRIVATE_COLUMNS and not blind else ()
    columns = [column for j, column in enumerate(domain.columns) if j not in public]
    if len(columns) != 1 or not columns[0].ordered or columns[0].missing_bin:
        names = ", ".join(column.name for column in columns)
        raise ValueError(f"{KIND}; got {method.name} with the columns {names}")
    return columns[0]


def votes_frame(votes: Sequence[Vote], edges: Sequence[float]) -> pd.DataFrame:
    """Return a table of the rounds in which a threshold votes: round, threshold and weight α.

    Rounds in which the public classifier votes are left out. `edges` are the edges of the bins, in
    the column's unit.
    """
    # The half-space is x + intercept > 0, because the coefficient is 1; so the threshold is
    # −intercept.
    borders = [
        (t, -vote.intercept, vote.alpha) for t, vote in enumerate(votes, 1) if not vote.public
    ]
    return threshold_frame(borders, edges)


def threshold_frame(
    rounds: Sequence[tuple[int, float, float]], edges: Sequence[float]
) -> pd.DataFrame:
    """Return a table of thresholds in the column's unit, from (round, threshold, weight) triples.

    The given thresholds are on the learner's scale, from −1 to 1. A threshold of the result is the
    lower edge of the first bin that the half-space classifies as positive, so both thresholds
    classify each record alike.
    """
    n_bins = len(edges) - 1
    places = scale_codes(np.arange(n_bins, dtype=np.uint32)[:, None], np.array([n_bins]))[:, 0]
    rows = [
        (t, edges[int(np.searchsorted(places, border, side="right"))], alpha)
        for t, border, alpha in rounds
    ]
    return pd.DataFrame(rows, columns=["round", "threshold", "alpha"])


BUCKETS = 10  # number of equal intervals of the line in which thresholds are counted
# share of the line's length by which the x axis extends beyond each bound, so that marks fit
ROOM = 0.02
SIGNS = {True: "α ≥ 0: above is positive", False: "α < 0: above is negative"}
COLOURS = {SIGNS[True]: style.COLOURS[0], SIGNS[False]: style.COLOURS[3]}
MARKS = {SIGNS[True]: "o", SIGNS[False]: "X"}
DOTS = (0, (1, 1.2))
DASHES = (0, (3.2, 1.4))


def draw(
    frame: pd.DataFrame,
    title: str,
    column: str,
    bounds: tuple[float, float],
    boundary: float | None,
) -> Figure:
    """Draw the histogram of thresholds on the left, and their weights α on the right.

    `frame` is the result of :func:`votes_frame`; `column` is the name of the column, and `bounds`
    are its smallest and largest value. A dashed line marks the `boundary`, the value at which the
    label changes, if it is known.
    """
    if frame.empty:
        raise ValueError("model must have at least one threshold; got none")
    with style.paper():
        figure = style.new_figure(style.TEXT_WIDTH, style.SINGLE_PANEL_HEIGHT)
        left, right = figure.subplots(1, 2)
        bars = {"bins": BUCKETS, "binrange": bounds, "color": style.COLOURS[4], "alpha": 1}
        sns.histplot(frame, x="threshold", edgecolor="white", linewidth=0.5, ax=left, **bars)
        left.axhline(len(frame) / BUCKETS, color="0.2", linewidth=0.8, linestyle=DOTS)
        left.set_title("Thresholds drawn; dotted: an even draw")
        left.set_ylabel("Rounds")
        signed = frame.assign(sign=(frame["alpha"] >= 0).map(SIGNS))
        look = {"hue": "sign", "hue_order": list(COLOURS), "palette": COLOURS, "s": 16}
        look |= {"style": "sign", "style_order": list(COLOURS), "markers": MARKS, "zorder": 3}
        sns.scatterplot(signed, x="threshold", y="alpha", linewidth=0.3, ax=right, **look)
        right.set_title("What each weighs")
        handles = finish_weights(right, column, bounds, boundary)
        left.set_xlim(right.get_xlim())
        left.set_xlabel(right.get_xlabel())
        figure.suptitle(title, fontsize=8.5)
        style.legend_below(figure, handles)
    return figure


def finish_weights(
    panel: Axes, column: str, bounds: tuple[float, float], boundary: float | None
) -> list[Artist]:
    """Add lines and labels to the panel of weights; return the entries of the figure's legend."""
    panel.axhline(0, color="0.2", linewidth=0.6)
    if boundary is not None:
        line: Any = {"color": "0.2", "linewidth": 0.8, "linestyle": DASHES}
        panel.axvline(boundary, label="where the label changes", **line)
    room = ROOM * (bounds[1] - bounds[0])
    panel.set_xlim(bounds[0] - room, bounds[1] + room)
    panel.set_xlabel(f"Threshold on {column}")
    panel.set_ylabel("α")
    panel.get_legend().remove()  # type: ignore[union-attr]
    return panel.get_legend_handles_labels()[0]
