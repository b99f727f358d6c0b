"""Get raw files from a local mirror, from the cache, or from their public addresses."""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from privcurve.datasets.description import Description, SourceFile
from privcurve.datasets.errors import DatasetError, Problems

MIRROR_VARIABLE = "PRIVCURVE_DATA"
CACHE_VARIABLE = "PRIVCURVE_CACHE"
TIMEOUT_SECONDS = 10


@dataclass(frozen=True)
class RawFile:
    """A raw file on this machine, with the file of its labels if there is one."""

    path: Path
    labels: Path | None = None

    @property
    def paths(self) -> tuple[Path, ...]:
        """The file itself, and the file of its labels if there is one."""
        return (self.path,) if self.labels is None else (self.path, self.labels)


def fetch(description: Description) -> dict[str, tuple[RawFile, ...]]:
    """Get the raw files of a dataset, by part (``train``, ``test``), and verify their checksums.

    The environment variable ``PRIVCURVE_DATA`` may name a mirror: a folder with the files
    ``<dataset>/<file>``. A dataset without files yields an empty mapping. Raises DatasetError with
    the names of all files that are unavailable or have wrong content.
    """
    mirror = os.environ.get(MIRROR_VARIABLE)
    folder = Path(mirror) if mirror else None
    problems = Problems(description.name)
    all_local = all(file.local is not None for file in description.source_files())
    if folder is not None and not folder.is_dir() and not all_local:
        problems.add(
            f"{MIRROR_VARIABLE} (or data_mirror of the configuration) must be a folder; got "
            f"{folder}. Correct it, or leave it out to download the files"
        )
        problems.check()

    def get(file: SourceFile) -> Path:
        try:
            return _find_file(description, file, folder)
        except DatasetError as error:
            problems.add(str(error))
            return Path()

    raw_files = {
        part: tuple(
            RawFile(get(file), None if file.labels is None else get(file.labels)) for file in files
        )
        for part, files in description.read_files.items()
    }
    problems.check()
    return raw_files


def cache_folder() -> Path:
    """Return the folder of downloads: ``PRIVCURVE_CACHE``, or the user's cache folder."""
    if folder := os.environ.get(CACHE_VARIABLE):
        return Path(folder)
    import pooch

    return Path(pooch.os_cache("privcurve"))


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file, in hex."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _find_file(description: Description, file: SourceFile, mirror: Path | None) -> Path:
    source = description.source
    if file.local is not None:
        path = Path(file.local)
        if not path.is_file():
            raise DatasetError(description.explain_missing(file.local))
        _verify(path, file)
        return path
    attempts = []
    if mirror is not None:
        path = mirror / source / file.name
        if path.is_file():
            _verify(path, file)
            return path
        attempts.append(f"{path} (not there)")
    path = cache_folder() / source / file.name
    if path.is_file() and sha256_of(path) == file.sha256:
        return path
    for url in file.urls:
        problem = _download(url, path, file)
        if problem is None:
            return path
        attempts.append(f"{url} ({problem})")
    advice = f" {description.how_to_get}" if description.how_to_get else ""
    raise DatasetError(
        f"{file.name} is unavailable. Tried: {'; '.join(attempts) or 'nothing'}.{advice} Two "
        f"remedies: put it at <folder>/{source}/{file.name} and set {MIRROR_VARIABLE}=<folder>; "
        f"or run a study without {description.name!r}."
    )


def _download(url: str, path: Path, file: SourceFile) -> str | None:
    """Download one file to `path`; return None, or why the download failed.

    Pooch writes to a temporary name, and renames the file when its checksum is right.
    """
    import pooch
    import requests

    pooch.get_logger().setLevel(logging.ERROR)
    try:
        pooch.retrieve(
            url,
            known_hash=f"sha256:{file.sha256}",
            fname=path.name,
            path=path.parent,
            downloader=_make_downloader(file.n_bytes),
        )
    except requests.exceptions.RequestException as error:
        return f"no connection: {type(error).__name__}"
    except (OSError, ValueError) as error:
        return str(error).split("\n", maxsplit=1)[0]
    return None


class _BoundedFile:
    """A file that refuses more than `n_bytes`, so that an endless download cannot fill the disk."""

    def __init__(self, target: BinaryIO, n_bytes: int) -> None:
        self._target, self._left = target, n_bytes
        self._n_bytes = n_bytes
        self.flush = target.flush

    def write(self, data: bytes) -> None:
        self._left -= len(data)
        if self._left < 0:
            raise ValueError(f"it must have {self._n_bytes} bytes; it is larger")
        self._target.write(data)


def _make_downloader(n_bytes: int | None) -> Callable[[str, str, object], None]:
    import pooch

    plain = pooch.HTTPDownloader(timeout=TIMEOUT_SECONDS)

    def download(url: str, output_file: str, caller: object) -> None:
        with Path(output_file).open("wb") as target:
            plain(url, target if n_bytes is None else _BoundedFile(target, n_bytes), caller)

    return download


def _verify(path: Path, file: SourceFile) -> None:
    size = path.stat().st_size
    if file.sha256 is not None:
        digest = sha256_of(path)
        if digest != file.sha256:
            expected_size = f" ({file.n_bytes} bytes)" if file.n_bytes else ""
            raise DatasetError(
                f"{path} is truncated or altered: its sha256 must be "
                f"{file.sha256}{expected_size}; it is {digest} ({size} bytes). Replace the file "
                "by the original."
            )
    if file.local is not None and file.n_bytes not in (None, size):
        raise DatasetError(
            f"{path} must have {file.n_bytes} bytes, as its description says; it has {size}. "
            "Replace the file, or correct the key bytes."
        )
