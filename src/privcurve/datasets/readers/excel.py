"""Read a sheet of an Excel file, ``.xls`` or ``.xlsx``."""

from __future__ import annotations

import posixpath
import re
import unicodedata
import zipfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from privcurve.datasets.errors import DatasetError
from privcurve.datasets.fetch import RawFile
from privcurve.datasets.problems import Problems
from privcurve.datasets.readers.arrow import spelt_truth
from privcurve.datasets.readers.delimited import Record, tables
from privcurve.datasets.readers.table import (
    Described,
    RawTable,
    check_order,
    subject,
    unreadable,
)
from privcurve.schema import nearest

if TYPE_CHECKING:
    from privcurve.datasets.domain import Domain


# Row, position of the column, and why a cell is empty that has a value for who looks at it.
Empty = tuple[int, int, str]

_MERGED = (
    "is part of merged cells, of which the first alone holds a value. Unmerge them, and fill in "
    "each."
)
_COMPUTE = (
    "is a formula whose value is not in the file: no program has computed it. Open the file in a "
    "spreadsheet program, and save it."
)
_FORMULA = re.compile(
    rb'<c r="([A-Z]+)(\d+)"([^>]*)>\s*<f[^>]*(?:/>|>[^<]*</f>)\s*(?:<v\s*/>|<v></v>)?\s*</c>'
)
_PIECE = 1 << 24


def read(
    description: Described, file: RawFile, problems: Problems, most: int | None = None
) -> Iterator[RawTable]:
    """Read one sheet, a piece at a time.

    Cells become texts: a whole number without a point, others with the decimal comma of the domain
    where there is one; a truth value as its column lists it; an empty cell, and one of an error
    (#N/A), the empty text. Records whose value is not in their cell are told of: merged cells and
    formulas that were never computed.
    """
    sheet, cells = _cells(description, file)
    source = str(file.path)
    fields, skipped = description.parser.fields, description.parser.skip_rows
    if fields and 0 < skipped <= len(cells):
        check_order(description, source, list(map(str, cells[skipped - 1])), "row")
    if description.parser.header:
        fields = tuple(name.strip() for name in next(_rows(description, cells), (0, ()))[1])
    empty = defaultdict(list)
    for row, j, why in chain(_covered(sheet, len(cells)), _not_computed(file, sheet)):
        if j < len(fields):
            empty[row].append((fields[j], why))
    for table in tables(description, source, _rows(description, cells), problems, most, "row"):
        for k, row in enumerate(table.lines):
            for name, why in empty.get(row, ()):
                if name in table.columns:
                    problems.add(f"{table.where(k)}: {name!r} {why}", (name, why))
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


def _covered(sheet: Any, n_rows: int) -> Iterator[Empty]:
    """Give the cells that are merged with one before them."""
    for (top, left), (bottom, right) in sheet.merged_cell_ranges or ():
        for row in range(top, min(bottom + 1, n_rows)):
            for j in range(left + (row == top), right + 1):
                yield row + 1, j, _MERGED


def _not_computed(file: RawFile, sheet: Any) -> Iterator[Empty]:
    """Give the cells of an ``.xlsx`` that hold a formula, but not what comes of it."""
    try:
        with zipfile.ZipFile(file.path) as archive, archive.open(_part(archive, sheet)) as stream:
            rest = b""
            while piece := stream.read(_PIECE):
                rows, end, rest = (rest + piece).rpartition(b"</row>")
                for found in _FORMULA.finditer(rows + end):
                    letters, row, facts = found.groups()
                    # What comes of it may be an empty text.
                    if b't="str"' not in facts:
                        yield int(row), _position(letters), _COMPUTE
    except (zipfile.BadZipFile, ElementTree.ParseError, KeyError):
        return  # an .xls, or laid out in a way of its own


def _part(archive: zipfile.ZipFile, sheet: Any) -> str:
    """Give the name of the file that holds a sheet."""
    book = ElementTree.fromstring(archive.read("xl/workbook.xml"))
    facts = {each.get("name"): each.attrib for each in book.iterfind("{*}sheets/{*}sheet")}
    keys = [value for key, value in facts[sheet.name].items() if key.endswith("}id")]
    links = ElementTree.fromstring(archive.read("xl/_rels/workbook.xml.rels"))
    targets = {each.get("Id"): each.attrib["Target"] for each in links}
    return posixpath.join("xl", targets[keys[0] if keys else None]).lstrip("/")


def _position(letters: bytes) -> int:
    """Give the position of a column by its letters: of AA, the 27th, 26."""
    position = 0
    for letter in letters:
        position = 26 * position + letter - ord("A") + 1
    return position - 1


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
    filled = _filled(cells, description.domain.decimal)
    found = (row for row in filled if row[0] > parser.skip_rows)
    return islice(found, parser.rows + parser.header) if parser.rows else found


def _filled(cells: list[list[Any]], decimal: str = ".") -> Iterator[Record]:
    """Give the rows that are not blank, by their numbers."""
    for number, row in enumerate(cells, start=1):
        if any(cell != "" for cell in row):
            yield number, [_text(cell, decimal) for cell in row]


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


def _text(cell: Any, decimal: str) -> str:
    if isinstance(cell, float):
        return str(int(cell)) if cell.is_integer() else repr(cell).replace(".", decimal)
    return unicodedata.normalize("NFC", str(cell))
