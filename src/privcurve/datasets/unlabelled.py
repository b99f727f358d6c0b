"""Files of records without labels, a piece at a time: what a model is asked about."""

from __future__ import annotations

import csv
import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from io import BufferedReader
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from privcurve.coding import Codes
from privcurve.datasets.cells import text_of, texts_of
from privcurve.datasets.counts import ColumnCounts
from privcurve.datasets.description import DELIMITED, EXCEL, PARQUET, Parser
from privcurve.datasets.domain import Domain
from privcurve.datasets.encode import Coder
from privcurve.datasets.errors import DatasetError, Problems, Skipped
from privcurve.datasets.fetch import RawFile
from privcurve.datasets.readers import DAMAGED
from privcurve.datasets.readers.delimited import SEPARATORS, read_pieces, records_of
from privcurve.datasets.readers.files import joined, lines_of, opened, peeked, pieces_of
from privcurve.datasets.readers.table import RawTable, Unlabelled, lacking

EXCEL_ENDINGS = (".xlsx", ".xls")
ENCODING = Parser(DELIMITED).encoding
STDIN = Path("-")
_JSON = (
    " It is JSON, it seems: write its records as CSV or Parquet (in pandas, read_json and to_csv)."
)
# Lines of the file in which the names of columns end.
_MOST_OF_HEADER = 100


@dataclass(frozen=True)
class Part:
    """Some records of a file, after another."""

    codes: Codes  # (n_answered, n_columns): of the records that can be answered
    answered: NDArray[np.bool_]  # (n_records,): which records these are; all, where none is skipped
    # Texts of each column that is copied, of all records; empty where a record has other fields.
    copied: list[list[str]]
    skipped: list[tuple[int, list[str]]]  # lines of the other records, each with what is wrong


@dataclass(frozen=True)
class NewRecords:
    """A file that is being read."""

    ignored: tuple[str, ...]  # its columns that the domain does not have
    # Some records after another; it raises `DatasetError` where a value has no code and is not
    # skipped.
    parts: Iterator[Part]
    counts: Sequence[ColumnCounts]  # of the records that were read so far, by column


def read_codes(
    domain: Domain,
    path: Path,
    *,
    separator: str | None = None,
    encoding: str = ENCODING,
    sheet: str = "",
    copied: Sequence[str] = (),
    skip: bool = False,
    stdin: BinaryIO | None = None,
    watch: Callable[[RawTable], None] | None = None,
) -> NewRecords:
    """Read and code a file of records without labels.

    Parameters
    ----------
    domain : Domain
    path : Path
        CSV and its like with names of columns in the first line, in any order (``.gz`` too); a
        Parquet file (``.parquet``); a sheet of an Excel file; or ``-``: CSV of `stdin`.
        Columns of other names are left out.
    separator : str, optional
        By default comma, semicolon, tab, ``|`` or blanks, whichever makes the names of columns.
    encoding : str
    sheet : str
        Of an Excel file, by default the first.
    copied : sequence of str
        Columns whose texts are wanted too.
    skip : bool
        Whether records that have no code are skipped; otherwise they are an error.
    stdin : binary file, optional
    watch : callable, optional
        Is given all records as they are read.

    Returns
    -------
    NewRecords

    Raises
    ------
    DatasetError
        If it can't be read, or lacks columns: all in one message.
    """
    source = "standard input" if path == STDIN else str(path)
    suffix = path.suffix.lower()
    copied = tuple(dict.fromkeys(copied))
    if sheet and suffix not in EXCEL_ENDINGS:
        raise DatasetError(f"{source} is not an Excel file, and has no sheets: leave out --sheet")
    if suffix in (".parquet", *EXCEL_ENDINGS):
        parser = (
            Parser(EXCEL, header=True, sheet=sheet) if suffix != ".parquet" else Parser(PARQUET)
        )
        return _stored(Unlabelled(domain, parser, source, copied=copied), path, skip, watch)
    if path == STDIN and stdin is None:
        raise DatasetError("there is no standard input to read")
    try:
        file = stdin if path == STDIN and stdin is not None else opened(path)
        start, pieces = peeked(pieces_of(file, encoding), partial(_start, encoding))
        if separator is None:
            separator = max(SEPARATORS, key=lambda one: _n_known(domain, start, one))
        fields = _header(start, separator)
    except (*DAMAGED, OSError, LookupError) as error:
        raise _unreadable(source, error, encoding) from None
    if not start:
        raise DatasetError(f"{source} is empty: its first line has to name the columns")
    size = path.stat().st_size if isinstance(file, BufferedReader) and path != STDIN else 0
    described = Unlabelled(
        domain,
        Parser(DELIMITED, separator, header=True, encoding=encoding),
        source,
        copied=copied,
    )
    is_json = start[0][1].lstrip()[:1] in ("{", "[")
    ignored = _beside(described, fields, _JSON if is_json else "")
    return _new(
        described,
        ignored,
        skip,
        lambda told: read_pieces(described, source, pieces, told, size=size),
        watch,
    )


def _stored(
    described: Unlabelled, path: Path, skip: bool, watch: Callable[[RawTable], None] | None
) -> NewRecords:
    """Read Parquet or Excel, whose readers know the types of columns."""
    if not path.is_file():
        raise DatasetError(f"{path} can't be read: there is no such file")
    if described.parser.kind == PARQUET:
        from privcurve.datasets.readers.parquet import read, schema_of

        ignored = _beside(described, schema_of(path).names)
    else:
        from privcurve.datasets.readers.excel import read

        ignored = ()
    return _new(described, ignored, skip, lambda told: read(described, RawFile(path), told), watch)


def _new(
    described: Unlabelled,
    ignored: tuple[str, ...],
    skip: bool,
    read: Callable[[Problems], Iterator[RawTable]],
    watch: Callable[[RawTable], None] | None,
) -> NewRecords:
    skipped = Skipped(described.name, is_file=True)
    problems = skipped if skip else Problems(described.name, is_file=True)
    coder = Coder(described.domain, described.path, problems)
    parts = _coded(described, coder, problems, skipped, read(problems), watch)
    return NewRecords(ignored, parts, coder.counts)


def _coded(
    described: Unlabelled,
    coder: Coder,
    problems: Problems,
    skipped: Skipped,
    tables: Iterator[RawTable],
    watch: Callable[[RawTable], None] | None,
) -> Iterator[Part]:
    try:
        for table in tables:
            codes = coder.columns(table)
            problems.check()
            yield _part(described, table, codes, skipped.rows)
            if watch is not None:
                watch(table)
    except (*DAMAGED, OSError) as error:
        raise _unreadable(described.name, error, described.parser.encoding) from None
    problems.check()
    if skipped.rows:
        # Records of another width at the end of the file.
        none = RawTable(described.name, {name: [] for name in described.copied}, range(0))
        no_codes = np.empty((0, len(coder.counts)), np.uint8)
        yield _part(described, none, no_codes, skipped.rows)


def _part(described: Unlabelled, table: RawTable, codes: Codes, rows: dict[int, list[str]]) -> Part:
    """Put records that could not be read back in their places, and take `rows` that are told."""
    copied = [_texts(table.columns[name]) for name in described.copied]
    if not rows:
        return Part(codes, np.ones(len(codes), dtype=bool), copied, [])
    lines = np.array(table.lines, dtype=np.int64)
    refused = np.array(sorted(rows), dtype=np.int64)
    # Those of another width are not in the table.
    unread = refused[~np.isin(refused, lines)]
    places = np.searchsorted(lines, unread)
    for texts in copied:
        texts[:] = np.insert(np.array(texts, dtype=object), places, "").tolist()
    is_refused = np.isin(lines, refused)
    told = [(int(line), rows.pop(int(line))) for line in refused]
    return Part(codes[~is_refused], np.insert(~is_refused, places, False), copied, told)


def _texts(values: Any) -> list[str]:
    """Return the texts of a column as a file of text holds them, nothing for no value."""
    cells = values.astype(object).tolist() if isinstance(values, np.ndarray) else texts_of(values)
    return [text_of(cell) or "" for cell in cells]


def _start(encoding: str, pieces: Iterator[bytes]) -> list[tuple[int, str]]:
    """Return the lines in which the header ends, from the first that is not blank."""
    numbered = lines_of(joined(pieces), encoding)
    below = itertools.dropwhile(lambda line: not line[1].strip(), numbered)
    return list(itertools.islice(below, _MOST_OF_HEADER))


def _header(start: list[tuple[int, str]], separator: str) -> list[str]:
    """Return the names of columns, each of which may have several lines."""
    _, fields = next(records_of(start, separator), (0, ()))
    return [field.strip() for field in fields]


def _n_known(domain: Domain, start: list[tuple[int, str]], separator: str) -> int:
    """Return how many names of columns a separator makes."""
    try:
        return len(set(_header(start, separator)) & set(domain.names))
    except csv.Error:
        return 0


def _beside(described: Unlabelled, fields: list[str], hint: str = "") -> tuple[str, ...]:
    """Return the fields that are not used, beside those that are, which all have to be there."""
    domain, copied = described.domain, described.copied
    fault = lacking(domain, described.name, fields, copied)
    if fault is not None:
        raise DatasetError(f"{fault}{hint}")
    # A column without a name is that of a separator at the end of each line.
    used = {*domain.names, *copied, domain.label.column, ""}
    return tuple(field for field in fields if field not in used)


def _unreadable(source: str, error: Exception, encoding: str) -> DatasetError:
    if isinstance(error, UnicodeError):
        return DatasetError(
            f"{source} is not written in {encoding.removesuffix('-sig')}: say in which encoding it "
            "is, such as --encoding cp1252"
        )
    if isinstance(error, OSError) and error.strerror:
        return DatasetError(f"{source} can't be read: {error.strerror}")
    return DatasetError(f"{source} can't be read: {error}")
