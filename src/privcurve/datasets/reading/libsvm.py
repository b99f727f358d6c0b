"""Read LIBSVM files: a label, then ``index:number`` for each nonzero number."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privcurve.datasets.description import LABEL
from privcurve.datasets.errors import Problems
from privcurve.datasets.reading.downloads import RawFile
from privcurve.datasets.reading.files import Line, lines_of, nonblank_lines, open_raw
from privcurve.datasets.reading.formats import BY_NUMBER, FileKind
from privcurve.datasets.reading.table import AnyDescription, RawTable, chunks_of
from privcurve.numerals import number

_INDEX_ZERO = re.compile(r"\s0+:")


def read(
    description: AnyDescription, file: RawFile, problems: Problems, most: int | None = None
) -> Iterator[RawTable]:
    """Read one LIBSVM file in pieces."""
    numbered = lines_of(open_raw(file.path), description.parser.encoding)
    yield from read_lines(description, str(file.path), numbered, problems, most)


def read_lines(
    description: AnyDescription,
    source: str,
    numbered: Iterator[Line],
    problems: Problems,
    most: int | None = None,
) -> Iterator[RawTable]:
    """Read numbered lines of a LIBSVM file in pieces.

    If the records are for prediction, labels are not read; a line may begin with one or not.
    """
    parser = description.parser
    fields, base = parser.fields, 0 if parser.zero_based else 1
    below = (line for line in numbered if line[0] > parser.skip_rows)
    numbered = nonblank_lines(below, parser.comment)
    has_zero = not parser.zero_based
    for chunk in chunks_of(islice(numbered, most), len(fields)):
        # A line lists only the numbers that are not zero.
        matrix = np.zeros((len(chunk), len(fields)))
        labels = []
        for row, (line, text) in enumerate(chunk):
            label, *entries = text.split()
            if description.label is None and ":" in label:
                label, entries = "", [label, *entries]
            labels.append(label)
            places = set()
            for entry in entries:
                try:
                    place = _set_entry(matrix[row], entry, base)
                except ValueError:
                    problems.refuse(
                        line,
                        f"line {line} of {source}: {entry!r} is not index:number, index "
                        f"{base} … {len(fields) - 1 + base}.",
                        "Correct the file, or parser: fields (or zero_based) in "
                        f"{description.path}.",
                        ("entry", entry),
                    )
                    continue
                if place in places:
                    problems.refuse(
                        line,
                        f"line {line} of {source} has the index {place + base} twice; it may "
                        "occur once.",
                        "Correct the file.",
                        "index",
                    )
                places.add(place)
            has_zero = has_zero or 0 in places
        columns: dict[str, Any] = {name: matrix[:, j] for j, name in enumerate(fields)}
        columns[LABEL] = labels
        yield RawTable(source, columns, [line for line, _ in chunk])
        if problems.full:
            return
    # Indexes seem to begin at 1 only if no line has the index 0, so search also the lines beyond
    # `most`.
    if not (has_zero or any(_INDEX_ZERO.search(text) for _, text in numbered)):
        problems.add(
            f"{source} never has the index 0, so it seems to count from 1: every number would "
            "be assigned to a wrong column. Leave out parser: zero_based in "
            f"{description.path}; or, if {fields[0]!r} is 0 in each record, write it (0:0) in "
            "one of them.",
            "zero_based",
        )


def _set_entry(row: NDArray[np.float64], entry: str, base: int) -> int:
    """Store the number of an entry ``index:number`` in `row`, and return its position.

    `base` is the first index. Raises ValueError if the entry has another form, or if its index is
    outside the row.
    """
    index, _, value = entry.partition(":")
    position = number(index, int) - base
    if not 0 <= position < len(row):
        raise ValueError
    row[position] = number(value)
    return position


KIND = FileKind(
    "libsvm",
    read,
    keys=("comment", "skip_rows", "encoding", "zero_based"),
    naming=BY_NUMBER,
    read_lines=read_lines,
)
