"""Draw a score against anything that varies in a study, with lines in several panels."""

from __future__ import annotations

import difflib
import math
import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from privcurve.analysis import sweep
from privcurve.analysis.keys import NONE, method_of
from privcurve.experiments import results
from privcurve.experiments.study import ALL, Method, StudyError
from privcurve.figures import style
from privcurve.lazy import Axes, Figure, pd, sns, ticker
from privcurve.outputs.base import Context, Option, Output, OutputRequest, Reads, dataset_title
from privcurve.schema import suggestion

LOG = "log"
SCALES = ("linear", LOG, "categories")
COMPARED = ("all", "dataset", "none")
NAMES = {"epsilon": "ε", "delta": "δ", "n_kept": "rounds"}
# Columns that identify a training, together with its parameters and its share of the records.
TELLING = (
    "entry", "calibration", "delta", "epsilon", "dataset", "neighbours",
    "method", "learner", "setting", "fold", "repeat",
)  # fmt: skip
# Columns of runs that are not scores. SCORES are the scores that every training has. A learner can
# have further measures, whose names are known only after training.
NO_SCORES = {*TELLING, "id", "status", "error", "version", "measures"}
SCORES = tuple(name for name in results.SCHEMA.names if name not in NO_SCORES)
# If `y` is not a score but at least this similar to one (difflib's ratio), it is refused as a
# misspelling; a less similar name may be a measure of a learner.
NEAR = 0.85


class Sweep(Output):
    """Figure: scores of fresh trainings against a parameter, a share of the records, or ε."""

    word: ClassVar[str] = "sweep"
    writes: ClassVar = ("figure",)
    version: ClassVar[int] = 10
    selects: ClassVar[bool] = False
    options: ClassVar = {
        "x": Option("a parameter that differs between methods, or epsilon", str),
        "y": Option("a score of a training, or another measure of its learner", str, "accuracy"),
        "lines": Option(
            "one or more of entry (a name under the study's learners), calibration, delta, "
            "epsilon, dataset or parameters, as a list",
            list,
            ("entry", "calibration", "delta"),
        ),
        "panels": Option("as lines", list, ("dataset",)),
        "at": Option(
            "values of the other varying parameters, such as {epsilon: 1}; null selects "
            "methods without the parameter",
            dict,
            {},
        ),
        "learners": Option("a list of entries of the study's learners; by default all", list, None),
        "levels": Option(
            "a list of entries of learners without the parameter: they are horizontal lines",
            list,
            (),
        ),
        "scale": Option(
            f"scale of the x axis: {', '.join(SCALES)}; on a log axis of epsilon, inf is a "
            "horizontal line",
            str,
            "linear",
        ),
        "compare": Option(
            "panels that share their y axis: all, those of a dataset, or none; one of "
            f"{', '.join(COMPARED)}",
            str,
            COMPARED[0],
        ),
    }

    def check(self, request: OutputRequest) -> None:
        levels = request.options.get("levels", ())
        for learner in (*(request.options["learners"] or ()), *levels):
            request.methods_of(learner)
        for option, words in (("scale", SCALES), ("compare", COMPARED)):
            if request.options.get(option, words[0]) not in words:
                raise ValueError(
                    f"{option} must be one of {', '.join(words)}; got {request.options[option]!r}"
                )
        x = request.options["x"]
        all_methods = request.wanted_methods(*levels)
        methods = [method for method in all_methods if method_of(method.base) not in levels]
        names = {name for method in methods for name in (*method.varied, *method.settings[0])}
        names -= {*TELLING}  # names in TELLING are columns of runs, not parameters
        if x != "epsilon" and x not in names:
            hint = suggestion(x, names)
            raise ValueError(
                f"x must be a parameter under 'vary' or 'fixed' of a learner; got {x!r}{hint}"
            )
        for method in methods:
            values = {str(setting.get(x)) for setting in method.settings}
            if len(values) > 1 and request.study.select != ALL:
                raise ValueError(f"{method.name} selects its {x} from a grid; put it under 'vary'")
        telling = [*TELLING]
        for method in all_methods:
            telling += (*method.varied, *method.settings[0])
        y = request.options["y"]
        near = difflib.get_close_matches(y.casefold(), SCORES, n=1, cutoff=NEAR)
        if near and y not in (*SCORES, *telling):
            raise ValueError(
                f"y must be a score or measure of a training; got {y!r}; did you mean {near[0]!r}?"
            )
        for option in ("lines", "panels", "at"):
            for name in request.options[option]:
                if name not in telling:
                    raise ValueError(
                        f"{option}: must be one of {', '.join(TELLING[:5])}, or a parameter "
                        "under 'vary' or 'fixed' of a learner; got "
                        f"{name!r}{suggestion(name, telling)}"
                    )
        at = request.options["at"]
        for name, wanted in at.items():
            for one in wanted if isinstance(wanted, list) else [wanted]:
                had = [_may_have(method, name, one) for method in methods]
                if not any(had) or (name == "dataset" and one not in request.study.datasets):
                    raise ValueError(f"at: {name}: must be a value of a curve; got {one!r}")
        if not any(all(_may_have(method, name, at[name]) for name in at) for method in methods):
            raise ValueError(f"at: one curve must have all the values; got {dict(at)}")
        self._check_points(request, methods)

    def _check_points(self, request: OutputRequest, methods: Sequence[Method]) -> None:
        """Raise ValueError if a point of a curve would average over different settings or methods.

        `methods` are the methods with curves.
        """
        options, points = request.options, dict[tuple[str, ...], dict[str, Any]]()
        keys = (*options["panels"], *options["lines"], options["x"])
        for place in request.places(methods):
            at = (sweep.is_one_of(place.get(name), one) for name, one in options["at"].items())
            if place.get(options["x"]) is None or not all(at):
                continue
            other = points.setdefault(tuple(str(place.get(key)) for key in keys), place)
            if other is not place:
                differ = {name for name in place if place[name] != other.get(name, place[name])}
                raise ValueError(
                    sweep.explain_several(sorted(differ - {"method", "setting"}) or ["method"])
                )

    def reads(self, request: OutputRequest) -> Reads:
        methods = request.wanted_methods(*request.options.get("levels", ()))
        facts = [[[method.name, method.title] for method in methods], request.dataset_titles()]
        return Reads(request.curves_of(methods), facts=facts)

    def make(self, context: Context) -> None:
        options, methods = context.options, context.methods()
        lines, panels = tuple(options["lines"]), tuple(options["panels"])
        axes = sweep.Axes(options["x"], options["y"], lines, panels)
        runs = context.runs()
        flat = [methods[name]["entry"] in options.get("levels", ()) for name in runs["method"]]
        levels = runs[flat]
        try:
            frame = sweep.trainings(runs.drop(levels.index), methods, axes, options["at"])
        except ValueError as error:
            where = f"{context.study.name}: {context.request.key}"
            raise StudyError(f"{where}: {error}") from None
        frame = _add_names(frame, axes, context)
        parts = [(frame, axes)]
        if options.get("scale") == LOG and axes.x == "epsilon":
            # ε = ∞ has no position on a logarithmic axis, so that the method's score at ε = ∞ is a
            # horizontal line.
            endless = frame["epsilon"].map(math.isinf)
            if 0 < endless.sum() < len(endless):
                parts = [(part.reset_index(drop=True), axes) for _, part in frame.groupby(endless)]
        if len(levels):
            parts.append(_add_levels(levels, methods, axes, frame, context))
        label = NAMES.get(axes.x, axes.x.replace("_", " "))
        context.draw(*self._draw_all(parts, label, options))

    def _draw_all(
        self, parts: list[tuple[pd.DataFrame, sweep.Axes]], label: str, options: Mapping[str, Any]
    ) -> tuple[Figure, pd.DataFrame]:
        """Return the figure and the table of its points.

        `parts` are pairs of trainings and their axes. The first pair is for the curves, any other
        pair for horizontal lines. `label` names the x axis.
        """
        (frame, axes), *flat = parts
        levels = pd.concat([part for part, _ in flat], ignore_index=True) if flat else None
        figure = draw(frame, axes.x, axes.y, label, options["scale"], levels)
        # A score that does not depend on x is drawn as a horizontal line in several panels, but is
        # one point of the table. Its trainings occur once for each panel: duplicates are dropped.
        points = [
            sweep.points(part.drop(columns=["panel", "group"]).drop_duplicates(), its)
            for part, its in parts
        ]
        return figure, pd.concat(points, ignore_index=True)


def _may_have(method: Method, name: str, wanted: object) -> bool:
    """Return whether a training of `method` can have the value `wanted` in the column `name`.

    The result is also True if the values in the column are known only after training.
    """
    own: dict[str, Sequence[Any]] = {"delta": (method.delta,), "epsilon": method.epsilons}
    own |= {"entry": (method_of(method.base),), "calibration": (method.calibration,)}
    own |= {"method": (method.name,)}
    if name in TELLING and name not in own:
        return True
    settings = [{**setting, **method.varied}.get(name) for setting in method.settings]
    return any(sweep.is_one_of(value, wanted) for value in own.get(name, settings))


def _add_names(frame: pd.DataFrame, axes: sweep.Axes, context: Context) -> pd.DataFrame:
    """Return the trainings with three more columns, the names of `line`, `panel` and `group`.

    Panels of the same group share their y axis.
    """
    panels = _names(frame, axes.panels, frame, context)
    compared = context.options.get("compare", COMPARED[0])
    groups = {"none": panels, "dataset": frame.get("dataset")}.get(compared)
    names = _names(frame, axes.lines, frame, context)
    # If a method has none of the columns `axes.lines`, its line has the name of the method's entry.
    methods = _names(frame, ("entry",), frame, context)
    lines = [name or method for name, method in zip(names, methods, strict=True)]
    return frame.assign(line=lines, panel=panels, group=compared if groups is None else groups)


def _add_levels(
    runs: pd.DataFrame,
    methods: Mapping[str, Mapping[str, object]],
    axes: sweep.Axes,
    frame: pd.DataFrame,
    context: Context,
) -> tuple[pd.DataFrame, sweep.Axes]:
    """Return the trainings of learners without the parameter x, and the axes for their lines.

    The means of these trainings are drawn as horizontal lines. A training is repeated for each
    panel of its dataset.
    """
    telling = ("entry", *(key for key in axes.lines if key != "entry"))
    shared = tuple(key for key in axes.panels if key == "dataset")
    own = sweep.Axes(axes.x, axes.y, telling, shared).without_x()
    levels, own = sweep.levels(runs, methods, own, context.options["at"])
    # The name of a horizontal line omits ε = ∞, as the dotted style already means "no noise".
    named_levels = levels.replace({"epsilon": math.inf}, NONE) if "epsilon" in own.lines else levels
    lines = _names(named_levels, own.lines, frame, context)
    panels = frame[[*shared, "panel", "group"]].drop_duplicates()
    named = levels.assign(line=lines).merge(panels, how="inner" if shared else "cross")
    return named, own


def _names(
    frame: pd.DataFrame, keys: tuple[str, ...], every: pd.DataFrame, context: Context
) -> list[str]:
    """Return, for each row of `frame`, the name of its line or panel.

    The name consists of the row's values in the columns `keys`. It omits columns that are constant
    in the frame `every`, except the entry and the dataset.
    """
    titles = {method_of(curve.method.base): curve.method.base_title for curve in context.curves}
    telling = [key for key in keys if every[key].nunique() > 1 or key in ("entry", "dataset")]
    # `to_numpy` gives an empty list for each row even if the frame has no columns.
    rows = [tuple(row) for row in frame[telling].to_numpy(object).tolist()]
    names = {
        # Columns for which the method has no value are omitted.
        row: ", ".join(
            _name(key, value, titles)
            for key, value in zip(telling, row, strict=True)
            if key == "entry" or value != NONE
        )
        for row in dict.fromkeys(rows)
    }
    # If different rows get the same name, all their values in `telling` are added to the name.
    counts = Counter(names.values())
    own = {row: ", ".join(map(str, row)) for row in names}
    names = {
        row: f"{name} ({own[row]})" if counts[name] > 1 else name for row, name in names.items()
    }
    return [names[row] for row in rows]


def _name(key: str, value: Any, titles: Mapping[str, str]) -> str:
    if key == "entry":
        return titles[value]
    if key == "dataset":
        return dataset_title(value)
    if key == "calibration":
        return str(value)
    text = f"{value:g}" if isinstance(value, (int, float)) else str(value)
    return f"{NAMES.get(key, key.replace('_', ' '))} = {text}"


CATEGORIES = "categories"
DASHES = (3.2, 1.4)
# Maximum length of a line in a panel's title, in characters.
LONGEST_TITLE = 32
# Width of a character of a tick's label, as a share of the panel's width.
LETTER = 0.026
# Name of the entry of learners that predicts the most frequent label. Its line is grey, as in the
# learning curves, because it is the baseline that a useful classifier must exceed.
MAJORITY = "majority"
SCORE_NAMES = {"n_nodes": "number of nodes"}
ENDLESS = "the same without noise"
# Style of horizontal lines. Both ends of a line have the marker of its method.
LEVEL: Any = {"linestyle": (0, (1, 1)), "linewidth": 1.0, "markersize": 3}
# Horizontal lines at the same height are drawn as one line, whose dashes have the colours of the
# lines in turn. TURN is the length of a dash in points.
TURN = 4.0


def draw(
    frame: pd.DataFrame,
    x: str,
    y: str,
    label: str,
    scale: str = "linear",
    levels: pd.DataFrame | None = None,
) -> Figure:
    """Draw means over trainings against `x`, with a band of one standard deviation.

    `frame` has a row per training and the columns `line`, `panel` and optionally `group`: panels of
    the same group share their y axis. `levels` are trainings whose means are horizontal lines.
    `label` names the x axis.
    """
    style.check_not_empty(frame)
    groups = dict(zip(frame["panel"], frame.get("group", [""] * len(frame)), strict=True))
    titles = list(groups)
    levels = frame.iloc[:0] if levels is None else levels
    both = pd.concat([frame, levels])
    # The mean is NaN, and no line is drawn, if one of the line's trainings failed.
    means = levels.groupby(["panel", "line"], sort=False)[y]
    heights = means.agg(lambda values: values.mean(skipna=False)).dropna()
    curve_names = set(frame.loc[frame[y].notna(), "line"])
    flat = set(heights.index.get_level_values("line"))
    lines = [line for line in dict.fromkeys(both["line"]) if line in curve_names | flat]
    looks = looks_of(both)
    frame, places, texts = _place_ticks(frame, x, scale)
    with style.paper():
        figure, panels = style.panels(len(titles), list(groups.values()))
        for panel, title in zip(panels, titles, strict=True):
            part = drop_incomplete_points(frame[frame["panel"] == title], y, ["line", x])
            _draw(panel, part, x, y, looks)
            if title in heights:
                _draw_levels(panel, heights[title], looks)
            panel.set_title(textwrap.fill(title, LONGEST_TITLE))
            level = heights[title].index if title in heights else ()
            mine = {*part.loc[part[y].notna(), "line"], *level}
            every = dict.fromkeys(both.loc[both["panel"] == title, "line"])
            missing = [line for line in every if line not in mine]
            panel.set_xlabel(f"{label}\n{style.name_missing(missing)}".rstrip())
            panel.set_ylabel("")
            _ticks(panel, places, texts, scale)
        for panel in panels[:: style.panel_columns(len(panels))]:
            panel.set_ylabel(SCORE_NAMES.get(y, y.replace("_", " ")).capitalize())
        if len(lines) > 1:
            handles = [_handle(line, looks[line], line not in curve_names) for line in lines]
            colours = [looks[line].colour for line in lines if line in flat & curve_names]
            if colours:
                dotted = (style.key_line(ENDLESS, color=colour, **LEVEL) for colour in colours)
                handles.append(tuple(dotted))
            style.legend_below(figure, handles)
    return figure


def _place_ticks(
    frame: pd.DataFrame, x: str, scale: str
) -> tuple[pd.DataFrame, list[float], list[str]]:
    """Return the frame with x as numbers, the positions of the ticks, and their labels."""
    values = list(dict.fromkeys(frame[x]))
    numeric = all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in values)
    if scale == CATEGORIES or not numeric or not all(map(math.isfinite, values)):
        order = sorted(values) if numeric else values
        texts = [f"{v:g}" if numeric else str(v) for v in order]
        places = {value: float(i) for i, value in enumerate(order)}
        return frame.assign(**{x: frame[x].map(places)}), list(places.values()), texts
    if scale == LOG and min(values) <= 0:
        raise ValueError(f"{x} must be > 0 on a log axis; got {min(values):g}")
    ordered = sorted(map(float, values))
    return frame, ordered, [f"{v:.3g}" if v < 1 else f"{v:g}" for v in ordered]


def _draw(
    panel: Axes, frame: pd.DataFrame, x: str, y: str, looks: Mapping[str, style.CurveStyle]
) -> None:
    sns.lineplot(
        frame,
        x=x,
        y=y,
        hue="line",
        style="line",
        palette={line: look.colour for line, look in looks.items()},
        markers={line: look.marker for line, look in looks.items()},
        dashes={line: "" if look.filled else DASHES for line, look in looks.items()},
        errorbar="sd",
        err_kws={"alpha": 0.16, "linewidth": 0},
        markeredgewidth=0,
        markersize=4,
        legend=False,
        ax=panel,
    )


def drop_incomplete_points(frame: pd.DataFrame, y: str, keys: list[str]) -> pd.DataFrame:
    """Return the trainings; if one training of a point failed, `y` is NaN for the entire point.

    A point is a combination of values of the columns `keys`.
    """
    failed = frame[y].isna().groupby([frame[key] for key in keys]).transform("any")
    return frame.assign(**{y: frame[y].where(~failed)})


def _draw_levels(panel: Axes, heights: pd.Series, looks: Mapping[str, style.CurveStyle]) -> None:
    for height, part in heights.groupby(heights.round(3)):
        for place, line in enumerate(part.index):
            look = {**LEVEL, "color": looks[line].colour, "marker": looks[line].marker}
            if len(part) > 1:
                look["linestyle"] = (TURN * place, (TURN, TURN * (len(part) - 1)))
            panel.axhline(height if len(part) > 1 else part.iloc[0], **look)


def looks_of(frame: pd.DataFrame) -> dict[str, style.CurveStyle]:
    """Return the style of each line; lines of the same entry differ in colour or marker."""
    lines = frame.drop_duplicates("line").set_index("line")[["entry", "calibration"]]
    dashed = {line: way == "published" for line, way in lines["calibration"].items()}
    entries = dict(lines["entry"])
    looks = style.curve_looks({line: (entries[line], dashed[line]) for line in entries})
    return {
        line: style.CurveStyle(
            style.BASELINE_COLOUR if entries[line] == MAJORITY else colour,
            marker,
            (0, DASHES) if dashed[line] else "-",
            not dashed[line],
        )
        for line, (colour, marker) in looks.items()
    }


def _handle(line: str, look: style.CurveStyle, level: bool) -> Any:
    if level:
        return style.key_line(line, color=look.colour, marker=look.marker, **LEVEL)
    own = {"markerfacecolor": look.colour, "markeredgewidth": 0, "markersize": 4}
    return style.key_line(line, **look.line() | own)


def _ticks(panel: Axes, places: Sequence[float], texts: Sequence[str], scale: str) -> None:
    if scale == LOG:
        panel.set_xscale("log")
    names: dict[float, Any] = dict(zip(places, texts, strict=True))
    room = max(0.07, LETTER * max(map(len, texts)))
    labelled = style.choose_labels(places, room, scale == LOG)
    panel.xaxis.set_major_locator(ticker.FixedLocator(labelled))
    panel.xaxis.set_major_formatter(ticker.FuncFormatter(lambda value, _: names.get(value, "")))
    panel.xaxis.set_minor_locator(ticker.NullLocator())
