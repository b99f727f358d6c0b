"""PrivGAM of more than two classes: sums of clipped residuals by class.

As of two classes (``kernels/privgam.py``), what a record adds to a sum is a whole number that
follows from its own scores alone: weights of classes are whole numbers of a table, their sums are
exact in floating point, and what is left are single products and quotients, which are rounded alike
wherever a record stands. Each is rounded down so that the proof holds as it is (docs/proofs.md,
'PrivGAM', 6).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from privcurve.coding import Floats, Ints
from privcurve.kernels.jit import jit

# Quotients are reduced by this factor, which is more than all roundings of a product can add.
DOWN = 1.0 - 2.0**-40


class RowsWithClassScores(NamedTuple):
    """Rows with a score a class, and the weight of a class by how far it is behind."""

    labels: NDArray[np.uint8]  # (n_rows,): positions of classes
    counts: Ints  # (n_rows,)
    scores: Ints  # (n_rows, n_classes)
    # (n_entries,): weights, whole numbers above 0, not increasing; the first is that of the best
    # class.
    table: Floats
    shift: int  # a step of the table is 2^shift in units of scores
    clip: int  # the residual at a probability of 1/2
    norm: int  # in which a row's sums are at most 2·clip (1) or √2·clip (2)


@jit
def _share_out(i: int, rows: RowsWithClassScores, parts: Floats) -> int:
    """Return the clipped residual s of a row, and write what each other class has of it.

    s is 1 - p for the probability p of the row's own class, or less where s and the parts would be
    too long; the parts are s times the probabilities of the others, normalised, and 0 for its own.
    They are whole, and no more than s together.
    """
    labels, _, scores, table, shift, clip, norm = rows
    n_classes, own, last = scores.shape[1], labels[i], len(table) - 1
    best = scores[i, 0]
    for k in range(1, n_classes):
        best = max(best, scores[i, k])
    total = 0.0
    for k in range(n_classes):
        behind = best - scores[i, k]
        # Entry k > 0 is for ((k - 1)·2^shift, k·2^shift], the last for all above.
        weight = table[min(((behind - 1) >> shift) + 1, last)]
        parts[k] = weight
        total += weight
    others = total - parts[own]
    parts[own] = 0.0
    if norm == 2:
        squares = 0.0
        for k in range(n_classes):
            squares += parts[k] * parts[k]
        longest = math.sqrt(2.0 / (1.0 + squares / (others * others)))
        residual = int(clip * min(longest, 2.0 * others / total) * DOWN)
    else:
        residual = clip
        if 2.0 * others < total:
            residual = min(clip, int(2.0 * clip * others / total))
    unit = residual * DOWN / others
    for k in range(n_classes):
        parts[k] = math.floor(parts[k] * unit)
    return residual


@jit
def add_to_class_scores(column: NDArray[Any], change: Ints, scores: Ints) -> None:
    """Add a bin's changes, of shape (n_bins, n_classes), to the scores of its records, in place."""
    n_classes = scores.shape[1]
    for i in range(len(column)):
        b = column[i]
        for k in range(n_classes):
            scores[i, k] += change[b, k]


@jit
def class_residual_sums(column: NDArray[Any], n_bins: int, rows: RowsWithClassScores) -> Ints:
    """Sum residuals by bin and class: of records of other classes, then of those of the class.

    Returns an array of shape (n_bins, 2, n_classes).
    """
    labels, counts, n_classes = rows.labels, rows.counts, rows.scores.shape[1]
    sums = np.zeros((n_bins, 2, n_classes), dtype=np.int64)
    parts = np.empty(n_classes)
    for i in range(len(column)):
        residual = _share_out(i, rows, parts)
        cell, count = sums[column[i]], counts[i]
        cell[1, labels[i]] += count * residual
        for k in range(n_classes):
            cell[0, k] += count * int(parts[k])
    return sums


@jit
def class_residuals(rows: RowsWithClassScores) -> Ints:
    """Return the residual of a record of each row by class: its own less what the others have."""
    n, n_classes = rows.scores.shape
    residuals = np.empty((n, n_classes), dtype=np.int64)
    parts = np.empty(n_classes)
    for i in range(n):
        residual = _share_out(i, rows, parts)
        for k in range(n_classes):
            residuals[i, k] = -int(parts[k])
        residuals[i, rows.labels[i]] = residual
    return residuals
