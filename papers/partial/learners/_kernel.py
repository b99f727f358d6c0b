"""Compute which rows are in half-spaces, and update the fixed-point weights of records.

A weight is an integer multiple of 1/unit, so that sums of weights are exact: they do not depend on
the order of the rows, and are the same for one row with the count m as for m equal rows.
"""

from __future__ import annotations

import math

import numpy as np

from privcurve.coding import Bools, Floats, Ints
from privcurve.kernels.jit import jit

# Maximum number of fractional bits of a weight: rounding to multiples of 2^−40 changes it by far
# less than any noise.
LARGEST_BITS = 40

# Rows are processed in blocks of this number, so that a block of all columns fits into the CPU
# cache.
BLOCK = 512


def weight_bits(n: int, largest: float) -> int:
    """Return how many fractional bits weights may have, so that a sum of `n` fits in 62 bits.

    A weight is at most `largest`.
    """
    # Below, `top` is ⌈log₂ largest⌉: the number of bits of the integer part of a weight.
    share, top = math.frexp(largest)
    top -= share == 0.5
    return min(LARGEST_BITS, 52 - top, 62 - top - (n - 1).bit_length())


@jit
def _add_columns(points: Floats, coefficients: Floats, start: int, out: Floats) -> None:
    """Add to `out` the products a·x of the rows x, from row `start` on.

    `points` has shape (n_columns, n_rows); `coefficients` is a. Columns are added in their order,
    so that rounding is the same on every machine.
    """
    end = start + len(out)
    for j in range(len(points)):
        a = coefficients[j]
        x = points[j, start:end]
        for i in range(len(out)):
            out[i] += a * x[i]


@jit
def project_rows(points: Floats, coefficients: Floats) -> Floats:
    """Return the product a·x of each vector a and each row x, of shape (n_vectors, n_rows).

    `points` has shape (n_columns, n_rows), and `coefficients` (n_vectors, n_columns). Columns are
    added in their order, so that rounding is the same on every machine.
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
    """Return whether a·x + b > 0, for each pair (a, b) and row x, of shape (n_vectors, n_rows).

    `points` has shape (n_columns, n_rows). Unlike :func:`project_rows`, the function stores the
    products a·x of one block only.
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
    """Return the total weight of the wrong records, and of all records.

    `weights` has the weight of one record for each row, `counts` the number of equal records.
    """
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

    A product is rounded down. If it is below `lowest` or above `highest`, the weight does not
    change.
    """
    for i in range(len(weights)):
        if wrong[i]:
            product = np.floor(weights[i] * factor)
            if lowest <= product <= highest:
                weights[i] = np.int64(product)
