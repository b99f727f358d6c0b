"""Explain one model: a table and a figure of what each column adds to the model's score."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, ClassVar

from privcurve.figures import style
from privcurve.lazy import pd
from privcurve.learners import registry
from privcurve.numerals import power
from privcurve.outputs.base import Context, Option, OutputRequest, dataset_title
from privcurve.outputs.one_model import OPTIONS, OneModel, is_partial
from privcurve.tables.table import Table

if TYPE_CHECKING:
    from privcurve.experiments.study import Method
    from privcurve.models.explain import Explanation

# The figure shows at most this many columns; the figure's CSV file has all columns.
MOST_PANELS = 12
BIN_COLUMNS = ["column", "class", "code", "condition", "low", "high", "value", "error"]
END_COLUMNS = ["column", "importance"]
END_COLUMNS += [
    f"{what}{end}" for end in ("lowest", "highest") for what in ("", "error_", "where_")
]


class Shapes(OneModel):
    """Figure and table of the score that each column contributes in one model.

    If the learner has several δ in the study, the option `delta` selects one; by default the first.
    """

    word: ClassVar[str] = "shapes"
    writes: ClassVar = ("table", "figure")
    version: ClassVar[int] = 8
    options: ClassVar = {
        "learner": Option("an entry of the study's learners", str),
        **OPTIONS,
        "delta": Option("one of the learner's deltas; by default its first", float, None),
    }

    def check(self, request: OutputRequest) -> None:
        super().check(request)
        method = self.method(request)
        kind = registry.estimator_class(method.learner)
        if not kind._released:
            raise ValueError(f"{method.name} can't be explained: {kind._why_kept_back}")
        if is_partial(method):
            needed = "shapes need one setting, trained on all records"
            raise ValueError(f"{method.name} has a grid or a share of the records: {needed}")

    def method(self, request: OutputRequest) -> Method:
        delta = request.options["delta"]
        for method in request.methods_of(request.options["learner"]):
            if delta in (None, method.delta):
                return method
        raise ValueError(f"{request.options['learner']} has no delta = {delta:g} in this study")

    def make(self, context: Context) -> None:
        from privcurve.models.explain import explain

        method, epsilon = self.method(context.request), context.options["epsilon"]
        data, model = self.train_model(context)
        explanation = explain(model.learner, data.domain)
        n_panels = len(explanation.used[:MOST_PANELS])
        if not n_panels:
            raise ValueError("no column of the model has an effect, so there is no shape to draw")
        budget = f"ε = {epsilon:g}, δ = {power(method.delta)}"
        title = f"{dataset_title(data.name)}\n{method.title}, {budget}"
        if model.unseen is not None:
            title += f", test accuracy {model.accuracy():.3f}"
        flat, left_out = explanation.without_effect, max(0, len(explanation.used) - MOST_PANELS)
        notes = (
            *explanation.sentences(),
            *([f"Without effect of their own: {', '.join(flat)}."] if flat else []),
            *([f"The figure leaves out the {left_out} flattest columns."] if left_out else []),
            str(model.learner.privacy_),
        )
        ends = ends_of(explanation)
        caption = "Shape functions: " + title.replace("\n", "; ")
        context.write(Table(ends, caption, notes, format_table(ends)))
        with style.paper():
            figure, panels = style.panels(n_panels)
            explanation.plot(MOST_PANELS, panels)
            figure.suptitle(title, fontsize=8.5)
        context.draw(figure, values_of(explanation))


def values_of(explanation: Explanation) -> pd.DataFrame:
    """Return the contribution of each bin, with its error, for all columns that have an effect.

    With more than two classes, each class has its own rows. `low` and `high` are the ends of the
    bin; NaN for categories and missing values.
    """
    none, rows = float("nan"), []
    for shape in explanation.used:
        column = shape.column
        edges = column.edges if column.ordered else ()
        between = [*itertools.pairwise(edges)]
        between += [(none, none)] * (column.n_bins - len(between))
        for k, name in enumerate(explanation.outputs):
            bins = zip(column.bin_names, between, shape.values[k], shape.spread[k], strict=True)
            for code, (condition, ends, value, error) in enumerate(bins):
                rows.append((column.name, name, code, condition, *ends, value, error))
    return pd.DataFrame(rows, columns=BIN_COLUMNS)


def ends_of(explanation: Explanation) -> pd.DataFrame:
    """Return for each column its importance, its lowest and highest values, and their bins."""
    rows = []
    for shape in explanation.used:
        row: list[Any] = [shape.column.name, shape.importance]
        for place in (int(shape.values.argmin()), int(shape.values.argmax())):
            k, code = divmod(place, shape.column.n_bins)
            whose = f", for {explanation.outputs[k]}" if len(explanation.outputs) > 1 else ""
            where = shape.column.bin_names[code] + whose
            row += [shape.values.flat[place], shape.spread.flat[place], where]
        rows.append(row)
    return pd.DataFrame(rows, columns=END_COLUMNS)


def format_table(ends: pd.DataFrame) -> pd.DataFrame:
    """Return the result of :func:`ends_of` as texts for readers: values with their errors."""
    texts = ends[["column"]].assign(importance=[f"{value:.2f}" for value in ends["importance"]])
    for end in ("lowest", "highest"):
        pairs = zip(ends[end], ends[f"error_{end}"], strict=True)
        texts[end] = [
            (f"{value:+.2f}" + (f" ± {error:.2f}" if error > 0 else "")).replace("-", "−")
            for value, error in pairs
        ]
        texts[f"where {end}"] = ends[f"where_{end}"]
    return texts
