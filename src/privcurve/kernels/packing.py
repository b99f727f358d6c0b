"""Joint codes: several columns in one, so that a row costs a few additions, not one a column.

A histogram over every column adds each row's weight once a column. Columns are therefore
put into groups, and the combinations of codes that occur in a group are numbered: *cells*.
A row then adds its weight to one cell a group, and the few cells are summed up by column
at the end. Nothing of this shows in any result: sums of integers have no order.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

# Cells of one group: more would not stay in the first-level cache.
LARGEST_GROUP = 512
# Rows that the grouping is decided on.
SAMPLE = 4096
# Combinations of codes that a group could have at all: bounds the memory of numbering.
LARGEST_PRODUCT = 2**20


class PackedRows(NamedTuple):
    """Rows, ready for the histogram kernels.

    Attributes
    ----------
    columns : ndarray of uint16, shape (n_columns, n_rows)
        The codes, a column contiguous.
    cells : ndarray of uint16 or uint32, shape (n_rows, n_groups)
        The cell of each row in each group.
    group_starts : ndarray of shape (n_groups + 1,)
        Cells ``group_starts[g]`` up to ``group_starts[g + 1]`` belong to group g.
    groups : ndarray of shape (n_columns,)
        Which group a column is in.
    cell_bins : ndarray of shape (n_columns, largest number of cells of a group)
        The bin of column j that a cell of its group stands for.
    bin_starts : ndarray of shape (n_columns + 1,)
        Bin ``bin_starts[j] + b`` is code b of column j.
    """

    columns: NDArray[np.uint16]
    cells: NDArray[Any]
    group_starts: NDArray[np.int64]
    groups: NDArray[np.int64]
    cell_bins: NDArray[np.uint32]
    bin_starts: NDArray[np.int64]


def pack(codes: NDArray[Any], n_bins: NDArray[np.int64]) -> PackedRows:
    """Group the columns and number the cells.

    Parameters
    ----------
    codes : ndarray of unsigned integers, shape (n_rows, n_columns)
    n_bins : ndarray of shape (n_columns,)

    Returns
    -------
    PackedRows
    """
    bin_starts = np.concatenate([[0], np.cumsum(n_bins)]).astype(np.int64)
    columns = np.ascontiguousarray(codes.T, dtype=np.uint16)
    step = max(1, codes.shape[0] // SAMPLE)
    groups = _group(np.ascontiguousarray(columns[:, ::step]), n_bins, codes.shape[0])
    cells, group_starts, cell_bins = _number_cells(columns, n_bins, bin_starts, groups)
    narrow = np.uint16 if group_starts[-1] <= 2**16 else np.uint32
    return PackedRows(columns, cells.astype(narrow), group_starts, groups, cell_bins, bin_starts)


@njit(cache=True, nogil=True)
def _group(sample: NDArray[np.uint16], n_bins: NDArray[np.int64], n_rows: int) -> NDArray[np.int64]:
    """Assign columns to groups, each where the sample says it adds the least work."""
    n_columns, n_sample = sample.shape
    groups = np.zeros(n_columns, np.int64)
    joint = np.zeros((n_columns, n_sample), np.int64)
    n_cells = np.zeros(n_columns, np.int64)
    size = np.zeros(n_columns, np.int64)
    product = np.ones(n_columns, np.int64)
    n_groups = 0
    trial = np.zeros(n_sample, np.int64)
    best_trial = np.zeros(n_sample, np.int64)
    for j in range(n_columns):
        best = n_groups
        # A group of its own costs an addition for every row and one for every bin.
        best_cost = n_rows + n_bins[j]
        best_cells = n_bins[j]
        best_trial[:] = sample[j]
        for g in range(n_groups):
            if product[g] * n_bins[j] > LARGEST_PRODUCT:
                continue
            k = _join(joint[g], n_cells[g], sample[j], n_bins[j], trial)
            cost = k * (size[g] + 1) - n_cells[g] * size[g]
            if k <= LARGEST_GROUP and cost < best_cost:
                best, best_cost, best_cells = g, cost, k
                best_trial[:] = trial
        groups[j] = best
        joint[best] = best_trial
        n_cells[best] = best_cells
        size[best] += 1
        product[best] *= n_bins[j]
        n_groups = max(n_groups, best + 1)
    return groups


@njit(cache=True, nogil=True)
def _join(
    joint: NDArray[np.int64],
    n_cells: int,
    column: NDArray[np.uint16],
    n_bins: int,
    out: NDArray[np.int64],
) -> int:
    """Give the pairs (joint code, code) that occur a number each, and count them."""
    number = np.full(n_cells * n_bins, -1, np.int32)
    found = 0
    for i in range(len(column)):
        pair = joint[i] * n_bins + column[i]
        if number[pair] < 0:
            number[pair] = found
            found += 1
        out[i] = number[pair]
    return found


@njit(cache=True, nogil=True)
def _number_cells(
    columns: NDArray[np.uint16],
    n_bins: NDArray[np.int64],
    bin_starts: NDArray[np.int64],
    groups: NDArray[np.int64],
) -> tuple[NDArray[np.uint32], NDArray[np.int64], NDArray[np.uint32]]:
    n_columns, n_rows = columns.shape
    n_groups = groups.max() + 1
    cells = np.zeros((n_rows, n_groups), np.uint32)
    starts = np.zeros(n_groups + 1, np.int64)
    joint = np.zeros(n_rows, np.int64)
    for g in range(n_groups):
        joint[:] = 0
        n_cells = 1
        for j in range(n_columns):
            if groups[j] == g:
                n_cells = _join(joint, n_cells, columns[j], n_bins[j], joint)
        starts[g + 1] = starts[g] + n_cells
        for i in range(n_rows):
            cells[i, g] = starts[g] + joint[i]
    largest = 0
    for g in range(n_groups):
        largest = max(largest, starts[g + 1] - starts[g])
    cell_bins = np.zeros((n_columns, largest), np.uint32)
    for j in range(n_columns):
        g = groups[j]
        for i in range(n_rows):
            cell_bins[j, np.int64(cells[i, g]) - starts[g]] = bin_starts[j] + columns[j, i]
    return cells, starts, cell_bins
