"""Compute clipped residuals and their sums by leaf, for boosting of trees with random questions.

Residuals are integer multiples of a unit, so that their sums are exact in any order.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from privcurve.coding import Floats, Ints
from privcurve.kernels.arithmetic import exp
from privcurve.kernels.jit import jit
from privcurve.kernels.trees.form import Ranges, Trees, complete_trees


class DrawnTrees(NamedTuple):
    """Complete trees with questions, but without values of leaves."""

    # Three arrays of shape (n_trees, 2**depth − 1): a node asks whether the bin of the column
    # `columns` is from `low` to `high`.
    columns: Ints
    low: Ints
    high: Ints
    unit: float  # the unit of residuals: a power of two, at most 2**−10

    def trees(self) -> Trees:
        """Convert the trees to the form that the prediction kernels read."""
        return complete_trees(Ranges(self.columns, self.low, self.high))

    @staticmethod
    def n_outputs(n_classes: int) -> int:
        """Return the number of scores of a row: 1 for two classes, otherwise `n_classes`."""
        return 1 if n_classes == 2 else n_classes


@jit
def residuals(scores: Floats, classes: Ints, unit: float, longest: float) -> Ints:
    """Return the clipped residuals of rows, and in the last column their norms, in integer units.

    The result has shape (n_rows, n_outputs + 1). With one score per row, the residual is p − y, for
    the probability p of class 1 and the class y. With K scores it is the vector p − e_y, for the
    probabilities p of all classes and the unit vector e_y of the class. Residuals with a larger
    norm than `longest` are scaled to this norm
    (:func:`privcurve.privacy.sensitivity.counts.residual_norm`). Rounding changes each entry by at
    most half a unit. `unit` must divide ½.
    """
    n_rows, k = scores.shape
    table = np.empty((n_rows, k + 1), np.int64)
    if k == 1:
        # Compute the exponentials in a separate loop, which is vectorised: this halves the time.
        odds = np.empty(n_rows)
        for i in range(n_rows):
            odds[i] = exp(-scores[i, 0])
        for i in range(n_rows):
            g = 1.0 / (1.0 + odds[i]) - classes[i]
            size = np.int64(np.rint(min(max(g, -longest), longest) / unit))
            table[i, 0] = size
            table[i, 1] = abs(size)
        return table
    for i in range(n_rows):
        largest = scores[i].max()
        total = 0.0
        for c in range(k):
            total += exp(scores[i, c] - largest)
        squares = 0.0
        for c in range(k):
            g = exp(scores[i, c] - largest) / total - (c == classes[i])
            squares += g * g
        norm = np.sqrt(squares)
        factor = min(1.0, longest / norm) if norm > 0.0 else 1.0
        for c in range(k):
            g = exp(scores[i, c] - largest) / total - (c == classes[i])
            table[i, c] = np.int64(np.rint(factor * g / unit))
        table[i, k] = np.int64(np.rint(factor * norm / unit))
    return table


@jit
def sum_leaves(leaves: Ints, of_rows: Ints, counts: Ints, n_leaves: int) -> Ints:
    """Return the sums of residuals by leaf, of shape (n_trees, n_leaves, n_outputs + 1).

    Parameters
    ----------
    leaves : ndarray of shape (n_trees, n_rows)
        The leaf of each row in each tree.
    of_rows : ndarray of shape (n_rows, n_outputs + 1)
        From :func:`residuals`.
    counts : ndarray of shape (n_rows,)
        Number of records of each row.
    n_leaves : int
    """
    n_trees, n_rows = leaves.shape
    width = of_rows.shape[1]
    sums = np.zeros((n_trees, n_leaves, width), np.int64)
    for t in range(n_trees):
        for i in range(n_rows):
            for c in range(width):
                sums[t, leaves[t, i], c] += counts[i] * of_rows[i, c]
    return sums
