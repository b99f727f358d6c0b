"""Records without labels, as frames hold them: coded as those that a model was trained on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from privcurve.coding import Codes, code_type
from privcurve.datasets.columns import Column
from privcurve.datasets.encode import encode_columns
from privcurve.datasets.errors import DatasetError
from privcurve.datasets.problems import Problems
from privcurve.datasets.readers.arrow import as_read
from privcurve.datasets.readers.table import RawTable, at_once, lacking

if TYPE_CHECKING:
    from privcurve.datasets.domain import Domain

# Where a value's fate is decided, for messages that end so.
DECIDED = "the description, and train again"
FRAME = "the frame"


@dataclass(frozen=True)
class Decided:
    """A domain, where messages would name a description."""

    domain: Domain
    path: str = DECIDED


def encode_frame(domain: Domain, frame: Any) -> Codes:
    """Code a frame: see :meth:`privcurve.datasets.domain.Domain.encode`."""
    problems = Problems(FRAME, is_file=True)
    if isinstance(frame, RawTable):
        codes = encode_columns(Decided(domain), frame, problems)[0]
        problems.check()
        return codes
    columns = _columns(domain, frame)
    n_rows = len(columns[domain.names[0]])
    found: Any = np.empty((n_rows, len(domain.columns)), dtype=code_type(domain.n_bins))
    start = 0
    for table in _tables(domain, columns, n_rows):
        stop = start + len(table.lines)
        found[start:stop] = encode_columns(Decided(domain), table, problems)[0]
        if problems.full:
            break
        start = stop
    problems.check()
    return np.asarray(found)


def _columns(domain: Domain, frame: Any) -> dict[str, Any]:
    """Give the columns of the domain, each as an Arrow array."""
    if isinstance(frame, np.ndarray) or (
        not isinstance(frame, Mapping) and not hasattr(frame, "columns")
    ):
        given = np.asarray(frame)
        if given.ndim != 2 or given.shape[1] != len(domain.columns):
            raise DatasetError(
                f"an array of shape {given.shape} does not have the {len(domain.columns)} columns "
                f"of the domain: give them in its order, {', '.join(domain.names)}; or a frame"
            )
        frame = dict(zip(domain.names, given.T, strict=True))
    keys = list(frame if isinstance(frame, Mapping) else _names(frame))
    fields = list(map(str, keys))
    fault = lacking(domain, FRAME, fields)
    if fault is not None:
        raise fault
    key_of = dict(zip(fields, keys, strict=True))
    columns = {name: _arrow(name, frame[key_of[name]]) for name in domain.names}
    if len(set(map(len, columns.values()))) > 1:
        raise DatasetError(f"the columns of {FRAME} have different lengths")
    return columns


def _names(frame: Any) -> Any:
    import pyarrow

    return frame.column_names if isinstance(frame, pyarrow.Table) else frame.columns


def _arrow(name: str, values: Any) -> Any:
    import pyarrow

    # Arrow takes no bytes in another order, and no array in steps.
    given = np.ascontiguousarray(values) if isinstance(values, np.ndarray) else values
    if isinstance(given, pyarrow.ChunkedArray):
        return given.combine_chunks()
    try:
        found = pyarrow.array(given, from_pandas=True)
    except (pyarrow.ArrowException, TypeError, ValueError):
        # Values of several types: as they are written.
        try:
            found = pyarrow.array([None if _is_absent(v) else str(v) for v in given])
        except (pyarrow.ArrowException, TypeError, ValueError) as error:
            raise DatasetError(f"{name!r} of {FRAME} is no column: {error}") from None
    return found.combine_chunks() if isinstance(found, pyarrow.ChunkedArray) else found


def _is_absent(value: Any) -> bool:
    try:
        return value is None or bool(value != value)
    except TypeError:  # what pandas.NA says to a question for yes or no
        return True


def _tables(domain: Domain, columns: Mapping[str, Any], n_rows: int) -> Iterator[RawTable]:
    step = at_once(len(columns))
    for start in range(0, n_rows, step):
        stop = min(start + step, n_rows)
        pieces = {
            column.name: _raw(domain, column, columns[column.name][start:stop])
            for column in domain.columns
        }
        yield RawTable(FRAME, pieces, range(start, stop), "row")


def _raw(domain: Domain, column: Column, values: Any) -> Any:
    import pyarrow

    try:
        return as_read(values, domain, column)
    except (pyarrow.ArrowException, TypeError) as error:
        raise DatasetError(
            f"{column.name!r} of {FRAME} is of the type {values.type}, of which no column can be "
            f"made ({str(error).splitlines()[0]})"
        ) from None
