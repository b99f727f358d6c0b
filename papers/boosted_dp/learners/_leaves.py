"""Compute leaves of rows, sums by leaf, and votes of leaves, for BDPEα and the DP forest."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from privcurve.coding import Floats, Ints
from privcurve.kernels.trees.form import Trees, find_leaves
from privcurve.privacy.sealed import kernel

from ._kernel import WeightedRows

sum_by_leaf = kernel(WeightedRows.sum_by_leaf)


@kernel(rows=0)
def leaves_in(bins: NDArray[Any], tree: Trees) -> Ints:
    """Return the leaf of each row, counted from 0; `tree` contains one complete tree."""
    return find_leaves(bins, tree)[0] - tree.column.shape[1]


def shrunk_votes(margins: Floats, scale: float, n: int) -> Floats:
    """Convert noisy margins D of leaves to votes D/(|D| + 2 · scale + n/(8 · n_leaves)) in (−1, 1).

    A leaf's margin is its weight of positive minus negative records. The denominator shrinks votes
    of leaves whose margin is small against the noise scale, or against the mean number of records
    per leaf (n is the number of records).
    """
    return np.asarray(margins / (np.abs(margins) + 2 * scale + n / (8 * len(margins))))
