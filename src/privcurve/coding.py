"""Encoded records, their array types, and codes as a one-hot matrix.

An *encoded matrix* has a row per record and a column per feature; column ``j`` holds codes ``0 …
n_bins[j] - 1``. The meaning of a code is public, and the codes of a record depend on no other
record. The pipeline (`datasets`) and a learner with ``bounds=`` produce the same codes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Codes = NDArray[np.unsignedinteger[Any]]
# Types of arrays. Signs has labels −1 and +1.
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Signs = NDArray[np.int8]

# Names of the types of missing values in Python and pandas: to compare names, pandas need not be
# imported.
ABSENT = frozenset({"NoneType", "NAType", "NaTType"})

# Version of PrivGAM's rule for merging mixed bins. The checksum of a dataset with mixed bins
# contains this version, so that a change of the rule invalidates results on such datasets only.
# (Other learners merge bins to `few_bins` of their registry entry, which is a part of the ids of
# their runs.)
MERGING = 3

# Maximum number of classes, as labels may be signed bytes; and maximum number of bins of a column,
# as codes have at most two bytes.
MOST_CLASSES = 128
MOST_CODES = 2**16


class Records(NamedTuple):
    """Encoded records with their labels, as learners receive them.

    A row may stand for several equal records; `counts` has their number.
    """

    codes: Codes  # (n_rows, n_columns)
    # (n_rows,): −1 or +1 (int8), or, for learners of several classes, positions 0 … K − 1 (int64).
    labels: NDArray[Any]
    counts: NDArray[np.int64]  # (n_rows,): how many records each row represents
    n_bins: NDArray[np.int64]  # (n_columns,): number of bins of each column; public

    @property
    def n(self) -> int:
        """Number of records."""
        return int(self.counts.sum())

    @property
    def learner(self) -> str:
        """Name of the learner whose private fit sealed the records; empty if they aren't sealed."""
        return ""

    @property
    def exact(self) -> Records:
        """The unsealed records, for the curator: here this object itself, which is not sealed."""
        return self

    @property
    def batch(self) -> str:
        """Name of the batch, if these records are a batch that a fit drew; else empty."""
        return ""

    def as_batch(self, drawn: Records, name: str) -> Records:
        """Mark `drawn`, a sample of these records, as the batch `name` of the fit, and return it.

        Only sealed records need the mark; here, the result is `drawn` itself.
        """
        return drawn

    def copy(self) -> Records:
        """Return an independent copy of the records, which may be modified."""
        return self._replace(
            codes=self.codes.copy(), labels=self.labels.copy(), counts=self.counts.copy()
        )


def limit_places(persons: Sequence[str], at_most: int, seed: int) -> NDArray[np.intp]:
    """Return the positions of at most `at_most` records of each person, in increasing order.

    `persons` has the person of each record. The choice of a person's records depends on the
    person's name and number of records, and on the seed, but neither on the content of records nor
    on other persons. So if the records of one person change, at most `at_most` of the chosen
    records change.
    """
    places: dict[str, list[int]] = {}
    for place, person in enumerate(persons):
        places.setdefault(person, []).append(place)
    kept: list[int] = []
    for person, own in places.items():
        if len(own) > at_most:
            names = (f"{seed} {k} {person}".encode() for k in range(len(own)))
            coins = [hashlib.sha256(name).digest() for name in names]
            own = [place for _, place in sorted(zip(coins, own, strict=True))[:at_most]]
        kept += own
    return np.sort(np.array(kept, dtype=np.intp))


def class_labels(n_classes: int) -> tuple[int, ...]:
    """Return the labels of encoded data: −1 and +1 for two classes, 0 … K − 1 for more."""
    return (-1, 1) if n_classes == 2 else tuple(range(n_classes))


def decide(scores: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return, for each row, the position of the class with the highest score.

    For two classes, `scores` has one score per row: the result is 1 for a score above zero, else 0.
    For more classes, `scores` has the shape (n_rows, n_classes); ties go to the first class.
    """
    return np.argmax(scores, axis=1) if scores.ndim == 2 else (scores > 0).astype(np.intp)


def bin_starts(n_bins: ArrayLike) -> NDArray[np.int64]:
    """Return the index of each column's first bin, if bins are numbered across all columns.

    The last item of the result is the total number of bins.
    """
    counts = np.asarray(n_bins)
    starts = np.zeros(counts.size + 1, dtype=np.int64)
    counts.cumsum(out=starts[1:])
    return starts


def code_type(n_bins: ArrayLike) -> type[np.uint8] | type[np.uint16]:
    """Return the smallest integer type for the codes of columns with these numbers of bins.

    Raises ValueError if no supported type is large enough.
    """
    most = int(np.max(n_bins))
    if most > MOST_CODES:
        raise ValueError(f"a column must have at most {MOST_CODES:,} codes; got {most:,}")
    return np.uint8 if most <= 256 else np.uint16


def merge_bins(n_bins: NDArray[np.int64], neighbours: ArrayLike, most: int) -> list[Codes]:
    """Merge neighbouring codes of each column into at most `most` groups; return each code's group.

    The result has an array for each column. `neighbours` has, for each column, the number of codes
    whose order has a meaning: these first codes may be merged. Every later code (such as the code
    of a missing value) is a group of its own, in addition to the `most` groups.
    """
    groups: list[Codes] = []
    for count, n_ordered in zip(n_bins.tolist(), np.asarray(neighbours).tolist(), strict=True):
        group = np.arange(count)
        if n_ordered > most:
            group[:n_ordered] = group[:n_ordered] * most // n_ordered
            group[n_ordered:] += most - n_ordered
        groups.append(group.astype(code_type(n_bins)))
    return groups


def one_hot(codes: Codes, n_bins: NDArray[np.int64], value: float = 1.0) -> csr_array:
    """Encode codes one-hot: a sparse matrix with a column for each code of each column.

    A record's entry in the column of a code is `value` if the record has this code, else 0. So each
    row has one nonzero entry per encoded column, and the L2 norm ``value · √n_columns``.
    """
    from scipy.sparse import csr_array

    n_rows, n_columns = codes.shape
    first = (np.cumsum(n_bins) - n_bins).astype(np.int32)
    indices = (codes.astype(np.int32) + first).ravel()
    starts = np.arange(0, n_rows * n_columns + 1, n_columns, dtype=np.int32)
    entries = np.full(indices.size, value)
    return csr_array((entries, indices, starts), shape=(n_rows, int(n_bins.sum())))


def scale_codes(
    codes: Codes, n_bins: NDArray[np.int64], order: Literal["C", "F"] = "C"
) -> NDArray[np.float64]:
    """Scale the codes of each column to numbers from −1 to 1: −1 + 2·code/(n_bins − 1).

    Categories have the order of the dataset's description. A column with a single code becomes 0.
    `order` is the memory layout of the result: row-major (``C``) or column-major (``F``).
    """
    distances = np.empty(codes.shape, order=order)
    for j, bins in enumerate(n_bins.tolist()):
        places = -1 + 2 * np.arange(bins) / (bins - 1) if bins > 1 else np.zeros(1)
        distances[:, j] = places[codes[:, j]]
    return distances
