"""The model of PrivGAM for more than two classes: a value by class for each code of each column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from privcurve.coding import Codes, Floats, Ints
from privcurve.kernels.arithmetic import exps, log1ps, log_softmax
from privcurve.kernels.arithmetic import logs as logs_of
from privcurve.learners.additive.model import columns_in_words
from privcurve.learners.additive.residuals import SCORE_BITS
from privcurve.learners.shared.checks import require

if TYPE_CHECKING:
    from privcurve.learners.additive.fitting import Fit


@dataclass(frozen=True, eq=False)
class ClassModel:
    """A score for each class: an intercept, and a value for the code of each column.

    The softmax p of the scores is not the probability q of a class, as residuals are clipped: see
    :meth:`log_odds`. Both have the same order.
    """

    intercepts: Floats  # (n_classes,)
    intercept_errors: Floats  # (n_classes,)
    # (n_classes, n_bins): the values of each code, by column; those of a code add up to 0, and are
    # 0 throughout where a column has no effect.
    class_shapes: tuple[Floats, ...]
    # (n_classes, n_bins): standard errors of the values, of noise and of the spread of records;
    # approximate.
    class_errors: tuple[Floats, ...]
    norm: int  # in which residuals were clipped: 1 or 2

    @classmethod
    def from_fit(cls, fit: Fit, maps: Sequence[Codes]) -> Self:
        """Return the model of a fit, for codes and not for merged bins."""
        values = [shape / 2.0**SCORE_BITS for shape in fit.records.shapes]
        return cls(
            values[-1][:, 0],
            fit.errors[-1][:, 0],
            tuple(value[:, bins] for value, bins in zip(values, maps, strict=False)),
            tuple(error[:, bins] for error, bins in zip(fit.errors, maps, strict=False)),
            fit.budget.norm,
        )

    def check(self, n_bins: Ints, n_classes: int) -> None:
        """Check what was read from a file; raises ValueError."""
        for values in (self.class_shapes, self.class_errors):
            widths = [value.shape for value in values]
            wanted = [(n_classes, k) for k in n_bins.tolist()]
            require(widths == wanted, "its shapes are of other columns or classes")
        for ends in (self.intercepts, self.intercept_errors):
            require(ends.shape == (n_classes,), "its intercepts are of other classes")
        require(self.norm in (1, 2), "its norm is neither 1 nor 2")

    @property
    def n_used(self) -> int:
        """How many columns have an effect."""
        return sum(bool(values.any()) for values in self.class_shapes)

    def measures(self) -> dict[str, float]:
        """Return the numbers of columns and bins; there are no pairs."""
        bins = sum(values.shape[1] for values in self.class_shapes)
        return {"columns": self.n_used, "bins": bins, "pairs": 0}

    def scores(self, codes: Codes) -> Floats:
        """Return the scores of rows, of shape (n_rows, n_classes)."""
        scores = np.tile(self.intercepts, (len(codes), 1))
        for j, values in enumerate(self.class_shapes):
            scores += values.T[codes[:, j]]
        return scores

    def log_odds(self, codes: Codes) -> Floats:
        """Return the logarithms of the probabilities of classes, up to a constant per row.

        They are in proportion to p·max(1, l), l the length of e_k − p for the class k, times √2 in
        the norm of 2.
        """
        logs = log_softmax(self.scores(codes))
        p = exps(logs)
        if self.norm == 1:
            return np.asarray(logs + log1ps(1.0 - 2.0 * np.minimum(p, 0.5)))
        squares = 1 - 2 * p + np.cumsum(p * p, axis=1)[:, -1:]
        return np.asarray(logs + 0.5 * logs_of(np.maximum(2 * squares, 1.0)))

    def in_words(
        self,
        names: Sequence[str] | None = None,
        bin_names: Sequence[Sequence[str]] | None = None,
        class_names: Sequence[str] | None = None,
    ) -> str:
        """Write the model in words, with the columns whose values differ most first.

        See :meth:`AdditiveModel.in_words`; `class_names` are by default the positions of classes.
        """
        n_classes = len(self.intercepts)
        classes = class_names or [f"class {k}" for k in range(n_classes)]
        starts = zip(classes, self.intercepts, self.intercept_errors, strict=True)
        lines = [
            "Each class has a score, and the label is that of the largest; they begin with "
            + ", ".join(f"{name} {value:+.2f} (± {error:.2f})" for name, value, error in starts)
            + ", and to that comes what follows:"
        ]
        named = names or [f"column {j}" for j in range(len(self.class_shapes))]
        columns, unused = columns_in_words(
            self.class_shapes, self.class_errors, named, bin_names, classes
        )
        lines += columns
        if unused:
            lines.append(f"Without effect: {', '.join(unused)}.")
        return "\n".join(lines)

    # The model in words with the names of a schema, if it was fitted with one.
    words: ClassVar[str] = ""

    def __str__(self) -> str:
        return self.words or self.in_words()
