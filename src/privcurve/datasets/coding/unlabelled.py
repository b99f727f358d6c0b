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
from privcurve.datasets.coding.coder import Coder, ColumnCoder
from privcurve.datasets.coding.counts import ColumnCounts, warnings_of
from privcurve.datasets.coding.numbers import amount_of
from privcurve.datasets.description import EXCEL, Parser
from privcurve.datasets.domain import OTHER, Column, Domain
from privcurve.datasets.errors import DatasetError, Problems, Skipped
from privcurve.datasets.reading import RawTable, Unlabelled, UnlabelledFile, cells_of, text_of


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
    notes: tuple[str, ...]  # how it is read, where its owner may expect something else
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
    """Read and code a file of records without labels.

    Parameters
    ----------
    domain : Domain
    path : Path
        CSV and its like with names of columns in the first line, in any order (``.gz`` too); a
        Parquet file (``.parquet``); a sheet of an Excel file; or ``-``: CSV of `stdin`.
        Columns of other names are left out. A file that does not name its columns there is read by
        `parser`.
    parser : Parser, optional
        How the files were written that the model was trained on.
    separator : str, optional
        By default the separator of `parser`, a comma, semicolon, tab, ``|`` or blanks, whichever
        makes the names of columns.
    encoding : str, optional
        By default the encoding of `parser`, or UTF-8.
    sheet : str
        The sheet of an Excel file, by default the sheet of `parser`, or the first.
    rows : int
        How many rows of the sheet are records, by default as many as `parser` says, or all.
    labels : Path, optional
        The file of the labels of an idx file.
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
        If it can't be read, lacks columns, or is laid out in another way: all in one message.
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
            # Records of another width at the end of the file.
            no_records = RawTable(
                description.name, {name: [] for name in description.copied}, range(0)
            )
            no_codes = np.empty((0, len(domain.columns)), np.uint8)
            yield _make_piece(description, no_records, no_codes, problems.rows)

    return NewRecords(file.ignored, file.remarks, parts(), coder.counts, problems)


def _check_places(domain: Domain, file: UnlabelledFile) -> None:
    """Refuse a file that is read by the places of its fields, but begins otherwise than it should.

    A first line of names would be taken for a record; a record where the model's training files had
    another line would be lost.
    """
    fields, source = file.description.parser.fields, file.description.name
    unit = "row" if file.description.parser.kind == EXCEL else "line"
    remedy = f"above the records: {reading.list_names(fields)}"

    def are_values(record: Sequence[str]) -> tuple[list[bool], bool]:
        """Return which columns hold a value that the model knows, and whether the label does."""
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
                f"{unit} {number} of {source} names columns, it seems, and the model was trained "
                f"on files without names: delete it, or put these names {remedy}"
            )
    number, record = file.above
    texts = [text.strip() for text in record[: len(fields)]]
    if len(texts) == len(fields) and any(texts):
        values, is_label = are_values(texts)
        label = dict(zip(fields, texts, strict=True)).get(domain.label.column, "")
        if (is_label or not label) and 2 * sum(values) >= len(values):
            raise DatasetError(
                f"{unit} {number} of {source} is a record, it seems, and would be left out, as the "
                f"first {unit}s were of the files that the model was trained on: put names {remedy}"
            )


def _is_value(domain: Domain, column: Column, text: str) -> bool:
    """Return whether a text marks a missing value, or has a code and is not `other`."""
    coded = ColumnCoder(domain, column).code([text])
    code, is_marker = int(coded.codes[0]), bool(coded.absent[0])
    return bool(text) and (is_marker or (code >= 0 and column.code_names[code] != OTHER))


def _is_word(text: str) -> bool:
    return any(map(str.isalpha, text)) and amount_of(text, ".") is None


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
