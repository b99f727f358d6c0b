"""Kernels for boosting half-spaces: which rows are in them, and fixed-point weights of records.

A weight is an integer multiple of 1/unit, so that sums are exact: they do not depend on the order
of the rows, and are the same for one row with the count m as for m equal rows.
"""

from __future__ import annotations

import math

import numpy as np

from privcurve.coding import Bools, Floats, Ints
from privcurve.kernels.jit import jit

# Maximum number of fractional bits of a weight. Rounding to them is far below any noise.
# A weight times a float64 is exact to the last of these bits.
LARGEST_BITS = 40

# Number of rows in a block, such that all columns of a block fit into the cache.
BLOCK = 512


def weight_bits(n: int, largest: float) -> int:
    """Return how many fractional bits weights may have if a sum of n must fit in 62 bits.

    A weight is at most `largest`.
    """
    # `top` is ⌈log₂ largest⌉.
    share, top = math.frexp(largest)
    top -= share == 0.5
    return min(LARGEST_BITS, 52 - top, 62 - top - (n - 1).bit_length())


@jit
def _add_columns(points: Floats, coefficients: Floats, start: int, out: Floats) -> None:
    """Add to `out` the products a·x of the rows x from `start` on, in the order of columns.

    `points` has shape (n_columns, n_rows), and `coefficients` are a.
    """
    end = start + len(out)
    for j in range(len(points)):
        a = coefficients[j]
        x = points[j, start:end]
        for i in range(len(out)):
            out[i] += a * x[i]


@jit
def project_rows(points: Floats, coefficients: Floats) -> Floats:
    """Return a·x of each row x for several vectors a, of shape (n_vectors, n_rows).

    `points` has shape (n_columns, n_rows), and `coefficients` (n_vectors, n_columns). Terms are
    added in the order of columns.
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
    """Return which rows x have a·x + b > 0, for each pair (a, b): shape (n_vectors, n_rows).

    The projections a·x are not stored.
    """
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
    """Return the sum of the weights of wrong records, and of all records."""
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

    A product is rounded down. If it is outside the caps, the weight stays as it is.
    """
    for i in range(len(weights)):
        if wrong[i]:
            product = np.floor(weights[i] * factor)
            if lowest <= product <= highest:
                weights[i] = np.int64(product)
