"""Dates as whole days since 1970-01-01."""

from __future__ import annotations

from collections.abc import Collection
from datetime import date, datetime, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privcurve.datasets.cells import clock_of_utc, distinct, text_of
from privcurve.datasets.numbers import Markers

ISO = "iso"

_ORIGIN = date(1970, 1, 1)
_SOME_DAY = datetime(2001, 2, 3)


def days(text: str, form: str = ISO) -> int:
    """Give the day of a date.

    Parameters
    ----------
    text : str
        A time of day is left out; one with an offset is brought to UTC first.
    form : str
        ``iso``, or a format of Python's `strptime`, such as ``%d.%m.%Y``.

    Returns
    -------
    int
        Days since 1970-01-01.

    Raises
    ------
    ValueError
        If it is none.
    """
    return _day(datetime.fromisoformat(text) if form == ISO else datetime.strptime(text, form))


def written(day: float) -> str:
    """Write a day as an ISO date."""
    return (_ORIGIN + timedelta(days=int(day))).isoformat()


def tells_days(form: str) -> bool:
    """Whether a format tells a day: its year, month and day."""
    try:
        return (
            form == ISO or days(_SOME_DAY.strftime(form), form) == (_SOME_DAY.date() - _ORIGIN).days
        )
    except ValueError:
        return False


def dates(
    values: Any,
    form: str,
    missing: Collection[str],
    decimal: str = ".",
) -> tuple[NDArray[np.float64], NDArray[np.bool_], dict[int, str]]:
    """Read a column of dates.

    Parameters
    ----------
    values : sequence of str, None or date; pyarrow.Array of texts; or ndarray
        An array of ``datetime64`` holds days. Numbers are read as the texts that they are.
    form : str
        Of texts.
    missing, decimal
        As for :func:`privcurve.datasets.numbers.numbers`.

    Returns
    -------
    days, absent, wrong
        As of :func:`privcurve.datasets.numbers.numbers`.
    """
    if isinstance(values, np.ndarray) and values.dtype.kind == "M":
        numbers = values.astype("datetime64[D]").astype(np.float64)
        absent = np.isnat(values)
        numbers[absent] = np.nan
        return numbers, absent, {}
    if isinstance(values, np.ndarray):
        values = [text_of(value, (), decimal) for value in values.tolist()]
    markers = Markers(missing, decimal)
    cells, places = distinct(values)
    each = [_day_of(cell, form, markers) for cell in cells]
    numbers = np.array([day if isinstance(day, int) else np.nan for day in each], dtype=np.float64)
    absent = np.array([day is None for day in each], dtype=bool)
    odd = np.array([isinstance(day, str) for day in each], dtype=bool)
    rows = np.flatnonzero(odd[places]) if odd.any() else np.zeros(0, dtype=np.intp)
    wrong = {int(row): str(each[places[row]]) for row in rows}
    return numbers[places], absent[places], wrong


def _day_of(cell: str | date | None, form: str, markers: Markers) -> int | str | None:
    """Return the day of a cell; None if it is missing, or what is wrong with it."""
    if cell is None:
        return None
    if isinstance(cell, date):
        return _day(cell)
    text = cell.strip()
    if text in markers.texts:
        return None
    try:
        return days(text, form)
    except (ValueError, OverflowError):
        if markers.mean(text):
            return None
        like = "an ISO date (2024-12-31)" if form == ISO else f"a date of the form {form}"
        return f"{text!r}, not {like}"


def _day(value: date) -> int:
    if isinstance(value, datetime):
        value = clock_of_utc(value).date()
    return (value - _ORIGIN).days
