"""Count how many values of a column are missing, clipped or unlisted, and warn if many are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from privcurve.datasets.domain import NUMERIC, OTHER, Column

# A column with at least FEW values gets a warning if the share NEARLY_ALL of them is clipped or
# `other`: then the values probably have another unit or spelling than the domain. Fewer values may
# all be unusual by chance.
FEW = 10
NEARLY_ALL = 0.95

# A fit warns if the clipped share of a column's values is larger than this.
NOTED = 0.05

# Number of significant digits of bounds in messages.
DIGITS = 6


@dataclass
class ColumnCounts:
    """Counts of the missing, clipped and unlisted values of a column.

    Only the data owner sees the counts; no model contains them.
    """

    column: Column
    n: int = 0  # number of records
    missing: int = 0
    gaps: int = 0  # number of missing values, if the column has no bin for them
    below: int = 0  # numbers below the lowest bound
    above: int = 0  # numbers above the highest bound
    other: int = 0  # unlisted texts, which are encoded as `other`

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
        """A warning if nearly all present values are clipped or `other`; else ""."""
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
        """The text of :attr:`warning`; else a warning if a share above `NOTED` is clipped."""
        share = self.share(self.clipped)
        if self.warning or share <= NOTED:
            return self.warning
        low, high = self.column.format_bounds(DIGITS)
        return (
            f"{share:.0%} of the values of {self.column.name!r} lie outside the bounds {low} to "
            f"{high} and are clipped to them"
        )


def warnings_of(counts: Iterable[ColumnCounts], train: bool = False) -> Iterator[str]:
    """Yield all warnings about columns: `training_warning` with `train`, otherwise `warning`."""
    return filter(None, (each.training_warning if train else each.warning for each in counts))
