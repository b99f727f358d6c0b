"""Files of records without labels, a piece at a time: what a model is asked about."""

from __future__ import annotations

import csv
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from privcurve.coding import Codes
from privcurve.datasets.description import DELIMITED, EXCEL, PARQUET, Parser
from privcurve.datasets.domain import CATEGORICAL, NUMERIC, OTHER, Domain
from privcurve.datasets.encode import Coder
from privcurve.datasets.errors import DatasetError, Problems
from privcurve.datasets.fetch import RawFile
from privcurve.datasets.readers import DAMAGED
from privcurve.datasets.readers.delimited import SEPARATORS, read_pieces, records_of
from privcurve.datasets.readers.files import joined, lines_of, opened, peeked, pieces_of
from privcurve.datasets.readers.table import RawTable, Unlabelled, lacking

ENCODING = Parser(DELIMITED).encoding
STDIN = Path("-")
# Of so many records this share tells that a column is written in another way.
_FEW = 10
_NEARLY_ALL = 0.95
_JSON = (
    " It is JSON, it seems: write its records as CSV or Parquet (in pandas, read_json and to_csv)."
)
# Lines of the file in which the names of columns end.
_MOST_OF_HEADER = 100


class Lost:
    """How many values of each column lay outside its bounds, or were ``other``."""

    def __init__(self, domain: Domain) -> None:
        self._columns = domain.columns
        self._n = 0
        self._outside = np.zeros(len(domain.columns), dtype=np.int64)
        self._others = np.zeros(len(domain.columns), dtype=np.int64)

    def add(self, codes: Codes, clipped: NDArray[np.int64]) -> None:
        """Count some more records."""
        self._n += len(codes)
        self._outside += clipped
        for j, column in enumerate(self._columns):
            if column.kind == CATEGORICAL and OTHER in column.titles:
                self._others[j] += np.count_nonzero(codes[:, j] == column.titles.index(OTHER))

    def remarks(self) -> Iterator[str]:
        """Name the columns of which nearly nothing is left: they may be written in another way."""
        counts = np.maximum(self._outside, self._others).tolist()
        for column, count in zip(self._columns, counts, strict=True):
            if self._n < _FEW or count < _NEARLY_ALL * self._n:
                continue
            what, how = f"fit none of its groups but {OTHER!r}", "spelling, leading zeros"
            if column.kind == NUMERIC:
                what, how = f"lie outside its bounds, {' to '.join(column.ends())}", "the unit"
            yield (
                f"{count / self._n:.0%} of the values of {column.name!r} {what}: are they written "
                f"as the model takes them ({how})?"
            )


@dataclass(frozen=True)
class NewRecords:
    """A file that is being read.

    Attributes
    ----------
    ignored : tuple of str
        Its columns that the domain does not have.
    pieces : iterator of ndarray
        Codes of some records after another; it raises `DatasetError` where a value has none.
    lost : Lost
        Of the records that were read, what their codes do not tell.
    """

    ignored: tuple[str, ...]
    pieces: Iterator[Codes]
    lost: Lost


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
        By default comma, semicolon, tab, ``|`` or blanks, whichever makes the names of columns.
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
        start, pieces = peeked(pieces_of(file, encoding), partial(_start, encoding))
        if separator is None:
            separator = max(SEPARATORS, key=lambda one: _n_known(domain, start, one))
        fields = _header(start, separator)
    except (*DAMAGED, OSError, LookupError) as error:
        raise _unreadable(source, error, encoding) from None
    if not start:
        raise DatasetError(f"{source} is empty: its first line has to name the columns")
    described = Unlabelled(
        domain, Parser(DELIMITED, separator, header=True, encoding=encoding), source
    )
    is_json = start[0][1].lstrip()[:1] in ("{", "[")
    ignored = _beside(domain, source, fields, _JSON if is_json else "")
    return _new(described, ignored, lambda told: read_pieces(described, source, pieces, told))


def _stored(described: Unlabelled, path: Path) -> NewRecords:
    """Read Parquet or Excel, whose readers know the types of columns."""
    if not path.is_file():
        raise DatasetError(f"{path} can't be read: there is no such file")
    if described.parser.kind == PARQUET:
        from privcurve.datasets.readers.parquet import read, schema_of

        ignored = _beside(described.domain, described.name, schema_of(path).names)
    else:
        from privcurve.datasets.readers.excel import read

        ignored = ()
    return _new(described, ignored, lambda problems: read(described, RawFile(path), problems))


def _new(
    described: Unlabelled,
    ignored: tuple[str, ...],
    read: Callable[[Problems], Iterator[RawTable]],
) -> NewRecords:
    lost = Lost(described.domain)
    return NewRecords(ignored, _coded(described, read, lost), lost)


def _coded(
    described: Unlabelled, read: Callable[[Problems], Iterator[RawTable]], lost: Lost
) -> Iterator[Codes]:
    problems = Problems(described.name, is_file=True)
    try:
        coder = Coder(described.domain, described.path, problems)
        for table in read(problems):
            codes, clipped = coder.columns(table)
            problems.check()
            lost.add(codes, clipped)
            yield codes
    except (*DAMAGED, OSError) as error:
        raise _unreadable(described.name, error, described.parser.encoding) from None
    problems.check()


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


def _beside(domain: Domain, source: str, fields: list[str], hint: str = "") -> tuple[str, ...]:
    """Return the fields beside the columns of a domain, which all have to be there."""
    fault = lacking(domain, source, fields)
    if fault is not None:
        raise DatasetError(f"{fault}{hint}")
    # A column without a name is that of a separator at the end of each line.
    used = {*domain.names, domain.label.column, ""}
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
