"""Count how many values of a column are missing, clipped or unlisted, and warn if many are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from privcurve.datasets.domain import NUMERIC, OTHER, Column

# If a column has at least FEW values, and at least the share NEARLY_ALL of them is clipped or
# `other`, there is a warning: the values probably have another unit or spelling than the domain.
FEW = 10
NEARLY_ALL = 0.95

# If a larger share of a column's values is clipped, training warns.
NOTED = 0.05

# Number of significant digits of bounds in messages.
DIGITS = 6


@dataclass
class ColumnCounts:
    """How many values of a column are missing, clipped or unlisted.

    The counts are for the data owner, never part of a model.
    """

    column: Column
    n: int = 0  # number of records
    missing: int = 0
    gaps: int = 0  # missing values without a code
    below: int = 0  # numbers below the lowest bound
    above: int = 0  # numbers above the highest bound
    other: int = 0  # texts in the group `other`

    @property
    def n_present(self) -> int:
        """Number of values that are not missing."""
        return self.n - self.missing

    @property
    def clipped(self) -> int:
        """Number of values outside the bounds."""
        return self.below + self.above

    def share(self, count: int) -> float:
        """Return a count as a share of all records."""
        return count / self.n if self.n else 0.0

    @property
    def warning(self) -> str:
        """A warning if nearly all present values are clipped or `other`; else an empty text."""
        lost = max(self.clipped, self.other)
        if self.n_present < FEW or lost < NEARLY_ALL * self.n_present:
            return ""
        how_many = f"all {lost:,}" if lost == self.n_present else f"{lost:,} of {self.n_present:,}"
        values = f"{how_many} values of {self.column.name!r}"
        if self.column.kind != NUMERIC:
            return f"{values} are {OTHER!r}: compare their spelling with the domain"
        low, high = self.column.format_bounds()
        where = f"outside its bounds, {low} to {high}"
        if lost == self.above:
            where = f"above its upper bound, {high}"
        elif lost == self.below:
            where = f"below its lower bound, {low}"
        return f"{values} lie {where}: check their unit"

    @property
    def training_warning(self) -> str:
        """The text of `warning`; else a warning if the share of clipped values exceeds `NOTED`."""
        share = self.share(self.clipped)
        if self.warning or share <= NOTED:
            return self.warning
        low, high = self.column.format_bounds(DIGITS)
        return (
            f"{share:.0%} of the values of {self.column.name!r} lie outside the bounds {low} to "
            f"{high} and are clipped to them"
        )


def warnings_of(counts: Iterable[ColumnCounts], train: bool = False) -> Iterator[str]:
    """Yield the warnings of all columns; `train` says whether the values train a model."""
    return filter(None, (each.training_warning if train else each.warning for each in counts))
