"""Read files of fields: CSV and its like."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from privcurve.datasets.fetch import RawFile
from privcurve.datasets.problems import Problems
from privcurve.datasets.readers.lines import Line, lines, says_something, with_words
from privcurve.datasets.readers.table import (
    Described,
    RawTable,
    check_order,
    in_chunks,
    positions,
)

# Those that are looked for.
SEPARATORS = (",", ";", "\t", "|", "whitespace")

# Texts; of Excel, cells of any types.
Record = tuple[int, Sequence[Any]]


def read(
    description: Described, file: RawFile, problems: Problems, most: int | None = None
) -> Iterator[RawTable]:
    """Read one file, a piece at a time."""
    parser = description.parser
    if parser.fields and parser.skip_rows:
        from_there = lines(file.path, replace(parser, skip_rows=parser.skip_rows - 1))
        first = records_of(from_there, parser.separator, parser.comment)
        above, names = next(first, (0, ()))
        from_there.close()
        if above == parser.skip_rows:
            check_order(description, str(file.path), names, "line")
    records = records_of(lines(file.path, parser), parser.separator, parser.comment)
    return tables(description, str(file.path), records, problems, most)


def tables(
    description: Described,
    source: str,
    records: Iterator[Record],
    problems: Problems,
    most: int | None = None,
    unit: str = "line",
) -> Iterator[RawTable]:
    """Turn records of texts into pieces of a table.

    Parameters
    ----------
    description : Described
    source : str
    records : iterator of (number, fields)
        The first is the header, where the parser has one.
    problems : Problems
        Is told of records that have too few fields or too many.
    most : int, optional
        How many records are wanted.
    unit : str
        What numbers of records count.

    Yields
    ------
    RawTable
    """
    parser = description.parser
    fields: Sequence[str] = parser.fields
    if parser.header:
        _, header = next(records, (0, []))
        fields = [field.strip() for field in header]
    place = positions(description, source, fields, problems)
    whole = _whole(description, source, records, len(fields), problems, unit)
    for chunk in in_chunks(islice(whole, most), len(fields)):
        numbers, rows = zip(*chunk, strict=True)
        # Of fields beyond the last name, which are left out, each record may have others.
        fields_of = list(zip(*rows, strict=False))
        columns = {name: fields_of[j] for name, j in place.items()}
        yield RawTable(source, columns, numbers, unit)


def _whole(
    description: Described,
    source: str,
    records: Iterable[Record],
    width: int,
    problems: Problems,
    unit: str,
) -> Iterator[Record]:
    """Leave out records of another width, and tell of them."""
    ignore = description.parser.extra_fields == "ignore"
    other = f"parser: separator in {description.path}"
    if description.label is None:
        other = "say in which way fields are separated (--separator)"
    for number, record in records:
        if len(record) == width or (ignore and len(record) > width):
            yield number, record
            continue
        problems.lost += 1
        problems.add(
            f"{unit} {number} of {source} has {len(record)} fields, not {width}. Correct the "
            f"{unit}, or {other}.",
            ("width", len(record)),
        )
        if problems.full:
            return


def records_of(numbered: Iterable[Line], separator: str, comment: str = "") -> Iterator[Record]:
    """Divide lines into fields.

    Parameters
    ----------
    numbered : iterable of (line number, line)
    separator : str
        One character, or ``whitespace``.
    comment : str
        Lines that begin so are left out, and blank ones; but for those within a quoted field.

    Yields
    ------
    (line number, fields)

    Raises
    ------
    csv.Error
        If a field of several lines is not closed by a quote before a separator or a line's end, or
        if it is too long.
    """
    if separator == "whitespace":
        for number, line in with_words(numbered, comment):
            yield number, line.split()
        return
    first = last = 0
    taken: list[str] = []

    def texts() -> Iterator[str]:
        nonlocal first, last
        for number, line in numbered:
            if not taken:
                # Tabs that separate are a record of fields in which nothing stands.
                is_empty = separator == "\t" and "\t" in line and not line.strip()
                if not (is_empty or says_something(line, comment)):
                    continue
                first = number
            last = number
            taken.append(line)
            yield line

    try:
        for record in csv.reader(texts(), delimiter=separator, skipinitialspace=True):
            if len(taken) > 1:
                # A quote that nothing closes would take in the records that come next.
                list(csv.reader(taken, delimiter=separator, skipinitialspace=True, strict=True))
            taken.clear()
            yield last, record
    except csv.Error as error:
        raise csv.Error(
            f"a quote in the record of line {first} is not closed where its field ends, or a field "
            f"is too long ({error})"
        ) from None
