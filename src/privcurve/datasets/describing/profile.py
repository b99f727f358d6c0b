"""What the values of a column look like, a piece of the table at a time."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from privcurve.datasets.coding import ISO, days, read_numbers, remove_grouping
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

# Of the signs of a number, the other one.
OTHER = {".": ",", ",": "."}

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
    """How many values are of a kind, and from where to where they go."""

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
    """What is seen of a column: for the data owner."""

    most: int = MOST_VALUES  # how many different values are counted
    n: int = 0  # records
    # How often each spelling of no value is there.
    missing: Counter[str] = field(default_factory=Counter)
    # How often each other value is there, of so many.
    values: Counter[str] = field(default_factory=Counter)
    more: bool = False  # whether there are values that were not counted
    n_apart: int = 0  # how many values were met until there were that many different ones
    # Of numbers, with a decimal point or a decimal comma.
    points: Range = field(default_factory=Range)
    commas: Range = field(default_factory=Range)
    # By the decimal sign, of numbers in which the other sign may stand between thousands.
    grouped: dict[str, Range] = field(default_factory=lambda: {sign: Range() for sign in OTHER})
    zeros: bool = False  # whether some number begins with a zero that means nothing, as codes do
    # By form, of dates.
    dates: dict[str, Range] = field(default_factory=lambda: {form: Range() for form in FORMS})
    length: int = 0  # of all texts together

    @property
    def n_there(self) -> int:
        """How many values are there."""
        return self.n - self.missing.total()

    @property
    def share_apart(self) -> float:
        """How many values there are a record, as far as counted: 1 where each is alone."""
        return len(self.values) / self.n_apart if self.n_apart else 0.0

    def amounts(self, decimal: str, thousands: str) -> Range:
        """Return the numbers that are written so."""
        if thousands:
            return self.grouped.get(decimal, Range())
        return self.points if decimal == "." else self.commas

    def nearly_all(self, some: Range) -> bool:
        """Return whether a column that holds these is one of them."""
        return some.n > 0 and some.n >= NEARLY_ALL * self.n_there

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
        texts = list(counts)
        together = "".join(texts)
        self.points.add(*_amounts(counts, texts, "."))
        if "," in together:
            self.commas.add(*_amounts(counts, texts, ","))
        elif "." not in together:
            self.commas.add(*_amounts(counts, texts, "."))
        for decimal in list(self.grouped):
            without = cast(list[str], remove_grouping(texts, decimal, OTHER[decimal]))
            self.grouped[decimal].add(*_amounts(counts, without, decimal))
            if self.grouped[decimal].n < NEARLY_ALL * self.n_there / 2:
                del self.grouped[decimal]
        self.zeros = self.zeros or any(map(_LEADING_ZERO.match, texts))

    def _dates(self, counts: Counter[str]) -> None:
        like = {text: count for text, count in counts.items() if LIKE_A_DATE.match(text)}
        if not like:
            return
        for form in list(self.dates):
            read = [(day, n) for text, n in like.items() if (day := _day(text, form)) is not None]
            pairs = np.array(read, dtype=np.float64).reshape(-1, 2)
            self.dates[form].add(pairs[:, 0], pairs[:, 1].astype(np.int64))
            if self.dates[form].n < NEARLY_ALL * self.n_there / 2:
                # It will not be that one: a column of a million dates is tried once, not 31 times.
                del self.dates[form]


def blank(names: Sequence[str]) -> dict[str, Profile]:
    """Return profiles of columns that nothing was seen of yet; of many, each remembers less."""
    most = max(_LEAST_VALUES, MOST_TOGETHER // len(names))
    return {name: Profile(min(most, MOST_VALUES)) for name in names}


def _amounts(
    counts: Counter[str], texts: list[str], decimal: str
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the numbers among some texts, each with how often it is there."""
    amounts, _, wrong = read_numbers(texts, (), decimal)
    times = np.fromiter(counts.values(), dtype=np.int64, count=len(counts))
    right = np.ones(len(texts), dtype=bool)
    right[list(wrong)] = False
    return amounts[right], times[right]


def _day(text: str, form: str) -> float | None:
    if form == ISO and not _ISO.match(text):
        return None
    try:
        return float(days(text, form))
    except ValueError:
        return None
