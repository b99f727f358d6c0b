"""Read LIBSVM files: a label, then ``index:number`` for each number that is not zero."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privcurve.datasets.build import LABEL
from privcurve.datasets.description import Description
from privcurve.datasets.fetch import RawFile
from privcurve.datasets.problems import Problems
from privcurve.datasets.readers.lines import lines
from privcurve.datasets.readers.table import RawTable, in_chunks
from privcurve.numerals import number


def read(
    description: Description, file: RawFile, problems: Problems, most: int | None = None
) -> Iterator[RawTable]:
    """Read one file, a piece at a time."""
    fields = description.parser.fields
    base = 0 if description.parser.zero_based else 1
    wanted = islice(lines(file.path, description.parser), most)
    for chunk in in_chunks(wanted, len(fields)):
        # An index that is left out means zero.
        matrix = np.zeros((len(chunk), len(fields)))
        labels = []
        for row, (line, text) in enumerate(chunk):
            label, *entries = text.split()
            labels.append(label)
            for entry in entries:
                try:
                    _put(matrix[row], entry, base)
                except ValueError:
                    problems.add(
                        f"line {line} of {file.path}: {entry!r} is not index:number, index "
                        f"{base} … {len(fields) - 1 + base}. Correct the file, or parser: fields "
                        f"(or zero_based) in {description.path}.",
                        ("entry", entry),
                    )
        columns: dict[str, Any] = {name: matrix[:, j] for j, name in enumerate(fields)}
        columns[LABEL] = labels
        yield RawTable(str(file.path), columns, [line for line, _ in chunk])
        if problems.full:
            return


def _put(row: NDArray[np.float64], entry: str, base: int) -> None:
    """Put ``index:number`` into a row."""
    index, _, value = entry.partition(":")
    position = number(index, int) - base
    if not 0 <= position < len(row):
        raise ValueError
    row[position] = number(value)
