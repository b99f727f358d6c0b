"""Rows of Python values as an Arrow table.

`pyarrow.Table.from_pylist` does it too, but imports pandas to ask whether a list is a Series:
a third of a second, in each of a study's thousands of jobs.
"""

from __future__ import annotations

import itertools
from array import array
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

# Type codes of `array`, which refuses what is no number, or no whole one.
_CODES = {pa.int64(): "q", pa.float64(): "d"}


def table(rows: Sequence[Mapping[str, Any]], schema: pa.Schema) -> pa.Table:
    """Make a table of rows.

    Parameters
    ----------
    rows : sequence of mapping
        What a row does not have, or has as None, is null; what the schema does not have is
        left out.
    schema : pyarrow.Schema
        Of columns of texts, whole numbers and numbers.

    Returns
    -------
    pyarrow.Table

    Raises
    ------
    TypeError
        If a value is not of its column's type.
    """
    columns = [_column([row.get(field.name) for row in rows], field.type) for field in schema]
    return pa.Table.from_arrays(columns, schema=schema)


def _column(values: list[Any], kind: pa.DataType) -> pa.Array:
    known = np.array([value is not None for value in values], dtype=bool)
    buffers: list[Any] = [None if known.all() else np.packbits(known, bitorder="little")]
    if kind == pa.string():
        texts = [b"" if value is None else str.encode(value) for value in values]
        ends = itertools.accumulate(map(len, texts), initial=0)
        buffers += [array("i", ends), b"".join(texts)]
    else:
        buffers += [array(_CODES[kind], [0 if value is None else value for value in values])]
    held = [None if buffer is None else pa.py_buffer(buffer) for buffer in buffers]
    return pa.Array.from_buffers(kind, len(values), held)
