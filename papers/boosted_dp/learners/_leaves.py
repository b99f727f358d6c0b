"""Shared code of BDPEα and the DP forest: leaves of rows, sums by leaf, and votes of leaves."""

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
    """Return the leaf of each row, counted from 0; `tree` has a single complete tree."""
    return find_leaves(bins, tree)[0] - tree.column.shape[1]


def shrunk_votes(margins: Floats, scale: float, n: int) -> Floats:
    """Convert the noisy margins D of leaves to votes D/(|D| + 2 · scale + n/(8 · leaves)).

    The votes are in (−1, 1). The denominator shrinks votes of leaves whose margin is small against
    the noise scale, or against the mean number of records per leaf (n is the number of records).
    """
    return np.asarray(margins / (np.abs(margins) + 2 * scale + n / (8 * len(margins))))
