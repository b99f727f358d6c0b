"""The model of PrivGAM for more than two classes: a value per class and code of each column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from privcurve.coding import Codes, Floats, Ints
from privcurve.kernels.arithmetic import softplus
from privcurve.learners.additive.model import check_people, columns_in_words, with_error
from privcurve.learners.shared.checks import require


@dataclass(frozen=True, eq=False)
class ClassModel:
    """A score for each class: an intercept, and a value for the code of each column.

    The probability of a class is proportional to the logistic function of its score. Standard
    errors are 0: they are not estimated for more than two classes.
    """

    intercepts: Floats  # (n_classes,)
    intercept_errors: Floats  # (n_classes,)
    # (n_classes, n_bins): the values of each code, by column; all 0 for a column without effect.
    class_shapes: tuple[Floats, ...]
    class_errors: tuple[Floats, ...]  # (n_classes, n_bins): standard errors of the values
    # (n_bins,): number of people with each code, from noisy counts; empty in older files.
    people: tuple[Floats, ...] = ()

    @classmethod
    def from_scores(
        cls, intercepts: Floats, values: Sequence[Floats], people: tuple[Floats, ...] = ()
    ) -> Self:
        """Return the model of several scores: `values` are (n_classes, n_bins), by column."""
        no_errors = tuple(map(np.zeros_like, values))
        # Contiguous as in a file: sums over bins have the same bits only in one memory order.
        in_rows = tuple(map(np.ascontiguousarray, values))
        return cls(intercepts, np.zeros_like(intercepts), in_rows, no_errors, people)

    def check(self, n_bins: Ints, n_classes: int) -> None:
        """Check a model read from a file; raises ValueError."""
        check_people(self.people, n_bins)
        for values in (self.class_shapes, self.class_errors):
            widths = [value.shape for value in values]
            wanted = [(n_classes, k) for k in n_bins.tolist()]
            require(widths == wanted, "its shapes belong to other columns or classes")
        for ends in (self.intercepts, self.intercept_errors):
            require(ends.shape == (n_classes,), "its intercepts belong to other classes")

    @property
    def n_used(self) -> int:
        """The number of columns with an effect."""
        return sum(bool(values.any()) for values in self.class_shapes)

    def measures(self) -> dict[str, float]:
        """Return the numbers of columns and bins."""
        bins = sum(values.shape[1] for values in self.class_shapes)
        return {"columns": self.n_used, "bins": bins}

    def log_odds(self, codes: Codes) -> Floats:
        """Return the logarithms of the logistic function of all scores, (n_rows, n_classes).

        Up to a constant per row, they are the logarithms of the probabilities of classes.
        """
        scores = np.tile(self.intercepts, (len(codes), 1))
        for j, values in enumerate(self.class_shapes):
            scores += values.T[codes[:, j]]
        return -softplus(-scores)

    def in_words(
        self,
        names: Sequence[str] | None = None,
        bin_names: Sequence[Sequence[str]] | None = None,
        class_names: Sequence[str] | None = None,
    ) -> str:
        """Write the model in words; columns whose values differ most come first.

        See :meth:`AdditiveModel.in_words`; `class_names` are by default the positions of classes.
        """
        classes = class_names or [f"class {k}" for k in range(len(self.intercepts))]
        ends = zip(classes, self.intercepts, self.intercept_errors, strict=True)
        lines = [
            "Each class has a score, and the label is that of the largest; they begin with "
            + ", ".join(f"{name} {with_error(value, error)}" for name, value, error in ends)
            + ", and to that comes what follows:"
        ]
        lines += columns_in_words(self.class_shapes, self.class_errors, names, bin_names, classes)
        return "\n".join(lines)

    # The model in words with the names of a schema, if it was fitted with one.
    words: ClassVar[str] = ""

    def __str__(self) -> str:
        return self.words or self.in_words()
