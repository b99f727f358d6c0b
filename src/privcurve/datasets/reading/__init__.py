"""Reading: convert the bytes of a file, or a frame, to named columns, in pieces.

:func:`read` reads a file of a dataset, :func:`open_unlabelled` a file for prediction, and
:func:`frame_tables` a frame; each piece is a :class:`RawTable`. :func:`sniff` detects the format of
a table, and :func:`fetch` gets the files of a dataset.
"""

from __future__ import annotations

from collections.abc import Iterator

from privcurve import extras
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
from privcurve.datasets.reading.delimited import is_plain_text
from privcurve.datasets.reading.downloads import RawFile, fetch, sha256_of
from privcurve.datasets.reading.formats import (
    BY_FILE,
    BY_LINE,
    BY_NUMBER,
    ENCODINGS,
    Format,
    file_kind_names,
    kind_names,
    kinds,
    sniff,
)
from privcurve.datasets.reading.frames import FRAME, arrow_table, frame_column, frame_tables
from privcurve.datasets.reading.table import (
    DECIDED,
    READ_ERRORS,
    Layout,
    RawTable,
    Unlabelled,
    UnlabelledFile,
    list_names,
    unreadable_error,
)
from privcurve.datasets.reading.unlabelled import open_unlabelled


def read(
    description: Description, file: RawFile | None, problems: Problems, most: int | None = None
) -> Iterator[RawTable]:
    """Read one raw file in pieces; `file` is None for a dataset without files.

    Unreadable records are left out, and become faults in `problems`. Reading ends when `problems`
    is full, or after `most` records. Raises DatasetError, with the file and the remedy, if the file
    cannot be read at all.
    """
    kind = kinds()[description.parser.kind]
    if kind.package is not None:
        extras.check(kind.package, f"kind: {kind.name}")
    try:
        yield from kind.read(description, file, problems, most)
    except READ_ERRORS as error:
        source = description.path if file is None else file.path
        raise unreadable_error(description, source, error) from error
