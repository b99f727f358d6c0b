"""Store and evaluate the model of PrivGAM for more than two classes."""

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
    """Scores of classes: an intercept plus what the row's bin of each column adds to the score.

    The probability of a class is proportional to the logistic function of its score. Standard
    errors are 0: they are not estimated for more than two classes.
    """

    intercepts: Floats  # (n_classes,): the intercept of each class's score
    intercept_errors: Floats  # (n_classes,): standard errors of `intercepts`
    # For each column, an array (n_classes, n_bins): what a bin adds to the score of a class. It is
    # 0 everywhere if the column has no effect.
    class_shapes: tuple[Floats, ...]
    class_errors: tuple[Floats, ...]  # standard errors of the numbers in `class_shapes`
    # For each column, an array (n_bins,): the noisy number of people in each bin. Models from older
    # files have no such arrays.
    people: tuple[Floats, ...] = ()

    @classmethod
    def from_scores(
        cls, intercepts: Floats, values: Sequence[Floats], people: tuple[Floats, ...] = ()
    ) -> Self:
        """Return the model with the given intercepts and values (as in `class_shapes`)."""
        no_errors = tuple(map(np.zeros_like, values))
        # Models read from files are row-major. Use the same memory order here, because the rounding
        # of a sum depends on it.
        in_rows = tuple(map(np.ascontiguousarray, values))
        return cls(intercepts, np.zeros_like(intercepts), in_rows, no_errors, people)

    def check(self, n_bins: Ints, n_classes: int) -> None:
        """Raise ValueError if a model read from a file does not fit the columns and classes."""
        check_people(self.people, n_bins)
        for values in (self.class_shapes, self.class_errors):
            widths = [value.shape for value in values]
            wanted = [(n_classes, k) for k in n_bins.tolist()]
            require(widths == wanted, "its shapes belong to other columns or classes")
        for ends in (self.intercepts, self.intercept_errors):
            require(ends.shape == (n_classes,), "its intercepts belong to other classes")

    @property
    def n_used(self) -> int:
        """The number of columns with an effect: some bin adds a number other than 0."""
        return sum(bool(values.any()) for values in self.class_shapes)

    def measures(self) -> dict[str, float]:
        """Return the number of columns with an effect, and the number of bins of all columns."""
        bins = sum(values.shape[1] for values in self.class_shapes)
        return {"columns": self.n_used, "bins": bins}

    def log_odds(self, codes: Codes) -> Floats:
        """Return the logarithm of the logistic function of each score, shape (n_rows, n_classes).

        Up to a constant per row, this is the logarithm of the probability of each class.
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
        """Write the model in words; columns whose bins add the most different numbers come first.

        See :meth:`AdditiveModel.in_words`. The default names of classes are ``class 0``, ….
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

    # The text that `print` shows, with the schema's names; empty if the fit had no schema.
    words: ClassVar[str] = ""

    def __str__(self) -> str:
        return self.words or self.in_words()
