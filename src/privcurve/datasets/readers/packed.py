"""Packed files, unpacked a piece at a time and no further than a bound."""

from __future__ import annotations

import gzip
import io
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, cast

_GZIP = b"\x1f\x8b"
_COMPRESS = b"\x1f\x9d"
_PIECE = 1 << 18
# Bits of a code of compress.
_WIDEST = 16

# Packed tables are a tenth of their size. What holds more than this, and so many times as much as
# it has bytes, is no table, but made to fill a memory or a day.
MOST_UNPACKED = 1 << 30
MOST_TIMES = 100


def opened(path: Path) -> BinaryIO:
    """Open a file for its bytes; ``.gz`` and ``.Z`` (Unix `compress`) are unpacked.

    What gzip has packed is unpacked under any name: no text begins so. Bytes that are damaged, or
    too many, raise an error while they are read (`ValueError`, `EOFError`, `zlib.error`).
    """
    file = path.open("rb")
    if path.suffix == ".Z":
        pieces = _from_compress(file.read())
    elif path.suffix == ".gz" or file.peek(2)[:2] == _GZIP:
        pieces = _from_gzip(file)
    else:
        return file
    return joined(_bounded(pieces, path.stat().st_size), file)


def joined(pieces: Iterator[bytes], source: BinaryIO | None = None) -> BinaryIO:
    """Return a file of pieces that come one after another; `source` is closed with it."""
    return cast(BinaryIO, io.BufferedReader(_Pieces(pieces, source), _PIECE))


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


def _bounded(pieces: Iterable[bytes], packed: int) -> Iterator[bytes]:
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


def _from_gzip(file: BinaryIO) -> Iterator[bytes]:
    with gzip.GzipFile(fileobj=file, mode="rb") as stream:
        while piece := stream.read(_PIECE):
            yield piece


def _from_compress(data: bytes) -> Iterator[bytes]:
    """Unpack what Unix `compress` packed (LZW with codes of 9 to 16 bits)."""
    if len(data) < 3 or data[:2] != _COMPRESS:
        raise ValueError("it does not begin as files of compress do")
    # Of the last code; of 9 bits means 10.
    last_width, has_clear = max(data[2] & 0x1F, 10), bool(data[2] & 0x80)
    if data[2] & 0x60 or not 9 <= data[2] & 0x1F <= _WIDEST:
        raise ValueError("it is no file of compress, or a damaged one")
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
        if len(out) >= _PIECE:
            yield bytes(out)
            out.clear()
    yield bytes(out)


def _next_group(start: int, n_read: int, width: int) -> int:
    """Return where codes of another width begin: they come in groups of eight."""
    return start + width * -(-n_read // 8)


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
