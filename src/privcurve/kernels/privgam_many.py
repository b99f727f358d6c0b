"""PrivGAM of more than two classes: sums of clipped residuals by class.

A record adds a whole number to a sum, which follows from its own scores alone: weights of classes
are whole numbers of a table, and their sums are exact in floating point. The rest are single
products and quotients, which IEEE 754 rounds alike wherever the record is. Each is rounded down, so
that the proof holds for the rounded numbers (docs/proofs.md, 'PrivGAM', 2 and 5).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from privcurve.coding import Floats, Ints
from privcurve.kernels.jit import jit
from privcurve.kernels.privgam import BLOCK, CodedRows

# Quotients are reduced by this factor, which is more than all roundings of a product can add.
DOWN = 1.0 - 2.0**-40


class Clipping(NamedTuple):
    """How residuals follow from scores."""

    # (n_entries,): weights of a class, whole numbers above 0: entry k is for scores of
    # [(k - n_entries/2)·2^shift, (k + 1 - n_entries/2)·2^shift), the ends for all beyond.
    table: Floats
    shift: int
    clip: int  # the residual at a probability of 1/2
    norm: int  # a row's sums are at most 2·clip in the norm of 1, √2·clip in the norm of 2


@jit
def _share_out(scores: Ints, own: int, how: Clipping, parts: Floats) -> int:
    """Return the clipped residual s of a record, and write what each other class has of it.

    The probabilities p of classes are in proportion to their weights. s is 1 - p for the record's
    own class, or less where s and the parts would be too long; the parts are s times the
    probabilities of the others, normalised, and 0 for its own. They are whole, and no more than s
    together.
    """
    last = len(how.table) - 1
    total = 0.0
    for k in range(len(scores)):
        entry = (scores[k] >> how.shift) + len(how.table) // 2
        parts[k] = how.table[min(max(entry, 0), last)]
        total += parts[k]
    others = total - parts[own]
    parts[own] = 0.0
    if how.norm == 2:
        squares = 0.0
        for k in range(len(scores)):
            squares += parts[k] * parts[k]
        longest = math.sqrt(2.0 / (1.0 + squares / (others * others)))
        residual = int(how.clip * min(longest, 2.0 * others / total) * DOWN)
    else:
        residual = how.clip
        if 2.0 * others < total:
            residual = min(how.clip, int(2.0 * how.clip * others / total))
    unit = residual * DOWN / others
    for k in range(len(scores)):
        parts[k] = math.floor(parts[k] * unit)
    return residual


@jit
def class_residual_sums(rows: CodedRows, scores: Ints, intercepts: Ints, how: Clipping) -> Ints:
    """Sum residuals by bin and class: of records of other classes, then of the class's own.

    `scores` are of shape (n_bins, n_classes). Returns an array of shape (n_bins, 2, n_classes).
    """
    labels, counts, places = rows.labels, rows.counts, rows.places
    n, (n_bins, n_classes) = len(labels), scores.shape
    sums = np.zeros((n_bins, 2, n_classes), dtype=np.int64)
    block = np.empty((BLOCK, n_classes), dtype=np.int64)
    of_own = np.empty(BLOCK, dtype=np.int64)
    parts = np.empty(n_classes)
    for begin in range(0, n, BLOCK):
        end = min(begin + BLOCK, n)
        for i in range(end - begin):
            for k in range(n_classes):
                block[i, k] = intercepts[k]
        for j in range(len(rows.columns)):
            column, start = rows.columns[j], rows.starts[j]
            for i in range(begin, end):
                at = places[start + column[i]]
                for k in range(n_classes):
                    block[i - begin, k] += scores[at, k]
        for i in range(begin, end):
            row = block[i - begin]
            of_own[i - begin] = counts[i] * _share_out(row, labels[i], how, parts)
            for k in range(n_classes):
                row[k] = counts[i] * int(parts[k])
        for j in range(len(rows.columns)):
            column, start = rows.columns[j], rows.starts[j]
            for i in range(begin, end):
                cell = sums[places[start + column[i]]]
                cell[1, labels[i]] += of_own[i - begin]
                for k in range(n_classes):
                    cell[0, k] += block[i - begin, k]
    return sums
