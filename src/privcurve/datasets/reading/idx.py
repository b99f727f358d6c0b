"""Read idx files, the format of MNIST: images in one file, their labels in another."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from privcurve.datasets.description import LABEL
from privcurve.datasets.errors import DatasetError, Problems
from privcurve.datasets.reading.downloads import RawFile
from privcurve.datasets.reading.files import open_raw
from privcurve.datasets.reading.formats import BY_NUMBER, FileKind
from privcurve.datasets.reading.table import (
    READ_ERRORS,
    AnyDescription,
    Layout,
    RawTable,
    Unlabelled,
    UnlabelledFile,
    chunk_size,
    find_unused,
    subject,
)

_BYTES = 0x08  # the code of unsigned bytes, the type of the pixels and of the labels


def is_idx(path: Path) -> bool:
    """Return whether a file, packed or not, begins like an idx file of bytes."""
    with open_raw(path) as stream:
        return stream.read(3) == bytes([0, 0, _BYTES])


def read(
    description: AnyDescription, file: RawFile, problems: Problems, most: int | None = None
) -> Iterator[RawTable]:
    """Read a file of images in pieces, with the file of its labels if there is one."""
    fields, blocks = description.parser.fields, description.parser.blocks
    with ExitStack() as stack:
        images = stack.enter_context(open_raw(file.path))
        streams = [(images, file.path)]
        count, *shape = _read_shape(images)
        if file.labels is not None:
            labels = stack.enter_context(open_raw(file.labels))
            streams.append((labels, file.labels))
            _check_labels(labels, file.labels, count)
        if any(side % blocks for side in shape):
            raise ValueError(
                f"images of {_write_shape(shape)} pixels can't be divided into blocks of {blocks}"
            )
        width = math.prod(side // blocks for side in shape)
        if width != len(fields):
            expected = f"the model was trained on {len(fields)}"
            if description.label is not None:
                expected = f"parser: fields in {description.path} has {len(fields)} names. Give it "
                expected += f"{width}."
            raise DatasetError(
                f"{subject(description)}{file.path} has {width} numbers per image "
                f"({_write_shape(shape)} pixels in blocks of {blocks}), but {expected}"
            )
        step = chunk_size(math.prod(shape))
        n_images = count if most is None else min(count, most)
        for first in range(0, n_images, step):
            n = min(step, n_images - first)
            pixels = _read_bytes(images, n * math.prod(shape)).reshape(n, *shape)
            numbers = _average_blocks(pixels, blocks)
            columns: dict[str, Any] = {name: numbers[:, j] for j, name in enumerate(fields)}
            if file.labels is not None:
                with _label_errors(file.labels):
                    columns[LABEL] = [str(label) for label in _read_bytes(labels, n)]
            lines = range(first + 1, first + n + 1)
            yield RawTable(str(file.path), columns, lines, "image")
            if problems.full:
                return
        if n_images == count:
            for stream, path in streams:
                if stream.read(1):
                    raise ValueError(f"{path} must end after its {count} entries; it continues")


def _check_labels(labels: BinaryIO, path: Path, n_images: int) -> None:
    with _label_errors(path):
        n_labels, *more = _read_shape(labels)
        if more:
            raise ValueError(
                "its labels must be one byte per image; it has "
                f"{_write_shape([n_labels, *more])} bytes"
            )
    if n_images != n_labels:
        raise ValueError(f"it has {n_images} images, but {path} has {n_labels} labels")


@contextmanager
def _label_errors(path: Path) -> Iterator[None]:
    """Add the name of the file of labels to read errors.

    The caller would report such an error with the name of the file of images alone.
    """
    try:
        yield
    except READ_ERRORS as error:
        raise ValueError(f"its labels, {path}: {error}") from error


def _read_shape(stream: BinaryIO) -> tuple[int, ...]:
    """Read the header of an idx file, and return the number of entries along each axis.

    Raises ValueError if it is not an idx file of bytes.
    """
    zero, kind, axes = struct.unpack(">HBB", _read_exactly(stream, 4))
    if zero or kind != _BYTES or not axes:
        raise ValueError("it must be an idx file of bytes; it is not")
    return tuple(struct.unpack(f">{axes}I", _read_exactly(stream, 4 * axes)))


def _read_bytes(stream: BinaryIO, n: int) -> NDArray[np.uint8]:
    return np.frombuffer(_read_exactly(stream, n), dtype=np.uint8)


def _read_exactly(stream: BinaryIO, n: int) -> bytes:
    data = stream.read(n)
    if len(data) < n:
        raise EOFError("it ends too early")
    return data


def _average_blocks(pixels: NDArray[np.uint8], blocks: int) -> NDArray[np.float64]:
    """Return the mean of each block of `blocks` × `blocks` pixels, one row per image."""
    n, *shape = pixels.shape
    split = [part for side in shape for part in (side // blocks, blocks)]
    # Sums of bytes are whole numbers and so exact: the mean is the same on every machine.
    within = tuple(range(2, 2 + 2 * len(shape), 2))
    sums = pixels.reshape(n, *split).sum(axis=within, dtype=np.uint32)
    return sums.reshape(n, -1) / float(blocks ** len(shape))


def _write_shape(shape: list[int]) -> str:
    return " × ".join(map(str, shape)) or "1"


def open_images(wanted: Unlabelled, path: Path, layout: Layout) -> UnlabelledFile:
    """Open a file of images for prediction; it must have the layout of the training files.

    Raises DatasetError if the labels are needed, but their file is not given.
    """
    parser = layout.of("idx")
    assert parser is not None
    if LABEL in wanted.copied and layout.labels is None:
        raise DatasetError(
            f"{path} has images without labels: evaluate needs the file of the labels (--labels)"
        )
    description = replace(wanted, parser=parser)
    ignored = find_unused(wanted, [*parser.fields, LABEL])
    file = RawFile(path, layout.labels)
    return UnlabelledFile(description, ignored, partial(read, description, file))


KIND = FileKind(
    "idx",
    read,
    keys=("blocks",),
    naming=BY_NUMBER,
    has_content=is_idx,
    open=open_images,
    has_labels=True,
)
