"""Encode raw columns: the bin of a value depends on the domain, never on another record."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from privcurve.binning import code_by_edges
from privcurve.coding import Codes, code_type
from privcurve.datasets.coding.counts import ColumnCounts
from privcurve.datasets.coding.numbers import Amounts, read_dates, read_numbers, remove_grouping
from privcurve.datasets.coding.persons import is_nobody
from privcurve.datasets.coding.texts import TextCodes, strip_point
from privcurve.datasets.description import Description, LabelSpec
from privcurve.datasets.domain import MISSING, NUMERIC, OTHER, Column, Domain
from privcurve.datasets.errors import Problems
from privcurve.datasets.reading import RawTable, cells_of, convert_cells, list_cells
from privcurve.schema import suggestion


class Coded(NamedTuple):
    """Encoded records: their bins and labels."""

    X: Codes  # (n_rows, n_columns): bins
    y: NDArray[np.int8]  # (n_rows,): labels, −1 or +1; with more than two classes 0, 1, …
    n_read: int  # number of records that were read; X and y may contain only some of them
    rows: NDArray[np.intp]  # (n_rows,): position of each record among the records that were read
    # Name of the person of each record that was read; empty if ε protects no persons.
    persons: Sequence[str] = ()


class CodedValues(NamedTuple):
    """The encoded values of a column."""

    codes: NDArray[np.int64]  # (n_rows,): bins; −1 for a value that no bin contains
    absent: NDArray[np.bool_]  # (n_rows,): whether the value is missing
    # Has an entry for each row whose value is not missing, but in no bin. The entry is the text of
    # the value (categorical column), or the reason why the value is no number (numeric column).
    wrong: Mapping[int, str]
    # (n_rows,): the numbers of a numeric column, not clipped; NaN for a missing value. None for a
    # categorical column.
    amounts: NDArray[np.float64] | None = None


class ColumnCoder:
    """Encodes the values of a column, and counts them in `counts` (:class:`ColumnCounts`)."""

    def __init__(self, domain: Domain, column: Column) -> None:
        self.column = column
        self.counts = ColumnCounts(column)
        self._domain = domain
        self._texts = None if column.kind == NUMERIC else TextCodes(domain, column)

    def code(self, values: Any) -> CodedValues:
        """Encode the values of further records, and count them."""
        coded = self._code_numbers(values) if self._texts is None else self._code_categories(values)
        self.counts.n += len(values)
        self.counts.missing += int(coded.absent.sum())
        self.counts.gaps += int((coded.absent & (coded.codes < 0)).sum())
        return coded

    def _code_numbers(self, values: object) -> CodedValues:
        column = self.column
        if column.bounds is None:
            raise ValueError(f"the column {column.name!r} must be numeric")
        numbers, absent, wrong = read_amounts(self._domain, column, values)
        self.counts.below += int(np.count_nonzero(numbers < column.bounds[0]))
        self.counts.above += int(np.count_nonzero(numbers > column.bounds[1]))
        codes = code_by_edges(numbers, column.edges)
        codes[absent] = column.bins if column.missing_bin else -1
        codes[list(wrong)] = -1
        return CodedValues(codes, absent, wrong, numbers)

    def _code_categories(self, values: object) -> CodedValues:
        column, coder = self.column, self._texts
        assert coder is not None
        cells, places = list_cells(category_texts(self._domain, column, values))
        words = [(cell or "").strip() for cell in cells]
        codes = np.array(coder.code_all(cells), dtype=np.int64)
        titles = np.array([*column.titles, ""])[codes]  # the index −1 (no bin) gives ""
        markers = ("", *self._domain.missing_in(column))
        are_missing = np.array([word in markers for word in words], dtype=bool)
        absent = (titles == MISSING) | ((codes < 0) & are_missing)
        self.counts.other += int(np.count_nonzero((titles == OTHER)[places]))
        rows = np.flatnonzero(((codes < 0) & ~absent)[places]).tolist()
        return CodedValues(codes[places], absent[places], {row: words[places[row]] for row in rows})


class Coder:
    """Encodes records piece by piece; the bin of each distinct text is computed only once.

    A value that is in no bin (missing, not a number, an unknown category or label) is encoded as 0
    and becomes a fault in `problems`. The fault names the column, the line, and `path`: the YAML
    file to change. `counts` has the :class:`ColumnCounts` of each column.
    """

    def __init__(self, domain: Domain, path: object, problems: Problems) -> None:
        self._domain, self._path, self._problems = domain, path, problems
        self._columns = [ColumnCoder(domain, column) for column in domain.columns]
        self._type = code_type(domain.n_bins)
        self.counts = [column.counts for column in self._columns]

    def code_columns(self, table: RawTable) -> Codes:
        """Return the bins of the records of a table: (n_records, n_columns)."""
        X: NDArray[Any] = np.empty((len(table.lines), len(self._columns)), dtype=self._type)
        for j, coder in enumerate(self._columns):
            coded = coder.code(table.columns[coder.column.name])
            for row in np.flatnonzero(coded.codes < 0).tolist():
                self._refuse(table, coder.column, row, coded.wrong.get(row))
                if self._problems.full:
                    break
            X[:, j] = np.maximum(coded.codes, 0)
        return X

    def _refuse(self, table: RawTable, column: Column, row: int, wrong: str | None) -> None:
        """Add a fault for the value of `column` at `row`, which is in no bin.

        `wrong` is the entry of :attr:`CodedValues.wrong` for this row; None for a missing value.
        """
        what = "missing" if wrong is None else wrong
        if column.kind == NUMERIC:
            fault = f"{what}."
            if wrong is None:
                remedy = "or let missing values have a bin of their own: missing: bin"
            elif column.dates:
                remedy = "if the column holds other dates, change its format"
            else:
                remedy = "if the column does not hold numbers, describe it as categorical"
        elif wrong is None:
            fault = f"{what}, which is not one of its categories."
            word = "add '' to missing" if MISSING in column.codes else f"list {MISSING!r}"
            remedy = f"or let missing values be a category, and {word}"
        else:
            fault = f"{what!r}, which is not one of its categories{suggestion(what, column.codes)}"
            remedy = (
                "or list all possible values, from public knowledge (a codebook, a list of "
                "towns) and not from the records, or set unknown: other and list the category "
                "'other',"
            )
        self._problems.refuse(
            table.lines[row],
            f"{table.place_of(row)}: {column.name!r} is {fault}",
            f"Correct the file; {remedy} in {self._path}.",
            (column.name, what),
        )

    def code_labels(self, description: Description, table: RawTable) -> NDArray[np.int8]:
        """Return the labels of records: −1 and +1; with more than two classes 0, 1, …."""
        label, codes = description.label, description.label.codes
        cells, places = list_cells(table.columns[label.column])
        cells = label_texts(label, cells)
        unknown = np.array([text not in codes for text in cells], dtype=bool)
        for row, cell in self._rows_to_refuse(unknown, places):
            text = cells[cell]
            if label.classes:
                which = f"none of its classes ({', '.join(label.names)}){suggestion(text, codes)}"
            else:
                negative, positive = label.names
                which = f"neither {positive} (positive) nor {negative} (negative)."
            what = "missing" if text is None else repr(text)
            self._problems.refuse(
                table.lines[row],
                f"{table.place_of(row)}: the label {label.column!r} is {what}, which is {which}",
                f"Correct the file, or add the value to label in {description.path}.",
                ("label", text),
            )
        return np.array([codes.get(text, 0) for text in cells], dtype=np.int8)[places]

    def name_persons(self, description: Description, table: RawTable) -> list[str]:
        """Return the name of the person of each record; an empty list if ε protects no persons.

        ``3.0`` and ``3`` are the same person: programs write whole numbers as ``3.0`` in columns
        with missing values.
        """
        unit = description.unit
        if unit is None:
            return []
        cells, places = list_cells(cells_of(table.columns[unit.column]))
        decimal = self._domain.decimal
        names = [strip_point(str(cell or "").strip(), decimal) for cell in cells]
        absent = np.array(
            [name in self._domain.missing or is_nobody(name) for name in names], dtype=bool
        )
        for row, place in self._rows_to_refuse(absent, places):
            what = f" ({names[place]!r})" if names[place] else ""
            self._problems.add(
                f"{table.place_of(row)}: the unit {unit.column!r} is missing{what}, so the "
                "record belongs to no person. Correct the file, or name another column in "
                f"{description.path}.",
                ("unit", "missing", names[place]),
            )
        return [names[place] for place in places]

    def _rows_to_refuse(
        self, wrong: NDArray[np.bool_], places: NDArray[np.intp]
    ) -> Iterator[tuple[int, int]]:
        """Yield each row whose cell is wrong, with the index of this cell among the distinct cells.

        `wrong` says for each distinct cell whether it is wrong. `places` has for each row the index
        of its distinct cell. The iterator ends when `problems` has the maximum number of faults.
        """
        for row in np.flatnonzero(wrong[places]).tolist() if wrong.any() else ():
            yield row, places[row]
            if self._problems.full:
                return


def read_amounts(domain: Domain, column: Column, values: object) -> Amounts:
    """Read a numeric column, of numbers or of dates; returns `Amounts`."""
    missing, decimal, thousands = domain.missing_in(column), domain.decimal, domain.thousands
    if column.dates:
        return read_dates(values, column, missing, decimal)
    if thousands and not isinstance(values, np.ndarray):
        missing = (*missing, *remove_grouping(missing, decimal, thousands))
        values = remove_grouping(cells_of(values), decimal, thousands)
    return read_numbers(values, missing, decimal)


def category_texts(domain: Domain, column: Column, values: Any) -> Any:
    """Return the texts of a categorical column, with None for a missing value.

    A NumPy array is converted to texts; other columns contain texts already.
    """
    is_array = isinstance(values, np.ndarray)
    return convert_cells(values.tolist(), domain, column) if is_array else values


def label_texts(label: LabelSpec, cells: Sequence[str | None]) -> list[Any]:
    """Strip blanks at the ends of labels, and the suffix `label.strip`; None stays None."""
    return [cell if cell is None else cell.strip().removesuffix(label.strip) for cell in cells]
