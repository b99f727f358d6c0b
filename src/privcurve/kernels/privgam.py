"""Compute the integer sums of PrivGAM: counts and clipped residuals, by bin of all columns.

The score of a record is a sum of integers, and its residual is looked up in a table of integers. So
both depend only on the record itself, and not on the order of additions.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from privcurve.coding import Ints
from privcurve.kernels.jit import jit

# Number of rows in a block. A block is small enough that one of its columns stays in the
# processor's cache.
BLOCK = 1024


class CodedRows(NamedTuple):
    """Rows of codes (bins of the encoded data), and a map from codes to merged bins.

    Merged bins are numbered through all columns; below, *bin* means a merged bin.
    """

    columns: NDArray[Any]  # (n_columns, n_rows): codes
    labels: NDArray[np.uint8]  # (n_rows,): positions of classes
    counts: Ints  # (n_rows,): number of records of each row
    places: Ints  # (n_codes,): the bin of each code, column by column
    starts: Ints  # (n_columns,): the position in `places` of the first code of each column


@jit
def count_labels(rows: CodedRows, n_classes: int, n_bins: int) -> Ints:
    """Return the number of records by class and bin, of shape (n_classes, n_bins)."""
    labels, counts, places = rows.labels, rows.counts, rows.places
    sums = np.zeros((n_classes, n_bins), dtype=np.int64)
    for j in range(len(rows.columns)):
        column, start = rows.columns[j], rows.starts[j]
        for i in range(len(column)):
            sums[labels[i], places[start + column[i]]] += counts[i]
    return sums


@jit
def residual_sums(rows: CodedRows, scores: Ints, intercept: int, table: Ints, shift: int) -> Ints:
    """Return the sums of clipped residuals by label and bin, of shape (2, n_bins).

    Parameters
    ----------
    rows : CodedRows
        Records with two classes.
    scores : ndarray of shape (n_bins,)
        The score of each bin. A row's score is the sum of the scores of its bins, plus `intercept`.
        Its margin is its score times the sign of its label.
    intercept : int
    table : ndarray of shape (n_entries,)
        The clipped residual by margin, not increasing. Entry 0 (the clip) is for margins up to 0,
        entry k > 0 for margins in ((k - 1)·2^shift, k·2^shift], and the last entry for all larger
        margins.
    shift : int
    """
    labels, counts, places = rows.labels, rows.counts, rows.places
    n, last = len(labels), len(table) - 1
    sums = np.zeros((2, len(scores)), dtype=np.int64)
    block = np.empty(BLOCK, dtype=np.int64)
    for begin in range(0, n, BLOCK):
        end = min(begin + BLOCK, n)
        for i in range(end - begin):
            block[i] = intercept
        for j in range(len(rows.columns)):
            column, start = rows.columns[j], rows.starts[j]
            for i in range(begin, end):
                block[i - begin] += scores[places[start + column[i]]]
        for i in range(begin, end):
            margin = block[i - begin] if labels[i] == 1 else -block[i - begin]
            entry = 0 if margin <= 0 else min(((margin - 1) >> shift) + 1, last)
            block[i - begin] = counts[i] * table[entry]
        for j in range(len(rows.columns)):
            column, start = rows.columns[j], rows.starts[j]
            for i in range(begin, end):
                sums[labels[i], places[start + column[i]]] += block[i - begin]
    return sums
