"""Read numbers and dates from the cells of a file."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from datetime import date, datetime
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from privcurve.datasets.domain import FIRST_DAY, Column
from privcurve.datasets.reading import clock_of_utc, list_cells, text_of
from privcurve.numerals import number

# The numbers of a column, whether each is missing, and by row the faults of cells without a number.
Amounts = tuple[NDArray[np.float64], NDArray[np.bool_], dict[int, str]]

# The name of the ISO format; other formats are formats of `strptime`.
ISO = "iso"
# Two days that differ only in the century: the calendar repeats after 400 years, with the same days
# of the week. A format that writes both days equally has years of two digits.
_SOME_DAY = datetime(2001, 2, 3)
_LATER_DAY = datetime(2401, 2, 3)

Text = TypeVar("Text", str, str | None)


class Markers:
    """The markers of missing values in a file.

    `texts` has the markers as written, and the empty text. `amounts` has the markers that are
    numbers: a number marks a missing value in any notation (-9, -9.0).
    """

    def __init__(self, missing: Collection[str], decimal: str) -> None:
        self.decimal = decimal
        self.texts = frozenset(["", *missing])
        # Numbers in YAML have a decimal point, even if the file has decimal commas.
        amounts = (amount_of(text.replace(decimal, "."), ".") for text in missing)
        self.amounts = frozenset(
            amount for amount in amounts if amount is not None and not math.isnan(amount)
        )

    def include(self, text: str) -> bool:
        """Return whether a text marks a missing value."""
        return text in self.texts or amount_of(text, self.decimal) in self.amounts


def read_numbers(values: object, missing: Collection[str], decimal: str = ".") -> Amounts:
    """Read a column of numbers, each independently of the others.

    `values` are texts, with None for a missing value, or an array of numbers with NaN for a missing
    value. Returns the numbers (NaN for a cell without a number); whether each cell is missing; and
    by row the fault of each cell that is neither missing nor a finite number.
    """
    markers = Markers(missing, decimal)
    if not isinstance(values, np.ndarray):
        return _read_at_once(values, markers) or _read_each(
            values, lambda text: _number(text, markers)
        )
    amounts = np.asarray(values, dtype=np.float64)
    absent = np.isnan(amounts) | np.isin(amounts, list(markers.amounts))
    infinite = np.flatnonzero(np.isinf(amounts) & ~absent)
    wrong = {int(row): _explain_infinite(amounts[row]) for row in infinite}
    return np.where(absent, np.nan, amounts), absent, wrong


def read_dates(
    values: object, column: Column, missing: Collection[str], decimal: str = "."
) -> Amounts:
    """Read a column of dates as days since 1970-01-01, like :func:`read_numbers`.

    `values` are texts, objects of `date` or None; or an array of ``datetime64``; or an array of
    numbers, which are read as texts. A day listed in `missing` marks a missing value in all these
    types.
    """
    marked = days_of(missing, column)
    if isinstance(values, np.ndarray) and values.dtype.kind == "M":
        day_numbers = values.astype("datetime64[D]").astype(np.float64)
        absent = np.isnat(values) | np.isin(day_numbers, list(marked))
        return np.where(absent, np.nan, day_numbers), absent, {}
    if isinstance(values, np.ndarray):
        values = [text_of(value, (), decimal) for value in values.tolist()]
    markers = Markers(missing, decimal)
    return _read_each(values, lambda cell: _read_date(cell, column, markers, marked))


def days_of(texts: Iterable[str], column: Column) -> frozenset[int]:
    """Return the texts that are dates, in ISO format or the column's, as days since 1970-01-01."""
    days = set()
    for text in texts:
        for known_form in (column.dates, ISO):
            with suppress(ValueError, OverflowError):
                days.add(read_day(text, known_form, column.pivot))
    return frozenset(days)


def read_day(text: str, form: str = ISO, pivot: int = Column.pivot) -> int:
    """Return the number of days from 1970-01-01 to the date that a text denotes.

    `form` is `ISO`, or a format of `strptime`. A time of day is ignored, but a time with an offset
    is first converted to UTC. A year of two digits is one of the hundred years from `pivot` on.
    Raises ValueError for other texts.
    """
    time = datetime.fromisoformat(text) if form == ISO else datetime.strptime(text, form)
    if has_short_years(form):
        time = time.replace(year=pivot + (time.year - pivot) % 100)
    return _count_days(time)


@lru_cache(maxsize=256)
def has_short_years(form: str) -> bool:
    """Return whether a format has years of two digits."""
    return form != ISO and _SOME_DAY.strftime(form) == _LATER_DAY.strftime(form)


def is_day_format(form: str) -> bool:
    """Return whether a format contains year, month and day."""
    try:
        return form == ISO or read_day(_SOME_DAY.strftime(form), form) == _count_days(_SOME_DAY)
    except ValueError:
        return False


def remove_grouping(texts: Iterable[Text], decimal: str, thousands: str) -> list[Text]:
    """Remove the marks between thousands from numbers; other texts are unchanged.

    Each group of digits except the first must have three digits, and the first must not begin with
    0. Texts that break these rules are ambiguous, such as 1.5 or 0.125 with a decimal comma.
    """
    if not thousands:
        return list(texts)
    mark = "[ \u00a0\u202f]" if thousands == " " else re.escape(thousands)
    tenths = rf"(?:{re.escape(decimal)}[0-9]*)?"
    grouped = re.compile(rf"\s*[-+]?[1-9][0-9]{{0,2}}(?:{mark}[0-9]{{3}})+{tenths}\s*")
    between = re.compile(rf"(?<=[0-9]){mark}(?=[0-9]{{3}})")
    return [
        between.sub("", text) if text is not None and grouped.fullmatch(text) else text
        for text in texts
    ]


def amount_of(text: str, decimal: str) -> float | None:
    """Return the number that a text represents; None if it is not a number.

    With a decimal comma, a text with a point is not a number: 1.000 may be a thousand.
    """
    if decimal != "." and "." in text:
        return None
    try:
        return number(text.replace(decimal, "."))
    except ValueError:
        return None


def _read_each(values: object, read: Callable[[Any], tuple[float, str]]) -> Amounts:
    """Read a column by a call of `read` for each distinct cell.

    `read` returns the number in a cell, or NaN; and the fault of the cell, or an empty text. A cell
    with neither a number nor a fault is missing.
    """
    cells, places = list_cells(values)
    readings = [(np.nan, "") if cell is None else read(cell) for cell in cells]
    amounts = np.array([amount for amount, _ in readings], dtype=np.float64)
    is_wrong = np.array([bool(fault) for _, fault in readings], dtype=bool)
    absent = np.isnan(amounts) & ~is_wrong
    rows = np.flatnonzero(is_wrong[places]).tolist() if is_wrong.any() else []
    return amounts[places], absent[places], {row: readings[places[row]][1] for row in rows}


def _read_at_once(values: Any, markers: Markers) -> Amounts | None:
    """Read a column with Arrow, which is fast; None if `_read_each` has to read it.

    Arrow can read the column if each text is a finite number or exactly a marker. It reads numbers
    like `float`, but refuses some texts that `float` accepts: ``1_0``, `` 1`` and ``١``.
    """
    import pyarrow
    from pyarrow import compute

    try:
        texts = values if hasattr(values, "cast") else pyarrow.array(values, pyarrow.string())
        if hasattr(texts, "indices"):
            return None
        absent = compute.is_in(texts, pyarrow.array(sorted(markers.texts)))
        absent = compute.or_(absent, texts.is_null())
        if absent.true_count:
            texts = compute.if_else(absent, pyarrow.scalar(None, texts.type), texts)
        if markers.decimal != ".":
            if compute.any(compute.match_substring(texts, ".")).as_py():
                return None
            texts = compute.replace_substring(texts, markers.decimal, ".")
        amounts = compute.cast(texts, pyarrow.float64()).to_numpy(zero_copy_only=False)
    except (pyarrow.ArrowInvalid, UnicodeError):
        return None
    gaps = absent.to_numpy(zero_copy_only=False)
    if not np.isfinite(amounts[~gaps]).all():
        return None
    if markers.amounts:
        gaps = gaps | np.isin(amounts, list(markers.amounts))
        amounts = np.where(gaps, np.nan, amounts)
    return amounts, gaps, {}


def _number(cell: str, markers: Markers) -> tuple[float, str]:
    text = cell.strip()
    amount = None if text in markers.texts else amount_of(text, markers.decimal)
    if text in markers.texts or amount in markers.amounts:
        return math.nan, ""
    if amount is None:
        return math.nan, f"{text!r}, not a number"
    return amount, "" if math.isfinite(amount) else _explain_infinite(amount)


def _explain_infinite(value: float) -> str:
    return f"{value:g}, not a finite number"


def _read_date(
    cell: str | date, column: Column, markers: Markers, marked: frozenset[int]
) -> tuple[float, str]:
    form = column.dates
    if isinstance(cell, date):
        day = _count_days(cell)
        return (np.nan if day in marked else day), ""
    text = cell.strip()
    if text in markers.texts:
        return np.nan, ""
    try:
        day = read_day(text, form, column.pivot)
    except (ValueError, OverflowError):
        if markers.include(text):
            return np.nan, ""
        expected = "an ISO date (2024-12-31)" if form == ISO else f"a date of the form {form}"
        return np.nan, f"{text!r}, not {expected}"
    return (np.nan if day in marked else day), ""


def _count_days(value: date) -> int:
    if isinstance(value, datetime):
        value = clock_of_utc(value).date()
    return (value - FIRST_DAY).days
