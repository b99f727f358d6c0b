"""Learning curves: fresh accuracy against ε, one panel a dataset."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from privcurve.analysis import kinds
from privcurve.analysis.names import method_of
from privcurve.experiments.study import Study
from privcurve.figures import style
from privcurve.figures.labels import label_lines
from privcurve.lazy import pd, ticker
from privcurve.outputs.base import (
    FIGURES,
    Asked,
    Files,
    Output,
    Reads,
    dataset_title,
    set_the_rule,
    source,
)
from privcurve.outputs.context import Context

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D


class LearningCurves(Output):
    """Figure: a curve an arm; methods without privacy are horizontal lines."""

    word: ClassVar[str] = "learning_curves"
    version: ClassVar[int] = 3
    selects: ClassVar[bool] = False

    def files(self, asked: Asked) -> Files:
        # Its place is older than the options: the study's `figure`.
        return Files(figures=(FIGURES / (asked.options["name"] or asked.study.figure),))

    def reads(self, asked: Asked) -> Reads:
        titles = [[arm.name, arm.title] for arm in asked.study.arms.values()]
        named = [[name, dataset_title(name), source(name)] for name in asked.study.datasets]
        return Reads(outputs=("accuracy",), facts=[titles, named, asked.study.metric])

    def make(self, context: Context) -> None:

        study = context.study
        frame = context.table_of("accuracy")
        figure = draw(
            frame,
            titles={arm.name: arm.title for arm in study.arms.values()},
            datasets={name: panel_title(study, name) for name in study.datasets},
            groups={name: source(name) for name in study.datasets},
            metric=study.metric,
        )
        context.draw(figure, frame)


def panel_title(study: Study, name: str) -> str:
    """Return the title of a dataset's panel: it says where a rule is not apart from the records."""
    seen = name in set_the_rule(study)
    return dataset_title(name) + (" (set PrivGAM's constants)" if seen else "")


COLUMNS = ("dataset", "arm", "calibration", "delta", "epsilon", "kind", "scored_on")
METRICS = {
    "accuracy": "Accuracy",
    "balanced_accuracy": "Balanced accuracy",
    "auc": "AUC",
    "log_loss": "Log loss",
}
SCORED_ON = {"test": "test set", "folds": "fresh folds"}
ENVELOPE: dict[str, Any] = {"color": "0.82", "linewidth": 4.2, "solid_capstyle": "round"}
ENVELOPE_NAME = "best certified by rule or paid, δ = 0"

# How long a line of a panel's title may be, in letters.
TITLE = 30

# Leading digits of ε in the order in which they are labelled while there is room.
NICE_DIGITS = ("1", "5", "2", "3")


def draw(
    accuracy: pd.DataFrame,
    titles: Mapping[str, str],
    datasets: Mapping[str, str],
    groups: Mapping[str, str] | None = None,
    metric: str = "accuracy",
) -> Figure:
    """Draw accuracy against ε with a band of one standard deviation over repeats.

    A curve joins an arm's finite ε. An arm at ε = ∞ is a horizontal line with its name on it:
    grey if it is there alone, of the curve's colour if it is a private learner's own limit.
    A missing accuracy is a gap in the curve and a cross on the ε axis; a
    missing horizontal line is named below its panel. What is selected without paying for it is thin
    and dashed, and named so; where two certified curves or more are by rule (or paid) with δ = 0,
    the best of them at each ε is underlaid with grey.
    """
    frame = _checked(accuracy, titles, datasets, metric)
    frame = frame.assign(score=frame[metric], score_std=frame[f"{metric}_std"])
    finite = frame[np.isfinite(frame["epsilon"])]
    curves = [arm for arm in titles if arm in set(finite["arm"])]
    baselines = [arm for arm in titles if arm in set(frame["arm"]) and arm not in curves]
    facts = frame.drop_duplicates("arm").set_index("arm")
    calibrations = {
        str(arm): None if pd.isna(value) else str(value)
        for arm, value in facts["calibration"].items()
    }
    deltas = {str(arm): float(value) for arm, value in facts["delta"].items()}
    chosen = dict(zip(finite["arm"], finite["kind"], strict=True))
    unpaid = [arm for arm in curves if chosen[arm] == kinds.UNPAID]
    styles = style.curve_styles(curves, calibrations, deltas, unpaid)
    names = {arm: _name(titles[arm], calibrations[arm], deltas[arm], chosen[arm]) for arm in curves}
    best = kinds.envelope(finite, metric)

    limits = [arm for arm in curves if arm in set(frame.loc[np.isinf(frame["epsilon"]), "arm"])]
    looks = _limit_looks(limits, styles) | _baseline_looks(baselines)

    with style.paper():
        figure, panels = style.panels(
            len(datasets), None if groups is None else [groups[name] for name in datasets]
        )
        lines = {}
        for panel, dataset in zip(panels, datasets, strict=True):
            part = frame[frame["dataset"] == dataset].sort_values("epsilon")
            _draw_curves(panel, part, styles)
            mine = best[best["dataset"] == dataset]
            panel.plot(mine["epsilon"], mine["score"], label="_envelope", zorder=1.4, **ENVELOPE)
            lines[panel] = _draw_limits(panel, part, looks, titles)
            _finish(panel, part, datasets[dataset])
        _label_axes(panels, frame, list(datasets), METRICS.get(metric, metric))
        handles = [style.key_line(names[arm], **styles[arm].line()) for arm in curves]
        if len(best):
            handles.append(style.key_line(ENVELOPE_NAME, **ENVELOPE))
        if finite["score"].isna().any():
            look = {"color": "0.3", "marker": "x", "linestyle": "none"}
            handles.append(style.key_line("missing", **look))
        style.legend_below(figure, handles)
        figure.draw_without_rendering()
        figure.set_layout_engine("none")  # labels are placed by the layout as it now stands
        for panel, named in lines.items():
            label_lines(panel, named)
    return figure


def _checked(
    accuracy: pd.DataFrame, titles: Mapping[str, str], datasets: Mapping[str, str], metric: str
) -> pd.DataFrame:
    needed = [*COLUMNS, metric, f"{metric}_std"]
    absent = [name for name in needed if name not in accuracy]
    if absent:
        raise ValueError(f"the table of accuracy has no column {absent[0]!r}")
    frame = accuracy[accuracy["arm"].isin(list(titles)) & accuracy["dataset"].isin(list(datasets))]
    empty = [name for name in datasets if name not in set(frame["dataset"])]
    if empty or not datasets:
        raise ValueError(f"nothing to draw for the datasets {empty}")
    twice = frame.duplicated(["dataset", "arm", "epsilon"])
    if twice.any():
        row = frame[twice].iloc[0]
        raise ValueError(
            f"two rows for {row['dataset']}, {row['arm']}, ε = {row['epsilon']:g} "
            "in the table of accuracy"
        )
    return frame


def _name(title: str, calibration: str | None, delta: float, kind: str) -> str:
    """Return the name in the legend: how the noise was calibrated, and what settings have cost."""
    parts = [] if calibration is None or calibration in title else [calibration]
    if delta > 0:
        parts.append(f"δ = {delta:g}")
    if kind != kinds.RULE:
        parts.append(kind)
    return f"{title} ({', '.join(parts)})" if parts else title


def _draw_curves(panel: Axes, part: pd.DataFrame, styles: Mapping[str, style.CurveStyle]) -> None:
    n_crossed = 0
    for order, (arm, curve) in enumerate(styles.items()):
        rows = part[(part["arm"] == arm) & np.isfinite(part["epsilon"])]
        if rows.empty:
            continue
        epsilon, mean, std = (
            rows[name].to_numpy(dtype=float) for name in ("epsilon", "score", "score_std")
        )
        panel.fill_between(
            epsilon, mean - std, mean + std, color=curve.colour, alpha=0.16, linewidth=0, zorder=1.5
        )
        # What is thin would be hidden below what is not.
        level = 3 + curve.thin - 0.01 * order
        panel.plot(epsilon, mean, label=arm, zorder=level, **curve.line())
        missing = epsilon[np.isnan(mean)]
        panel.plot(
            missing,
            np.full(len(missing), 0.03 + 0.05 * n_crossed),
            transform=panel.get_xaxis_transform(),
            color=curve.colour,
            marker="x",
            linestyle="none",
            zorder=4,
            label=f"_missing {arm}",
        )
        n_crossed += bool(len(missing))


def _baseline_looks(arms: Sequence[str]) -> dict[str, dict[str, Any]]:
    dashes = style.baseline_dashes(arms)
    return {arm: {"color": style.BASELINE_COLOUR, "linestyle": (0, dashes[arm])} for arm in arms}


def _limit_looks(
    arms: Sequence[str], styles: Mapping[str, style.CurveStyle]
) -> dict[str, dict[str, Any]]:
    """Return the looks of private learners without noise; the calibrations of one share theirs."""
    first = {method_of(arm): arm for arm in reversed(arms)}
    return {
        arm: {"color": styles[arm].colour, "linestyle": (0, (2.2, 1, 0.8, 1))}
        for arm in first.values()
    }


def _draw_limits(
    panel: Axes,
    part: pd.DataFrame,
    looks: Mapping[str, Mapping[str, Any]],
    titles: Mapping[str, str],
) -> list[tuple[Line2D, str]]:
    """Draw the horizontal lines: accuracies at ε = ∞."""
    lines = []
    missing = []
    for arm, look in looks.items():
        values = part.loc[(part["arm"] == arm) & np.isinf(part["epsilon"]), "score"]
        if values.empty:
            continue
        private = look["color"] != style.BASELINE_COLOUR
        name = f"{titles[arm]}, no noise" if private else titles[arm]
        if pd.isna(values.iloc[0]):
            missing.append(name)
            continue
        line = panel.axhline(
            float(values.iloc[0]),
            **look,
            linewidth=0.9,
            zorder=1.8,
            label=f"_limit {arm}" if private else arm,
        )
        lines.append((line, name))
    panel.set_xlabel("Privacy budget ε" + (f"\nmissing: {', '.join(missing)}" if missing else ""))
    return lines


def _finish(panel: Axes, part: pd.DataFrame, title: str) -> None:
    panel.set_title(textwrap.fill(title, TITLE))
    epsilons = sorted(set(part.loc[np.isfinite(part["epsilon"]), "epsilon"])) or [1.0]
    panel.set_xscale("log")
    pad = (epsilons[-1] / epsilons[0]) ** 0.05 if len(epsilons) > 1 else 2.0
    panel.set_xlim(epsilons[0] / pad, epsilons[-1] * pad)
    panel.xaxis.set_major_locator(ticker.FixedLocator(_ticks(epsilons)))
    panel.xaxis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:g}"))
    panel.xaxis.set_minor_locator(ticker.FixedLocator(epsilons))
    panel.xaxis.set_minor_formatter(ticker.NullFormatter())
    panel.margins(y=0.13)
    panel.yaxis.set_major_locator(ticker.MaxNLocator(6, steps=[1, 2, 2.5, 5, 10]))


def _ticks(epsilons: Sequence[float]) -> list[float]:
    """Choose the ε to label: the outermost, then round ones, none too near another."""
    low, high = epsilons[0], epsilons[-1]
    room = 0.1 * math.log(high / low) if high > low else 0.0

    def rank(epsilon: float) -> int:
        digits = f"{epsilon:.12e}".partition("e")[0].rstrip("0").rstrip(".")
        return NICE_DIGITS.index(digits) if digits in NICE_DIGITS else len(NICE_DIGITS)

    ticks: list[float] = []
    for value in [low, high, *sorted(epsilons, key=rank)]:
        if all(abs(math.log(value / tick)) > room for tick in ticks):
            ticks.append(value)
    return sorted(ticks)


def _label_axes(
    panels: Sequence[Axes], frame: pd.DataFrame, datasets: Sequence[str], name: str
) -> None:
    before = None
    for i, (panel, dataset) in enumerate(zip(panels, datasets, strict=True)):
        kinds = frame.loc[frame["dataset"] == dataset, "scored_on"].dropna().unique()
        label = f"{name} ({SCORED_ON[kinds[0]]})" if len(kinds) else name
        if label != before or i % style.PANELS_PER_ROW == 0:
            panel.set_ylabel(label)
        before = label
