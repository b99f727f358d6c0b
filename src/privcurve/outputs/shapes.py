"""One additive model, drawn: a shape function a column with its standard errors, and in words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from privcurve.figures import style
from privcurve.lazy import Axes, Figure, pd, ticker
from privcurve.numerals import in_brackets, power
from privcurve.outputs.base import Context, Option, OutputRequest, about, dataset_title
from privcurve.outputs.one_model import OPTIONS, OneModel, of_part
from privcurve.tables.table import Table

if TYPE_CHECKING:
    from privcurve.experiments.study import Arm


ADDITIVE = ("privgam",)


class Shapes(OneModel):
    """Figure and table of the shape functions of one model.

    Of a learner with several δ the first is shown, or the one that is asked for.
    """

    word: ClassVar[str] = "shapes"
    writes: ClassVar = ("table", "figure")
    version: ClassVar[int] = 4
    options: ClassVar = {
        "learner": Option("an entry of the study's learners: privgam", str),
        **OPTIONS,
        "delta": Option("one of the learner's deltas; by default its first", float, None),
    }

    def check(self, request: OutputRequest) -> None:
        super().check(request)
        arm = self.arm(request)
        if arm.learner not in ADDITIVE:
            kinds = ", ".join(ADDITIVE)
            raise ValueError(f"{arm.name} is not an additive model: shapes are of {kinds}")
        n_classes = about(self.dataset(request)).domain.n_classes
        if n_classes > 2:
            why = f"shapes are of two classes, and {self.dataset(request)} has {n_classes}"
            raise ValueError(f"{why}: a release's card has the values by class")
        if of_part(arm):
            needed = "shapes are of one setting, trained on all records"
            raise ValueError(f"{arm.name} has a grid or a share of the records: {needed}")

    def arm(self, request: OutputRequest) -> Arm:
        delta = request.options["delta"]
        for arm in request.arms_of(request.options["learner"]):
            if delta in (None, arm.delta):
                return arm
        raise ValueError(f"{request.options['learner']} has no delta = {delta:g} in this study")

    def make(self, context: Context) -> None:
        arm, epsilon = self.arm(context.request), context.options["epsilon"]
        data, model = self.trained(context)
        additive, domain = model.learner.model_, model.learner._on_groups(data.domain)[1]
        edges = [column.edges if column.ordered else () for column in domain.columns]
        frame = bins(domain.names, domain.bin_names, edges, additive.shapes, additive.errors)
        n_columns = frame["column"].nunique()
        if additive.pairs:
            told = ((p.columns, p.groups, p.values, p.errors) for p in additive.pairs)
            crossed = pairs(domain.names, domain.bin_names, *zip(*told, strict=True))
            frame = pd.concat([frame, crossed], ignore_index=True)
        ends = ends_of(frame)
        title = f"{dataset_title(data.name)}\n{arm.title}, ε = {epsilon:g}, δ = {power(arm.delta)}"
        if model.unseen is not None:
            title += f", test accuracy {model.accuracy():.3f}"
        notes = notes_of(
            (additive.intercept, additive.intercept_error),
            f"{domain.label.column} {domain.label.positive}",
            [name for name in domain.names if name not in set(ends["column"])],
            str(model.learner.privacy_),
            max(0, n_columns - MOST_PANELS),
        )
        caption = "Shape functions: " + title.replace("\n", "; ")
        context.write(Table(ends, caption, notes, readable(ends)))
        spacings = {column.name: column.spacing for column in domain.columns}
        context.draw(draw(frame, spacings, title, domain.label.positive), frame)


BIN_COLUMNS = ["column", "code", "condition", "low", "high", "value", "error"]
# Of a pair: what stands between two names, and the groups of the two columns.
CROSSED = " × "
GROUPS = ["first", "second"]


def bins(
    names: Sequence[str],
    conditions: Sequence[Sequence[str]],
    edges: Sequence[Sequence[float]],
    values: Sequence[Sequence[float]],
    errors: Sequence[Sequence[float]],
) -> pd.DataFrame:
    """Return the value of each code, columns in the order of how far apart their values are.

    Columns whose values are all 0 are left out.
    """
    spans = [max(shape) - min(shape) for shape in values]
    rows = []
    for j in sorted(range(len(names)), key=lambda j: (-spans[j], j)):
        if not any(values[j]):
            continue
        between = list(zip(edges[j], edges[j][1:], strict=False))
        between += [(float("nan"), float("nan"))] * (len(values[j]) - len(between))
        each = zip(conditions[j], between, values[j], errors[j], strict=True)
        for code, (condition, (low, high), value, error) in enumerate(each):
            rows.append((names[j], code, condition, low, high, value, error))
    return pd.DataFrame(rows, columns=BIN_COLUMNS)


def pairs(
    names: Sequence[str],
    conditions: Sequence[Sequence[str]],
    columns: Sequence[tuple[int, int]],
    groups: Sequence[Sequence[Sequence[int]]],
    values: Sequence[Sequence[Sequence[float]]],
    errors: Sequence[Sequence[Sequence[float]]],
) -> pd.DataFrame:
    """Return the values of pairs of columns, two groups a row; those far apart first."""
    spans = [max(map(max, shape)) - min(map(min, shape)) for shape in values]
    rows = []
    for k in sorted(range(len(columns)), key=lambda k: (-spans[k], k)):
        first, second = (
            _grouped(names[j], conditions[j], of)
            for j, of in zip(columns[k], groups[k], strict=True)
        )
        name, none = CROSSED.join(names[j] for j in columns[k]), float("nan")
        for g, one in enumerate(first):
            for h, other in enumerate(second):
                code, text = g * len(second) + h, f"{one} and {other}"
                rows.append((name, code, text, none, none, values[k][g][h], errors[k][g][h], g, h))
    return pd.DataFrame(rows, columns=[*BIN_COLUMNS, *GROUPS])


def _grouped(name: str, conditions: Sequence[str], groups: Sequence[int]) -> list[str]:
    """Say each group of a column's codes: its condition, or where it begins and ends."""
    texts = []
    for group in range(max(groups) + 1):
        first, *others = (text for text, of in zip(conditions, groups, strict=True) if of == group)
        if others and all("<" in text for text in (first, *others)):
            texts.append(first.partition(name)[0] + name + others[-1].partition(name)[2])
        else:
            texts.append(" or ".join([first, *map(_value, others)]))
    return texts


def _value(condition: str) -> str:
    return condition.partition(" = ")[2] or condition


def ends_of(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the lowest and the highest value of each column of :func:`bins`, and where it is."""
    groups = frame.groupby("column", sort=False)["value"]
    ends = {"column": pd.Series(frame["column"].unique(), dtype=object)}
    for end, places in (("lowest", groups.idxmin()), ("highest", groups.idxmax())):
        rows = frame.loc[places].reset_index(drop=True)
        ends |= {end: rows["value"], f"{end}_error": rows["error"]}
        ends[f"where_{end}"] = rows["condition"]
    return pd.DataFrame(ends)


def readable(ends: pd.DataFrame) -> pd.DataFrame:
    """Return the frame of :func:`ends_of` as a reader sees it: values with their errors."""
    texts = ends[["column"]].copy()
    for end in ("lowest", "highest"):
        pairs = zip(ends[end], ends[f"{end}_error"], strict=True)
        texts[end] = [
            (f"{value:+.2f}" + (f" ± {error:.2f}" if error > 0 else "")).replace("-", "−")
            for value, error in pairs
        ]
        texts[f"where {end}"] = ends[f"where_{end}"]
    return texts


def notes_of(
    intercept: tuple[float, float],
    positive: str,
    unused: Sequence[str],
    statement: str,
    left_out: int,
) -> tuple[str, ...]:
    """Return the notes below the table: how to read it, and the privacy statement."""
    value, error = intercept
    start = f"{value:+.2f}{in_brackets(error)}".replace("-", "−")
    # Of stumps there are none: they are chosen, and not estimated.
    errors = (
        ", with the standard errors that the model itself tells: of the noise, and of the spread "
        "of records. They are approximate."
    )
    return (
        f"The score of a record is {start}, and to that comes a value for each row; above 0 the "
        f"label is {positive}. Of each column, or two together, its lowest and highest value"
        + (errors if error > 0 else "."),
        *([f"Without effect: {', '.join(unused)}."] if unused else []),
        *([f"The figure leaves out the {left_out} flattest columns."] if left_out else []),
        statement,
    )


# A figure has room for so many columns; its CSV has all.
MOST_PANELS = 12
# Categories that have room for a name each; of more, some of the lowest and highest have.
NAMED = 9
ENDS = 3
ROOM = 20
LONGEST_NAME = 16
LONGEST_LABEL = 40
TICKS = 4
COLOUR = style.COLOURS[0]
BAND: Any = {"color": style.COLOURS[4], "alpha": 0.45, "linewidth": 0}
EQUAL, LOG = "equal", "log"


def draw(frame: pd.DataFrame, spacings: dict[str, str], title: str, positive: str) -> Figure:
    """Draw a panel for each column, in the order of the frame, on one scale; then pairs."""
    if frame.empty:
        raise ValueError("a model in which no column has an effect has no shape to draw")
    crossed = frame["first"].notna() if "first" in frame else pd.Series(False, frame.index)
    alone = list(frame[~crossed].groupby("column", sort=False))[:MOST_PANELS]
    pairs = list(frame[crossed].groupby("column", sort=False))
    with style.paper():
        # Pairs have axes of their own.
        scales = [0] * len(alone) + list(range(1, len(pairs) + 1))
        figure, panels = style.panels(len(scales), scales)
        for i, (panel, (name, part)) in enumerate(zip(panels, alone, strict=False)):
            if part["low"].notna().any():
                _numbers(panel, part, spacings[str(name)])
            else:
                _categories(panel, part)
            panel.axhline(0, color="0.2", linewidth=0.6)
            panel.set_title(str(name))
            if i % style.panel_columns(len(panels)) == 0:
                panel.set_ylabel("Value")
        largest = float(frame.loc[crossed, "value"].abs().max())
        for panel, (name, part) in zip(panels[len(alone) :], pairs, strict=True):
            _pair(panel, str(name), part, largest)
        figure.suptitle(title, fontsize=8.5)
        value = f"value; above 0: for {_cut(positive, LONGEST_LABEL)}"
        keys = [style.key_line(value, color=COLOUR)]
        if frame["error"].any():
            keys.append(style.key_patch("± one standard error", **BAND))
        style.legend_below(figure, keys)
    return figure


def _numbers(panel: Axes, part: pd.DataFrame, spacing: str) -> None:
    """Draw a step function between the bounds, and what is missing beside them."""
    within, beyond = part[part["low"].notna()], part[part["low"].isna()]
    edges = np.append(within["low"], within["high"].iloc[-1])
    # The last value reaches to the last edge.
    value, error = (np.append(within[one], within[one].iloc[-1]) for one in ("value", "error"))
    panel.fill_between(edges, value - error, value + error, step="post", **BAND)
    panel.step(edges, value, where="post", color=COLOUR)
    if spacing == EQUAL:
        panel.xaxis.set_major_locator(ticker.AutoLocator())
    else:
        panel.set_xscale("log" if spacing == LOG else "symlog")
        panel.set_xlim(edges[0], edges[-1])
        panel.set_xticks(_decades(float(edges[0]), float(edges[-1])))
    panel.xaxis.set_major_formatter(ticker.FuncFormatter(_short))
    panel.xaxis.set_minor_locator(ticker.NullLocator())
    point: Any = {"fmt": "o", "color": COLOUR, "ecolor": style.COLOURS[4], "clip_on": False}
    text: Any = {"ha": "center", "va": "top", "rotation": 90, "fontsize": 6}
    text |= {"xycoords": "axes fraction", "xytext": (0, -3), "textcoords": "offset points"}
    for middle, spread in beyond[["value", "error"]].to_numpy().tolist():
        axes = panel.get_yaxis_transform()
        panel.errorbar([1.06], [middle], [spread], transform=axes, **point)
        panel.annotate("missing", (1.06, 0), **text)


def _categories(panel: Axes, part: pd.DataFrame) -> None:
    """Draw a point a category, by value."""
    ranked = part.sort_values("value", kind="stable")
    places = np.arange(len(ranked))
    value, error = ranked["value"].to_numpy(), ranked["error"].to_numpy()
    bars = {"color": BAND["color"], "alpha": BAND["alpha"], "linewidth": 3}
    panel.vlines(places, value - error, value + error, **bars)
    panel.plot(places, value, linestyle="", marker="o", color=COLOUR)
    names = [_name(text) for text in ranked["condition"]]
    if len(names) > NAMED:
        apart = np.arange(ENDS) * math.ceil(len(names) / ROOM)
        places = np.append(apart, len(names) - 1 - apart[::-1])
        names = [names[place] for place in places]
    panel.set_xticks(places, names, rotation=90, fontsize=6)
    panel.grid(False, axis="x")


def _pair(panel: Axes, name: str, part: pd.DataFrame, largest: float) -> None:
    """Draw the values of two columns' groups as colours, one scale for all pairs."""
    grid = part.pivot(index="second", columns="first", values="value").to_numpy()
    mesh = panel.pcolormesh(grid, cmap="PuOr_r", vmin=-largest, vmax=largest, rasterized=True)
    first, second = name.split(CROSSED)
    panel.set_xlabel(f"groups of {_cut(first, LONGEST_LABEL)}")
    panel.set_ylabel(f"groups of {_cut(second, LONGEST_NAME)}")
    panel.set_xticks([])
    panel.set_yticks([])
    panel.grid(False)
    bar = panel.figure.colorbar(mesh, ax=panel, location="top", aspect=30)
    bar.outline.set_visible(False)


def _name(condition: str) -> str:
    return _cut(condition.partition(" = ")[2] or condition, LONGEST_NAME)


def _cut(name: str, letters: int) -> str:
    return name if len(name) <= letters else f"{name[: letters - 1]}…"


def _decades(low: float, high: float) -> list[float]:
    """Return a few powers of ten between two numbers, and 0 if it is one; else the two."""
    first = 0 if low <= 0 else math.ceil(math.log10(low))
    last = math.floor(math.log10(high))
    if last < first:
        return [low, high]
    powers = [10.0**k for k in range(first, last + 1, (last - first) // TICKS + 1)]
    return [0.0] * (low <= 0 < high) + [power for power in powers if power >= low]


def _short(value: float, _: int | None = None) -> str:
    """Write a number in few letters: 250k for 250,000."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= 10 * size or (abs(value) >= size and math.fmod(value, size) == 0):
            return f"{value / size:g}{letter}".replace("-", "−")
    return f"{value:g}".replace("-", "−")
