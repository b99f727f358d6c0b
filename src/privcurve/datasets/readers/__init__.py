"""Read raw files into named columns, a piece at a time, remembering where each record stands."""

from __future__ import annotations

import csv
import gzip
import zlib
from collections.abc import Iterator

from privcurve.datasets.description import EXCEL, IDX, LIBSVM, Description
from privcurve.datasets.fetch import RawFile
from privcurve.datasets.problems import Problems
from privcurve.datasets.readers.table import RawTable, unreadable


def read(description: Description, file: RawFile, problems: Problems) -> Iterator[RawTable]:
    """Read one raw file.

    Parameters
    ----------
    description : Description
    file : RawFile
    problems : Problems
        Is told of records that can't be read; they are left out. Reading ends where it is full.

    Yields
    ------
    RawTable
        Some records; :func:`privcurve.datasets.readers.table.at_once` says how many.

    Raises
    ------
    DatasetError
        If the file as a whole can't be read, naming file and fix.
    """
    kind = description.parser.kind
    if kind == LIBSVM:
        from privcurve.datasets.readers.libsvm import read as read_file
    elif kind == EXCEL:
        from privcurve.datasets.readers.excel import read as read_file
    elif kind == IDX:
        from privcurve.datasets.readers.idx import read as read_file
    else:
        from privcurve.datasets.readers.delimited import read as read_file
    try:
        yield from read_file(description, file, problems)
    except (ValueError, csv.Error, gzip.BadGzipFile, zlib.error, EOFError) as error:
        # A UnicodeDecodeError is a ValueError.
        raise unreadable(description, file.path, error) from error


def made(description: Description) -> RawTable:
    """Give a dataset that has no files: it is embedded in scikit-learn, or generated."""
    from privcurve.datasets.description import SKLEARN
    from privcurve.datasets.readers import builtin

    if description.parser.kind == SKLEARN:
        return builtin.embedded(description)
    return builtin.generated(description)
