"""Files of cells: one row a cell, fixed columns, Parquet, never half a file."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from privcurve.experiments import arrow, canonical
from privcurve.files import replace_file

if TYPE_CHECKING:
    from privcurve.experiments.arms import Point
    from privcurve.experiments.splits import Split

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
        # What a learner measured of itself, as JSON: a mapping of names to numbers.
        ("measures", pa.string()),
    ]
)
# Files of earlier versions have all columns but these: they read as null.
LATER = ("measures",)

# What tells a cell from the others of its arm and dataset, and the texts that stand for it.
KEY_COLUMNS = ["epsilon", "setting", "fold", "repeat"]
Key = tuple[str, str, str, int]

# Where a file's schema keeps its facts.
FACTS = b"privcurve"

_AGAIN = "run the same command again. What is trained is kept."
_ANEW = f"delete it and {_AGAIN}"


class IncompleteError(RuntimeError):
    """Cells that an aggregation needs are not there; the message names some of them."""


def shard_path(folder: Path, shard: int, shards: int) -> Path:
    """Return the file of one shard in the folder of an arm's cross-validation."""
    return folder / f"shard~{shard}-of-{shards}.parquet"


def write_cells(
    rows: Sequence[dict[str, Any]], path: Path, facts: Mapping[str, Any] | None = None
) -> None:
    """Write rows of cells to a Parquet file, in the order given.

    Parameters
    ----------
    rows : sequence of dict
    path : Path
    facts : mapping, optional
        What is to be known of the job without reading rows (:func:`read_facts`); plain JSON.
    """
    schema = SCHEMA.with_metadata({FACTS: json.dumps(dict(facts or {}))})
    table = arrow.table(rows, schema)
    # Without checksums a page of zeros, as a loss of power leaves it, may read as numbers.
    write = partial(pq.write_table, table, compression="zstd", write_page_checksum=True)
    replace_file(path, write)


def read_facts(path: Path) -> dict[str, Any] | None:
    """Return the facts that a file of cells was written with, and its number of `rows`."""
    try:
        metadata = pq.read_metadata(path)
        facts = json.loads((metadata.metadata or {}).get(FACTS, b"{}"))
    except (OSError, pa.ArrowInvalid, ValueError):
        return None
    return {**facts, "rows": metadata.num_rows}


def is_current(path: Path, digest: str, checksum: str | None) -> bool:
    """Whether a file of cells can be read and is of what is asked for now.

    Parameters
    ----------
    path : Path
    digest : str
        Of what its job is asked for.
    checksum : str or None
        Of the coded dataset; None if there is none, and any is good.

    Returns
    -------
    bool
    """
    return facts_are_current(read_facts(path), digest, checksum)


def is_done(path: Path, digest: str, checksum: str | None) -> bool:
    """Whether a file of cells is current, and none of its trainings failed (:func:`is_current`)."""
    facts = read_facts(path)
    return facts_are_current(facts, digest, checksum) and not (facts or {}).get("failed")


def facts_are_current(facts: Mapping[str, Any] | None, digest: str, checksum: str | None) -> bool:
    """As :func:`is_current`, of what :func:`read_facts` gave."""
    return (
        facts is not None
        and facts.get("digest") == digest
        and checksum in (None, facts.get("checksum"))
    )


def check_current(path: Path, digest: str, checksum: str | None) -> None:
    """Refuse a file of cells that is not of what is asked for now.

    Snakemake sees by its own record of a file that a job has other parameters. A file without
    such a record must tell it itself.

    Parameters
    ----------
    path : Path
    digest : str
    checksum : str or None
        See :func:`is_current`.

    Raises
    ------
    IncompleteError
        Naming the file.
    """
    if is_current(path, digest, checksum):
        return
    if not path.exists():
        raise IncompleteError(f"{path} is missing; {_AGAIN}")
    if read_facts(path) is None:
        raise _damaged(path)
    raise IncompleteError(
        f"{path} was made for another study, seed, dataset or version of a learner than is asked "
        f"for now; {_ANEW}"
    )


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

    Raises
    ------
    IncompleteError
        If a file is damaged.
    """
    return pa.concat_tables([_read(path, columns) for path in paths]).to_pandas()


def _read(path: Path, columns: list[str] | None) -> Any:
    try:
        wanted = columns or SCHEMA.names
        lacks = [name for name in LATER if name in wanted and _is_earlier(path)]
        there = [name for name in wanted if name not in lacks]
        table = pq.read_table(path, columns=there, page_checksum_verification=True)
        for name in lacks:
            nulls = pa.nulls(table.num_rows, SCHEMA.field(name).type)
            table = table.append_column(name, nulls)
        # A column that a damaged footer does not know is left out without a word.
        return table.select(wanted)
    except (FileNotFoundError, PermissionError):
        raise
    except (OSError, pa.ArrowInvalid, KeyError) as error:
        raise _damaged(path) from error


def _is_earlier(path: Path) -> bool:
    return list(pq.read_schema(path).names) == [n for n in SCHEMA.names if n not in LATER]


def _damaged(path: Path) -> IncompleteError:
    return IncompleteError(f"{path} is damaged; {_ANEW}")


def read_shards(
    path_of: Callable[[int], Path],
    shards: Iterable[int],
    columns: list[str],
    digest: Callable[[int], str],
    checksum: str | None,
    asked: Callable[[int], Iterable[Key]],
) -> Iterator[Any]:
    """Read the cross-validation of an arm on a dataset, one shard at a time."""
    for shard in shards:
        path = path_of(shard)
        check_current(path, digest(shard), checksum)
        frame = read_cells([path], list(dict.fromkeys([*columns, *KEY_COLUMNS])))
        check_complete(frame, asked(shard), str(path))
        yield frame


def expected_keys(tasks: Iterable[tuple[Point, Split]]) -> list[Key]:
    """Return the keys that the rows of some tasks must have."""
    return [
        (canonical.number(point.epsilon), point.text, split.fold, split.repeat)
        for point, split in tasks
    ]


def check_complete(frame: Any, expected: Iterable[Key], what: str) -> None:
    """Compare the cells that are there with those that must be, no fewer and no others.

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
        Naming up to five missing cells, or one that should not be there.
    """
    keys = zip(
        map(canonical.number, frame["epsilon"]),
        frame["setting"],
        frame["fold"],
        map(int, frame["repeat"]),
        strict=True,
    )
    found, asked = set(keys), set(expected)
    missing = sorted(asked - found)
    if missing:
        named = "; ".join(map(_named, missing[:5]))
        more = f" and {len(missing) - 5} more" if len(missing) > 5 else ""
        raise IncompleteError(f"{what}: {len(missing)} cells are missing: {named}{more}; {_ANEW}")
    if found - asked:
        raise IncompleteError(
            f"{what}: cells that the study does not ask for, such as "
            f"{_named(min(found - asked))}; {_ANEW}"
        )


def _named(key: Key) -> str:
    epsilon, setting, fold, repeat = key
    return f"ε={epsilon} {setting} fold {fold} repeat {repeat}"
