"""The store: append-only, tolerant of torn lines, twins and strangers."""

import pytest

from privcurve.experiments.store import Store

A, B, C = (letter * 64 for letter in "abc")


def test_what_was_added_is_read(tmp_path):
    with Store(tmp_path / "s") as store:
        store.add(A, {"accuracy": 0.5, "error": None})
        store.add(B, {"accuracy": float("nan"), "epsilon": float("inf")})
    found = Store(tmp_path / "s").read({A, B, C})
    assert set(found) == {A, B}
    assert found[A] == {"accuracy": 0.5, "error": None}
    assert found[B]["epsilon"] == float("inf")


def test_only_what_is_asked_for_is_read(tmp_path):
    with Store(tmp_path) as store:
        store.add(A, {"x": 1})
        store.add(B, {"x": 2})
    assert Store(tmp_path).read({B}) == {B: {"x": 2}}


def test_a_torn_last_line_is_skipped_and_the_rest_is_kept(tmp_path, caplog):
    with Store(tmp_path) as store:
        store.add(A, {"x": 1})
        store.add(B, {"x": 2})
    (path,) = tmp_path.glob("*.jsonl")
    whole = path.read_bytes()
    for cut in range(len(whole.splitlines(keepends=True)[0]) + 1, len(whole) - 1):
        path.write_bytes(whole[:cut])
        assert Store(tmp_path).read({A, B}) == {A: {"x": 1}}
    assert "torn" in caplog.text


def test_writers_never_share_a_file(tmp_path):
    with Store(tmp_path) as one, Store(tmp_path) as twin:
        one.add(A, {"x": 1})
        twin.add(A, {"x": 1})
        twin.add(B, {"x": 2})
    assert len(list(tmp_path.glob("*.jsonl"))) == 2
    assert Store(tmp_path).read({A, B}) == {A: {"x": 1}, B: {"x": 2}}


def test_nothing_is_made_before_the_first_cell(tmp_path):
    with Store(tmp_path / "none") as store:
        assert store.read({A}) == {}
    assert not (tmp_path / "none").exists()


def test_a_cell_that_is_not_written_whole_is_an_error(tmp_path, monkeypatch):
    with Store(tmp_path) as store:
        monkeypatch.setattr("os.write", lambda file, data: len(data) - 1)
        with pytest.raises(OSError, match="disk full"):
            store.add(A, {"x": 1})
