"""The noisy majority with another release, and records for it."""

import numpy as np

from privcurve.learners.majority import NoisyMajorityClassifier

_RNG = np.random.default_rng(3)
X, Y = _RNG.integers(0, 4, (80, 3)), _RNG.integers(0, 2, 80)


def broken(release, **parameters):
    """The noisy majority with another `_release`."""
    kind = type("Broken", (NoisyMajorityClassifier,), {"_release": release})
    return kind(n_bins=4, classes=(0, 1), **parameters)
