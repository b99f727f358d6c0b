"""Encode the rows of a frame: a DataFrame, an Arrow table, a mapping or an array."""

from __future__ import annotations

import warnings

import numpy as np

from privcurve.coding import Codes, code_type
from privcurve.datasets.coding.coder import Coder
from privcurve.datasets.coding.counts import warnings_of
from privcurve.datasets.description import Description
from privcurve.datasets.domain import Domain
from privcurve.datasets.errors import DatasetError, Problems
from privcurve.datasets.reading import DECIDED, FRAME, RawTable, frame_column, frame_tables
from privcurve.schema import suggestion


def encode_frame(
    domain: Domain, frame: object, *, in_order: bool = True, train: bool = False
) -> Codes:
    """Encode the rows of a frame without labels.

    Parameters
    ----------
    domain : Domain
    frame : DataFrame, Arrow table, mapping of columns or array
        Columns are found by name, in any order; other columns are ignored. An array without names
        must have all columns, in the order of the domain.
    in_order : bool
        Whether rows without column names are allowed if the domain has several columns.
    train : bool
        Whether these records train a model; if so, fewer clipped values suffice for a warning.

    Returns
    -------
    ndarray of shape (n_rows, n_columns), uint8 or uint16
        The bins. Values outside the bounds are clipped; missing values and unknown categories have
        the bins that the domain assigns to them.

    Raises
    ------
    DatasetError
        If a column is missing or has no name, or if values are in no bin; the message names up to
        twenty values.

    Warns
    -----
    UserWarning
        If nearly all values of a column are outside its bounds, or are ``other``; for training
        records, if more than 5 % of the values of a column are outside its bounds.
    """
    problems = Problems(FRAME, is_file=True)
    coder = Coder(domain, DECIDED, problems)
    n_rows, tables = frame_tables(domain, frame, in_order)
    codes = np.empty((n_rows, len(domain.columns)), dtype=code_type(domain.n_bins))
    start = 0
    for table in tables:
        stop = start + len(table.lines)
        codes[start:stop] = coder.code_columns(table)
        if problems.full:
            break
        start = stop
    problems.check()
    for warning in warnings_of(coder.counts, train):
        warnings.warn(warning, stacklevel=3)
    return codes


def persons_of(description: Description, frame: object) -> list[str]:
    """Return the name of the person of each row, from the column of persons (``unit.column``).

    Raises DatasetError if the frame lacks this column, or if a cell of the column is empty.
    """
    assert description.unit is not None
    name = description.unit.column
    cells, names = frame_column(description.domain, frame, name)
    if cells is None:
        raise DatasetError(
            f"{FRAME} must have the column {name!r}, the schema's unit, which identifies "
            f"persons{suggestion(name, names)}"
        )
    problems = Problems(FRAME, is_file=True)
    table = RawTable(FRAME, {name: cells}, range(len(cells)), "row")
    persons = Coder(description.domain, DECIDED, problems).name_persons(description, table)
    problems.check()
    return persons
