"""Compute the sums of PrivGAM for more than two classes: clipped residuals by class.

The integers that a record adds to sums depend only on its own scores. The weights of classes are
integers from a table, so their sums are exact in floating point. All other operations are single
products, quotients and roots, which IEEE 754 defines to the last bit. Results are rounded down, so
that the proof holds for the rounded numbers (docs/proofs.md, 'PrivGAM', 2 and 5).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from privcurve.coding import Floats, Ints
from privcurve.kernels.jit import jit
from privcurve.kernels.privgam import BLOCK, CodedRows

# Multiplying a computed number by DOWN makes it a lower bound of the exact number, whatever the
# rounding errors.
DOWN = 1.0 - 2.0**-40


class Clipping(NamedTuple):
    """The parameters of the function from scores to clipped residuals."""

    # (n_entries,): the weights of classes, integers above 0. Entry k is the weight of a class with
    # a score in [(k - n_entries/2)·2^shift, (k + 1 - n_entries/2)·2^shift); for scores outside of
    # the table, it is the first or the last entry.
    table: Floats
    shift: int
    clip: int  # the residual of a record whose class has the probability 1/2
    norm: int  # 1: the L1 norm of a row's sums is at most 2·clip; 2: the L2 norm is at most √2·clip


@jit
def _share_out(scores: Ints, own: int, how: Clipping, parts: Floats) -> int:
    """Return the clipped residual s of a record, and write each class's part of s to `parts`.

    The probability of a class is proportional to its weight (looked up by its score). s is 1 − p
    for the probability p of the record's own class, or less if the norm would be too large. The
    part of another class is s times its probability among the other classes; the own class's part
    is 0. Parts are integers that add up to at most s.
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
    """Return the sums of residuals by bin and class, of shape (n_bins, 2, n_classes).

    On the second axis, 0 has the sums of the class's parts (`_share_out`) over records of other
    classes, and 1 the sums of residuals over records of the class. `scores` has shape (n_bins,
    n_classes).
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
