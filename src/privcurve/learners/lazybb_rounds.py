"""What happened in each round of a fitted LazyBB ensemble."""

from __future__ import annotations

import numpy as np

from privcurve.coding import Codes, Floats, Ints, Signs
from privcurve.kernels.projection import fixed_point_bits, project, start_levels
from privcurve.learners.lazybb import LazyBBClassifier


def round_advantages(learner: LazyBBClassifier, codes: Codes, signs: Signs, counts: Ints) -> Floats:
    """Give the advantage of the voter of each round over guessing.

    The weight of the records that it gets right under the normalised distribution of its
    round, less 1/2 (thesis, Definition 2.3.3). Not private: for the holder of the data.

    Parameters
    ----------
    learner : LazyBBClassifier
        Fitted.
    codes : ndarray of unsigned integers, shape (n_rows, n_columns)
        The rows it was trained on.
    signs, counts : ndarray of shape (n_rows,)
        −1 or +1, and the records that a row stands for.

    Returns
    -------
    ndarray of shape (n_rounds,)
        Each in [−1/2, 1/2].
    """
    positive = np.asarray(signs) > 0
    n_rounds = learner.model_.n_rounds
    unit = 1 << fixed_point_bits(int(counts.sum()))
    level, spread, step = start_levels(learner._begin(codes, signs), len(positive))
    weights = np.zeros(spread + step * n_rounds + 1, dtype=np.int64)
    rate = learner.learning_rate / step
    seen = learner._seen(codes)
    advantages = np.empty(n_rounds)
    for t in range(n_rounds):
        n_levels = spread + step * t + 1
        histogram = _histogram(level, counts, n_levels)
        project(histogram, n_levels - 1, learner.density, rate, unit, weights)
        right = (learner.model_.tally(seen, t, t + 1) > 0) == positive
        of_right = _histogram(level[right], counts[right], n_levels)
        # Sums of fixed-point weights fit in 62 bits: exact.
        share = int(weights[:n_levels] @ of_right) / int(weights[:n_levels] @ histogram)
        advantages[t] = share - 0.5
        level += step * right
    return advantages


def _histogram(levels: Ints, counts: Ints, n_levels: int) -> Ints:
    return np.bincount(levels, weights=counts, minlength=n_levels).astype(np.int64)
