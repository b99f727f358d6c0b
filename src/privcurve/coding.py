"""Encode numbers and categories as bins (codes), and bins as a one-hot matrix.

A *coded matrix* has one row for each record and one column for each feature; column ``j`` contains
codes ``0 … n_bins[j] - 1``. The meaning of a code is public, and no code depends on another record.
The pipeline (`datasets`) and a learner with ``bounds=`` give equal codes, to the last bit.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privcurve.lazy import arithmetic

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Codes = NDArray[np.unsignedinteger[Any]]
# Types of arrays by their content. Signs are labels, -1 or +1.
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Signs = NDArray[np.int8]

# Names of the types of missing values; two of these are pandas types.
ABSENT = frozenset({"NoneType", "NAType", "NaTType"})

EQUAL = "equal"
LOG = "log"
LOG1P = "log1p"
MIXED = "mixed"
MIXED_HIGH = "mixed-high"
WHOLE = "whole"

# The logarithmic half of mixed bins halves the range so many times. The finest bins have a width of
# about 2^-14 of the range, so a public bound that is ten thousand times too wide costs little.
HALVINGS = 14

# Version of PrivGAM's rule for merging mixed bins. A new version changes the checksum of data with
# mixed bins, so that their results, and no others, are computed again. For other learners the ids
# of runs include the number of merged bins (`few_bins` of their entries).
MERGING = 3

# Labels are signed bytes; codes have at most two bytes.
MOST_CLASSES = 128
MOST_CODES = 2**16


class Records(NamedTuple):
    """Encoded records with labels, as all learners get them."""

    codes: Codes  # (n_rows, n_columns)
    # (n_rows,): −1 or +1 (int8); or, for learners of more than two classes, positions of classes,
    # 0 … K − 1 (int64).
    labels: NDArray[Any]
    counts: NDArray[np.int64]  # (n_rows,): number of records of each row
    n_bins: NDArray[np.int64]  # (n_columns,): number of bins of each column; public

    @property
    def n(self) -> int:
        """Number of records."""
        return int(self.counts.sum())

    @property
    def learner(self) -> str:
        """The learner whose fit has sealed the records; empty for open records."""
        return ""

    @property
    def exact(self) -> Records:
        """The open records for a curator's rows: this object."""
        return self

    def copy(self) -> Records:
        """Return an independent copy of the records."""
        return self._replace(
            codes=self.codes.copy(), labels=self.labels.copy(), counts=self.counts.copy()
        )


def limit_places(persons: Sequence[str], at_most: int, seed: int) -> NDArray[np.intp]:
    """Return the positions of at most `at_most` records of each person, in increasing order.

    The choice depends on the person's name, the number of the person's records, and the seed, but
    not on the values of records or on other persons. So a change of one person's records changes at
    most `at_most` kept records, all of this person.
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
    """Return the position of the predicted class of each row.

    Two classes have one score per row; the position is 1 if it is above 0. More classes have one
    score per class; the position is the first largest score.
    """
    return np.argmax(scores, axis=1) if scores.ndim == 2 else (scores > 0).astype(np.intp)


def bin_starts(n_bins: ArrayLike) -> NDArray[np.int64]:
    """Return the number of the first bin of each column, and the number of all bins.

    Bins are numbered through all columns; the result has the shape (n_columns + 1,).
    """
    counts = np.asarray(n_bins)
    starts = np.zeros(counts.size + 1, dtype=np.int64)
    counts.cumsum(out=starts[1:])
    return starts


def edges(
    low: float, high: float, n_bins: int, spacing: str = EQUAL, exact: bool = False
) -> NDArray[np.float64]:
    """Return the edges of bins between two bounds.

    Parameters
    ----------
    low, high : float
        Lowest and highest value; public.
    n_bins : int
    spacing : str
        ``equal``: bins of equal width. ``log``: bins of equal ratio; `low` must be above 0.
        ``log1p``: bins of equal ratio of 1 + value; `low` must be above -1. ``mixed``: half of the
        bins are even over the range, the other half over the logarithm of the distance to `low`, or
        of the distance to 0 on both sides if 0 is between the bounds. ``mixed-high``: the same from
        `high` downwards. ``whole``: bins of whole numbers, about equally many in each; both bounds
        must be whole.
    exact : bool
        Whether to leave edges of equal width unrounded.

    Returns
    -------
    ndarray of shape (n_bins + 1,)
        Increasing edges, from `low` to `high` (for whole numbers, to `high` + 1). Inner edges are
        rounded to twelve digits, so that they equal the printed numbers, on every machine.

    Raises
    ------
    ValueError
        If a bin would have no finite width above 0.
    """
    low, high = float(low), float(high)
    if not low < high:
        raise ValueError("must be [low, high] with low < high")
    shift = 1.0 if spacing == LOG1P else 0.0
    if spacing in (LOG, LOG1P) and low + shift <= 0:
        raise ValueError(f"must lie above {0 - shift:g}: spacing {spacing} takes a logarithm")
    steps = np.arange(n_bins)
    with np.errstate(over="ignore", invalid="ignore"):
        if spacing == EQUAL:
            evenly = low + (high - low) * steps / n_bins
            inner = evenly if exact else _round_edges(evenly)
        elif spacing == WHOLE:
            high += 1
            inner = np.ceil(low + (high - low) * steps / n_bins)
        elif spacing in (MIXED, MIXED_HIGH):
            inner = _lower_mixed_edges(low, high, n_bins, spacing == MIXED_HIGH)
        else:
            growth = arithmetic.log((high + shift) / (low + shift))
            ratio = (low + shift) * arithmetic.exps(growth * (steps / n_bins))
            inner = _round_edges(ratio - shift)
        ends = np.append(inner, high)
        ends[0] = low
        widths = np.diff(ends)
    if not (np.isfinite(widths) & (widths > 0)).all():
        raise ValueError(f"leave {n_bins} bins no finite width above 0")
    return ends


def spacing_towards_zero(spacing: str, low: float, high: float) -> str:
    """Return the spacing that makes mixed bins finest near 0, even if no bound is above 0.

    Other spacings are returned unchanged.
    """
    return MIXED_HIGH if spacing == MIXED and low < 0 and high <= 0 else spacing


def _lower_mixed_edges(low: float, high: float, n_bins: int, from_high: bool) -> Floats:
    """Return all edges of mixed bins except the highest."""
    width = high - low
    if from_high:
        ends = high - width * _mixed_shares(n_bins)[:0:-1]
    elif low < 0 < high and n_bins > 1:
        # The even half is divided by width, the logarithmic half equally between both sides.
        below = min(max(round(n_bins * (0.5 * -low / width + 0.25)), 1), n_bins - 1)
        ends = np.concatenate(
            [low * _mixed_shares(below)[:0:-1], high * _mixed_shares(n_bins - below)[:-1]]
        )
    else:
        ends = low + width * _mixed_shares(n_bins)[:-1]
    return _round_edges(ends)


def _round_edges(ends: Floats) -> Floats:
    return np.array([float(f"{end:.12g}") for end in ends])


def _mixed_shares(n_bins: int) -> Floats:
    """Return the edges of mixed bins over [0, 1].

    Edge k is the u for which ½u + ½max(0, 1 + log2(u)/HALVINGS) = k/n_bins, found by bisection.
    """
    aims = np.arange(n_bins + 1) / n_bins
    low, high = np.zeros(n_bins + 1), np.ones(n_bins + 1)
    for _ in range(80):
        middle = 0.5 * (low + high)
        reached = 0.5 * middle + 0.5 * np.maximum(0, 1 + arithmetic.log2s(middle) / HALVINGS)
        low, high = np.where(reached < aims, middle, low), np.where(reached < aims, high, middle)
    high[0] = 0.0
    return high


def code_by_edges(numbers: NDArray[np.float64], edges: ArrayLike) -> NDArray[np.int64]:
    """Return the bin of each number, for increasing edges.

    A number on an edge is in the bin above it; the upper bound is in the last bin. A number out of
    bounds is in the nearest bin.
    """
    return np.searchsorted(np.asarray(edges)[1:-1], numbers, side="right")


def code_type(n_bins: ArrayLike) -> type[np.uint8] | type[np.uint16]:
    """Return the smallest type that holds the codes of columns with these numbers of bins.

    Raises ValueError if the codes would overflow all types.
    """
    most = int(np.max(n_bins))
    if most > MOST_CODES:
        raise ValueError(f"a column has {most:,} codes, more than {MOST_CODES:,}")
    return np.uint8 if most <= 256 else np.uint16


def code_equal_width(
    X: NDArray[Any], bounds: tuple[ArrayLike, ArrayLike], n_bins: NDArray[np.int64]
) -> Codes:
    """Clip numbers to public bounds, and return their bins of equal width.

    A bound is one number, or an array with one number for each column. Raises ValueError if the
    bounds leave no finite width above 0.
    """
    numbers = np.asarray(X, dtype=np.float64)
    low, high = (np.broadcast_to(np.asarray(b, dtype=np.float64), n_bins.shape) for b in bounds)
    codes: NDArray[Any] = np.empty(numbers.shape, dtype=code_type(n_bins))
    for j, bins in enumerate(n_bins):
        try:
            between = edges(low[j], high[j], int(bins))
        except ValueError as error:
            raise ValueError(f"bounds {low[j]:g}, {high[j]:g} of column {j} {error}") from None
        codes[:, j] = code_by_edges(numbers[:, j], between)
    return codes


def merge_bins(n_bins: NDArray[np.int64], neighbours: ArrayLike, most: int) -> list[Codes]:
    """Return the group of each code, by column: adjacent codes merged evenly into `most` groups.

    `neighbours` has, for each column, the number of first codes that may be merged, as they are in
    the order of their meaning. The other codes are not merged.
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
    """Return the one-hot matrix of codes, with `value` in place of 1.

    Every row has exactly one entry for each coded column, so its L2 norm is ``value · √n_columns``
    for all data.
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
    """Return codes scaled to [−1, 1]: −1 + 2·code/(n_bins − 1).

    Numbers keep their order; categories have the order of the description. A column with one code
    becomes 0. The memory layout is row by row (``C``) or column by column (``F``).
    """
    distances = np.empty(codes.shape, order=order)
    for j, bins in enumerate(n_bins.tolist()):
        places = -1 + 2 * np.arange(bins) / (bins - 1) if bins > 1 else np.zeros(1)
        distances[:, j] = places[codes[:, j]]
    return distances
