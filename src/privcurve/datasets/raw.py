"""Read unencoded records of datasets, for models without privacy that show the cost of encoding.

The records are read when they are needed, and never stored: folders of datasets contain only
encoded records.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from privcurve.datasets.catalogue import describe
from privcurve.datasets.coding import Markers, category_texts, read_amounts, strip_point
from privcurve.datasets.dataset import Dataset
from privcurve.datasets.domain import NUMERIC, Column, Domain
from privcurve.datasets.errors import DatasetError
from privcurve.datasets.load import load_rows
from privcurve.datasets.reading import RawTable, list_cells

# Maximum number of categories in a column, as in scikit-learn's histogram gradient boosting.
MOST_CATEGORIES = 255

Matrix = NDArray[np.float64]


class Columns(NamedTuple):
    """The columns of a dataset as matrices of numbers; NaN means a missing value."""

    # (n_rows, n_columns): numbers as in the file; categories as 0, 1, …, in no meaningful order
    X: Matrix
    X_test: Matrix | None  # (n_test, n_columns)
    categorical: tuple[bool, ...]  # whether each column is categorical


def raw_columns(dataset: Dataset) -> Columns:
    """Read the unencoded columns of an encoded dataset from its files, in the order of its rows.

    Numbers are neither clipped nor binned, and dates are days since 1970-01-01. Each text of a
    categorical column is a category of its own, even if the domain puts several texts into one bin.
    If there are more than `MOST_CATEGORIES`, the rarest are merged into one category.
    Raises DatasetError like :func:`privcurve.datasets.load`, and if the files or the description
    have changed since the dataset was encoded.
    """
    description = describe(dataset.name)
    pieces = _Pieces(description.domain)
    loaded, rows, test_rows = load_rows(dataset.name, watch=pieces.add)
    if (loaded.checksum, loaded.sources) != (dataset.checksum, dataset.sources):
        raise DatasetError(
            f"dataset {dataset.name!r}: its files or its description changed after it was "
            "encoded; run the same command again, which encodes it anew."
        )
    X = pieces.join()
    categorical = tuple(column.kind != NUMERIC for column in description.domain.columns)
    return Columns(X[rows], X[test_rows] if len(test_rows) else None, categorical)


def coded_columns(dataset: Dataset) -> Columns:
    """Return the bins of a dataset as columns of numbers, to compare with :func:`raw_columns`.

    In numeric columns, the bin for missing values becomes NaN. In categorical columns, rare
    categories are merged as in :func:`raw_columns`.
    """
    columns = dataset.domain.columns

    def convert(codes: NDArray[Any]) -> Matrix:
        X = codes.astype(np.float64)
        for j, column in enumerate(columns):
            if column.kind != NUMERIC:
                counts = np.bincount(dataset.X[:, j], minlength=column.n_bins)
                X[:, j] = _merge_rare(X[:, j], dict(enumerate(counts.tolist())))
            elif column.missing_bin:
                X[X[:, j] == column.bins, j] = np.nan
        return X

    test = None if dataset.X_test is None else convert(dataset.X_test)
    categorical = tuple(column.kind != NUMERIC for column in columns)
    return Columns(convert(dataset.X), test, categorical)


class _Pieces:
    """Collects the records of a dataset, piece by piece, as rows of numbers."""

    def __init__(self, domain: Domain) -> None:
        self._domain = domain
        self._pieces: list[Matrix] = []
        # For the categorical column at each index, `_numbers` maps each text to the number that
        # encodes the text, and `_counts` maps this number to the number of records with the text.
        self._numbers: dict[int, dict[str, int]] = {}
        self._counts: dict[int, Counter[int]] = {}
        self._markers = [Markers(domain.missing_in(c), domain.decimal) for c in domain.columns]

    def add(self, table: RawTable) -> None:
        """Add the records of a piece."""
        domain = self._domain
        X = np.empty((len(table.lines), len(domain.columns)))
        for j, column in enumerate(domain.columns):
            values = table.columns[column.name]
            if column.kind == NUMERIC:
                X[:, j] = read_amounts(domain, column, values)[0]
            else:
                X[:, j] = self._number_categories(j, column, values)
        self._pieces.append(X)

    def _number_categories(self, j: int, column: Column, values: object) -> Matrix:
        domain = self._domain
        numbers = self._numbers.setdefault(j, {})
        cells, places = list_cells(category_texts(domain, column, values))
        number_of = np.full(len(cells), np.nan)
        for k, cell in enumerate(cells):
            text = (cell or "").strip()
            if text and (text in column.codes or not self._markers[j].include(text)):
                number_of[k] = numbers.setdefault(strip_point(text, domain.decimal), len(numbers))
        values = number_of[places]
        present = values[~np.isnan(values)].astype(np.int64)
        self._counts.setdefault(j, Counter()).update(present.tolist())
        return values

    def join(self) -> Matrix:
        """Return the matrix of all records, with rare categories merged if there are too many."""
        X = np.concatenate(self._pieces)
        self._pieces = []
        for j, counts in self._counts.items():
            X[:, j] = _merge_rare(X[:, j], counts)
        return X


def _merge_rare(values: Matrix, counts: Mapping[int, int]) -> Matrix:
    """Return a column of category numbers, in which the rarest are merged if there are too many.

    `counts` has the number of records of each category.
    """
    if len(counts) <= MOST_CATEGORIES:
        return values
    by_frequency = sorted(counts, key=lambda number: (-counts[number], number))
    places = np.full(max(counts) + 1, MOST_CATEGORIES - 1, dtype=np.float64)
    places[by_frequency[: MOST_CATEGORIES - 1]] = np.arange(MOST_CATEGORIES - 1)
    present = ~np.isnan(values)
    merged = np.full(len(values), np.nan)
    merged[present] = places[values[present].astype(np.int64)]
    return merged
