"""Raw files: opened and unpacked up to a bound; their bytes in pieces, and their lines."""

from __future__ import annotations

import codecs
import gzip
import io
import unicodedata
import zipfile
from collections.abc import Callable, Generator, Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import BinaryIO, TypeVar, cast

from privcurve.datasets.description import Parser

Line = tuple[int, str]
Seen = TypeVar("Seen")

_LIKE_ASCII = ("utf-8", "utf-8-sig", "ascii", "cp1252", "iso8859-1")

# Bytes that are read at once.
PIECE = 1 << 20

_GZIP = b"\x1f\x8b"
_COMPRESS = b"\x1f\x9d"
_UNPACKED_AT_ONCE = 1 << 18
# Bits of a code of compress.
_WIDEST = 16

# Packed tables are a tenth of their size. What holds more than this, and so many times as much as
# it has bytes, is no table, but made to fill a memory or a day.
MOST_UNPACKED = 1 << 30
MOST_TIMES = 100


def open_raw(path: Path) -> BinaryIO:
    """Open a file for its bytes; ``.gz`` and ``.Z`` (Unix `compress`) are unpacked.

    What gzip has packed is unpacked under any name: no text begins so. Bytes that are damaged, or
    too many, raise an error while they are read (`ValueError`, `EOFError`, `zlib.error`).
    """
    file = path.open("rb")
    if path.suffix == ".Z":
        pieces = _from_compress(file.read())
    elif path.suffix == ".gz" or file.peek(2)[:2] == _GZIP:
        stream = gzip.GzipFile(fileobj=file, mode="rb")
        pieces = iter(lambda: stream.read(_UNPACKED_AT_ONCE), b"")
    else:
        return file
    return join_pieces(_check_sizes(pieces, path.stat().st_size), file)


def join_pieces(pieces: Iterator[bytes], source: BinaryIO | None = None) -> BinaryIO:
    """Return a file of pieces that come one after another; `source` is closed with it."""
    return cast(BinaryIO, io.BufferedReader(_Pieces(pieces, source), _UNPACKED_AT_ONCE))


def check_archive(path: Path) -> None:
    """Refuse a zip archive, such as an ``.xlsx``, that says that it holds too much.

    What reads it refuses a part that is larger than it says.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            held = sum(part.file_size for part in archive.infolist())
    except (zipfile.BadZipFile, OSError):
        return  # an .xls, or what is refused by who reads it
    _check(held, path.stat().st_size)


def _check_sizes(pieces: Iterable[bytes], packed: int) -> Iterator[bytes]:
    held = 0
    for piece in pieces:
        held += len(piece)
        _check(held, packed)
        yield piece


def _check(held: int, packed: int) -> None:
    most = max(MOST_UNPACKED, MOST_TIMES * packed)
    if held > most:
        raise ValueError(
            f"its {packed:,} bytes are packed, and hold more than {most:,}: unpack it first, if it "
            "is a table all the same"
        )


def lines(path: Path, parser: Parser) -> Generator[Line, None, None]:
    """Yield (line number from 1, text) of all lines below those that the parser skips."""
    for number, line in lines_of(open_raw(path), parser.encoding):
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
    """Return whether a line ends where a byte is that of a line feed."""
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


def peek(
    pieces: Iterator[bytes], look: Callable[[Iterator[bytes]], Seen]
) -> tuple[Seen, Iterator[bytes]]:
    """Return what a look at the first pieces finds, and all pieces."""
    seen: list[bytes] = []

    def note() -> Iterator[bytes]:
        for piece in pieces:
            seen.append(piece)
            yield piece

    return look(note()), chain(seen, pieces)


def with_words(numbered: Iterable[Line], comment: str) -> Iterator[Line]:
    """Yield the lines that are neither blank nor comments."""
    return ((number, line) for number, line in numbered if says_something(line, comment))


def says_something(line: str, comment: str) -> bool:
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


def _from_compress(data: bytes) -> Iterator[bytes]:
    """Unpack what Unix `compress` packed (LZW with codes of 9 to 16 bits)."""
    if len(data) < 3 or data[:2] != _COMPRESS:
        raise ValueError("it does not begin as files of compress do")
    # Of the last code; of 9 bits means 10.
    last_width, has_clear = max(data[2] & 0x1F, 10), bool(data[2] & 0x80)
    if data[2] & 0x60 or not 9 <= data[2] & 0x1F <= _WIDEST:
        raise ValueError("it is not a file of Unix compress, or is damaged")
    # What an entry of the table stands for: that of an earlier one, and one byte more.
    before, byte = [0] * (1 << _WIDEST), [0] * (1 << _WIDEST)
    last = 256 if has_clear else 255
    width, start, n_read = 9, 3, 0
    previous = first = -1
    out = bytearray()
    while True:
        if last >= (1 << width) - 1 and width < last_width:
            start, n_read, width = _next_group(start, n_read, width), 0, width + 1
        place = 8 * start + width * n_read
        left = 8 * len(data) - place
        if left < width:
            if left >= 8:
                raise ValueError("it ends too early")
            break
        word = int.from_bytes(data[place >> 3 : (place >> 3) + 4], "little") >> (place & 7)
        code = word & ((1 << width) - 1)
        n_read += 1
        if code == 256 and has_clear:
            start, n_read, width, last = _next_group(start, n_read, width), 0, 9, 255
            continue
        if code > (255 if previous < 0 else last + 1) or (code > last and previous > last):
            raise ValueError("it is damaged")
        entry = bytearray()
        step = code
        if code > last:  # the entry that comes next: the last one, and its own first byte
            entry.append(first)
            step = previous
        while step >= 256:
            entry.append(byte[step])
            step = before[step]
        entry.append(step)
        first = step
        if previous >= 0 and last < (1 << width) - 1:
            last += 1
            before[last], byte[last] = previous, first
        previous = code
        entry.reverse()
        out += entry
        if len(out) >= _UNPACKED_AT_ONCE:
            yield bytes(out)
            out.clear()
    yield bytes(out)


def _next_group(start: int, n_read: int, width: int) -> int:
    """Return where codes of another width begin: they come in groups of eight."""
    return start + width * -(-n_read // 8)
