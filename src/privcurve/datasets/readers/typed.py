"""Cells that have types, as the numbers and texts that are coded.

What a value means is said by :mod:`privcurve.datasets.cells`, a value at a time. Of a column of
Arrow, numbers are taken at once, and of all else each value that is there is asked about once.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

from privcurve.datasets.cells import ABSENT, NoColumnError, as_python, text_of
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


def as_read(
    values: Any, domain: Domain, column: Column | None, labels: Collection[str] = ()
) -> Any:
    """Return a list or an Arrow array of cells of any types as the coder takes it.

    Of a list these are texts, with None where there is no value, and in a column of dates `date`.
    Of an array they are numbers with NaN where there is none, if column and values are numeric;
    days (``datetime64[D]``), if they are dates or times; else an array of texts. `column` is None
    for the label, of which `labels` are listed.
    """
    if isinstance(values, list):
        return _cells(values, domain, column, labels)
    try:
        return _array(values, domain, column, labels)
    except NoColumnError:
        raise
    except refusals() as error:
        raise NoColumnError(values.type, error) from None


def refusals() -> tuple[type[Exception], ...]:
    """Return what Arrow raises of values of which it can make nothing."""
    import pyarrow

    return (pyarrow.ArrowException, TypeError, ValueError, OverflowError)


def _cells(
    values: list[Any], domain: Domain, column: Column | None, labels: Collection[str]
) -> list[Any]:
    if column is None:
        return [text_of(value, labels, domain.decimal) for value in values]
    if column.dates:
        return [_day(value, domain.decimal) for value in values]
    if column.kind == NUMERIC:
        return [text_of(value, _AS_NUMBERS, domain.decimal) for value in values]
    texts = [text_of(value, column.codes, domain.decimal) for value in values]
    if _lost(column, False):
        for value, text in zip(values, texts, strict=True):
            if text is not None and _is_number(value):
                _check_numbers(column, type(value).__name__, isinstance(value, _EXACT))
    return texts


def _array(values: Any, domain: Domain, column: Column | None, labels: Collection[str]) -> Any:
    from pyarrow import types

    kind = values.type
    if types.is_dictionary(kind):
        values, kind = values.dictionary_decode(), kind.value_type
    if types.is_nested(kind):
        raise NoColumnError(kind, "it holds no single values")
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        return values
    is_exact = types.is_integer(kind) or types.is_decimal(kind)
    are_numbers = is_exact or types.is_floating(kind)
    if column is None:
        return _texts(values, labels, domain.decimal)
    if column.dates and (types.is_timestamp(kind) or types.is_date(kind)):
        # Of those with a zone, the clock of UTC.
        return _as_numpy(values).astype("datetime64[D]")
    if column.kind == NUMERIC and not column.dates and (are_numbers or types.is_boolean(kind)):
        return _numbers(values)
    if column.kind == NUMERIC:
        return _texts(values, (), domain.decimal)
    texts = _texts(values, column.codes, domain.decimal)
    if are_numbers and any(texts.dictionary.to_pylist()):
        _check_numbers(column, kind, is_exact)
    return texts


def _numbers(values: Any) -> Any:
    """Return numbers as an array with NaN where there is none."""
    import pyarrow
    from pyarrow import compute, types

    if types.is_boolean(values.type):
        values = compute.cast(values, pyarrow.int8())
    elif types.is_float16(values.type):
        # As files write it, 0.1, and not as float64 has it, 0.0999755859375: so for the others.
        values = pyarrow.array(_as_numpy(values).astype(str))
    elif types.is_float32(values.type) or types.is_decimal(values.type):
        values = compute.cast(values, pyarrow.string())
    return _as_numpy(compute.cast(values, pyarrow.float64(), safe=False))


def _texts(values: Any, listed: Collection[str], decimal: str) -> Any:
    """Return the texts of values as a dictionary of Arrow."""
    import pyarrow
    from pyarrow import types

    encoded = values.dictionary_encode()
    each = encoded.dictionary
    # Python has no numbers of few digits, and no times of many.
    is_numpy = types.is_floating(each.type) or types.is_timestamp(each.type)
    scalars = _as_numpy(each) if is_numpy else each.to_pylist()
    texts = [text_of(value, listed, decimal) for value in scalars]
    dictionary = pyarrow.array(texts, pyarrow.string())
    return pyarrow.DictionaryArray.from_arrays(encoded.indices, dictionary)


def _as_numpy(values: Any) -> Any:
    return values.to_numpy(zero_copy_only=False)


def _check_numbers(column: Column, kind: object, exact: bool) -> None:
    """Refuse numbers of a type in a column of categories whose texts they can't stand for."""
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
