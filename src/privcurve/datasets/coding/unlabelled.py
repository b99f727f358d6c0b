"""Encode files of unlabelled records in pieces, for prediction."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from privcurve.coding import Codes
from privcurve.datasets import reading
from privcurve.datasets.coding.coder import Coder, ColumnCoder
from privcurve.datasets.coding.counts import ColumnCounts, warnings_of
from privcurve.datasets.coding.numbers import amount_of
from privcurve.datasets.description import Parser
from privcurve.datasets.domain import OTHER, Column, Domain
from privcurve.datasets.errors import DatasetError, Problems, Skipped
from privcurve.datasets.reading import RawTable, Unlabelled, UnlabelledFile, cells_of, text_of


@dataclass(frozen=True)
class CodedPiece:
    """Encoded records that follow each other in a file.

    Records with a value that is in no bin, or with a wrong number of fields, may be skipped.
    """

    codes: Codes  # (n_answered, n_columns): bins of the records that are not skipped
    # (n_records,): whether each record is encoded; False for a skipped record
    answered: NDArray[np.bool_]
    # The texts of each copied column, one text per record; "" for a record with a wrong number of
    # fields.
    copied: list[list[str]]
    skipped: list[tuple[int, list[str]]]  # line and faults of each skipped record
    table: RawTable  # the same records before encoding


@dataclass(frozen=True)
class NewRecords:
    """A file of unlabelled records, which is read and encoded piece by piece."""

    ignored: tuple[str, ...]  # columns of the file that the domain lacks
    notes: tuple[str, ...]  # remarks on details of the format that may surprise the user
    # The encoded pieces. A value that is in no bin raises DatasetError, unless such records are
    # skipped.
    parts: Iterator[CodedPiece]
    counts: Sequence[ColumnCounts]  # missing, clipped and unlisted values so far, by column
    problems: Problems  # faults and remarks so far

    @property
    def remarks(self) -> tuple[str, ...]:
        """Remarks on the records that were read so far."""
        return (*self.problems.remarks, *warnings_of(self.counts))


def read_codes(
    domain: Domain,
    path: Path,
    *,
    parser: Parser | None = None,
    separator: str | None = None,
    encoding: str | None = None,
    sheet: str = "",
    rows: int = 0,
    labels: Path | None = None,
    copied: Sequence[str] = (),
    skip: bool = False,
    stdin: BinaryIO | None = None,
    watch: Callable[[RawTable], None] | None = None,
) -> NewRecords:
    """Read and encode a file of unlabelled records.

    Parameters
    ----------
    domain : Domain
    path : Path
        A text file such as CSV (``.gz`` too), a Parquet file (``.parquet``) or an Excel file; ``-``
        reads CSV from `stdin`. Columns are found by their names, in any order; unknown columns are
        ignored. A file without column names is read with `parser`.
    parser : Parser, optional
        Format of the files that trained the model.
    separator : str, optional
        By default, the separator that yields the column names is chosen: the separator of `parser`,
        a comma, semicolon, tab, ``|`` or blanks.
    encoding : str, optional
        By default the encoding of `parser`, or UTF-8.
    sheet : str
        The sheet of an Excel file, by default the sheet of `parser`, or the first.
    rows : int
        How many rows of the sheet are records, by default the number in `parser`, or all.
    labels : Path, optional
        The file of the labels of an idx file.
    copied : sequence of str
        Columns of the file whose texts are returned in addition to the bins.
    skip : bool
        Whether to skip records with a value that is in no bin; otherwise they are an error.
    stdin : binary file, optional
    watch : callable, optional
        Called with each piece of records as it is read.

    Returns
    -------
    NewRecords

    Raises
    ------
    DatasetError
        If the file can't be read, lacks columns, or has another layout; the message has all faults.
    """
    layout = reading.Layout(parser, separator, encoding, sheet, rows, labels)
    file = reading.open_unlabelled(domain, path, layout, copied, stdin)
    _check_places(domain, file)
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
            # The file ends with unreadable records. No table contains them, so they form their own
            # piece.
            no_records = RawTable(
                description.name, {name: [] for name in description.copied}, range(0)
            )
            no_codes = np.empty((0, len(domain.columns)), np.uint8)
            yield _make_piece(description, no_records, no_codes, problems.rows)

    return NewRecords(file.ignored, file.remarks, parts(), coder.counts, problems)


def _check_places(domain: Domain, file: UnlabelledFile) -> None:
    """Raise DatasetError if a file without column names does not begin like the training files.

    Without this check, a line of names would be read as a record if the training files had no such
    line. And a first record would be skipped if the training files had lines to skip.
    """
    fields, source = file.description.parser.fields, file.description.name
    unit = reading.kinds()[file.description.parser.kind].unit
    remedy = f"above the records: {reading.list_names(fields)}"

    def are_values(record: Sequence[str]) -> tuple[list[bool], bool]:
        """Return for each column, and for the label, whether the domain lists its value."""
        text_of = dict(zip(fields, record, strict=False))
        values = [_is_value(domain, column, text_of[column.name]) for column in domain.columns]
        label = text_of.get(domain.label.column, "").removesuffix(domain.label.strip)
        return values, label in domain.label.places

    for number, record in file.top[:1]:
        texts = [text.strip() for text in record[: len(fields)]]
        below = [[text.strip() for text in other] for _, other in file.top[1:]]
        if (
            len(texts) == len(fields) == len(set(texts))
            and all(map(_is_word, texts))
            and are_values(texts) == ([False] * len(domain.columns), False)
            and not any(text in other[k : k + 1] for k, text in enumerate(texts) for other in below)
        ):
            raise DatasetError(
                f"{unit} {number} of {source} seems to hold column names, but the model was "
                f"trained on files without names: delete it, or put these names {remedy}"
            )
    number, record = file.above
    texts = [text.strip() for text in record[: len(fields)]]
    if len(texts) == len(fields) and any(texts):
        values, is_label = are_values(texts)
        label = dict(zip(fields, texts, strict=True)).get(domain.label.column, "")
        if (is_label or not label) and 2 * sum(values) >= len(values):
            raise DatasetError(
                f"{unit} {number} of {source} seems to be a record and would be skipped, like "
                f"the first {unit}s of the model's training files: put names {remedy}"
            )


def _is_value(domain: Domain, column: Column, text: str) -> bool:
    """Return whether a text marks a missing value, or is in a bin other than `other`."""
    coded = ColumnCoder(domain, column).code([text])
    code, is_marker = int(coded.codes[0]), bool(coded.absent[0])
    return bool(text) and (is_marker or (code >= 0 and column.code_names[code] != OTHER))


def _is_word(text: str) -> bool:
    return any(map(str.isalpha, text)) and amount_of(text, ".") is None


def _make_piece(
    description: Unlabelled, table: RawTable, codes: Codes, rows: dict[int, list[str]]
) -> CodedPiece:
    """Encode a table as a :class:`CodedPiece`, including the skipped records.

    `rows` has the faults of skipped records by line. The function removes them from `rows`, so that
    the next piece does not repeat them.
    """
    copied = [_write_texts(table.columns[name]) for name in description.copied]
    if not rows:
        return CodedPiece(codes, np.ones(len(codes), dtype=bool), copied, [], table)
    lines = np.array(table.lines, dtype=np.int64)
    refused = np.array(sorted(rows), dtype=np.int64)
    # The table lacks skipped records with a wrong number of fields: insert them by line.
    unread = refused[~np.isin(refused, lines)]
    places = np.searchsorted(lines, unread)
    for texts in copied:
        texts[:] = np.insert(np.array(texts, dtype=object), places, "").tolist()
    is_refused = np.isin(lines, refused)
    reasons = [(int(line), rows.pop(int(line))) for line in refused]
    answered = np.insert(~is_refused, places, False)
    return CodedPiece(codes[~is_refused], answered, copied, reasons, table)


def _write_texts(values: object) -> list[str]:
    """Return the values of a column as texts, as in a text file; "" for a missing value."""
    if not isinstance(values, np.ndarray):
        return [text_of(cell) or "" for cell in cells_of(values)]
    # NumPy may store a date as a time at midnight.
    return [(text_of(cell) or "").removesuffix("T00:00:00") for cell in values]
