"""Lines of raw files of text."""

from __future__ import annotations

import io
import unicodedata
from collections.abc import Generator, Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from privcurve.datasets.description import Parser
from privcurve.datasets.readers.packed import opened

Line = tuple[int, str]


def lines(path: Path, parser: Parser) -> Generator[Line, None, None]:
    """Yield (line number from 1, text) of all lines below those that the parser skips.

    Text is brought into one form of Unicode (NFC), as descriptions are.
    """
    return lines_of(opened(path), parser)


def lines_of(file: BinaryIO, parser: Parser) -> Generator[Line, None, None]:
    """Yield the lines of an open file as :func:`lines` does, and close it."""
    with io.TextIOWrapper(file, encoding=parser.encoding, newline="") as stream:
        for number, line in enumerate(stream, start=1):
            if number > parser.skip_rows:
                yield number, line if line.isascii() else unicodedata.normalize("NFC", line)


def with_words(numbered: Iterable[Line], comment: str) -> Iterator[Line]:
    """Yield the lines that are neither blank nor comments."""
    return ((number, line) for number, line in numbered if says_something(line, comment))


def says_something(line: str, comment: str) -> bool:
    """Whether a line is neither blank nor a comment."""
    return bool(line.strip()) and not (comment and line.startswith(comment))
