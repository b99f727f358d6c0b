"""Files of records without labels, a piece at a time: what a model is asked about."""

from __future__ import annotations

import codecs
import csv
import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from io import BufferedReader
from pathlib import Path
from typing import BinaryIO, NamedTuple

from privcurve.datasets.description import DELIMITED, EXCEL, PARQUET, Parser
from privcurve.datasets.domain import Domain
from privcurve.datasets.errors import DatasetError, Problems
from privcurve.datasets.reading import excel, parquet
from privcurve.datasets.reading.delimited import SEPARATORS, read_pieces, records_of
from privcurve.datasets.reading.downloads import RawFile
from privcurve.datasets.reading.excel import EXCEL_ENDINGS
from privcurve.datasets.reading.files import join_pieces, lines_of, open_raw, peek, pieces_of
from privcurve.datasets.reading.table import (
    READ_ERRORS,
    RawTable,
    Unlabelled,
    find_fields,
    unreadable_error,
    wanted_fields,
)

ENCODING = Parser(DELIMITED).encoding
STDIN = Path("-")
# The names of columns end within so many lines.
_MOST_OF_HEADER = 100


class UnlabelledFile(NamedTuple):
    """A file whose columns are known, and whose records are to be read."""

    description: Unlabelled
    ignored: tuple[str, ...]  # its columns that the domain does not have
    tables: Callable[[Problems], Iterator[RawTable]]

    def read(self, problems: Problems) -> Iterator[RawTable]:
        """Read its records once, a piece at a time; those that can't be read are problems.

        Raises DatasetError where the file is damaged.
        """
        try:
            yield from self.tables(problems)
        except (*READ_ERRORS, OSError) as error:
            raise unreadable_error(self.description, self.description.name, error) from None


def open_unlabelled(
    domain: Domain,
    path: Path,
    separator: str | None,
    encoding: str,
    sheet: str,
    copied: Sequence[str],
    stdin: BinaryIO | None,
) -> UnlabelledFile:
    """Open a file of records without labels, and find its columns.

    Parameters are those of :func:`privcurve.datasets.coding.read_codes`. Raises DatasetError if it
    can't be read, or lacks columns: all in one message.
    """
    source = "standard input" if path == STDIN else str(path)
    suffix = path.suffix.lower()
    copied = tuple(dict.fromkeys(copied))
    if sheet and suffix not in EXCEL_ENDINGS:
        raise DatasetError(f"{source} is not an Excel file, and has no sheets: leave out --sheet")
    parser = Parser(DELIMITED, header=True, encoding=encoding)
    if parquet.is_parquet(path):
        parser = Parser(PARQUET)
    elif suffix in EXCEL_ENDINGS:
        parser = Parser(EXCEL, header=True, sheet=sheet)
    description = Unlabelled(domain, parser, source, copied=copied)
    if parser.kind != DELIMITED:
        if not path.is_file():
            why = "it is a folder: name a file in it" if path.is_dir() else "there is no such file"
            raise DatasetError(f"{path} can't be read: {why}")
        try:
            if parser.kind == PARQUET:
                read, names = parquet.read, parquet.schema_of(path).names
            else:
                loaded = excel.load_sheet(path, sheet)
                read = partial(excel.read, loaded=loaded)
                names = excel.top_rows(path, loaded)[0][0][1]
        except READ_ERRORS as error:
            raise unreadable_error(description, source, error) from None
        ignored = _find_unused(description, names)
        return UnlabelledFile(description, ignored, partial(read, description, RawFile(path)))
    if path == STDIN and stdin is None:
        raise DatasetError("there is no standard input to read")
    try:
        # An unknown encoding is found before the file is opened, as it would stay open.
        codecs.lookup(encoding)
        file = stdin if path == STDIN and stdin is not None else open_raw(path)
        start, pieces = peek(pieces_of(file, encoding), partial(_read_header_lines, encoding))
        if separator is None:
            separator = max(SEPARATORS, key=lambda mark: _count_known(domain, start, mark))
        fields = _read_header(start, separator)
    except (*READ_ERRORS, OSError, LookupError) as error:
        raise unreadable_error(description, source, error) from None
    if not start:
        raise DatasetError(f"{source} is empty: its first line has to name the columns")
    size = path.stat().st_size if isinstance(file, BufferedReader) and path != STDIN else 0
    description = replace(description, parser=replace(parser, separator=separator))
    ignored = _find_unused(description, fields)
    tables = partial(read_pieces, description, source, pieces, size=size)
    return UnlabelledFile(description, ignored, tables)


def _read_header_lines(encoding: str, pieces: Iterator[bytes]) -> list[tuple[int, str]]:
    """Return the lines that may be of the header, from the first that is not blank."""
    numbered = lines_of(join_pieces(pieces), encoding)
    below = itertools.dropwhile(lambda line: not line[1].strip(), numbered)
    return list(itertools.islice(below, _MOST_OF_HEADER))


def _read_header(start: list[tuple[int, str]], separator: str) -> list[str]:
    """Return the names of columns; a name may have several lines."""
    _, fields = next(records_of(start, separator), (0, ()))
    return [field.strip() for field in fields]


def _count_known(domain: Domain, start: list[tuple[int, str]], separator: str) -> int:
    """Return how many columns of the domain are found with a separator."""
    try:
        return len(set(_read_header(start, separator)) & set(domain.names))
    except csv.Error:
        return 0


def _find_unused(description: Unlabelled, fields: list[str]) -> tuple[str, ...]:
    """Return the fields that are not used; raise DatasetError if one that is used is missing."""
    wanted, problems = wanted_fields(description), Problems(description.name, is_file=True)
    find_fields(description.name, fields, wanted, problems)
    # A column without a name is that of a separator at the end of each line.
    used = {*wanted, description.domain.label.column, ""}
    return tuple(field for field in fields if field not in used)
