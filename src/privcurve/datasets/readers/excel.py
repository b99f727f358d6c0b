"""Read a sheet of an Excel file, ``.xls`` or ``.xlsx``."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from privcurve.datasets.errors import DatasetError
from privcurve.datasets.fetch import RawFile
from privcurve.datasets.problems import Problems
from privcurve.datasets.readers.arrow import spelt_truth
from privcurve.datasets.readers.delimited import Record, tables
from privcurve.datasets.readers.table import Described, RawTable, subject, unreadable
from privcurve.schema import nearest

if TYPE_CHECKING:
    from privcurve.datasets.domain import Domain


def read(
    description: Described, file: RawFile, problems: Problems, most: int | None = None
) -> Iterator[RawTable]:
    """Read one sheet, a piece at a time.

    Cells become texts: a whole number without a point, a truth value as its column lists it, an
    empty cell the empty text, and so is one of an error (#N/A). Of merged cells the first alone
    holds the value: records that have another are told of.
    """
    sheet, cells = _cells(description, file)
    source = str(file.path)
    fields = description.parser.fields
    if description.parser.header:
        fields = tuple(name.strip() for name in next(_rows(description, cells), (0, ()))[1])
    covered = _covered(sheet, len(cells))
    for table in tables(description, source, _rows(description, cells), problems, most, "row"):
        hidden = ((row, j) for row in table.lines for j in covered.get(row, ()))
        for row, j in hidden:
            if j < len(fields) and fields[j] in table.columns:
                problems.add(
                    f"row {row} of {source}: {fields[j]!r} is part of merged cells, of which the "
                    "first alone holds a value. Unmerge them, and fill in each.",
                    (fields[j], "merged"),
                )
        yield replace(table, columns=_with_truths(description.domain, table.columns))


def first_row(path: Path) -> tuple[Record | None, tuple[str, ...]]:
    """Give the first row of the first sheet that is not blank, or None; and names of all sheets.

    Raises
    ------
    python_calamine.CalamineError
        If it is no Excel file.
    """
    from python_calamine import CalamineWorkbook

    with CalamineWorkbook.from_path(str(path)) as book:
        cells = book.get_sheet_by_index(0).to_python(skip_empty_area=False)
        return next(_filled(cells), None), tuple(book.sheet_names)


def _covered(sheet: Any, n_rows: int) -> dict[int, list[int]]:
    """Give the columns of cells that are merged with another, by the numbers of rows."""
    found: dict[int, list[int]] = {}
    for (top, left), (bottom, right) in sheet.merged_cell_ranges or ():
        for row in range(top, min(bottom + 1, n_rows)):
            columns = range(left + (row == top), right + 1)
            found.setdefault(row + 1, []).extend(columns)
    return found


def _with_truths(domain: Domain, columns: Mapping[str, Sequence[Any]]) -> dict[str, Sequence[Any]]:
    """Spell truth values as columns of categories list them."""
    found = dict(columns)
    for column in domain.columns:
        listed = column.codes
        spelt = {str(value): spelt_truth(value, listed) for value in (True, False)}
        others = {a: b for a, b in spelt.items() if a not in listed and b in listed}
        if others and not column.patterns:
            found[column.name] = [others.get(text, text) for text in columns[column.name]]
    return found


def _rows(description: Described, cells: list[list[Any]]) -> Iterator[Record]:
    parser = description.parser
    found = (row for row in _filled(cells) if row[0] > parser.skip_rows)
    return islice(found, parser.rows + parser.header) if parser.rows else found


def _filled(cells: list[list[Any]]) -> Iterator[Record]:
    """Give the rows that are not blank, by their numbers."""
    for number, row in enumerate(cells, start=1):
        if any(cell != "" for cell in row):
            yield number, [_text(cell) for cell in row]


def _cells(description: Described, file: RawFile) -> tuple[Any, list[list[Any]]]:
    from python_calamine import CalamineError, CalamineWorkbook

    wanted = description.parser.sheet
    try:
        with CalamineWorkbook.from_path(str(file.path)) as book:
            names = book.sheet_names
            if wanted and wanted not in names:
                raise DatasetError(
                    f"{subject(description)}{file.path} has no sheet {wanted!r}"
                    f"{nearest(wanted, names)} Its sheets: {', '.join(names)}. Correct parser: "
                    f"sheet in {description.path}."
                )
            sheet = book.get_sheet_by_name(wanted or names[0])
            return sheet, sheet.to_python(skip_empty_area=False)
    except CalamineError as error:
        raise unreadable(description, file.path, error) from error


def _text(cell: Any) -> str:
    if isinstance(cell, float):
        return str(int(cell)) if cell.is_integer() else repr(cell)
    return unicodedata.normalize("NFC", str(cell))
