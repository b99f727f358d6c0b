"""The store of finished runs: append-only files with a line per run.

Each job appends to a file of its own. As no two jobs write to one file, duplicate jobs, killed jobs
and network file systems do no harm. A line is a JSON object with a checksum, and is written at
once. Torn lines (a killed writer, a loss of power) and lines with a wrong checksum (a damaged disk)
are skipped.

There is no index. A job reads all files of its folder, at a million lines per second, and keeps the
runs whose ids it needs.
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

# A line is {"id":"…","result":{…},"code":"…","crc":"…"}: `code` is a checksum of the code that
# trained the run (provenance.py), `crc` the CRC-32 of all before it, in eight digits. The id, of 64
# characters, can be read without parsing. Earlier versions wrote no code.
START = b'{"id":"'
ID = slice(len(START), len(START) + 64)
CHECKSUM = b',"crc":"%08x"}'
CHECKED = slice(None, -len(CHECKSUM % 0))


class Stored(NamedTuple):
    """A finished run: its result, and a checksum of the code that trained it; empty if unknown."""

    result: dict[str, Any]
    code: str


def _has(result: Mapping[str, Any], score: str) -> bool:
    """Return whether a result has a score.

    The score may be null for a measure of `NEW`: the learner then lacks the measure.
    """
    return result.get(score) is not None or (score in NEW and score in result)


class Store:
    """The finished runs in one folder, which is created when a run is added."""

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

        If the same code trained a run twice, the results differ only in timings, and the first one
        by file name is returned. If different code trained a run, the first result for which
        ``is_current(id, code)`` is true is returned; if it is true for no result, the last result.
        Results without one of `scores`, which earlier versions stored, are ignored.
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
        """Yield the ids of all lines, without parsing results; an id may occur several times."""
        for path in self._paths():
            yield from (name for name, _ in _lines(path))

    def _paths(self) -> list[Path]:
        return sorted(self.folder.glob("*.jsonl"))

    def add(self, run_id: str, result: dict[str, Any], code: str) -> None:
        """Append one finished run, whose result is plain JSON.

        Raises WriteError if that fails; earlier runs are kept.
        """
        text = json.dumps({"id": run_id, "result": result, "code": code}, separators=(",", ":"))
        line = text.removesuffix("}").encode()
        with write_errors(self.folder):
            append(self._open().fileno(), line + CHECKSUM % zlib.crc32(line) + b"\n")

    def check(self) -> None:
        """Raise WriteError if runs can't be added. To be called before runs are trained."""
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
        """Close the file; raise WriteError if the file system reports a failure only now."""
        if self._file is None:
            return
        file, self._file = self._file, None
        with write_errors(self.folder):
            try:
                # A network file system may report a full disk only here.
                os.fsync(file.fileno())
            finally:
                file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _lines(path: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the id and the text of each line that is neither torn nor damaged."""
    n_damaged = first = 0
    with path.open("rb") as lines:
        for number, raw in enumerate(lines, start=1):
            line = raw.rstrip(b"\n")
            # Begin at the last START: a torn line or NUL bytes may precede the complete line.
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
