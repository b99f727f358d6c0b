"""Read delimited files: CSV and similar formats.

There are two readers. The exact reader (:func:`records_of`) splits lines into fields one by one,
and knows the line of each record. Arrow reads a whole piece of a file, a dozen times faster; it is
used only for pieces for which both readers give the same result (see :func:`_read_by_arrow`).
"""

from __future__ import annotations

import codecs
import csv
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from io import BufferedReader
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from privcurve.datasets.description import DELIMITED, Parser
from privcurve.datasets.errors import DatasetError, Problems
from privcurve.datasets.reading import files
from privcurve.datasets.reading.downloads import RawFile
from privcurve.datasets.reading.files import Line
from privcurve.datasets.reading.formats import BY_LINE, ENCODINGS, FileKind, Format, name_fields
from privcurve.datasets.reading.table import (
    AnyDescription,
    RawTable,
    Record,
    check_order,
    chunk_size,
    chunks_of,
    hint_of,
    list_names,
    positions,
)

if TYPE_CHECKING:
    from pyarrow import Table

# Separators that are tried to detect the format of a file.
SEPARATORS = (",", ";", "\t", "|", "whitespace")

ROW_NAMES = (
    "R's write.table leaves out the name of row names: begin the first line with one, or write the "
    "table with row.names = FALSE."
)

ENDS = "Lines end with a separator: delete it, or name one more column."


# Number of records, from the top of a file, from which the separator is detected.
_LINES = 200


def read(
    description: AnyDescription, file: RawFile, problems: Problems, most: int | None = None
) -> Iterator[RawTable]:
    """Read one delimited file in pieces."""
    parser = description.parser
    if parser.fields and parser.skip_rows:
        numbered = files.lines(file.path, replace(parser, skip_rows=parser.skip_rows - 1))
        records = records_of(numbered, parser.separator, parser.comment)
        above, names = next(records, (0, ()))
        numbered.close()
        # The last skipped line may have the names of the columns in another order. Check the line,
        # unless it is within a quoted field.
        if above == parser.skip_rows and len(names) == len(parser.fields):
            check_order(description, str(file.path), names, "line")
    stream = files.open_raw(file.path)
    pieces = files.pieces_of(stream, parser.encoding)
    # Progress is measured in bytes. The unpacked size of a packed file is unknown, so `size` is 0.
    size = file.path.stat().st_size if isinstance(stream, BufferedReader) else 0
    yield from read_pieces(description, str(file.path), pieces, problems, most, size)


def read_pieces(
    description: AnyDescription,
    source: str,
    pieces: Iterator[bytes],
    problems: Problems,
    most: int | None = None,
    size: int = 0,
) -> Iterator[RawTable]:
    """Read up to `most` records from the `pieces` of a file of `size` bytes (0: unknown).

    Records with more or fewer fields than the file has names are left out, and become faults in
    `problems`.
    """
    parser = description.parser
    encoding = codecs.lookup(parser.encoding).name
    start = next(pieces, b"")
    n_start = len(start)
    if encoding == "utf-8-sig":
        start, encoding = start.removeprefix(codecs.BOM_UTF8), "utf-8"

    def records_in(pieces: Iterator[bytes], first: int, n_skipped: int) -> Iterator[Record]:
        all_lines = files.lines_of(files.join_pieces(pieces), encoding, first)
        below = islice(all_lines, n_skipped, None)
        return records_of(below, parser.separator, parser.comment, note_empty)

    def note_empty() -> None:
        problems.note(f"lines of {source} without a value, which are skipped")

    pieces = chain([start], pieces)
    n_above = parser.skip_rows
    fields: Sequence[str] = parser.fields
    if parser.header:
        header, pieces = files.peek(
            pieces, lambda top: next(records_in(top, 1, parser.skip_rows), (0, []))
        )
        n_above, fields = header[0], [field.strip() for field in header[1]]
    place = positions(description, source, fields, problems)
    ends_are_plain = (
        files.has_byte_ends(encoding)
        and parser.separator in SEPARATORS[:-1]
        and not _has_lone_returns(start)
        and n_above <= start.count(b"\n")
    )
    n_lines, n_skipped, n_left = 0, n_above, most
    if ends_are_plain:
        start = next(pieces).split(b"\n", n_above)[-1]
        pieces = chain([start], pieces)
        n_lines, n_skipped = n_above, 0
    # Number of bytes read so far; these contain the skipped lines and the line of names.
    n_bytes = n_start - len(start)
    for piece in pieces:
        n_bytes += len(piece)
        share = min(1.0, n_bytes / size) if size else None
        table = (
            _read_by_arrow(piece, len(fields), place, parser, encoding) if ends_are_plain else None
        )
        if table is not None:
            parts = _split_table(table, source, n_lines + 1)
        else:
            # The exact reader reads this piece. If the last record may continue in the next piece
            # (because of an open quote or unusual line ends), it also reads all remaining pieces.
            is_open = not ends_are_plain or b'"' in piece or _has_lone_returns(piece)
            share = None if is_open else share
            rest = chain([piece], pieces if is_open else ())
            records = records_in(rest, n_lines + 1, n_skipped)
            parts = tables(description, source, records, len(fields), place, problems, n_left)
        for part in parts:
            part = part if n_left is None else part.head(n_left)
            yield replace(part, share=share)
            n_left = None if n_left is None else n_left - len(part.lines)
        if problems.full or n_left == 0:
            return
        n_lines += piece.count(b"\n")


def _read_by_arrow(
    piece: bytes, width: int, place: Mapping[str, int], parser: Parser, encoding: str
) -> Table | None:
    """Read a piece with Arrow, one line per record; None if the exact reader could differ.

    The readers may differ if a line has an unusual end; is blank, a comment or only separators; has
    more or fewer than `width` fields; or has a field above the maximum length. They may also differ
    if a quote follows a blank, or a quoted field includes a line end.
    """
    import pyarrow
    from pyarrow import compute
    from pyarrow.csv import ConvertOptions, ParseOptions, ReadOptions, read_csv

    comment = parser.comment.encode()
    if (
        # If lines have one field, Arrow may take a blank line for a record.
        width < 2
        or b"\0" in piece
        or b' "' in piece
        or piece.startswith(codecs.BOM_UTF8)
        or _has_lone_returns(piece)
        # Arrow does not normalize texts to NFC, so it may miss a comment sign that is not ASCII.
        or not parser.comment.isascii()
        or (comment and (piece.startswith(comment) or b"\n" + comment in piece))
        or max(map(len, piece.split(b"\n"))) >= csv.field_size_limit()
    ):
        return None
    n_lines = piece.count(b"\n") + (not piece.endswith(b"\n"))
    try:
        decoded = piece.decode(encoding)
        empty_line = rf"\n[\s{re.escape(parser.separator)}]*\n"
        if re.search(empty_line, "\n" + decoded.removesuffix("\n") + "\n"):
            return None
        text = piece if piece.isascii() else decoded.encode()
        is_quoted = b'"' in piece
        if is_quoted:
            # Append a line of empty fields. A quote that is not closed would include this line:
            # the check below finds that the table lacks the empty row.
            text += b"\n" * (not piece.endswith(b"\n"))
            text += parser.separator.encode() * (width - 1) + b"\n"
        table = read_csv(
            pyarrow.BufferReader(text),
            ReadOptions(
                use_threads=False,
                block_size=len(text) + 1,
                column_names=list(map(str, range(width))),
            ),
            ParseOptions(delimiter=parser.separator),
            ConvertOptions(
                column_types={str(j): pyarrow.string() for j in place.values()},
                strings_can_be_null=False,
                include_columns=list(map(str, place.values())),
            ),
        )
    except (pyarrow.ArrowInvalid, UnicodeDecodeError):
        return None
    if table.num_rows != n_lines + is_quoted:
        return None
    columns = table.slice(0, n_lines).columns
    if not is_quoted and (parser.separator.encode() + b" " in piece or b"\n " in piece):
        columns = [compute.utf8_ltrim(column, " ") for column in columns]
    return pyarrow.table(columns, names=list(place))


def _has_lone_returns(piece: bytes) -> bool:
    """Return whether a piece has a carriage return without a line feed, which may end a line."""
    return b"\r" in piece and piece.count(b"\r") != piece.count(b"\r\n")


def _split_table(table: Table, source: str, first: int) -> Iterator[RawTable]:
    """Split a table with one record per line into smaller pieces; `first` is its first line."""
    for batch in table.to_batches(chunk_size(table.num_columns)):
        columns = dict(zip(table.column_names, batch.columns, strict=True))
        yield RawTable(source, columns, range(first, first + batch.num_rows))
        first += batch.num_rows


def tables(
    description: AnyDescription,
    source: str,
    records: Iterable[Record],
    width: int,
    place: Mapping[str, int],
    problems: Problems,
    most: int | None = None,
    unit: str = "line",
) -> Iterator[RawTable]:
    """Convert records to pieces of a table; `place` has the position of each column by name.

    Records without exactly `width` fields are left out, and become faults in `problems`. `unit` is
    the word for a record's number in messages: ``line`` or ``row``.
    """
    parser = description.parser
    ignore = parser.extra_fields == "ignore"
    remedy = f"parser: separator in {description.path}"
    if description.label is None:
        remedy = "say in which way fields are separated (--separator)"
        if parser.fields:
            remedy += (
                "; the model was trained on records with the fields "
                f"{list_names(parser.fields)}, without names: write all of them (the label may "
                "be empty), or name yours in the first line"
            )

    def fitting_records() -> Iterator[Record]:
        is_first = True
        for number, record in records:
            if len(record) == width or (ignore and len(record) > width):
                is_first = False
                yield number, record
                continue
            hint = hint_of(source, [*map(str, record)])
            if not hint and len(record) == width + 1:
                hint = ENDS if record[-1] == "" else ROW_NAMES
            more, is_first = f" {hint}" * bool(is_first and hint), False
            problems.n_unread += 1
            problems.refuse(
                number,
                f"{unit} {number} of {source} must have {width} fields; it has {len(record)}.",
                f"Correct the {unit}, or {remedy}.{more}",
                ("width", len(record)),
            )
            if problems.full:
                return

    for chunk in chunks_of(islice(fitting_records(), most), width):
        numbers, rows = zip(*chunk, strict=True)
        # Fields to the right of the last name are ignored, and every record has all named fields:
        # so `zip` may cut longer records.
        fields_of = list(zip(*rows, strict=False))
        yield RawTable(source, {name: fields_of[j] for name, j in place.items()}, numbers, unit)


def records_of(
    numbered: Iterable[Line],
    separator: str,
    comment: str = "",
    note_empty: Callable[[], None] | None = None,
) -> Iterator[Record]:
    """Split numbered lines into records; yield each with the number of its last line.

    Comments, blank lines and lines with only separators are skipped, except within a quoted field;
    `note_empty` is called for each line with only separators. Raises `csv.Error` if a quoted field
    of several lines is not followed by a separator or a line end.
    """
    if separator == "whitespace":
        for number, line in files.nonblank_lines(numbered, comment):
            yield number, line.split()
        return
    first = last = 0
    taken: list[str] = []

    def texts() -> Iterator[str]:
        nonlocal first, last
        for number, line in numbered:
            if not taken:
                is_empty = not line.replace(separator, "").strip()
                if is_empty and separator in line and note_empty is not None:
                    note_empty()
                if is_empty or not files.has_content(line, comment):
                    continue
                first = number
            last = number
            taken.append(line)
            yield line

    try:
        for record in csv.reader(texts(), delimiter=separator, skipinitialspace=True):
            if len(taken) > 1:
                # Without its closing quote, a field would include the next records: read the record
                # again in strict mode, which then raises an error.
                list(csv.reader(taken, delimiter=separator, skipinitialspace=True, strict=True))
            taken.clear()
            yield last, record
    except csv.Error as error:
        raise csv.Error(
            f"a quote in the record of line {first} is not closed where its field ends, or a field "
            f"is too long ({error})"
        ) from None


# Formats -----------------------------------------------------------------------------------


def sniff(path: Path, header: bool, sheet: str) -> Format:
    """Detect the format of a text table: encoding, separator and names of fields."""
    with files.open_raw(path) as stream:
        start = stream.read(8)
    encoding = _find_encoding(path, start)
    separator, rows = _find_separator(path, encoding)
    parser: dict[str, Any] = {"kind": DELIMITED}
    if separator != ",":
        parser["separator"] = separator
    if encoding != ENCODINGS[0]:
        parser["encoding"] = encoding
    return name_fields(path, parser, rows, header)


def _find_encoding(path: Path, start: bytes) -> str:
    """Return the first encoding that fits the entire file, which begins with `start`."""
    if start[:4] in (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE):
        raise DatasetError(f"{path} is written in UTF-32, which is not supported: save it as UTF-8")
    if start[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        return "utf-16"
    for encoding in ENCODINGS:
        decoder = codecs.getincrementaldecoder(encoding)()
        try:
            with files.open_raw(path) as stream:
                while piece := stream.read(files.PIECE):
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
    with files.open_raw(path) as stream:
        return all(piece.isascii() for piece in iter(lambda: stream.read(files.PIECE), b""))


def _find_separator(path: Path, encoding: str) -> tuple[str, list[Record]]:
    """Detect the separator that splits the most lines into equally many fields.

    Returns the separator, and the first two records. Raises DatasetError if no separator splits the
    first line into as many fields as most lines, and into at least two.
    """
    best: tuple[float, int] = (0.0, 0)
    choice: tuple[str, list[Record]] | None = None
    unlike = broken = hint = ""
    for separator in SEPARATORS:
        numbered = files.lines(path, Parser(DELIMITED, encoding=encoding))
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
        # The first line must have as many fields as most lines. Blanks are the last choice, because
        # texts contain blanks, too.
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


KIND = FileKind(
    DELIMITED,
    read,
    keys=("separator", "header", "extra_fields", "comment", "skip_rows", "encoding"),
    naming=BY_LINE,
    sniff=sniff,
)
