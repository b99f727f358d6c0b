"""Define the shape of a column: what each of its bins adds to a score."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from privcurve.coding import Floats
from privcurve.datasets.domain import NUMERIC, Column

# A picture's scale includes the error bands only of bins with at least this share of people: bands
# of rare bins are very wide.
FEW = 0.01


@dataclass(frozen=True, eq=False)
class Shape:
    """What each bin of a column adds to a score, and how important the column is."""

    column: Column
    values: Floats  # (n_outputs, n_bins): a row for each class, or a single row for two classes
    # Half the width of the 95 % interval of each entry of `values`; None without intervals.
    errors: Floats | None
    # Mean absolute difference of the values of two random people; without `people`, the mean
    # absolute deviation of the values.
    importance: float
    people: Floats | None = None  # (n_bins,): released noisy numbers of people
    # The p-value of the hypothesis that the column has no effect, times the number of columns
    # (Bonferroni). Small values are evidence of an effect. None if the model tested no columns.
    evidence: float | None = None
    # Half the width of the 95 % interval of `importance`; None if the model has no intervals.
    importance_error: float | None = None

    @property
    def importance_text(self) -> str:
        """The importance as text, with its interval if the model has one."""
        error = self.importance_error
        return f"{self.importance:.3g}" + ("" if error is None else f" ± {error:.2g}")

    @property
    def spread(self) -> Floats:
        """Half the widths of the intervals (`errors`), or zeros if the model has no intervals."""
        return np.zeros_like(self.values) if self.errors is None else self.errors

    @property
    def has_effect(self) -> bool:
        """Whether the values of any two bins differ, including bins without people."""
        return self.importance > 0 or bool(np.ptp(self.values, axis=1).any())

    @property
    def titles(self) -> tuple[str, ...]:
        """The names of the bins: conditions on numbers, values of categories."""
        return self.column.code_names

    @property
    def drawn(self) -> Shape:
        """The shape to draw: without empty bins, if the model has counts of people.

        A categorical column keeps the categories with people, a numeric column all bins from the
        first to the last bin with people. If the model has no counts of people, or no numeric bin
        has people, all bins are kept, but adjacent bins with equal values are merged.
        """
        column = self.column
        if self.people is None or not self.people.any():
            return self.merge()
        codes = np.flatnonzero(self.people)
        if column.kind == NUMERIC:
            inside = codes[codes < column.bins]
            if not len(inside):
                return self.merge()
            column = column.crop(int(inside[0]), int(inside[-1]), codes[-1] == column.bins)
            codes = np.r_[inside[0] : inside[-1] + 1, codes[codes == self.column.bins]]
        else:
            present = {column.titles[code] for code in codes}
            pairs = tuple(pair for pair in column.categories if pair[1] in present)
            column = replace(column, categories=pairs)
        errors = None if self.errors is None else self.errors[:, codes]
        values, people = self.values[:, codes], self.people[codes]
        return replace(self, column=column, values=values, errors=errors, people=people)

    @property
    def reach(self) -> float:
        """The largest absolute number that a drawing of the shape contains.

        It covers all values, and the ends of the intervals of bins that are not rare (`FEW`).
        """
        ends = abs(self.values) + self.spread
        if self.people is not None and self.people.sum() > 0:
            ends = np.where(self.people >= FEW * self.people.sum(), ends, abs(self.values))
        return float(ends.max())

    def merge(self) -> Shape:
        """Merge adjacent bins with equal values and errors; a categorical column is unchanged."""
        column = self.column
        if column.kind != NUMERIC:
            return self
        numbers = self.values if self.errors is None else np.vstack([self.values, self.errors])
        groups = np.cumsum(np.r_[False, (numbers[:, 1:] != numbers[:, :-1]).any(axis=0)])
        bins = column.bins
        groups[bins:] = groups[bins - 1] + 1
        starts = np.unique(groups, return_index=True)[1]
        errors = None if self.errors is None else self.errors[:, starts]
        merged = column.merge_bins(groups.tolist())
        people = None if self.people is None else np.add.reduceat(self.people, starts)
        values = self.values[:, starts]
        return replace(self, column=merged, values=values, errors=errors, people=people)
