"""Files of records without labels, a piece at a time: what a model is asked about."""

from __future__ import annotations

import csv
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from privcurve.coding import Codes
from privcurve.datasets.description import DELIMITED, EXCEL, PARQUET, Parser
from privcurve.datasets.domain import Domain
from privcurve.datasets.encode import encode_columns
from privcurve.datasets.errors import DatasetError
from privcurve.datasets.fetch import RawFile
from privcurve.datasets.frames import DECIDED
from privcurve.datasets.problems import Problems
from privcurve.datasets.readers import DAMAGED
from privcurve.datasets.readers.delimited import records_of, tables
from privcurve.datasets.readers.lines import lines_of, opened
from privcurve.datasets.readers.table import RawTable, lacking

SEPARATORS = (",", ";", "\t", "|")
ENCODING = Parser(DELIMITED).encoding
STDIN = Path("-")


@dataclass(frozen=True)
class Unlabelled:
    """What stands for the description of a file without labels.

    Attributes
    ----------
    domain : Domain
    parser : Parser
    name, path : str
        For messages: what is read, and where the fate of its values is decided.
    label : None
    """

    domain: Domain
    parser: Parser
    name: str
    path: str = DECIDED
    label: None = None


@dataclass(frozen=True)
class NewRecords:
    """A file that is being read.

    Attributes
    ----------
    ignored : tuple of str
        Its columns that the domain does not have.
    pieces : iterator of ndarray
        Codes of some records after another; it raises `DatasetError` where a value has none.
    """

    ignored: tuple[str, ...]
    pieces: Iterator[Codes]


def read_codes(
    domain: Domain,
    path: Path,
    *,
    separator: str | None = None,
    encoding: str = ENCODING,
    stdin: BinaryIO | None = None,
) -> NewRecords:
    """Read and code a file of records without labels.

    Parameters
    ----------
    domain : Domain
    path : Path
        CSV and its like with names of columns in the first line, in any order (``.gz`` too); a
        Parquet file (``.parquet``); the first sheet of an Excel file; or ``-``: CSV of `stdin`.
        Columns of other names are left out.
    separator : str, optional
        By default comma, semicolon, tab or ``|``, whichever makes the names of columns.
    encoding : str
    stdin : binary file, optional

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
    if suffix in (".parquet", ".xlsx", ".xls"):
        kind = PARQUET if suffix == ".parquet" else EXCEL
        return _stored(Unlabelled(domain, Parser(kind, header=kind == EXCEL), source), path)
    if path == STDIN and stdin is None:
        raise DatasetError("there is no standard input to read")
    try:
        file = stdin if path == STDIN and stdin is not None else opened(path)
        numbered = lines_of(file, Parser(DELIMITED, encoding=encoding))
        first = next(numbered, None)
    except (*DAMAGED, OSError, LookupError) as error:
        raise _unreadable(source, error, encoding) from None
    if first is None:
        raise DatasetError(f"{source} is empty: its first line has to name the columns")
    if separator is None:
        separator = _separator(domain, first[1])
    fields = [field.strip() for field in next(csv.reader([first[1]], delimiter=separator))]
    described = Unlabelled(
        domain, Parser(DELIMITED, separator, header=True, encoding=encoding), source
    )
    _check(domain, source, fields)
    records = records_of(itertools.chain([first], numbered), separator)
    return NewRecords(
        _ignored(domain, fields),
        _coded(described, lambda problems: tables(described, source, records, problems)),
    )


def _stored(described: Unlabelled, path: Path) -> NewRecords:
    """Read Parquet or Excel, whose readers know the types of columns."""
    if not path.is_file():
        raise DatasetError(f"{path} can't be read: there is no such file")
    if described.parser.kind == PARQUET:
        import pyarrow
        from pyarrow import parquet

        from privcurve.datasets.readers.parquet import read

        try:
            fields = list(parquet.read_schema(path).names)
        except (pyarrow.ArrowException, OSError) as error:
            raise DatasetError(f"{path} can't be read: {error}") from None
        _check(described.domain, described.name, fields)
        ignored = _ignored(described.domain, fields)
    else:
        from privcurve.datasets.readers.excel import read

        ignored = ()
    file = RawFile(path)
    return NewRecords(ignored, _coded(described, lambda problems: read(described, file, problems)))


def _coded(described: Unlabelled, read: Any) -> Iterator[Codes]:
    problems = Problems(described.name, is_file=True)
    try:
        pieces: Iterator[RawTable] = read(problems)
        for table in pieces:
            codes = encode_columns(described, table, problems)[0]
            problems.check()
            yield codes
    except (*DAMAGED, OSError) as error:
        raise _unreadable(described.name, error, described.parser.encoding) from None
    problems.check()


def _separator(domain: Domain, header: str) -> str:
    """Give the separator that makes most names of columns."""

    def found(separator: str) -> int:
        fields = {field.strip() for field in next(csv.reader([header], delimiter=separator))}
        return len(fields & set(domain.names))

    return max(SEPARATORS, key=found)


def _check(domain: Domain, source: str, fields: list[str]) -> None:
    fault = lacking(domain, source, fields)
    if fault is not None:
        raise fault


def _ignored(domain: Domain, fields: list[str]) -> tuple[str, ...]:
    # A column without a name is that of a separator at the end of each line.
    known = {*domain.names, domain.label.column, ""}
    return tuple(field for field in fields if field not in known)


def _unreadable(source: str, error: Exception, encoding: str) -> DatasetError:
    if isinstance(error, UnicodeError):
        return DatasetError(
            f"{source} is not written in {encoding.removesuffix('-sig')}: say in which encoding it "
            "is, such as --encoding cp1252"
        )
    if isinstance(error, OSError) and error.strerror:
        return DatasetError(f"{source} can't be read: {error.strerror}")
    return DatasetError(f"{source} can't be read: {error}")
