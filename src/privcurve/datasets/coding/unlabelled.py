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
    """The codes of consecutive records of a file; some of them may be skipped."""

    codes: Codes  # (n_answered, n_columns): records that can be predicted
    # (n_records,): whether each record can be predicted; False for a skipped record
    answered: NDArray[np.bool_]
    # Texts of each copied column, for all records; "" for a record with a wrong number of fields.
    copied: list[list[str]]
    skipped: list[tuple[int, list[str]]]  # for each skipped record: its line, and its faults
    table: RawTable  # the raw table of these records


@dataclass(frozen=True)
class NewRecords:
    """A file of unlabelled records that is read and encoded in pieces."""

    ignored: tuple[str, ...]  # columns of the file that the domain lacks
    notes: tuple[str, ...]  # remarks on how the file is read, if this may surprise the user
    # The records in pieces. A value without a code raises DatasetError, unless records with such
    # values are skipped.
    parts: Iterator[CodedPiece]
    counts: Sequence[ColumnCounts]  # missing, clipped, unlisted values of the records read so far
    problems: Problems  # faults and remarks of the records read so far

    @property
    def remarks(self) -> tuple[str, ...]:
        """Remarks on the records read so far."""
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
        CSV or similar with column names in the first line, in any order (``.gz`` too); a Parquet
        file (``.parquet``); a sheet of an Excel file; or ``-``: CSV from `stdin`. Unknown columns
        are ignored. A file without column names is read with `parser`.
    parser : Parser, optional
        Format of the files that trained the model.
    separator : str, optional
        By default the separator of `parser`, a comma, semicolon, tab, ``|`` or blanks, whichever
        yields the column names.
    encoding : str, optional
        By default the encoding of `parser`, or UTF-8.
    sheet : str
        The sheet of an Excel file, by default the sheet of `parser`, or the first.
    rows : int
        How many rows of the sheet are records, by default the number in `parser`, or all.
    labels : Path, optional
        The file of the labels of an idx file.
    copied : sequence of str
        Columns whose texts are returned in addition to the codes.
    skip : bool
        Whether records without a code are skipped; otherwise they are an error.
    stdin : binary file, optional
    watch : callable, optional
        Called with each piece of records as it is read.

    Returns
    -------
    NewRecords

    Raises
    ------
    DatasetError
        If the file can't be read, lacks columns, or has another layout: all faults in one message.
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
            # The file ends with records that cannot be read. They are in no table, so that they
            # need a piece of their own.
            no_records = RawTable(
                description.name, {name: [] for name in description.copied}, range(0)
            )
            no_codes = np.empty((0, len(domain.columns)), np.uint8)
            yield _make_piece(description, no_records, no_codes, problems.rows)

    return NewRecords(file.ignored, file.remarks, parts(), coder.counts, problems)


def _check_places(domain: Domain, file: UnlabelledFile) -> None:
    """Raise DatasetError if the first line of a file that is read by position is unexpected.

    If the training files had no names, a first line with names would be read as a record. If the
    training files had a first line to skip, a first line with a record would be skipped.
    """
    fields, source = file.description.parser.fields, file.description.name
    unit = reading.kinds()[file.description.parser.kind].unit
    remedy = f"above the records: {reading.list_names(fields)}"

    def are_values(record: Sequence[str]) -> tuple[list[bool], bool]:
        """Return for each column, and for the label, whether the record has a known value."""
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
    """Return whether a text marks a missing value, or has a code other than the code of `other`."""
    coded = ColumnCoder(domain, column).code([text])
    code, is_marker = int(coded.codes[0]), bool(coded.absent[0])
    return bool(text) and (is_marker or (code >= 0 and column.code_names[code] != OTHER))


def _is_word(text: str) -> bool:
    return any(map(str.isalpha, text)) and amount_of(text, ".") is None


def _make_piece(
    description: Unlabelled, table: RawTable, codes: Codes, rows: dict[int, list[str]]
) -> CodedPiece:
    """Return the piece of a table, with its skipped records at their positions.

    `rows` has the faults of skipped records by line. The function removes them from `rows`, so that
    the next piece does not contain them.
    """
    copied = [_write_texts(table.columns[name]) for name in description.copied]
    if not rows:
        return CodedPiece(codes, np.ones(len(codes), dtype=bool), copied, [], table)
    lines = np.array(table.lines, dtype=np.int64)
    refused = np.array(sorted(rows), dtype=np.int64)
    # Skipped records with a wrong number of fields are not in the table: insert them.
    unread = refused[~np.isin(refused, lines)]
    places = np.searchsorted(lines, unread)
    for texts in copied:
        texts[:] = np.insert(np.array(texts, dtype=object), places, "").tolist()
    is_refused = np.isin(lines, refused)
    reasons = [(int(line), rows.pop(int(line))) for line in refused]
    answered = np.insert(~is_refused, places, False)
    return CodedPiece(codes[~is_refused], answered, copied, reasons, table)


def _write_texts(values: object) -> list[str]:
    """Return the texts of a column as a text file contains them; empty for a missing value."""
    if not isinstance(values, np.ndarray):
        return [text_of(cell) or "" for cell in cells_of(values)]
    # NumPy may store a day as the time of its midnight.
    return [(text_of(cell) or "").removesuffix("T00:00:00") for cell in values]
