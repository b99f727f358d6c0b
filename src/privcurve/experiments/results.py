"""Read and write the Parquet files of jobs, which have a row per run and are written atomically.

A row group contains the runs with one name (`Curve.names`): a grid, or fresh trainings.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from privcurve.analysis.measures import MEASURES, NEW
from privcurve.errors import ExpectedError
from privcurve.experiments import canonical
from privcurve.files import replace_file
from privcurve.lazy import pd
from privcurve.stored import COLUMNS, columns_in, spoken_frame, stored

MEMORY = "memory"
SCHEMA = pa.schema(
    [
        ("id", pa.string()),
        ("dataset", pa.string()),
        ("method", pa.string()),
        ("learner", pa.string()),
        ("calibration", pa.string()),
        ("delta", pa.float64()),
        ("epsilon", pa.float64()),
        ("setting", pa.string()),
        ("fold", pa.string()),
        ("repeat", pa.int64()),
        ("neighbours", pa.string()),
        ("epsilon_spent", pa.float64()),
        *((name, pa.float64()) for name in MEASURES),
        ("train_accuracy", pa.float64()),
        ("n_train", pa.int64()),
        ("n_features_used", pa.int64()),
        ("fit_seconds", pa.float64()),
        # Peak memory of the process during the fit, in MiB; null if the system does not report it.
        (MEMORY, pa.float64()),
        ("status", pa.string()),
        ("error", pa.string()),
        ("version", pa.int64()),
        # The learner's attribute `measures_` as JSON: a mapping of names to numbers.
        ("measures", pa.string()),
    ]
)
# Columns that identify a run of one method on one dataset. A `Key` contains their values in this
# order, with ε as text.
KEY_COLUMNS = ["epsilon", "setting", "fold", "repeat"]
Key = tuple[str, str, str, int]

# Key in a file's metadata under which :func:`write` stores its argument `facts`.
FACTS = b"privcurve"

_AGAIN = "run the same command again. Finished trainings are kept."
ANEW = f"delete it and {_AGAIN}"


class IncompleteError(ExpectedError, RuntimeError):
    """Runs that a table or a selection needs are missing; the message names some of them."""


def table(rows: Sequence[Mapping[str, object]]) -> pa.Table:
    """Return runs as a table with the columns of `SCHEMA`; values that a row lacks are null."""
    named = ({key: stored(row[key]) for key in COLUMNS if key in row} for row in rows)
    both = zip(rows, named, strict=True)
    return pa.Table.from_pylist([{**row, **words} for row, words in both], SCHEMA)


def write(
    path: Path, tables: Iterable[pa.Table], facts: Sequence[Mapping[str, object]] = ()
) -> None:
    """Write the file of a job, with a row group for each of `tables` (:func:`table`).

    `facts` has a mapping (plain JSON) for each table, which says what produced its rows. It is
    stored in the file's metadata, so that it can be read without the rows.
    """
    schema = SCHEMA.with_metadata({FACTS: json.dumps(list(facts))})

    def write_tables(temporary: Path) -> None:
        # A loss of power may leave a page of zeros. Without page checksums, a reader would take the
        # zeros for results.
        with pq.ParquetWriter(
            temporary, schema, compression="zstd", write_page_checksum=True
        ) as file:
            for of_name in tables:
                file.write_table(of_name, row_group_size=max(1, of_name.num_rows))

    replace_file(path, write_tables)


def read_facts(path: Path) -> list[dict[str, Any]] | None:
    """Return the `facts` of :func:`write`, each with the number of ``rows`` of its row group.

    The result is None if the file is unreadable.
    """
    try:
        state = path.stat()
    except OSError:
        return None
    return _read_facts(path.absolute(), state.st_ino, state.st_mtime_ns, state.st_size)


# The cache is for the workflow, which reads the same metadata several times to build the DAG.
@cache
def _read_facts(path: Path, *state: int) -> list[dict[str, Any]] | None:
    try:
        metadata = pq.read_metadata(path)
        facts = json.loads((metadata.metadata or {}).get(FACTS, b"[]"))
        n_rows = [metadata.row_group(k).num_rows for k in range(metadata.num_row_groups)]
        return [{**fact, "rows": rows} for fact, rows in zip(facts, n_rows, strict=True)]
    except (OSError, pa.ArrowInvalid, ValueError, TypeError):
        return None


def read_rows(path: Path, place: int, columns: list[str]) -> pd.DataFrame:
    """Return the columns `columns` of the row group number `place` (from 0) of a job's file.

    Columns that earlier versions did not write are NaN. Raises IncompleteError if the file is
    damaged.
    """
    try:
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            # `read_row_group` silently drops names that a damaged file lacks, but `select` raises
            # KeyError.
            there = file.schema_arrow.names
            wanted = columns_in(columns, there)
            later = [name for name in wanted if name not in there]
            if not {*later} <= {*NEW, MEMORY}:
                raise KeyError(later[0])
            old = [name for name in wanted if name not in later]
            table = file.read_row_group(place, columns=old).select(old)
            frame = table.to_pandas().assign(**dict.fromkeys(later, np.nan))
            return spoken_frame(frame[wanted])
    except (FileNotFoundError, PermissionError):
        raise
    except (OSError, pa.ArrowInvalid, KeyError) as error:
        raise unusable_file(path) from error


def unusable_file(path: Path) -> IncompleteError:
    """Return the error that says whether a file of runs is missing or damaged, with the remedy."""
    if not path.exists():
        return IncompleteError(f"{path} is missing; {_AGAIN}")
    return IncompleteError(f"{path} is damaged; {ANEW}")


def check_complete(frame: pd.DataFrame, expected: Iterable[Key], what: str) -> None:
    """Raise IncompleteError unless `frame` has exactly the runs `expected`.

    `what` names the runs or their file in the message.
    """
    epsilons, repeats = map(canonical.number, frame["epsilon"]), map(int, frame["repeat"])
    rows = set(zip(epsilons, frame["setting"], frame["fold"], repeats, strict=True))
    due = set(expected)
    wrong = {"missing": due - rows, "not requested": rows - due}
    for how, runs in wrong.items():
        if runs:
            epsilon, setting, fold, repeat = min(runs)
            first = f"ε = {epsilon}, {setting}, fold {fold}, repeat {repeat}"
            raise IncompleteError(f"{what}: {len(runs)} runs are {how}, such as {first}; {ANEW}")
