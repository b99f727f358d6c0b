"""What is already trained: append-only files of finished cells, by cell id.

Every job appends to a file of its own, so nothing is shared between writers: twins,
killed jobs and network file systems do no harm. A line is written at once and is a
whole JSON object; a torn last line (a killed writer) is skipped.
"""

from __future__ import annotations

import json
import logging
import os
import socket
import time
import uuid
from collections.abc import Container
from pathlib import Path
from types import TracebackType
from typing import Any, Self

logger = logging.getLogger(__name__)


class Store:
    """The finished cells of one folder.

    Parameters
    ----------
    folder : Path
        Made when the first cell is added.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
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
        for path in sorted(self.folder.glob("*.jsonl")):
            with path.open("rb") as lines:
                for number, line in enumerate(lines, start=1):
                    # The id stands first: lines of other shards are not parsed.
                    name = line[7:71].decode("ascii", "replace")
                    if name in found or name not in ids:
                        continue
                    try:
                        row = json.loads(line)
                        found[row["id"]] = row["result"]
                    except (ValueError, KeyError, TypeError):
                        logger.warning("%s: line %d is torn and was skipped", path, number)
        return found

    def add(self, cell_id: str, result: dict[str, Any]) -> None:
        """Append one finished cell.

        Parameters
        ----------
        cell_id : str
        result : dict
            Plain JSON values.
        """
        if self._file is None:
            self.folder.mkdir(parents=True, exist_ok=True)
            stamp = time.strftime("%Y%m%dT%H%M%S", time.gmtime())
            name = f"{stamp}-{socket.gethostname()}-{os.getpid()}-{uuid.uuid4().hex[:8]}.jsonl"
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_EXCL
            self._file = os.open(self.folder / name, flags, 0o644)
        line = json.dumps({"id": cell_id, "result": result}, separators=(",", ":")) + "\n"
        data = line.encode()
        if os.write(self._file, data) != len(data):
            raise OSError(f"{self.folder}: a cell could not be written whole: is the disk full?")

    def close(self) -> None:
        """Close the file that was appended to."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
