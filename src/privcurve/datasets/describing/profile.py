"""Profile columns: count their values, and how many values are numbers or dates."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from privcurve.datasets.coding import (
    ISO,
    MISSING_WORDS,
    read_day,
    read_numbers,
    remove_grouping,
)
from privcurve.datasets.reading import count_cells

# Limits of memory: at most MOST_VALUES distinct values of a column are counted, and at most
# MOST_TOGETHER of all columns together, but at least _LEAST_VALUES of each column. The values
# beyond these limits are not counted.
MOST_VALUES = 20_000
MOST_TOGETHER = 2_000_000
_LEAST_VALUES = 200

# A column is numeric if at least this share of its values are numbers; likewise for dates.
NEARLY_ALL = 0.95

# The thousands mark that usually goes with each decimal mark.
OTHER = {".": ",", ",": "."}
# Pairs (decimal mark, thousands mark). A profile always keeps the first pair, as programs write
# numbers in this notation; it drops another pair if few values fit.
_MARKS = ((".", ""), (",", ""), (".", ","), (",", "."))

_DAYS = ("%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%Y/%m/%d", "%d-%m-%Y", "%m-%d-%Y", "%Y.%m.%d")
_SHORT = ("%d.%m.%y", "%d/%m/%y", "%m/%d/%y")
FORMS = (ISO, *(day + time for day in _DAYS + _SHORT for time in ("", " %H:%M", " %H:%M:%S")))
LIKE_A_DATE = re.compile(r"\d{1,4}[-./]\d{1,2}[-./]\d{2,4}(?:\b|T\d)")
_ISO = re.compile(r"\d{4}-\d{2}-\d{2}")
# Texts that are codes and not numbers, such as 007. `float` would read them, even 0001E0 and 0E12.
_LEADING_ZERO = re.compile(r"-?0(\d+([eE]\d+)?|[eE]\d+)$")


def count_some(counts: Counter[str], more: Mapping[str, int], most: int) -> int:
    """Add `more` to `counts`, which may have at most `most` distinct values.

    Returns the total count of the values that were left out.
    """
    left_out = 0
    for value, count in more.items():
        if value in counts or len(counts) < most:
            counts[value] += count
        else:
            left_out += count
    return left_out


@dataclass
class Range:
    """Number and range of the values that are numbers of one notation, or dates of one format."""

    n: int = 0
    low: float = float("inf")
    high: float = float("-inf")
    is_whole: bool = True

    def add(self, amounts: NDArray[np.float64], counts: NDArray[np.int64]) -> None:
        """Add the values `amounts`; `counts` has the number of occurrences of each."""
        if len(amounts):
            self.n += int(counts.sum())
            self.low = min(self.low, float(amounts.min()))
            self.high = max(self.high, float(amounts.max()))
            self.is_whole = self.is_whole and bool((np.floor(amounts) == amounts).all())


@dataclass
class Profile:
    """Counts of the values of a column. Only the data owner may see them."""

    most: int = MOST_VALUES  # maximum number of distinct values that are counted
    n: int = 0  # number of records
    # Count of each spelling of a missing value.
    missing: Counter[str] = field(default_factory=Counter)
    # Counts of the values that are not missing, for at most `most` distinct values.
    values: Counter[str] = field(default_factory=Counter)
    more: bool = False  # whether the column has more distinct values than `most`
    # Sum of the counts in `values`, up to the piece in which `values` became full. (Later pieces
    # only raise the counts of known values, so they would lower the share of distinct values.)
    n_apart: int = 0
    # For each notation (decimal mark, thousands mark), the values that are numbers in it.
    numbers: dict[tuple[str, str], Range] = field(
        default_factory=lambda: {marks: Range() for marks in _MARKS}
    )
    zeros: bool = False  # whether some number has a leading zero, like codes such as 007
    # For each format of dates, the values that are dates in this format. A format is dropped if few
    # values fit.
    dates: dict[str, Range] = field(default_factory=lambda: {form: Range() for form in FORMS})
    length: int = 0  # total length of all texts

    @property
    def n_present(self) -> int:
        """Number of values that are not missing."""
        return self.n - self.missing.total()

    @property
    def share_distinct(self) -> float:
        """Number of distinct values divided by the number of values; 1 if no value occurs twice.

        If the column has more than `most` distinct values, both numbers count only the values in
        `values` up to the piece in which `values` became full.
        """
        return len(self.values) / self.n_apart if self.n_apart else 0.0

    def amounts(self, decimal: str, thousands: str) -> Range:
        """Return number and range of the values that are numbers with these marks."""
        return self.numbers.get((decimal, thousands), Range())

    def is_mostly(self, values: Range) -> bool:
        """Return whether nearly all present values are among the `values` (numbers or dates)."""
        return values.n > 0 and values.n >= NEARLY_ALL * self.n_present

    def add(self, texts: object) -> None:
        """Count the values of the next piece of the column; None is a missing value."""
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
        self._add_numbers(counts)
        self._add_dates(counts)
        self.length += sum(len(text) * count for text, count in counts.items())

    def _add_numbers(self, counts: Counter[str]) -> None:
        texts, times = list(counts), np.array(list(counts.values()), dtype=np.int64)
        for (decimal, thousands), seen in list(self.numbers.items()):
            plain = remove_grouping(texts, decimal, thousands)
            amounts, _, wrong = read_numbers(plain, (), decimal)
            seen.add(np.delete(amounts, list(wrong)), np.delete(times, list(wrong)))
            if (decimal, thousands) != _MARKS[0] and seen.n < NEARLY_ALL * self.n_present / 2:
                del self.numbers[decimal, thousands]
        self.zeros = self.zeros or any(map(_LEADING_ZERO.match, texts))

    def _add_dates(self, counts: Counter[str]) -> None:
        texts = {text: count for text, count in counts.items() if LIKE_A_DATE.match(text)}
        if not texts:
            return
        for form in list(self.dates):
            read = [
                (day, n) for text, n in texts.items() if (day := _read_day(text, form)) is not None
            ]
            pairs = np.array(read, dtype=np.float64).reshape(-1, 2)
            self.dates[form].add(pairs[:, 0], pairs[:, 1].astype(np.int64))
            if self.dates[form].n < NEARLY_ALL * self.n_present / 2:
                # Drop a format that fits few values: trying all 31 formats on each piece would take
                # long.
                del self.dates[form]


def empty_profiles(names: Sequence[str]) -> dict[str, Profile]:
    """Return an empty profile for each column.

    With many columns, each profile counts fewer distinct values, to limit the memory of all
    profiles together.
    """
    most = max(_LEAST_VALUES, MOST_TOGETHER // len(names))
    return {name: Profile(min(most, MOST_VALUES)) for name in names}


def _read_day(text: str, form: str) -> float | None:
    if form == ISO and not _ISO.match(text):
        return None
    try:
        return float(read_day(text, form))
    except ValueError:
        return None
