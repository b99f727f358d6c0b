"""Store finished runs in append-only files with one line per run.

Each job appends to a file of its own. As no two jobs write to one file, duplicate jobs, killed jobs
and network file systems do no harm. A line is a JSON object with a checksum, and is written in one
call. Readers skip incomplete lines, which a killed job or a loss of power may leave, and lines with
a wrong checksum, which a damaged disk may cause.

There is no index. A job reads all files of its folder, about a million lines per second, and keeps
the runs whose ids it needs.
"""

from __future__ import annotations

import json
import logging
import os
import socket
import time
import uuid
import zlib
from collections.abc import Callable, Collection, Container, Iterator, Mapping
from pathlib import Path
from typing import IO, Any, NamedTuple, Self

from privcurve.analysis.measures import NEW
from privcurve.files import append, write_errors

logger = logging.getLogger(__name__)

# Format of a line: {"id":"…","result":{…},"code":"…","crc":"…"}. `code` is a checksum of the code
# that trained the run (provenance.py); lines of earlier versions lack it. `crc` is the CRC-32 of
# all that precedes it, in eight digits. The id has 64 characters, so that it can be read without
# parsing.
START = b'{"id":"'
ID = slice(len(START), len(START) + 64)
CHECKSUM = b',"crc":"%08x"}'
CHECKED = slice(None, -len(CHECKSUM % 0))


class Stored(NamedTuple):
    """The result of a finished run, and the checksum of its code (empty if unknown)."""

    result: dict[str, Any]
    code: str


def _has(result: Mapping[str, object], score: str) -> bool:
    """Return whether a stored result is complete with respect to a score.

    Null is complete for a measure in `NEW`: it says that the learner does not have this measure.
    """
    return result.get(score) is not None or (score in NEW and score in result)


class Store:
    """Reads and adds finished runs in one folder; adding the first run creates the folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._file: IO[bytes] | None = None

    def read(
        self,
        ids: Container[str],
        scores: Collection[str] = (),
        is_current: Callable[[str, str], bool] = lambda run_id, code: True,
    ) -> dict[str, Stored]:
        """Return the stored results of the runs in `ids`, by id.

        Results that lack one of `scores`, as earlier versions stored them, are ignored. If several
        versions of the code trained a run, the result is the first one for which ``is_current(id,
        code)`` is true, or else the last one. If the same code trained a run twice, the result is
        the first one by file name, as the two differ only in timings.
        """
        stored: dict[str, Stored] = {}
        for path in self._paths():
            for name, line in _lines(path):
                if name not in ids or (name in stored and is_current(name, stored[name].code)):
                    continue
                content = json.loads(line)
                one = Stored(content["result"], content.get("code", ""))
                is_same = name in stored and stored[name].code == one.code
                if not is_same and all(_has(one.result, score) for score in scores):
                    stored[name] = one
        return stored

    def ids(self) -> Iterator[str]:
        """Yield the ids of all lines, without parsing results; ids may repeat."""
        for path in self._paths():
            yield from (name for name, _ in _lines(path))

    def _paths(self) -> list[Path]:
        return sorted(self.folder.glob("*.jsonl"))

    def add(self, run_id: str, result: dict[str, Any], code: str) -> None:
        """Append one finished run; `result` is plain JSON, `code` a checksum of the code.

        Raises WriteError if the run cannot be written; earlier runs stay readable.
        """
        text = json.dumps({"id": run_id, "result": result, "code": code}, separators=(",", ":"))
        line = text.removesuffix("}").encode()
        with write_errors(self.folder):
            append(self._open().fileno(), line + CHECKSUM % zlib.crc32(line) + b"\n")

    def check(self) -> None:
        """Raise WriteError if runs cannot be added; to be called before the first training."""
        with write_errors(self.folder):
            self._open()

    def _open(self) -> IO[bytes]:
        if self._file is not None:
            return self._file
        self.folder.mkdir(parents=True, exist_ok=True)
        stamp = time.strftime("%Y%m%dT%H%M%S", time.gmtime())
        writer = f"{stamp}-{socket.gethostname()}-{os.getpid()}-{uuid.uuid4().hex[:8]}"
        self._file = (self.folder / f"{writer}.jsonl").open("ab", buffering=0)
        return self._file

    def close(self) -> None:
        """Close the file; raise WriteError if the file system reports an error on closing."""
        if self._file is None:
            return
        file, self._file = self._file, None
        with write_errors(self.folder):
            try:
                # A network file system may report a full disk only when the file is flushed to it.
                os.fsync(file.fileno())
            finally:
                file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _lines(path: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the id and text of each complete line with a valid checksum; warn of other lines."""
    n_damaged = first = 0
    with path.open("rb") as lines:
        for number, raw in enumerate(lines, start=1):
            line = raw.rstrip(b"\n")
            # Begin at the last START, as a torn line or NUL bytes may precede the complete line.
            start = line.rfind(START)
            text = line[start:]
            if start >= 0 and text.endswith(CHECKSUM % zlib.crc32(text[CHECKED])):
                yield text[ID].decode("ascii"), text
            else:
                n_damaged += 1
                first = first or number
    if n_damaged:
        logger.warning(
            "%s: %d torn or damaged lines were skipped, the first is line %d; their runs are "
            "trained again when they are needed",
            path,
            n_damaged,
            first,
        )
