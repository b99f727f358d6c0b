"""Divide columns into public ones, which may be read without noise, and private ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privcurve.coding import Codes, Ints, Signs

ALL = "all"
PUBLIC = "public"

# Each row is encoded as an integer key (`distinct_keys`). If there are more than SPARSE possible
# keys per row, sorting the keys is faster than marking them in a table of all possible keys.
SPARSE = 16


@dataclass(frozen=True)
class Roles:
    """The partition of columns into public and private ones."""

    n_columns: int
    # Positions of the public columns, in increasing order; the label is then public, too. If the
    # tuple is empty, only the label is public; None means that nothing is public.
    public: tuple[int, ...] | None

    @classmethod
    def from_positions(cls, learner: str, public: Sequence[int] | None, n_columns: int) -> Roles:
        """Check the positions of public columns, and return the roles; errors name `learner`."""
        if public is None:
            return cls(n_columns, None)
        positions = np.asarray(list(public))
        if positions.size and (positions.ndim != 1 or positions.dtype.kind not in "iu"):
            raise ValueError(
                f"{learner}: public_columns must be positions of columns (0, 1, …); got {public!r}"
            )
        columns = tuple(sorted(int(j) for j in positions))
        for j in columns:
            if not 0 <= j < n_columns:
                raise ValueError(
                    f"{learner}: public_columns must be in 0 … {n_columns - 1}; got {j}"
                )
        if len(set(columns)) < len(columns):
            raise ValueError(f"{learner}: public_columns must be distinct; got {public!r}")
        if len(columns) == n_columns:
            raise ValueError(
                f"{learner}: public_columns must leave a column to protect; it has all "
                f"{n_columns}: leave out the private ones"
            )
        return cls(n_columns, columns)

    @property
    def private(self) -> tuple[int, ...]:
        """Positions of the private columns, which are protected."""
        distinct = set(self.public or ())
        return tuple(j for j in range(self.n_columns) if j not in distinct)

    def columns(self, which: str) -> NDArray[np.intp]:
        """Return the positions of ``all``, ``public`` or ``private`` columns, as `which` says."""
        if which == ALL:
            return np.arange(self.n_columns)
        if self.public is None:
            raise ValueError(
                f"columns = {which!r} needs public columns: give public_columns=, their "
                "positions (in a study: neighbours: private-columns)"
            )
        return np.array(self.public if which == PUBLIC else self.private, dtype=np.intp)


@dataclass(frozen=True)
class PublicRows:
    """The distinct public parts of records (public columns and label), in sorted order.

    The order depends on the public parts alone. So results computed from them have the same bits
    for any content of the private columns, and do not depend on how records are split into rows
    and counts.
    """

    codes: Codes  # (n_distinct, n_public): bins of the public columns
    signs: Signs  # (n_distinct,): labels, −1 or +1
    counts: Ints  # (n_distinct,): number of records with each public part

    @classmethod
    def gather(cls, codes: Codes, signs: Signs, counts: Ints, n_bins: Ints) -> PublicRows:
        """Collect the distinct rows of an encoded matrix of public columns with its labels."""
        keys, row_of = distinct_keys(codes, signs, n_bins)
        first = np.full(len(keys), len(signs), dtype=np.int64)
        np.minimum.at(first, row_of, np.arange(len(signs)))
        totals = np.zeros(len(keys), dtype=np.int64)
        np.add.at(totals, row_of, counts)
        return cls(codes[first], signs[first], totals)


def distinct_keys(codes: Codes, signs: Signs, n_bins: Ints) -> tuple[NDArray[Any], Ints]:
    """Encode each row with its label as an integer key.

    Returns the distinct keys in increasing order, and the position of each row's key among them.
    """
    keys = (signs > 0).astype(np.int64)
    width = 2
    for j, bins in enumerate(n_bins.tolist()):
        if width > 2**62 // bins:
            # The keys would overflow: replace them by their ranks, which keep the order.
            distinct, keys = _rank_keys(keys, width)
            width = len(distinct)
        keys = keys * bins + codes[:, j]
        width *= bins
    return _rank_keys(keys, width)


def _rank_keys(keys: Ints, width: int) -> tuple[Ints, Ints]:
    """Return the distinct keys in increasing order, and the position of each key among them.

    Keys are integers from 0 to `width` − 1.
    """
    if width > SPARSE * len(keys):
        distinct, places = np.unique(keys, return_inverse=True)
        return distinct, places.astype(np.int64)
    # There are few possible keys: marking the occurring keys in a table is faster than sorting.
    occurs = np.zeros(width, dtype=bool)
    occurs[keys] = True
    distinct = np.flatnonzero(occurs)
    place = np.empty(width, dtype=np.int64)
    place[distinct] = np.arange(len(distinct))
    return distinct, place[keys]
