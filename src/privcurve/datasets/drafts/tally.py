"""Count what becomes of the values of a column under its description."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privcurve.datasets.cells import counted, texts_of
from privcurve.datasets.description import LabelSpec
from privcurve.datasets.domain import MISSING, NUMERIC, OTHER, Column, Domain
from privcurve.datasets.drafts.profile import count_some
from privcurve.datasets.encode import amounts, bin_codes, codes_of_texts, labels, texts

# Different values without a code that are counted one by one, and that are shown.
MOST_REFUSED = 1000
_SHOWN = 5
# Fewer values may be in one bin by chance.
FEW = 10


@dataclass
class Tally:
    """What becomes of the values of a column.

    Attributes
    ----------
    column : Column
    n : int
        Records.
    clipped, other, missing : int
        Values outside the bounds, of the group ``other``, and those that are not there.
    gaps : int
        Of the missing values, those that the column has no code for.
    refused : Counter of str
        Values that have no code.
    more : int
        How many values of those are not in `refused`, which counts `MOST_REFUSED` different ones.
    lowest, highest : float
        Of a numeric column's values.
    in_bins : ndarray of shape (bins,), int64
        How many values of a numeric column each of its bins holds, missing ones left out.
    """

    column: Column
    n: int = 0
    clipped: int = 0
    other: int = 0
    missing: int = 0
    gaps: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    more: int = 0
    lowest: float = math.inf
    highest: float = -math.inf

    def __post_init__(self) -> None:
        bins = self.column.bins
        self.in_bins: NDArray[np.int64] = np.zeros(bins, dtype=np.int64)
        # Of the values of each bin, clipped to the bounds.
        self._lowest, self._highest = np.full(bins, math.inf), np.full(bins, -math.inf)

    @property
    def n_there(self) -> int:
        """How many values are there."""
        return self.n - self.missing

    @property
    def in_one_bin(self) -> bool:
        """Whether all values are in one bin, so that they tell nothing apart."""
        return self.n_there >= FEW and np.count_nonzero(self.in_bins) == 1

    @property
    def crowded(self) -> int | None:
        """The bin that hides how more than half of the values differ; None if there is none.

        One that holds a single value, however often, hides nothing: no other bins tell more.
        """
        if self.n_there < FEW or not self.in_bins.any():
            return None
        fullest = int(self.in_bins.argmax())
        hides = self._lowest[fullest] < self._highest[fullest]
        return fullest if hides and 2 * self.in_bins[fullest] > self.n_there else None

    @property
    def is_lost(self) -> bool:
        """Whether values that differ are all in one bin, or all of no category that is listed."""
        if self.column.kind == NUMERIC:
            return self.in_one_bin and self.lowest < self.highest
        return FEW <= self.n_there == self.other

    def add(self, domain: Domain, values: Any) -> None:
        """Count some more values."""
        self.n += len(values)
        if self.column.kind == NUMERIC:
            self._amounts(domain, values)
        else:
            self._texts(domain, values)

    def _amounts(self, domain: Domain, values: Any) -> None:
        numbers, absent, wrong = amounts(domain, self.column, values)
        self.missing += int(absent.sum())
        if not self.column.missing_bin:
            self.gaps += int(absent.sum())
        there = numbers[~np.isnan(numbers)]
        codes, n_clipped = bin_codes(there, self.column)
        self.lowest = min(self.lowest, there.min(initial=math.inf))
        self.highest = max(self.highest, there.max(initial=-math.inf))
        self.clipped += n_clipped
        self.in_bins += np.bincount(codes, minlength=len(self.in_bins))
        within = np.clip(there, *(self.column.bounds or (-math.inf, math.inf)))
        np.minimum.at(self._lowest, codes, within)
        np.maximum.at(self._highest, codes, within)
        cells = texts_of(values) if wrong else []
        self._refuse(Counter(str(cells[row]).strip() for row in wrong))

    def _texts(self, domain: Domain, values: Any) -> None:
        column = self.column
        codes = codes_of_texts(domain, column)
        titles = dict(enumerate(column.titles))
        refused: Counter[str] = Counter()
        for each, count in counted(texts(domain, column, values)):
            code = codes.of([each])[0]
            text = (each or "").strip()
            if code < 0 and text in ("", *domain.missing):
                self.missing += count
                self.gaps += count
            elif code < 0:
                refused[text] += count
            elif titles[code] == MISSING:
                self.missing += count
            elif titles[code] == OTHER:
                self.other += count
        self._refuse(refused)

    def _refuse(self, values: Counter[str]) -> None:
        self.more += count_some(self.refused, values, MOST_REFUSED)

    def share(self, count: int) -> float:
        """Return a count as a share of all records."""
        return count / self.n if self.n else 0.0


@dataclass
class LabelTally:
    """What becomes of the values of a label.

    Attributes
    ----------
    label : LabelSpec
    n : int
        Records.
    known : Counter of str
        Values of its classes.
    refused : Counter of str
        Values of none.
    more : int
        How many values of those are not in `refused`, which counts `MOST_REFUSED` different ones.
    """

    label: LabelSpec
    n: int = 0
    known: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    more: int = 0

    def add(self, values: Any) -> None:
        """Count some more values."""
        self.n += len(values)
        counts: Counter[str] = Counter()
        for text, count in counted(values):
            counts[labels(self.label, [text])[0] or ""] += count
        for text in counts.keys() & self.label.codes.keys():
            self.known[text] += counts.pop(text)
        self.more += count_some(self.refused, counts, MOST_REFUSED)


def listed(tally: Tally | LabelTally) -> str:
    """Write the frequent ones of the values without a code, with how often they are there."""
    counts = tally.refused
    shown = ", ".join(f"{value!r} ({n:,})" for value, n in counts.most_common(_SHOWN))
    rest = len(counts) - _SHOWN
    return shown + (f" and {'over ' if tally.more else ''}{rest:,} more" if rest > 0 else "")
