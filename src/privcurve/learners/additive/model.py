"""The model of PrivGAM: a shape function a column, and of some pairs, with standard errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from privcurve.coding import Codes, Floats, Ints
from privcurve.learners.additive.residuals import SCORE_BITS
from privcurve.learners.shared.chances import clipped_log_odds
from privcurve.learners.shared.checks import require

if TYPE_CHECKING:
    from privcurve.learners.additive.fitting import Fit


@dataclass(frozen=True, eq=False)
class PairShape:
    """What a pair of columns adds beside what each of them does."""

    columns: tuple[int, int]
    groups: tuple[Ints, Ints]  # the group of each code, by column
    values: Floats  # (n_groups of the first, n_groups of the second)
    errors: Floats  # (n_groups of the first, n_groups of the second)

    def check(self, n_bins: Ints) -> None:
        """Check what was read from a file; raises ValueError."""
        sizes = self.values.shape
        two = len(self.columns) == len(self.groups) == len(sizes) == 2
        require(two and self.errors.shape == sizes, "a pair is not of two columns")
        for j, groups, size in zip(self.columns, self.groups, sizes, strict=True):
            inside = 0 <= j < len(n_bins) and groups.shape == (n_bins[j],)
            require(inside, "a pair is of other columns")
            within = len(groups) > 0 and groups.min() >= 0 and groups.max() < size
            require(bool(within), "a pair's groups are not those of its values")

    def scores(self, codes: Codes) -> Floats:
        """Return the value of each row."""
        first, second = (
            groups[codes[:, j]] for j, groups in zip(self.columns, self.groups, strict=True)
        )
        return np.asarray(self.values[first, second])


@dataclass(frozen=True, eq=False)
class AdditiveModel:
    """A score: an intercept, a value for the code of each column, and values of pairs.

    Residuals are clipped at 1/2, so the logistic function p of the score is not the probability q
    of the positive label: the fit has q·min(1 − p, ½) = (1 − q)·min(p, ½). Hence q/(1 − q) is 2p
    where p ≤ ½ and 1/(2(1 − p)) beyond: see :meth:`log_odds`.
    """

    intercept: float
    intercept_error: float
    # (n_bins,): the value of each code, by column; 0 throughout where a column has no effect.
    shapes: tuple[Floats, ...]
    # (n_bins,): standard errors of the values, of noise and of the spread of records; approximate
    # (fits of fresh records had 0.2 to 1.6 times of that, the intercept up to 3 at little ε). A
    # linear part is taken as known. They are 0 where values are no estimates: of stumps.
    errors: tuple[Floats, ...]
    # Pairs of columns that have an effect beside those of the columns.
    pairs: tuple[PairShape, ...] = ()

    @classmethod
    def from_fit(cls, fit: Fit, maps: Sequence[Codes]) -> Self:
        """Return the model of a fit, for codes and not for merged bins."""
        values = [shape / 2.0**SCORE_BITS for shape in fit.records.shapes]
        apart = fit.intercept
        pairs = []
        crossed = zip(fit.crossings, values[apart + 1 :], fit.errors[apart + 1 :], strict=True)
        for crossing, value, error in crossed:
            (j, k), (first, second), shape = crossing.columns, crossing.groups, crossing.shape
            if value.any():
                groups = first[maps[j]], second[maps[k]]
                pairs.append(PairShape((j, k), groups, value.reshape(shape), error.reshape(shape)))
        return cls(
            float(values[apart][0]),
            float(fit.errors[apart][0]),
            tuple(shape[bins] for shape, bins in zip(values, maps, strict=False)),
            tuple(error[bins] for error, bins in zip(fit.errors, maps, strict=False)),
            tuple(pairs),
        )

    def check(self, n_bins: Ints, n_classes: int = 2) -> None:
        """Check what was read from a file."""
        require(n_classes == 2, "it has one score, which is of two classes")
        for values in (self.shapes, self.errors):
            widths = [value.shape for value in values]
            require(widths == [(k,) for k in n_bins], "its shapes are of other columns")
        for pair in self.pairs:
            pair.check(n_bins)

    @property
    def n_used(self) -> int:
        """How many columns have an effect."""
        alone = {j for j, values in enumerate(self.shapes) if values.any()}
        return len(alone.union(*(pair.columns for pair in self.pairs)))

    def measures(self) -> dict[str, float]:
        """Return how many columns, bins and pairs it has."""
        bins = sum(map(len, self.shapes))
        return {"columns": self.n_used, "bins": bins, "pairs": len(self.pairs)}

    def scores(self, codes: Codes) -> Floats:
        """Return the scores of rows."""
        scores = np.full(len(codes), self.intercept)
        for j, values in enumerate(self.shapes):
            scores += values[codes[:, j]]
        for pair in self.pairs:
            scores += pair.scores(codes)
        return scores

    def log_odds(self, codes: Codes) -> Floats:
        """Return the log-odds of the positive label, ±(ln(1 + e^{|score|}) − ln 2), of rows."""
        return clipped_log_odds(self.scores(codes))

    def in_words(
        self, names: Sequence[str] | None = None, bin_names: Sequence[Sequence[str]] | None = None
    ) -> str:
        """Say what the model is, columns in the order of how far apart their values are.

        Parameters
        ----------
        names : sequence of str, optional
            Of the columns; by default their positions.
        bin_names : sequence of sequences of str, optional
            Conditions on a column, by code, such as those of a domain.
        """
        lines = [
            f"The score is {with_error(self.intercept, self.intercept_error)}, and to that "
            "comes what follows; above 0 the label is the positive one:"
        ]
        named = names or [f"column {j}" for j in range(len(self.shapes))]
        columns, unused = columns_in_words(self.shapes, self.errors, named, bin_names)
        lines += columns
        for pair in self.pairs:
            first, second = (named[j] for j in pair.columns)
            ends = [
                with_error(pair.values.flat[k], pair.errors.flat[k])
                for k in (pair.values.argmin(), pair.values.argmax())
            ]
            lines.append(f"  {first} and {second} together: from {ends[0]} up to {ends[1]} more")
        in_pairs = {named[j] for pair in self.pairs for j in pair.columns}
        unused = [name for name in unused if name not in in_pairs]
        if unused:
            lines.append(f"Without effect: {', '.join(unused)}.")
        return "\n".join(lines)

    # What it is in words, with the names of a schema, where it was fitted by one.
    words: ClassVar[str] = ""

    def __str__(self) -> str:
        return self.words or self.in_words()


def with_error(value: float, error: float) -> str:
    """Write a value with its standard error; alone where that is 0."""
    return f"{value:+.2f} (± {error:.2f})" if error > 0 else f"{value:+.2f}"


def columns_in_words(
    shapes: Sequence[Floats],
    errors: Sequence[Floats],
    names: Sequence[str],
    bin_names: Sequence[Sequence[str]] | None,
    classes: Sequence[str] = (),
) -> tuple[list[str], list[str]]:
    """Return a line for each column, by how far apart its values are, and those without effect.

    Values are of shape (n_bins,), or (n_classes, n_bins) where there are names of classes.
    """
    lines, unused = [], []
    spans = np.array([np.ptp(values) for values in shapes])
    for j in np.argsort(-spans, kind="stable").tolist():
        values = shapes[j]
        if not values.any():
            unused.append(names[j])
            continue
        ends = []
        for at in (int(values.argmin()), int(values.argmax())):
            k, code = divmod(at, values.shape[-1])
            whose = f"for {classes[k]} " if classes else ""
            where = f"code {code}" if bin_names is None else bin_names[j][code]
            value = with_error(values.flat[at], errors[j].flat[at])
            ends.append(f"{value} {whose}where {where}")
        lines.append(f"  {names[j]}: from {ends[0]} up to {ends[1]}")
    return lines, unused
