"""Write encoded records to files in parts, so that the table need not fit in memory."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from privcurve.coding import Codes, code_type
from privcurve.datasets.coding import Coded
from privcurve.datasets.dataset import Checksum
from privcurve.datasets.description import Description
from privcurve.files import lock_folder, replace_file, write_errors
from privcurve.privacy.parts import Part, digest_of, labels_of

# Prefix of the name of a folder of parts: PARTS, or UNFINISHED while the parts are written.
PARTS = "parts-"
UNFINISHED = ".parts-"


class PartWriter:
    """Context manager that writes encoded records, in parts, to the folder of a dataset.

    Records are added in pieces. In a file, the bins of a column are contiguous, because compiled
    loops read a part column by column. On exit, the parts are removed unless :meth:`keep` was
    called. On entry, parts that a killed process left behind are removed.
    """

    def __init__(self, description: Description, folder: Path) -> None:
        domain = description.domain
        self._folder = folder.absolute()
        self._domain, self._n_rows = domain, description.n_rows
        shape = len(domain.columns), min(description.part_rows, max(1, description.n_rows))
        self._buffer: NDArray[Any] = np.empty(shape, dtype=code_type(domain.n_bins))
        self._n_buffered = 0
        self._labels: list[NDArray[np.int8]] = []
        self._sizes: list[int] = []
        self._checksum = Checksum(domain)
        self._checksum.begin("X", self._buffer.dtype, (self._n_rows, shape[0]))
        self.n_rows = 0

    def __enter__(self) -> Self:
        with write_errors(self._folder):
            self._folder.mkdir(parents=True, exist_ok=True)
            self._lock = ExitStack()
            self._lock.enter_context(lock_folder(self._folder))
            self._remove(UNFINISHED)
            self._temporary = Path(tempfile.mkdtemp(prefix=UNFINISHED, dir=self._folder))
        return self

    def __exit__(self, *error: object) -> None:
        shutil.rmtree(self._temporary, ignore_errors=True)
        self._lock.close()

    def _remove(self, prefix: str, kept: str = "") -> None:
        for path in self._folder.glob(f"{prefix}*"):
            if path.name != kept:
                shutil.rmtree(path, ignore_errors=True)

    def add(self, X: Codes, y: NDArray[np.int8], persons: Sequence[str]) -> None:
        """Add bins and labels of records; partitioned datasets have no persons."""
        assert not persons
        self._checksum.add(X)
        self._labels.append(y)
        self.n_rows += len(y)
        rows = X.T
        while rows.shape[1]:
            room = self._buffer.shape[1] - self._n_buffered
            some, rows = rows[:, :room], rows[:, room:]
            self._buffer[:, self._n_buffered : self._n_buffered + some.shape[1]] = some
            self._n_buffered += some.shape[1]
            if self._n_buffered == self._buffer.shape[1]:
                self._write()

    def _write(self) -> None:
        """Write the buffered bins to a file, as the next part."""
        codes = np.ascontiguousarray(self._buffer[:, : self._n_buffered])
        path = self._path_of(len(self._sizes))
        replace_file(path, partial(np.save, arr=codes, allow_pickle=False))
        self._sizes.append(self._n_buffered)
        self._n_buffered = 0

    def _path_of(self, number: int) -> Path:
        return self._temporary / f"{number:05d}.npy"

    @property
    def coded(self) -> Coded:
        """The labels of all records that were added so far; the bins are only in the files."""
        if self._n_buffered:
            self._write()
        y = np.concatenate(self._labels) if self._labels else np.empty(0, dtype=np.int8)
        no_codes = np.empty((0, len(self._buffer)), dtype=self._buffer.dtype)
        return Coded(no_codes, y, self.n_rows, np.empty(0, dtype=np.intp))

    def checksum(self, train: Coded, more: Mapping[str, NDArray[Any]]) -> str:
        """Write the labels of each part to its file, and return the checksum of the dataset.

        The partition does not change the checksum. `more` has the arrays of the test set.
        """
        self._checksum.add_all({"y": train.y, **more})
        ends = np.cumsum(self._sizes)
        for number, labels in enumerate(np.split(train.y, ends[:-1])):
            write = partial(np.save, arr=labels, allow_pickle=False)
            replace_file(labels_of(self._path_of(number)), write)
        return self._checksum.text

    def keep(self, checksum: str) -> tuple[Part, ...]:
        """Move the parts to the folder with their final name; remove older folders of parts.

        Returns the parts at their new paths.
        """
        place = self._folder / f"{PARTS}{checksum[:16]}"
        digests = [digest_of(self._path_of(number)) for number in range(len(self._sizes))]
        with write_errors(place):
            if place.exists():
                shutil.rmtree(place)
            self._temporary.rename(place)
        self._remove(PARTS, kept=place.name)
        return tuple(
            Part(str(place / self._path_of(number).name), size, digest, self._domain.n_bins)
            for number, (size, digest) in enumerate(zip(self._sizes, digests, strict=True))
        )
