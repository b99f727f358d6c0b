"""Write files so that a reader never sees half of one."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable
from pathlib import Path


def replace_file(path: Path, write: Callable[[Path], object]) -> None:
    """Write a file under a temporary name beside it, then move it into place.

    Parameters
    ----------
    path : Path
        Its folder is made if need be.
    write : callable
        Given the temporary path, which ends as `path` does.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{os.getpid()}.{uuid.uuid4().hex[:8]}.{path.name}")
    try:
        write(temporary)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def replace_text(path: Path, text: str) -> None:
    """Write a text file, in UTF-8 and with plain line ends, never half of it."""
    replace_file(path, lambda temporary: temporary.write_text(text, "utf-8", newline="\n"))
