"""Compute products with dense or sparse rows, in a fixed order of arithmetic."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privcurve.coding import Floats, Ints
from privcurve.kernels import arithmetic
from privcurve.kernels.arithmetic import compiled

if TYPE_CHECKING:
    from scipy.sparse import csr_array


def times(rows: Floats | csr_array, vector: Floats) -> Floats:
    """Return the product of each row with a vector, of shape (n_rows,)."""
    if isinstance(rows, np.ndarray):
        return np.asarray(arithmetic.times(np.ascontiguousarray(rows), vector))
    return np.asarray(_times(rows.data, rows.indices, rows.indptr, vector))


def weighted_sum(rows: Floats | csr_array, weights: ArrayLike) -> Floats:
    """Return Σ wᵢ xᵢ over the rows xᵢ, of shape (n_columns,)."""
    each = np.asarray(weights, dtype=np.float64)
    if isinstance(rows, np.ndarray):
        return np.asarray(arithmetic.transposed_times(np.ascontiguousarray(rows), each))
    sums = np.zeros(rows.shape[1])
    _add(rows.data, rows.indices, rows.indptr, each, sums)
    return sums


def gram(rows: Floats | csr_array, weights: ArrayLike) -> Floats:
    """Return Σ wᵢ xᵢxᵢᵀ over the rows xᵢ, of shape (n_columns, n_columns)."""
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


@compiled
def _whole(value: float, low: float, high: float, per: float) -> np.int64:
    if value != value:
        value = 0.0
    return np.int64(np.rint(min(max(value, low), high) * per))


@compiled
def add_whole(
    values: NDArray[Any],
    codes: Ints,
    counts: Ints,
    low: Floats,
    high: Floats,
    unit: float,
    sums: Ints,
) -> int:
    """Add each row i of `values`, times ``counts[i]``, to row ``codes[i]`` of `sums`.

    Returns the sum of the counts.

    Each number is clipped to `low` … `high` and rounded to an integer multiple of `unit`. NaN
    counts as 0. If `codes` is empty, all rows have the code 0.
    `values` may have any numeric type: a copy as floats would take longer than the loop.
    """
    per, n = 1.0 / unit, 0
    if not len(codes) and values.shape[1] == 1:
        total = 0  # a local variable stays in a register, which halves the time
        for i in range(len(values)):
            total += counts[i] * _whole(values[i, 0], low[0], high[0], per)
            n += counts[i]
        sums[0, 0] += total
        return n
    for i in range(len(values)):
        n += counts[i]
        code = codes[i] if len(codes) else 0
        for j in range(values.shape[1]):
            sums[code, j] += counts[i] * _whole(values[i, j], low[j], high[j], per)
    return n


@compiled
def clip_norms(rows: Floats, longest: float) -> Floats:
    """Scale rows with an L2 norm above `longest` down to this norm.

    Rows whose norm is not finite become 0.
    """
    clipped = np.empty(rows.shape)
    # Scale down a little more than needed: by more than the rounding errors of the norm and of the
    # products.
    slack = 1.0 - (rows.shape[1] + 8) * 2.0**-52
    for i in range(len(rows)):
        squares = 0.0
        for j in range(rows.shape[1]):
            squares += rows[i, j] * rows[i, j]
        norm = np.sqrt(squares)
        factor = 0.0
        if norm < np.inf:
            factor = 1.0 if norm <= longest * slack else longest / norm * slack
        for j in range(rows.shape[1]):
            clipped[i, j] = factor * rows[i, j] if factor > 0.0 else 0.0
    return clipped


def times_matrix(rows: Floats, matrix: Floats) -> Floats:
    """Return the product of the last axis of `rows` with a vector, or with a matrix."""
    if rows.shape[-1] != len(matrix):
        n_columns = rows.shape[-1]
        raise ValueError(f"a matrix must have a row per column, {n_columns}; got {len(matrix)}")
    flat = np.ascontiguousarray(rows.reshape(-1, rows.shape[-1]))
    columns = matrix.reshape(len(matrix), -1).T
    products = [arithmetic.times(flat, np.ascontiguousarray(column)) for column in columns]
    return np.stack(products, axis=1).reshape((*rows.shape[:-1], *matrix.shape[1:]))
