"""Leaves of both ensembles: the leaf of a row, sums of weights by leaf, and votes."""

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
    """Return the leaf of each row in a tree, counted from 0."""
    return find_leaves(bins, tree)[0] - tree.column.shape[1]


def shrunk_votes(margins: Floats, scale: float, n: int) -> Floats:
    """Return votes D/(|D| + 2 · scale + n/(8 · leaves)), in (−1, 1), for the margins D of leaves.

    A large noise scale shrinks unreliable margins; n is the number of records.
    """
    return np.asarray(margins / (np.abs(margins) + 2 * scale + n / (8 * len(margins))))
