"""Read raw files into named columns, remembering the line of each record."""

from __future__ import annotations

import csv
import gzip
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from privcurve.datasets.description import Description, Parser
from privcurve.datasets.errors import DatasetError
from privcurve.schema import nearest


@dataclass(frozen=True)
class RawTable:
    """What a file holds, before any coding.

    Attributes
    ----------
    source : str
        The file, for messages.
    columns : mapping of str to sequence
        Strings as they stand in the file, or numbers.
    lines : sequence of int
        The line of the file that each record stands on.
    """

    source: str
    columns: Mapping[str, Sequence[Any]]
    lines: Sequence[int]


def parse(description: Description, path: Path) -> RawTable:
    """Read one raw file.

    Raises
    ------
    DatasetError
        Naming file, line and fix.
    """
    parser = description.parser
    read = _read_libsvm if parser.kind == "libsvm" else _read_delimited
    try:
        table = read(description, path, parser)
    except (
        UnicodeDecodeError,
        csv.Error,
        gzip.BadGzipFile,
        zlib.error,
        EOFError,
    ) as error:
        raise DatasetError(
            f"dataset {description.name!r}: {path} can't be read: {error}. "
            f"Correct parser (encoding, separator) in {description.path}, or replace the file."
        ) from error
    if not table.lines:
        raise DatasetError(f"dataset {description.name!r}: {path} holds no records")
    return table


def _lines(path: Path, parser: Parser) -> Iterator[tuple[int, str]]:
    """Yield (line number from 1, text), without blank lines and comments."""
    raw = gzip.open if path.suffix == ".gz" else open
    with raw(path, "rt", encoding=parser.encoding, newline="") as stream:
        for number, line in enumerate(stream, start=1):
            if number <= parser.skip_rows or not line.strip():
                continue
            if parser.comment and line.startswith(parser.comment):
                continue
            yield number, line


def _records(path: Path, parser: Parser) -> Iterator[tuple[int, list[str]]]:
    """Yield (line number, fields)."""
    if parser.separator == "whitespace":
        for number, line in _lines(path, parser):
            yield number, line.split()
        return
    numbers: list[int] = []

    def texts() -> Iterator[str]:
        for number, line in _lines(path, parser):
            numbers.append(number)
            yield line

    for record in csv.reader(texts(), delimiter=parser.separator, skipinitialspace=True):
        yield numbers[-1], record


def _read_delimited(description: Description, path: Path, parser: Parser) -> RawTable:
    records = _records(path, parser)
    fields = parser.fields
    if parser.header:
        _, header = next(records, (0, []))
        fields = tuple(field.strip() for field in header)
    wanted = [column.name for column in description.domain.columns] + [description.label.column]
    for name in wanted:
        if name not in fields:
            raise DatasetError(
                f"dataset {description.name!r}: {path} has no column {name!r}"
                f"{nearest(name, fields)} Its columns: {', '.join(fields) or 'none'}. "
                f"Correct the name in {description.path}."
            )
    rows, lines = [], []
    for number, record in records:
        if len(record) != len(fields):
            raise DatasetError(
                f"dataset {description.name!r}: line {number} of {path} has {len(record)} "
                f"fields, not {len(fields)}. Correct the line, or parser: separator in "
                f"{description.path}."
            )
        rows.append(record)
        lines.append(number)
    by_field = dict(zip(fields, zip(*rows, strict=True), strict=True)) if rows else {}
    return RawTable(str(path), {name: by_field.get(name, ()) for name in wanted}, lines)


def _read_libsvm(description: Description, path: Path, parser: Parser) -> RawTable:
    values: list[list[float]] = []
    labels, lines = [], []
    width = len(parser.fields)
    for number, line in _lines(path, parser):
        label, *entries = line.split()
        row = [0.0] * width  # an index that is left out means zero
        for entry in entries:
            index, _, value = entry.partition(":")
            try:
                position = int(index)
                if not 1 <= position <= width:
                    raise ValueError
                row[position - 1] = float(value)
            except ValueError:
                raise DatasetError(
                    f"dataset {description.name!r}: line {number} of {path}: {entry!r} is not "
                    f"index:number with an index in 1 … {width}"
                ) from None
        values.append(row)
        labels.append(label)
        lines.append(number)
    matrix = np.array(values, dtype=np.float64).reshape(len(values), width)
    columns: dict[str, Any] = {name: matrix[:, j] for j, name in enumerate(parser.fields)}
    columns[description.label.column] = labels
    return RawTable(str(path), columns, lines)
