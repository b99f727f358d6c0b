"""Files are replaced atomically, and an error names the file that cannot be written."""

import errno
import os
import threading
from pathlib import Path

import pytest

from privcurve.files import WriteError, replace_file, replace_text


def test_a_file_and_its_folder_are_made(tmp_path):
    replace_text(tmp_path / "a/b.txt", "ε\n")
    assert (tmp_path / "a/b.txt").read_bytes() == "ε\n".encode()
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["b.txt"]


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (errno.ENOSPC, "the disk is full"),
        (errno.EDQUOT, "quota"),
        (errno.EROFS, "read-only"),
        (errno.EACCES, "permissions"),
        (errno.EIO, os.strerror(errno.EIO)),
    ],
)
def test_a_failed_write_names_the_file_and_keeps_the_old_one(tmp_path, code, message):
    def fail(path):
        path.write_text("half")
        raise OSError(code, os.strerror(code))

    replace_text(tmp_path / "a.txt", "old")
    with pytest.raises(OSError, match=message) as caught:
        replace_file(tmp_path / "a.txt", fail)
    message = str(caught.value)
    assert message.startswith(f"{tmp_path / 'a.txt'} can't be written: ")
    # The same advice for the command line, for Snakemake and for Python.
    assert message.endswith(", then try again.")
    assert "snakemake" not in message
    assert [path.read_text() for path in tmp_path.iterdir()] == ["old"]


def test_the_bytes_are_on_the_disk_before_the_name_is(tmp_path, monkeypatch):
    seen = []
    fsync = os.fsync
    monkeypatch.setattr("os.fsync", lambda file: seen.append(os.fstat(file).st_ino) or fsync(file))
    path = tmp_path / "a.txt"
    replace_text(path, "new")
    assert seen == [path.stat().st_ino]


def test_a_link_is_followed_and_stays(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a/real.txt").write_text("old")
    (tmp_path / "one").symlink_to("a/real.txt")
    (tmp_path / "two").symlink_to(tmp_path / "one")
    (tmp_path / "none").symlink_to("a/new.txt")
    for name, real in (("two", "a/real.txt"), ("none", "a/new.txt")):
        replace_text(tmp_path / name, "new")
        assert (tmp_path / name).is_symlink()
        assert not (tmp_path / real).is_symlink()
        assert (tmp_path / real).read_text() == "new"
    assert {path.name for path in tmp_path.rglob("*")} == {
        *("a", "real.txt", "new.txt", "one", "two", "none")
    }


def test_links_in_a_circle_are_named(tmp_path):
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(WriteError, match="a can't be written: "):
        replace_text(tmp_path / "a", "new")
    assert (tmp_path / "a").is_symlink()


@pytest.mark.parametrize("name", ["pipe", "link"])
def test_a_pipe_is_written_to_as_it_is(tmp_path, name):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    (tmp_path / "link").symlink_to("pipe")
    read = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()), daemon=True)
    reader.start()
    replace_text(tmp_path / name, "ε\n")
    reader.join(5)
    assert read == ["ε\n"]
    assert pipe.is_fifo()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "pipe"]


def test_an_open_file_is_written_to_as_it_is(tmp_path):
    ends = os.pipe()
    replace_text(Path(f"/proc/self/fd/{ends[1]}"), "new")
    os.close(ends[1])
    assert os.read(ends[0], 9) == b"new"
    os.close(ends[0])


def test_the_permissions_of_a_file_stay(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    path.chmod(0o600)
    replace_text(path, "new")
    assert (path.stat().st_mode & 0o777, path.read_text()) == (0o600, "new")
