"""Store and evaluate the model of PrivGAM for two classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from privcurve.coding import Codes, Floats, Ints
from privcurve.learners.shared.checks import require


@dataclass(frozen=True, eq=False)
class AdditiveModel:
    """Log-odds of the positive label: an intercept plus what the row's bin of each column adds.

    `errors` and `intercept_error` are standard errors (:mod:`privcurve.learners.additive.errors`);
    they are 0 in models read from older files.
    """

    intercept: float
    intercept_error: float
    # For each column, an array (n_bins,): what a bin adds to the log-odds. It is 0 everywhere if
    # the column has no effect.
    shapes: tuple[Floats, ...]
    errors: tuple[Floats, ...]  # standard errors of the numbers in `shapes`
    # For each column, an array (n_bins,): the noisy number of people in each bin. Models from older
    # files have no such arrays.
    people: tuple[Floats, ...] = ()

    # The standard error of a row's log-odds is this factor times the root of the sum of the squared
    # standard errors of the intercept and of the row's bins.
    factor: float = 1.0
    # For each column, the adjusted p-value of the hypothesis that the column has no effect
    # (`errors.evidence`). Empty in models from older files.
    evidence: tuple[float, ...] = ()

    def check(self, n_bins: Ints, n_classes: int = 2) -> None:
        """Raise ValueError if a model read from a file does not fit the columns and classes."""
        require(n_classes == 2, "it has one score, which is for two classes")
        check_people(self.people, n_bins)
        for values in (self.shapes, self.errors):
            widths = [value.shape for value in values]
            require(widths == [(k,) for k in n_bins], "its shapes belong to other columns")
        require(len(self.evidence) in (0, len(n_bins)), "its evidence belongs to other columns")

    @property
    def n_used(self) -> int:
        """The number of columns with an effect: some bin adds a number other than 0."""
        return sum(bool(values.any()) for values in self.shapes)

    def measures(self) -> dict[str, float]:
        """Return the number of columns with an effect, and the number of bins of all columns."""
        return {"columns": self.n_used, "bins": sum(map(len, self.shapes))}

    def log_odds(self, codes: Codes) -> Floats:
        """Return the log-odds of the positive label for each row."""
        scores = np.full(len(codes), self.intercept)
        for j, values in enumerate(self.shapes):
            scores += values[codes[:, j]]
        return scores

    def log_odds_errors(self, codes: Codes) -> Floats:
        """Return the standard error of each row's log-odds; 0 if the model has none."""
        squares = np.full(len(codes), self.intercept_error * self.intercept_error)
        for j, errors in enumerate(self.errors):
            squares += (errors * errors)[codes[:, j]]
        return np.asarray(self.factor * np.sqrt(squares))

    def in_words(
        self, names: Sequence[str] | None = None, bin_names: Sequence[Sequence[str]] | None = None
    ) -> str:
        """Write the model in words; columns whose bins add the most different numbers come first.

        Parameters
        ----------
        names : sequence of str, optional
            Names of the columns; by default their positions.
        bin_names : sequence of sequences of str, optional
            A condition for each bin of each column, such as ``domain.bin_names``.
        """
        lines = [
            f"The score is {with_error(self.intercept, self.intercept_error)}, and to that "
            "comes what follows; above 0 the label is the positive one:"
        ]
        lines += columns_in_words(self.shapes, self.errors, names, bin_names)
        return "\n".join(lines)

    # The text that `print` shows, with the schema's names; empty if the fit had no schema.
    words: ClassVar[str] = ""

    def __str__(self) -> str:
        return self.words or self.in_words()


def check_people(people: Sequence[Floats], n_bins: Ints) -> None:
    """Raise ValueError if numbers of people from a file are negative or do not fit the columns."""
    widths = [own.shape for own in people]
    require(not people or widths == [(k,) for k in n_bins], "its people belong to other columns")
    require(all(bool((own >= 0).all()) for own in people), "it has a negative number of people")


def with_error(value: float, error: float) -> str:
    """Return a value as text, and its standard error unless the error is 0."""
    return f"{value:+.2f} (± {error:.2f})" if error > 0 else f"{value:+.2f}"


def columns_in_words(
    shapes: Sequence[Floats],
    errors: Sequence[Floats],
    names: Sequence[str] | None,
    bin_names: Sequence[Sequence[str]] | None,
    classes: Sequence[str] = (),
) -> list[str]:
    """Return the lines of `in_words` that describe the columns.

    Each column with an effect has a line with its lowest and highest value; columns with the widest
    range come first. The last line lists the columns without effect. The arrays in `shapes` and
    `errors` have shape (n_bins,), or (n_classes, n_bins) if `classes` names the classes.
    """
    lines, unused = [], []
    named = names or [f"column {j}" for j in range(len(shapes))]
    spans = np.array([np.ptp(values) for values in shapes])
    for j in np.argsort(-spans, kind="stable").tolist():
        values = shapes[j]
        if not values.any():
            unused.append(named[j])
            continue
        ends = []
        for at in (int(values.argmin()), int(values.argmax())):
            k, code = divmod(at, values.shape[-1])
            whose = f"for {classes[k]} " if classes else ""
            where = f"code {code}" if bin_names is None else bin_names[j][code]
            value = with_error(values.flat[at], errors[j].flat[at])
            ends.append(f"{value} {whose}where {where}")
        lines.append(f"  {named[j]}: from {ends[0]} up to {ends[1]}")
    return [*lines, f"Without effect: {', '.join(unused)}."] if unused else lines
