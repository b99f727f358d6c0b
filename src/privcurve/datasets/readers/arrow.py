"""Columns of Arrow, in files and in frames, as the numbers and texts that are coded.

What a value means is said by :mod:`privcurve.datasets.cells`, a value at a time. Here a column is
read at once: numbers as numbers, and of all else each value that is there is asked about once.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from privcurve.datasets.cells import NoColumnError, text_of
from privcurve.datasets.columns import NUMERIC, Column
from privcurve.datasets.readers.typed import check_numbers

if TYPE_CHECKING:
    from privcurve.datasets.domain import Domain


def as_read(
    values: Any, domain: Domain, column: Column | None, labels: Collection[str] = ()
) -> Any:
    """Return what :func:`~privcurve.datasets.readers.typed.as_cells` does, of a column at once.

    Parameters
    ----------
    values : pyarrow.Array
    domain : Domain
    column : Column, optional
        Of the domain; None for the label.
    labels : collection of str
        What is listed of the label.

    Returns
    -------
    ndarray or pyarrow.Array
        Of a numeric column, numbers with NaN where there is none, if the values are numbers; of a
        column of dates, days (``datetime64[D]``), if they are dates or times. Else texts, with null
        where there is no value.

    Raises
    ------
    NoColumnError
        If no column can be made of this type.
    DatasetError
        If these are numbers, and the column's texts are such that numbers lose a part of them.
    """
    try:
        return _as_read(values, domain, column, labels)
    except NoColumnError:
        raise
    except refusals() as error:
        raise NoColumnError(values.type, error) from None


def refusals() -> tuple[type[Exception], ...]:
    """Return what Arrow raises of values of which it can make nothing."""
    import pyarrow

    return (pyarrow.ArrowException, TypeError, ValueError, OverflowError)


def _as_read(values: Any, domain: Domain, column: Column | None, labels: Collection[str]) -> Any:
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
        check_numbers(column, kind, is_exact)
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
    import pyarrow
    from pyarrow import types

    distinct = values.dictionary_encode()
    each = distinct.dictionary
    # Python has no numbers of few digits, and no times of many.
    is_numpy = types.is_floating(each.type) or types.is_timestamp(each.type)
    scalars = _as_numpy(each) if is_numpy else each.to_pylist()
    texts = [text_of(value, listed, decimal) for value in scalars]
    each = pyarrow.array(texts, pyarrow.string())
    return pyarrow.DictionaryArray.from_arrays(distinct.indices, each)


def _as_numpy(values: Any) -> Any:
    return values.to_numpy(zero_copy_only=False)
