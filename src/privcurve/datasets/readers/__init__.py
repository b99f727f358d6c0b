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
    """Read one raw file.

    Parameters
    ----------
    description : Description
    file : RawFile, optional
        None for a dataset that is embedded in scikit-learn or generated.
    problems : Problems
        Is told of records that can't be read; they are left out. Reading ends where it is full.
    most : int, optional
        How many records are read; what follows is not looked at.

    Yields
    ------
    RawTable
        Some records; :func:`privcurve.datasets.readers.table.at_once` says how many.

    Raises
    ------
    DatasetError
        If the file as a whole can't be read, naming file and fix.
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
