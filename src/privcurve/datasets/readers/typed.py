"""Cells of any types as the coder takes them, each by itself."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

from privcurve.datasets.cells import ABSENT, as_python, text_of
from privcurve.datasets.columns import NUMERIC, Column
from privcurve.datasets.errors import DatasetError

if TYPE_CHECKING:
    from privcurve.datasets.domain import Domain

# Types of numbers that keep all of their digits.
_EXACT = (int, Decimal, np.integer)

# Truth values in a column of numbers.
_AS_NUMBERS = ("1", "0")

# A code such as 0150, or a pattern of such ones.
_LEADING_ZERO = re.compile(r"0[\d*]")
_DIGITS = re.compile(r"[+-]?\d+")


def as_cells(
    values: Iterable[Any], domain: Domain, column: Column | None, labels: Collection[str] = ()
) -> list[Any]:
    """Return cells of any types as the coder takes them, each by itself.

    Parameters
    ----------
    values : iterable
    domain : Domain
    column : Column, optional
        Of the domain; None for the label.
    labels : collection of str
        What is listed of the label.

    Returns
    -------
    list of str, None, or in a column of dates `date`

    Raises
    ------
    NoColumnError
        As :func:`text_of`.
    DatasetError
        If a value is a number, and the column's texts are such that numbers lose a part of them.
    """
    if column is None:
        return [text_of(value, labels, domain.decimal) for value in values]
    if column.dates:
        return [_day(value, domain.decimal) for value in values]
    if column.kind == NUMERIC:
        return [text_of(value, _AS_NUMBERS, domain.decimal) for value in values]
    cells = list(values)
    texts = [text_of(value, column.codes, domain.decimal) for value in cells]
    if _lost(column, False):
        for value, text in zip(cells, texts, strict=True):
            if text is not None and _is_number(value):
                check_numbers(column, type(value).__name__, isinstance(value, _EXACT))
    return texts


def check_numbers(column: Column, kind: object, exact: bool) -> None:
    """Refuse numbers in a column of categories whose texts they can't stand for.

    Parameters
    ----------
    column : Column
    kind : object
        The type of the numbers, for the message.
    exact : bool
        Whether they keep all digits, as integers do.

    Raises
    ------
    DatasetError
    """
    lost = _lost(column, exact)
    if lost:
        raise DatasetError(
            f"{column.name!r} holds numbers ({kind}), but is {lost}: read or write it as text (in "
            f"pandas, dtype={{{column.name!r}: str}}; in Excel, the format Text)"
        )


def _lost(column: Column, exact: bool) -> str:
    """Say which text of a column of categories numbers can't stand for; "" where they all can."""
    for text, _ in column.categories:
        if _LEADING_ZERO.match(text):
            return f"described by texts such as {text!r}, whose leading zeros numbers have lost"
        if not exact and _DIGITS.fullmatch(text) and Decimal(text) != Decimal(float(text)):
            return f"described by texts such as {text!r}, of whose digits such numbers lose some"
    return ""


def _is_number(value: Any) -> bool:
    """Whether a value has the type of numbers; truth values have another."""
    return isinstance(value, (int, float, Decimal, np.number)) and not isinstance(value, bool)


def _day(value: Any, decimal: str) -> Any:
    if isinstance(value, np.datetime64):
        value = as_python(value)
    is_day = isinstance(value, date) and type(value).__name__ not in ABSENT
    return value if is_day else text_of(value, (), decimal)
