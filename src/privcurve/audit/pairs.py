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
    """

    codes: NDArray[np.unsignedinteger[Any]]
    signs: NDArray[np.int8]
    n_bins: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.signs)

    def ordered(self) -> Records:
        """Give the same records in an order that only depends on which they are."""
        order = np.lexsort([self.signs, *self.codes.T])
        return Records(self.codes[order], self.signs[order], self.n_bins)

    def key(self) -> bytes:
        """Give what is equal for equal records in the same order."""
        return b"|".join([self.n_bins.tobytes(), self.codes.tobytes(), self.signs.tobytes()])


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
    """A real dataset, whose canaries are audited.

    Attributes
    ----------
    name : str
    records : Records
    """

    name: str
    records: Records


def records(
    codes: Sequence[Sequence[int]] | NDArray[Any],
    signs: Sequence[int] | NDArray[Any],
    n_bins: Sequence[int] | NDArray[Any],
) -> Records:
    """Make records from lists or arrays."""
    bins = np.asarray(n_bins, dtype=np.int64)
    dtype = np.uint8 if bins.max() <= 256 else np.uint16
    table = np.ascontiguousarray(codes, dtype=dtype)
    return Records(table, np.asarray(signs, dtype=np.int8), bins)


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
    codes = np.zeros((n, 1))
    signs = np.ones(n)
    flipped = np.concatenate([[-1], signs[1:]])
    return Pair(
        "tiny",
        f"{n} equal records, one label flipped",
        records(codes, signs, [1]),
        records(codes, flipped, [1]),
    )


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
    codes = base.codes.copy()
    codes[where] = row
    sides = []
    for label in (1, -1):
        signs = base.signs.copy()
        signs[where] = label
        sides.append(Records(codes, signs, base.n_bins))
    return Pair(target.name, "canary with its label flipped", sides[0], sides[1], where)
