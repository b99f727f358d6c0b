"""Public columns, which a learner may read exactly, and private columns, which it must protect."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privcurve.coding import Codes, Ints, Signs

ALL = "all"
PUBLIC = "public"

# With more possible keys per row than this, sorting is faster than marking the keys that occur.
SPARSE = 16


@dataclass(frozen=True)
class Roles:
    """The split of columns into public and private ones."""

    n_columns: int
    # Positions of the public columns, increasing. None: nothing is public, not even the label.
    # Empty: the label alone is.
    public: tuple[int, ...] | None

    @classmethod
    def from_positions(cls, learner: str, public: Sequence[int] | None, n_columns: int) -> Roles:
        """Check positions of public columns; messages name `learner`."""
        if public is None:
            return cls(n_columns, None)
        positions = np.asarray(list(public))
        if positions.size and (positions.ndim != 1 or positions.dtype.kind not in "iu"):
            raise ValueError(
                f"{learner}: public_columns = {public!r} must hold positions of columns (0, 1, …)"
            )
        columns = tuple(sorted(int(j) for j in positions))
        for j in columns:
            if not 0 <= j < n_columns:
                raise ValueError(
                    f"{learner}: public_columns names column {j}, "
                    f"but the columns are 0 … {n_columns - 1}"
                )
        if len(set(columns)) < len(columns):
            raise ValueError(f"{learner}: public_columns = {public!r} names a column twice")
        if len(columns) == n_columns:
            raise ValueError(
                f"{learner}: public_columns names all {n_columns} columns, so that none is left to "
                "protect: leave out the private ones"
            )
        return cls(n_columns, columns)

    @property
    def private(self) -> tuple[int, ...]:
        """Positions of the columns to protect."""
        distinct = set(self.public or ())
        return tuple(j for j in range(self.n_columns) if j not in distinct)

    def columns(self, which: str) -> NDArray[np.intp]:
        """Return positions of columns: ``all``, ``public`` or ``private`` ones."""
        if which == ALL:
            return np.arange(self.n_columns)
        if self.public is None:
            raise ValueError(
                f"columns = {which!r} needs public columns: give public_columns=, the positions of "
                "the public ones (in a study: neighbours: private-columns)"
            )
        return np.array(self.public if which == PUBLIC else self.private, dtype=np.intp)


@dataclass(frozen=True)
class PublicRows:
    """The distinct public parts (u, y) of records, in an order that depends on nothing else.

    So results that are computed from them are the same, to the last bit, whatever the private
    columns hold, and whether equal records come one by one or as counts.
    """

    codes: Codes  # (n_distinct, n_public)
    signs: Signs  # (n_distinct,): −1 or +1
    counts: Ints  # (n_distinct,): records of each

    @classmethod
    def gather(cls, codes: Codes, signs: Signs, counts: Ints, n_bins: Ints) -> PublicRows:
        """Gather the rows of a coded matrix of public columns, and labels."""
        keys, row_of = distinct_keys(codes, signs, n_bins)
        first = np.full(len(keys), len(signs), dtype=np.int64)
        np.minimum.at(first, row_of, np.arange(len(signs)))
        totals = np.zeros(len(keys), dtype=np.int64)
        np.add.at(totals, row_of, counts)
        return cls(codes[first], signs[first], totals)


def distinct_keys(codes: Codes, signs: Signs, n_bins: Ints) -> tuple[NDArray[Any], Ints]:
    """Return the sorted distinct (row, label) keys, and the place of each row's key."""
    keys = (signs > 0).astype(np.int64)
    width = 2
    for j, bins in enumerate(n_bins.tolist()):
        if width > 2**62 // bins:
            # Replace numbers by their ranks, which are small and keep the order.
            distinct, keys = _rank_keys(keys, width)
            width = len(distinct)
        keys = keys * bins + codes[:, j]
        width *= bins
    return _rank_keys(keys, width)


def _rank_keys(keys: Ints, width: int) -> tuple[Ints, Ints]:
    """Return the distinct numbers among keys below `width`, increasing, and each key's place."""
    if width > SPARSE * len(keys):
        distinct, places = np.unique(keys, return_inverse=True)
        return distinct, places.astype(np.int64)
    # Marking the keys that occur is faster than sorting.
    occurs = np.zeros(width, dtype=bool)
    occurs[keys] = True
    distinct = np.flatnonzero(occurs)
    place = np.empty(width, dtype=np.int64)
    place[distinct] = np.arange(len(distinct))
    return distinct, place[keys]
