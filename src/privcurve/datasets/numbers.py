"""What counts as a number in a file."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privcurve.numerals import number


def numbers(
    values: Sequence[Any] | NDArray[Any], missing: Collection[str], decimal: str = "."
) -> tuple[NDArray[np.float64], NDArray[np.bool_], dict[int, str]]:
    """Read a column of numbers.

    Parameters
    ----------
    values : sequence
        Texts, or an array of numbers, in which NaN is a missing value.
    missing : collection of str
        What the file writes for a missing value; nothing at all is one too. One that is a number
        is meant in whatever way it is written.
    decimal : str
        What stands between units and tenths.

    Returns
    -------
    numbers : ndarray of shape (n_rows,)
        NaN where there is none.
    absent : ndarray of shape (n_rows,)
        Whether the value is missing.
    wrong : dict of int to str
        By row, what is neither missing nor a finite number, and what is wrong with it.
    """
    if isinstance(values, np.ndarray):
        found = np.array(values, dtype=np.float64)
        absent = np.isnan(found)
        wrong = {int(row): _not_finite(found[row]) for row in np.flatnonzero(np.isinf(found))}
    else:
        found, absent, wrong = _texts(values, {"", *missing}, decimal)
    markers = [amount for amount in map(_amount, missing) if amount is not None]
    if markers:
        absent |= np.isin(found, markers)
        found[absent] = np.nan
        wrong = {row: fault for row, fault in wrong.items() if not absent[row]}
    return found, absent, wrong


def _texts(
    values: Sequence[str], absences: set[str], decimal: str
) -> tuple[NDArray[np.float64], NDArray[np.bool_], dict[int, str]]:
    absent = np.zeros(len(values), dtype=bool)
    try:
        plain = values if decimal == "." else [value.replace(decimal, ".") for value in values]
        found = np.array(plain, dtype=np.float64)
        together = "".join(values)
        if np.isfinite(found).all() and "_" not in together and _uses(decimal, together):
            return found, absent, {}
    except ValueError:
        pass
    found = np.full(len(values), np.nan)
    wrong: dict[int, str] = {}
    for row, value in enumerate(values):
        text = value.strip()
        if text in absences:
            absent[row] = True
            continue
        try:
            if not _uses(decimal, text):
                raise ValueError
            found[row] = number(text.replace(decimal, "."))
            if not np.isfinite(found[row]):
                wrong[row] = _not_finite(found[row])
        except ValueError:
            wrong[row] = f"{text!r}, not a number"
    return found, absent, wrong


def _uses(decimal: str, text: str) -> bool:
    """Whether a text has no point, where a comma stands for it: 1.000 is then a thousand."""
    return decimal == "." or "." not in text


def _amount(marker: str) -> float | None:
    try:
        amount = number(marker)
    except ValueError:
        return None
    return None if np.isnan(amount) else amount


def _not_finite(value: float) -> str:
    return f"{value:g}, not a finite number"
