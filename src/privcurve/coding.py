"""Numbers and categories as codes: the one coder, and the one-hot matrix of codes.

A *coded matrix* has a row a record and a column a feature; column ``j`` holds codes
``0 … n_bins[j] - 1``. What a code stands for is public, and no code depends on another
record. The pipeline (`datasets`) and a learner with ``bounds=`` code alike, to the last bit.
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
# Arrays by what they hold. Signs are labels, -1 or +1.
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Signs = NDArray[np.int8]

# Names of the types of missing values; two of them are pandas types.
ABSENT = frozenset({"NoneType", "NAType", "NaTType"})

EQUAL = "equal"
LOG = "log"
LOG1P = "log1p"
MIXED = "mixed"
MIXED_HIGH = "mixed-high"
WHOLE = "whole"

# The logarithmic half of mixed bins halves the range this often: the finest bins are about 2^-14 of
# the range wide, so a public bound that is ten thousand times too wide costs little.
HALVINGS = 14

# The number of PrivGAM's rule for merging mixed bins. Raised when it changes: data with mixed bins
# then have another checksum, so their results are made anew, and no others. To how many bins other
# learners merge them (`few_bins` of their entries) stands in the ids of runs.
MERGING = 3

# Labels are bytes with a sign, codes two bytes at the most.
MOST_CLASSES = 128
MOST_CODES = 2**16


class Records(NamedTuple):
    """Coded records with labels: the one form in which a learner sees them."""

    codes: Codes  # (n_rows, n_columns)
    # (n_rows,): −1 or +1 (int8); positions of classes, 0 … K − 1 (int64), where more than two are
    # taken.
    labels: NDArray[Any]
    counts: NDArray[np.int64]  # (n_rows,): how many records each row stands for
    n_bins: NDArray[np.int64]  # (n_columns,): public: how many codes each column has

    @property
    def n(self) -> int:
        """Number of records."""
        return int(self.counts.sum())

    @property
    def learner(self) -> str:
        """In whose fit they are sealed; empty: they are open."""
        return ""

    @property
    def exact(self) -> Records:
        """The open records of the fit, of which a curator makes rows: these."""
        return self

    @property
    def batch(self) -> str:
        """The name of the sampled batch that they are; empty: they are all records of a fit."""
        return ""

    def as_batch(self, drawn: Records, name: str) -> Records:
        """Return some of these records as a batch of the fit: themselves."""
        return drawn

    def copy(self) -> Records:
        """Return records that can be written into without a change of these."""
        return self._replace(
            codes=self.codes.copy(), labels=self.labels.copy(), counts=self.counts.copy()
        )


def limit_places(persons: Sequence[str], at_most: int, seed: int) -> NDArray[np.intp]:
    """Return the places of at most `at_most` records of each person, in order.

    The choice depends on the person's name, the number of the person's records, and the seed: not
    on what the records hold, nor on other persons' records. So a change of one person's records
    changes at most `at_most` of those that are kept, and none of another person.
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
    """Return the labels of coded data: −1 and +1 of two classes, 0 … K − 1 of more."""
    return (-1, 1) if n_classes == 2 else tuple(range(n_classes))


def decide(scores: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return the position of the class that scores decide for.

    Of two classes, one score a row, 1 where it is above zero; of more, one a class, the first of
    the largest.
    """
    return np.argmax(scores, axis=1) if scores.ndim == 2 else (scores > 0).astype(np.intp)


def bin_starts(n_bins: ArrayLike) -> NDArray[np.int64]:
    """Return where the bins of each column start if all are numbered, and how many there are."""
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
        ``equal``: bins of equal width. ``log``: of equal ratio; `low` is above 0. ``log1p``:
        of equal ratio of 1 + value; `low` is above -1. ``mixed``: half of the bins spread evenly
        over the range, half evenly over the logarithm of the distance to `low`; to 0, on either
        side, if that lies between the bounds. ``mixed-high``: the same from `high` downwards.
        ``whole``: bins of whole numbers, each of as many as possible; both bounds are whole.
    exact : bool
        Whether edges of equal width stay as they are computed.

    Returns
    -------
    ndarray of shape (n_bins + 1,)
        Increasing; the first is `low` and the last `high`; of whole numbers, `high` + 1. All others
        are rounded to twelve digits, so that they are the numbers that people read, and the same
        on every machine.

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
    """Return the spacing that makes mixed bins finest near 0 where no bound is above 0.

    Other spacings stay as they are.
    """
    return MIXED_HIGH if spacing == MIXED and low < 0 and high <= 0 else spacing


def _lower_mixed_edges(low: float, high: float, n_bins: int, from_high: bool) -> Floats:
    """Return all edges of mixed bins but the highest."""
    width = high - low
    if from_high:
        ends = high - width * _mixed_shares(n_bins)[:0:-1]
    elif low < 0 < high and n_bins > 1:
        # The even half of the bins by width, the logarithmic half to both sides alike.
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
    """Find the bin of each number, by the edges that the names of bins show; they increase.

    A value on an edge belongs to the bin above it; the upper bound to the last bin. What lies
    outside belongs to the nearest bin.
    """
    return np.searchsorted(np.asarray(edges)[1:-1], numbers, side="right")


def code_type(n_bins: ArrayLike) -> type[np.uint8] | type[np.uint16]:
    """Return the smallest type that holds the codes of columns with these numbers of bins.

    Raises ValueError if none does: the codes would overflow.
    """
    most = int(np.max(n_bins))
    if most > MOST_CODES:
        raise ValueError(f"a column has {most:,} codes, more than {MOST_CODES:,}")
    return np.uint8 if most <= 256 else np.uint16


def code_equal_width(
    X: NDArray[Any], bounds: tuple[ArrayLike, ArrayLike], n_bins: NDArray[np.int64]
) -> Codes:
    """Clip numbers to public bounds and cut them into bins of equal width.

    A bound is one number or one a column. Raises ValueError if they leave no finite width above 0.
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
    """Return the group of each code, by column: of neighbours evenly, in `most` groups at most.

    `neighbours` are how many of the first codes of each column may be merged: those that stand in
    the order of what they mean. Others stay as they are.
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
    """Return a matrix with a column for each code of each column: `value` at the row's codes.

    Every row holds exactly one entry for each coded column, so its L2 norm is ``value ·
    √n_columns``, whatever the data.
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
    """Put the codes of each column at equal distances from −1 to 1: −1 + 2·code/(n_bins − 1).

    Numbers keep their order; categories get that of their description. A column of one code is 0.
    The result lies in memory row by row (``C``) or column by column (``F``).
    """
    distances = np.empty(codes.shape, order=order)
    for j, bins in enumerate(n_bins.tolist()):
        places = -1 + 2 * np.arange(bins) / (bins - 1) if bins > 1 else np.zeros(1)
        distances[:, j] = places[codes[:, j]]
    return distances
