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

# The result of reading a numeric column has three items. The first is the number of each cell, or
# NaN, (n_rows,). The second says whether each cell is missing, (n_rows,). The third maps each row
# whose cell is neither a number nor missing to a message on the fault.
Amounts = tuple[NDArray[np.float64], NDArray[np.bool_], dict[int, str]]

# The name of the ISO format; other formats are formats of `strptime`.
ISO = "iso"
# Two days in years with the same last two digits. They fall on the same weekday, because the
# calendar repeats after 400 years. So a format writes both days equally if its years have two
# digits.
_SOME_DAY = datetime(2001, 2, 3)
_LATER_DAY = datetime(2401, 2, 3)

Text = TypeVar("Text", str, str | None)


class Markers:
    """The markers of missing values in a file.

    `texts` are the markers as written, and the empty text. `amounts` are the numbers among the
    markers: they mark a missing value in any notation, such as -9 and -9.0.
    """

    def __init__(self, missing: Collection[str], decimal: str) -> None:
        self.decimal = decimal
        self.texts = frozenset(["", *missing])
        # YAML writes numbers with a decimal point, even if the file has decimal commas.
        amounts = (amount_of(text.replace(decimal, "."), ".") for text in missing)
        self.amounts = frozenset(
            amount for amount in amounts if amount is not None and not math.isnan(amount)
        )

    def include(self, text: str) -> bool:
        """Return whether a text marks a missing value."""
        return text in self.texts or amount_of(text, self.decimal) in self.amounts


def read_numbers(values: object, missing: Collection[str], decimal: str = ".") -> Amounts:
    """Read a column of numbers; the result for a cell does not depend on other cells.

    `values` are texts, with None for a missing value, or an array of numbers with NaN for a missing
    value. Returns `Amounts`; infinite numbers are faults.
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
    """Read a column of dates, as numbers of days since 1970-01-01; returns `Amounts`.

    `values` is a list of texts, `date` objects and None; an array of ``datetime64``; or an array of
    numbers, which are read as texts. In each of these types, a date that is listed in `missing`
    marks a missing value.
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
    """Return the days since 1970-01-01 of the texts that are dates; other texts are ignored.

    A date may be written in ISO format or in the column's format.
    """
    days = set()
    for text in texts:
        for known_form in (column.dates, ISO):
            with suppress(ValueError, OverflowError):
                days.add(read_day(text, known_form, column.pivot))
    return frozenset(days)


def read_day(text: str, form: str = ISO, pivot: int = Column.pivot) -> int:
    """Return the number of days from 1970-01-01 to the date that a text denotes.

    `form` is `ISO`, or a format of `strptime`. A time of day is ignored; if the time has an offset,
    it is converted to UTC first. A year of two digits means one of the years `pivot` to `pivot` +
    99. Raises ValueError if the text is not a date in this format.
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
    """Remove the thousands marks from texts that are numbers; other texts are unchanged.

    A number with marks has one to three digits, the first not 0, and then groups of a mark and
    three digits. Other texts with marks, such as 1.5 or 0.125 in a file with decimal commas, may
    have another meaning, so their marks stay.
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
    """Read a column; `read` is called once for each distinct cell.

    ``read(cell)`` returns a number (or NaN) and a fault (or ""). A cell with neither a number nor a
    fault is missing. Returns `Amounts`.
    """
    cells, places = list_cells(values)
    readings = [(np.nan, "") if cell is None else read(cell) for cell in cells]
    amounts = np.array([amount for amount, _ in readings], dtype=np.float64)
    is_wrong = np.array([bool(fault) for _, fault in readings], dtype=bool)
    absent = np.isnan(amounts) & ~is_wrong
    rows = np.flatnonzero(is_wrong[places]).tolist() if is_wrong.any() else []
    return amounts[places], absent[places], {row: readings[places[row]][1] for row in rows}


def _read_at_once(values: Any, markers: Markers) -> Amounts | None:
    """Read a column with Arrow, which is fast; return None if Arrow can't read it.

    Arrow reads only texts that are finite numbers or exactly a marker. It gives the same numbers as
    `float`, but refuses some texts that `float` accepts, such as ``1_0``, `` 1`` and ``١``.
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
