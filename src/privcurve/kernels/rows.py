"""Products with the rows that records stand for, in a fixed order: dense rows, or sparse ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from privcurve.coding import Floats, Ints
from privcurve.kernels import arithmetic
from privcurve.kernels.arithmetic import compiled

if TYPE_CHECKING:
    from scipy.sparse import csr_array


def times(rows: Floats | csr_array, vector: Floats) -> Floats:
    """Return what each row gives: its product with a vector."""
    if isinstance(rows, np.ndarray):
        return np.asarray(arithmetic.times(np.ascontiguousarray(rows), vector))
    return np.asarray(_times(rows.data, rows.indices, rows.indptr, vector))


def weighted_sum(rows: Floats | csr_array, weights: ArrayLike) -> Floats:
    """Return Σ wᵢ xᵢ over the rows x."""
    each = np.asarray(weights, dtype=np.float64)
    if isinstance(rows, np.ndarray):
        return np.asarray(arithmetic.transposed_times(np.ascontiguousarray(rows), each))
    sums = np.zeros(rows.shape[1])
    _add(rows.data, rows.indices, rows.indptr, each, sums)
    return sums


def gram(rows: Floats | csr_array, weights: ArrayLike) -> Floats:
    """Return Σ wᵢ xᵢxᵢᵀ over the rows x."""
    each = np.asarray(weights, dtype=np.float64)
    if isinstance(rows, np.ndarray):
        return np.asarray(arithmetic.gram(np.ascontiguousarray(rows), each))
    sums = np.zeros((rows.shape[1], rows.shape[1]))
    _add_squares(rows.data, rows.indices, rows.indptr, each, sums)
    return sums


@compiled
def _times(entries: Floats, columns: Ints, starts: Ints, vector: Floats) -> Floats:
    results = np.empty(len(starts) - 1)
    for i in range(len(results)):
        total = 0.0
        for k in range(starts[i], starts[i + 1]):
            total += entries[k] * vector[columns[k]]
        results[i] = total
    return results


@compiled
def _add(entries: Floats, columns: Ints, starts: Ints, weights: Floats, sums: Floats) -> None:
    for i in range(len(weights)):
        for k in range(starts[i], starts[i + 1]):
            sums[columns[k]] += weights[i] * entries[k]


@compiled
def _add_squares(
    entries: Floats, columns: Ints, starts: Ints, weights: Floats, sums: Floats
) -> None:
    for i in range(len(weights)):
        for k in range(starts[i], starts[i + 1]):
            weight = weights[i] * entries[k]
            for m in range(starts[i], starts[i + 1]):
                sums[columns[k], columns[m]] += weight * entries[m]
