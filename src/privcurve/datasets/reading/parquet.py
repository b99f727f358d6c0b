"""Read Parquet files in pieces."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from privcurve.datasets.description import PARQUET
from privcurve.datasets.errors import DatasetError, Problems
from privcurve.datasets.reading.cells import cells_of
from privcurve.datasets.reading.downloads import RawFile
from privcurve.datasets.reading.formats import FileKind, Format
from privcurve.datasets.reading.table import (
    AnyDescription,
    Layout,
    RawTable,
    Unlabelled,
    UnlabelledFile,
    chunk_size,
    convert_columns,
    find_unused,
    positions,
    unreadable_error,
)


def is_parquet(path: Path) -> bool:
    """Return whether a file begins and ends like a Parquet file."""
    if path.stat().st_size < 8:
        return False
    with path.open("rb") as file:
        start = file.read(4)
        file.seek(-4, os.SEEK_END)
        return start == file.read() == b"PAR1"


def schema_of(path: Path) -> Any:
    """Return the Arrow schema of a file: the names and types of its columns."""
    import pyarrow
    from pyarrow import parquet

    try:
        return parquet.read_schema(path)
    except (pyarrow.ArrowException, OSError) as error:
        raise DatasetError(f"{path} can't be read: {error}") from None


def read(
    description: AnyDescription, file: RawFile, problems: Problems, most: int | None = None
) -> Iterator[RawTable]:
    """Read one Parquet file in pieces, and convert its cells as if they came from a text file."""
    import pyarrow
    from pyarrow import parquet

    source = str(file.path)
    try:
        with parquet.ParquetFile(source) as stored:
            place = positions(description, source, stored.schema_arrow.names, problems)
            n_read = 0
            for batch in stored.iter_batches(chunk_size(len(place)), columns=list(place)):
                if most is not None:
                    batch = batch.slice(0, most - n_read)
                if not batch.num_rows:
                    return
                cells = {name: batch.column(name) for name in place}
                columns = convert_columns(description, source, cells)
                for name in _copied_times(description, cells):
                    texts = cells_of(columns[name])
                    columns[name] = [text if text is None else f"{text}Z" for text in texts]
                lines = range(n_read + 1, n_read + batch.num_rows + 1)
                n_read += batch.num_rows
                share = n_read / stored.metadata.num_rows
                yield RawTable(source, columns, lines, "record", share)
    except pyarrow.ArrowException as error:
        raise unreadable_error(description, source, error) from error


def _copied_times(description: AnyDescription, cells: Mapping[str, Any]) -> list[str]:
    """Return the names of the copied columns that contain times with a zone.

    Copied columns are not encoded. Their times are converted to UTC, which the caller marks with a
    Z.
    """
    if not isinstance(description, Unlabelled):
        return []
    domain = description.domain
    copied = set(description.copied) - {*domain.names, domain.label.column}
    return [name for name in copied if getattr(cells[name].type, "tz", None)]


def sniff(path: Path, header: bool, sheet: str) -> Format:
    """Detect the format of a Parquet file, including the names of its columns."""
    from pyarrow.types import is_nested

    schema = schema_of(path)
    twice = [name for name, count in Counter(schema.names).items() if count > 1]
    if twice:
        raise DatasetError(f"{path} has several columns named {twice[0]!r}: rename them")
    if "" in schema.names:
        raise DatasetError(
            f"{path}: its column {schema.names.index('') + 1} has no name: give it one"
        )
    nested = tuple(field.name for field in schema if is_nested(field.type))
    plain = tuple(name for name in schema.names if name not in nested)
    return Format({"kind": PARQUET}, plain, plain, nested)


def open_file(wanted: Unlabelled, path: Path, layout: Layout) -> UnlabelledFile:
    """Open a file of unlabelled records, and find the columns of the domain by name."""
    ignored = find_unused(wanted, schema_of(path).names)
    return UnlabelledFile(wanted, ignored, partial(read, wanted, RawFile(path)))


KIND = FileKind(
    PARQUET,
    read,
    keys=("header",),
    suffixes=(".parquet",),
    has_content=is_parquet,
    is_distinct=True,
    sniff=sniff,
    open=open_file,
)
