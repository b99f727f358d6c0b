"""Dates as whole days since 1970-01-01."""

from __future__ import annotations

from collections.abc import Collection
from datetime import date, datetime, timedelta
from typing import Any

import numpy as np

from privcurve.datasets.cells import clock_of_utc, text_of
from privcurve.datasets.numbers import Column, Markers, one_by_one

ISO = "iso"

_ORIGIN = date(1970, 1, 1)
_SOME_DAY = datetime(2001, 2, 3)


def days(text: str, form: str = ISO) -> int:
    """Return the days from 1970-01-01 to a date in ISO's form, or one of `strptime`.

    A time of day is left out; one with an offset is brought to UTC first. What is no date raises
    `ValueError`.
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
) -> Column:
    """Read a column of dates, as :func:`privcurve.datasets.numbers.numbers` reads one of numbers.

    Cells are texts, `date` or None; an array of ``datetime64`` holds days, and one of numbers is
    read as the texts that they are.
    """
    if isinstance(values, np.ndarray) and values.dtype.kind == "M":
        numbers = values.astype("datetime64[D]").astype(np.float64)
        absent = np.isnat(values)
        numbers[absent] = np.nan
        return numbers, absent, {}
    if isinstance(values, np.ndarray):
        values = [text_of(value, (), decimal) for value in values.tolist()]
    markers = Markers(missing, decimal)
    return one_by_one(values, lambda cell: _read(cell, form, markers))


def _read(cell: str | date, form: str, markers: Markers) -> tuple[float, str]:
    if isinstance(cell, date):
        return _day(cell), ""
    text = cell.strip()
    if text in markers.texts:
        return np.nan, ""
    try:
        return days(text, form), ""
    except (ValueError, OverflowError):
        like = "an ISO date (2024-12-31)" if form == ISO else f"a date of the form {form}"
        return np.nan, "" if markers.mean(text) else f"{text!r}, not {like}"


def _day(value: date) -> int:
    if isinstance(value, datetime):
        value = clock_of_utc(value).date()
    return (value - _ORIGIN).days
