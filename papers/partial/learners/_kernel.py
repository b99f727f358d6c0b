"""Boosting random classifiers: their votes, and weights of records in fixed point.

A weight is a whole number of 1/unit, so that sums are exact: the same in any order, and
the same for a row that stands for m records as for m rows.
"""

from __future__ import annotations

import math

import numpy as np

from privcurve.coding import Bools, Floats, Ints
from privcurve.kernels.jit import jit

# Fractional bits of a weight: far below any noise, and a product with a float64 is exact
# to the last of them.
LARGEST_BITS = 40

# Rows of a block: all columns of a block fit into the cache.
BLOCK = 512


def weight_bits(n: int, largest: float) -> int:
    """Return the fractional bits of weights up to `largest`, so that n of them fit in 62 bits."""
    # ⌈log₂⌉ of the largest possible sum.
    share, top = math.frexp(largest)
    top -= share == 0.5
    return min(LARGEST_BITS, 52 - top, 62 - top - (n - 1).bit_length())


@jit
def _add_columns(points: Floats, coefficients: Floats, start: int, out: Floats) -> None:
    """Add a·x of the rows from `start` on to `out`, in the order of columns."""
    end = start + len(out)
    for j in range(len(points)):
        a = coefficients[j]
        x = points[j, start:end]
        for i in range(len(out)):
            out[i] += a * x[i]


@jit
def project_rows(points: Floats, coefficients: Floats) -> Floats:
    """Return a·x of each row for several vectors a, added up in the order of columns.

    `points` has shape (n_columns, n_rows); the result has shape (n_vectors, n_rows).
    """
    n_rows = points.shape[1]
    projections = np.zeros((len(coefficients), n_rows))
    for start in range(0, n_rows, BLOCK):
        end = min(start + BLOCK, n_rows)
        for t in range(len(coefficients)):
            _add_columns(points, coefficients[t], start, projections[t, start:end])
    return projections


@jit
def positive_rows(points: Floats, coefficients: Floats, intercepts: Floats) -> Bools:
    """Return which rows have a·x + b > 0, for several a and b, without storing the projections."""
    n_rows = points.shape[1]
    positive = np.empty((len(coefficients), n_rows), dtype=np.bool_)
    room = np.empty(BLOCK)
    for start in range(0, n_rows, BLOCK):
        sums = room[: min(BLOCK, n_rows - start)]
        for t in range(len(coefficients)):
            sums[:] = 0.0
            _add_columns(points, coefficients[t], start, sums)
            for i in range(len(sums)):
                positive[t, start + i] = sums[i] + intercepts[t] > 0
    return positive


@jit
def weighted_sums(weights: Ints, counts: Ints, wrong: Bools) -> tuple[int, int]:
    """Return the total weight of the wrong records, and of all records."""
    missed = 0
    total = 0
    for i in range(len(weights)):
        weight = weights[i] * counts[i]
        total += weight
        if wrong[i]:
            missed += weight
    return missed, total


@jit
def reweight(weights: Ints, wrong: Bools, factor: float, lowest: int, highest: int) -> None:
    """Multiply the weights of wrong records by `factor`, in place.

    A product is rounded down; a product outside the caps leaves the weight unchanged.
    """
    for i in range(len(weights)):
        if wrong[i]:
            product = np.floor(weights[i] * factor)
            if lowest <= product <= highest:
                weights[i] = np.int64(product)
