"""Read rows from Python: the names of columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

# Queries (of polars, DuckDB, Spark, Dask, Arrow, Ibis) have such methods, which make a table.
_QUERIES = ("toPandas", "collect", "df", "compute", "to_table", "read_all", "execute")


def column_names(rows: Any) -> list[Any]:
    """Return the names of the columns of a frame, a mapping or a structured array; else none.

    Raises ValueError for a query that has not run.
    """
    # A sparse array of SciPy may be a mapping of places to values.
    if isinstance(rows, Mapping) and not hasattr(rows, "shape"):
        return list(rows)
    if isinstance(rows, np.ndarray):
        return list(rows.dtype.names or ())
    if method := next((name for name in _QUERIES if hasattr(type(rows), name)), None):
        raise ValueError(
            f"rows must be in memory; got a {type(rows).__name__}, which is a query: give its "
            f"table, .{method}()"
        )
    # An Arrow table has the values in `columns`.
    is_arrow = hasattr(type(rows), "column_names")
    return list(rows.column_names if is_arrow else getattr(rows, "columns", ()))
