"""A coded dataset: written to a folder, and read again."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privcurve.datasets.catalogue import describe, find
from privcurve.datasets.domain import Domain
from privcurve.datasets.errors import DatasetError
from privcurve.datasets.origin import same_description, same_files
from privcurve.files import replace_file, replace_text

_ARRAYS = "encoded.npz"
_DOMAIN = "domain.json"


@dataclass(frozen=True)
class Dataset:
    """A coded dataset.

    Attributes
    ----------
    name : str
    domain : Domain
    X : ndarray of shape (n_rows, n_columns), uint8 or uint16
        Codes; column j holds 0 … ``domain.n_bins[j]`` − 1.
    y : ndarray of shape (n_rows,), int8
        −1 or +1; of more than two classes 0 … ``domain.n_classes`` − 1.
    X_test, y_test : ndarray or None
        The canonical test set, where the dataset has one.
    checksum : str
        SHA-256, in hex, of domain and codes; the same on every machine.
    n_clipped, n_clipped_test : int
        Values that lay outside a bound and were clipped to it, of all records that were read.
    clipped : mapping of str to mapping of str to float
        By part (``train``, ``test``), the share of clipped values of each column that has any.
    sources : mapping of str to str
        SHA-256 of each raw file that was read. For the holder of the data: like
        `checksum` and `n_clipped`, not a private output.
    origin : mapping
        What it was made from: :func:`privcurve.datasets.origin.origin`.
    """

    name: str
    domain: Domain
    X: NDArray[np.unsignedinteger[Any]]
    y: NDArray[np.int8]
    X_test: NDArray[np.unsignedinteger[Any]] | None
    y_test: NDArray[np.int8] | None
    checksum: str
    n_clipped: int
    n_clipped_test: int
    clipped: Mapping[str, Mapping[str, float]]
    sources: Mapping[str, str]
    origin: Mapping[str, Any]


def checksum(domain: Domain, parts: Mapping[str, NDArray[Any]]) -> str:
    """Hash domain and arrays (``X``, ``y``, ``X_test``, ``y_test``): the same on every machine."""
    digest = hashlib.sha256(domain.to_json().encode("ascii"))
    for key, part in parts.items():
        fixed = np.ascontiguousarray(part, dtype=part.dtype.newbyteorder("<"))
        digest.update(f"\n{key} {fixed.dtype.name} {fixed.shape}\n".encode("ascii"))
        digest.update(fixed.reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def save(dataset: Dataset, folder: str | os.PathLike[str]) -> None:
    """Write a dataset as ``encoded.npz`` and ``domain.json``.

    Both are written under a temporary name first, so neither is ever half there.
    """
    folder = Path(folder)
    arrays = {"X": dataset.X, "y": dataset.y, "X_test": dataset.X_test, "y_test": dataset.y_test}
    parts: dict[str, Any] = {key: part for key, part in arrays.items() if part is not None}
    replace_file(folder / _ARRAYS, lambda path: _write_arrays(path, parts))
    facts = {
        "name": dataset.name,
        "checksum": dataset.checksum,
        "n_rows": len(dataset.y),
        "n_test": 0 if dataset.y_test is None else len(dataset.y_test),
        "n_bins": list(dataset.domain.n_bins),
        "n_clipped": dataset.n_clipped,
        "n_clipped_test": dataset.n_clipped_test,
        "clipped": {part: dict(shares) for part, shares in dataset.clipped.items()},
        "sources": dict(dataset.sources),
        "origin": dict(dataset.origin),
        "domain": dataset.domain.to_dict(),
    }
    replace_text(folder / _DOMAIN, json.dumps(facts, indent=1) + "\n")


def _write_arrays(path: Path, parts: dict[str, Any]) -> None:
    np.savez_compressed(path, allow_pickle=False, **parts)


def facts(folder: str | os.PathLike[str]) -> dict[str, Any] | None:
    """Return what :func:`save` wrote of a dataset beside its arrays: checksum, sources, sizes.

    Parameters
    ----------
    folder : path

    Returns
    -------
    dict or None
        None if no dataset was saved there, or one of another description than there is now.
    """
    notes = _saved(Path(folder))
    if notes is None or not same_description(notes["name"], notes.get("origin", {})):
        return None
    return notes


def _saved(folder: Path) -> dict[str, Any] | None:
    path = folder / _DOMAIN
    if not path.exists():
        return None
    notes = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(notes, dict) or "name" not in notes:
        raise ValueError(f"{path} holds no facts of a dataset")
    return notes


def is_current(folder: str | os.PathLike[str]) -> bool:
    """Whether a saved dataset is what its description and the user's own files give now.

    Parameters
    ----------
    folder : path

    Returns
    -------
    bool
        False too if nothing that can be read was saved there.
    """
    try:
        notes = facts(folder)
    except ValueError:  # not JSON
        return False
    return notes is not None and same_files(notes["origin"])


def check_current(folder: str | os.PathLike[str]) -> None:
    """Check that a saved dataset was made from what its description says now.

    Raises
    ------
    DatasetError
        If it was not.
    """
    notes = _saved(Path(folder))
    if notes is not None and not same_description(notes["name"], notes.get("origin", {})):
        raise DatasetError(
            f"{folder} was coded from another description of {notes['name']!r} than "
            f"{find(notes['name'])} is now. Run snakemake (or privcurve compare) again, which "
            f"codes it anew; or by hand: python -m privcurve.steps.prepare {notes['name']} "
            f"--output {folder}"
        )


def read(folder: str | os.PathLike[str]) -> Dataset:
    """Read what :func:`save` wrote.

    Raises
    ------
    DatasetError
        If a file is missing, its content does not have the checksum it was saved with, or it was
        made from another description than there is now.
    """
    folder = Path(folder)
    try:
        notes = json.loads((folder / _DOMAIN).read_text(encoding="utf-8"))
        with np.load(folder / _ARRAYS, allow_pickle=False) as archive:
            parts = {key: archive[key] for key in archive.files}
        domain = Domain.from_dict(notes["domain"])
        if "unknown" not in notes["domain"]:  # coded before domains said it
            domain = describe(notes["name"]).domain
        digest = checksum(domain, parts)
        if digest != notes["checksum"]:
            raise ValueError(f"its checksum is {digest}, not {notes['checksum']}")
        dataset = Dataset(
            name=notes["name"],
            domain=domain,
            X=parts["X"],
            y=parts["y"],
            X_test=parts.get("X_test"),
            y_test=parts.get("y_test"),
            checksum=digest,
            n_clipped=notes["n_clipped"],
            n_clipped_test=notes["n_clipped_test"],
            clipped=notes.get("clipped", {}),
            sources=notes["sources"],
            origin=notes.get("origin", {}),
        )
    except Exception as error:  # zip, JSON and key errors alike: the folder is no dataset
        raise DatasetError(
            f"{folder} holds no dataset that can be read: {error}. Delete the folder and prepare "
            "the dataset again."
        ) from error
    check_current(folder)
    return dataset
