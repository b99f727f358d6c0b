"""Reading: from the bytes of a file, or from a frame, to named columns, in pieces.

:func:`read` reads a file of a dataset, :func:`open_unlabelled` a file for prediction, and
:func:`frame_tables` a frame; all of them yield pieces as :class:`RawTable`. :func:`sniff` detects
the format of a table, and :func:`fetch` gets the files of a dataset.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module

from privcurve.datasets.description import Description
from privcurve.datasets.errors import Problems
from privcurve.datasets.reading.cells import (
    TRUTHS,
    cells_of,
    clock_of_utc,
    convert_cells,
    count_cells,
    list_cells,
    text_of,
)
from privcurve.datasets.reading.downloads import RawFile, fetch, sha256_of
from privcurve.datasets.reading.formats import ENCODINGS, Format, is_plain_text, sniff
from privcurve.datasets.reading.frames import FRAME, arrow_table, frame_column, frame_tables
from privcurve.datasets.reading.table import (
    DECIDED,
    READ_ERRORS,
    RawTable,
    Unlabelled,
    list_names,
    unreadable_error,
)
from privcurve.datasets.reading.unlabelled import Layout, UnlabelledFile, open_unlabelled


def read(
    description: Description, file: RawFile | None, problems: Problems, most: int | None = None
) -> Iterator[RawTable]:
    """Read one raw file in pieces; for a dataset without files, `file` is None.

    Unreadable records are left out, and become faults in `problems`. Reading ends when `problems`
    is full, or after `most` records. If the file as a whole is unreadable, a DatasetError names the
    file and the remedy.
    """
    if file is None:
        from privcurve.datasets.reading import builtin

        table = builtin.make(description)
        yield table if most is None else table.head(most)
        return
    reader = import_module(f"{__name__}.{description.parser.kind}")
    try:
        yield from reader.read(description, file, problems, most)
    except READ_ERRORS as error:
        raise unreadable_error(description, file.path, error) from error
