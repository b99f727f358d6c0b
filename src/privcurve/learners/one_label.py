"""Labels that no training record has: what a score is then."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit

from privcurve.coding import Floats, Ints, Signs

# The score for "all records have this label". Finite, so that the log-loss is; the
# probability is 1 minus the relative rounding error of a float32, as scikit-learn's
# gradient boosting has it.
CERTAIN = float(-logit(np.finfo(np.float32).eps))


def only_label(signs: Signs) -> int | None:
    """Give the sign that all records share, None if both occur."""
    return int(signs[0]) if (signs == signs[0]).all() else None


def log_shares(labels: NDArray[Any], counts: Ints, n_classes: int) -> Floats:
    """Give the logarithm of each class's share of the records, at least minus `CERTAIN`.

    Parameters
    ----------
    labels : ndarray of shape (n_rows,)
        Positions of classes.
    counts : ndarray of shape (n_rows,)
    n_classes : int

    Returns
    -------
    ndarray of shape (n_classes,)
    """
    shares = np.bincount(labels, weights=counts, minlength=n_classes) / counts.sum()
    return np.asarray(np.log(np.maximum(shares, np.exp(-CERTAIN))))
