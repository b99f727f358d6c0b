"""Counts of what becomes of the values of a column as they are coded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from privcurve.datasets.domain import NUMERIC, OTHER, Column

# If at least this share of at least so many values is clipped or `other`, the column is likely in
# another unit, or written otherwise than the domain expects.
FEW = 10
NEARLY_ALL = 0.95

# A share of clipped values that is worth a word to whoever trains.
NOTED = 0.05

# Digits of bounds in messages.
DIGITS = 6


@dataclass
class ColumnCounts:
    """Count what becomes of the values of a column: for their owner, never a part of a model."""

    column: Column
    n: int = 0  # records
    missing: int = 0
    gaps: int = 0  # of the missing values, those that the column has no code for
    below: int = 0  # numbers below the lowest bound
    above: int = 0  # numbers above the highest one
    other: int = 0  # texts of the group `other`

    @property
    def n_present(self) -> int:
        """How many values are there."""
        return self.n - self.missing

    @property
    def clipped(self) -> int:
        """How many numbers lie outside the bounds."""
        return self.below + self.above

    def share(self, count: int) -> float:
        """Return a count as a share of all records."""
        return count / self.n if self.n else 0.0

    @property
    def warning(self) -> str:
        """A warning if nearly all values are lost; empty otherwise."""
        lost = max(self.clipped, self.other)
        if self.n_present < FEW or lost < NEARLY_ALL * self.n_present:
            return ""
        how_many = f"all {lost:,}" if lost == self.n_present else f"{lost:,} of {self.n_present:,}"
        values = f"{how_many} values of {self.column.name!r}"
        if self.column.kind != NUMERIC:
            return f"{values} are {OTHER!r}: are they spelt as the domain spells them?"
        low, high = self.column.format_bounds()
        where = f"outside its bounds, {low} to {high}"
        if lost == self.above:
            where = f"above its upper bound, {high}"
        elif lost == self.below:
            where = f"below its lower bound, {low}"
        return f"{values} lie {where}: another unit?"

    @property
    def training_warning(self) -> str:
        """A warning if some values are lost that train a model; empty otherwise."""
        share = self.share(self.clipped)
        if self.warning or share <= NOTED:
            return self.warning
        low, high = self.column.format_bounds(DIGITS)
        return (
            f"{share:.0%} of the values of {self.column.name!r} lie outside the bounds {low} to "
            f"{high} and are clipped to them"
        )


def warnings_of(counts: Iterable[ColumnCounts], train: bool = False) -> Iterator[str]:
    """Yield the warnings of all columns that have one; `train` says whether the values train."""
    return filter(None, (each.training_warning if train else each.warning for each in counts))
