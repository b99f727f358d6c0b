"""Train the teachers of DP bagging, which are many small logistic models, and let them vote."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from privcurve.coding import Ints, Signs
from privcurve.kernels.arithmetic import exp
from privcurve.kernels.jit import jit


@jit(error_model="numpy")
def add_votes(
    codes: NDArray[Any],
    signs: Signs,
    order: Ints,
    ends: Ints,
    bin_starts: Ints,
    n_passes: int,
    pool: NDArray[Any],
    votes: Ints,
) -> None:
    """Train the teachers of one partition, and add their votes on the rows of `pool` to `votes`.

    A vote is 1 for a score above 0, else −1. A teacher is a logistic model of the columns after
    one-hot encoding; it makes `n_passes` passes of stochastic gradient descent over its records in
    the given order. Teacher i has the records ``order[ends[i - 1] : ends[i]]``, and depends on no
    other records.
    """
    n_columns = codes.shape[1]
    weights = np.zeros(bin_starts[-1])
    start = 0
    for end in ends:
        weights[:] = 0.0
        for t in range(n_passes):
            # A one-hot row has n_columns ones, so gradient descent is stable with this step.
            step = 2.0 / (n_columns * (1.0 + t))
            for i in range(start, end):
                row = codes[order[i]]
                score = 0.0
                for j in range(n_columns):
                    score += weights[bin_starts[j] + row[j]]
                sign = signs[order[i]]
                change = step * sign / (1.0 + exp(sign * score))
                for j in range(n_columns):
                    weights[bin_starts[j] + row[j]] += change
        start = end
        for q in range(len(pool)):
            score = 0.0
            for j in range(n_columns):
                score += weights[bin_starts[j] + pool[q, j]]
            votes[q] += 1 if score > 0 else -1
