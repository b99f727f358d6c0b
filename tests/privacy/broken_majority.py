"""A noisy majority with another release, and records for it."""

import numpy as np

from privcurve.learners.majority import NoisyMajorityClassifier

_RNG = np.random.default_rng(3)
X, Y = _RNG.integers(0, 4, (80, 3)), _RNG.integers(0, 2, 80)


def make_release(answer):
    """Return a `_release` whose margin is ``answer(curator, exact margin)``."""

    def release(self, records, curator):
        self.n_records_, self.n_features_used_ = records.n, 0
        self.margin_ = answer(curator, (records.counts * records.labels).sum())

    return release


def majority_with_release(release, **parameters):
    """Return a noisy majority with this `_release`."""
    kind = type("Broken", (NoisyMajorityClassifier,), {"_release": release})
    return kind(n_bins=4, classes=(0, 1), **parameters)
