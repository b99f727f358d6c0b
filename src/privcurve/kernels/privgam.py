"""Sums of clipped residuals by bin and label, in whole numbers (docs/privgam.md).

A record's score is a sum of whole numbers, and its residual is looked up in a table of whole
numbers: neither depends on another record, nor on the order in which anything is added up.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from privcurve.coding import Ints


class Scored(NamedTuple):
    """Rows with their scores, and the residual by margin.

    Attributes
    ----------
    labels : ndarray of shape (n_rows,)
        0 or 1.
    counts, scores : ndarray of shape (n_rows,)
    table : ndarray of shape (n_entries,)
        The residual by margin, not increasing; its first entry is the clip.
    shift : int
        A step of the table is 2^shift in units of scores.
    """

    labels: NDArray[np.uint8]
    counts: Ints
    scores: Ints
    table: Ints
    shift: int


@njit(cache=True, nogil=True)
def _residual(margin: int, table: Ints, shift: int) -> int:
    """Look up the clipped residual of a record: table[0] is the clip, on the wrong side of 0.

    Entry k > 0 is for margins of ((k - 1)·2^shift, k·2^shift]; the last for all above.
    """
    if margin <= 0:
        return table[0]
    return table[min(((margin - 1) >> shift) + 1, len(table) - 1)]


@njit(cache=True, nogil=True)
def add_to_scores(column: NDArray[Any], change: Ints, scores: Ints) -> None:
    """Add a bin's change to the scores of the records in it.

    Parameters
    ----------
    column : ndarray of unsigned integers, shape (n_rows,)
    change : ndarray of shape (n_bins,)
    scores : ndarray of shape (n_rows,)
        Changed in place.
    """
    for i in range(len(column)):
        scores[i] += change[column[i]]


@njit(cache=True, nogil=True)
def residual_sums(column: NDArray[Any], n_bins: int, rows: Scored) -> Ints:
    """Sum the clipped residuals by label and bin of a column.

    Parameters
    ----------
    column : ndarray of unsigned integers, shape (n_rows,)
    n_bins : int
    rows : Scored

    Returns
    -------
    ndarray of shape (2, n_bins)
    """
    labels, counts, scores, table, shift = rows
    sums = np.zeros((2, n_bins), dtype=np.int64)
    for i in range(len(column)):
        label = labels[i]
        margin = scores[i] if label == 1 else -scores[i]
        sums[label, column[i]] += counts[i] * _residual(margin, table, shift)
    return sums


@njit(cache=True, nogil=True)
def edges_of_columns(columns: NDArray[Any], n_bins: Ints, rows: Scored) -> Ints:
    """Return Σ_b |G_b| of each column: what the best labelling of its bins gains on the residuals.

    Parameters
    ----------
    columns : ndarray of unsigned integers, shape (n_columns, n_rows)
    n_bins : ndarray of shape (n_columns,)
    rows : Scored

    Returns
    -------
    ndarray of shape (n_columns,)
    """
    labels, counts, scores, table, shift = rows
    n = len(labels)
    signed = np.empty(n, dtype=np.int64)
    for i in range(n):
        if labels[i] == 1:
            signed[i] = counts[i] * _residual(scores[i], table, shift)
        else:
            signed[i] = -counts[i] * _residual(-scores[i], table, shift)
    edges = np.zeros(len(columns), dtype=np.int64)
    for j in range(len(columns)):
        sums = np.zeros(n_bins[j], dtype=np.int64)
        column = columns[j]
        for i in range(n):
            sums[column[i]] += signed[i]
        edges[j] = np.abs(sums).sum()
    return edges


@njit(cache=True, nogil=True)
def slopes_of_columns(columns: NDArray[Any], places: Ints, place_bits: int, rows: Scored) -> Ints:
    """Sum the signed clipped residuals times the place of the record in each column.

    Parameters
    ----------
    columns : ndarray of unsigned integers, shape (n_columns, n_rows)
    places : ndarray of shape (n_columns, largest number of bins)
        Of each bin, in units of 2^-place_bits; at most half in size. What a record adds is
        rounded towards 0.
    place_bits : int
    rows : Scored

    Returns
    -------
    ndarray of shape (n_columns,)
    """
    labels, counts, scores, table, shift = rows
    n = len(labels)
    residuals = np.empty(n, dtype=np.int64)
    for i in range(n):
        residuals[i] = _residual(scores[i] if labels[i] == 1 else -scores[i], table, shift)
    sums = np.zeros(len(columns), dtype=np.int64)
    for j in range(len(columns)):
        column, place = columns[j], places[j]
        total = 0
        for i in range(n):
            where = place[column[i]]
            size = (residuals[i] * abs(where)) >> place_bits
            up = (where > 0) == (labels[i] == 1)
            total += counts[i] * (size if up else -size)
        sums[j] = total
    return sums
