"""Convert typed cells to the texts that a text file would contain.

Cells of Parquet, Excel and frames have types, and the type of a column depends on all of its cells.
But the bin of a cell must not depend on other records. So each cell is converted to the text of its
value (:func:`text_of`), independently of other cells. :func:`convert_cells` converts a column:
numbers in an Arrow array all at once, other cells once per distinct value.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privcurve.coding import ABSENT
from privcurve.datasets.domain import NUMERIC, Column, Domain
from privcurve.datasets.errors import DatasetError

# Largest exponent of a Decimal that is written out digit by digit; the digits of a larger one could
# fill the memory.
_MOST_PLACES = 400

_BYTES_OF_FLOAT = np.float64().itemsize

# Types of whole numbers and decimals that store all digits, unlike floats.
_EXACT = (int, Decimal, np.integer)
_NUMBERS = (int, float, Decimal, np.number)

# Notations of true and false in a column of numbers.
_AS_NUMBERS = ("1", "0")

# Matches a category with a leading zero: a text such as 0150, or a pattern such as 01*.
_LEADING_ZERO = re.compile(r"0[\d*]")
_DIGITS = re.compile(r"[+-]?\d+")

# The notations of true and false; the most common one is first.
TRUTHS = {True: ("true", "True", "TRUE", "1"), False: ("false", "False", "FALSE", "0")}


class NoColumnError(TypeError):
    """A column has values of an unsupported type.

    The message has no subject: the caller puts the name of the column before it.
    """

    def __init__(self, kind: object, why: object) -> None:
        # Keep the first line: messages of Arrow may have several.
        reason = str(why).partition("\n")[0]
        super().__init__(f"has the type {kind}, which is not supported in a column ({reason})")


def text_of(value: object, listed: Collection[str] = (), decimal: str = ".") -> str | None:
    """Return the text that a text file contains for a value; None for a missing value.

    Some values have several notations: true and 1, 3 and 3.0, a date with or without the time of
    midnight. The function returns the first notation that is in `listed`, else the most common one.
    Raises :class:`NoColumnError` for lists, mappings and similar values, and for bytes that are not
    UTF-8.
    """
    if isinstance(value, np.generic):
        value = _python_scalar(value)
    if isinstance(value, str):
        return compose(value)
    spellings = _list_spellings(value, decimal)
    return next((text for text in spellings if text in listed), next(iter(spellings), None))


def compose(text: str) -> str:
    """Normalize a text to NFC, as the texts of descriptions are."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def list_cells(values: Any) -> tuple[list[Any], NDArray[np.intp]]:
    """Return the distinct cells of a column, and the index of each record's distinct cell.

    `values` is a list, or an Arrow array of texts, with None for a missing value. The indices have
    the shape (n_records,).
    """
    if not hasattr(values, "dictionary_encode"):
        place: dict[Any, int] = {}
        numbers = (place.setdefault(value, len(place)) for value in values)
        places = np.fromiter(numbers, dtype=np.intp, count=len(values))
        return list(place), places
    encoded = values if hasattr(values, "indices") else values.dictionary_encode()
    cells = cells_of(encoded.dictionary)
    indices = encoded.indices
    if indices.null_count:
        indices = indices.fill_null(len(cells))
        cells.append(None)
    return cells, indices.to_numpy(zero_copy_only=False).astype(np.intp, copy=False)


def count_cells(values: object) -> Iterator[tuple[Any, int]]:
    """Yield each distinct cell of a column, and how often it occurs."""
    cells, places = list_cells(values)
    yield from zip(cells, np.bincount(places, minlength=len(cells)).tolist(), strict=True)


def cells_of(values: Any) -> list[Any]:
    """Return the cells of a column as a list; texts of an Arrow array are normalized to NFC."""
    if not hasattr(values, "to_pylist"):
        return list(values)
    return [text if text is None else compose(text) for text in values.to_pylist()]


def _list_spellings(value: object, decimal: str) -> tuple[str, ...]:
    """Return all notations of a value, the most common one first; () for a missing value."""
    if type(value).__name__ in ABSENT:
        return ()
    if isinstance(value, bool):
        return TRUTHS[value]
    if isinstance(value, (int, float, Decimal)):
        return _spell_number(value, decimal)
    if isinstance(value, datetime):
        time = clock_of_utc(value)
        day = (time.date().isoformat(),) if time.time() == datetime.min.time() else ()
        return (time.isoformat(), time.isoformat(" "), *day)
    if isinstance(value, date):
        return (value.isoformat(),)
    if isinstance(value, bytes):
        try:
            return (compose(value.decode()),)
        except UnicodeDecodeError as error:
            raise NoColumnError("bytes", error) from None
    if isinstance(value, (Sequence, Mapping, Set, np.ndarray)):
        raise NoColumnError(type(value).__name__, "it is not a single value")
    return (compose(str(value)),)


def _python_scalar(value: np.generic) -> Any:
    """Convert a NumPy scalar to a Python value; 0.1 in float32 becomes 0.1, not 0.100000001…."""
    if isinstance(value, np.floating):
        return float(str(value)) if value.itemsize < _BYTES_OF_FLOAT else float(value)
    if isinstance(value, np.datetime64):
        unit = "D" if np.datetime_data(value)[0] in "YMWD" else "us"
        item: Any = value.astype(f"datetime64[{unit}]").item()
        # For a year outside Python's range (1 to 9999), NumPy returns an integer: write the text
        # instead.
        return str(value) if isinstance(item, int) else item
    return str(value) if isinstance(value, np.timedelta64) else value.item()


def _spell_number(value: int | float | Decimal, decimal: str) -> tuple[str, ...]:
    exact = str(value)
    if isinstance(value, Decimal):
        if value.is_nan():
            return ()
        if not value.is_finite() or abs(value.adjusted()) > _MOST_PLACES:
            return (exact.lower().removesuffix("inity"),)
        is_whole, short = value == value.to_integral_value(), f"{value:f}".rstrip("0")
    elif isinstance(value, float):
        if not math.isfinite(value):
            return () if math.isnan(value) else (exact,)
        is_whole, short = value.is_integer(), exact
    else:
        is_whole, short = True, exact
    if is_whole:
        digits = str(int(value))
        return (digits, f"{digits}{decimal}0", f"{digits}.0", exact)
    return (short.replace(".", decimal), short, exact)


def clock_of_utc(time: datetime) -> datetime:
    """Return a time without a zone; a time with a zone is first converted to UTC."""
    if hasattr(time, "to_pydatetime"):
        time = time.to_pydatetime(warn=False)
    return time if time.tzinfo is None else time.astimezone(UTC).replace(tzinfo=None)


def convert_cells(
    values: Any, domain: Domain, column: Column | None, labels: Collection[str] = ()
) -> Any:
    """Convert the cells of a column, of any types, to the types that the encoder reads.

    A list becomes a list of texts (in a date column also of `date` objects), with None for a
    missing value. The result for an Arrow array depends on the types of the column and the cells:

    - both numeric: a NumPy array of numbers, with NaN for a missing value;
    - both dates or times: a NumPy array of ``datetime64``;
    - otherwise: an Arrow array of texts.

    For the label, `column` is None, and `labels` has the labels as the description spells them.
    """
    if isinstance(values, list):
        return _convert_list(values, domain, column, labels)
    try:
        return _convert_array(values, domain, column, labels)
    except NoColumnError:
        raise
    except conversion_errors() as error:
        raise NoColumnError(values.type, error) from None


def conversion_errors() -> tuple[type[Exception], ...]:
    """Return the exceptions that Arrow raises for values it cannot convert."""
    import pyarrow

    return (pyarrow.ArrowException, TypeError, ValueError, OverflowError)


def _convert_list(
    values: list[Any], domain: Domain, column: Column | None, labels: Collection[str]
) -> list[Any]:
    if column is None:
        return [text_of(value, labels, domain.decimal) for value in values]
    if column.dates:
        return [_convert_day(value, domain.decimal) for value in values]
    if column.kind == NUMERIC:
        return [text_of(value, _AS_NUMBERS, domain.decimal) for value in values]
    texts = [text_of(value, column.codes, domain.decimal) for value in values]
    if _explain_loss(column, exact=False):
        for value, text in zip(values, texts, strict=True):
            if text is None or isinstance(value, bool) or not isinstance(value, _NUMBERS):
                continue
            if lost := _explain_loss(column, isinstance(value, _EXACT)):
                raise DatasetError(
                    f"{column.name!r} holds numbers ({type(value).__name__}), but is {lost}: read "
                    f"or write it as text (in pandas, dtype={{{column.name!r}: str}}; in Excel, "
                    "the format Text)"
                )
    return texts


def _convert_array(
    values: Any, domain: Domain, column: Column | None, labels: Collection[str]
) -> Any:
    import pyarrow
    from pyarrow import types

    values = _without_views(values)
    if types.is_dictionary(values.type):
        values = values.dictionary_decode()
    kind = values.type
    if types.is_nested(kind):
        raise NoColumnError(kind, "it holds no single values")
    if types.is_string(kind) or types.is_large_string(kind):
        return values
    if column is not None and column.dates and (types.is_timestamp(kind) or types.is_date(kind)):
        # Arrow stores times with a zone in UTC, so they need no conversion.
        return _to_numpy(values)
    are_numbers = types.is_integer(kind) or types.is_decimal(kind) or types.is_floating(kind)
    is_numeric = column is not None and column.kind == NUMERIC and not column.dates
    if is_numeric and (are_numbers or types.is_boolean(kind)):
        return _convert_numbers(values)
    encoded = values.dictionary_encode()
    # Convert float32 and times in nanoseconds by NumPy's scalars, as Python has no such types.
    is_numpy = types.is_floating(kind) or types.is_timestamp(kind)
    distinct = encoded.dictionary
    cells = list(_to_numpy(distinct)) if is_numpy else distinct.to_pylist()
    texts = pyarrow.array(_convert_list(cells, domain, column, labels), pyarrow.string())
    return pyarrow.DictionaryArray.from_arrays(encoded.indices, texts)


def _without_views(values: Any) -> Any:
    """Convert string and binary views to older types, which more functions of Arrow accept."""
    import pyarrow
    from pyarrow import types

    if types.is_dictionary(values.type):
        distinct = _without_views(values.dictionary)
        return pyarrow.DictionaryArray.from_arrays(values.indices, distinct)
    if types.is_string_view(values.type):
        return values.cast(pyarrow.large_string())
    return values.cast(pyarrow.large_binary()) if types.is_binary_view(values.type) else values


def _convert_numbers(values: Any) -> Any:
    """Convert an Arrow array of numbers or truth values to float64, with NaN for missing values."""
    import pyarrow
    from pyarrow import compute, types

    if types.is_boolean(values.type):
        values = compute.cast(values, pyarrow.int8())
    elif types.is_float16(values.type):
        # Convert through texts, to get numbers as they are written: 0.1, not 0.0999755859375.
        values = pyarrow.array(_to_numpy(values).astype(str))
    elif types.is_float32(values.type) or types.is_decimal(values.type):
        values = compute.cast(values, pyarrow.string())
    return _to_numpy(compute.cast(values, pyarrow.float64(), safe=False))


def _to_numpy(values: Any) -> Any:
    return values.to_numpy(zero_copy_only=False)


def _explain_loss(column: Column, exact: bool) -> str:
    """Return why numbers in cells cannot equal the texts of a column's categories; else "".

    Numbers have no leading zeros. If the numbers are floats (`exact` is False), they also lack
    digits of long categories.
    """
    for text, _ in column.categories:
        if _LEADING_ZERO.match(text):
            return f"described by texts such as {text!r}, whose leading zeros numbers have lost"
        if not exact and _DIGITS.fullmatch(text) and Decimal(text) != Decimal(float(text)):
            return f"described by texts such as {text!r}, of whose digits such numbers lose some"
    return ""


def _convert_day(value: object, decimal: str) -> Any:
    if isinstance(value, np.datetime64):
        value = _python_scalar(value)
    is_day = isinstance(value, date) and type(value).__name__ not in ABSENT
    return value if is_day else text_of(value, (), decimal)
