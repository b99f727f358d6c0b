"""Detect the format of a table: its kind, separator, encoding and field names."""

from __future__ import annotations

import codecs
import csv
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from privcurve.datasets.description import DELIMITED, EXCEL, PARQUET, Parser
from privcurve.datasets.errors import DatasetError
from privcurve.datasets.reading.delimited import ENDS, ROW_NAMES, SEPARATORS, Record, records_of
from privcurve.datasets.reading.excel import EXCEL_ENDINGS, load_sheet, top_rows
from privcurve.datasets.reading.files import PIECE, lines, open_raw
from privcurve.datasets.reading.parquet import schema_of
from privcurve.datasets.reading.table import READ_ERRORS, hint_of

ENCODINGS = (Parser(DELIMITED).encoding, "cp1252", "latin-1")

# Number of lines that determine the separator.
_LINES = 200


@dataclass(frozen=True)
class Format:
    """The format of a table."""

    parser: dict[str, Any]  # the content of `parser` in a description
    fields: tuple[str, ...]  # names of the fields, in order; all distinct
    # Names of the fields as written in the file, perhaps equal or empty; none without a header.
    names: tuple[str, ...] = ()
    # Names of columns of a Parquet file that hold lists or objects, and so are not read.
    nested: tuple[str, ...] = ()
    # Names of all sheets of an Excel file; the sheet that is read comes first.
    sheets: tuple[str, ...] = ()

    @property
    def is_guessed(self) -> bool:
        """Whether the encoding is a guess: other encodings of one byte per letter fit as well."""
        return self.parser.get("encoding") in ENCODINGS[1:]


def sniff(path: Path, header: bool = True, sheet: str = "") -> Format:
    """Detect the format of a table; without a header its fields are column1, column2, ….

    `sheet` is the name of an Excel sheet, by default the first. Raises DatasetError if the file is
    missing or empty, or if its format cannot be detected.
    """
    if not path.is_file():
        what = "is a folder" if path.is_dir() else "does not exist"
        raise DatasetError(f"{path} {what}: name the file of your table")
    if not path.stat().st_size:
        raise DatasetError(f"{path} is empty")
    parser: dict[str, Any]
    try:
        is_excel = path.suffix.lower() in EXCEL_ENDINGS
        if sheet and not is_excel:
            raise DatasetError(
                f"{path} is not an Excel file, so it has no sheets: leave out --sheet"
            )
        if is_excel:
            rows, sheets = top_rows(path, load_sheet(path, sheet))
            parser = {"kind": EXCEL, **({"sheet": sheet} if sheet else {})}
            return replace(_name_fields(path, parser, rows, header), sheets=sheets)
        with open_raw(path) as stream:
            start = stream.read(8)
        if start[:4] == b"PAR1":
            return _sniff_parquet(path)
        encoding = _find_encoding(path, start)
        parser = {"kind": DELIMITED}
        separator, rows = _find_separator(path, encoding)
    except READ_ERRORS as error:
        raise DatasetError(f"{path} can't be read: {error}") from None
    if separator != ",":
        parser["separator"] = separator
    if encoding != ENCODINGS[0]:
        parser["encoding"] = encoding
    return _name_fields(path, parser, rows, header)


def _sniff_parquet(path: Path) -> Format:
    from pyarrow.types import is_nested

    schema = schema_of(path)
    twice = [name for name, count in Counter(schema.names).items() if count > 1]
    if twice:
        raise DatasetError(f"{path} has several columns named {twice[0]!r}: rename them")
    if "" in schema.names:
        raise DatasetError(
            f"{path}: its column {schema.names.index('') + 1} has no name: give it one"
        )
    nested = tuple(field.name for field in schema if is_nested(field.type))
    plain = tuple(name for name in schema.names if name not in nested)
    return Format({"kind": PARQUET}, plain, plain, nested)


def _find_encoding(path: Path, start: bytes) -> str:
    """Return the first encoding that fits the entire file, which begins with `start`."""
    if start[:4] in (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE):
        raise DatasetError(f"{path} is written in UTF-32, which is not supported: save it as UTF-8")
    if start[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        return "utf-16"
    for encoding in ENCODINGS:
        decoder = codecs.getincrementaldecoder(encoding)()
        try:
            with open_raw(path) as stream:
                while piece := stream.read(PIECE):
                    if b"\0" in piece:
                        raise DatasetError(
                            f"{path} is neither text nor a known format: save the table as CSV "
                            "or Parquet"
                        )
                    decoder.decode(piece)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            continue
        return encoding
    raise AssertionError("every byte is a character of latin-1")


def is_plain_text(path: Path) -> bool:
    """Return whether a file has only ASCII bytes, so that its encoding does not matter."""
    with open_raw(path) as stream:
        return all(piece.isascii() for piece in iter(lambda: stream.read(PIECE), b""))


def _find_separator(path: Path, encoding: str) -> tuple[str, list[Record]]:
    """Return the separator that splits most lines into equally many fields, and two records.

    The separator must split the first line into more than one field. The records are the first two.
    Raises DatasetError if there is no such separator.
    """
    best: tuple[float, int] = (0.0, 0)
    choice: tuple[str, list[Record]] | None = None
    unlike = broken = hint = ""
    for separator in SEPARATORS:
        numbered = lines(path, Parser(DELIMITED, encoding=encoding))
        try:
            records = list(islice(records_of(numbered, separator), _LINES))
        except csv.Error as error:
            broken = broken or str(error)
            continue
        if not records:
            raise DatasetError(f"{path} must have a line that is not blank")
        width, count = Counter(len(fields) for _, fields in records).most_common(1)[0]
        score = (count / len(records), width)
        first = len(records[0][1])
        hint = hint or hint_of(str(path), records[0][1])
        lacks_one = first == width - 1 and count == len(records) - 1 > 0
        if 1 < first != width > 1 and (separator != "whitespace" or lacks_one) and not unlike:
            remedy = (
                "Give each column a name there, and each line as many fields; or delete it, if it "
                "names no columns."
            )
            if lacks_one:
                remedy = ROW_NAMES if records[1][1][-1] else ENDS
            unlike = (
                f"its first line has {first} fields (separator {separator!r}), most others "
                f"have {width}. {remedy}"
            )
        # The separator must split the first line into as many fields as most lines. Blanks are the
        # last choice, as they also occur in texts.
        if 1 < first == width and score > best:
            if separator == "whitespace" and choice is not None and best[0] > 0.5:
                continue
            best, choice = score, (separator, records[:2])
    if choice is None and hint:
        raise DatasetError(f"{path} can't be read. {hint}")
    if choice is None and unlike:
        raise DatasetError(f"{path}: {unlike}")
    if choice is None and broken:
        raise DatasetError(f"{path} can't be read: {broken}. Correct it there.")
    if choice is None:
        raise DatasetError(
            f"{path}: a separator (comma, semicolon, tab, | or blanks) must split its lines "
            "into several fields; none does. A table needs the label and a column to learn "
            "from; if it begins with lines of another kind, delete them."
        )
    return choice


def _name_fields(path: Path, parser: dict[str, Any], rows: list[Record], header: bool) -> Format:
    """Return the format with the names of the fields; repeated or empty names are changed.

    `rows` has the first two records; the first one has the names, if there is a `header`. Raises
    DatasetError if the first record looks like a title instead.
    """
    number, first = rows[0]
    if not header:
        fields = tuple(f"column{k}" for k in range(1, len(first) + 1))
        return Format({**parser, "fields": list(fields)}, fields)
    names = tuple(name.strip() for name in first)
    n_filled, n_below = (sum(map(bool, map(str.strip, row))) for _, row in (rows[0], rows[-1]))
    if 2 * n_filled < n_below or (n_filled == 1 < n_below and names[0]):
        what = hint_of(str(path), names) or (
            f"Its first line has texts for {n_filled} of {len(names)} columns, and the next one "
            f"for {n_below}: if it is a title, delete the lines above the names of columns; "
            "otherwise name each column there."
        )
        raise DatasetError(f"{path} can't be read. {what}")
    if len(set(names)) == len(names) and all(names):
        return Format({**parser, "header": True}, names, names)
    fields = tuple(make_distinct(names))
    return Format({**parser, "skip_rows": number, "fields": list(fields)}, fields, names)


def make_distinct(names: Sequence[str]) -> Iterator[str]:
    """Yield names that differ: a repeated name gets a number, an empty one becomes column1, …."""
    taken: set[str] = set(names)
    seen: set[str] = set()
    for k, name in enumerate(names, start=1):
        name = name or f"column{k}"
        if name in seen:
            name = next(
                new for n in range(2, len(names) + 2) if (new := f"{name}_{n}") not in taken
            )
        taken.add(name)
        seen.add(name)
        yield name
