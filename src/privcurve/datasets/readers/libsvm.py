"""Read LIBSVM files: a label, then ``index:number`` for each number that is not zero."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np

from privcurve.datasets.build import LABEL
from privcurve.datasets.description import Description
from privcurve.datasets.fetch import RawFile
from privcurve.datasets.numbers import number
from privcurve.datasets.problems import Problems
from privcurve.datasets.readers.lines import lines
from privcurve.datasets.readers.table import RawTable, in_chunks


def read(
    description: Description, file: RawFile, problems: Problems, most: int | None = None
) -> Iterator[RawTable]:
    """Read one file, a piece at a time."""
    fields = description.parser.fields
    wanted = islice(lines(file.path, description.parser), most)
    for chunk in in_chunks(wanted, len(fields)):
        # An index that is left out means zero.
        matrix = np.zeros((len(chunk), len(fields)))
        labels = []
        for row, (line, text) in enumerate(chunk):
            label, *entries = text.split()
            labels.append(label)
            for entry in entries:
                _put(matrix[row], entry, f"line {line} of {file.path}", description, problems)
        columns: dict[str, Any] = {name: matrix[:, j] for j, name in enumerate(fields)}
        columns[LABEL] = labels
        yield RawTable(str(file.path), columns, [line for line, _ in chunk])
        if problems.full:
            return


def _put(
    row: np.ndarray[Any, Any], entry: str, where: str, description: Description, problems: Problems
) -> None:
    base = 0 if description.parser.zero_based else 1
    index, _, value = entry.partition(":")
    try:
        position = number(index, int) - base
        if not 0 <= position < len(row):
            raise ValueError
        row[position] = number(value)
    except ValueError:
        last = len(row) - 1 + base
        problems.add(
            f"{where}: {entry!r} is not index:number with an index in {base} … {last}. Correct the "
            f"file, or parser: fields (or zero_based) in {description.path}.",
            ("entry", index),
        )
