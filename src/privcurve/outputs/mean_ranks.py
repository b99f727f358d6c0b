"""Rank learners by their mean ranks over datasets, and test which differ (Demšar, JMLR 2006)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from typing import Any, ClassVar

from privcurve.analysis import ranks
from privcurve.analysis.measures import MEASURES, NO_LOG_LOSS, RANKED, check_measures, ranked_by
from privcurve.experiments import kinds
from privcurve.experiments.results import IncompleteError
from privcurve.figures import style
from privcurve.lazy import Axes, Figure, pd
from privcurve.outputs.base import Context, Option, Output, OutputRequest, Reads, check_name
from privcurve.outputs.error_table import (
    ErrorTable,
    method_labels,
    method_styles,
    method_titles,
    private_methods,
)
from privcurve.tables.table import Table

CAPTION = "Which learners' ranks differ over the datasets"
NOTES = (
    (
        "A learner's rank on a dataset is the rank of its mean error over fresh trainings, by "
        "each measure of the study's error_table: error is 1 − accuracy. Learners that lack a "
        f"measure on a dataset are not ranked by it. {NO_LOG_LOSS}"
    ),
    (
        "Pairs differ if Friedman's test and Wilcoxon's signed-rank test of the pair, with "
        "Holm's correction for all pairs of an ε, reject at the level 0.05. Nemenyi's critical "
        "difference is added for comparison."
    ),
    (
        "Learners whose hyperparameters ε covers, by rule or tuned within the budget, are "
        "ranked among themselves, and learners whose hyperparameters were chosen without "
        "privacy (untuned budget) separately."
    ),
)
COVERED, NOT_COVERED = "hyperparameters covered by ε", "hyperparameters chosen without privacy"


class MeanRanks(Output):
    """Figure and table: mean ranks of learners over all datasets, and tests of all pairs.

    The ranks come from the study's ``error_table``.
    """

    word: ClassVar[str] = "mean_ranks"
    writes: ClassVar = ("table", "figure")
    version: ClassVar[int] = 10
    options: ClassVar = {
        "datasets": Option(
            "a list of datasets to average over; by default all of the study", list, None
        ),
        "measures": Option(
            f"a list of measures from {', '.join(RANKED)} and the study's metric, for one panel "
            "each; by default all measures of the error_table",
            list,
            RANKED,
        ),
    }

    def check(self, request: OutputRequest) -> None:
        check_measures(request.options["measures"], ranked_by(request.study.metric))
        for name in request.options["datasets"] or ():
            check_name("datasets: the study has no", name, request.study.datasets)
        methods = [request.study.methods[name] for name in private_methods(request)]
        ranked = Counter(
            (kinds.kind(method) in kinds.COVERED, epsilon)
            for method in methods
            for epsilon in filter(math.isfinite, method.epsilons)
        )
        if len(ranked_datasets(request)) < 2 or max(ranked.values(), default=0) < 2:
            raise ValueError("ranks need two datasets, and two private methods with an ε in common")

    def reads(self, request: OutputRequest) -> Reads:
        return Reads(outputs=(ErrorTable.word,), facts=list(method_titles(request).items()))

    def make(self, context: Context) -> None:
        table = context.table_of(ErrorTable.word)
        measures = context.request.options["measures"]
        is_ranked = table["dataset"].isin(ranked_datasets(context.request))
        frame = rank_by_kind(table[is_ranked & table["measure"].isin(measures)])
        if frame.empty:
            none = f"no two methods have {' or '.join(measures)} on the same two datasets"
            raise IncompleteError(f"{context.request.study.name}: {none}: nothing can be ranked")
        context.write(Table(frame, CAPTION, NOTES))
        styles = method_styles(context.request)
        context.draw(draw(frame, method_labels(context.request), styles), frame)


def rank_by_kind(table: pd.DataFrame) -> pd.DataFrame:
    """Test all pairs of methods within each of two groups, for each measure.

    The groups are the methods whose ε covers the choice of hyperparameters, and all other methods.
    `table` is the table ``error_table``. The result has the rows of :func:`.ranks.compare_pairs`
    with two more columns: ``measure``, and ``ranked``, which is `COVERED` or `NOT_COVERED`.
    """
    covered, parts = table["kind"].isin(kinds.COVERED), []
    for name, some in ((COVERED, table[covered]), (NOT_COVERED, table[~covered])):
        for measure, part in some.groupby("measure", sort=False):
            ranked = ranks.keep_complete_methods(part)
            ranked = ranked[ranked["rank"].notna()]
            many = ranked.groupby("epsilon")["method"].transform("nunique") > 1
            if many.any():
                tests = ranks.compare_pairs(ranked[many])
                parts.append(tests.assign(ranked=name, measure=str(measure)))
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=ranks.COLUMNS)


def ranked_datasets(request: OutputRequest) -> list[str]:
    """Return the datasets over which ranks are averaged."""
    return list(dict.fromkeys(request.options["datasets"] or request.study.datasets))


# Longest line of a panel's title, in characters.
WIDTH = 90
# Height of a line of text and width of a character, in inches.
LINE = 0.165
LETTER = 0.055
# Height of the scale of ranks, and of one bar that connects methods without a significant
# difference, in lines of text.
ABOVE, BAR = 2.6, 0.45
# p-values below this value are written as "< 0.001".
LEAST_P = 0.001


def draw(
    frame: pd.DataFrame, titles: Mapping[str, str], styles: Mapping[str, style.CurveStyle]
) -> Figure:
    """Draw the mean ranks of methods, with a panel for each measure and ε.

    Methods whose hyperparameters were chosen without privacy have panels of their own. Rank 1, the
    best, is on the left. Each method has the style of its learning curve. Thick bars connect
    methods that do not differ pairwise by Wilcoxon's test with Holm's correction. The length of the
    thin line at the top is Nemenyi's critical difference.
    """
    style.check_not_empty(frame)
    order = frame["measure"].map(list(MEASURES).index)
    parts = [part for _, part in frame.groupby(["ranked", order, "epsilon"], sort=True)]
    parts.sort(key=lambda part: part["ranked"].iloc[0] == NOT_COVERED)
    joined = [ranks.groups_of_equals(part) for part in parts]
    above = [_title(part, titles, styles) for part in parts]
    counts = [len(set(part["method"]) | set(part["other"])) for part in parts]
    heights = [
        ABOVE + BAR * len(bars) + math.ceil(count / 2) + 0.6
        for bars, count in zip(joined, counts, strict=True)
    ]
    with style.paper():
        n_lines = sum(0.8 * (1 + title.count("\n")) for title in above)
        figure = style.new_figure(style.TEXT_WIDTH, LINE * (sum(heights) + n_lines))
        panels = figure.subplots(len(parts), 1, squeeze=False, height_ratios=heights)[:, 0]
        for panel, title, part, bars, height in zip(
            panels, above, parts, joined, heights, strict=True
        ):
            _draw(panel, part, bars, height, titles, styles)
            panel.set_title(title, loc="left")
    return figure


def _title(
    part: pd.DataFrame, titles: Mapping[str, str], styles: Mapping[str, style.CurveStyle]
) -> str:
    """Return a panel's title: measure, ε, Friedman's test, and methods that have no rank."""
    first = part.iloc[0]
    p_value = float(first["friedman_p"])
    p_text = f"= {p_value:.2g}" if p_value >= LEAST_P else f"< {LEAST_P:g}"
    tested = f"{first['ranked']}; {first['n_datasets']:d} datasets; Friedman's p {p_text}"
    at = f"ε = {first['epsilon']:g}, by {MEASURES[first['measure']].cost}"
    ranked = {*part["method"], *part["other"]}
    lacking = [
        titles[name]
        for name, look in styles.items()
        if look.thin == (first["ranked"] == NOT_COVERED) and name not in ranked
    ]
    lines = [f"{at}  ({tested})", style.name_missing(lacking, WIDTH)]
    return "\n".join(filter(None, lines))


def _draw(
    panel: Axes,
    part: pd.DataFrame,
    bars: list[list[str]],
    height: float,
    titles: Mapping[str, str],
    styles: Mapping[str, style.CurveStyle],
) -> None:
    means = ranks.mean_ranks(part)
    k = len(means)
    letters = LETTER * max(len(f"{titles[method]} {mean:.2f}") for method, mean in means.items())
    beside = letters / max(style.TEXT_WIDTH - 2 * letters, LETTER)
    room = max(0.62, beside) * (k - 1) + 0.4
    # A label of the scale is as wide as three characters. If labels of neighbouring ranks would
    # overlap, only every `step`-th rank gets a label.
    step = math.ceil(3 * LETTER * (k - 1 + 2 * room) / style.TEXT_WIDTH)
    panel.set_xlim(1 - room, k + room)
    panel.set_ylim(height, 0)
    panel.axis("off")
    panel.plot([1, k], [ABOVE, ABOVE], color="0.2", linewidth=0.8)
    for rank in range(1, k + 1):
        panel.plot([rank, rank], [ABOVE - 0.25, ABOVE], color="0.2", linewidth=0.8)
        if (rank - 1) % step == 0:
            panel.text(rank, ABOVE - 0.35, f"{rank}", ha="center", va="bottom", fontsize=7)
    critical = float(part["critical_difference"].iloc[0])
    length = min(critical, k - 1.0)
    panel.plot([1, 1 + length], [0.9, 0.9], color="0.45", linewidth=0.8, marker="|", markersize=4)
    text = f"Nemenyi's critical difference, {critical:.2f}"
    look: Any = {"ha": "left", "va": "center", "fontsize": 6.5, "color": "0.35"}
    panel.text(1 + length + 0.08, 0.9, text, **look)
    for place, bar in enumerate(bars, 1):
        y = ABOVE + BAR * place
        ends = [means[bar[0]] - 0.05, means[bar[-1]] + 0.05]
        panel.plot(ends, [y, y], color="0.1", linewidth=2.4, solid_capstyle="butt")
    below = ABOVE + BAR * (len(bars) + 0.6) + 0.5
    for place, (method, mean) in enumerate(means.items()):
        on_left = place < math.ceil(k / 2)
        # The names of the best and worst methods are nearest to the scale, so that the lines from
        # the scale to the names do not cross.
        y = below + (place if on_left else k - 1 - place)
        x = 1 - 0.15 if on_left else k + 0.15
        look = styles[method].line() | {"linewidth": 0.9}
        panel.plot([mean, mean, x], [ABOVE, y, y], markevery=[0], zorder=3, **look)
        text = f"{titles[method]} {mean:.2f}" if on_left else f"{mean:.2f} {titles[method]}"
        x += -0.06 if on_left else 0.06
        panel.text(x, y, text, ha="right" if on_left else "left", va="center")
