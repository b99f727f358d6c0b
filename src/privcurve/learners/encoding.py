"""Coded columns as 0/1 columns, for learners that are linear in their input."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array


def one_hot(
    codes: NDArray[np.unsignedinteger[Any]], n_bins: NDArray[np.int64], value: float = 1.0
) -> csr_array:
    """Give each value of each column a column of its own.

    Every row holds exactly one entry for each coded column, so its L2 norm is
    ``value · √n_columns``, whatever the data.

    Parameters
    ----------
    codes : ndarray of shape (n_rows, n_columns)
        Column ``j`` holds ``0 … n_bins[j] - 1``.
    n_bins : ndarray of shape (n_columns,)
    value : float
        What stands where a one-hot matrix has a 1.

    Returns
    -------
    scipy.sparse.csr_array of float64, shape (n_rows, n_bins.sum())
    """
    n_rows, n_columns = codes.shape
    first = (np.cumsum(n_bins) - n_bins).astype(np.int32)
    indices = (codes.astype(np.int32) + first).ravel()
    starts = np.arange(0, n_rows * n_columns + 1, n_columns, dtype=np.int32)
    entries = np.full(indices.size, value)
    return csr_array((entries, indices, starts), shape=(n_rows, int(n_bins.sum())))
