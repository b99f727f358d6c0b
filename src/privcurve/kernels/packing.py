"""Pack several columns into one, which makes the histograms of all columns faster.

The plain method adds the weight of each row once per column. This module divides the columns into
groups, and numbers the combinations of bins that occur in a group, called *cells*. The weight of a
row is then added to one cell per group; at the end, each column sums up the cells of its group. The
histograms are the same, because sums of integers do not depend on the order.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from privcurve.coding import Ints, bin_starts
from privcurve.kernels.jit import jit

# Largest number of cells of a group: the sums of more cells would not fit into the first-level
# cache.
LARGEST_GROUP = 512
# Number of rows in the sample that decides which columns form a group.
SAMPLE = 4096
# Largest number of possible combinations of bins in a group, which limits the memory for numbering.
LARGEST_PRODUCT = 2**20
# A column may join one of the last OPEN_GROUPS groups only, which limits the time of the search.
OPEN_GROUPS = 8


class PackedRows(NamedTuple):
    """The rows that the histogram kernels read."""

    columns: NDArray[np.uint16]  # (n_columns, n_rows): the bin of each row in each column
    cells: NDArray[Any]  # (n_rows, n_groups), uint16 or uint32: the cell of each row in each group
    # (n_groups + 1,): the first cell of each group, then the number of all cells.
    group_starts: Ints
    groups: Ints  # (n_columns,): the group of each column
    # (n_columns, most cells of a group): the bin of column j in each cell of its group.
    cell_bins: NDArray[np.uint32]
    bin_starts: Ints  # (n_columns + 1,): the first bin of each column, then the number of all bins


def pack(codes: NDArray[Any], n_bins: Ints) -> PackedRows:
    """Divide the columns into groups, number the cells of each group, and pack the rows."""
    starts = bin_starts(n_bins)
    columns = np.ascontiguousarray(codes.T, dtype=np.uint16)
    step = max(1, codes.shape[0] // SAMPLE)
    groups = _group(np.ascontiguousarray(columns[:, ::step]), n_bins, codes.shape[0])
    cells, group_starts, cell_bins = _number_cells(columns, n_bins, starts, groups)
    return PackedRows(columns, cells, group_starts, groups, cell_bins, starts)


def _group(sample: NDArray[np.uint16], n_bins: Ints, n_rows: int) -> Ints:
    """Choose a group for each column, one column after another, by the rows of a sample.

    A column joins the group in which it costs the fewest additions; this may be a new group.
    """
    groups = np.zeros(len(sample), dtype=np.int64)
    joint: list[Ints] = []
    n_cells: list[int] = []
    size: list[int] = []
    product: list[int] = []
    for j, column in enumerate(sample):
        # A new group with only this column costs one addition for each row and one for each bin.
        width = int(n_bins[j])
        best, least, cells, codes = len(joint), n_rows + width, width, column.astype(np.int64)
        for g in range(max(0, len(joint) - OPEN_GROUPS), len(joint)):
            if product[g] * width > LARGEST_PRODUCT:
                continue
            trial = np.empty(len(column), dtype=np.int64)
            k = _join(joint[g], n_cells[g], column, width, trial)
            cost = k * (size[g] + 1) - n_cells[g] * size[g]
            if k <= LARGEST_GROUP and cost < least:
                best, least, cells, codes = g, cost, k, trial
        groups[j] = best
        if best == len(joint):
            joint.append(codes)
            n_cells.append(cells)
            size.append(1)
            product.append(width)
        else:
            joint[best], n_cells[best] = codes, cells
            size[best] += 1
            product[best] *= width
    return groups


def _number_cells(
    columns: NDArray[np.uint16], n_bins: Ints, bin_starts: Ints, groups: Ints
) -> tuple[NDArray[Any], Ints, NDArray[np.uint32]]:
    n_columns, n_rows = columns.shape
    joints, some_rows = [], []
    for g in range(int(groups.max()) + 1):
        joint = np.zeros(n_rows, dtype=np.int64)
        n_cells = 1
        for member in np.flatnonzero(groups == g):
            n_cells = _join(joint, n_cells, columns[member], int(n_bins[member]), joint)
        joints.append(joint)
        # All rows of a cell have the same bins, so one row of each cell is enough to find the
        # cell's bins.
        row = np.empty(n_cells, dtype=np.int64)
        row[joint] = np.arange(n_rows)
        some_rows.append(row)
    starts = np.cumsum([0, *map(len, some_rows)])
    cells = np.empty((n_rows, len(joints)), dtype=np.uint16 if starts[-1] <= 2**16 else np.uint32)
    for g, joint in enumerate(joints):
        np.add(joint, starts[g], out=cells[:, g], casting="unsafe")
    cell_bins = np.zeros((n_columns, max(map(len, some_rows))), dtype=np.uint32)
    for j, column in enumerate(columns):
        row = some_rows[groups[j]]
        cell_bins[j, : len(row)] = bin_starts[j] + column[row]
    return cells, starts, cell_bins


@jit
def _join(joint: Ints, n_cells: int, column: NDArray[np.uint16], n_bins: int, out: Ints) -> int:
    """Assign numbers to the pairs (cell in `joint`, bin in `column`) that occur; return how many.

    The function writes the number of each row's pair to `out`.
    """
    number = np.full(n_cells * n_bins, -1, np.int32)
    n_pairs = 0
    for i in range(len(column)):
        pair = joint[i] * n_bins + column[i]
        if number[pair] < 0:
            number[pair] = n_pairs
            n_pairs += 1
        out[i] = number[pair]
    return n_pairs
