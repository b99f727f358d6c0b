"""Neighbouring datasets: two sets of records that differ in one, and in which way."""

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
    """Neighbours: one record differs, no other.

    Attributes
    ----------
    dataset : str
        ``tiny``, or the name of the dataset that the canary was put into.
    name : str
        Says what the pair is.
    left, right : Records
    where : int
        The row of the record that differs. It stands for one record; or, where a record is
        added, the row of the larger side that has it.
    neighbours : str
        ``replace-one``; ``add-remove``: one side has a record more; or ``private-columns``:
        the record differs in private columns alone.
    private : tuple of int
        Which columns are private, for ``private-columns``. Others and the label are public.
    """

    dataset: str
    name: str
    left: Records
    right: Records
    where: int = 0
    neighbours: str = REPLACE_ONE
    private: tuple[int, ...] = ()

    @property
    def canaries(self) -> NDArray[np.unsignedinteger[Any]]:
        """The codes of the record, on the left and on the right; once if it is added."""
        if self.neighbours == ADD_REMOVE:
            return self.larger.codes[[self.where]]
        return np.stack([self.left.codes[self.where], self.right.codes[self.where]])

    @property
    def labels(self) -> Floats:
        """What the scores of the canaries are multiplied by, so that the left has more."""
        if self.neighbours == ADD_REMOVE:
            side = 1 if self.larger is self.left else -1
            return np.array([side * self.larger.labels[self.where]], dtype=float)
        signs = self.left.labels[self.where], -self.right.labels[self.where]
        return np.array(signs, dtype=float)

    @property
    def larger(self) -> Records:
        """The side that has more records; the left one if they have as many."""
        return self.right if self.right.n > self.left.n else self.left


def check_pair(pair: Pair) -> None:
    """Check that the two sides are neighbours in the way that the pair says."""
    left, right, i = pair.left, pair.right, pair.where
    if not np.array_equal(left.n_bins, right.n_bins):
        raise ValueError(f"the pair '{pair.name}' has two domains")
    if pair.neighbours == ADD_REMOVE:
        differ = _counted(left)
        differ.subtract(_counted(right))
        sound = sum(map(abs, differ.values())) == 1
        sound = sound and differ[_key(pair.larger, i)] in (-1, 1)
    else:
        same = left.codes.shape == right.codes.shape and left.counts[i] == right.counts[i] == 1
        if same:
            differs = (left.codes != right.codes).any(axis=1)
            differs |= (left.labels != right.labels) | (left.counts != right.counts)
            same = bool(differs[i]) and int(differs.sum()) == 1
        sound = same and (pair.neighbours == REPLACE_ONE or _only_private_differ(pair))
    if not sound:
        raise ValueError(f"the pair '{pair.name}' is no pair of {pair.neighbours} neighbours")


def _only_private_differ(pair: Pair) -> bool:
    if pair.neighbours != PRIVATE_COLUMNS or not pair.private:
        return False
    left, right, i = pair.left, pair.right, pair.where
    columns = np.flatnonzero(left.codes[i] != right.codes[i])
    return bool(left.labels[i] == right.labels[i] and np.isin(columns, pair.private).all())


def _key(side: Records, row: int) -> tuple[int, ...]:
    return (*side.codes[row].tolist(), int(side.labels[row]))


def _counted(side: Records) -> Counter[tuple[int, ...]]:
    found: Counter[tuple[int, ...]] = Counter()
    for row, count in enumerate(side.counts.tolist()):
        found[_key(side, row)] += count
    return found


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
    return Records(table, labels, of_rows.astype(np.int64), bins)


def ordered(side: Records) -> Records:
    """Return the same records in an order that only depends on which they are."""
    order = np.lexsort([side.counts, side.labels, *side.codes.T])
    return Records(side.codes[order], side.labels[order], side.counts[order], side.n_bins)


def all_neighbours(n: int, n_bins: Sequence[int]) -> Iterator[Pair]:
    """Return every pair of neighbours of n records over a small domain.

    A record is one of all combinations of codes and labels; the order of records does not
    matter, and each unordered pair comes once.
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
    """Return n equal records with the label +1, and the same with one label flipped.

    The worst pair of one private 1-rule (PRIVACY.md §b): every literal has an error of 0
    or 1 on the left, and 1/n or 1 − 1/n on the right.
    """
    return _flip("tiny", f"{n} equal records, one label flipped", n - 1, 0)


def flipped_balance(n: int, surplus: int, dataset: str = "tiny") -> Pair:
    """Return n equal records, about half of them positive, with one label flipped.

    However large n is, the private choice between the two labels stays uncertain, so that
    the change of one record can be seen in few trainings.
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
    """Return two records in two columns of two bins, whose columns change places.

    The positive record has the code 0 in both columns. The negative one, which is replaced,
    shares the code of the first column on the left, that of the second on the right. So
    one question tells the labels apart and the other does not, which is which depends on
    the side, and all leaves of both move. It is the worst pair of the published DPBoost among
    all of two or three such records.
    """
    sides = [records([codes, [0, 0]], [-1, 1], [2, 2]) for codes in ([0, 1], [1, 0])]
    return Pair("tiny", "two records, columns that change places", sides[0], sides[1])


def alone(n_codes: int = 2) -> Pair:
    """Return one positive record, which differs in its code: the first, or the last.

    What is unknown to a learner is negative for it: a teacher of bagging votes + on the
    left for the code 0 alone, and on the right for the last code alone.
    """
    sides = [records([[code]], [1], [n_codes]) for code in (0, n_codes - 1)]
    return Pair("tiny", f"one record alone, in one of {n_codes} bins", sides[0], sides[1])


def with_canary(target: Target, row: NDArray[Any], where: int = 0) -> Pair:
    """Put a canary record into a dataset, with the label +1 on the left, −1 on the right."""
    base = target.records
    assert base.counts[where] == 1, "the canary replaces a single record"
    codes = base.codes.copy()
    codes[where] = row
    sides = []
    for label in (1, -1):
        signs = base.labels.copy()
        signs[where] = label
        sides.append(base._replace(codes=codes, labels=signs))
    return Pair(target.name, "canary with its label flipped", sides[0], sides[1], where)


def added(side: Records, row: Sequence[int] | NDArray[Any], sign: int, name: str) -> Pair:
    """Add a record: it is on the right alone.

    Parameters
    ----------
    side : Records
    row : sequence of int
        Its codes.
    sign : int
        Its label.
    name : str
    """
    codes = np.concatenate([side.codes, np.asarray([row], dtype=side.codes.dtype)])
    signs = np.append(side.labels, np.int8(sign))
    right = Records(codes, signs, np.append(side.counts, 1), side.n_bins)
    return Pair("tiny", name, side, right, len(signs) - 1, ADD_REMOVE)
