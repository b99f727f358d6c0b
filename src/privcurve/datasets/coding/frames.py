"""Code frames of records without labels as the records that a model was trained on."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from privcurve.coding import Codes, code_type
from privcurve.datasets.coding.coder import Coder
from privcurve.datasets.coding.counts import warnings_of
from privcurve.datasets.description import Description
from privcurve.datasets.domain import Domain
from privcurve.datasets.errors import DatasetError, Problems
from privcurve.datasets.reading import DECIDED, FRAME, RawTable, frame_column, frame_tables
from privcurve.schema import suggestion


def encode_frame(domain: Domain, frame: Any, *, train: bool = False) -> Codes:
    """Code records without labels, as the rows that a model was trained on.

    Parameters
    ----------
    domain : Domain
    frame : DataFrame, mapping of columns or array
        Columns by name, in any order; others are left out. An array has all columns, in the
        order of the domain.
    train : bool
        Whether these records train a model.

    Returns
    -------
    ndarray of shape (n_rows, n_columns), uint8 or uint16
        Values beyond the bounds are clipped; missing values and unknown categories go where
        the domain says.

    Raises
    ------
    DatasetError
        If a column is not there, or values have no code: naming up to twenty of them.

    Warns
    -----
    UserWarning
        If nearly all values of a column lie outside its bounds, or are ``other``; of records that
        train, if more than 5 % of the values lie outside.
    """
    problems = Problems(FRAME, is_file=True)
    coder = Coder(domain, DECIDED, problems)
    n_rows, tables = frame_tables(domain, frame)
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


def persons_of(description: Description, frame: Any) -> list[str]:
    """Return the name of the person of each row, by the unit of a description.

    Raises DatasetError if the frame has no such column, or names nobody in some rows.
    """
    assert description.unit is not None
    name = description.unit.column
    cells, names = frame_column(description.domain, frame, name)
    if cells is None:
        raise DatasetError(
            f"{FRAME} has no column {name!r}, by which the schema tells persons apart (unit)"
            f"{suggestion(name, names)}"
        )
    problems = Problems(FRAME, is_file=True)
    table = RawTable(FRAME, {name: cells}, range(len(cells)), "row")
    persons = Coder(description.domain, DECIDED, problems).name_persons(description, table)
    problems.check()
    return persons
