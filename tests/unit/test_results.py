"""Files of cells: facts beside the rows, and reading shard by shard."""

import math
import random

import pytest

from privcurve.experiments import results


def row(setting, fold="1/1", epsilon=1.0):
    return {"epsilon": epsilon, "setting": setting, "fold": fold, "repeat": 0, "accuracy": 0.5}


def key(setting, fold="1/1", epsilon="1"):
    return (epsilon, setting, fold, 0)


def write(folder, *shards):
    for shard, settings in enumerate(shards):
        path = results.shard_path(folder, shard, len(shards))
        facts = {"digest": f"d{shard}", "checksum": "c"}
        results.write_cells([row(s) for s in settings], path, facts)


def read(folder, *asked, digest="d{}", checksum="c"):
    """Read shards that were asked for these settings."""
    return list(
        results.read_shards(
            lambda shard: results.shard_path(folder, shard, len(asked)),
            range(len(asked)),
            ["accuracy"],
            digest.format,
            checksum,
            lambda shard: map(key, asked[shard]),
        )
    )


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


def test_a_file_without_the_latest_column_is_read_and_it_is_null(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = results.shard_path(tmp_path, 0, 1)
    names = [name for name in results.SCHEMA.names if name != "measures"]
    facts = {results.FACTS: b'{"digest": "d0", "checksum": "c"}'}
    schema = pa.schema([results.SCHEMA.field(name) for name in names]).with_metadata(facts)
    pq.write_table(pa.Table.from_pylist([row("a")], schema=schema), path)
    assert results.is_current(path, "d0", "c")
    (frame,) = read(tmp_path, "a")
    assert len(frame) == 1
    assert list(results.read_cells([path]).columns) == results.SCHEMA.names
    for columns in (None, ["epsilon", "measures"]):
        assert results.read_cells([path], columns)["measures"].isna().all()
    # A file that has lost another column is not an earlier one.
    pq.write_table(pa.Table.from_pylist([row("a")], schema=schema).drop(["auc"]), path)
    with pytest.raises(results.IncompleteError, match="is damaged"):
        results.read_cells([path])


def test_shards_come_one_by_one_with_the_columns_asked_for(tmp_path):
    write(tmp_path, "ab", "", "c")
    parts = read(tmp_path, "ab", "", "c")
    assert [list(part["setting"]) for part in parts] == [["a", "b"], [], ["c"]]
    assert set(parts[0].columns) == {"accuracy", *results.KEY_COLUMNS}


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ("abc", "shard~0-of-1.parquet: 1 cells are missing: ε=1 c fold 1/1 repeat 0; delete it"),
        ("a", "does not ask for, such as ε=1 b fold 1/1 repeat 0; delete it"),
    ],
)
def test_a_shard_with_other_cells_than_asked_for_is_refused(tmp_path, asked, says):
    write(tmp_path, "ab")
    with pytest.raises(results.IncompleteError, match=says):
        read(tmp_path, asked)


@pytest.mark.parametrize("other", [{"digest": "e{}"}, {"checksum": "d"}])
def test_a_shard_that_was_made_for_something_else_is_refused(tmp_path, other):
    write(tmp_path, "a", "b")
    with pytest.raises(
        results.IncompleteError,
        match=r"shard~0-of-2.parquet was made for another study, seed, .*; delete it and run",
    ):
        read(tmp_path, "a", "b", **other)


def test_a_shard_that_is_not_there_is_named(tmp_path):
    write(tmp_path, "a", "b")
    results.shard_path(tmp_path, 1, 2).unlink()
    with pytest.raises(results.IncompleteError, match=r"shard~1-of-2.parquet is missing"):
        read(tmp_path, "a", "b")


def test_whether_a_file_is_of_what_is_asked_for(tmp_path):
    path = results.shard_path(tmp_path, 0, 1)
    assert not results.is_current(path, "d0", None)
    write(tmp_path, "a")
    assert results.is_current(path, "d0", "c")
    assert results.is_current(path, "d0", None)
    assert not results.is_current(path, "d0", "d")
    assert not results.is_current(path, "d1", "c")
    # Files of earlier versions do not say what they are.
    results.write_cells([row("a")], path)
    assert not results.is_current(path, "d0", None)


@pytest.mark.parametrize("page", [64, 512, 4096])
@pytest.mark.parametrize("fill", [b"\0", b"\xff"])
def test_damage_is_named_wherever_it_is(tmp_path, page, fill):
    """Of accuracies that do not compress, too: they stand in the file as they are."""
    rng = random.Random(0)
    path = tmp_path / "cells.parquet"
    rows = [row("ab"[n % 2], f"{n}/900") | {"accuracy": rng.random()} for n in range(900)]
    results.write_cells(rows, path, {"digest": "d"})
    whole, bytes_ = results.read_cells([path]), path.read_bytes()
    said = []
    for start in range(0, len(bytes_), page // 2):
        hole = len(bytes_[start : start + page])
        path.write_bytes(bytes_[:start] + fill * hole + bytes_[start + hole :])
        # Without its digest a file is of nothing that may be asked for.
        known = ({"digest": "d", "rows": 900}, {"rows": 900}, None)
        assert results.read_facts(path) in known
        try:
            assert results.read_cells([path]).equals(whole)
        except results.IncompleteError as error:
            said.append(str(error))
    assert set(said) == {
        f"{path} is damaged; delete it and run the same command again. What is trained is kept."
    }
    # Where nobody looks, there is little.
    assert len(said) > 0.9 * len(range(0, len(bytes_), page // 2))


@pytest.mark.parametrize("size", [0, 3, 1000, -1])
def test_a_file_that_was_cut_is_named(tmp_path, size):
    path = results.shard_path(tmp_path, 0, 1)
    write(tmp_path, "ab")
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(results.IncompleteError, match=r"shard~0-of-1.parquet is damaged"):
        read(tmp_path, "ab")
