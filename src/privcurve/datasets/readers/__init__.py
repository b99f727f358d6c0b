"""Read raw files into named columns, a piece at a time, remembering where each record stands."""

from __future__ import annotations

import csv
import gzip
import zlib
from collections.abc import Iterator
from importlib import import_module

from privcurve.datasets.description import Description
from privcurve.datasets.errors import Problems
from privcurve.datasets.fetch import RawFile
from privcurve.datasets.readers.table import RawTable, unreadable

# What reading a file raises that is not what it should be. A UnicodeDecodeError is a ValueError.
DAMAGED = (ValueError, csv.Error, gzip.BadGzipFile, zlib.error, EOFError)


def read(
    description: Description, file: RawFile | None, problems: Problems, most: int | None = None
) -> Iterator[RawTable]:
    """Read one raw file, a piece at a time; None is a dataset that needs no file.

    Records that can't be read are left out, and `problems` is told of them; reading ends where
    that is full, or after `most` records. If the file as a whole can't be read, a `DatasetError`
    names file and fix.
    """
    if file is None:
        from privcurve.datasets.readers import builtin

        table = builtin.made(description)
        yield table if most is None else table.head(most)
        return
    reader = import_module(f"{__name__}.{description.parser.kind}")
    try:
        yield from reader.read(description, file, problems, most)
    except DAMAGED as error:
        raise unreadable(description, file.path, error) from error
