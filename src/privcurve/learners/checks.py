"""Checks of a learner's arguments."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral

import numpy as np
from numpy.typing import ArrayLike, NDArray

RandomState = int | np.random.Generator | np.random.RandomState | None


def generator_of(random_state: RandomState) -> np.random.Generator:
    """Turn scikit-learn's `random_state` into a generator.

    Parameters
    ----------
    random_state : int, Generator, RandomState or None
        A generator is used as it is.

    Returns
    -------
    numpy.random.Generator
    """
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**32, size=4, dtype=np.uint32))
    return np.random.default_rng(random_state)


def check_n_bins(n_bins: int | Sequence[int], n_columns: int) -> NDArray[np.int64]:
    """Give the number of codes of each column."""
    if isinstance(n_bins, Integral):
        bins = np.full(n_columns, int(n_bins), dtype=np.int64)
    else:
        bins = np.asarray(n_bins, dtype=np.int64)
    if bins.shape != (n_columns,):
        raise ValueError(f"n_bins has {bins.size} entries, but X has {n_columns} columns")
    if (bins < 1).any() or (bins > 2**16).any():
        raise ValueError(f"n_bins must be between 1 and {2**16} for each column")
    return bins


def check_counts(counts: ArrayLike | None, n_rows: int) -> NDArray[np.int64]:
    """Give how many records each row stands for."""
    if counts is None:
        return np.ones(n_rows, dtype=np.int64)
    given = np.asarray(counts)
    whole = given.astype(np.int64)
    if given.shape != (n_rows,) or not np.array_equal(whole, given) or (whole < 1).any():
        raise ValueError(f"counts must be {n_rows} whole numbers of at least 1")
    return whole
