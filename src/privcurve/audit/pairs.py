"""Neighbouring datasets: two sets of records that differ in one."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Records:
    """Coded records with labels.

    Attributes
    ----------
    codes : ndarray of unsigned integers, shape (n, n_columns)
    signs : ndarray of int8, shape (n,)
        −1 or +1.
    n_bins : ndarray of int64, shape (n_columns,)
        Public: how many codes each column has.
    counts : ndarray of int64, shape (n,)
        How many records each row stands for.
    """

    codes: NDArray[np.unsignedinteger[Any]]
    signs: NDArray[np.int8]
    n_bins: NDArray[np.int64]
    counts: NDArray[np.int64]

    @property
    def n(self) -> int:
        """Number of records."""
        return int(self.counts.sum())

    def ordered(self) -> Records:
        """Give the same records in an order that only depends on which they are."""
        order = np.lexsort([self.counts, self.signs, *self.codes.T])
        return Records(self.codes[order], self.signs[order], self.n_bins, self.counts[order])

    def key(self) -> bytes:
        """Give what is equal for equal records in the same order."""
        parts = (self.n_bins, self.codes, self.signs, self.counts)
        return b"|".join(part.tobytes() for part in parts)


@dataclass(frozen=True)
class Pair:
    """Replace-one neighbours: the record at `where` differs, no other.

    Attributes
    ----------
    dataset : str
        ``tiny``, or the name of the dataset that the canary was put into.
    name : str
        Says what the pair is.
    left, right : Records
    where : int
        The row of the replaced record; it stands for one record.
    """

    dataset: str
    name: str
    left: Records
    right: Records
    where: int = 0

    @property
    def canaries(self) -> NDArray[np.unsignedinteger[Any]]:
        """The codes of the replaced record, on the left and on the right."""
        return np.stack([self.left.codes[self.where], self.right.codes[self.where]])


@dataclass(frozen=True)
class Target:
    """A real dataset that canaries are put into.

    Attributes
    ----------
    name : str
    records : Records
        Each row stands for one.
    """

    name: str
    records: Records


def records(
    codes: Sequence[Sequence[int]] | NDArray[Any],
    signs: Sequence[int] | NDArray[Any],
    n_bins: Sequence[int] | NDArray[Any],
    counts: Sequence[int] | NDArray[Any] | None = None,
) -> Records:
    """Make records from lists or arrays; each row stands for one unless `counts` says else."""
    bins = np.asarray(n_bins, dtype=np.int64)
    table: NDArray[np.unsignedinteger[Any]] = np.ascontiguousarray(
        codes, dtype=np.uint8 if bins.max() <= 256 else np.uint16
    )
    labels = np.asarray(signs, dtype=np.int8)
    of_rows = np.ones(len(labels)) if counts is None else np.asarray(counts)
    return Records(table, labels, bins, of_rows.astype(np.int64))


def all_neighbours(n: int, n_bins: Sequence[int]) -> Iterator[Pair]:
    """Give every pair of neighbours of n records over a small domain.

    A record is one of all combinations of codes and labels; the order of records does not
    matter, and each unordered pair comes once.

    Parameters
    ----------
    n : int
    n_bins : sequence of int
    """
    cells = list(itertools.product(*(range(bins) for bins in n_bins), (-1, 1)))

    def make(chosen: tuple[int, ...]) -> Records:
        table = np.array([cells[i] for i in chosen], dtype=np.int64).reshape(n, -1)
        return records(table[:, :-1], table[:, -1], n_bins)

    for others in itertools.combinations_with_replacement(range(len(cells)), n - 1):
        for one, other in itertools.combinations(range(len(cells)), 2):
            name = f"{cells[one]} or {cells[other]} with {[cells[i] for i in others]}"
            yield Pair("tiny", name, make((one, *others)), make((other, *others)))


def flipped_constant(n: int) -> Pair:
    """Give n equal records with the label +1, and the same with one label flipped.

    The worst pair of one private 1-rule (PRIVACY.md §b): every literal has an error of 0
    or 1 on the left, and 1/n or 1 − 1/n on the right.
    """
    return _flip("tiny", f"{n} equal records, one label flipped", n - 1, 0)


def flipped_balance(n: int, surplus: int, dataset: str = "tiny") -> Pair:
    """Give n equal records, about half of them positive, with one label flipped.

    However large n is, the private choice between the two labels stays uncertain, so that
    the change of one record can be seen in few trainings.

    Parameters
    ----------
    n : int
    surplus : int
        How many more of the others are positive than negative; one more if that is odd
        where n − 1 is even, or the reverse.
    dataset : str
    """
    positive = min(n - 1, (n - 1 + surplus + 1) // 2)
    name = f"{n} equal records, labels about balanced, one flipped"
    return _flip(dataset, name, positive, n - 1 - positive)


def _flip(dataset: str, name: str, positive: int, negative: int) -> Pair:
    counts = np.array([1, positive, negative])
    used = counts > 0
    sides = []
    for label in (1, -1):
        signs = np.array([label, 1, -1])
        sides.append(records(np.zeros((used.sum(), 1)), signs[used], [1], counts[used]))
    return Pair(dataset, name, sides[0], sides[1])


def crossed() -> Pair:
    """Give two records in two columns of two bins, whose columns change places.

    The positive record has the code 0 in both columns. The negative one, which is replaced,
    shares the code of the first column on the left, that of the second on the right. So
    one question tells the labels apart and the other does not, which is which depends on
    the side, and all leaves of both move. It is the worst pair of the published DPBoost among
    all of two or three such records.
    """
    sides = [records([codes, [0, 0]], [-1, 1], [2, 2]) for codes in ([0, 1], [1, 0])]
    return Pair("tiny", "two records, columns that change places", sides[0], sides[1])


def alone() -> Pair:
    """Give one positive record, which differs in its code.

    What is unknown to a learner is negative for it: a teacher of bagging votes + on the
    left for the code 0 alone, and on the right for the code 1 alone.
    """
    sides = [records([[code]], [1], [2]) for code in (0, 1)]
    return Pair("tiny", "one record alone, in one of two bins", sides[0], sides[1])


def with_canary(target: Target, row: NDArray[Any], where: int = 0) -> Pair:
    """Put a canary record into a dataset, with the label +1 on the left, −1 on the right.

    Parameters
    ----------
    target : Target
    row : ndarray of shape (n_columns,)
        Codes of the canary.
    where : int
        The record that it replaces.
    """
    base = target.records
    assert base.counts[where] == 1, "the canary replaces a single record"
    codes = base.codes.copy()
    codes[where] = row
    sides = []
    for label in (1, -1):
        signs = base.signs.copy()
        signs[where] = label
        sides.append(Records(codes, signs, base.n_bins, base.counts))
    return Pair(target.name, "canary with its label flipped", sides[0], sides[1], where)
