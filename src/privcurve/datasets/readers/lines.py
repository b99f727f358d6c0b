"""Open raw files, compressed or not, and give their lines."""

from __future__ import annotations

import gzip
import io
import unicodedata
from collections.abc import Generator
from pathlib import Path
from typing import BinaryIO, cast

from privcurve.datasets.description import Parser

_GZIP = b"\x1f\x8b"


def opened(path: Path) -> BinaryIO:
    """Open a file for its bytes; ``.gz`` and ``.Z`` (Unix `compress`) are unpacked.

    What gzip has packed is unpacked under any name: no text begins so.

    Raises
    ------
    ValueError
        If a ``.Z`` file is damaged. A damaged ``.gz`` shows while it is read.
    """
    if path.suffix == ".Z":
        from unlzw3 import unlzw

        return io.BytesIO(unlzw(path.read_bytes()))
    file = path.open("rb")
    if path.suffix == ".gz" or file.peek(2)[:2] == _GZIP:
        file.close()
        return cast(BinaryIO, gzip.open(path, "rb"))
    return file


def lines(path: Path, parser: Parser) -> Generator[tuple[int, str], None, None]:
    """Yield (line number from 1, text), without blank lines and comments.

    Text is brought into one form of Unicode (NFC), as descriptions are.
    """
    return lines_of(opened(path), parser)


def lines_of(file: BinaryIO, parser: Parser) -> Generator[tuple[int, str], None, None]:
    """Yield the lines of an open file as :func:`lines` does, and close it."""
    with io.TextIOWrapper(file, encoding=parser.encoding, newline="") as stream:
        for number, line in enumerate(stream, start=1):
            if number <= parser.skip_rows or not line.strip():
                continue
            if parser.comment and line.startswith(parser.comment):
                continue
            yield number, line if line.isascii() else unicodedata.normalize("NFC", line)
