"""Files are replaced whole or not at all, and what can't be written is named."""

import errno
import os

import pytest

from privcurve.files import replace_file, replace_text


def test_a_file_and_its_folder_are_made(tmp_path):
    replace_text(tmp_path / "a/b.txt", "ε\n")
    assert (tmp_path / "a/b.txt").read_bytes() == "ε\n".encode()
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["b.txt"]


@pytest.mark.parametrize(
    ("code", "says"),
    [
        (errno.ENOSPC, "the disk is full"),
        (errno.EDQUOT, "quota"),
        (errno.EROFS, "read-only"),
        (errno.EACCES, "permissions"),
        (errno.EIO, os.strerror(errno.EIO)),
    ],
)
def test_what_cannot_be_written_is_named_and_the_old_file_stays(tmp_path, code, says):
    def fail(path):
        path.write_text("half")
        raise OSError(code, os.strerror(code))

    replace_text(tmp_path / "a.txt", "old")
    with pytest.raises(OSError, match=says) as caught:
        replace_file(tmp_path / "a.txt", fail)
    said = str(caught.value)
    assert said.startswith(f"{tmp_path / 'a.txt'} can't be written: ")
    # Whoever asks: a command of privcurve's, a job of Snakemake's, a line of Python.
    assert said.endswith(", then try again.")
    assert "snakemake" not in said
    assert [path.read_text() for path in tmp_path.iterdir()] == ["old"]


def test_the_bytes_are_on_the_disk_before_the_name_is(tmp_path, monkeypatch):
    seen = []
    fsync = os.fsync
    monkeypatch.setattr("os.fsync", lambda file: seen.append(os.fstat(file).st_ino) or fsync(file))
    path = tmp_path / "a.txt"
    replace_text(path, "new")
    assert seen == [path.stat().st_ino]
