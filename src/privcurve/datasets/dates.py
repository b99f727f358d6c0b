"""Dates as whole days since 1970-01-01."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
    found = datetime.fromisoformat(text) if form == ISO else datetime.strptime(text, form)
    if found.tzinfo is not None:
        found = found.astimezone(UTC)
    return (found.date() - _ORIGIN).days


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
    values: Sequence[Any] | NDArray[Any], form: str, missing: Collection[str]
) -> tuple[NDArray[np.float64], NDArray[np.bool_], dict[int, str]]:
    """Read a column of dates.

    Parameters
    ----------
    values : sequence of str
        Numbers are no dates.
    form : str
    missing : collection of str
        Texts that stand for a missing value; nothing at all is one too.

    Returns
    -------
    days, absent, wrong
        As of :func:`privcurve.datasets.numbers.numbers`.
    """
    found = np.full(len(values), np.nan)
    absent = np.zeros(len(values), dtype=bool)
    wrong: dict[int, str] = {}
    known: dict[str, float] = {}
    absences = {"", *missing}
    for row, value in enumerate(values):
        text = str(value).strip()
        if text in absences:
            absent[row] = True
            continue
        day = known.get(text)
        if day is None:
            try:
                day = known[text] = float(days(text, form))
            except (ValueError, OverflowError):
                like = "an ISO date (2024-12-31)" if form == ISO else f"a date of the form {form}"
                wrong[row] = f"{text!r}, not {like}"
                continue
        found[row] = day
    return found, absent, wrong
