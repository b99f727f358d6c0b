"""What happened in each round of a fitted LazyBB ensemble."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from privcurve.coding import Codes
from privcurve.kernels.projection import fixed_point_bits, project
from privcurve.learners.lazybb import LazyBBClassifier


def round_advantages(
    learner: LazyBBClassifier, codes: Codes, signs: NDArray[np.int8], counts: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Give the advantage of the voter of each round over guessing.

    The weight of the records that it gets right under the normalised distribution of its
    round, less 1/2 (thesis, Definition 2.3.3). Not private: for the holder of the data.

    Parameters
    ----------
    learner : LazyBBClassifier
        Fitted.
    codes : ndarray of unsigned integers, shape (n_rows, n_columns)
        The rows it was trained on.
    signs : ndarray of shape (n_rows,)
        −1 or +1.
    counts : ndarray of shape (n_rows,)
        Records that a row stands for.

    Returns
    -------
    ndarray of shape (n_rounds,)
        Each in [−1/2, 1/2].
    """
    positive = np.asarray(signs) > 0
    n_rounds = learner.model_.n_rounds
    unit = 1 << fixed_point_bits(int(counts.sum()))
    n_correct = np.zeros(len(positive), dtype=np.int64)
    weights = np.zeros(n_rounds + 1, dtype=np.int64)
    advantages = np.empty(n_rounds)
    for t in range(n_rounds):
        histogram = _histogram(n_correct, counts, t + 1)
        project(histogram, t, learner.density, learner.learning_rate, unit, weights)
        right = (learner.model_.tally(codes, t, t + 1) > 0) == positive
        of_right = _histogram(n_correct[right], counts[right], t + 1)
        # Sums of fixed-point weights fit in 62 bits: exact.
        share = int(weights[: t + 1] @ of_right) / int(weights[: t + 1] @ histogram)
        advantages[t] = share - 0.5
        n_correct += right
    return advantages


def _histogram(
    levels: NDArray[np.int64], counts: NDArray[np.int64], n_levels: int
) -> NDArray[np.int64]:
    return np.bincount(levels, weights=counts, minlength=n_levels).astype(np.int64)
