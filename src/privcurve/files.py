"""Write files atomically, with clear errors."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO

_REASONS = {
    errno.ENOSPC: "the disk is full; make space",
    errno.EDQUOT: "your quota of the disk is used up; make space",
    errno.EROFS: "the file system is read-only; make it writable or work in another folder",
    errno.EACCES: "you may not write there; change its permissions or work in another folder",
}

# The folder in which Linux lists the open files of each process.
PROCESSES = Path("/proc")
MOST_LINKS = 40  # maximum length of a chain of links; a longer chain counts as a circle
# Name of the file by which `lock_folder` locks a folder.
LOCK = ".lock"


class WriteError(OSError):
    """A file can't be written; the message names the file and the remedy."""


def display_path(path: Path) -> Path:
    """Return a path for messages: relative if it is in the working folder, else unchanged."""
    try:
        return path.absolute().relative_to(Path.cwd())
    except ValueError:
        return path


@contextmanager
def write_errors(path: Path) -> Iterator[None]:
    """Convert an OSError, raised in the context, to a WriteError with the path and the remedy."""
    try:
        yield
    except OSError as error:
        reason = _REASONS.get(error.errno or 0, f"{error.strerror or error}; mend it")
        raise WriteError(f"{path} can't be written: {reason}, then try again.") from error


def replace_file(path: Path, write: Callable[[Path], object]) -> None:
    """Write a file under a temporary name in the same folder, then move it into place.

    The function creates the folder if necessary. If `path` is a link, the function replaces the
    target and keeps the link. It writes directly to a pipe, a terminal or a device, as moving a
    file there would replace the device. `write` is called with the path to write to, which has the
    same ending as `path` (or as the target of the link). Raises WriteError, for example if the disk
    is full; then the former file remains.
    """
    with write_errors(path):
        target = _target(path)
        if target is None:
            write(path)
            return
        temporary = target.with_name(f".{os.getpid()}.{uuid.uuid4().hex[:8]}.{target.name}")
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            write(temporary)
            if target.exists() and target.stat().st_mode != temporary.stat().st_mode:
                # The new file keeps the permissions of the old one.
                temporary.chmod(stat.S_IMODE(target.stat().st_mode))
            # Sync first: otherwise a loss of power could leave an empty file under the final name.
            sync(temporary)
            temporary.replace(target)
        finally:
            temporary.unlink(missing_ok=True)


def _target(path: Path) -> Path | None:
    """Follow links, and return their target: a plain file, a folder, or a path without a file.

    Returns None for a pipe, a terminal, a device, or the name of an open file (``/dev/stdout``).
    Raises OSError if links form a circle.
    """
    for _ in range(MOST_LINKS):
        if path.parent.resolve().is_relative_to(PROCESSES):
            # A moved file can't replace the name of an open file, such as /dev/stdout.
            return None
        if not path.is_symlink():
            plain = not path.exists() or path.is_file() or path.is_dir()
            return path if plain else None
        path = path.parent / path.readlink()
    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))


def replace_text(path: Path, text: str) -> None:
    """Write a text file atomically, in UTF-8 and with line feeds as line ends."""
    replace_file(path, lambda temporary: temporary.write_text(text, "utf-8", newline="\n"))


def check_room(folder: Path, n_bytes: int) -> None:
    """Raise WriteError if a temporary file of `n_bytes` can't be written in a folder."""
    with write_errors(folder), tempfile.TemporaryFile(dir=folder, buffering=0) as file:
        append(file.fileno(), bytes(n_bytes))
        os.fsync(file.fileno())


@contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Lock a folder during the context; wait if another process holds the lock.

    Raises WriteError if the file of the lock can't be written.
    """
    from filelock import FileLock  # imported here: the import is slow, and few commands lock

    lock = FileLock(folder / LOCK, mode=0o600)
    with write_errors(folder / LOCK):
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


def open_private(path: Path, mode: str) -> IO[bytes]:
    """Open a file without a buffer; if the file is new, only its owner can read it."""
    return open(path, mode, buffering=0, opener=partial(os.open, mode=0o600))


def append(file: int, data: bytes) -> None:
    """Write data to the file descriptor `file`; after an error, remove what was written."""
    end = os.lseek(file, 0, os.SEEK_CUR)
    try:
        while data:
            data = data[os.write(file, data) :]
    except BaseException:
        os.ftruncate(file, end)
        raise


def sync(path: Path) -> None:
    """Wait until the content of a file, or the list of names in a folder, is on the disk."""
    windows = os.name == "nt"
    if windows and path.is_dir():  # on Windows, a folder can't be opened
        return
    file = os.open(path, os.O_RDWR if windows else os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)
