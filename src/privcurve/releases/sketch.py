"""Sketches of tables, by which the same records are recognised under another name.

Each record is hashed under a secret of the owner's, from what stands in its cells and not from
its codes: the order of records, ends of lines, the form of the file and bins make no difference. A
sketch keeps the smallest hashes, a random sample of the distinct records that is the same sample in
each table that has them, so two sketches tell which share of the records two tables have in common
(bottom-k sketches: Broder, 1997; Cohen and Kaplan, 2007).

A sketch is for the owner alone, as its key is: who has both can try whether a record is in it.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privcurve.datasets import Description
from privcurve.datasets.readers.table import RawTable, wanted_fields
from privcurve.numerals import number

# The share of the smaller table, within ± 1.6 % (two standard errors) at a half.
SIZE = 4096
# More in common than this is the same table.
SAME = 0.5

Words = NDArray[np.uint64]

# A text is hashed once, as long as no more than so many are known.
MOST_KNOWN = 100_000


@dataclass(frozen=True)
class Sketch:
    """The smallest hashes of the distinct records of a table: at most `SIZE`, in order.

    `fields` is a digest of key and fields: hashes under another one can't be compared.
    """

    fields: str
    hashes: tuple[int, ...]

    def share(self, other: Sketch) -> float:
        """Estimate the share of the smaller table's records in both; 0 if that can't be told."""
        if self.fields != other.fields:
            return 0.0
        full = [one.hashes[-1] for one in (self, other) if len(one.hashes) == SIZE]
        # Up to here both hold all that there is.
        end = min(full, default=2**64)
        mine, others = ({h for h in one.hashes if h <= end} for one in (self, other))
        smaller = min(len(mine), len(others))
        return len(mine & others) / smaller if smaller else 0.0


class Sketcher:
    """Draw the sketch of a table, a piece at a time.

    The columns and the label of the description are hashed, under the owner's secret of 32 bytes.
    `n_records` is how many records were taken.
    """

    def __init__(self, description: Description, key: bytes) -> None:
        # Whose records they are is left out: the same table may be described without it.
        unit = description.unit and description.unit.column
        self._names = sorted(name for name in wanted_fields(description) if name != unit)
        self._key = _digest("\n".join(self._names), key)
        self._cells = _Cells(self._key, description.domain.missing, description.domain.decimal)
        self._smallest: Words = np.zeros(0, dtype=np.uint64)
        self.n_records = 0

    def add(self, table: RawTable) -> None:
        """Take some records."""
        cells = (self._cells.of(table.columns[name]) for name in self._names)
        hashes = siphash(self._key, cells, len(table.lines))
        self.n_records += len(table.lines)
        # Sorted and distinct.
        self._smallest = np.unique(np.concatenate([self._smallest, hashes]))[:SIZE]

    @property
    def sketch(self) -> Sketch:
        """What was drawn."""
        return Sketch(_digest("", self._key).hex(), tuple(self._smallest.tolist()))


class _Cells(dict[Any, int]):
    """The word of each cell, which depends on no other: equal numbers have one, however written."""

    def __init__(self, key: bytes, missing: Iterable[str], decimal: str) -> None:
        self._key, self._decimal = key, decimal
        self._absent = _word("", key)
        super().__init__(dict.fromkeys(("", *missing), self._absent))
        amounts = map(self._amount, missing)
        self._markers = [amount for amount in amounts if amount is not None]
        self._most = len(self) + MOST_KNOWN

    def of(self, values: Sequence[Any] | NDArray[Any]) -> Words:
        """Return the words of a column."""
        amounts = self._amounts(values)
        if amounts is None:
            return np.fromiter(map(self.__getitem__, values), dtype=np.uint64, count=len(values))
        # Zero has a sign.
        words = (amounts + 0.0).view(np.uint64)
        words[np.isnan(amounts) | np.isin(amounts, self._markers)] = self._absent
        return words

    def __missing__(self, value: Any) -> int:
        text = value.strip() if isinstance(value, str) else repr(value)
        amount = self._amount(text)
        if text != value and text in self:
            word = self[text]
        elif amount is None:
            word = _word(text, self._key)
        elif amount in self._markers:
            word = self._absent
        else:
            word = int(np.float64(amount + 0.0).view(np.uint64))
        if len(self) < self._most:
            self[value] = word
        return word

    def _amounts(self, values: Sequence[Any] | NDArray[Any]) -> NDArray[np.float64] | None:
        """Read cells that are numbers one and all, at once; None if they are not."""
        if isinstance(values, np.ndarray) and values.dtype.kind in "biuf":
            return values.astype(np.float64)
        try:
            together = "".join(values)
            if "_" in together or (self._decimal != "." and "." in together):
                return None
            if self._decimal != ".":
                values = [value.replace(self._decimal, ".") for value in values]
            amounts = np.array(values, dtype=np.float64)
        except (TypeError, ValueError):
            return None
        return amounts if np.isfinite(amounts).all() else None

    def _amount(self, text: str) -> float | None:
        if self._decimal != "." and "." in text:
            return None
        try:
            amount = number(text.replace(self._decimal, "."))
        except ValueError:
            return None
        return amount if math.isfinite(amount) else None


def _digest(text: str, key: bytes) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), key=key, digest_size=16).digest()


def _word(text: str, key: bytes) -> int:
    return int.from_bytes(_digest(text, key)[:8], "little")


def siphash(key: bytes, words: Iterable[Words], n: int) -> Words:
    """Hash many messages of the same length: SipHash-2-4 (Aumasson and Bernstein, 2012)."""
    halves = [int.from_bytes(key[:8], "little"), int.from_bytes(key[8:], "little")] * 2
    v = [np.full(n, half ^ word, np.uint64) for half, word in zip(halves, _SIPHASH, strict=True)]
    length = 0
    for block in words:
        _compress(v, block, 2)
        length += 8
    _compress(v, np.full(n, (length % 256) << 56, np.uint64), 2)
    v[2] ^= np.uint64(255)
    _compress(v, np.zeros(n, np.uint64), 4)
    return v[0] ^ v[1] ^ v[2] ^ v[3]


_SIPHASH = (0x736F6D6570736575, 0x646F72616E646F6D, 0x6C7967656E657261, 0x7465646279746573)


def _compress(v: list[Words], block: Words, rounds: int) -> None:
    v[3] ^= block
    for _ in range(rounds):
        for a, b, turn in ((0, 1, 13), (2, 3, 16)):
            v[a] += v[b]
            v[b] = _turned(v[b], turn) ^ v[a]
        v[0] = _turned(v[0], 32)
        for a, b, turn in ((2, 1, 17), (0, 3, 21)):
            v[a] += v[b]
            v[b] = _turned(v[b], turn) ^ v[a]
        v[2] = _turned(v[2], 32)
    v[0] ^= block


def _turned(words: Words, bits: int) -> Words:
    return (words << np.uint64(bits)) | (words >> np.uint64(64 - bits))
