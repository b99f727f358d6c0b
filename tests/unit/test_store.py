"""The store: append-only, tolerant of torn lines, duplicates and foreign files."""

import errno
import itertools
import json
import logging
import os
import zlib

import pytest

from privcurve.experiments.store import Store

A, B, C = (letter * 64 for letter in "abc")


def results_of(folder, ids):
    """Read the results of some runs, trained by any code."""
    return {name: one.result for name, one in Store(folder).read(ids).items()}


def lines(*ids):
    """Return the lines of a store, as a writer has left them."""
    return [line(name, {"x": n}, "c0de") for n, name in enumerate(ids, start=1)]


def line(run_id, result, code):
    """Return a line of the store; earlier versions wrote no code."""
    content = {"id": run_id, "result": result, **({"code": code} if code else {})}
    text = json.dumps(content, separators=(",", ":")).removesuffix("}").encode()
    return text + b',"crc":"%08x"}\n' % zlib.crc32(text)


def test_added_results_are_read(tmp_path):
    with Store(tmp_path / "s") as store:
        store.add(A, {"accuracy": 0.5, "error": None}, "c0de")
        store.add(B, {"accuracy": float("nan"), "epsilon": float("inf")}, "c0de")
    results = results_of(tmp_path / "s", {A, B, C})
    assert set(results) == {A, B}
    assert results[A] == {"accuracy": 0.5, "error": None}
    assert results[B]["epsilon"] == float("inf")
    assert list(Store(tmp_path / "s").ids()) == [A, B]


def test_only_requested_results_are_read(tmp_path):
    with Store(tmp_path) as store:
        store.add(A, {"x": 1}, "c0de")
        store.add(B, {"x": 2}, "c0de")
    assert results_of(tmp_path, {B}) == {B: {"x": 2}}


def test_a_torn_last_line_is_skipped_and_the_rest_is_kept(tmp_path, caplog):
    caplog.set_level(logging.INFO)
    with Store(tmp_path) as store:
        store.add(A, {"x": 1}, "c0de")
        store.add(B, {"x": 2}, "c0de")
    (path,) = tmp_path.glob("*.jsonl")
    content = path.read_bytes()
    for cut in range(len(content.splitlines(keepends=True)[0]) + 1, len(content) - 1):
        path.write_bytes(content[:cut])
        assert results_of(tmp_path, {A, B}) == {A: {"x": 1}}
        assert list(Store(tmp_path).ids()) == [A]
    assert "torn" in caplog.text


def test_a_last_line_without_its_end_of_line_counts(tmp_path):
    (tmp_path / "x.jsonl").write_bytes(b"".join(lines(A, B)).rstrip(b"\n"))
    assert results_of(tmp_path, {A, B}) == {A: {"x": 1}, B: {"x": 2}}
    assert list(Store(tmp_path).ids()) == [A, B]


@pytest.mark.parametrize("end", [b"", b"\n"])
def test_a_torn_line_in_the_middle_takes_no_other_with_it(tmp_path, end):
    first, torn, last = lines(A, B, C)
    for length in range(len(torn) - 1):
        (tmp_path / "x.jsonl").write_bytes(first + torn[:length] + end + last)
        assert results_of(tmp_path, {A, B, C}) == {A: {"x": 1}, C: {"x": 3}}
        assert list(Store(tmp_path).ids()) == [A, C]


@pytest.mark.parametrize("hole", [b"\0", b"\xff\x00\n", b"\n\n"])
def test_holes_and_garbage_are_skipped(tmp_path, hole):
    for length, place in itertools.product([1, 100, 5000], range(3)):
        written = lines(A, B)
        written.insert(place, hole * length)
        (tmp_path / "x.jsonl").write_bytes(b"".join(written))
        assert results_of(tmp_path, {A, B}) == {A: {"x": 1}, B: {"x": 2}}, (length, place)
        assert list(Store(tmp_path).ids()) == [A, B], (length, place)


def test_a_damaged_id_is_skipped(tmp_path):
    first, hole, last = lines(A, B, C)
    (tmp_path / "x.jsonl").write_bytes(first + hole[:9] + bytes(40) + hole[49:] + last)
    assert results_of(tmp_path, {A, B, C}) == {A: {"x": 1}, C: {"x": 3}}
    assert list(Store(tmp_path).ids()) == [A, C]


def test_a_damaged_result_is_taken_from_another_file(tmp_path):
    content = lines(A)[0]
    (tmp_path / "1.jsonl").write_bytes(content.replace(b'"x":1', b'"x":\0'))
    assert results_of(tmp_path, {A}) == {}
    (tmp_path / "2.jsonl").write_bytes(content)
    assert results_of(tmp_path, {A}) == {A: {"x": 1}}


def test_a_flipped_digit_is_noticed_wherever_it_is(tmp_path, caplog):
    with Store(tmp_path) as store:
        store.add(A, {"accuracy": 0.54, "fit_seconds": 0.001}, "c0de")
        store.add(B, {"accuracy": 0.61, "fit_seconds": 0.002}, "c0de")
    (path,) = tmp_path.glob("*.jsonl")
    content = path.read_bytes()
    n_first = content.index(b"\n")
    for place, byte in enumerate(content[:n_first]):
        for flipped in (byte ^ 1, byte ^ 8):
            caplog.clear()
            path.write_bytes(content[:place] + bytes([flipped]) + content[place + 1 :])
            assert list(Store(tmp_path).ids()) == [B]
            assert results_of(tmp_path, {A, B}) == {B: {"accuracy": 0.61, "fit_seconds": 0.002}}
            assert len(caplog.messages) == 2, "one message for each time that the file is read"
    assert "1 torn or damaged lines were skipped, the first is line 1" in caplog.text


def test_damaged_lines_are_reported_once(tmp_path, caplog):
    with Store(tmp_path) as store:
        for n in range(20):
            store.add(f"{n:064x}", {"x": 7}, "c0de")
    (path,) = tmp_path.glob("*.jsonl")
    path.write_bytes(path.read_bytes().replace(b'"x":7', b'"x":9', 12))
    assert len(list(Store(tmp_path).ids())) == 8
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "12 torn or damaged lines" in caplog.text


def test_the_present_code_takes_precedence_then_the_last(tmp_path):
    for name, code in (("1", "old"), ("2", "new"), ("3", "new"), ("4", "")):
        (tmp_path / f"{name}.jsonl").write_bytes(line(A, {"x": int(name)}, code))

    def read(*current):
        (one,) = Store(tmp_path).read({A}, is_current=lambda _, code: code in current).values()
        return one.result["x"], one.code

    assert read("old") == read("old", "new") == (1, "old")
    # If one code trained a run twice, only the times differ: the first result counts.
    assert read("new") == (2, "new")
    assert read("") == read() == (4, "")
    assert read("old", "") == (1, "old")
    # A result without all scores does not count, whatever its code.
    assert Store(tmp_path).read({A}, scores=("auc",)) == {}


def test_writers_never_share_a_file(tmp_path):
    with Store(tmp_path) as one, Store(tmp_path) as twin:
        one.add(A, {"x": 1}, "c0de")
        twin.add(A, {"x": 1}, "c0de")
        twin.add(B, {"x": 2}, "c0de")
    assert len(list(tmp_path.glob("*.jsonl"))) == 2
    assert results_of(tmp_path, {A, B}) == {A: {"x": 1}, B: {"x": 2}}


def test_nothing_is_made_before_the_first_run(tmp_path):
    with Store(tmp_path / "none") as store:
        assert store.read({A}) == {}
    assert not (tmp_path / "none").exists()


def test_a_short_write_is_continued(tmp_path, monkeypatch):
    write = os.write
    with Store(tmp_path) as store, monkeypatch.context() as patch:
        patch.setattr("os.write", lambda file, data: write(file, data[:7]))
        store.add(A, {"x": 1}, "c0de")
    assert results_of(tmp_path, {A}) == {A: {"x": 1}}


def test_a_full_disk_is_an_error_that_names_the_store_and_leaves_no_half_line(
    tmp_path, monkeypatch
):
    write = os.write

    def write_ten_bytes(file, data):
        if len(data) < len(written):
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(file, data[:10])

    (written,) = lines(B)
    with Store(tmp_path) as store:
        store.add(A, {"x": 1}, "c0de")
        with monkeypatch.context() as patch:
            patch.setattr("os.write", write_ten_bytes)
            with pytest.raises(OSError, match="the disk is full") as caught:
                store.add(B, {"x": 2}, "c0de")
        assert str(tmp_path) in str(caught.value)
        # There is space again, and the same job continues.
        store.add(C, {"x": 3}, "c0de")
    (path,) = tmp_path.glob("*.jsonl")
    assert path.read_bytes().count(b"\n") == 2
    assert list(Store(tmp_path).ids()) == [A, C]


def test_a_disk_that_is_found_to_be_full_at_the_end_is_an_error(tmp_path, monkeypatch):
    def full(file):
        raise OSError(errno.EDQUOT, "Disk quota exceeded")

    monkeypatch.setattr("os.fsync", full)
    store = Store(tmp_path)
    store.add(A, {"x": 1}, "c0de")
    with pytest.raises(OSError, match="quota"):
        store.close()
    store.close()  # the store is closed
