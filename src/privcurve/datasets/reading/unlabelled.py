"""Read files of unlabelled records for prediction, in pieces.

If a file has column names, columns are found by name. Any other file is read like the training
files of the model, with the parser that the model contains.
"""

from __future__ import annotations

import codecs
import csv
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from io import BufferedReader
from pathlib import Path
from typing import Any, BinaryIO

from privcurve.datasets.description import DELIMITED, LABEL, PARQUET, Parser
from privcurve.datasets.domain import Domain
from privcurve.datasets.errors import DatasetError
from privcurve.datasets.reading.delimited import SEPARATORS, read_pieces, records_of
from privcurve.datasets.reading.files import (
    Line,
    join_pieces,
    lines_of,
    open_raw,
    peek,
    pieces_of,
)
from privcurve.datasets.reading.formats import find_kind, kinds, make_distinct
from privcurve.datasets.reading.table import (
    READ_ERRORS,
    Layout,
    Record,
    Unlabelled,
    UnlabelledFile,
    check_order,
    find_unused,
    has_all,
    unreadable_error,
)

ENCODING = Parser(DELIMITED).encoding
STDIN = Path("-")
# Maximum number of lines that are searched for column names, and of records that are compared with
# the first record to see whether it has names or values.
_MOST_OF_HEADER = 100


def open_unlabelled(
    domain: Domain, path: Path, layout: Layout, copied: Sequence[str], stdin: BinaryIO | None
) -> UnlabelledFile:
    """Open a file of unlabelled records, and find its columns.

    See :func:`privcurve.datasets.coding.read_codes` for the parameters. Raises DatasetError if the
    file can't be read or lacks columns, with all faults in one message.
    """
    source = "standard input" if path == STDIN else str(path)
    wanted = Unlabelled(domain, Parser(PARQUET), source, copied=tuple(dict.fromkeys(copied)))
    trained = _trained_text(layout)
    encoding = layout.encoding or (trained.encoding if trained else ENCODING)
    try:
        kind = find_kind(path, layout.parser)
        for option, value in (("sheet", layout.sheet), ("rows", layout.rows)):
            if value and (kind is None or option not in kind.keys):
                raise DatasetError(
                    f"{source} is not an Excel file, so it has no sheets: leave out --{option}"
                )
        if kind is not None and not path.is_file():
            why = "it is a folder: name a file in it" if path.is_dir() else "there is no such file"
            raise DatasetError(f"{path} can't be read: {why}")
        if path == STDIN and stdin is None:
            raise DatasetError("there is no standard input to read")
        if layout.labels is not None and not (kind and kind.has_labels):
            raise DatasetError(f"{source} is not an idx file: leave out --labels")
        if kind is not None and kind.open is not None:
            return kind.open(wanted, path, layout)
        # An unknown encoding must raise an error before the file is opened; else the file would
        # stay open.
        codecs.lookup(encoding)
        file = stdin if path == STDIN and stdin is not None else open_raw(path)
        size = path.stat().st_size if isinstance(file, BufferedReader) and path != STDIN else 0
        pieces = pieces_of(file, encoding)
        if layout.encoding is None:
            pieces = _refuse_utf8(pieces, encoding)
        return _open_text(wanted, pieces, encoding, layout, size)
    except (*READ_ERRORS, OSError, LookupError) as error:
        as_text = replace(wanted, parser=Parser(DELIMITED, encoding=encoding))
        raise unreadable_error(as_text, source, error) from None


# Text --------------------------------------------------------------------------------------


def _trained_text(layout: Layout) -> Parser | None:
    """Return the parser of the training files if they were text files, else None."""
    return layout.of(*(kind.name for kind in kinds().values() if "encoding" in kind.keys))


def _open_text(
    wanted: Unlabelled, pieces: Iterator[bytes], encoding: str, layout: Layout, size: int
) -> UnlabelledFile:
    trained = _trained_text(layout) or Parser(DELIMITED, header=True)
    trained = replace(trained, encoding=encoding, separator=layout.separator or trained.separator)
    named = replace(trained, kind=DELIMITED, header=True, fields=(), skip_rows=0, zero_based=False)
    n_lines = trained.skip_rows + _MOST_OF_HEADER

    def look(pieces: Iterator[bytes]) -> list[Line]:
        lines = _find_top(lines_of(join_pieces(pieces), encoding), trained)
        return list(itertools.islice(lines, n_lines))

    start, pieces = peek(pieces, look)
    if not any(line.strip() for _, line in start):
        needs = ": its first line must name the columns" if trained.header else ""
        raise DatasetError(f"{wanted.name} is empty{needs}")

    def as_table(parser: Parser, ignored: tuple[str, ...], **more: Any) -> UnlabelledFile:
        description = replace(wanted, parser=parser)
        tables = partial(read_pieces, description, wanted.name, pieces, size=size)
        return UnlabelledFile(description, ignored, tables, **more)

    # Look for column names in the first line, then in the line where the training files had them.
    for n_skipped in dict.fromkeys((0, trained.skip_rows if trained.header else 0)):
        lines = [line for line in start if line[0] > n_skipped]
        separators = [layout.separator or trained.separator]
        separators += () if layout.separator else SEPARATORS
        separator = max(separators, key=lambda mark: _count_known(wanted, lines, mark, trained))
        number, names = _read_header(lines, separator, trained.comment)
        parser = replace(named, separator=separator, skip_rows=n_skipped)
        if has_all(wanted, names):
            return as_table(parser, find_unused(wanted, names))
        if trained.fields and has_all(wanted, distinct := list(make_distinct(names))):
            # The file repeats names, as the training files did. `privcurve describe` gave repeated
            # names different numbers, so use these names instead of the line of names.
            parser = replace(parser, header=False, fields=tuple(distinct), skip_rows=number)
            return as_table(parser, find_unused(wanted, distinct))
    if (read_lines := kinds()[trained.kind].read_lines) is not None:
        description = replace(wanted, parser=trained)
        ignored = find_unused(wanted, [*trained.fields, LABEL])
        numbered = lines_of(join_pieces(pieces), encoding)
        tables = partial(read_lines, description, wanted.name, numbered)
        return UnlabelledFile(description, ignored, tables)
    if trained.fields:
        lines = [line for line in start if line[0] > trained.skip_rows]
        top = list(itertools.islice(_read_records(lines, trained), _MOST_OF_HEADER))
        skipped = [line for line in start if line[0] == trained.skip_rows]
        above = next(_read_records(skipped, trained), (0, ()))
        description = replace(wanted, parser=trained)
        if len(above[1]) == len(trained.fields):
            check_order(description, wanted.name, above[1], "line")
        ignored = find_unused(wanted, trained.fields)
        return as_table(trained, ignored, top=top, above=above)
    hint = f" The model was trained on a file whose line {number} names them." * bool(n_skipped)
    return as_table(parser, find_unused(wanted, names, hint))


def _find_top(lines: Iterator[Line], parser: Parser) -> Iterator[Line]:
    """Yield the lines at the top of a file that decide its format.

    Comments are left out, and blank lines between the skipped lines and the first record.
    """
    is_above = True
    for number, line in lines:
        if parser.comment and line.startswith(parser.comment):
            continue
        is_above = is_above and (number <= parser.skip_rows or not line.strip())
        if not is_above or number <= parser.skip_rows:
            yield number, line


def _read_header(lines: Sequence[Line], separator: str, comment: str) -> tuple[int, list[str]]:
    """Return the number and the fields of the first record; (0, []) if there is no record.

    If the record has several lines, the number is the number of its last line.
    """
    number, fields = next(records_of(lines, separator, comment), (0, ()))
    return number, [field.strip() for field in fields]


def _count_known(wanted: Unlabelled, lines: Sequence[Line], separator: str, trained: Parser) -> int:
    """Return how many columns of the domain the first record names, if `separator` splits it."""
    try:
        _, names = _read_header(lines, separator, trained.comment)
    except csv.Error:
        return 0
    return len({*names, *make_distinct(names)} & set(wanted.domain.names))


def _read_records(lines: Sequence[Line], parser: Parser) -> Iterator[Record]:
    """Yield the records in the first lines of a file; stop at a quote that they do not close."""
    try:
        yield from records_of(lines, parser.separator, parser.comment)
    except csv.Error:
        return


def _refuse_utf8(pieces: Iterator[bytes], encoding: str) -> Iterator[bytes]:
    """Yield the pieces of a file; raise ValueError if one is UTF-8, but `encoding` is not.

    Without this check, UTF-8 would be read with wrong letters.
    """
    is_utf8 = codecs.lookup(encoding).name.startswith("utf-8")
    for piece in pieces:
        if not is_utf8 and not piece.isascii() and _is_utf8(piece):
            raise ValueError(
                f"it seems to be written in UTF-8, but the model was trained on {encoding}: "
                f"give --encoding utf-8, or --encoding {encoding} if that is right"
            )
        yield piece


def _is_utf8(piece: bytes) -> bool:
    try:
        piece.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
