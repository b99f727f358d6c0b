"""Draw learning curves: scores of fresh trainings against ε, a panel per dataset and measure."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from privcurve.analysis.keys import method_of
from privcurve.analysis.measures import ACCURACY, LOSSES, RANKED, check_measures, ranked_by
from privcurve.experiments import kinds
from privcurve.experiments.results import IncompleteError
from privcurve.experiments.study import Study
from privcurve.figures import style
from privcurve.figures.labels import label_ends, label_lines, move_apart
from privcurve.lazy import Axes, Figure, pd, ticker
from privcurve.numerals import power
from privcurve.outputs.answers import RAW, REFERENCES, drop_twins
from privcurve.outputs.base import (
    FIGURES,
    Context,
    Files,
    Option,
    Output,
    OutputRequest,
    Reads,
    check_name,
    dataset_title,
    datasets_of_rule,
    metric_name,
    source_of,
)
from privcurve.privacy.ledger import CLAIMED

if TYPE_CHECKING:
    from matplotlib.lines import Line2D


class LearningCurves(Output):
    """Figure: one curve per method; methods without privacy are horizontal lines.

    A panel has at most six curves; the remaining curves are in a second figure, ``…_supplement``.
    """

    word: ClassVar[str] = "learning_curves"
    version: ClassVar[int] = 12
    selects: ClassVar[bool] = False
    options: ClassVar = {
        "learners": Option(
            "labels of the learners in the first figure; by default the six curves that rank "
            "best, proved ones first",
            list,
            None,
        ),
        "datasets": Option("a list of datasets that have a panel; by default all", list, None),
        "measures": Option(
            f"a list of measures, each with its panels, from {', '.join(RANKED)} and the "
            "study's metric; by default the study's metric",
            list,
            None,
        ),
    }

    def check(self, request: OutputRequest) -> None:
        for dataset in request.options["datasets"] or ():
            request.check_dataset(dataset)
        if request.options["measures"] is not None:
            check_measures(request.options["measures"], ranked_by(request.study.metric))
        labels = request.options["learners"]
        if labels is None:
            return
        curves = _list_curves(request.study)
        for label in labels:
            check_name("learners", label, dict.fromkeys(map(method_of, curves)))
        n_curves = sum(method_of(method) in labels for method in curves)
        if n_curves > MOST:
            raise ValueError(
                f"learners must have at most {MOST} curves, which fit in a panel; got {n_curves}. "
                "Leave learners out"
            )

    def files(self, request: OutputRequest) -> Files:
        # The name of the first figure is the option `name` or, as in older studies, the study's key
        # `figure`.
        first = FIGURES / (request.options["name"] or request.study.figure)
        curves, labels = _list_curves(request.study), request.options["learners"]
        if labels is not None:
            curves = [method for method in curves if method_of(method) not in labels]
        is_split = len(curves) > MOST if labels is None else bool(curves)
        return Files(figures=(first, first.with_name(first.name + REST)) if is_split else (first,))

    def reads(self, request: OutputRequest) -> Reads:
        titles = [[method.name, method.title] for method in request.study.methods.values()]
        named = [[name, dataset_title(name), source_of(name)] for name in request.study.datasets]
        # If the study has a model on raw columns, its score is a horizontal line.
        raw = (RAW,) if RAW in dict(request.study.outputs) else ()
        return Reads(outputs=("accuracy", *raw), facts=[titles, named, request.study.metric])

    def make(self, context: Context) -> None:
        frame = context.table_of("accuracy")
        if RAW in context.others:
            raw = context.table_of(RAW)
            frame = pd.concat([frame, raw[raw["method"] == RAW]], ignore_index=True)
        options = [context.options[key] for key in ("learners", "datasets", "measures")]
        check_measured(context.study, frame, *options[1:])
        parts = figures(context.study, frame, *options)
        for file, figure in zip(context.request.files.figures, parts, strict=False):
            context.draw(figure, frame, file)


def check_measured(
    study: Study,
    accuracy: pd.DataFrame,
    datasets: Sequence[str] | None = None,
    measures: Sequence[str] | None = None,
) -> None:
    """Raise IncompleteError if all successful trainings on `datasets` lack one of `measures`.

    `accuracy` is the table ``accuracy`` of the study; by default all datasets count.
    """
    trained = accuracy[accuracy["dataset"].isin(datasets or study.datasets)]
    trained = trained[trained[ACCURACY].notna()]
    for measure in measures or ():
        if len(trained) and trained[measure].isna().all():
            raise IncompleteError(
                f"{study.name}: outputs: {LearningCurves.word}: measures: no learner of the study "
                f"has a {metric_name(measure)}; leave it out"
            )


def figures(
    study: Study,
    accuracy: pd.DataFrame,
    labels: Collection[str] | None = None,
    datasets: Sequence[str] | None = None,
    measures: Sequence[str] | None = None,
) -> Iterator[Figure]:
    """Yield a figure of the curves of the learners `labels`, then a figure of the other curves.

    If `labels` is None, the first figure has the best curves. `accuracy` is the table ``accuracy``
    with, if the study has one, the model on raw columns. There is a panel for each dataset and
    measure, by default for all datasets and the study's metric. A curve that equals another curve
    at every point (:func:`.drop_twins`) is not drawn; the legend names it.
    """
    names, measures = datasets or study.datasets, measures or (study.metric,)
    own = [one.name for one in study.methods.values() if one.contract and one.is_claimed]
    is_claimed = accuracy["method"].isin(own) & accuracy["calibration"].eq("proved")
    accuracy = accuracy.assign(calibration=accuracy["calibration"].mask(is_claimed, CLAIMED))
    curve = accuracy.groupby(["dataset", "method"]).ngroup()
    is_drawn = curve.isin(curve[drop_twins(accuracy).index])
    labels_of = {one.name: one.label(one.title) for one in study.methods.values()}
    twins = accuracy[~is_drawn & accuracy["dataset"].isin(names)].drop_duplicates("method")
    notes = [
        f"{_write_name(labels_of[name], calibration, delta, kind)}: {SAME}"
        for name, calibration, delta, kind in twins[TOLD].to_numpy().tolist()
    ]
    accuracy = accuracy[is_drawn]
    titles = {RAW: REFERENCES[RAW]} | labels_of
    panel_titles = {name: panel_title(study, name) for name in names}
    groups = {name: source_of(name) for name in names}
    methods = _list_curves(study)
    first = [method for method in methods if labels is None or method_of(method) in labels]
    if len(first) > MOST:
        broken = [name for name in first if study.methods[name].breaks_contract]
        first = best_curves(accuracy, first, study.metric, broken)
    rest = [method for method in methods if method not in first]
    for parts in ([first], [rest[k : k + MOST] for k in range(0, len(rest), MOST)]):
        yield draw(accuracy, titles, panel_titles, groups, measures, parts, notes)


def _list_curves(study: Study) -> list[str]:
    """Return the names of a study's methods that are trained at a finite ε."""
    methods = study.methods.values()
    return [method.name for method in methods if any(map(math.isfinite, method.epsilons))]


def best_curves(
    accuracy: pd.DataFrame, methods: Collection[str], metric: str, broken: Collection[str] = ()
) -> list[str]:
    """Return the methods with the best mean ranks over datasets and ε, at most `MOST`.

    Methods with published noise are chosen only if there are too few others, and methods in
    `broken` never, as their learners broke the contract. The result has the order of `methods`.
    """
    ranked = [method for method in methods if method not in broken]
    rows = accuracy[accuracy["method"].isin(ranked) & np.isfinite(accuracy["epsilon"])]
    places = rows.groupby(["dataset", "epsilon"])[metric].rank(
        ascending=metric in LOSSES, na_option="bottom"
    )
    published = rows["calibration"].eq("published").groupby(rows["method"]).first()
    mean = places.groupby(rows["method"]).mean()
    best = sorted(mean.index, key=lambda method: (published[method], mean[method], method))[:MOST]
    return [method for method in methods if method in best]


def panel_title(study: Study, name: str) -> str:
    """Return a dataset's title, marked if the dataset's source trained PrivGAM's network."""
    return dataset_title(name) + (f" {MARK}" if name in datasets_of_rule(study) else "")


# Maximum number of curves in a panel, as readers cannot distinguish more.
MOST = 6
# If a figure has a single panel with at most this many curves, their names are at their right ends
# rather than in a legend.
MOST_NAMED = 4
MARK = "†"
MARK_NOTE = f"{MARK} records of this dataset trained PrivGAM's network"
# Suffix of the file name of the second figure, which has the remaining curves.
REST = "_supplement"

TOLD = ["method", "calibration", "delta", "kind"]
SAME = "the same as with a smaller δ"
SCORED_ON = {"test": "test set", "folds": "fresh folds"}

# Leading digits of ε that make a good label, best first.
NICE_DIGITS = ("1", "5", "2", "3")


def draw(
    accuracy: pd.DataFrame,
    titles: Mapping[str, str],
    datasets: Mapping[str, str],
    groups: Mapping[str, str] | None = None,
    measures: Sequence[str] = (ACCURACY,),
    parts: Sequence[Collection[str]] | None = None,
    notes: Sequence[str] = (),
) -> Figure:
    """Draw scores against ε, with a band of one standard deviation over repeats.

    `titles` has the titles of methods, in the order of the colours and of the legend. `datasets`
    has the titles of panels by dataset; panels of datasets with the same value in `groups` share
    their y axis. Each item of `parts` is a list of methods; the curves of these methods have their
    own panels, one per dataset and measure. By default, all methods share the panels. If a method
    lacks a measure, its name is below the panel in place of a curve. The legend names panels that
    are left out because no curve has their measure, and ends with the `notes`.

    A curve connects a method's scores at its finite ε. The score of a method at ε = ∞ is a labelled
    horizontal line. The line is grey if the method is not private; if the method is private, the
    line is the limit of its curve and has the curve's colour. A missing score is a gap in the curve
    and a cross on the ε axis; the name of a missing horizontal line is below its panel. Curves
    whose hyperparameters were chosen without privacy are thin and dashed.
    """
    frame = accuracy[accuracy["method"].isin(list(titles))]
    for dataset in datasets:
        if dataset not in set(frame["dataset"]):
            raise ValueError(f"the dataset {dataset} has no row in the table of accuracy")
    if frame.duplicated(["dataset", "method", "epsilon"]).any():
        raise ValueError("the table of accuracy must have one row per curve and ε; it has two")
    finite = frame[np.isfinite(frame["epsilon"])]
    first = frame.drop_duplicates("method").set_index("method")
    methods = [method for method in titles if method in first.index]
    curves = [method for method in methods if method in set(finite["method"])]
    calibrations = first["calibration"].astype(object).where(first["calibration"].notna(), None)
    kind = dict(zip(finite["method"], finite["kind"], strict=True))
    not_covered = [method for method in curves if kind[method] == kinds.NOT_COVERED]
    styles = style.curve_styles(curves, dict(calibrations), dict(first["delta"]), not_covered)
    looks = _choose_level_looks(
        methods, styles, set(frame.loc[np.isinf(frame["epsilon"]), "method"])
    )
    with style.paper():
        every = [
            (measure, name, [method for method in curves if method in chosen], part)
            for chosen in ([curves] if parts is None else parts)
            for measure in measures
            for name in datasets
            for part in [_select_rows(frame, name, measure)]
        ]
        placed = [entry for entry in every if {*entry[2]} & {*entry[3]["method"]}]
        placed = placed or [entry for entry in every if not entry[3].empty]
        figure, panels = style.panels(
            len(placed), [(measure, (groups or {}).get(name, name)) for measure, name, *_ in placed]
        )
        levels = {}
        for panel, (_, dataset, chosen, part) in zip(panels, placed, strict=True):
            _draw_curves(panel, part, {m: look for m, look in styles.items() if m in chosen})
            levels[panel] = _draw_levels(panel, part, looks, titles)
            lacking = [titles[method] for method in chosen if method not in set(part["method"])]
            panel.set_xlabel(f"{panel.get_xlabel()}\n{style.name_missing(lacking)}".rstrip())
            _finish(panel, part, datasets[dataset])
        _label_axes(panels, [(measure, part) for measure, *_, part in placed])
        names = {
            method: _write_name(
                titles[method], calibrations[method], first["delta"][method], kind[method]
            )
            for method in curves
            if any(method in set(part["method"]) for *_, chosen, part in placed if method in chosen)
        }
        at_ends = len(placed) == 1 and len(names) <= MOST_NAMED
        of_legend = {} if at_ends else names
        handles = [style.key_line(name, **styles[m].line()) for m, name in of_legend.items()]
        if any(line.get_marker() == "x" for panel in panels for line in panel.get_lines()):
            handles.append(style.key_line("missing", color="0.3", marker="x", linestyle="none"))
        if any(title.endswith(MARK) for title in datasets.values()):
            handles.append(style.key_line(MARK_NOTE, linestyle="none"))
        shown = {entry[:2] for entry in placed}
        gone = dict.fromkeys(entry[:2] for entry in every if entry[:2] not in shown)
        notes = [*notes, *(f"{datasets[name]}: no {metric_name(one)}" for one, name in gone)]
        handles += [style.key_line(note, linestyle="none") for note in notes]
        style.legend_below(figure, handles)
        lines = {line.get_label(): line for line in panels[0].get_lines()}
        ends = {lines[method]: name for method, name in names.items() if at_ends}
        labels = label_ends(panels[0], ends)
        figure.draw_without_rendering()
        # Without a layout engine, the layout stays while labels are placed.
        figure.set_layout_engine("none")
        move_apart(labels, figure.dpi / 72)
        for panel, level_lines in levels.items():
            label_lines(panel, level_lines)
    return figure


def _select_rows(frame: pd.DataFrame, dataset: str, measure: str) -> pd.DataFrame:
    """Return the rows of a dataset by ε, with new columns `score` and `score_std` for a measure.

    Rows of learners that lack the measure are dropped. Rows of failed trainings (without an
    accuracy) stay, as they are drawn as missing.
    """
    part = frame[frame["dataset"] == dataset].sort_values("epsilon")
    part = part[part[measure].notna() | part[ACCURACY].isna()]
    return part.assign(score=part[measure], score_std=part[f"{measure}_std"])


def _choose_level_looks(
    methods: Sequence[str], styles: Mapping[str, style.CurveStyle], endless: Collection[str]
) -> dict[str, dict[str, Any]]:
    """Return the line styles of methods that have a score at ε = ∞, drawn as horizontal lines.

    `endless` are the methods with a row at ε = ∞, and `styles` are the styles of curves of private
    methods. If a learner has several private methods, only the first gets a line: without noise
    these methods are the same.
    """
    limits = {method_of(method): method for method in reversed(list(styles)) if method in endless}
    dashes = style.baseline_dashes(method for method in methods if method not in styles)
    return {
        method: {
            "color": styles[method].colour,
            "linestyle": (0, (2.2, 1, 0.8, 1)),
            "marker": styles[method].marker,
            "markersize": 2.2,
        }
        for method in limits.values()
    } | {
        method: {"color": style.BASELINE_COLOUR, "linestyle": (0, d)}
        for method, d in dashes.items()
    }


def _draw_levels(
    panel: Axes,
    part: pd.DataFrame,
    looks: Mapping[str, Mapping[str, Any]],
    titles: Mapping[str, str],
) -> list[tuple[Line2D, str]]:
    """Draw the scores at ε = ∞ as horizontal lines; return each line with its name."""
    lines, missing = [], []
    at_infinity = part[np.isinf(part["epsilon"])].set_index("method")["score"]
    for method, look in looks.items():
        if method not in at_infinity:
            continue
        private = look["color"] != style.BASELINE_COLOUR
        name = f"{titles[method]}, no noise" if private else titles[method]
        if pd.isna(at_infinity[method]):
            missing.append(name)
            continue
        label = f"_limit {method}" if private else method
        height = float(at_infinity[method])
        lines.append((panel.axhline(height, **look, linewidth=0.9, zorder=1.8, label=label), name))
    panel.set_xlabel("Privacy budget ε" + (f"\nmissing: {', '.join(missing)}" if missing else ""))
    return lines


def _write_name(title: str, calibration: str | None, delta: float, kind: str) -> str:
    """Return a curve's name in the legend: title, calibration, δ and kind (:mod:`.kinds`)."""
    parts = [] if calibration is None or calibration in title else [calibration]
    if delta > 0:
        parts.append(f"δ = {power(delta)}")
    if kind != kinds.RULE:
        parts.append(kind)
    return f"{title} ({', '.join(parts)})" if parts else title


def _draw_curves(panel: Axes, part: pd.DataFrame, styles: Mapping[str, style.CurveStyle]) -> None:
    height = 0.03
    for order, (method, curve) in enumerate(styles.items()):
        rows = part[(part["method"] == method) & np.isfinite(part["epsilon"])]
        if rows.empty:
            continue
        names = ["epsilon", "score", "score_std"]
        epsilon, mean, std = rows[names].to_numpy(dtype=float).T
        look: Any = {"color": curve.colour, "alpha": 0.16, "linewidth": 0}
        panel.fill_between(epsilon, mean - std, mean + std, zorder=1.5, **look)
        # Thin curves are drawn above thick curves, which would hide them.
        level = 3 + curve.thin - 0.01 * order
        panel.plot(epsilon, mean, label=method, zorder=level, **curve.line())
        missing = epsilon[np.isnan(mean)]
        if not len(missing):
            continue
        cross: Any = {"color": curve.colour, "marker": "x", "linestyle": "none", "zorder": 4}
        cross |= {"transform": panel.get_xaxis_transform(), "label": f"_missing {method}"}
        panel.plot(missing, np.full(len(missing), height), **cross)
        height += 0.05


def _finish(panel: Axes, part: pd.DataFrame, title: str) -> None:
    panel.set_title(textwrap.fill(title, style.TITLE))
    epsilons = sorted(set(part.loc[np.isfinite(part["epsilon"]), "epsilon"])) or [1.0]
    panel.set_xscale("log")
    pad = (epsilons[-1] / epsilons[0]) ** 0.05 if len(epsilons) > 1 else 2.0
    panel.set_xlim(epsilons[0] / pad, epsilons[-1] * pad)
    panel.xaxis.set_major_locator(ticker.FixedLocator(_choose_ticks(epsilons)))
    style.write_ticks(panel.xaxis)
    panel.xaxis.set_minor_locator(ticker.FixedLocator(epsilons))
    panel.xaxis.set_minor_formatter(ticker.NullFormatter())
    panel.margins(y=0.13)
    panel.yaxis.set_major_locator(ticker.MaxNLocator(6, steps=[1, 2, 2.5, 5, 10]))


def _choose_ticks(epsilons: Sequence[float]) -> list[float]:
    """Choose the ε to label: the smallest, the largest, then round numbers that have room."""

    def rank(epsilon: float) -> int:
        digits = f"{epsilon:.12e}".partition("e")[0].rstrip("0").rstrip(".")
        return NICE_DIGITS.index(digits) if digits in NICE_DIGITS else len(NICE_DIGITS)

    return style.choose_labels(sorted(epsilons, key=rank), 0.1, logarithmic=True)


def _label_axes(panels: Sequence[Axes], shown: Sequence[tuple[str, pd.DataFrame]]) -> None:
    before = None
    for i, (panel, (measure, part)) in enumerate(zip(panels, shown, strict=True)):
        scored, name = part["scored_on"].dropna().unique(), metric_name(measure)
        words = ["less is better"] * (measure in LOSSES) + [SCORED_ON[part] for part in scored[:1]]
        label = name[0].upper() + name[1:] + (f" ({', '.join(words)})" if words else "")
        if label != before or i % style.panel_columns(len(panels)) == 0:
            panel.set_ylabel(label)
        before = label
