"""What is already trained: append-only files of finished cells, by cell id.

Every job appends to a file of its own, so nothing is shared between writers: twins,
killed jobs and network file systems do no harm. A line is a whole JSON object and is written
at once; a torn one (a killed writer, a loss of power) is skipped.

The name of a file tells which cells can be in it (:mod:`privcurve.experiments.keys`), so that
a job reads its own part of a store of millions. A file without such a mark is always read.
"""

from __future__ import annotations

import json
import logging
import os
import re
import socket
import time
import uuid
from collections.abc import Container, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from privcurve.experiments.keys import Keys
from privcurve.files import append, cannot_write

logger = logging.getLogger(__name__)

# A line is {"id":"…","result":{…}}; the id, of 64 characters, can be told without parsing.
START, END = b'{"id":"', b"}}"
ID = slice(len(START), len(START) + 64)
ID_FORM = re.compile(rb"[0-9a-f]{64}")


class Store:
    """The finished cells of one folder.

    Parameters
    ----------
    folder : Path
        Made by a writer.
    keys : Keys, optional
        Those of all cells that will be asked for or added; without them every file is read.
    """

    def __init__(self, folder: Path, keys: Keys | None = None) -> None:
        self.folder = folder
        self._keys = keys
        self._file: int | None = None

    def read(self, ids: Container[str]) -> dict[str, dict[str, Any]]:
        """Give the stored results of the named cells, by id.

        Parameters
        ----------
        ids : container of str

        Returns
        -------
        dict of str to dict
            Of those ids that are there. If a cell was trained twice, both have the same
            result but for timings; the file name that sorts first is used.
        """
        found: dict[str, dict[str, Any]] = {}
        for path in self._paths():
            for name, line in _lines(path):
                if name not in found and name in ids:
                    try:
                        found[name] = json.loads(line)["result"]
                    except (ValueError, KeyError):
                        logger.info("%s: what it says of cell %s is damaged", path, name)
        return found

    def ids(self) -> Iterator[str]:
        """Give the ids of the cells in all files that `keys` allows, some of them twice.

        Results are not looked at, so this is quick.
        """
        for path in self._paths():
            yield from (name for name, _ in _lines(path))

    def _paths(self) -> Iterator[Path]:
        for path in sorted(self.folder.glob("*.jsonl")):
            if self._keys is None or self._keys.may_hold(path.name):
                yield path

    def add(self, cell_id: str, result: dict[str, Any]) -> None:
        """Append one finished cell.

        Parameters
        ----------
        cell_id : str
        result : dict
            Plain JSON values.

        Raises
        ------
        OSError
            If the disk is full, for example; what was added before is kept.
        """
        line = json.dumps({"id": cell_id, "result": result}, separators=(",", ":")) + "\n"
        try:
            append(self._open(), line.encode())
        except OSError as error:
            raise cannot_write(self.folder, error) from error

    def check(self) -> None:
        """Find out whether cells can be added, before they are trained.

        Raises
        ------
        OSError
            If the file that they are added to can't be made.
        """
        try:
            self._open()
        except OSError as error:
            raise cannot_write(self.folder, error) from error

    def _open(self) -> int:
        if self._file is not None:
            return self._file
        self.folder.mkdir(parents=True, exist_ok=True)
        stamp = time.strftime("%Y%m%dT%H%M%S", time.gmtime())
        writer = f"{stamp}-{socket.gethostname()}-{os.getpid()}-{uuid.uuid4().hex[:8]}"
        name = f"{writer}{self._keys.mark if self._keys else ''}.jsonl"
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_EXCL
        self._file = os.open(self.folder / name, flags, 0o644)
        return self._file

    def close(self) -> None:
        """Close the file that was appended to.

        Raises
        ------
        OSError
            If the system finds only now that it can't keep what was added.
        """
        if self._file is None:
            return
        file, self._file = self._file, None
        try:
            try:
                # A network file system may tell here, and not before, that its disk is full.
                os.fsync(file)
            finally:
                os.close(file)
        except OSError as error:
            raise cannot_write(self.folder, error) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _lines(path: Path) -> Iterator[tuple[str, bytes]]:
    """Give the id and the text of each line that is not torn."""
    with path.open("rb") as lines:
        for number, raw in enumerate(lines, start=1):
            line = raw.rstrip(b"\n")
            # From the last start: before it may be a torn line without an end, or NUL bytes.
            start = line.rfind(START)
            whole = line[start:]
            if start < 0 or not line.endswith(END) or not ID_FORM.fullmatch(whole[ID]):
                logger.info("%s: line %d is torn and was skipped", path, number)
                continue
            yield whole[ID].decode("ascii"), whole
