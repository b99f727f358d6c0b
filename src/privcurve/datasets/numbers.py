"""What counts as a number in a file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Number = TypeVar("Number", int, float)


def number(text: str, kind: Callable[[str], Number] = float) -> Number:  # type: ignore[assignment]
    """Read a number; unlike Python, not ``1_0``, which is a misprint rather than ten.

    Parameters
    ----------
    text : str
    kind : callable
        `float` or `int`.

    Returns
    -------
    float or int

    Raises
    ------
    ValueError
        If it is none.
    """
    if "_" in text:
        raise ValueError(f"{text!r} is not a number")
    return kind(text)


def numbers(
    values: Sequence[Any] | NDArray[Any], missing: str
) -> tuple[NDArray[np.float64], NDArray[np.bool_], dict[int, str]]:
    """Read a column of numbers.

    Parameters
    ----------
    values : sequence
        Texts, or an array of numbers, in which NaN is a missing value.
    missing : str
        What the file writes for a missing value; nothing at all is one too.

    Returns
    -------
    numbers : ndarray of shape (n_rows,)
        NaN where there is none.
    absent : ndarray of shape (n_rows,)
        Whether the value is missing.
    wrong : dict of int to str
        By row, what is neither missing nor a finite number, and what is wrong with it.
    """
    n_rows = len(values)
    if isinstance(values, np.ndarray):
        found = np.asarray(values, dtype=np.float64)
        absent = np.isnan(found)
        infinite = np.flatnonzero(np.isinf(found))
        return found, absent, {int(row): _not_finite(found[row]) for row in infinite}
    absent = np.zeros(n_rows, dtype=bool)
    try:
        found = np.array(values, dtype=np.float64)
        if np.isfinite(found).all() and "_" not in "".join(values):
            return found, absent, {}
    except ValueError:
        pass
    found = np.full(n_rows, np.nan)
    wrong: dict[int, str] = {}
    for row, value in enumerate(values):
        text = value.strip()
        if text in ("", missing):
            absent[row] = True
            continue
        try:
            found[row] = number(text)
            if not np.isfinite(found[row]):
                wrong[row] = _not_finite(found[row])
        except ValueError:
            wrong[row] = f"{text!r}, not a number"
    return found, absent, wrong


def _not_finite(value: float) -> str:
    return f"{value:g}, not a finite number"
