"""What counts as a number in a file."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privcurve.datasets.cells import texts_of
from privcurve.numerals import number


class Markers:
    """What stands for a missing value: some texts, and some numbers however they are written.

    Parameters
    ----------
    missing : collection of str
        What the file writes for a missing value; nothing at all is one too.
    decimal : str
        What stands between units and tenths.

    Attributes
    ----------
    texts : frozenset of str
    amounts : frozenset of float
    """

    def __init__(self, missing: Collection[str], decimal: str) -> None:
        self._decimal = decimal
        self.texts = frozenset(["", *missing])
        # YAML's numbers have a point, whatever the file has.
        amounts = (amount_of(text.replace(decimal, "."), ".") for text in missing)
        self.amounts = frozenset(
            amount for amount in amounts if amount is not None and not math.isnan(amount)
        )

    def mean(self, text: str) -> bool:
        """Whether a text is one of these numbers."""
        return bool(self.amounts) and amount_of(text, self._decimal) in self.amounts


def numbers(
    values: Any, missing: Collection[str], decimal: str = "."
) -> tuple[NDArray[np.float64], NDArray[np.bool_], dict[int, str]]:
    """Read a column of numbers, each by itself.

    Parameters
    ----------
    values : sequence or pyarrow.Array
        Texts, with None for no value; or an array of numbers, in which NaN is a missing value.
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
    markers = Markers(missing, decimal)
    if isinstance(values, np.ndarray):
        found = np.asarray(values, dtype=np.float64)
        absent = np.isnan(found)
        wrong = {int(row): _not_finite(found[row]) for row in np.flatnonzero(np.isinf(found))}
    elif (together := _together(values, markers, decimal)) is not None:
        found, absent, wrong = *together, {}
    else:
        found, absent, wrong = _texts(texts_of(values), markers, decimal)
    if markers.amounts:
        absent = absent | np.isin(found, list(markers.amounts))
        found = np.where(absent, np.nan, found)
        wrong = {row: fault for row, fault in wrong.items() if not absent[row]}
    return found, absent, wrong


def _together(
    values: Any, markers: Markers, decimal: str
) -> tuple[NDArray[np.float64], NDArray[np.bool_]] | None:
    """Read a column of Arrow; None unless each text is a finite number or a marker as it stands.

    Arrow's decimal numbers are those of `float`, of which there are more: ``1_0``, `` 1``, ``١``.
    """
    if not hasattr(values, "cast") or hasattr(values, "indices"):
        return None
    import pyarrow
    from pyarrow import compute

    absent = compute.is_in(values, pyarrow.array(sorted(markers.texts)), skip_nulls=False)
    absent = compute.or_(absent, values.is_null())
    if absent.true_count:
        values = compute.if_else(absent, pyarrow.scalar(None, values.type), values)
    if decimal != ".":
        if compute.any(compute.match_substring(values, ".")).as_py():
            return None
        values = compute.replace_substring(values, decimal, ".")
    try:
        amounts = compute.cast(values, pyarrow.float64()).to_numpy(zero_copy_only=False)
    except pyarrow.ArrowInvalid:
        return None
    absent = absent.to_numpy(zero_copy_only=False)
    return (amounts, absent) if np.isfinite(amounts[~absent]).all() else None


def _texts(
    values: Sequence[str | None], markers: Markers, decimal: str
) -> tuple[NDArray[np.float64], NDArray[np.bool_], dict[int, str]]:
    """Read texts: all at once where that says of each what it says alone, else one by one."""
    found = _at_once(values, decimal)
    if found is not None:
        return found, np.zeros(len(values), dtype=bool), {}
    texts = markers.texts
    stripped = [None if value is None else value.strip() for value in values]
    there = [row for row, text in enumerate(stripped) if text is not None and text not in texts]
    absent = np.ones(len(values), dtype=bool)
    absent[there] = False
    found = np.full(len(values), np.nan)
    some = [stripped[row] for row in there]
    amounts = _at_once(some, decimal)
    if amounts is not None:
        found[there] = amounts
        return found, absent, {}
    wrong: dict[int, str] = {}
    for row, text in zip(there, some, strict=True):
        amount = amount_of(text or "", decimal)
        if amount is not None:
            found[row] = amount
        if amount is None or not math.isfinite(amount):
            wrong[row] = f"{text!r}, not a number" if amount is None else _not_finite(amount)
    return found, absent, wrong


def _at_once(texts: Sequence[str | None], decimal: str) -> NDArray[np.float64] | None:
    """Return the numbers that some texts are; None unless all are finite ones."""
    try:
        plain: Any = texts
        if decimal != ".":
            plain = ["" if text is None else text.replace(decimal, ".") for text in texts]
        # NumPy reads a text as `float` does, and None as NaN.
        found = np.array(plain, dtype=np.float64)
    except ValueError:
        return None
    if not np.isfinite(found).all():
        return None
    together = "".join(texts)  # type: ignore[arg-type]
    return found if "_" not in together and _uses(decimal, together) else None


def amount_of(text: str, decimal: str) -> float | None:
    """Return the number that a text is; None if it is none."""
    try:
        return number(text.replace(decimal, ".")) if _uses(decimal, text) else None
    except ValueError:
        return None


def _uses(decimal: str, text: str) -> bool:
    """Whether a text has no point, where a comma stands for it: 1.000 is then a thousand."""
    return decimal == "." or "." not in text


def _not_finite(value: float) -> str:
    return f"{value:g}, not a finite number"
