"""Files of cells: one row a cell, fixed columns, Parquet, never half a file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from privcurve.files import replace_file

SCHEMA = pa.schema(
    [
        ("id", pa.string()),
        ("dataset", pa.string()),
        ("arm", pa.string()),
        ("learner", pa.string()),
        ("calibration", pa.string()),
        ("delta", pa.float64()),
        ("epsilon", pa.float64()),
        ("setting", pa.string()),
        ("fold", pa.string()),
        ("repeat", pa.int64()),
        ("neighbours", pa.string()),
        ("epsilon_spent", pa.float64()),
        ("accuracy", pa.float64()),
        ("balanced_accuracy", pa.float64()),
        ("auc", pa.float64()),
        ("log_loss", pa.float64()),
        ("train_accuracy", pa.float64()),
        ("n_train", pa.int64()),
        ("n_features_used", pa.int64()),
        ("fit_seconds", pa.float64()),
        ("status", pa.string()),
        ("error", pa.string()),
        ("version", pa.int64()),
    ]
)


class IncompleteError(RuntimeError):
    """Cells that an aggregation needs are not there; the message names some of them."""


def write_cells(rows: Sequence[dict[str, Any]], path: Path) -> None:
    """Write rows of cells to a Parquet file, in the order given."""
    table = pa.Table.from_pylist(list(rows), schema=SCHEMA)
    replace_file(path, lambda temporary: pq.write_table(table, temporary, compression="zstd"))


def read_cells(paths: Iterable[Path], columns: list[str] | None = None) -> Any:
    """Read files of cells into one frame.

    Parameters
    ----------
    paths : iterable of Path
    columns : list of str, optional
        Those to read; all by default.

    Returns
    -------
    pandas.DataFrame
    """
    tables = [pq.read_table(path, columns=columns) for path in paths]
    return pa.concat_tables(tables).to_pandas()


def check_complete(frame: Any, expected: Iterable[tuple[str, str, str, int]], what: str) -> None:
    """Compare the cells that are there with those that must be.

    Parameters
    ----------
    frame : pandas.DataFrame
        With the columns epsilon, setting, fold, repeat.
    expected : iterable of (ε as text, setting, fold, repeat)
    what : str
        What the message calls the collection.

    Raises
    ------
    IncompleteError
        Naming up to five missing cells.
    """
    from privcurve.experiments import canonical

    keys = zip(
        map(canonical.number, frame["epsilon"]),
        frame["setting"],
        frame["fold"],
        map(int, frame["repeat"]),
        strict=True,
    )
    missing = sorted(set(expected) - set(keys))
    if missing:
        named = "; ".join(f"ε={e} {s} fold {f} repeat {r}" for e, s, f, r in missing[:5])
        more = f" and {len(missing) - 5} more" if len(missing) > 5 else ""
        raise IncompleteError(f"{what}: {len(missing)} cells are missing: {named}{more}")
