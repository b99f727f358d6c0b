"""Profiles of columns: their values and kinds, counted a piece of the table at a time."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privcurve.datasets.coding import ISO, read_day, read_numbers, remove_grouping
from privcurve.datasets.reading import count_cells

# Texts that by convention stand for no value, in lower case.
MISSING_WORDS = frozenset(
    {"", "?", "-", "--", ".", "na", "n/a", "#n/a", "n.a.", "nan", "nat", "<na>", "null", "none"}
    | {"nil", "missing", "unknown", "not available", "not known", "unbekannt", "k.a."}
)

# Different values that are counted, of a column and of all columns together (but so many of each);
# of more it is only known that there are more.
MOST_VALUES = 20_000
MOST_TOGETHER = 2_000_000
_LEAST_VALUES = 200

# Share of the values that are there which must be of a kind, for a column of that kind. What
# is not is told by `check`.
NEARLY_ALL = 0.95

# The other one of the two marks in numbers.
OTHER = {".": ",", ",": "."}
# Marks before tenths and between thousands; programs write the first.
_MARKS = ((".", ""), (",", ""), (".", ","), (",", "."))

_DAYS = ("%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%Y/%m/%d", "%d-%m-%Y", "%m-%d-%Y", "%Y.%m.%d")
_SHORT = ("%d.%m.%y", "%d/%m/%y", "%m/%d/%y")
FORMS = (ISO, *(day + time for day in _DAYS + _SHORT for time in ("", " %H:%M", " %H:%M:%S")))
LIKE_A_DATE = re.compile(r"\d{1,4}[-./]\d{1,2}[-./]\d{2,4}(?:\b|T\d)")
_ISO = re.compile(r"\d{4}-\d{2}-\d{2}")
_LEADING_ZERO = re.compile(r"-?0\d+$")


def count_some(counts: Counter[str], more: Mapping[str, int], most: int) -> int:
    """Add to counts of values, of which so many are told apart; return how many are left out."""
    left_out = 0
    for value, count in more.items():
        if value in counts or len(counts) < most:
            counts[value] += count
        else:
            left_out += count
    return left_out


@dataclass
class Range:
    """The number of values of a kind, and their range."""

    n: int = 0
    low: float = float("inf")
    high: float = float("-inf")
    is_whole: bool = True

    def add(self, amounts: NDArray[np.float64], counts: NDArray[np.int64]) -> None:
        """Add some values, each with how often it is there."""
        if len(amounts):
            self.n += int(counts.sum())
            self.low = min(self.low, float(amounts.min()))
            self.high = max(self.high, float(amounts.max()))
            self.is_whole = self.is_whole and bool((np.floor(amounts) == amounts).all())


@dataclass
class Profile:
    """The profile of a column, for the data owner alone."""

    most: int = MOST_VALUES  # how many different values are counted
    n: int = 0  # records
    # Count of each spelling of a missing value.
    missing: Counter[str] = field(default_factory=Counter)
    # Counts of the other values, up to `most` different ones.
    values: Counter[str] = field(default_factory=Counter)
    more: bool = False  # whether there are values that were not counted
    n_apart: int = 0  # how many values were met until there were that many different ones
    # Numbers, by the mark before tenths and the mark between thousands.
    numbers: dict[tuple[str, str], Range] = field(
        default_factory=lambda: {marks: Range() for marks in _MARKS}
    )
    zeros: bool = False  # whether some number begins with a zero that means nothing, as codes do
    # Dates, by their format.
    dates: dict[str, Range] = field(default_factory=lambda: {form: Range() for form in FORMS})
    length: int = 0  # of all texts together

    @property
    def n_present(self) -> int:
        """How many values are there."""
        return self.n - self.missing.total()

    @property
    def share_distinct(self) -> float:
        """Different values per record, as far as counted: 1 if no value is there twice."""
        return len(self.values) / self.n_apart if self.n_apart else 0.0

    def amounts(self, decimal: str, thousands: str) -> Range:
        """Return the numbers that are written so."""
        return self.numbers.get((decimal, thousands), Range())

    def is_mostly(self, some: Range) -> bool:
        """Return whether a column that holds these is one of them."""
        return some.n > 0 and some.n >= NEARLY_ALL * self.n_present

    def add(self, texts: Any) -> None:
        """Look at some more values; None is one that is not there."""
        counts: Counter[str] = Counter()
        for text, count in count_cells(texts):
            counts[(text or "").strip()] += count
        self.n += counts.total()
        for word in [text for text in counts if text.lower() in MISSING_WORDS]:
            self.missing[word] += counts.pop(word)
        full, left_out = self.more, count_some(self.values, counts, self.most)
        if not full:
            self.n_apart += counts.total() - left_out
            self.more = left_out > 0
        self._numbers(counts)
        self._dates(counts)
        self.length += sum(len(text) * count for text, count in counts.items())

    def _numbers(self, counts: Counter[str]) -> None:
        texts, times = list(counts), np.array(list(counts.values()), dtype=np.int64)
        for (decimal, thousands), seen in list(self.numbers.items()):
            plain = remove_grouping(texts, decimal, thousands)
            amounts, _, wrong = read_numbers(plain, (), decimal)
            seen.add(np.delete(amounts, list(wrong)), np.delete(times, list(wrong)))
            if (decimal, thousands) != _MARKS[0] and seen.n < NEARLY_ALL * self.n_present / 2:
                del self.numbers[decimal, thousands]
        self.zeros = self.zeros or any(map(_LEADING_ZERO.match, texts))

    def _dates(self, counts: Counter[str]) -> None:
        like = {text: count for text, count in counts.items() if LIKE_A_DATE.match(text)}
        if not like:
            return
        for form in list(self.dates):
            read = [(day, n) for text, n in like.items() if (day := _day(text, form)) is not None]
            pairs = np.array(read, dtype=np.float64).reshape(-1, 2)
            self.dates[form].add(pairs[:, 0], pairs[:, 1].astype(np.int64))
            if self.dates[form].n < NEARLY_ALL * self.n_present / 2:
                # It will not be that one: a column of a million dates is tried once, not 31 times.
                del self.dates[form]


def empty_profiles(names: Sequence[str]) -> dict[str, Profile]:
    """Return profiles of columns that nothing was seen of yet; of many, each remembers less."""
    most = max(_LEAST_VALUES, MOST_TOGETHER // len(names))
    return {name: Profile(min(most, MOST_VALUES)) for name in names}


def _day(text: str, form: str) -> float | None:
    if form == ISO and not _ISO.match(text):
        return None
    try:
        return float(read_day(text, form))
    except ValueError:
        return None
