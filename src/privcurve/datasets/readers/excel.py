"""Read a sheet of an Excel file, ``.xls`` or ``.xlsx``."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from privcurve.datasets.errors import DatasetError
from privcurve.datasets.fetch import RawFile
from privcurve.datasets.problems import Problems
from privcurve.datasets.readers.delimited import Record, tables
from privcurve.datasets.readers.table import Described, RawTable, subject, unreadable
from privcurve.schema import nearest


def read(
    description: Described, file: RawFile, problems: Problems, most: int | None = None
) -> Iterator[RawTable]:
    """Read one sheet, a piece at a time.

    Cells become texts: a whole number without a point, an empty cell the empty text.
    """
    rows = _rows(description, _cells(description, file))
    return tables(description, str(file.path), rows, problems, most, unit="row")


def first_row(path: Path) -> Record | None:
    """Give the first row of the first sheet that is not blank; None if there is none.

    Raises
    ------
    python_calamine.CalamineError
        If it is no Excel file.
    """
    from python_calamine import CalamineWorkbook

    with CalamineWorkbook.from_path(str(path)) as book:
        cells = book.get_sheet_by_index(0).to_python(skip_empty_area=False)
    return next(_filled(cells), None)


def _rows(description: Described, cells: list[list[Any]]) -> Iterator[Record]:
    parser = description.parser
    found = (row for row in _filled(cells) if row[0] > parser.skip_rows)
    return islice(found, parser.rows + parser.header) if parser.rows else found


def _filled(cells: list[list[Any]]) -> Iterator[Record]:
    """Give the rows that are not blank, by their numbers."""
    for number, row in enumerate(cells, start=1):
        if any(cell != "" for cell in row):
            yield number, [_text(cell) for cell in row]


def _cells(description: Described, file: RawFile) -> list[list[Any]]:
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
            return sheet.to_python(skip_empty_area=False)
    except CalamineError as error:
        raise unreadable(description, file.path, error) from error


def _text(cell: Any) -> str:
    if isinstance(cell, float):
        return str(int(cell)) if cell.is_integer() else repr(cell)
    return unicodedata.normalize("NFC", str(cell))
