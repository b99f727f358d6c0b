"""Training records that all have one label: what a score is then."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit

# The score for "all records have this label". Finite, so that the log-loss is; the
# probability is 1 minus the relative rounding error of a float32, as scikit-learn's
# gradient boosting has it.
CERTAIN = float(-logit(np.finfo(np.float32).eps))


def only_label(signs: NDArray[np.int8]) -> int | None:
    """Give the sign that all records share, None if both occur."""
    return int(signs[0]) if (signs == signs[0]).all() else None
