"""Datasets without files: datasets that scikit-learn contains, and a generated one."""

from __future__ import annotations

from typing import Any

import numpy as np

from privcurve.datasets.description import SKLEARN, TRAIN, Description
from privcurve.datasets.errors import DatasetError
from privcurve.datasets.reading.table import RawTable


def make(description: Description) -> RawTable:
    """Return all records of a dataset without files: from scikit-learn, or generated."""
    if description.parser.kind == SKLEARN:
        return load_sklearn(description)
    n_rows = description.raw_sizes.get(TRAIN, description.n_rows)
    columns = toy_line(n_rows, description.parser.seed)
    return RawTable("generator toy_line", columns, range(1, n_rows + 1), "record")


def load_sklearn(description: Description) -> RawTable:
    """Read a dataset that ships with scikit-learn.

    Columns have scikit-learn's feature names, labels its target names.
    """
    from sklearn import datasets

    bunch = getattr(datasets, description.parser.loader)()
    columns: dict[str, Any] = {
        str(name): bunch.data[:, j] for j, name in enumerate(bunch.feature_names)
    }
    columns[description.label.column] = [str(bunch.target_names[k]) for k in bunch.target]
    source = f"sklearn.datasets.{description.parser.loader}"
    return RawTable(source, columns, range(1, len(bunch.target) + 1), "record")


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
