"""Files of cells: facts beside the rows, and reading shard by shard."""

import math

import pytest

from privcurve.experiments import results


def row(setting, fold="1/1", epsilon=1.0):
    return {"epsilon": epsilon, "setting": setting, "fold": fold, "repeat": 0, "accuracy": 0.5}


def key(setting, fold="1/1", epsilon="1"):
    return (epsilon, setting, fold, 0)


def write(folder, *shards):
    for shard, settings in enumerate(shards):
        path = results.shard_path(folder, shard, len(shards))
        results.write_cells([row(s) for s in settings], path)


def test_facts_are_kept_beside_the_rows(tmp_path):
    path = tmp_path / "cells.parquet"
    results.write_cells([row("a"), row("b", epsilon=math.inf)], path, {"trained": 2})
    assert results.read_facts(path) == {"trained": 2, "rows": 2}
    assert list(results.read_cells([path]).columns) == results.SCHEMA.names


def test_there_are_no_facts_of_a_file_that_cannot_be_read(tmp_path):
    assert results.read_facts(tmp_path / "none.parquet") is None
    (tmp_path / "half.parquet").write_bytes(b"PAR1 and no more")
    assert results.read_facts(tmp_path / "half.parquet") is None


def test_a_file_of_an_earlier_version_has_its_rows(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.Table.from_pylist([row("a")], results.SCHEMA), tmp_path / "old.parquet")
    assert results.read_facts(tmp_path / "old.parquet") == {"rows": 1}


def test_shards_come_one_by_one_with_the_columns_asked_for(tmp_path):
    write(tmp_path, "ab", "", "c")
    asked = ["ab", "", "c"]
    parts = list(
        results.read_shards(tmp_path, 3, ["accuracy"], lambda shard: map(key, asked[shard]))
    )
    assert [list(part["setting"]) for part in parts] == [["a", "b"], [], ["c"]]
    assert set(parts[0].columns) == {"accuracy", *results.KEY_COLUMNS}


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ("abc", "shard~0-of-1.parquet: 1 cells are missing: ε=1 c fold 1/1"),
        ("a", "does not ask for, such as ε=1 b fold 1/1"),
    ],
)
def test_a_shard_with_other_cells_than_asked_for_is_refused(tmp_path, asked, says):
    write(tmp_path, "ab")
    with pytest.raises(results.IncompleteError, match=says):
        list(results.read_shards(tmp_path, 1, [], lambda shard: map(key, asked)))
