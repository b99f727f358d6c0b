"""Explain a fitted model: compute importances of columns, and shapes with error bands.

The shape of a column has what each bin of the column adds to the score. The functions evaluate the
released model on *cells*, which are made-up records of the public domain; they use no real record.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted
from tabulate import tabulate

from privcurve import extras
from privcurve.coding import Codes, Floats, Ints, code_type
from privcurve.datasets.domain import CATEGORICAL, NUMERIC, Column, Domain, Label
from privcurve.learners.additive.errors import FALSE_ALARM, HALF_WIDTH
from privcurve.models.document import check
from privcurve.models.errors import ModelError
from privcurve.models.shape import Shape
from privcurve.numerals import two_digits

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from privcurve.learners.base import CodedClassifier

# Random cells test whether a score is a sum over columns. For K and L bins in the two columns with
# the most bins, the test draws PROBES_A_PAIR · K · L cells, so that the probability to miss a given
# pair of bins is at most e^-10. The number is limited to LEAST_PROBES … MOST_PROBES.
PROBES_A_PAIR = 10
LEAST_PROBES, MOST_PROBES = 300, 200_000
# If a score is no sum over columns, the effect of a column is a mean over random cells, which takes
# time. There are as many cells as MOST_SCORES evaluations of the score allow, but at most
# MOST_CELLS and at least LEAST_CELLS.
MOST_CELLS, MOST_SCORES, LEAST_CELLS = 1_000, 400_000, 50

# Default number of panels in a picture.
PANELS = 5


@dataclass(frozen=True, eq=False)
class Explanation:
    """The effects of all columns on the score of a model, the most important column first.

    For PrivGAM, the importance of a column is the mean absolute change of the score if a random
    person's value of the column is replaced by another random person's value, computed from the
    released noisy counts of people. Other learners release no such counts: the importance is the
    mean absolute deviation of the score over the column's bins, with equal weights.
    """

    label: Label
    names: tuple[str, ...]  # names of the columns, in the order of the encoded data
    constant: Floats  # (n_outputs,): the constant term of each score
    shapes: tuple[Shape, ...]  # the shape of each column, the most important column first
    # Whether each score is the sum of its constant and the values of the row's bins. Otherwise the
    # effect of a column depends on other columns, and shapes are means over cells.
    is_sum: bool = True

    @property
    def importances(self) -> dict[str, float]:
        """The importance of each column by name, largest first."""
        return {shape.column.name: shape.importance for shape in self.shapes}

    @property
    def feature_importances(self) -> Floats:
        """The importance of each column, in the order of `names`."""
        return np.array([self.importances[name] for name in self.names])

    @property
    def outputs(self) -> tuple[str, ...]:
        """The class of each score: all classes; with two classes, only the positive one."""
        return self.label.classes or (self.label.positive,)

    @property
    def used(self) -> tuple[Shape, ...]:
        """The shapes of the columns whose bins have different values."""
        return tuple(shape for shape in self.shapes if shape.has_effect)

    @property
    def weighs_people(self) -> bool:
        """Whether importances are means over people (by noisy counts), and not over bins."""
        return any(shape.people is not None for shape in self.shapes)

    @property
    def without_effect(self) -> list[str]:
        """The names of the columns whose bins all have the same value."""
        return [shape.column.name for shape in self.shapes if not shape.has_effect]

    @property
    def is_like_constant(self) -> bool:
        """Whether the model may be a constant: its tests find no evidence of an effect."""
        tested = [shape.evidence for shape in self.shapes if shape.evidence is not None]
        return bool(tested) and min(tested) > FALSE_ALARM

    def evidence_text(self) -> str:
        """Return sentences on evidence of effects; empty for a model that tested no columns."""
        tested = [shape for shape in self.shapes if shape.evidence is not None]
        if not tested:
            return ""
        shown, others = (
            [s.column.name for s in tested if (s.evidence <= FALSE_ALARM) is wanted]  # type: ignore[operator]
            for wanted in (True, False)
        )
        rule = f"(a test with a false alarm of {100 * FALSE_ALARM:.0f} % over all columns)"
        if not shown:
            return (
                f"No column shows evidence of an effect {rule}: the model is not distinguishable "
                "from a constant."
            )
        text = f"Evidence of an effect {rule}: {', '.join(shown)}."
        return text + (f" No evidence of an effect: {', '.join(others)}." if others else "")

    def without_effect_text(self) -> str:
        """Return a sentence that lists the columns without effect.

        If the score is no sum over columns, the sentence says that the columns have no effect on
        means over cells, because they may have an effect together with other columns.
        """
        where = "of their own" if self.is_sum else "on these means"
        return f"Without effect {where}: {', '.join(self.without_effect)}."

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def lines(self, most: int | None = None) -> Iterator[str]:
        """Yield the printed text in parts, with tables of at most `most` shapes (None: all)."""
        yield from self.sentences()
        used = self.used
        largest = max((shape.importance for shape in used), default=1.0) or 1.0
        rows = [
            (s.column.name, s.importance_text, "█" * math.ceil(20 * s.importance / largest))
            for s in used
        ]
        if rows:
            yield ""
            yield _write_table(rows, ("column", "importance", ""))
        if self.without_effect:
            yield self.without_effect_text()
        for shape in used[:most]:
            yield ""
            header, lines = table_of(shape.merge(), self.outputs)
            yield _write_table(lines, header)

    def sentences(self) -> Iterator[str]:
        """Yield sentences that explain the score, importances and errors."""
        label, names = self.label, self.outputs
        if self.is_sum and not self.used:
            many = len(names) > 1
            place = np.argmax(self.constant) if many else self.constant[0] > 0
            answer = label.names[int(place)]
            yield f"It always says that {label.column} is {answer}: no column counts."
            return
        start = ", ".join(
            f"{name} {value:+.3g}" for name, value in zip(names, self.constant, strict=True)
        )
        if self.is_sum:
            yield f"A score is the sum of a constant ({start}) and of one value for each column."
        else:
            yield (
                "A score is no sum over columns: the effect of a column depends on the others. "
                f"Shown are means over cells of the domain; the mean score is {start}."
            )
        yield (
            f"The largest score says what {label.column} is."
            if len(names) > 1
            else f"Above 0 the model says that {label.column} is {names[0]}."
        )
        yield (
            "Importance: how far the score moves, on average, if a person gets another person's "
            "value of the column (by released noisy counts of people)."
            if self.weighs_people
            else "Importance: how far a column moves the score, on average over all of its values."
        )
        if any(shape.errors is not None for shape in self.used):
            yield (
                "± is a 95 % interval for the best additive model: of noise, and of the choice of "
                "the records (on average over columns; large scores are covered less often)."
            )
        if text := self.evidence_text():
            yield text

    def plot(self, most: int = PANELS, axes: Sequence[Axes] | None = None) -> Any:
        """Draw the shapes of the most important columns, with error bands.

        Parameters
        ----------
        most : int
            Maximum number of columns to draw.
        axes : sequence of Axes, optional
            Where to draw: at least one axes object per shape; by default, the axes of a new figure.

        Returns
        -------
        ndarray of Axes

        Raises
        ------
        MissingPackageError
            If Matplotlib is not installed.
        """
        extras.check("matplotlib", "a picture of a model")
        if most < 0:
            raise ValueError(f"most must be ≥ 0; got {most}")
        from privcurve.models.drawing import draw_shape, make_panels

        shapes = [shape.drawn for shape in self.used[:most]]
        n_panels = len(shapes)
        if axes is None:
            axes = make_panels(max(n_panels, 1))
        panels = np.ravel(np.asarray(axes, dtype=object))
        if len(panels) < n_panels:
            raise ValueError(
                f"axes must have {n_panels} panels, as many as are drawn; got {len(panels)}"
            )
        reach = max((shape.reach for shape in shapes), default=1.0)
        for panel, shape in zip(panels, shapes, strict=False):
            draw_shape(panel, shape, self.outputs, 1.05 * reach)
        if not n_panels:
            panels[0].set_axis_off()
            text = "no column counts" if self.is_sum and not self.used else "no shape to draw"
            panels[0].text(0.5, 0.5, text, ha="center")
        return panels


# Evaluating --------------------------------------------------------------------------------------


def explain(estimator: CodedClassifier, domain: Domain | None = None) -> Explanation:
    """Explain a fitted learner: importances and shapes of all columns.

    PrivGAM releases its shapes. For other learners, the function evaluates the score on made-up
    records. If the score is a sum over columns, a shape has the value that each bin adds, shifted
    to the mean 0; otherwise the value of a bin is a mean over made-up records.

    Parameters
    ----------
    estimator : CodedClassifier or Model
        A fitted learner of this project, or a model from :func:`privcurve.load`.
    domain : Domain, optional
        Names of columns, bins and classes; by default, they come from the learner's ``schema`` or
        the model's file, or are numbers.

    Returns
    -------
    Explanation

    Raises
    ------
    NotFittedError
        If the learner is not fitted.
    ModelError
        If the domain has other columns or classes than the learner, or if the fitted model is not
        released.
    """
    if hasattr(estimator, "_estimator"):
        # `estimator` is a `Model`, which was loaded from a file.
        estimator, domain = estimator._estimator, domain or estimator.domain
    if isinstance(estimator, type) or not hasattr(estimator, "_model_to_save"):
        raise ModelError(
            f"{estimator!r:.60} can't be explained: give a fitted learner of privcurve (for a "
            "pipeline or a search, the learner in it), or a model from privcurve.load"
        )
    if not isinstance(domain, Domain | None):
        raise ModelError(f"domain must be a Domain; got {domain!r:.60}. Give dataset.domain")
    check_is_fitted(estimator)
    fitted = estimator._as_fitted()
    chosen = fitted._model_to_save()._as_fitted()
    if not chosen._released:
        raise ModelError(f"{chosen._learner} can't be explained: {chosen._why_kept_back}")
    if domain is not None:
        check(fitted, domain)
    else:
        domain = _domain_of(fitted) if fitted.schema is None else fitted.schema.domain
    chosen, domain = chosen._on_groups(domain)
    model: Any = getattr(chosen, "model_", None)
    people, evidence = getattr(model, "people", ()), getattr(model, "evidence", ())
    if hasattr(model, "class_shapes"):
        errors = list(model.class_errors) if model.intercept_errors.any() else None
        return _make_explanation(domain, model.intercepts, model.class_shapes, errors, people)
    if hasattr(model, "intercept_error"):
        has_errors = model.intercept_error > 0
        errors = [HALF_WIDTH * own[None] for own in model.errors] if has_errors else None
        constant, shapes = np.array([model.intercept]), [shape[None] for shape in model.shapes]
        return _make_explanation(domain, constant, shapes, errors, people, evidence=evidence)
    effects = Effects.measure(_centre(chosen), np.array(domain.n_bins), chosen.joins_columns)
    values, moves = effects.values, effects.importances
    return _make_explanation(domain, effects.constant, values, None, (), moves, effects.is_sum)


@dataclass(frozen=True, eq=False)
class Effects:
    """The effects of columns on a score, measured on cells (made-up records) of a domain."""

    constant: Floats  # (n_outputs,): the mean score
    # For each column, an array (n_outputs, n_bins): what each bin adds to the score, with mean 0.
    values: tuple[Floats, ...]
    importances: tuple[float, ...]  # for each column, the mean absolute effect of its bins
    is_sum: bool  # whether the score is the sum of the constant and the values

    @classmethod
    def measure(
        cls, score: Callable[[Codes], Floats], n_bins: Ints, joins: bool = False
    ) -> Effects:
        """Measure how the score of a cell changes if only the bin of one column changes.

        If the score is a sum over columns, one cell suffices; otherwise effects are means over many
        cells. `score` returns an array of shape (n_rows, n_outputs). `joins` says that columns may
        interact, perhaps in so few cells that random cells miss them: then the score is taken as a
        sum only if all cells of the domain confirm it.
        """
        coins = np.random.default_rng(0)

        def draw(n: int) -> Codes:
            return coins.integers(n_bins, size=(n, len(n_bins))).astype(code_type(n_bins))

        of_sum = cls._measure_on(score, draw(1), n_bins)
        pairs = int(np.prod(np.sort(n_bins)[-2:]))
        n_probes = min(max(PROBES_A_PAIR * pairs, LEAST_PROBES), MOST_PROBES)
        n_all = math.prod(n_bins.tolist())

        def all_cells() -> Codes:
            cells = np.indices(n_bins.tolist()).reshape(len(n_bins), -1).T
            return cells.astype(code_type(n_bins))

        def fits(probes: Codes) -> bool:
            scores = score(probes)
            summed = of_sum.constant + sum(
                values[:, probes[:, j]].T for j, values in enumerate(of_sum.values)
            )
            return bool(np.abs(scores - summed).max() <= 1e-9 * (1 + np.abs(scores).max()))

        if fits(draw(n_probes)) and (not joins or (n_all <= MOST_PROBES and fits(all_cells()))):
            return of_sum
        n_cells = max(min(MOST_SCORES // int(n_bins.sum()), MOST_CELLS), LEAST_CELLS)
        means = cls._measure_on(score, all_cells() if n_all <= n_cells else draw(n_cells), n_bins)
        return replace(means, is_sum=False)

    @classmethod
    def _measure_on(cls, score: Callable[[Codes], Floats], cells: Codes, n_bins: Ints) -> Effects:
        constant, values, importances = score(cells).mean(axis=0), [], []
        for j, width in enumerate(n_bins.tolist()):
            rows = np.repeat(cells, width, axis=0)
            rows[:, j] = np.tile(np.arange(width), len(cells))
            scores = score(rows).reshape(len(cells), width, -1)
            deviations = scores - scores.mean(axis=1, keepdims=True)
            # Set rounding errors to 0: otherwise a column without effect would seem to have an
            # effect.
            deviations = np.where(np.ptp(scores, axis=1, keepdims=True) > 1e-12, deviations, 0.0)
            values.append(deviations.mean(axis=0).T)
            importances.append(float(np.abs(deviations).mean()))
            if len(cells) == 1:
                constant = constant + (scores.mean(axis=1)[0] - scores[0, cells[0, j]])
        return cls(constant, tuple(values), tuple(importances), True)


def _centre(learner: CodedClassifier) -> Callable[[Codes], Floats]:
    """Return a function from bins to a learner's scores, of shape (n_rows, n_outputs).

    Scores of several classes are shifted to the mean 0 in each row, which changes no prediction.
    """

    def score(codes: Codes) -> Floats:
        scores: Floats = learner._scores(codes)
        if scores.ndim == 1:
            return scores[:, None]
        return np.asarray(scores - scores.mean(axis=1, keepdims=True))

    return score


def _make_explanation(
    domain: Domain,
    constant: Floats,
    values: Sequence[Floats],
    errors: Sequence[Floats] | None,
    people: Sequence[Floats],
    importances: Sequence[float] | None = None,
    is_sum: bool = True,
    evidence: Sequence[float] = (),
) -> Explanation:
    shapes = []
    for j, column in enumerate(domain.columns):
        own = people[j] if people else None
        moves = _importance(values[j], own) if importances is None else importances[j]
        widths, p = None if errors is None else errors[j], evidence[j] if evidence else None
        move_error = None if widths is None else _importance_error(values[j], widths, own)
        shapes.append(Shape(column, values[j], widths, moves, own, p, move_error))
    # Columns with evidence of an effect come first.
    shapes.sort(key=lambda shape: ((shape.evidence or 0.0) > FALSE_ALARM, -shape.importance))
    return Explanation(domain.label, domain.names, constant, tuple(shapes), is_sum)


def _importance(values: Floats, people: Floats | None) -> float:
    """Return the importance of a column: see :class:`Shape`.

    With `people` it is the mean of |x − y| for the values x and y of two random people. The
    function computes it as 2·E max(x, y) − 2·E x.
    """
    if people is None or not people.sum() > 0:
        return float(np.abs(values - values.mean(axis=1, keepdims=True)).mean())
    distances = []
    for row in values:
        order = np.argsort(row, kind="stable")
        up_to = np.cumsum(people[order] / people.sum())
        before = np.append(0.0, up_to[:-1])
        # One value is ≤ x with probability F(x), so the larger of two values is ≤ x with
        # probability F(x)².
        largest = (row[order] * (up_to * up_to - before * before)).sum()
        distances.append(2 * largest - 2 * (row[order] * (up_to - before)).sum())
    return max(float(np.mean(distances)), 0.0)


def _importance_error(values: Floats, errors: Floats, people: Floats | None) -> float | None:
    """Return half the width of the 95 % interval of an importance, for a model with one score.

    Returns None without counts of people. The width is the mean of two widths: for independent
    errors of the column's values, and for errors that all change the importance in the same
    direction. The truth is between these assumptions; tests/unit/test_privgam_errors.py measures
    the coverage.
    """
    if people is None or not people.sum() > 0:
        return None
    order = np.argsort(values[0], kind="stable")
    share = people[order] / people.sum()
    below = np.cumsum(share) - share
    slopes = 2 * share * (2 * below + share - 1)
    parts = np.abs(slopes) * errors[0][order]
    return (math.fsum(parts.tolist()) + math.sqrt(math.fsum((parts * parts).tolist()))) / 2.0


def _domain_of(estimator: CodedClassifier) -> Domain:
    """Make a domain from the public facts of a learner; bins are named by numbers."""
    n_bins = estimator._n_codes.tolist()
    names = getattr(estimator, "feature_names_in_", [f"column {j}" for j in range(len(n_bins))])
    if estimator.bounds is not None:
        ends = [np.broadcast_to(side, len(n_bins)).tolist() for side in estimator.bounds]
        columns = [
            Column(str(name), NUMERIC, (float(low), float(high)), k)
            for name, k, low, high in zip(names, n_bins, *ends, strict=True)
        ]
    else:
        columns = [
            Column(str(name), CATEGORICAL, categories=tuple((str(c), str(c)) for c in range(k)))
            for name, k in zip(names, n_bins, strict=True)
        ]
    label = Label.of("the label", [*map(str, estimator.classes_)])
    return Domain(tuple(columns), label)


# Writing -----------------------------------------------------------------------------------------


def _write_table(rows: Sequence[Sequence[str]], header: Sequence[str]) -> str:
    return tabulate(rows, header, tablefmt="simple", disable_numparse=True)


def table_of(shape: Shape, outputs: Sequence[str]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return the header and the rows of a table: a row per bin, with its value for each output."""
    cells = [[f"{value:+.3g}" for value in row] for row in shape.values]
    if shape.errors is not None:
        cells = [
            [f"{cell} ± {error:.2g}" for cell, error in zip(row, errors, strict=True)]
            for row, errors in zip(cells, shape.errors, strict=True)
        ]
    header = (shape.column.label, *(outputs if len(cells) > 1 else ["adds"]))
    if shape.people is not None:
        header = (*header, "people (about)")
        cells.append([two_digits(number) for number in shape.people])
    return header, list(zip(shape.column.short_names, *cells, strict=True))
