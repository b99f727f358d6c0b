"""All learners against one: paired differences of accuracy, with intervals and tests."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from privcurve.analysis import kinds, ranks
from privcurve.analysis.keys import method_of
from privcurve.figures import style
from privcurve.lazy import Axes, Figure, pd, stats, ticker
from privcurve.outputs.base import Context, Files, Option, Output, OutputRequest, Reads, check_name
from privcurve.outputs.error_table import method_titles, private
from privcurve.tables.table import MISSING, Table, decimals, of_all, text_frame

PAIRED = (
    "A difference is the accuracy of a learner less that of {reference}, of fresh trainings paired "
    "by dataset, fold and repeat: above 0 it is ahead. Brackets are 95 % intervals by Student's t."
)
SAME_RECORDS = (
    "On {datasets} all repeats train on the same records and score the same test part: an interval "
    "there covers the noise of training alone, and says nothing of other records."
)
OTHER_RECORDS = (
    "On {datasets} each repeat scores other records, but repeats share most of the records that "
    "they train on, and some that they score. The standard error is widened for that (Nadeau and "
    "Bengio 2003: 1/R + h/(1 − h) in place of 1/R, where the share h is held out), so that an "
    "interval covers the noise of training and the draw of the records."
)
OVER_REPEATS = (
    "Wilcoxon's p-values of a dataset take its repeats as independent, which they are as to noise "
    "alone; Holm's correction is for the learners of a dataset and ε."
)
OVER_DATASETS = (
    "Over datasets, intervals and Wilcoxon's signed-rank test are of the mean differences, each "
    "dataset counted once: they cover the choice of datasets, as far as these are a sample of any. "
    "Holm's correction is for the learners of an ε. Mean ranks differ if they are further "
    "apart than Nemenyi's critical difference."
)


class Comparison(Output):
    """Tables and figure: differences to a named method, paired over repeats and datasets."""

    word: ClassVar[str] = "comparison"
    version: ClassVar[int] = 2
    options: ClassVar = {
        "arm": Option("the method (a curve's name) that the others are compared with", str),
        "others": Option("a list of methods; by default all others that have an ε", list, None),
    }

    def check(self, request: OutputRequest) -> None:
        methods = private(request)
        for method in (request.options["arm"], *(request.options["others"] or ())):
            check_name("no method that has an ε is called", method, methods)
        if request.options["arm"] in (request.options["others"] or ()):
            raise ValueError(f"others: {request.options['arm']} is not compared with itself")
        if not others(request):
            raise ValueError("a comparison needs two methods that have an ε")

    def files(self, request: OutputRequest) -> Files:
        tables = [request.table]
        if len(request.study.datasets) > 1:
            tables.append(request.table.with_name(f"{request.table.name}_datasets"))
        return Files(tables=tuple(tables), figures=(request.figure,))

    def reads(self, request: OutputRequest) -> Reads:
        methods = [request.options["arm"], *others(request)]
        titles = [list(method_titles(request).items()), request.dataset_titles()]
        curves = request.curves_of(request.study.methods[name] for name in methods)
        return Reads(curves, facts=[methods, titles])

    def make(self, context: Context) -> None:
        request, methods = context.request, context.study.methods
        titles = method_titles(request)
        reference = titles[request.options["arm"]]
        each = by_dataset(context.runs(), request.options["arm"], others(request))
        told = kinds.with_kinds(each, methods, after="arm")
        notes = (PAIRED.format(reference=reference), *_coverage_notes(each), *kinds.NOTES)
        caption = f"Accuracy beside {reference}, on each dataset"
        detail = Table(told, caption, (*notes, OVER_REPEATS), readable(told, titles))
        if len(request.files.tables) == 1:
            context.write(detail)
            context.draw(draw(told, None, titles, reference), told)
            return
        detail.write(request.files.tables[1])
        frame = kinds.with_kinds(overall(each, request.options["arm"]), methods, after="arm")
        caption = f"Accuracy beside {reference}, over {len(context.study.datasets)} datasets"
        context.write(Table(frame, caption, (*notes, OVER_DATASETS), readable(frame, titles)))
        context.draw(draw(frame, each, titles, reference), frame)


def others(request: OutputRequest) -> list[str]:
    """Return the methods that are compared, in the order of the study."""
    wanted = request.options["others"] or private(request)
    return [name for name in private(request) if name in wanted and name != request.options["arm"]]


def _coverage_notes(each: pd.DataFrame) -> list[str]:
    """Say what intervals cover, of each way in which datasets were scored."""
    ways = {SAME_RECORDS: "test", OTHER_RECORDS: "folds"}
    names = {
        text: each.loc[each["scored_on"] == way, "dataset"].unique() for text, way in ways.items()
    }
    return [text.format(datasets=", ".join(mine)) for text, mine in names.items() if len(mine)]


def readable(frame: pd.DataFrame, titles: Mapping[str, str]) -> pd.DataFrame:
    """Return either table as a reader wants it."""
    texts = text_frame(frame[[name for name in ("epsilon", "dataset") if name in frame]])
    texts["learner"] = [titles[method] for method in frame["arm"]]
    texts["kind"] = list(frame["kind"])
    if "accuracy" in frame:
        texts["accuracy"] = decimals(frame["accuracy"], 4)
    texts["difference"] = [
        MISSING if mean != mean else f"{mean:+.4f} [{low:+.4f}, {high:+.4f}]"
        for mean, low, high in zip(frame["difference"], frame["low"], frame["high"], strict=True)
    ]
    for name, column in (("p (Wilcoxon)", "p_value"), ("p (Holm)", "p_holm")):
        values = decimals(frame[column], 4)
        texts[name] = ["< 0.0001" if text == "0.0000" else text for text in values]
    if "mean_rank" not in frame:
        texts["repeats"] = of_all(frame["n_repeats"] - frame["n_failed"], frame["n_repeats"])
        return texts
    texts["mean rank"] = decimals(frame["mean_rank"], 2)
    texts["that of the other"] = decimals(frame["reference_mean_rank"], 2)
    texts["critical difference"] = decimals(frame["critical_difference"], 2)
    below = of_all(frame["n_below"], frame["n_datasets"])
    sides = zip(frame["n_above"], below, strict=True)
    texts["datasets above / below 0"] = [f"{above} / {rest}" for above, rest in sides]
    return texts


LEVEL = 0.95
TEST = "test"
DATASET_COLUMNS = [
    *("epsilon", "dataset", "arm", "scored_on", "accuracy", "reference_accuracy", "difference"),
    *("standard_error", "low", "high", "p_value", "p_holm", "n_repeats", "n_failed"),
]
OVERALL_COLUMNS = [
    *("epsilon", "arm", "n_datasets", "difference", "standard_error", "low", "high", "p_value"),
    *("p_holm", "mean_rank", "reference_mean_rank", "critical_difference", "n_above"),
    *("n_below",),
]


def by_dataset(runs: pd.DataFrame, reference: str, methods: Sequence[str]) -> pd.DataFrame:
    """Compare methods with one of them on each dataset, at each ε at which both were trained.

    One fold and repeat of a dataset has the same records in all methods. `difference` is the
    method's accuracy less the reference's. Its interval is Student's, of the level `LEVEL`. On a
    test part all repeats score the same records: the standard error is s/√R, that of the noise of
    training alone. Hold-outs and folds, a share h of the records, overlap, and so do their training
    parts: s·√(1/R + h/(1 − h)) (Nadeau and Bengio 2003, *Inference for the generalization error*,
    Machine Learning 52). `p_value` is of Wilcoxon's signed-rank test over the repeats, `p_holm`
    with Holm's correction for the methods of an ε and dataset. A method with a failed training
    lacks all of this.
    """
    runs = runs[runs["epsilon"].map(math.isfinite)]
    runs = runs.assign(accuracy=runs["accuracy"].where(runs["status"] == "ok"))
    rows: list[dict[str, Any]] = []
    for (epsilon, dataset), part in runs.groupby(["epsilon", "dataset"], sort=False):
        own = {
            str(method): group.set_index(["fold", "repeat"])["accuracy"]
            for method, group in part.groupby("arm", sort=False)
        }
        if reference not in own:
            continue
        mine = [compare(own[method], own[reference], method) for method in methods if method in own]
        for row, p_holm in zip(mine, _holm(row["p_value"] for row in mine), strict=True):
            rows.append({"epsilon": epsilon, "dataset": dataset, **row, "p_holm": p_holm})
    frame = pd.DataFrame(rows, columns=DATASET_COLUMNS)
    return frame.sort_values("epsilon", kind="stable", ignore_index=True)


def overall(table: pd.DataFrame, reference: str) -> pd.DataFrame:
    """Compare methods with one of them over all datasets of :func:`by_dataset`, at each ε.

    The interval is Student's over the mean differences of the datasets, the p-values are of
    Wilcoxon's test over them, with Holm's correction for the methods of an ε. Ranks are among the
    methods and the reference, the critical difference is Nemenyi's. `n_above` and `n_below` count
    datasets whose own interval lies above or below 0. A dataset on which a method's accuracy is not
    known counts for no method; ValueError if at an ε fewer than two datasets have all methods.
    """
    rows: list[dict[str, Any]] = []
    for epsilon, part in table.groupby("epsilon", sort=True):
        gaps = part.pivot(index="dataset", columns="arm", values="difference").dropna()
        if len(gaps) < 2:
            raise ValueError(f"at ε = {epsilon:g} there are no two datasets that have all methods")
        kept = part[part["dataset"].isin(gaps.index)]
        accuracy = kept.pivot(index="dataset", columns="arm", values="accuracy")
        accuracy[reference] = kept.groupby("dataset")["reference_accuracy"].first()
        errors = (1 - accuracy).round(9)
        mean_ranks = errors.rank(axis=1).mean()
        critical = ranks.critical_difference(errors.shape[1], len(errors))
        methods = list(dict.fromkeys(part["arm"]))
        p_values = [
            ranks.wilcoxon((errors[method] - errors[reference]).tolist()) for method in methods
        ]
        for method, p_value, p_holm in zip(methods, p_values, ranks.holm(p_values), strict=True):
            mine, values = kept[kept["arm"] == method], gaps[method].tolist()
            rows.append(
                {
                    **{"epsilon": epsilon, "arm": method, "n_datasets": len(values)},
                    **_interval(values, 1 / len(values)),
                    **{"p_value": p_value, "p_holm": p_holm, "mean_rank": mean_ranks[method]},
                    "reference_mean_rank": mean_ranks[reference],
                    "critical_difference": critical,
                    "n_above": int((mine["low"] > 0).sum()),
                    "n_below": int((mine["high"] < 0).sum()),
                }
            )
    return pd.DataFrame(rows, columns=OVERALL_COLUMNS)


def compare(own: pd.Series, base: pd.Series, method: str) -> dict[str, Any]:
    """Compare the accuracies of two methods on the splits of a dataset."""
    shares = {share_held_out(fold) for fold, _ in base.index}
    if len(shares) > 1 or set(own.index) != set(base.index):
        raise ValueError(f"{method}: its runs are not of the splits that the others have")
    (share,) = shares
    n_failed = int(own.isna().sum() + base.isna().sum())
    row = {
        **{"arm": method, "scored_on": "folds" if share else TEST},
        **{"n_repeats": len(own), "n_failed": n_failed, "p_value": math.nan},
    }
    if n_failed:
        return row
    values = (own - base.reindex(own.index)).round(12).tolist()
    return {
        **{**row, "accuracy": float(own.mean()), "reference_accuracy": float(base.mean())},
        **_interval(values, 1 / len(values) + share / (1 - share)),
        "p_value": ranks.wilcoxon(values),
    }


def share_held_out(fold: str) -> float:
    """Return the share of the records that a fold scores; 0 of a test part."""
    if fold == TEST:
        return 0.0
    _, folds, number = fold.partition("/")
    return 1 / int(number) if folds else float(fold.partition("@")[2])


def _interval(values: Sequence[float], factor: float) -> dict[str, float]:
    """Return mean, standard error s·√factor, and Student's interval."""
    mean = math.fsum(values) / len(values)
    if len(values) < 2:
        return {"difference": mean, **dict.fromkeys(("standard_error", "low", "high"), math.nan)}
    error = float(np.std(values, ddof=1)) * math.sqrt(factor)
    reach = float(stats.t.ppf(0.5 + LEVEL / 2, len(values) - 1)) * error
    return {
        **{"difference": mean, "standard_error": error},
        **{"low": mean - reach, "high": mean + reach},
    }


def _holm(p_values: Iterator[float]) -> list[float]:
    """Correct the p-values that are known."""
    every = list(p_values)
    corrected = iter(ranks.holm([p for p in every if not math.isnan(p)]))
    return [p if math.isnan(p) else next(corrected) for p in every]


LINE = 0.2  # inches
# Below so many points the axis is linear, above it logarithmic.
LINEAR = 1.0


def draw(
    frame: pd.DataFrame, each: pd.DataFrame | None, titles: Mapping[str, str], reference: str
) -> Figure:
    """Draw differences in points of a hundred, with their intervals; dots of single datasets.

    Right of 0 a method is ahead. Within a point of 0 the axis is linear, beyond logarithmic.
    """
    style.check_any(frame)
    epsilons, methods = sorted(set(frame["epsilon"])), list(dict.fromkeys(frame["arm"]))
    looks = style.method_looks(map(method_of, methods))
    columns = style.panel_columns(len(epsilons))
    rows = math.ceil(len(epsilons) / columns)
    with style.paper():
        height = rows * (LINE * len(methods) + 0.62) + 0.25
        figure = style.new_figure(style.TEXT_WIDTH, height)
        panels = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True).ravel()
        for panel in panels[len(epsilons) :]:
            panel.remove()
        for i, (panel, epsilon) in enumerate(zip(panels, epsilons, strict=False)):
            for y, method in enumerate(methods):
                colour, marker = looks[method_of(method)]
                if each is not None:
                    _draw_dots(panel, _at(each, epsilon, method), y, colour)
                _draw_interval(panel, _at(frame, epsilon, method), y, colour, marker)
            _finish(panel, epsilon, [titles[method] for method in methods])
            panel.tick_params(labelbottom=i + columns >= len(epsilons))
        figure.supxlabel(f"Accuracy less that of {reference}, in points of a hundred", fontsize=7.5)
    return figure


def _at(frame: pd.DataFrame, epsilon: float, method: str) -> pd.DataFrame:
    return frame[(frame["epsilon"] == epsilon) & (frame["arm"] == method)]


def _draw_dots(panel: Axes, rows: pd.DataFrame, y: int, colour: str) -> None:
    points = (100 * rows["difference"]).dropna().tolist()
    panel.plot(
        points, [y + 0.24] * len(points), linestyle="none", marker=".", markersize=3,
        markeredgewidth=0, color=colour, alpha=0.45, zorder=2,
    )  # fmt: skip


def _draw_interval(panel: Axes, rows: pd.DataFrame, y: int, colour: str, marker: str) -> None:
    for low, middle, high in (100 * rows[["low", "difference", "high"]]).to_numpy().tolist():
        panel.plot([low, high], [y, y], color=colour, linewidth=1.2)
        panel.plot([middle], [y], linestyle="none", color=colour, marker=marker, zorder=3)


def _finish(panel: Axes, epsilon: float, names: list[str]) -> None:
    panel.set_title(f"ε = {epsilon:g}")
    panel.axvline(0, color="0.35", linewidth=0.8, zorder=1)
    panel.set_xscale("symlog", linthresh=LINEAR)
    panel.xaxis.set_major_locator(ticker.SymmetricalLogLocator(base=10, linthresh=LINEAR, subs=[1]))
    panel.xaxis.set_major_formatter(
        ticker.FuncFormatter(lambda value, _: f"{value:+g}" if value else "0")
    )
    panel.set_yticks(range(len(names)), names)
    panel.set_ylim(len(names) - 0.4, -0.6)
