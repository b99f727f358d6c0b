"""Compare each learner with a reference by paired differences, with intervals and tests."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from privcurve.analysis import ranks
from privcurve.analysis.measures import (
    ACCURACY,
    MEASURES,
    NO_LOG_LOSS,
    RANKED,
    TEST,
    add_errors,
    cost,
    error_factor,
    share_held_out,
)
from privcurve.experiments import kinds
from privcurve.experiments.kinds import NOT_COVERED
from privcurve.experiments.results import IncompleteError
from privcurve.figures import style
from privcurve.lazy import Axes, Figure, pd, stats, ticker
from privcurve.outputs.base import Context, Files, Option, Output, OutputRequest, Reads, check_name
from privcurve.outputs.error_table import (
    method_labels,
    method_styles,
    method_titles,
    private_methods,
)
from privcurve.tables.table import MISSING, Table, format_counts, format_decimals, text_frame

PAIRED = (
    "A difference is the error of {reference} minus a learner's error, by each measure, of "
    "fresh trainings paired by dataset, fold and repeat: above 0 the learner is better. "
    f"Brackets are 95 % intervals by Student's t. {NO_LOG_LOSS}"
)
SAME_RECORDS = (
    "On {datasets} all repeats train on the same records and score the same test part: an "
    "interval there covers the noise of training alone, not the draw of the records."
)
# This note replaces SAME_RECORDS if some methods train on a share of the records.
OWN_SHARES = (
    "On {datasets} all repeats score the same test part; methods that train on a share "
    "draw their own share of the training part: an interval there covers the noise of "
    "training and that draw, not the draw of the records."
)
OTHER_RECORDS = (
    "On {datasets} each repeat scores other records, but repeats share {most} of the "
    "records that they train on, and some that they score. The standard error is widened "
    "for that (Nadeau and Bengio 2003: 1/R + h/(1 − h) in place of 1/R, where h is the "
    "share of held-out records), so that an interval covers the noise of training and the "
    "draw of the records."
)
OVER_REPEATS = (
    "Wilcoxon's p-values of a dataset assume independent repeats, which holds for the "
    "noise alone; Holm's correction is over the learners of a dataset and ε."
)
OVER_DATASETS = (
    "Over datasets, intervals and Wilcoxon's signed-rank test use the mean differences, "
    "each dataset counted once: they cover the choice of datasets, if these are a random "
    "sample. Holm's correction is over the learners of an ε. Mean ranks differ if their "
    "distance exceeds Nemenyi's critical difference."
)


class Comparison(Output):
    """Tables and figure: paired differences to a reference method, over repeats and datasets."""

    word: ClassVar[str] = "comparison"
    version: ClassVar[int] = 8
    options: ClassVar = {
        "method": Option("the method (a curve's name) to which the others are compared", str),
        "others": Option("a list of methods; by default all others that have an ε", list, None),
    }

    def check(self, request: OutputRequest) -> None:
        methods = private_methods(request)
        for method in (request.options["method"], *(request.options["others"] or ())):
            check_name("no method that has an ε is called", method, methods)
        if request.options["method"] in (request.options["others"] or ()):
            raise ValueError(
                f"others: must not contain {request.options['method']}, the option 'method'"
            )
        compared = compared_methods(request)
        for method in request.options["others"] or ():
            if method not in compared:
                raise ValueError(
                    f"others: {method} must have an ε of {request.options['method']}; "
                    "the two have no ε in common"
                )
        if not compared:
            raise ValueError("a comparison needs two methods with an ε in common")

    def files(self, request: OutputRequest) -> Files:
        tables = [request.table]
        if len(request.study.datasets) > 1:
            tables.append(request.table.with_name(f"{request.table.name}_datasets"))
        return Files(tables=tuple(tables), figures=(request.figure,))

    def reads(self, request: OutputRequest) -> Reads:
        methods = [request.options["method"], *compared_methods(request)]
        titles = [list(method_titles(request).items()), request.dataset_titles()]
        curves = request.curves_of(request.study.methods[name] for name in methods)
        return Reads(curves, facts=[methods, titles])

    def make(self, context: Context) -> None:
        request, methods = context.request, context.study.methods
        titles = method_labels(request)
        runs, method = context.runs(), request.options["method"]
        others = [name for name in compared_methods(request) if not methods[name].breaks_contract]
        if methods[method].breaks_contract or not others:
            who = method if methods[method].breaks_contract else "each other method"
            raise IncompleteError(f"{context.study.name}: comparison: {who} broke the contract")
        parts = [compare_by_dataset(runs, method, others, measure) for measure in RANKED]
        each = pd.concat([part for part in parts if len(part)] or parts[:1], ignore_index=True)
        reference, styles = titles[method], method_styles(request)
        table = kinds.add_kinds(each, methods, after="method")
        shares = any(methods[name].train_share < 1 for name in (method, *others))
        notes = (PAIRED.format(reference=reference), *coverage_notes(each, shares), *kinds.NOTES)
        caption = f"Learners beside {reference}, on each dataset"
        detail = Table(table, caption, (*notes, OVER_REPEATS), format_table(table, titles))
        if len(request.files.tables) == 1:
            context.write(detail)
            context.draw(draw(table, None, titles, styles, reference), table)
            return
        context.write(detail, request.files.tables[1])
        frame = kinds.add_kinds(compare_over_datasets(each, method), methods, after="method")
        if frame.empty:
            why = "trainings failed, so that no two datasets have all methods at one ε"
            raise IncompleteError(f"{context.study.name}: {why}: there is nothing to compare")
        caption = f"Learners compared with {reference}, over {len(context.study.datasets)} datasets"
        context.write(Table(frame, caption, (*notes, OVER_DATASETS), format_table(frame, titles)))
        context.draw(draw(frame, each, titles, styles, reference), frame)


def compared_methods(request: OutputRequest) -> list[str]:
    """Return the methods to compare with the reference method, in the order of the study.

    A compared method has at least one finite ε in common with the reference. Methods whose
    hyperparameters were chosen without privacy come last.
    """
    reference, methods = request.options["method"], request.study.methods
    wanted = {*(request.options["others"] or methods)} - {reference}
    shared = {*filter(math.isfinite, methods[reference].epsilons)}
    names = [name for name in private_methods(request) if shared & {*methods[name].epsilons}]
    names = [name for name in names if name in wanted]
    return sorted(names, key=lambda name: kinds.kind(methods[name]) == NOT_COVERED)


def coverage_notes(each: pd.DataFrame, shares: bool) -> list[str]:
    """Return notes that say which sources of variation the confidence intervals include.

    There is a note for the datasets that are scored on a test part, and a note for the datasets
    that are scored on folds or hold-outs. `each` is the result of :func:`compare_by_dataset`;
    `shares` says whether at least one method trains on only a share of the records.
    """
    ways = {OWN_SHARES if shares else SAME_RECORDS: TEST, OTHER_RECORDS: "folds"}
    names = {
        text: each.loc[each["scored_on"] == way, "dataset"].unique() for text, way in ways.items()
    }
    most = "some" if shares else "most"
    return [
        text.format(datasets=", ".join(mine), most=most)
        for text, mine in names.items()
        if len(mine)
    ]


def format_table(frame: pd.DataFrame, titles: Mapping[str, str]) -> pd.DataFrame:
    """Return the table per dataset, or the table over datasets, with texts for readers."""
    texts = text_frame(frame[[name for name in ("epsilon", "dataset") if name in frame]])
    texts.insert(0, "measure", [MEASURES[measure].cost for measure in frame["measure"]])
    texts["learner"] = [titles[method] for method in frame["method"]]
    texts["kind"] = list(frame["kind"])
    if ACCURACY in frame:
        of_rows = zip(frame["measure"], frame.to_dict("records"), strict=True)
        texts["score"] = format_decimals(pd.Series([row[measure] for measure, row in of_rows]), 4)
    texts["difference"] = [
        MISSING if mean != mean else f"{mean:+.4f} [{low:+.4f}, {high:+.4f}]"
        for mean, low, high in zip(frame["difference"], frame["low"], frame["high"], strict=True)
    ]
    for name, column in (("p (Wilcoxon)", "p_value"), ("p (Holm)", "p_holm")):
        values = format_decimals(frame[column], 4)
        texts[name] = ["< 0.0001" if text == "0.0000" else text for text in values]
    if "mean_rank" not in frame:
        texts["repeats"] = format_counts(frame["n_repeats"] - frame["n_failed"], frame["n_repeats"])
        return texts
    texts["mean rank"] = format_decimals(frame["mean_rank"], 2)
    texts["that of the other"] = format_decimals(frame["reference_mean_rank"], 2)
    texts["critical difference"] = format_decimals(frame["critical_difference"], 2)
    below = format_counts(frame["n_below"], frame["n_datasets"])
    sides = zip(frame["n_above"], below, strict=True)
    texts["datasets above / below 0"] = [f"{above} / {rest}" for above, rest in sides]
    return texts


LEVEL = 0.95  # confidence level of the intervals
DATASET_COLUMNS = [
    "measure", "epsilon", "dataset", "method", "scored_on",
    *(name for measure in RANKED for name in (measure, f"reference_{measure}")),
    "difference", "standard_error", "low", "high", "p_value", "p_holm", "n_repeats", "n_failed",
]  # fmt: skip
OVERALL_COLUMNS = [
    "measure", "epsilon", "method", "n_datasets",
    "difference", "standard_error", "low", "high", "p_value",
    "p_holm", "mean_rank", "reference_mean_rank", "critical_difference", "n_above",
    "n_below",
]  # fmt: skip


def compare_by_dataset(
    runs: pd.DataFrame, reference: str, methods: Sequence[str], measure: str = ACCURACY
) -> pd.DataFrame:
    """Compare methods with a reference on each dataset, at each ε at which both were trained.

    Runs are paired by fold and repeat: both runs of a pair have the same records. `difference` is
    the reference's error minus the method's error, by `measure`. `low` and `high` are the ends of
    Student's interval with the level `LEVEL`; :func:`.measures.error_factor` says what its standard
    error covers. `p_value` is from Wilcoxon's signed-rank test over the repeats; `p_holm` has
    Holm's correction for the methods of an ε and dataset. These values are NaN if a training of the
    method or of the reference failed. A method that lacks the measure has no row.
    """
    runs = add_errors(runs[runs["epsilon"].map(math.isfinite)], measure)
    rows: list[dict[str, Any]] = []
    for (epsilon, dataset), part in runs.groupby(["epsilon", "dataset"], sort=False):
        splits = {
            str(method): group.set_index(["fold", "repeat"])
            for method, group in part.groupby("method", sort=False)
        }
        if reference not in splits:
            continue
        own = {method: -group["error"] for method, group in splits.items()}
        mine = [compare(own[method], own[reference], method) for method in methods if method in own]
        corrected = ranks.holm([row["p_value"] for row in mine])
        for row, p_holm in zip(mine, corrected, strict=True):
            scores = {measure: row["method"], f"reference_{measure}": reference}
            if not row["n_failed"]:
                row |= {key: float(splits[name][measure].mean()) for key, name in scores.items()}
            place = {"measure": measure, "epsilon": epsilon, "dataset": dataset}
            rows.append({**place, **row, "p_holm": p_holm})
    frame = pd.DataFrame(rows, columns=DATASET_COLUMNS)
    return frame.sort_values("epsilon", kind="stable", ignore_index=True)


def compare_over_datasets(table: pd.DataFrame, reference: str) -> pd.DataFrame:
    """Compare methods with a reference over all datasets, at each ε and by each measure.

    `table` has the results of :func:`compare_by_dataset`. Each dataset counts once, by its mean
    difference: the interval is Student's over these means, and the p-value is from Wilcoxon's test
    over them, with Holm's correction for the methods of a measure and ε. The reference is ranked
    together with the methods; the result has their mean ranks and Nemenyi's critical difference.
    `n_above` and `n_below` count the datasets on which the interval is entirely above or below 0.

    A method that lacks a measure on some dataset has no row for the measure. A dataset on which a
    training failed is omitted for all methods. An ε with fewer than two remaining datasets has no
    row.
    """
    rows: list[tuple[Any, ...]] = []
    order = table["measure"].map(list(MEASURES).index)
    for (_, epsilon), rows_at in table.groupby([order, "epsilon"], sort=True):
        part, measure = ranks.keep_complete_methods(rows_at), str(rows_at["measure"].iloc[0])
        gaps = part.pivot(index="dataset", columns="method", values="difference").dropna()
        if len(gaps) < 2:
            continue
        complete = part[part["dataset"].isin(gaps.index)]
        scores = complete.pivot(index="dataset", columns="method", values=measure)
        scores[reference] = complete.groupby("dataset")[f"reference_{measure}"].first()
        errors = cost(scores, measure).round(9)
        mean_ranks = errors.rank(axis=1).mean()
        critical = ranks.critical_difference(errors.shape[1], len(errors))
        methods = list(dict.fromkeys(part["method"]))
        p_values = [
            ranks.wilcoxon((errors[method] - errors[reference]).tolist()) for method in methods
        ]
        for method, p_value, p_holm in zip(methods, p_values, ranks.holm(p_values), strict=True):
            mine, values = complete[complete["method"] == method], gaps[method].tolist()
            interval = _interval(values, error_factor(len(values), 0)).values()
            place = (measure, epsilon, method, len(values))
            both_ranks = (mean_ranks[method], mean_ranks[reference], critical)
            n_outside = (int((mine["low"] > 0).sum()), int((mine["high"] < 0).sum()))
            rows.append((*place, *interval, p_value, p_holm, *both_ranks, *n_outside))
    return pd.DataFrame(rows, columns=OVERALL_COLUMNS)


def compare(own: pd.Series, base: pd.Series, method: str) -> dict[str, Any]:
    """Compare the scores of a method with the scores of a reference on the splits of a dataset.

    `own` (the method) and `base` (the reference) are indexed by fold and repeat; a higher score is
    better. Returns the mean difference ``own − base`` with its interval and p-value. If a training
    failed, the p-value is NaN, the other values are absent, and ``n_failed`` counts the missing
    scores.
    """
    shares = {share_held_out(fold) for fold, _ in base.index}
    if len(shares) > 1 or set(own.index) != set(base.index):
        raise ValueError(f"{method}: its runs must have the splits of the other methods")
    (share,) = shares
    n_failed = int(own.isna().sum() + base.isna().sum())
    row: dict[str, Any] = {"method": method, "scored_on": "folds" if share else TEST}
    row |= {"n_repeats": len(own), "n_failed": n_failed, "p_value": math.nan}
    if n_failed:
        return row
    values = (own - base.reindex(own.index)).round(12).tolist()
    interval = _interval(values, error_factor(len(values), share))
    return {**row, **interval, "p_value": ranks.wilcoxon(values)}


def _interval(values: Sequence[float], factor: float) -> dict[str, float]:
    """Return mean, standard error and Student's interval of paired differences.

    `factor` is the standard error divided by the standard deviation of `values`
    (:func:`.error_factor`).
    """
    mean = math.fsum(values) / len(values)
    if len(values) < 2:
        return {"difference": mean, **dict.fromkeys(("standard_error", "low", "high"), math.nan)}
    error = float(np.std(values, ddof=1)) * factor
    reach = float(stats.t.ppf(0.5 + LEVEL / 2, len(values) - 1)) * error
    ends = {"low": mean - reach, "high": mean + reach}
    return {"difference": mean, "standard_error": error, **ends}


LINE = 0.2  # height of a row of the figure, in inches
# Longest line of text below the panels, in characters.
WIDTH = 110
# The axis is linear up to this difference (in percentage points) and logarithmic beyond it.
LINEAR = 1.0
# If an end of the axis exceeds this difference (in percentage points), only every second power of
# ten gets a label, as there is no room for more.
MANY = 200


def draw(
    frame: pd.DataFrame,
    each: pd.DataFrame | None,
    titles: Mapping[str, str],
    styles: Mapping[str, style.CurveStyle],
    reference: str,
) -> Figure:
    """Draw differences to the reference in percentage points, with their intervals.

    There is a panel per measure and ε, with a row per method; a method right of 0 is better than
    the reference. `frame` has the differences over datasets and `each` the differences on single
    datasets, drawn as dots; without `each`, `frame` is about one dataset. The axis is linear up to
    `LINEAR` and logarithmic beyond. Methods have the styles of their learning curves. The names of
    methods that lack a measure are below the panels.
    """
    style.check_not_empty(frame)
    names = [measure for measure in MEASURES if measure in set(frame["measure"])]
    epsilons = sorted(set(frame["epsilon"]))
    methods = {m: list(dict.fromkeys(frame["method"][frame["measure"] == m])) for m in names}
    columns = style.panel_columns(len(epsilons))
    heights = [LINE * len(methods[m]) + 0.62 for m in names for _ in epsilons[::columns]]
    with style.paper():
        figure = style.new_figure(style.TEXT_WIDTH, sum(heights) + 0.25)
        panels = figure.subplots(
            len(heights), columns, squeeze=False, sharex=True, sharey="row", height_ratios=heights
        ).ravel()
        for place, panel in enumerate(panels):
            row, i = divmod(place, columns * math.ceil(len(epsilons) / columns))
            if i >= len(epsilons):
                panel.remove()
                continue
            measure, epsilon = names[row], epsilons[i]
            for y, method in enumerate(methods[measure]):
                if each is not None:
                    dots = _rows_of(each, measure, epsilon, method)
                    _draw_dots(panel, dots, y, styles[method].colour)
                rows = _rows_of(frame, measure, epsilon, method)
                look = styles[method].line()
                for low, middle, high in 100 * rows[["low", "difference", "high"]].to_numpy():
                    panel.plot([low, high], [y, y], **{**look, "marker": "none"})
                    panel.plot([middle], [y], zorder=3, **{**look, "linestyle": "none"})
            _finish(panel, [titles[method] for method in methods[measure]])
            panel.set_title(f"ε = {epsilon:g}, {MEASURES[measure].cost}")
        _label_sizes(panels[0])
        every = list(dict.fromkeys(frame["method"] if each is None else each["method"]))
        lacking = {m: [titles[one] for one in every if one not in methods[m]] for m in methods}
        lines = [f"Ahead of {reference} by so many hundredths"]
        lines += [
            f"by {MEASURES[measure].cost} {style.name_missing(names, WIDTH)}"
            for measure, names in lacking.items()
            if names
        ]
        figure.supxlabel("\n".join(lines), fontsize=7.5)
    return figure


def _rows_of(frame: pd.DataFrame, measure: str, epsilon: float, method: str) -> pd.DataFrame:
    rows = frame["measure"].eq(measure) & frame["epsilon"].eq(epsilon) & frame["method"].eq(method)
    return frame[rows]


def _draw_dots(panel: Axes, rows: pd.DataFrame, y: int, colour: str) -> None:
    points = (100 * rows["difference"]).dropna().tolist()
    panel.plot(
        points, [y + 0.24] * len(points), linestyle="none", marker=".", markersize=3,
        markeredgewidth=0, color=colour, alpha=0.45, zorder=2,
    )  # fmt: skip


def _finish(panel: Axes, names: list[str]) -> None:
    panel.axvline(0, color="0.35", linewidth=0.8, zorder=1)
    panel.set_xscale("symlog", linthresh=LINEAR)
    panel.set_yticks(range(len(names)), names)
    panel.set_ylim(len(names) - 0.4, -0.6)


def _label_sizes(panel: Axes) -> None:
    """Label each power of ten on the shared axis; only every second one if the axis is long."""
    base = 10 if max(map(abs, panel.get_xlim())) <= MANY else 100
    locator = ticker.SymmetricalLogLocator(base=base, linthresh=LINEAR, subs=[1])
    panel.xaxis.set_major_locator(locator)
    panel.xaxis.set_major_formatter(lambda value, _: f"{value:+g}" if value else "0")
