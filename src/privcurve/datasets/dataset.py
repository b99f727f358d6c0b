"""Encoded datasets: save them, read them, and check that their sources have not changed.

The check compares contents, because modification times, which Snakemake compares, are not reliable:
a restored file can be older than outputs that were made from another version of the file.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privcurve.coding import MERGING
from privcurve.datasets.catalogue import describe, find
from privcurve.datasets.description import CODING, Description
from privcurve.datasets.domain import Domain
from privcurve.datasets.errors import DatasetError
from privcurve.datasets.reading import sha256_of
from privcurve.files import replace_file, replace_text
from privcurve.privacy.parts import Part, PartedRecords, PartSubset, labels_of

_ARRAYS = "encoded.npz"
_DOMAIN = "domain.json"
# Fields of a dataset that `save` writes unchanged to the file `_DOMAIN`, and `read` takes from it.
_NOTES = ("name", "checksum", "n_clipped", "n_clipped_test", "clipped", "sources", "origin")


@dataclass(frozen=True, kw_only=True)
class _Dataset:
    """Fields that in-memory and partitioned datasets share; :class:`Dataset` explains them."""

    name: str
    domain: Domain
    checksum: str
    n_clipped: int
    n_clipped_test: int
    clipped: Mapping[str, Mapping[str, float]]
    sources: Mapping[str, str]
    origin: Mapping[str, Any]
    X_test: NDArray[np.unsignedinteger[Any]] | None = None
    y_test: NDArray[np.int8] | None = None
    # Always None in partitioned datasets: if ε protects persons, a dataset is not partitioned.
    persons: NDArray[np.int32] | None = None
    persons_test: NDArray[np.int32] | None = None
    at_most: int | None = None
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Dataset(_Dataset):
    """An encoded dataset in memory.

    Attributes
    ----------
    name : str
    domain : Domain
    X : ndarray of shape (n_rows, n_columns), uint8 or uint16
        Bins; column j holds 0 … ``domain.n_bins[j]`` − 1.
    y : ndarray of shape (n_rows,), int8
        −1 or +1; with more than two classes 0 … ``domain.n_classes`` − 1.
    X_test, y_test : ndarray or None
        The canonical test set, if the dataset has one.
    persons, persons_test : ndarray of shape (n_rows,), int32, or None
        The number of each record's person, if ε protects persons. A person has the same number in
        the training and the test records.
    at_most : int or None
        Maximum number of records of each person.
    checksum : str
        SHA-256, in hex, of the domain and all arrays; the same on every machine.
    n_clipped, n_clipped_test : int
        Number of training values, and of test values, that were clipped to their bounds; counted
        over all records that were read.
    clipped : mapping of str to mapping of str to float
        Share of clipped values by part (``train``, ``test``) and column; columns without clipped
        values are left out.
    sources : mapping of str to str
        SHA-256 of each raw file, by name. Only the data owner may see it, like `checksum` and
        `n_clipped`: none of them is differentially private.
    origin : mapping
        State of the description and the files when the dataset was encoded; see :func:`origin`.
    remarks : tuple of str
        Remarks on the raw files, for the data owner.
    """

    X: NDArray[np.unsignedinteger[Any]]
    y: NDArray[np.int8]

    @property
    def n_rows(self) -> int:
        """Number of training records."""
        return len(self.y)

    def rows(self, places: NDArray[np.intp]) -> tuple[NDArray[Any], NDArray[np.int8]]:
        """Return bins and labels of the training records at the positions `places`."""
        return self.X[places], self.y[places]


class Checksum:
    """Computes the SHA-256 of a domain and of arrays; the pieces of an array may be added in turn.

    The result is the same on every machine: bytes are little-endian.
    """

    def __init__(self, domain: Domain) -> None:
        self._digest = hashlib.sha256(domain.to_json().encode("ascii"))
        if domain.mixed_bins is not None:
            self._digest.update(f"\nmerging {MERGING}".encode("ascii"))

    def begin(self, key: str, dtype: np.dtype[Any], shape: tuple[int, ...]) -> None:
        """Begin an array called `key` (``X``, ``y``, …), with its type and complete shape."""
        self._digest.update(f"\n{key} {dtype.name} {shape}\n".encode("ascii"))

    def add(self, piece: NDArray[Any]) -> None:
        """Add the next piece of the array that was begun last."""
        fixed = np.ascontiguousarray(piece, dtype=piece.dtype.newbyteorder("<"))
        self._digest.update(fixed.reshape(-1).view(np.uint8).data)

    def add_all(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Add complete arrays under their names."""
        for key, array in arrays.items():
            self.begin(key, array.dtype, array.shape)
            self.add(array)

    @property
    def text(self) -> str:
        """The digest, in hex."""
        return self._digest.hexdigest()


def checksum(domain: Domain, arrays: Mapping[str, NDArray[Any]], at_most: int | None = None) -> str:
    """Return one checksum, in hex, of the domain, the arrays and `at_most` of a dataset."""
    digest = Checksum(domain)
    digest.add_all(arrays)
    if at_most is not None:
        digest.begin("at_most", np.dtype(np.int64), (at_most,))
    return digest.text


@dataclass(frozen=True, kw_only=True)
class PartedDataset(_Dataset):
    """An encoded dataset with its training records partitioned on disk, and test records in memory.

    Attributes
    ----------
    parts : tuple of Part
    name, domain, checksum, n_clipped, n_clipped_test, clipped, sources, origin, X_test, y_test
        As in :class:`Dataset`; the partition does not change the checksum.
    remarks : tuple of str
    """

    parts: tuple[Part, ...]

    @property
    def n_rows(self) -> int:
        """Number of training records."""
        return sum(part.n_rows for part in self.parts)

    @cached_property
    def y(self) -> NDArray[np.int8]:
        """Labels of all training records."""
        return np.concatenate([part.labels() for part in self.parts])

    def rows(self, places: NDArray[np.intp]) -> tuple[NDArray[Any], NDArray[np.int8]]:
        """Return bins and labels of the training records at the increasing positions `places`."""
        codes = [part.records().codes[where] for part, where in self._split_by_part(places)]
        return np.concatenate(codes), self.y[places]

    def select(self, places: NDArray[np.intp]) -> PartedRecords:
        """Return the partitioned training records at the increasing positions `places`."""
        chosen = []
        for part, where in self._split_by_part(places):
            mask = np.zeros(part.n_rows, dtype=bool)
            mask[where] = True
            chosen.append(PartSubset(part, mask))
        return PartedRecords(tuple(chosen), np.array(self.domain.n_bins))

    def _split_by_part(self, places: NDArray[np.intp]) -> Iterator[tuple[Part, NDArray[np.intp]]]:
        """Yield each part, with the positions within the part of the rows that `places` selects."""
        ends = np.cumsum([part.n_rows for part in self.parts])
        starts = np.concatenate([[0], ends[:-1]])
        cuts = np.searchsorted(places, ends[:-1])
        for part, start, where in zip(self.parts, starts, np.split(places, cuts), strict=True):
            yield part, where - start


def save(dataset: Dataset | PartedDataset, folder: str | os.PathLike[str]) -> None:
    """Write a dataset as ``encoded.npz`` and ``domain.json``.

    Each file gets its name only when it is complete. The parts of a partitioned dataset must be in
    the folder already.
    """
    folder = Path(folder)
    arrays: dict[str, Any] = {"X_test": dataset.X_test, "y_test": dataset.y_test}
    more: dict[str, Any] = {} if dataset.at_most is None else {"at_most": dataset.at_most}
    if dataset.remarks:
        more["remarks"] = list(dataset.remarks)
    if isinstance(dataset, PartedDataset):
        home = folder.absolute()
        more["parts"] = [
            {"file": str(Path(p.path).relative_to(home)), "n_rows": p.n_rows, "sha256": p.sha256}
            for p in dataset.parts
        ]
    else:
        persons = {"persons": dataset.persons, "persons_test": dataset.persons_test}
        arrays = {"X": dataset.X, "y": dataset.y, **arrays, **persons}
    present: dict[str, Any] = {key: array for key, array in arrays.items() if array is not None}
    replace_file(folder / _ARRAYS, lambda path: np.savez_compressed(path, **present))
    notes = {
        "name": dataset.name,
        "checksum": dataset.checksum,
        "n_rows": dataset.n_rows,
        "n_test": 0 if dataset.y_test is None else len(dataset.y_test),
        "n_bins": list(dataset.domain.n_bins),
        "n_clipped": dataset.n_clipped,
        "n_clipped_test": dataset.n_clipped_test,
        "clipped": {part: dict(shares) for part, shares in dataset.clipped.items()},
        "sources": dict(dataset.sources),
        "origin": dict(dataset.origin),
        "domain": dataset.domain.to_dict(),
        **more,
    }
    replace_text(folder / _DOMAIN, json.dumps(notes, indent=1) + "\n")


def facts(folder: str | os.PathLike[str]) -> dict[str, Any] | None:
    """Return the content of a folder's ``domain.json``: domain, checksum, sources, sizes.

    Returns None if the folder has no dataset, or if the dataset's description has changed since the
    dataset was encoded.
    """
    notes = _read_facts(Path(folder))
    return None if notes is None or not _same_description(notes) else notes


def _read_facts(folder: Path) -> dict[str, Any] | None:
    path = folder / _DOMAIN
    if not path.exists():
        return None
    notes = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(notes, dict) or "name" not in notes:
        raise ValueError(f"{path} must describe an encoded dataset; it lacks the key 'name'")
    return notes


def is_current(folder: str | os.PathLike[str]) -> bool:
    """Return whether a saved dataset still agrees with its description and the user's own files.

    Returns False if the folder has no readable dataset.
    """
    try:
        notes = facts(folder)
    except ValueError:  # invalid JSON
        return False
    if notes is None or not _same_files(notes["origin"]):
        return False
    parts = [Path(folder, entry["file"]) for entry in notes.get("parts", ())]
    if not all(path.is_file() and labels_of(path).is_file() for path in parts):
        return False
    return bool(parts) == bool(describe(notes["name"]).part_rows)


def check_current(folder: str | os.PathLike[str]) -> None:
    """Raise DatasetError if the description of a saved dataset has changed since it was encoded.

    A folder without a dataset passes.
    """
    notes = _read_facts(Path(folder))
    if notes is not None and not _same_description(notes):
        raise DatasetError(
            f"{folder} was encoded from an earlier description of {notes['name']!r} than "
            f"{find(notes['name'])}. Run snakemake (or privcurve compare) again, which encodes "
            "it anew"
        )


def read(folder: str | os.PathLike[str]) -> Dataset:
    """Read an in-memory dataset that :func:`save` wrote.

    Raises DatasetError if a file is missing or has changed, if the description has changed since
    the dataset was encoded, or if the dataset is partitioned.
    """
    dataset = read_coded(folder)
    if isinstance(dataset, PartedDataset):
        raise DatasetError(
            f"{dataset.name} must be in memory here, but it is encoded in parts ({folder}). If "
            f"memory suffices, set rows_per_part: 0 in {find(dataset.name)}"
        )
    return dataset


def read_coded(folder: str | os.PathLike[str]) -> Dataset | PartedDataset:
    """Read a dataset that :func:`save` wrote, in memory or partitioned.

    Raises DatasetError if files are missing or have changed, or if the description has changed. The
    files of partitioned records are checked only when they are opened.
    """
    folder = Path(folder)
    try:
        notes = json.loads((folder / _DOMAIN).read_text(encoding="utf-8"))
        with np.load(folder / _ARRAYS, allow_pickle=False) as archive:
            arrays = {key: archive[key] for key in archive.files}
        domain = Domain.from_dict(notes["domain"])
        common = {key: notes[key] for key in _NOTES} | {"domain": domain, **arrays}
        common["remarks"] = tuple(notes.get("remarks", ()))
        if "at_most" in notes:
            common["at_most"] = notes["at_most"]
        dataset: Dataset | PartedDataset
        if "parts" in notes:
            parts = [
                Part(str(folder.absolute() / entry.pop("file")), **entry, n_bins=domain.n_bins)
                for entry in notes["parts"]
            ]
            dataset = PartedDataset(**common, parts=tuple(parts))
        else:
            digest = checksum(domain, arrays, notes.get("at_most"))
            if digest != notes["checksum"]:
                raise ValueError(f"its checksum must be {notes['checksum']}; it is {digest}")
            dataset = Dataset(**common)
    # any error of zip, JSON or keys means that the dataset is unreadable
    except Exception as error:
        raise DatasetError(
            f"{folder} must hold a readable dataset: {error}. Delete the folder and prepare the "
            "dataset again."
        ) from error
    check_current(folder)
    return dataset


def origin(description: Description) -> dict[str, Any]:
    """Return the current state of the description and files from which a dataset is encoded.

    ``coding`` and ``merging`` are the versions of the rules for encoding values and for merging
    bins. ``description`` is the digest of the description, ``yaml`` has the checksums of its YAML
    files, and ``public_benchmark`` says whether the records are public. ``local`` has size, times,
    inode and checksum of each file of the user's own.
    """
    paths = [file.local for file in description.source_files() if file.local is not None]
    return {
        "coding": CODING,
        "merging": MERGING,
        "description": description.digest,
        "yaml": {path.stem: sha256_of(path) for path in description.paths},
        "public_benchmark": description.public_benchmark,
        "local": {
            path: {**_file_state(Path(path)), "sha256": sha256_of(Path(path))} for path in paths
        },
    }


def is_public(name: str, made_from: Mapping[str, object]) -> bool:
    """Return whether the description of a dataset declares the records public.

    `made_from` is the :func:`origin` that was stored with the dataset. If the YAML files have not
    changed since, its entry ``public_benchmark`` is returned, and the files are not parsed. Raises
    DatasetError if the description is missing or invalid.
    """
    if "public_benchmark" in made_from and _same_bytes(made_from):
        return bool(made_from["public_benchmark"])
    return describe(name).public_benchmark


def _same_bytes(made_from: Mapping[str, Any]) -> bool:
    """Return whether the YAML files and the versions of the encoding rules are still the same.

    `made_from` is the stored :func:`origin`. Raises DatasetError if a YAML file is missing.
    """
    yaml = made_from.get("yaml", {})
    same = bool(yaml) and all(sha256_of(find(stem)) == digest for stem, digest in yaml.items())
    return same and (made_from.get("coding"), made_from.get("merging")) == (CODING, MERGING)


def _same_description(notes: Mapping[str, Any]) -> bool:
    """Return whether the description is the same as when the data were encoded.

    Returns True, too, if the description no longer exists.
    """
    made_from = notes.get("origin", {})
    try:
        # Parsing takes longer, so compare the bytes first.
        if _same_bytes(made_from):
            return True
    except DatasetError:
        return True
    return describe(notes["name"]).digest == made_from.get("description")


def _same_files(made_from: Mapping[str, Any]) -> bool:
    """Return whether the user's own files are the same as when the data were encoded.

    A file with the same size, times and inode counts as unchanged; otherwise its checksum decides.
    A missing file counts as unchanged: the code that reads the file raises the error.
    """
    for name, was in made_from.get("local", {}).items():
        path = Path(name)
        if not path.is_file() or _file_state(path).items() <= was.items():
            continue
        if sha256_of(path) != was["sha256"]:
            return False
    return True


def _file_state(path: Path) -> dict[str, int]:
    stat = path.stat()
    # Programs can restore mtime, the time of the last change of a file, but not ctime: store both.
    times = {"mtime_ns": stat.st_mtime_ns, "ctime_ns": stat.st_ctime_ns}
    return {"size": stat.st_size, **times, "inode": stat.st_ino}
