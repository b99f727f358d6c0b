"""Dates as whole days since 1970-01-01."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import date, datetime, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privcurve.datasets.cells import clock_of_utc, text_of
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
    values: Sequence[Any] | NDArray[Any],
    form: str,
    missing: Collection[str],
    decimal: str = ".",
) -> tuple[NDArray[np.float64], NDArray[np.bool_], dict[int, str]]:
    """Read a column of dates.

    Parameters
    ----------
    values : sequence of str, None or date; or ndarray
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
    found = np.full(len(values), np.nan)
    absent = np.zeros(len(values), dtype=bool)
    wrong: dict[int, str] = {}
    if isinstance(values, np.ndarray):
        if values.dtype.kind == "M":
            absent = np.isnat(values)
            found[~absent] = values[~absent].astype("datetime64[D]").astype(np.int64)
            return found, absent, wrong
        values = [text_of(value, (), decimal) for value in values.tolist()]
    markers = Markers(missing, decimal)
    known: dict[str, float] = {}
    for row, value in enumerate(values):
        if value is None:
            absent[row] = True
            continue
        if isinstance(value, date):
            found[row] = _day(value)
            continue
        text = value.strip()
        if text in markers.texts:
            absent[row] = True
            continue
        day = known.get(text)
        if day is None:
            try:
                day = known[text] = float(days(text, form))
            except (ValueError, OverflowError):
                if markers.mean(text):
                    absent[row] = True
                    continue
                like = "an ISO date (2024-12-31)" if form == ISO else f"a date of the form {form}"
                wrong[row] = f"{text!r}, not {like}"
                continue
        found[row] = day
    return found, absent, wrong


def _day(value: date) -> int:
    if isinstance(value, datetime):
        value = clock_of_utc(value).date()
    return (value - _ORIGIN).days
