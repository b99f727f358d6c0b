"""What coded data were made from, and whether that is still what is asked for.

Snakemake knows it too, but its record may be lost, and it compares times: a file that was
restored or unpacked is often older than what was made from its predecessor.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from privcurve.datasets.catalogue import describe, find
from privcurve.datasets.description import CODING, Description
from privcurve.datasets.errors import DatasetError
from privcurve.datasets.fetch import sha256_of


def origin(description: Description) -> dict[str, Any]:
    """Note what a dataset is made from now.

    ``coding`` is the number of the rules of coding; ``description``, the digest of its meaning;
    ``yaml``, the checksums of the files that it was read from; ``local``, the state of each file of
    the user's own.
    """
    local = {}
    for file in description.source_files():
        if file.local is not None:
            path = Path(file.local)
            state = _state(path)
            local[file.local] = {**state, "sha256": sha256_of(path)}
    return {
        "coding": CODING,
        "description": description.digest,
        "yaml": {path.stem: sha256_of(path) for path in description.paths},
        "public_benchmark": description.public_benchmark,
        "local": local,
    }


def same_description(name: str, made_from: Mapping[str, Any]) -> bool:
    """Whether a dataset's description, if it is there, says what coded data were made from."""
    try:
        # Mostly not a byte has changed: then nothing needs to be parsed.
        if _same_bytes(made_from):
            return True
    except DatasetError:
        return True
    return describe(name).digest == made_from.get("description")


def is_public(name: str, made_from: Mapping[str, Any]) -> bool:
    """Whether a dataset's description says that its records are public.

    Parameters
    ----------
    name : str
    made_from : mapping
        What :func:`origin` gave of coded data: where the description has the same bytes still, it
        is not parsed again.

    Returns
    -------
    bool

    Raises
    ------
    DatasetError
        If the description is not there, or not valid.
    """
    if "public_benchmark" in made_from and _same_bytes(made_from):
        return bool(made_from["public_benchmark"])
    return describe(name).public_benchmark


def _same_bytes(made_from: Mapping[str, Any]) -> bool:
    """Whether a description, byte for byte, and the rules of coding are those that were read."""
    yaml = made_from.get("yaml", {})
    same = bool(yaml) and all(sha256_of(find(stem)) == digest for stem, digest in yaml.items())
    return same and made_from.get("coding") == CODING


def same_files(made_from: Mapping[str, Any]) -> bool:
    """Whether the user's own files are those that coded data were made from.

    Size, times and inode are looked at first; where these differ, the contents decide. A file
    that is gone is the same: that it is missing is said when it is needed.
    """
    for name, was in made_from.get("local", {}).items():
        path = Path(name)
        if not path.is_file() or _state(path).items() <= was.items():
            continue
        if sha256_of(path) != was["sha256"]:
            return False
    return True


def _state(path: Path) -> dict[str, int]:
    stat = path.stat()
    return {
        "size": stat.st_size,
        "mtime_ns": stat.st_mtime_ns,
        # The time of the last change of contents or of mtime, which no program can set.
        "ctime_ns": stat.st_ctime_ns,
        "inode": stat.st_ino,
    }
