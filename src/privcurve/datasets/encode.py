"""Code raw columns by the domain alone: no code depends on another record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from privcurve.coding import Codes, code_between, code_type
from privcurve.datasets.columns import MISSING, NUMERIC, Column
from privcurve.datasets.dates import dates
from privcurve.datasets.numbers import numbers
from privcurve.datasets.problems import Problems
from privcurve.datasets.readers.table import RawTable
from privcurve.datasets.readers.typed import as_cells
from privcurve.datasets.values import Codes as CodesOfTexts
from privcurve.schema import nearest

if TYPE_CHECKING:
    from privcurve.datasets.description import Description, LabelSpec
    from privcurve.datasets.domain import Domain


class Reading(Protocol):
    """What says how raw values are read: a description, or what stands for one."""

    @property
    def domain(self) -> Domain:
        """Columns, and what becomes of missing and unknown values."""

    @property
    def path(self) -> object:
        """Where this is decided, for messages."""


@dataclass(frozen=True)
class Coded:
    """Codes, labels, and how many values had to be clipped.

    Attributes
    ----------
    X : ndarray of shape (n_rows, n_columns), uint8 or uint16
    y : ndarray of shape (n_rows,), int8
        −1 or +1; of more than two classes 0, 1, ….
    clipped : ndarray of shape (n_columns,), int64
        How many values of each column lay outside its bounds.
    """

    X: NDArray[np.unsignedinteger[Any]]
    y: NDArray[np.int8]
    clipped: NDArray[np.int64]


def encode(description: Description, table: RawTable, problems: Problems) -> Coded:
    """Code some records.

    Parameters
    ----------
    description : Description
    table : RawTable
    problems : Problems
        Is told of each value that has no code: missing, not a number, an unknown category or
        label. Names column, value, line, and the YAML file. Its code is then 0.

    Returns
    -------
    Coded
    """
    X, clipped = encode_columns(description, table, problems)
    return Coded(X, _labels(description, table, problems), clipped)


def encode_columns(
    said: Reading, table: RawTable, problems: Problems
) -> tuple[Codes, NDArray[np.int64]]:
    """Code the columns of some records, which may have no labels.

    Parameters
    ----------
    said : Reading
    table, problems
        As for :func:`encode`.

    Returns
    -------
    codes : ndarray of shape (n_rows, n_columns), uint8 or uint16
    clipped : ndarray of shape (n_columns,)
    """
    domain = said.domain
    X: NDArray[Any] = np.empty(
        (len(table.lines), len(domain.columns)), dtype=code_type(domain.n_bins)
    )
    clipped = np.zeros(len(domain.columns), dtype=np.int64)
    for j, column in enumerate(domain.columns):
        if column.kind == NUMERIC:
            X[:, j], clipped[j] = _numeric(said, table, column, problems)
        else:
            X[:, j] = _categories(said, table, column, problems)
    return X, clipped


def bin_codes(values: NDArray[np.float64], column: Column) -> tuple[NDArray[np.int64], int]:
    """Clip numbers to a column's bounds and find their equal-width bins.

    Parameters
    ----------
    values : ndarray of shape (n_rows,)
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
    n_clipped = int(np.count_nonzero((values < low) | (values > high)))
    return code_between(values, column.edges), n_clipped


def amounts(
    domain: Domain, column: Column, values: Sequence[Any] | NDArray[Any]
) -> tuple[NDArray[np.float64], NDArray[np.bool_], dict[int, str]]:
    """Read a numeric column, of numbers or dates: :func:`privcurve.datasets.numbers.numbers`."""
    if column.dates:
        return dates(values, column.dates, domain.missing, domain.decimal)
    return numbers(values, domain.missing, domain.decimal)


def texts(
    domain: Domain, column: Column, values: Sequence[Any] | NDArray[Any]
) -> Sequence[str | None]:
    """Return the texts of a column of categories, with None for no value."""
    return as_cells(values.tolist(), domain, column) if isinstance(values, np.ndarray) else values


def _numeric(
    said: Reading, table: RawTable, column: Column, problems: Problems
) -> tuple[NDArray[np.int64], int]:
    found, absent, wrong = amounts(said.domain, column, table.columns[column.name])
    if absent.any() and not column.missing_bin:
        row = int(np.argmax(absent))
        problems.add(
            f"{table.where(row)}: {column.name!r} is missing. Correct the file; or decide that "
            f"missing values have a bin of their own: missing: bin in {said.path}.",
            (column.name, "missing"),
            int(absent.sum()),
        )
    for row, fault in wrong.items():
        problems.add(
            f"{table.where(row)}: {column.name!r} is {fault}. Correct the file; if the column does "
            f"not hold {'such dates' if column.dates else 'numbers'}, describe it as "
            f"{'of another format' if column.dates else 'categorical'} in {said.path}.",
            (column.name, fault),
        )
    codes, n_clipped = bin_codes(found, column)
    codes[absent | np.isnan(found)] = column.bins if column.missing_bin else 0
    return codes, n_clipped


def _categories(said: Reading, table: RawTable, column: Column, problems: Problems) -> list[int]:
    domain = said.domain
    found = texts(domain, column, table.columns[column.name])
    codes = CodesOfTexts(column, domain.missing, domain.unknown, domain.decimal)
    coded = codes.of(found)
    if min(coded, default=0) >= 0:
        return coded
    for row in (row for row, code in enumerate(coded) if code < 0):
        text = (found[row] or "").strip()
        if text in ("", *domain.missing):
            remedy = f"and list {MISSING!r} in {said.path}."
            if MISSING in column.codes:
                remedy = f"and add {text!r} to missing in {said.path}."
            problems.add(
                f"{table.where(row)}: {column.name!r} is missing, which is not one of its "
                f"categories. Correct the file; or decide that missing values are a category, "
                f"{remedy}",
                (column.name, "missing"),
            )
        else:
            problems.add(
                f"{table.where(row)}: {column.name!r} is {text!r}, which is not one of its "
                f"categories{nearest(text, column.codes)} Correct the file; or decide from what is "
                "public (a codebook, a list of towns), not from the records, which values there "
                f"can be: list all of them in {said.path}, or set unknown: other there and "
                "list the category 'other'.",
                (column.name, text),
            )
        if problems.full:
            break
    return [max(code, 0) for code in coded]


def labels(label: LabelSpec, values: Sequence[str | None]) -> list[str | None]:
    """Return the texts of labels, as a description spells them, with None for no label."""
    return [value if value is None else value.strip().removesuffix(label.strip) for value in values]


def _labels(description: Description, table: RawTable, problems: Problems) -> NDArray[np.int8]:
    label = description.label
    codes = label.codes
    found = labels(label, table.columns[label.column])
    for row in (row for row, text in enumerate(found) if text not in codes):
        if label.classes:
            known = f"none of its classes ({', '.join(label.names)}){nearest(found[row], codes)}"
            known = known.removesuffix(".")
        else:
            negative, positive = label.names
            known = f"neither {positive} (positive) nor {negative} (negative)"
        end = "" if known.endswith("?") else "."
        what = "missing" if found[row] is None else repr(found[row])
        problems.add(
            f"{table.where(row)}: the label {label.column!r} is {what}, which is {known}{end} "
            f"Correct the file, or decide what it means: label in {description.path}.",
            ("label", found[row]),
        )
        if problems.full:
            break
    return np.array([0 if text is None else codes.get(text, 0) for text in found], dtype=np.int8)
