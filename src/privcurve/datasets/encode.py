"""Code raw columns by the domain alone: no code depends on another record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from privcurve.coding import Codes, code_between, code_type
from privcurve.datasets.cells import distinct
from privcurve.datasets.columns import MISSING, NUMERIC, Column
from privcurve.datasets.dates import dates
from privcurve.datasets.errors import Problems
from privcurve.datasets.numbers import Column as Amounts
from privcurve.datasets.numbers import numbers
from privcurve.datasets.readers.table import RawTable
from privcurve.datasets.readers.typed import as_read
from privcurve.datasets.values import Codes as CodesOfTexts
from privcurve.schema import nearest

if TYPE_CHECKING:
    from privcurve.datasets.description import Description, LabelSpec
    from privcurve.datasets.domain import Domain


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


class Coder:
    """Codes records, a piece at a time: a text that comes again is not looked up again.

    Parameters
    ----------
    domain : Domain
    path : object
        Where the fate of values is decided, for messages.
    problems : Problems
        Is told of each value that has no code: missing, not a number, an unknown category or
        label. Names column, value, line, and the YAML file. Its code is then 0.
    """

    def __init__(self, domain: Domain, path: object, problems: Problems) -> None:
        self._domain, self._path, self._problems = domain, path, problems
        self._columns = [
            (column, None if column.kind == NUMERIC else codes_of_texts(domain, column))
            for column in domain.columns
        ]
        self._type = code_type(domain.n_bins)

    def columns(self, table: RawTable) -> tuple[Codes, NDArray[np.int64]]:
        """Return the codes of some records, and how many values of each column were clipped."""
        X: NDArray[Any] = np.empty((len(table.lines), len(self._columns)), dtype=self._type)
        clipped = np.zeros(len(self._columns), dtype=np.int64)
        for j, (column, codes) in enumerate(self._columns):
            if codes is None:
                X[:, j], clipped[j] = self._numeric(table, column)
            else:
                X[:, j] = self._categories(table, column, codes)
        return X, clipped

    def records(self, description: Description, table: RawTable) -> Coded:
        """Code some records with their labels."""
        X, clipped = self.columns(table)
        return Coded(X, self.labels(description, table), clipped)

    def _numeric(self, table: RawTable, column: Column) -> tuple[NDArray[np.int64], int]:
        values, absent, wrong = amounts(self._domain, column, table.columns[column.name])
        if absent.any() and not column.missing_bin:
            row = int(np.argmax(absent))
            self._problems.add(
                f"{table.where(row)}: {column.name!r} is missing. Correct the file; or decide that "
                f"missing values have a bin of their own: missing: bin in {self._path}.",
                (column.name, "missing"),
                int(absent.sum()),
            )
        for row, fault in wrong.items():
            self._problems.add(
                f"{table.where(row)}: {column.name!r} is {fault}. Correct the file; if the column "
                f"does not hold {'such dates' if column.dates else 'numbers'}, describe it as "
                f"{'of another format' if column.dates else 'categorical'} in {self._path}.",
                (column.name, fault),
            )
        codes, n_clipped = bin_codes(values, column)
        codes[absent | np.isnan(values)] = column.bins if column.missing_bin else 0
        return codes, n_clipped

    def _categories(
        self, table: RawTable, column: Column, codes: CodesOfTexts
    ) -> NDArray[np.int64]:
        domain, problems = self._domain, self._problems
        cells, places = distinct(texts(domain, column, table.columns[column.name]))
        each = np.array(codes.of(cells), dtype=np.int64)
        if each.min(initial=0) >= 0:
            return each[places]
        for row in np.flatnonzero(each[places] < 0).tolist():
            text = (cells[places[row]] or "").strip()
            if text in ("", *domain.missing):
                remedy = f"and list {MISSING!r} in {self._path}."
                if MISSING in column.codes:
                    remedy = f"and add {text!r} to missing in {self._path}."
                problems.add(
                    f"{table.where(row)}: {column.name!r} is missing, which is not one of its "
                    f"categories. Correct the file; or decide that missing values are a category, "
                    f"{remedy}",
                    (column.name, "missing"),
                )
            else:
                problems.add(
                    f"{table.where(row)}: {column.name!r} is {text!r}, which is not one of its "
                    f"categories{nearest(text, column.codes)} Correct the file; or decide from "
                    "what is public (a codebook, a list of towns), not from the records, which "
                    f"values there can be: list all of them in {self._path}, or set unknown: other "
                    "there and list the category 'other'.",
                    (column.name, text),
                )
            if problems.full:
                break
        return np.maximum(each, 0)[places]

    def labels(self, description: Description, table: RawTable) -> NDArray[np.int8]:
        """Return the labels of some records: −1 and +1; of more than two classes 0, 1, …."""
        label, problems = description.label, self._problems
        codes = label.codes
        cells, places = distinct(table.columns[label.column])
        cells = labels(label, cells)
        unknown = np.array([text not in codes for text in cells], dtype=bool)
        rows = np.flatnonzero(unknown[places]).tolist() if unknown.any() else []
        for text, row in ((cells[places[row]], row) for row in rows):
            if label.classes:
                which = f"none of its classes ({', '.join(label.names)}){nearest(text, codes)}"
                which = which.removesuffix(".")
            else:
                negative, positive = label.names
                which = f"neither {positive} (positive) nor {negative} (negative)"
            end = "" if which.endswith("?") else "."
            what = "missing" if text is None else repr(text)
            problems.add(
                f"{table.where(row)}: the label {label.column!r} is {what}, which is {which}{end} "
                f"Correct the file, or decide what it means: label in {description.path}.",
                ("label", text),
            )
            if problems.full:
                break
        each = [0 if text is None else codes.get(text, 0) for text in cells]
        return np.array(each, dtype=np.int8)[places]


def bin_codes(values: NDArray[np.float64], column: Column) -> tuple[NDArray[np.int64], int]:
    """Return the bins of numbers, clipped to a column's bounds, and how many were outside.

    A value on an edge belongs to the bin above it; the upper bound to the last bin.
    """
    if column.bounds is None:
        raise ValueError(f"the column {column.name!r} is not numeric")
    low, high = column.bounds
    n_clipped = int(np.count_nonzero((values < low) | (values > high)))
    return code_between(values, column.edges), n_clipped


def amounts(domain: Domain, column: Column, values: Any) -> Amounts:
    """Read a numeric column, of numbers or dates: :func:`privcurve.datasets.numbers.numbers`."""
    if column.dates:
        return dates(values, column.dates, domain.missing, domain.decimal)
    return numbers(values, domain.missing, domain.decimal)


def texts(domain: Domain, column: Column, values: Any) -> Any:
    """Return the texts of a column of categories, with None for no value."""
    return as_read(values.tolist(), domain, column) if isinstance(values, np.ndarray) else values


def labels(label: LabelSpec, cells: Sequence[str | None]) -> list[str | None]:
    """Return the texts of labels, as a description spells them, with None for no label."""
    return [cell if cell is None else cell.strip().removesuffix(label.strip) for cell in cells]


def codes_of_texts(domain: Domain, column: Column) -> CodesOfTexts:
    """Return what the texts of a column of categories are coded as."""
    return CodesOfTexts(column, domain.missing, domain.unknown, domain.decimal)
