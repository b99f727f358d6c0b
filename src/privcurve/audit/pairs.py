"""Make and check pairs of neighbouring tables, which differ in one record."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privcurve.coding import Floats, Records
from privcurve.privacy.budget import ADD_REMOVE, PRIVATE_COLUMNS, REPLACE_ONE


@dataclass(frozen=True, eq=False)
class Pair:
    """Two neighbouring tables (*sides*), which differ in one record."""

    dataset: str  # `tiny`, or the name of the real dataset from which the records are
    name: str  # describes the pair
    # The sides differ in their first row, which has a count of 1. For `add-remove`, only the larger
    # side has this row.
    left: Records
    right: Records
    # `replace-one`; `add-remove`: one side has one more record; or `private-columns`: the record
    # differs only in private columns.
    neighbours: str = REPLACE_ONE
    # The private columns, for `private-columns`. Other columns and the label are public.
    private: tuple[int, ...] = ()

    @property
    def canaries(self) -> NDArray[np.unsignedinteger[Any]]:
        """The bins of the differing record on each side, (2, n_columns); one row for add-remove."""
        if self.neighbours == ADD_REMOVE:
            return self.larger.codes[:1]
        return np.stack([self.left.codes[0], self.right.codes[0]])

    @property
    def labels(self) -> Floats:
        """Signs for the rows of `canaries`: Σ sign · score tends to be larger in fits to `left`."""
        if self.neighbours == ADD_REMOVE:
            side = 1 if self.larger is self.left else -1
            return np.array([side * self.larger.labels[0]], dtype=float)
        return np.array([self.left.labels[0], -self.right.labels[0]], dtype=float)

    @property
    def larger(self) -> Records:
        """The side with more records; the left side if both have equally many."""
        return self.right if self.right.n > self.left.n else self.left


def check_pair(pair: Pair) -> None:
    """Raise ValueError unless the two sides are neighbours in the relation of the pair."""
    left, right = pair.left, pair.right
    if not np.array_equal(left.n_bins, right.n_bins):
        raise ValueError(f"the tables of the pair '{pair.name}' must have equal numbers of bins")
    if pair.neighbours == ADD_REMOVE:
        differ = _count_rows(left)
        differ.subtract(_count_rows(right))
        more = next(_rows(pair.larger))[0]
        sound = sum(map(abs, differ.values())) == 1 and abs(differ[more]) == 1
    else:
        one, other = list(_rows(left)), list(_rows(right))
        differs = [row != its for row, its in zip(one, other, strict=False)]
        sound = len(one) == len(other) and differs[0] and sum(differs) == 1
        sound = sound and left.counts[0] == right.counts[0] == 1
        if pair.neighbours == PRIVATE_COLUMNS:
            columns = np.flatnonzero(left.codes[0] != right.codes[0])
            sound = sound and left.labels[0] == right.labels[0]
            sound = sound and bool(np.isin(columns, pair.private).all())
    if not sound:
        raise ValueError(f"the pair '{pair.name}' is not a pair of {pair.neighbours} neighbours")


def _rows(side: Records) -> Iterator[tuple[tuple[int, ...], int]]:
    """Yield the bins and the label of each row as one tuple, and the row's count."""
    table = np.column_stack([side.codes, side.labels]).tolist()
    return ((tuple(row), count) for row, count in zip(table, side.counts.tolist(), strict=True))


def _count_rows(side: Records) -> Counter[tuple[int, ...]]:
    total: Counter[tuple[int, ...]] = Counter()
    for row, count in _rows(side):
        total[row] += count
    return total


@dataclass(frozen=True)
class Target:
    """A real dataset for pairs with canaries; each row is one record."""

    name: str
    records: Records


def records(
    codes: Sequence[Sequence[int]] | NDArray[Any],
    signs: Sequence[int] | NDArray[Any],
    n_bins: Sequence[int] | NDArray[Any],
    counts: Sequence[int] | NDArray[Any] | None = None,
) -> Records:
    """Return records from lists or arrays; a row counts as one record if `counts` is not given."""
    bins = np.asarray(n_bins, dtype=np.int64)
    table: NDArray[np.unsignedinteger[Any]] = np.ascontiguousarray(
        codes, dtype=np.uint8 if bins.max() <= 256 else np.uint16
    )
    labels = np.asarray(signs, dtype=np.int8)
    of_rows = np.ones(len(labels)) if counts is None else np.asarray(counts)
    return Records(table, labels, of_rows.astype(np.int64), bins)


def sort_rows(side: Records) -> Records:
    """Return the same records in an order that depends only on their values."""
    order = np.lexsort([side.counts, side.labels, *side.codes.T])
    return Records(side.codes[order], side.labels[order], side.counts[order], side.n_bins)


Row = tuple[Sequence[int], int]


def replace_record(
    name: str,
    left: Row,
    right: Row,
    others: Sequence[Row],
    n_bins: Sequence[int],
    counts: Sequence[int] | None = None,
    dataset: str = "tiny",
    private: tuple[int, ...] = (),
) -> Pair:
    """Return a pair whose sides have the records `left` and `right`, and both have `others`.

    A row is a tuple of bins and label. `counts` says how many records each row of `others` stands
    for. With `private` columns, the sides are private-columns neighbours, else replace-one.
    """
    of_rows = [1, *(counts or [1] * len(others))]

    def side(row: Row) -> Records:
        codes, signs = zip(row, *others, strict=True)
        return records(codes, signs, n_bins, of_rows)

    relation = PRIVATE_COLUMNS if private else REPLACE_ONE
    return Pair(dataset, name, side(left), side(right), relation, private)


def all_neighbours(n: int, n_bins: Sequence[int]) -> Iterator[Pair]:
    """Yield every pair of neighbouring tables of n records over a small domain.

    A record is any combination of bins and label. Tables with the same records in another order
    count as one table. Each pair of tables occurs once, not again with swapped sides.
    """
    cells = list(itertools.product(*(range(bins) for bins in n_bins), (-1, 1)))
    rows: list[Row] = [(cell[:-1], cell[-1]) for cell in cells]
    for others in itertools.combinations_with_replacement(range(len(cells)), n - 1):
        for one, other in itertools.combinations(range(len(cells)), 2):
            name = f"{cells[one]} or {cells[other]} with {[cells[i] for i in others]}"
            yield replace_record(name, rows[one], rows[other], [rows[i] for i in others], n_bins)


def flipped_constant(n: int) -> Pair:
    """Return a pair of tables: n equal records with the label +1; one label flips.

    This is the worst pair for one private 1-rule (docs/proofs.md, 'LazyBB: 1-rules'): each literal
    has an error of 0 or 1 on the left, and of 1/n or 1 − 1/n on the right.
    """
    return _flip("tiny", f"{n} equal records, one label flipped", n - 1, 0)


def flipped_balance(n: int, surplus: int, dataset: str = "tiny") -> Pair:
    """Return a pair of tables: n equal records, about half of them positive; one label flips.

    `surplus` is about the number of positive labels minus the number of negative labels. If it is
    small, either label may win a private choice for any n, so a few trainings show the effect of
    one record.
    """
    positive = min(n - 1, (n - 1 + surplus + 1) // 2)
    name = f"{n} equal records, labels about balanced, one flipped"
    return _flip(dataset, name, positive, n - 1 - positive)


def _flip(dataset: str, name: str, positive: int, negative: int) -> Pair:
    counts = {label: n for label, n in ((1, positive), (-1, negative)) if n}
    others: list[Row] = [((0,), label) for label in counts]
    n_bins, of_rows = (1,), list(counts.values())
    return replace_record(name, ((0,), 1), ((0,), -1), others, n_bins, of_rows, dataset)


def cross_columns() -> Pair:
    """Return a pair of tables: two records in two columns of two bins; one swaps its two values.

    The positive record is in bin 0 of both columns. The negative record is in bins 0 and 1 on the
    left side, and in bins 1 and 0 on the right side. So the second column separates the labels on
    the left side, the first column on the right side, and both leaves of a split by either column
    change. Among all pairs of two or three such records, this pair is the worst for the published
    DPBoost.
    """
    name = "two records, columns that change places"
    return replace_record(name, ((0, 1), -1), ((1, 0), -1), [((0, 0), 1)], (2, 2))


def lone_record(n_codes: int = 2) -> Pair:
    """Return a pair of tables of one positive record: in the first bin (left), or the last (right).

    Learners predict the negative class for bins without records. So a model predicts the positive
    class only for the first bin if it is fitted to the left side, and only for the last bin if it
    is fitted to the right side.
    """
    name = f"one record alone, in one of {n_codes} bins"
    return replace_record(name, ((0,), 1), ((n_codes - 1,), 1), [], (n_codes,))


def add_record(side: Records, row: Sequence[int], sign: int, name: str) -> Pair:
    """Return an add-remove pair: `side`, and `side` with one more record of bins `row`."""
    codes = np.concatenate([np.asarray([row], dtype=side.codes.dtype), side.codes])
    labels, counts = np.append(np.int8(sign), side.labels), np.append(1, side.counts)
    return Pair("tiny", name, side, Records(codes, labels, counts, side.n_bins), ADD_REMOVE)
