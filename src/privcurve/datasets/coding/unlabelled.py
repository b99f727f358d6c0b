"""Files of records without labels as codes, a piece at a time: what a model is asked about."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from privcurve.coding import Codes
from privcurve.datasets import reading
from privcurve.datasets.coding.coder import Coder
from privcurve.datasets.coding.counts import ColumnCounts, warnings_of
from privcurve.datasets.domain import Domain
from privcurve.datasets.errors import Problems, Skipped
from privcurve.datasets.reading import RawTable, Unlabelled, cells_of, text_of


@dataclass(frozen=True)
class CodedPiece:
    """Some consecutive records of a file."""

    codes: Codes  # (n_answered, n_columns): of the records that can be answered
    answered: NDArray[np.bool_]  # (n_records,): which records these are; all, where none is skipped
    # Texts of each column that is copied, of all records; empty where a record has other fields.
    copied: list[list[str]]
    skipped: list[tuple[int, list[str]]]  # lines of the other records, each with what is wrong
    table: RawTable  # what they were read from


@dataclass(frozen=True)
class NewRecords:
    """A file that is being read."""

    ignored: tuple[str, ...]  # its columns that the domain does not have
    # The records, a piece at a time; raises `DatasetError` where a value has no code and is not
    # skipped.
    parts: Iterator[CodedPiece]
    counts: Sequence[ColumnCounts]  # of the records that were read so far, by column
    problems: Problems  # its remarks are about the records that were read so far

    @property
    def remarks(self) -> tuple[str, ...]:
        """What is worth a word of the records that were read so far."""
        return (*self.problems.remarks, *warnings_of(self.counts))


def read_codes(
    domain: Domain,
    path: Path,
    *,
    separator: str | None = None,
    encoding: str = reading.ENCODING,
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
        The sheet of an Excel file, by default the first.
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
    file = reading.open_unlabelled(domain, path, separator, encoding, sheet, copied, stdin)
    description = file.description
    problems = (Skipped if skip else Problems)(description.name, is_file=True)
    coder = Coder(domain, description.path, problems)

    def parts() -> Iterator[CodedPiece]:
        for table in file.read(problems):
            codes = coder.code_columns(table)
            problems.check()
            yield _make_piece(description, table, codes, problems.rows)
            if watch is not None:
                watch(table)
        problems.check()
        if problems.rows:
            # Records of another width at the end of the file.
            no_records = RawTable(
                description.name, {name: [] for name in description.copied}, range(0)
            )
            no_codes = np.empty((0, len(domain.columns)), np.uint8)
            yield _make_piece(description, no_records, no_codes, problems.rows)

    return NewRecords(file.ignored, parts(), coder.counts, problems)


def _make_piece(
    description: Unlabelled, table: RawTable, codes: Codes, rows: dict[int, list[str]]
) -> CodedPiece:
    """Return the piece of a table, with the refused records and their faults in their places.

    Faults are taken out of `rows`, by line.
    """
    copied = [_write_texts(table.columns[name]) for name in description.copied]
    if not rows:
        return CodedPiece(codes, np.ones(len(codes), dtype=bool), copied, [], table)
    lines = np.array(table.lines, dtype=np.int64)
    refused = np.array(sorted(rows), dtype=np.int64)
    # Records of another width are not in the table.
    unread = refused[~np.isin(refused, lines)]
    places = np.searchsorted(lines, unread)
    for texts in copied:
        texts[:] = np.insert(np.array(texts, dtype=object), places, "").tolist()
    is_refused = np.isin(lines, refused)
    reasons = [(int(line), rows.pop(int(line))) for line in refused]
    answered = np.insert(~is_refused, places, False)
    return CodedPiece(codes[~is_refused], answered, copied, reasons, table)


def _write_texts(values: Any) -> list[str]:
    """Return the texts of a column as a file of text holds them, nothing for no value."""
    if not isinstance(values, np.ndarray):
        return [text_of(cell) or "" for cell in cells_of(values)]
    # A day may be stored as its midnight.
    return [(text_of(cell) or "").removesuffix("T00:00:00") for cell in values]
