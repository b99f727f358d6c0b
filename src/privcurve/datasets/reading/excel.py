"""Read a sheet of an Excel file, ``.xls`` or ``.xlsx``."""

from __future__ import annotations

import io
import posixpath
import re
import zipfile
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from privcurve.datasets.errors import DatasetError, Problems
from privcurve.datasets.reading.cells import text_of
from privcurve.datasets.reading.delimited import Record, tables
from privcurve.datasets.reading.downloads import RawFile
from privcurve.datasets.reading.files import check_archive
from privcurve.datasets.reading.table import (
    AnyDescription,
    RawTable,
    check_order,
    convert_columns,
    positions,
)
from privcurve.schema import suggestion

# A sheet, its cells, and the names of all sheets.
LoadedSheet = tuple[Any, list[list[Any]], list[str]]
# A cell without a value, although a spreadsheet program displays one: its row, the position of its
# column, and the reason.
Empty = tuple[int, int, str]

_MERGED = (
    "is part of merged cells, of which only the first has a value. Unmerge them, and fill in each."
)
_COMPUTE = (
    "is a formula without a stored value: no program has computed it. Open the file in a "
    "spreadsheet program, and save it."
)
# Remarks on rows, with a place for the name of the file.
_EMPTY = "rows of {} without a value, which are skipped"
_HIDDEN = "hidden rows of {}, which are read like all others"
EXCEL_ENDINGS = (".xlsx", ".xls")
# The first bytes of Excel files: of a zip archive (.xlsx), and of a compound file (.xls).
_STARTS = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0")
_FORMULA = re.compile(rb"<(?:\w+:)?f[\s/>]")
_ROW = re.compile(rb"<(?:\w+:)?row(\s[^>]*)?>")
_ATTRIBUTE = re.compile(rb"(\w+)\s*=\s*[\"']([^\"']*)")


def read(
    description: AnyDescription,
    file: RawFile,
    problems: Problems,
    most: int | None = None,
    loaded: LoadedSheet | None = None,
) -> Iterator[RawTable]:
    """Read one sheet in pieces; `loaded` is the sheet if it is loaded already.

    Cells become texts independently of each other (:func:`text_of`); an empty cell, or an error
    such as #N/A, becomes the empty text. A cell that displays a value which it does not contain is
    a fault: a merged cell except the first, or a formula without a computed value. Blank rows are
    skipped; hidden rows are read.
    """
    sheet, cells, _ = loaded or load_sheet(file.path, description.parser.sheet)
    source, parser = str(file.path), description.parser
    fields = parser.fields
    if fields and 0 < parser.skip_rows <= len(cells):
        check_order(description, source, list(map(str, cells[parser.skip_rows - 1])), "row")
    uncomputed: set[int] = set()  # rows; the set is filled below, before any record is read
    all_rows = _filter_rows(cells, uncomputed, partial(problems.note, _EMPTY.format(source)))
    records: Iterator[Record] = (row for row in all_rows if row[0] > parser.skip_rows)
    if parser.rows:
        records = islice(records, parser.rows + parser.header)
    if parser.header:
        _, names = next(records, (0, ()))
        fields = tuple(texts_of(names, description.domain.decimal))
    place = positions(description, source, fields, problems)
    name_at = {j: name for name, j in place.items()}
    empty = defaultdict(list)
    content = _read_xml(file, sheet)
    hidden = _find_hidden(content)
    for row, j, why in chain(_find_merged(sheet, len(cells)), _find_uncomputed(content)):
        if j in name_at:
            empty[row].append((name_at[j], why))
            if why == _COMPUTE:
                uncomputed.add(row)
    # A row of which all values are uncomputed formulas looks blank, but must not be skipped. At the
    # end of a sheet, the reader returns no cells for such rows: add them.
    cells += [[""] * len(fields)] * (max(uncomputed, default=0) - len(cells))
    for table in tables(description, source, records, len(fields), place, problems, most, "row"):
        problems.note(_HIDDEN.format(source), sum(row in hidden for row in table.lines))
        for k, row in enumerate(table.lines):
            for name, why in empty.get(row, ()):
                fault, _, remedy = why.partition(". ")
                problems.refuse(row, f"{table.place_of(k)}: {name!r} {fault}.", remedy, (name, why))
        columns = {name: list(column) for name, column in table.columns.items()}
        yield replace(table, columns=convert_columns(description, source, columns))


def top_rows(path: Path, loaded: LoadedSheet) -> tuple[list[Record], tuple[str, ...]]:
    """Return the first two non-blank rows of a sheet, and the names of all sheets, its own first.

    Raises DatasetError if the sheet is empty.
    """
    sheet, cells, names = loaded
    top = islice(_filter_rows(cells), 2)
    rows: list[Record] = [(number, texts_of(row)) for number, row in top]
    if not rows:
        raise DatasetError(
            f"{path}: the sheet {sheet.name!r} is empty: name another one with --sheet"
        )
    return rows, (sheet.name, *(name for name in names if name != sheet.name))


def is_workbook(path: Path) -> bool:
    """Return whether a file begins like an Excel file, whatever its name."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(4) in _STARTS


def rows_of(loaded: LoadedSheet) -> list[Record]:
    """Return the non-blank rows of a sheet, with their numbers."""
    return list(_filter_rows(loaded[1]))


def load_sheet(path: Path, wanted: str) -> LoadedSheet:
    """Load the sheet called `wanted`, by default the first sheet.

    Raises ValueError if the file has no such sheet, is protected by a password or is damaged.
    """
    from python_calamine import CalamineError, CalamineWorkbook, PasswordError

    check_archive(path)
    try:
        with CalamineWorkbook.from_path(str(path)) as book:
            names = book.sheet_names
            if wanted and wanted not in names:
                sheets, near = ", ".join(names), suggestion(wanted, names).removesuffix(".")
                raise ValueError(f"the sheet must be one of {sheets}; got {wanted!r}{near}")
            sheet = book.get_sheet_by_name(wanted or names[0])
            return sheet, sheet.to_python(skip_empty_area=False), names
    except PasswordError:
        raise ValueError(
            "a password protects it: open it in a spreadsheet program, and save it without one"
        ) from None
    except CalamineError as error:
        raise ValueError(str(error)) from error


def _find_merged(sheet: Any, n_rows: int) -> Iterator[Empty]:
    """Yield the cells of merged ranges without the first of each range, which has the value."""
    for (top, left), (bottom, right) in sheet.merged_cell_ranges or ():
        for row in range(top, min(bottom + 1, n_rows)):
            for j in range(left + (row == top), right + 1):
                yield row + 1, j, _MERGED


def _read_xml(file: RawFile, sheet: Any) -> bytes:
    """Return the XML of a sheet in an ``.xlsx`` file; empty bytes for other files."""
    try:
        with zipfile.ZipFile(file.path) as archive:
            return archive.read(_find_sheet_file(archive, sheet))
    except (zipfile.BadZipFile, ElementTree.ParseError, KeyError):
        return b""  # an .xls, or an unusual layout


def _find_hidden(content: bytes) -> set[int]:
    """Return the numbers of the rows that a spreadsheet program hides, for example by a filter."""
    hidden: set[int] = set()
    row = 0
    for start in _ROW.finditer(content) if b"hidden" in content else ():
        attributes = dict(_ATTRIBUTE.findall(start[1] or b""))
        row = int(attributes.get(b"r", row + 1))
        if attributes.get(b"hidden") in (b"1", b"true"):
            hidden.add(row)
    return hidden


def _find_uncomputed(content: bytes) -> Iterator[Empty]:
    """Yield the cells of a sheet that contain a formula, but not its value."""
    # Most sheets have no formulas, so that their cells need no check.
    if _FORMULA.search(content):
        try:
            yield from _find_without_value(content)
        except ElementTree.ParseError:
            return


def _find_without_value(content: bytes) -> Iterator[Empty]:
    """Parse the XML of a sheet, and yield the cells with a formula but without a value."""
    row, j = 0, -1
    for event, node in ElementTree.iterparse(io.BytesIO(content), ("start", "end")):
        tag = node.tag.rpartition("}")[2]
        if event == "start" and tag == "row":
            # A row or cell without a position follows the previous one.
            row, j = int(node.get("r", row + 1)), -1
        elif event == "start" and tag == "c":
            letters = node.get("r", "").rstrip("0123456789")
            j = _read_position(letters) if letters else j + 1
        elif tag == "c":
            # Type "str" means that the formula was computed: its result may be an empty text.
            is_formula = node.find("{*}f") is not None and node.get("t") != "str"
            if is_formula and not node.findtext("{*}v"):
                yield row, j, _COMPUTE
        if event == "end" and tag in ("row", "c"):
            node.clear()


def _find_sheet_file(archive: zipfile.ZipFile, sheet: Any) -> str:
    """Return the name of the file in an ``.xlsx`` archive that contains a sheet."""
    book = ElementTree.fromstring(archive.read("xl/workbook.xml"))
    facts = {node.get("name"): node.attrib for node in book.iterfind("{*}sheets/{*}sheet")}
    keys = [value for key, value in facts[sheet.name].items() if key.endswith("}id")]
    links = ElementTree.fromstring(archive.read("xl/_rels/workbook.xml.rels"))
    targets = {link.get("Id"): link.attrib["Target"] for link in links}
    return posixpath.join("xl", targets[keys[0] if keys else None]).lstrip("/")


def _read_position(letters: str) -> int:
    """Return the position of a column from its letters: AA is the 27th, at 26."""
    position = 0
    for letter in letters:
        position = 26 * position + ord(letter) - ord("A") + 1
    return position - 1


def _filter_rows(
    cells: list[list[Any]],
    others: Collection[int] = (),
    note_empty: Callable[[int], None] | None = None,
) -> Iterator[Record]:
    """Yield the number and the cells of each row that is not blank, or whose number is in `others`.

    For each two successive rows, `note_empty` is called with the count of blank rows between them.
    """
    last = 0
    for number, row in enumerate(cells, start=1):
        if number in others or any(not isinstance(cell, str) or cell.strip() for cell in row):
            if last and note_empty is not None:
                note_empty(number - last - 1)
            last = number
            yield number, row


def texts_of(cells: Sequence[Any], decimal: str = ".") -> list[str]:
    """Return the cells of a row as stripped texts; an empty cell is an empty text."""
    return [(text_of(cell, (), decimal) or "").strip() for cell in cells]
