"""Raw files of text: their lines, and pieces of whole lines."""

from __future__ import annotations

import codecs
import io
import unicodedata
from collections.abc import Callable, Generator, Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import BinaryIO, TypeVar

from privcurve.datasets.description import Parser
from privcurve.datasets.readers.packed import opened

Line = tuple[int, str]
Found = TypeVar("Found")

_LIKE_ASCII = ("utf-8", "utf-8-sig", "ascii", "cp1252", "iso8859-1")

# Bytes that are read at once.
PIECE = 1 << 20


def lines(path: Path, parser: Parser) -> Generator[Line, None, None]:
    """Yield (line number from 1, text) of all lines below those that the parser skips."""
    for number, line in lines_of(opened(path), parser.encoding):
        if number > parser.skip_rows:
            yield number, line


def lines_of(file: BinaryIO, encoding: str, first: int = 1) -> Generator[Line, None, None]:
    """Yield the numbered lines of an open file, and close it.

    Text is brought into one form of Unicode (NFC), as descriptions are.
    """
    with io.TextIOWrapper(file, encoding=encoding, newline="") as stream:
        for number, line in enumerate(stream, start=first):
            yield number, line if line.isascii() else unicodedata.normalize("NFC", line)


def ends_in_bytes(encoding: str) -> bool:
    """Whether a line ends where a byte is that of a line feed."""
    return codecs.lookup(encoding).name in _LIKE_ASCII


def pieces_of(file: BinaryIO, encoding: str) -> Iterator[bytes]:
    """Yield the bytes of an open file in pieces, and close it.

    A piece ends where a line does, where bytes tell that.
    """
    end_of_line = b"\n" if ends_in_bytes(encoding) else b""
    with file:
        rest: list[bytes] = []
        while piece := file.read(PIECE):
            end = piece.rfind(end_of_line) + len(end_of_line)
            if end:
                yield b"".join([*rest, piece[:end]])
                rest = []
            rest.append(piece[end:])
        if any(rest):
            yield b"".join(rest)


def peeked(
    pieces: Iterator[bytes], look: Callable[[Iterator[bytes]], Found]
) -> tuple[Found, Iterator[bytes]]:
    """Return what a look at the first pieces finds, and all pieces."""
    seen: list[bytes] = []

    def noted() -> Iterator[bytes]:
        for piece in pieces:
            seen.append(piece)
            yield piece

    return look(noted()), chain(seen, pieces)


def with_words(numbered: Iterable[Line], comment: str) -> Iterator[Line]:
    """Yield the lines that are neither blank nor comments."""
    return ((number, line) for number, line in numbered if says_something(line, comment))


def says_something(line: str, comment: str) -> bool:
    """Whether a line is neither blank nor a comment."""
    return bool(line.strip()) and not (comment and line.startswith(comment))
