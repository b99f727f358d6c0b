"""Read the columns of a frame in pieces, as if they had been read from a file."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import timedelta
from numbers import Integral
from typing import Any

import numpy as np

from privcurve.coding import ABSENT
from privcurve.datasets.domain import Column, Domain
from privcurve.datasets.errors import DatasetError, Problems
from privcurve.datasets.reading.cells import (
    NoColumnError,
    compose,
    conversion_errors,
    convert_cells,
    text_of,
)
from privcurve.datasets.reading.table import RawTable, chunk_size, find_fields, list_names
from privcurve.given import column_names

FRAME = "the frame"

_SPANS = (timedelta, np.timedelta64)


def frame_tables(domain: Domain, frame: object, in_order: bool) -> tuple[int, Iterator[RawTable]]:
    """Return the number of rows of a frame, and an iterator over its rows in pieces.

    The pieces have the columns of the domain. `frame` is a DataFrame, an Arrow table, a structured
    array, or a mapping of columns. With `in_order`, or if the domain has one column, `frame` may
    also be an array without names, with the columns in the order of the domain. Raises DatasetError
    if a column is missing or has no name.
    """
    columns = _find_columns(domain, frame, in_order)
    n_rows = len(columns[domain.names[0]])
    return n_rows, _cut_tables(domain, columns, n_rows)


def frame_column(domain: Domain, frame: Any, name: str) -> tuple[Any, list[str]]:
    """Return the cells of a column as texts, and the names of all columns of the frame.

    The cells are None if the frame lacks the column `name`.
    """
    key_of = {_name_of(key): key for key in column_names(frame)}
    if _name_of(name) not in key_of:
        return None, list(key_of)
    return convert_cells(_convert(name, frame[key_of[_name_of(name)]]), domain, None), list(key_of)


def arrow_table(frame: Any) -> Any:
    """Convert a frame to an Arrow table.

    A column with values of several types becomes texts. A column that cannot be read, such as a
    column of lists, becomes a column of empty lists. Raises DatasetError if `frame` is not a frame,
    or has two columns of the same name.
    """
    import pyarrow

    keys = column_names(frame)
    if not hasattr(frame, "columns"):
        raise DatasetError(f"the table must be a DataFrame; got {type(frame).__name__}")
    fields = list(map(_name_of, keys))
    if twice := next((name for name in fields if fields.count(name) > 1), None):
        raise DatasetError(f"{FRAME} has several columns named {twice!r}: rename them")
    arrays = {}
    for name, key in zip(fields, keys, strict=True):
        values = _convert(name, frame[key])
        try:
            _refuse_spans(values)
            if isinstance(values, list):
                values = pyarrow.array([text_of(value) for value in values], pyarrow.string())
        except NoColumnError:
            # The reader of the table takes a column of lists for an unsupported column.
            values = pyarrow.array([[]] * len(values))
        arrays[name] = values
    return pyarrow.table(arrays)


def _find_columns(domain: Domain, frame: Any, in_order: bool) -> dict[str, Any]:
    """Return the columns of the domain, by name, each as an Arrow array or a list of cells."""
    keys = column_names(frame)
    fields = list(map(_name_of, keys))
    # pandas calls unnamed columns 0, 1, …. Check the type first: some names can't be compared to
    # numbers.
    are_places = all(isinstance(key, Integral) and key == j for j, key in enumerate(keys))
    is_unnamed = are_places and not set(fields) & set(domain.names)
    if is_unnamed and (hasattr(frame, "columns") or not isinstance(frame, Mapping)):
        frame = dict(zip(domain.names, _unnamed_columns(domain, frame, in_order), strict=True))
        keys = fields = list(domain.names)
    find_fields(FRAME, fields, list(map(_name_of, domain.names)), Problems(FRAME, is_file=True))
    key_of = dict(zip(fields, keys, strict=True))
    columns = {name: _convert(name, frame[key_of[_name_of(name)]]) for name in domain.names}
    if len(set(map(len, columns.values()))) > 1:
        raise DatasetError(f"the columns of {FRAME} must have equal lengths; they differ")
    if isinstance(frame, Mapping):
        _warn_of_index(frame[key_of[_name_of(name)]] for name in domain.names)
    return columns


def _warn_of_index(columns: Iterable[object]) -> None:
    """Warn if the pandas indexes of columns in a mapping differ: columns are joined by position."""
    candidates: Iterator[Any] = (getattr(column, "index", None) for column in columns)
    # Only an index of pandas has `equals`: the attribute `index` of a list is a method.
    indexes: list[Any] = [index for index in candidates if hasattr(index, "equals")]
    if any(not index.equals(indexes[0]) for index in indexes):
        warnings.warn(
            f"columns of {FRAME} have different indexes: they are joined by position. If they "
            "belong together by index, make a DataFrame of them",
            stacklevel=4,
        )


def _unnamed_columns(domain: Domain, rows: object, in_order: bool) -> Any:
    """Return the columns of rows that have no column names; names 0, 1, 2, … count as none.

    Raises DatasetError if the domain has several columns and `in_order` is false, or if the number
    of columns is wrong.
    """
    names = list_names(domain.names)
    if len(domain.columns) > 1 and not in_order:
        raise DatasetError(
            f"rows must name their columns ({names}); got {type(rows).__name__}, which names none: "
            "give a DataFrame with these names (a transformer of scikit-learn makes one after "
            '.set_output(transform="pandas")). If the columns have this order, '
            "pandas.DataFrame(rows, columns=[…]) names them, and a Schema with "
            'unnamed="in_order" takes them as they are'
        )
    matrix = _make_matrix(rows)
    if matrix.ndim != 2 or matrix.shape[1] != len(domain.columns):
        raise DatasetError(
            f"an array must have the {len(domain.columns)} columns of the domain; got the shape "
            f"{matrix.shape}. Give the columns in its order, {names}; or a frame"
        )
    return matrix.T


def _make_matrix(rows: object) -> Any:
    """Convert rows to an array; lists become an array of objects, which keep their types."""
    if isinstance(rows, np.ma.MaskedArray):
        return rows
    return np.asarray(rows) if hasattr(rows, "__array__") else np.array(rows, dtype=object)


def _name_of(key: object) -> str:
    """Return a column name as a text in NFC, so that names that look equal are equal."""
    return compose(str(key))


def _convert(name: str, values: object) -> Any:
    """Return a column as an Arrow array if its values have a common type, else as a list."""
    import pyarrow

    if isinstance(values, pyarrow.ChunkedArray):
        return values.combine_chunks()
    if isinstance(values, pyarrow.Array):
        return values
    if isinstance(values, (str, bytes, Mapping)) or not hasattr(values, "__iter__"):
        raise DatasetError(
            f"{name!r} of {FRAME} has the type {type(values).__name__}, not a column: for one "
            "record, give a list of one value"
        )
    kind = getattr(values, "dtype", np.dtype(object))
    if kind == np.dtype(object) or hasattr(kind, "categories"):
        return _convert_values(values)
    try:
        if isinstance(values, np.ma.MaskedArray):
            array = pyarrow.array(_make_native(values.data), mask=np.ma.getmaskarray(values))
        else:
            native = _make_native(values) if isinstance(values, np.ndarray) else values
            array = pyarrow.array(native, from_pandas=True)
    except conversion_errors():
        return _convert_values(values)
    return array.combine_chunks() if isinstance(array, pyarrow.ChunkedArray) else array


def _make_native(values: Any) -> Any:
    """Return a contiguous array in native byte order, as Arrow requires."""
    return np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("="))


def _convert_values(values: Any) -> Any:
    """Return an Arrow array if all present values are texts, otherwise a list of values."""
    import pyarrow

    if isinstance(values, np.ma.MaskedArray):
        gaps = np.ma.getmaskarray(values)
        cells = [None if gap else value for value, gap in zip(values.data, gaps, strict=True)]
    elif hasattr(groups := getattr(values, "cat", values), "codes"):
        # A pandas categorical may have categories of different types. The code −1 means missing, so
        # None is the last entry.
        categories = [*groups.categories, None]
        cells = [categories[code] for code in groups.codes]
    else:
        cells = list(values)
    # Give only texts to Arrow, which would convert mixed values, such as 1 and "a".
    if {kind for kind in map(type, cells) if kind.__name__ not in ABSENT} <= {str, float}:
        with suppress(*conversion_errors()):
            return pyarrow.array(cells, pyarrow.string(), from_pandas=True)
    return cells


def _cut_tables(domain: Domain, columns: Mapping[str, Any], n_rows: int) -> Iterator[RawTable]:
    step = chunk_size(len(columns))
    for start in range(0, n_rows, step):
        stop = min(start + step, n_rows)
        pieces = {
            column.name: _convert_column(domain, column, columns[column.name][start:stop])
            for column in domain.columns
        }
        yield RawTable(FRAME, pieces, range(start, stop), "row")


def _convert_column(domain: Domain, column: Column, values: object) -> Any:
    try:
        _refuse_spans(values)
        return convert_cells(values, domain, column)
    except NoColumnError as error:
        raise DatasetError(f"{column.name!r} of {FRAME} {error}") from None


def _refuse_spans(values: Any) -> None:
    """Raise NoColumnError for time spans and periods, which are neither numbers nor dates."""
    from pyarrow import types

    kinds = {type(value) for value in values} if isinstance(values, list) else {values.type}
    for kind in kinds:
        is_class = isinstance(kind, type)
        name = kind.__name__ if is_class else str(kind)
        if issubclass(kind, _SPANS) if is_class else types.is_duration(kind):
            raise NoColumnError(name, "give numbers: in pandas, .dt.total_seconds()")
        if name == "Period" or getattr(kind, "extension_name", "") == "pandas.period":
            raise NoColumnError(
                "Period", "give days or texts: in pandas, .dt.to_timestamp() or .astype(str)"
            )
