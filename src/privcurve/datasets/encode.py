"""Code raw columns by the domain alone: no code depends on another record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privcurve.coding import code_between, code_type
from privcurve.datasets.description import Description
from privcurve.datasets.domain import NUMERIC, Column
from privcurve.datasets.errors import DatasetError
from privcurve.datasets.parse import RawTable
from privcurve.schema import nearest

MISSING = "?"
OTHER = "other"


@dataclass(frozen=True)
class Coded:
    """Codes, labels, and how many values had to be clipped.

    Attributes
    ----------
    X : ndarray of shape (n_rows, n_columns), uint8 or uint16
    y : ndarray of shape (n_rows,), int8
        −1 or +1.
    n_clipped : int
    """

    X: NDArray[np.unsignedinteger[Any]]
    y: NDArray[np.int8]
    n_clipped: int


def encode(description: Description, table: RawTable) -> Coded:
    """Code one raw table.

    Raises
    ------
    DatasetError
        For a value that has no code: missing, not a number, an unknown category or
        label. Names column, value, line, and the YAML file to correct.
    """
    columns = description.domain.columns
    n_rows = len(table.lines)
    X: NDArray[Any] = np.empty((n_rows, len(columns)), dtype=code_type(description.domain.n_bins))
    n_clipped = 0
    for j, column in enumerate(columns):
        values = table.columns[column.name]
        if column.kind == NUMERIC:
            numbers = _numbers(description, table, column, values)
            X[:, j], clipped = bin_codes(numbers, column)
            n_clipped += clipped
        else:
            X[:, j] = _categories(description, table, column, values)
    return Coded(X, _labels(description, table), n_clipped)


def bin_codes(numbers: NDArray[np.float64], column: Column) -> tuple[NDArray[np.int64], int]:
    """Clip numbers to a column's bounds and find their equal-width bins.

    Parameters
    ----------
    numbers : ndarray of shape (n_rows,)
    column : Column
        A numeric one.

    Returns
    -------
    codes : ndarray of shape (n_rows,)
        A value on an edge belongs to the bin above it; the upper bound to the last bin.
    n_clipped : int
        How many values were outside the bounds.
    """
    if column.bounds is None:
        raise ValueError(f"the column {column.name!r} is not numeric")
    low, high = column.bounds
    n_clipped = int(np.count_nonzero((numbers < low) | (numbers > high)))
    return code_between(numbers, column.edges), n_clipped


def _where(description: Description, table: RawTable, row: int) -> str:
    return f"dataset {description.name!r}: line {table.lines[row]} of {table.source}"


def _numbers(
    description: Description, table: RawTable, column: Column, values: Sequence[Any]
) -> NDArray[np.float64]:
    try:
        numbers = np.array(values, dtype=np.float64)
    except ValueError:
        row = next(k for k, value in enumerate(values) if not _is_number(value))
        kind = (
            "missing"
            if values[row].strip() in ("", description.missing)
            else f"{values[row]!r}, not a number"
        )
        raise DatasetError(
            f"{_where(description, table, row)}: {column.name!r} is {kind}. Correct the file, or "
            f"describe the column as categorical in {description.path}."
        ) from None
    finite = np.isfinite(numbers)
    if not finite.all():
        row = int(np.argmin(finite))
        raise DatasetError(
            f"{_where(description, table, row)}: {column.name!r} is {numbers[row]}. "
            "Put a finite number there, or leave the record out."
        )
    return numbers


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _categories(
    description: Description, table: RawTable, column: Column, values: Sequence[Any]
) -> list[int]:
    # LIBSVM files hold numbers only; a category is then a whole number.
    texts = [v.strip() if isinstance(v, str) else f"{v:.10g}" for v in values]
    codes = dict(column.codes)
    if MISSING in codes:
        codes[description.missing] = codes[MISSING]
    fallback = codes.get(OTHER) if description.unknown == OTHER else None
    coded = []
    for row, text in enumerate(texts):
        code = codes.get(text, fallback)
        if code is None:
            missing = text in ("", description.missing)
            add = MISSING if text == description.missing else text
            raise DatasetError(
                f"{_where(description, table, row)}: {column.name!r} is "
                f"{'missing' if missing else repr(text)}, which is not one of its categories"
                f"{nearest(text, codes)} Add {add!r} to the categories of {column.name!r} in "
                f"{description.path}, or set unknown: other there and add the category 'other'."
            )
        coded.append(code)
    return coded


def _labels(description: Description, table: RawTable) -> NDArray[np.int8]:
    label = description.label
    signs = dict.fromkeys(label.negative, -1) | dict.fromkeys(label.positive, 1)
    texts = [str(text).strip().removesuffix(label.strip) for text in table.columns[label.column]]
    found = [signs.get(text) for text in texts]
    if None in found:
        row = found.index(None)
        raise DatasetError(
            f"{_where(description, table, row)}: the label {label.column!r} is {texts[row]!r}, "
            f"which is neither {' or '.join(label.positive)} (positive) nor "
            f"{' or '.join(label.negative)} (negative). Correct label in {description.path}."
        )
    return np.array(found, dtype=np.int8)
