"""Generate the records of a dataset that has no files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from privcurve.datasets.description import TRAIN, Description
from privcurve.datasets.errors import DatasetError, Problems
from privcurve.datasets.reading.formats import FileKind
from privcurve.datasets.reading.table import RawTable


def read(
    description: Description, file: None, problems: Problems, most: int | None = None
) -> Iterator[RawTable]:
    """Yield the generated records of :func:`toy_line` in one piece, up to `most` records."""
    n_rows = description.raw_sizes.get(TRAIN, description.n_rows)
    columns = toy_line(n_rows, description.parser.seed)
    yield RawTable("generator toy_line", columns, range(1, n_rows + 1), "record").head(most)


def toy_line(n_rows: int, seed: int) -> dict[str, Any]:
    """Generate the toy example of the paper on partially private features (BRC), §4.

    The private feature ``position`` is 0 … n−1, each once; the label is ``-`` for the lower half
    and ``+`` for the upper half. The public feature ``coin`` is heads for exactly half of the
    records of each label, so that it is uncorrelated with the label.
    """
    if n_rows < 4 or n_rows % 4:
        raise DatasetError(f"toy_line: n_rows must be a positive multiple of 4; got {n_rows}")
    rng = np.random.Generator(np.random.PCG64(seed))
    quarter = n_rows // 4
    sides = np.array(["heads", "tails"]).repeat(quarter)
    coin = np.concatenate([rng.permutation(sides), rng.permutation(sides)])
    label = np.array(["-", "+"]).repeat(2 * quarter)
    order = rng.permutation(n_rows)
    return {
        "position": order.astype(np.float64),
        "coin": coin[order].tolist(),
        "label": label[order].tolist(),
    }


KIND = FileKind("generated", read, keys=("loader", "seed"), has_files=False)
