"""Open raw files, unpack them up to a limit, and read their bytes in pieces or their lines."""

from __future__ import annotations

import codecs
import gzip
import io
import re
import zipfile
from collections.abc import Callable, Generator, Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import BinaryIO, TypeVar, cast

from privcurve.datasets.description import Parser
from privcurve.datasets.reading.cells import compose

Line = tuple[int, str]  # the number of a line, counted from 1, and its text
Seen = TypeVar("Seen")

# Encodings in which the byte 10 always ends a line (in UTF-16 it may be half of a character).
_LIKE_ASCII = ("utf-8", "utf-8-sig", "ascii", "cp1252", "iso8859-1")

# Number of bytes that are read at once.
PIECE = 1 << 20

_GZIP = b"\x1f\x8b"
# The first bytes of packed files that are not supported (a pattern), and words for a message.
_PACKED = {
    b"PK\x03\x04": "a zip archive, or a workbook whose name does not end in .xlsx",
    b"BZh[1-9]1AY": "packed by bzip2",
    b"\xfd7zXZ": "packed by xz",
    b"\x1f\x9d": "packed by compress",
}
_UNPACKED_AT_ONCE = 1 << 18  # number of unpacked bytes that are read at once

# A file is refused if it unpacks to more than MOST_UNPACKED bytes and to more than MOST_TIMES times
# its packed size, because it may be an attack that fills the memory. Tables usually unpack to about
# ten times their packed size.
MOST_UNPACKED = 1 << 30
MOST_TIMES = 100


def open_raw(path: Path) -> BinaryIO:
    """Open a file to read its bytes; unpack it if it is named ``.gz`` or begins like gzip.

    Raises ValueError for other packed formats. Reading the returned file raises `ValueError`,
    `EOFError` or `zlib.error` if packed bytes are damaged, or if there are too many unpacked bytes.
    """
    file = path.open("rb")
    start = file.peek(8)
    for signature, what in _PACKED.items():
        if re.match(signature, start):
            file.close()
            raise ValueError(f"it is {what}: unpack it (only .gz is supported)")
    if path.suffix != ".gz" and start[:2] != _GZIP:
        return file
    stream = gzip.GzipFile(fileobj=file, mode="rb")
    pieces = iter(lambda: stream.read(_UNPACKED_AT_ONCE), b"")
    return join_pieces(_limit_unpacked(pieces, path.stat().st_size), file)


def join_pieces(pieces: Iterator[bytes], source: BinaryIO | None = None) -> BinaryIO:
    """Return a file object that reads consecutive pieces of bytes; closing it closes `source`."""
    return cast(BinaryIO, io.BufferedReader(_Pieces(pieces, source), _UNPACKED_AT_ONCE))


def check_archive(path: Path) -> None:
    """Raise ValueError if a zip archive, such as an ``.xlsx`` file, unpacks to too many bytes.

    The check relies on the sizes that the archive declares, because the library that unpacks the
    archive refuses contents of any other size.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            n_unpacked = sum(part.file_size for part in archive.infolist())
    except (zipfile.BadZipFile, OSError):
        return  # an .xls file, or a damaged file, which its reader refuses
    _check_unpacked(n_unpacked, path.stat().st_size)


def _limit_unpacked(pieces: Iterable[bytes], n_packed: int) -> Iterator[bytes]:
    n_unpacked = 0
    for piece in pieces:
        n_unpacked += len(piece)
        _check_unpacked(n_unpacked, n_packed)
        yield piece


def _check_unpacked(n_unpacked: int, n_packed: int) -> None:
    most = max(MOST_UNPACKED, MOST_TIMES * n_packed)
    if n_unpacked > most:
        raise ValueError(
            f"its {n_packed:,} packed bytes contain more than {most:,} bytes: unpack it first, "
            "if it is really a table"
        )


def lines(path: Path, parser: Parser) -> Generator[Line, None, None]:
    """Yield the lines of a file, with their numbers, except the lines that the parser skips."""
    for number, line in lines_of(open_raw(path), parser.encoding):
        if number > parser.skip_rows:
            yield number, line


def lines_of(file: BinaryIO, encoding: str, first: int = 1) -> Generator[Line, None, None]:
    """Yield the lines of an open file, numbered from `first`, and then close the file.

    Lines are normalized to NFC, like the texts of descriptions. Raises UnicodeError for bytes that
    the encoding lacks.
    """
    number = first - 1
    with io.TextIOWrapper(file, encoding=encoding, newline="") as stream:
        try:
            for number, line in enumerate(stream, start=first):
                yield number, compose(line)
        except UnicodeDecodeError as error:
            raise UnicodeError(_explain_byte(error, encoding, number + 1)) from None


def _explain_byte(error: UnicodeDecodeError, encoding: str, number: int) -> str:
    """Return a message on a byte that the encoding lacks, with the number of its line.

    `number` is the number of the line in which the undecoded bytes of `error` begin.
    """
    if number == 1 and error.object.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "it seems to be written in utf-16"
    place = f"a line from {number} on"
    if has_byte_ends(encoding):
        # TextIOWrapper decodes further bytes only when it needs them to complete a line. So the
        # bytes of the error begin in line `number`.
        ends = re.findall(rb"\r\n?|\n", error.object[: error.start])
        place = f"line {number + len(ends)}"
    return f"{place} has the byte 0x{error.object[error.start]:02x}, which is not {encoding}"


def has_byte_ends(encoding: str) -> bool:
    """Return whether every byte 10 ends a line; in UTF-16 it may be half of a character."""
    return codecs.lookup(encoding).name in _LIKE_ASCII


def pieces_of(file: BinaryIO, encoding: str) -> Iterator[bytes]:
    """Yield the bytes of an open file in pieces, and then close the file.

    Pieces end at line ends, unless a byte 10 may be a part of another character in the encoding.
    """
    end_of_line = b"\n" if has_byte_ends(encoding) else b""
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


def peek(
    pieces: Iterator[bytes], look: Callable[[Iterator[bytes]], Seen]
) -> tuple[Seen, Iterator[bytes]]:
    """Return `look(pieces)` and an iterator over all pieces, including those already consumed."""
    seen: list[bytes] = []

    def note() -> Iterator[bytes]:
        for piece in pieces:
            seen.append(piece)
            yield piece

    return look(note()), chain(seen, pieces)


def nonblank_lines(numbered: Iterable[Line], comment: str) -> Iterator[Line]:
    """Yield the lines that are neither blank nor comments."""
    return ((number, line) for number, line in numbered if has_content(line, comment))


def has_content(line: str, comment: str) -> bool:
    """Return whether a line is neither blank nor a comment."""
    return bool(line.strip()) and not (comment and line.startswith(comment))


class _Pieces(io.RawIOBase):
    def __init__(self, pieces: Iterator[bytes], source: BinaryIO | None) -> None:
        self._pieces, self._source = pieces, source
        self._rest = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray) -> int:  # type: ignore[override]
        if not self._rest:
            self._rest = next(self._pieces, b"")
        n = min(len(buffer), len(self._rest))
        buffer[:n], self._rest = self._rest[:n], self._rest[n:]
        return n

    def close(self) -> None:
        if self._source is not None:
            self._source.close()
        super().close()
