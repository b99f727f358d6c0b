"""What one column adds to a score."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from privcurve.coding import Floats
from privcurve.datasets.domain import NUMERIC, Column

# A smaller share of the people does not scale a picture by its interval, which is wide.
FEW = 0.01


@dataclass(frozen=True, eq=False)
class Shape:
    """The values that a column adds to a score, by code."""

    column: Column
    values: Floats  # (n_outputs, n_bins): a row for each class; of two classes, one row
    # Half the widths of their 95 % intervals; None where the model has none.
    errors: Floats | None
    # Mean distance between the values of two people drawn at random. Where `people` is None: mean
    # distance of the codes' values from their mean.
    importance: float
    people: Floats | None = None  # (n_bins,): how many have each code, by released noisy counts
    # The p-value of no effect times the number of columns; None where the model has none.
    evidence: float | None = None
    # Half the width of the importance's 95 % interval; None where the model has none.
    importance_error: float | None = None

    @property
    def importance_text(self) -> str:
        """The importance, with its interval where the model has one."""
        error = self.importance_error
        return f"{self.importance:.3g}" + ("" if error is None else f" ± {error:.2g}")

    @property
    def spread(self) -> Floats:
        """The errors; 0 where none are known."""
        return np.zeros_like(self.values) if self.errors is None else self.errors

    @property
    def has_effect(self) -> bool:
        """Whether some codes add more than others, also where nobody is known to have them."""
        return self.importance > 0 or bool(np.ptp(self.values, axis=1).any())

    @property
    def titles(self) -> tuple[str, ...]:
        """Name the codes: conditions on numbers, values of categories."""
        return self.column.code_names

    @property
    def drawn(self) -> Shape:
        """The categories that people have, or the bins from the first to the last one with people.

        Where no counts of people are known these are all, and neighbours of equal numbers merged.
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
        """The largest distance from 0; of intervals, those of bins with people enough to matter."""
        ends = abs(self.values) + self.spread
        if self.people is not None and self.people.sum() > 0:
            ends = np.where(self.people >= FEW * self.people.sum(), ends, abs(self.values))
        return float(ends.max())

    def merge(self) -> Shape:
        """Merge neighbouring bins of a numeric column that have the same numbers."""
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
