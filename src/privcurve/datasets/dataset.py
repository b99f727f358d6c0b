"""A coded dataset: made from raw files, written to a folder, and read again."""

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

from privcurve.datasets.catalogue import describe
from privcurve.datasets.description import Description
from privcurve.datasets.domain import Domain
from privcurve.datasets.encode import Coded, encode
from privcurve.datasets.errors import DatasetError
from privcurve.datasets.fetch import fetch, sha256_of
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
        −1 or +1.
    X_test, y_test : ndarray or None
        The canonical test set, where the dataset has one.
    checksum : str
        SHA-256, in hex, of domain and codes; the same on every machine.
    n_clipped, n_clipped_test : int
        Values that lay outside a bound and were clipped to it.
    sources : mapping of str to str
        SHA-256 of each raw file that was read. For the holder of the data: like
        `checksum` and `n_clipped`, not a private output.
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
    sources: Mapping[str, str]


def load(name: str, mirror: str | os.PathLike[str] | None = None) -> Dataset:
    """Fetch, parse and code a dataset.

    Parameters
    ----------
    name : str
        One of :func:`privcurve.datasets.names`.
    mirror : path, optional
        A folder laid out as ``<dataset>/<file>``; by default what the environment
        variable ``PRIVCURVE_DATA`` names.

    Returns
    -------
    Dataset

    Raises
    ------
    DatasetError
        If the dataset is unknown, can't be had, or holds what its description does not
        allow. The message names the culprit and the fix.
    """
    description = describe(name)
    paths = fetch(description, mirror)
    train = _coded(description, paths.get("train"), "n_rows", description.n_rows)
    if len(np.unique(train.y)) < 2:
        raise DatasetError(
            f"dataset {name!r}: all {len(train.y)} records have the same label. Check label "
            f"(positive, negative) in {description.path}, or the file."
        )
    test = None
    if "test" in paths:
        test = _coded(description, paths["test"], "n_test", description.n_test)
    return Dataset(
        name=name,
        domain=description.domain,
        X=train.X,
        y=train.y,
        X_test=None if test is None else test.X,
        y_test=None if test is None else test.y,
        checksum=_checksum(description.domain, _parts(train, test)),
        n_clipped=train.n_clipped,
        n_clipped_test=0 if test is None else test.n_clipped,
        sources=_sources(paths),
    )


def _sources(paths: Mapping[str, Path]) -> dict[str, str]:
    """Give the checksum of each raw file by name; by part too, where both have the same name."""
    same = len({path.name for path in paths.values()}) < len(paths)
    return {
        f"{part}/{path.name}" if same else path.name: sha256_of(path)
        for part, path in paths.items()
    }


def _coded(description: Description, path: Path | None, key: str, n_rows: int) -> Coded:
    if path is None:
        from privcurve.datasets import builtin

        make = builtin.embedded if description.parser.kind == "sklearn" else builtin.generated
        table = make(description)
    else:
        from privcurve.datasets.parse import parse

        table = parse(description, path)
    if len(table.lines) != n_rows:
        raise DatasetError(
            f"dataset {description.name!r}: {table.source} holds {len(table.lines)} records, but "
            f"{description.path} says {key}: {n_rows}. The number of records is taken to be "
            f"public: if it is, write {key}: {len(table.lines)} there."
        )
    return encode(description, table)


def _parts(train: Coded, test: Coded | None) -> dict[str, NDArray[Any]]:
    parts: dict[str, NDArray[Any]] = {"X": train.X, "y": train.y}
    if test is not None:
        parts |= {"X_test": test.X, "y_test": test.y}
    return parts


def _checksum(domain: Domain, parts: Mapping[str, NDArray[Any]]) -> str:
    """Hash domain and arrays, in one byte order and memory order on every machine."""
    digest = hashlib.sha256(domain.to_json().encode("ascii"))
    for key, part in parts.items():
        fixed = np.ascontiguousarray(part, dtype=part.dtype.newbyteorder("<"))
        digest.update(f"\n{key} {fixed.dtype.name} {fixed.shape}\n".encode("ascii"))
        digest.update(fixed.tobytes())
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
        "sources": dict(dataset.sources),
        "domain": json.loads(dataset.domain.to_json()),
    }
    replace_text(folder / _DOMAIN, json.dumps(facts, indent=1) + "\n")


def _write_arrays(path: Path, parts: dict[str, Any]) -> None:
    np.savez_compressed(path, allow_pickle=False, **parts)


def facts(folder: str | os.PathLike[str]) -> dict[str, Any] | None:
    """Give what :func:`save` wrote of a dataset beside its arrays: checksum, sources, sizes.

    Parameters
    ----------
    folder : path

    Returns
    -------
    dict or None
        None if no dataset was saved there.
    """
    path = Path(folder) / _DOMAIN
    if not path.exists():
        return None
    found = json.loads(path.read_text(encoding="utf-8"))
    assert isinstance(found, dict)
    return found


def read(folder: str | os.PathLike[str]) -> Dataset:
    """Read what :func:`save` wrote.

    Raises
    ------
    DatasetError
        If a file is missing, or its content does not have the checksum it was saved with.
    """
    folder = Path(folder)
    try:
        facts = json.loads((folder / _DOMAIN).read_text(encoding="utf-8"))
        with np.load(folder / _ARRAYS, allow_pickle=False) as archive:
            parts = {key: archive[key] for key in archive.files}
        domain = Domain.from_json(json.dumps(facts["domain"]))
        found = _checksum(domain, parts)
        if found != facts["checksum"]:
            raise ValueError(f"its checksum is {found}, not {facts['checksum']}")
        return Dataset(
            name=facts["name"],
            domain=domain,
            X=parts["X"],
            y=parts["y"],
            X_test=parts.get("X_test"),
            y_test=parts.get("y_test"),
            checksum=found,
            n_clipped=facts["n_clipped"],
            n_clipped_test=facts["n_clipped_test"],
            sources=facts["sources"],
        )
    except Exception as error:  # zip, JSON and key errors alike: the folder is no dataset
        raise DatasetError(
            f"{folder} holds no dataset that can be read: {error}. Delete the folder and prepare "
            "the dataset again."
        ) from error
