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

from privcurve.datasets.description import Parser
from privcurve.datasets.errors import DatasetError, Problems
from privcurve.datasets.reading.cells import text_of
from privcurve.datasets.reading.delimited import tables
from privcurve.datasets.reading.downloads import RawFile
from privcurve.datasets.reading.files import check_archive
from privcurve.datasets.reading.formats import BY_LINE, FileKind, Format, make_distinct, name_fields
from privcurve.datasets.reading.table import (
    AnyDescription,
    Layout,
    RawTable,
    Record,
    Unlabelled,
    UnlabelledFile,
    check_order,
    convert_columns,
    find_unused,
    has_all,
    positions,
)
from privcurve.schema import suggestion

EXCEL = "excel"

# Number of records, from the top, that show whether the first one has names or values.
_MOST_OF_HEADER = 100

# A sheet, its rows as lists of cells, and the names of all sheets of the file.
LoadedSheet = tuple[Any, list[list[Any]], list[str]]
# A cell that displays a value, but contains none: number of its row, index of its column, and the
# reason why the cell has no value.
Empty = tuple[int, int, str]

_MERGED = (
    "is part of merged cells, of which only the first has a value. Unmerge them, and fill in each."
)
_COMPUTE = (
    "is a formula without a stored value: no program has computed it. Open the file in a "
    "spreadsheet program, and save it."
)
# Remarks about rows; {} is the name of the file.
_EMPTY = "rows of {} without a value, which are skipped"
_HIDDEN = "hidden rows of {}, which are read like all others"
# The first bytes of Excel files: a zip archive (.xlsx) or a compound file (.xls).
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
    """Read one sheet in pieces; `loaded` is the sheet, if the caller has loaded it.

    Each cell becomes a text, independently of other cells (:func:`text_of`); an empty cell, or an
    error such as #N/A, becomes the empty text. A cell that displays a value without containing it
    is a fault: the second and further cells of a merged range, and a formula whose value is not
    stored. Blank rows are skipped; hidden rows are read.
    """
    sheet, cells, _ = loaded or load_sheet(file.path, description.parser.sheet)
    source, parser = str(file.path), description.parser
    fields = parser.fields
    if fields and 0 < parser.skip_rows <= len(cells):
        check_order(description, source, list(map(str, cells[parser.skip_rows - 1])), "row")
    # Numbers of the rows with formulas without a value; filled below, before records are read.
    uncomputed: set[int] = set()
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
    # A row with only uncomputed formulas looks blank, but must not be skipped. If such rows are at
    # the end of the sheet, `cells` lacks them: add empty cells.
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
    """Return the first two non-blank rows of a sheet, and the names of all sheets.

    The name of the loaded sheet comes first. Raises DatasetError if the sheet is empty.
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
    """Return whether a file begins like an Excel file; its name does not matter."""
    with path.open("rb") as file:
        return file.read(4) in _STARTS


def rows_of(loaded: LoadedSheet) -> list[Record]:
    """Return the non-blank rows of a sheet, each with its number."""
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
    """Yield the cells of merged ranges that have no value: all but the first cell of each range."""
    for (top, left), (bottom, right) in sheet.merged_cell_ranges or ():
        for row in range(top, min(bottom + 1, n_rows)):
            for j in range(left + (row == top), right + 1):
                yield row + 1, j, _MERGED


def _read_xml(file: RawFile, sheet: object) -> bytes:
    """Return the XML of a sheet of an ``.xlsx`` file; b"" for other files."""
    try:
        with zipfile.ZipFile(file.path) as archive:
            return archive.read(_find_sheet_file(archive, sheet))
    except (zipfile.BadZipFile, ElementTree.ParseError, KeyError):
        return b""  # an .xls file, or an .xlsx file with an unusual layout


def _find_hidden(content: bytes) -> set[int]:
    """Return the numbers of the rows that are hidden in a sheet, for example by a filter."""
    hidden: set[int] = set()
    row = 0
    for start in _ROW.finditer(content) if b"hidden" in content else ():
        attributes = dict(_ATTRIBUTE.findall(start[1] or b""))
        row = int(attributes.get(b"r", row + 1))
        if attributes.get(b"hidden") in (b"1", b"true"):
            hidden.add(row)
    return hidden


def _find_uncomputed(content: bytes) -> Iterator[Empty]:
    """Yield the cells of a sheet that contain a formula without a stored value."""
    # Most sheets have no formulas: skip the slow search for cells.
    if _FORMULA.search(content):
        try:
            yield from _find_without_value(content)
        except ElementTree.ParseError:
            return


def _find_without_value(content: bytes) -> Iterator[Empty]:
    """Parse the XML of a sheet; yield the cells that contain a formula without a stored value."""
    row, j = 0, -1
    for event, node in ElementTree.iterparse(io.BytesIO(content), ("start", "end")):
        tag = node.tag.rpartition("}")[2]
        if event == "start" and tag == "row":
            # A row (or cell) without a stated position directly follows the previous row (or cell).
            row, j = int(node.get("r", row + 1)), -1
        elif event == "start" and tag == "c":
            letters = node.get("r", "").rstrip("0123456789")
            j = _read_position(letters) if letters else j + 1
        elif tag == "c":
            # The type "str" says that a formula has been computed, even if its result is an empty
            # text.
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
    """Return the index of a column from its letters: 0 for A, 26 for AA."""
    position = 0
    for letter in letters:
        position = 26 * position + ord(letter) - ord("A") + 1
    return position - 1


def _filter_rows(
    cells: list[list[Any]],
    others: Collection[int] = (),
    note_empty: Callable[[int], None] | None = None,
) -> Iterator[Record]:
    """Yield number and cells of each row that is not blank, or whose number is in `others`.

    Before each yielded row except the first, `note_empty` is called with the number of rows that
    were skipped since the previous one.
    """
    last = 0
    for number, row in enumerate(cells, start=1):
        if number in others or any(not isinstance(cell, str) or cell.strip() for cell in row):
            if last and note_empty is not None:
                note_empty(number - last - 1)
            last = number
            yield number, row


def texts_of(cells: Sequence[object], decimal: str = ".") -> list[str]:
    """Return the cells of a row as texts without blanks at their ends; "" for an empty cell."""
    return [(text_of(cell, (), decimal) or "").strip() for cell in cells]


# Formats -----------------------------------------------------------------------------------


def sniff(path: Path, header: bool, sheet: str) -> Format:
    """Return the format of a sheet, with the names of its fields."""
    rows, sheets = top_rows(path, load_sheet(path, sheet))
    parser = {"kind": EXCEL, **({"sheet": sheet} if sheet else {})}
    return replace(name_fields(path, parser, rows, header), sheets=sheets)


def open_sheet(wanted: Unlabelled, path: Path, layout: Layout) -> UnlabelledFile:
    """Open a sheet of unlabelled records, and find the columns of the domain.

    Columns are found by name, or at the same positions as in the training files.
    """
    trained = layout.of(EXCEL) or Parser(EXCEL, header=True)
    sheet, rows = layout.sheet or trained.sheet, layout.rows or trained.rows
    trained = replace(trained, sheet=sheet, rows=rows)
    named = replace(trained, header=True, fields=(), skip_rows=0)
    loaded = load_sheet(path, sheet)
    top_rows(path, loaded)  # raises DatasetError for an empty sheet
    all_rows, decimal = rows_of(loaded), wanted.domain.decimal

    def as_table(parser: Parser, ignored: tuple[str, ...], **more: Any) -> UnlabelledFile:
        description = replace(wanted, parser=parser)
        n = sum(number > parser.skip_rows for number, _ in all_rows) - parser.header
        remarks = _remark_on_rows(n, parser.rows) if rows and not layout.rows else ()
        tables = partial(read, description, RawFile(path), loaded=loaded)
        return UnlabelledFile(description, ignored, tables, remarks=remarks, **more)

    for n_skipped in dict.fromkeys((0, trained.skip_rows if trained.header else 0)):
        number, cells = next((row for row in all_rows if row[0] > n_skipped), (0, ()))
        names = texts_of(cells, decimal)
        parser = replace(named, skip_rows=n_skipped)
        if has_all(wanted, names):
            return as_table(parser, find_unused(wanted, names))
        if trained.fields and has_all(wanted, distinct := list(make_distinct(names))):
            parser = replace(parser, header=False, fields=tuple(distinct), skip_rows=number)
            return as_table(parser, find_unused(wanted, distinct))
    if trained.fields:
        rows_below = (row for row in all_rows if row[0] > trained.skip_rows)
        top = [
            (number, texts_of(cells, decimal))
            for number, cells in islice(rows_below, _MOST_OF_HEADER)
        ]
        above = next((row for row in all_rows if row[0] == trained.skip_rows), (0, ()))
        above = above[0], texts_of(above[1], decimal)
        ignored = find_unused(wanted, trained.fields)
        return as_table(trained, ignored, top=top, above=above)
    hint = f" The model was trained on a sheet whose row {number} names them." * bool(n_skipped)
    return as_table(parser, find_unused(wanted, names, hint))


def _remark_on_rows(n: int, n_trained: int) -> tuple[str, ...]:
    """Return a remark if the sheet has another number of rows than the parser reads.

    `n` is the number of rows of the sheet, and `n_trained` the number that the parser reads. The
    result is empty if the numbers are equal.
    """
    if n > n_trained:
        return (
            (
                f"of {n:,} rows the first {n_trained:,} are read, as many as trained the model; "
                "--rows sets another number"
            ),
        )
    if n < n_trained:
        return (
            (
                f"all {n:,} rows are read as records, but in the training file the records were "
                "followed by other rows: leave such rows out with --rows"
            ),
        )
    return ()


KIND = FileKind(
    EXCEL,
    read,
    keys=("header", "extra_fields", "skip_rows", "sheet", "rows"),
    naming=BY_LINE,
    suffixes=(".xlsx", ".xls"),
    has_content=is_workbook,
    sniff=sniff,
    open=open_sheet,
    unit="row",
    cell_bytes=125.0,  # measured; the reader makes a Python object of each cell
)
