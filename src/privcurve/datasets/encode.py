"""Code raw columns by the domain alone: no code depends on another record."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from privcurve.coding import Codes, code_between, code_type
from privcurve.datasets.cells import as_read, distinct, texts_of
from privcurve.datasets.columns import MISSING, NUMERIC, OTHER, Column
from privcurve.datasets.errors import Problems
from privcurve.datasets.numbers import Amounts, Markers, amount_of, dates, numbers, ungrouped
from privcurve.datasets.readers.table import RawTable
from privcurve.schema import nearest

if TYPE_CHECKING:
    from privcurve.datasets.description import Description, LabelSpec
    from privcurve.datasets.domain import Domain

# A column may hold as many texts as it has records: only so many are remembered.
MOST_REMEMBERED = 100_000

_LEADING_ZERO = re.compile(r"[+-]?0\d")


class Coded(NamedTuple):
    """Codes, labels, and how many values had to be clipped."""

    X: Codes  # (n_rows, n_columns)
    y: NDArray[np.int8]  # (n_rows,): −1 or +1; of more than two classes 0, 1, …
    # (n_columns,): how many values of each column lay outside its bounds, of all records that were
    # read.
    clipped: NDArray[np.int64]
    n_read: int  # how many records were read; of those, X and y may be a part
    rows: NDArray[np.intp]  # (n_rows,): their places among those that were read
    # Whose records those that were read are; empty where each is another person's.
    persons: Sequence[str] = ()


class Coder:
    """Codes records, a piece at a time: a text that comes again is not looked up again.

    `path` is where the fate of values is decided, for messages. `problems` is told of each value
    that has no code (missing, not a number, an unknown category or label), with column, value,
    line, and the YAML file. Its code is then 0.
    """

    def __init__(self, domain: Domain, path: object, problems: Problems) -> None:
        self._domain, self._path, self._problems = domain, path, problems
        self._columns = [
            (column, None if column.kind == NUMERIC else TextCodes(domain, column))
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
        n, persons = len(X), self.persons(description, table)
        return Coded(X, self.labels(description, table), clipped, n, np.arange(n), persons)

    def _numeric(self, table: RawTable, column: Column) -> tuple[NDArray[np.int64], int]:
        values, absent, wrong = amounts(self._domain, column, table.columns[column.name])
        if absent.any() and not column.missing_bin:
            for row in np.flatnonzero(absent).tolist():
                self._problems.refuse(
                    table.lines[row],
                    f"{table.where(row)}: {column.name!r} is missing.",
                    "Correct the file; or decide that missing values have a bin of their own: "
                    f"missing: bin in {self._path}.",
                    (column.name, "missing"),
                )
        for row, fault in wrong.items():
            self._problems.refuse(
                table.lines[row],
                f"{table.where(row)}: {column.name!r} is {fault}.",
                "Correct the file; if the column does not hold "
                f"{'such dates' if column.dates else 'numbers'}, describe it as "
                f"{'of another format' if column.dates else 'categorical'} in {self._path}.",
                (column.name, fault),
            )
        codes, n_clipped = bin_codes(values, column)
        codes[absent | np.isnan(values)] = column.bins if column.missing_bin else 0
        return codes, n_clipped

    def _categories(self, table: RawTable, column: Column, codes: TextCodes) -> NDArray[np.int64]:
        path = self._path
        cells, places = distinct(texts(self._domain, column, table.columns[column.name]))
        each = np.array(codes.of(cells), dtype=np.int64)
        for row, cell in self._without_code(each < 0, places):
            where, line = table.where(row), table.lines[row]
            text = (cells[cell] or "").strip()
            if text in ("", *self._domain.missing):
                remedy = f"list {MISSING!r}"
                if MISSING in column.codes:
                    remedy = f"add {text!r} to missing"
                self._problems.refuse(
                    line,
                    f"{where}: {column.name!r} is missing, which is not one of its categories.",
                    f"Correct the file; or decide that missing values are a category, and {remedy} "
                    f"in {path}.",
                    (column.name, "missing"),
                )
            else:
                self._problems.refuse(
                    line,
                    f"{where}: {column.name!r} is {text!r}, which is not one of its "
                    f"categories{nearest(text, column.codes)}",
                    "Correct the file; or decide from what is public (a codebook, a list of "
                    "towns), not from the records, which values there can be: list all of them in "
                    f"{path}, or set unknown: other there and list the category 'other'.",
                    (column.name, text),
                )
        return np.maximum(each, 0)[places]

    def labels(self, description: Description, table: RawTable) -> NDArray[np.int8]:
        """Return the labels of some records: −1 and +1; of more than two classes 0, 1, …."""
        label, codes = description.label, description.label.codes
        cells, places = distinct(table.columns[label.column])
        cells = labels(label, cells)
        unknown = np.array([text not in codes for text in cells], dtype=bool)
        for row, cell in self._without_code(unknown, places):
            text = cells[cell]
            if label.classes:
                which = f"none of its classes ({', '.join(label.names)}){nearest(text, codes)}"
            else:
                negative, positive = label.names
                which = f"neither {positive} (positive) nor {negative} (negative)."
            what = "missing" if text is None else repr(text)
            self._problems.refuse(
                table.lines[row],
                f"{table.where(row)}: the label {label.column!r} is {what}, which is {which}",
                f"Correct the file, or decide what it means: label in {description.path}.",
                ("label", text),
            )
        return np.array([codes.get(text, 0) for text in cells], dtype=np.int8)[places]

    def persons(self, description: Description, table: RawTable) -> list[str]:
        """Return the name of the person that each record is of; none where all are of one each."""
        unit = description.unit
        if unit is None:
            return []
        cells, places = distinct(texts_of(table.columns[unit.column]))
        names = [str(cell or "").strip() for cell in cells]
        absent = np.array([name in ("", *self._domain.missing) for name in names], dtype=bool)
        for row, _ in self._without_code(absent, places):
            self._problems.add(
                f"{table.where(row)}: the unit {unit.column!r} is missing: whose record is it? "
                f"Correct the file, or name another column in {description.path}.",
                ("unit", "missing"),
            )
        return [names[place] for place in places]

    def _without_code(
        self, wrong: NDArray[np.bool_], places: NDArray[np.intp]
    ) -> Iterator[tuple[int, int]]:
        """Yield the rows of which a cell is wrong, and the cell, as far as is told."""
        for row in np.flatnonzero(wrong[places]).tolist() if wrong.any() else ():
            yield row, places[row]
            if self._problems.full:
                return


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
    missing, decimal, thousands = domain.missing, domain.decimal, domain.thousands
    if thousands and not isinstance(values, np.ndarray):
        missing = (*missing, *map(str, ungrouped(missing, decimal, thousands)))
        values = ungrouped(texts_of(values), decimal, thousands)
    return numbers(values, missing, decimal)


def texts(domain: Domain, column: Column, values: Any) -> Any:
    """Return the texts of a column of categories, with None for no value."""
    return as_read(values.tolist(), domain, column) if isinstance(values, np.ndarray) else values


def labels(label: LabelSpec, cells: Sequence[str | None]) -> list[Any]:
    """Return the texts of labels, as a description spells them, with None for no label."""
    return [cell if cell is None else cell.strip().removesuffix(label.strip) for cell in cells]


class TextCodes(dict[str, int]):
    """The code of each text of a categorical column; −1 where it has none.

    Blanks at the ends of a text do not count. A missing value that is a number is meant in whatever
    way it is written.
    """

    def __init__(self, domain: Domain, column: Column) -> None:
        missing, decimal = domain.missing, domain.decimal
        self._patterns: list[tuple[re.Pattern[str], int]] = []
        self._decimal = decimal
        self._amounts: frozenset[float] = frozenset()
        self._missing = self._fallback = -1
        code_of: dict[str, int]
        if column.patterns:
            codes = {title: k for k, title in enumerate(column.titles)}
            self._patterns = [(_regular(text), codes[title]) for text, title in column.categories]
            self._fallback = codes[OTHER]
            code_of = {"": codes[MISSING]}
        else:
            codes = dict(column.codes)
            code_of = dict(codes)
            if domain.unknown == OTHER:
                self._fallback = codes.get(OTHER, -1)
        if MISSING in codes:
            self._missing = codes[MISSING]
            # A text that is listed is one, whatever it means elsewhere.
            listed = [text for text, title in column.categories if title != MISSING]
            words = {text.casefold() if column.patterns else text for text in listed}
            # Nothing at all is no other text; where these are refused, someone is to decide on it.
            empty = [""] if self._fallback >= 0 else []
            for marker in (*missing, *empty):
                word = marker.casefold() if column.patterns else marker
                if not words & {word, without_point(word, decimal)}:
                    code_of.setdefault(marker, self._missing)
            plain = [text for text in listed if not _LEADING_ZERO.match(text)]
            self._amounts = Markers(missing, decimal).amounts - Markers(plain, decimal).amounts
        super().__init__(code_of)
        self._listed = len(self)

    def of(self, texts: Sequence[str | None]) -> list[int]:
        """Return the codes of some texts, and of None for no value."""
        of_none = self._fallback if self._missing < 0 else self._missing
        return [of_none if text is None else self[text] for text in texts]

    def __missing__(self, text: str) -> int:
        """Find the code of a text that was not met before; blanks at its ends do not count."""
        plain = text.strip()
        code = self._code(text) if plain == text else self[plain]
        if len(self) < self._listed + MOST_REMEMBERED:
            self[text] = code
        return code

    def _code(self, text: str) -> int:
        # A code such as 0150 is no number.
        is_number = self._amounts and not _LEADING_ZERO.match(text)
        if is_number and amount_of(text, self._decimal) in self._amounts:
            return self._missing
        if self._patterns:
            return self._fitting(text)
        return self.get(without_point(text, self._decimal), self._fallback)

    def _fitting(self, text: str) -> int:
        """Return the code of the first pattern that fits a text, or the whole number that it is."""
        number = without_point(text, self._decimal)
        for pattern, code in self._patterns:
            if pattern.fullmatch(text) or pattern.fullmatch(number):
                return code
        return self._fallback


def _regular(pattern: str) -> re.Pattern[str]:
    """Write a pattern as a regular expression: ``*`` is any text, and case does not count."""
    parts = (re.escape(part) for part in pattern.split("*"))
    return re.compile(".*".join(parts), re.IGNORECASE | re.DOTALL)


def pattern_faults(column: Column) -> list[str]:
    """Name patterns of a column of groups that no text is left for: the first that fits counts."""
    own = ((OTHER, OTHER), (MISSING, MISSING))
    pairs = [pair for pair in column.categories if pair not in own]
    faults = []
    for place, (pattern, title) in enumerate(pairs):
        if not pattern:
            faults.append(
                f"groups of {column.name!r}: an empty pattern fits nothing: what is not there is "
                f"in the group {MISSING!r}; drop it"
            )
        # A star of the lower one is a text that only a star of the upper one fits.
        above = [one for one, of in pairs[:place] if of != title and fits(one, pattern)]
        if above:
            faults.append(
                f"groups of {column.name!r}: whatever fits {pattern!r} fits {above[0]!r}, which "
                "stands above it; drop one, or put it above"
            )
    return faults


def fits(pattern: str, text: str) -> bool:
    """Return whether a text fits a pattern of a group."""
    return bool(_regular(pattern).fullmatch(text))


def without_point(text: str, decimal: str = ".") -> str:
    """Write a whole number without its point: ``3.0`` is the code 3 in a column with gaps.

    Where a comma stands for the point, ``3,0`` is 3, too, but not ``3.000``: that is a thousand.
    """
    for mark in dict.fromkeys((decimal, ".")):
        head, point, tail = text.partition(mark)
        in_thousands = mark != decimal and tail and len(tail) % 3 == 0
        if point and not tail.strip("0") and not in_thousands and head.lstrip("+-").isdigit():
            return head
    return text
