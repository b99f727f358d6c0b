"""How often DP-TopDown trees vote in some way, against the exact probabilities.

Chi-square tests with fixed seeds. Each rejects at 1e-4: were the seeds drawn anew, one of
the tests here would fail wrongly in fewer than 1 of 500 runs.
"""

import numpy as np
import pytest
from scipy.stats import chisquare
from tree_outcomes import tree_outcomes

from privcurve.coding import Records
from privcurve.learners import LazyBBClassifier, TopDownTreeClassifier

FALSE_ALARM = 1e-4
N_FITS = 4000

X = np.array([[0, 0], [0, 1], [1, 0], [1, 1], [1, 2], [0, 2]], dtype=np.uint8)
Y = np.array([-1, 1, -1, 1, 1, -1], dtype=np.int8)
COUNTS = np.array([3, 2, 1, 2, 1, 1])
SIDE = Records(X, Y, COUNTS, np.array([2, 3]))


@pytest.mark.parametrize(
    "learner",
    [
        TopDownTreeClassifier(depth=1),
        TopDownTreeClassifier(depth=2, mechanism="exponential", splits="threshold"),
        TopDownTreeClassifier(depth=2, delta=1e-3),
        TopDownTreeClassifier(depth=1, leaves="rules"),
        TopDownTreeClassifier(depth=2, leaves="rules", delta=1e-3, criterion="zero_one"),
        TopDownTreeClassifier(calibration="published", n_splits=2),
        LazyBBClassifier(weak_learner="topdown", n_rounds=2, depth=1, density=0.6),
        LazyBBClassifier(weak_learner="topdown", n_rounds=2, depth=1, leaves="rules", density=0.6),
        LazyBBClassifier(
            weak_learner="topdown", n_rounds=2, n_splits=1, density=0.6, calibration="published"
        ),
    ],
    ids=str,
)
def test_votes(learner):
    learner.set_params(epsilon=4.0, n_bins=SIDE.n_bins, classes=(-1, 1))
    chances, votes = tree_outcomes(learner, SIDE)
    rngs = [np.random.default_rng([5, seed]) for seed in range(N_FITS)]
    fits = learner.fit_many(X, Y, [{}] * N_FITS, rngs, COUNTS)
    found = np.array([fit.decision_function(X) for fit in fits]).astype(int)
    patterns, which = np.unique(np.concatenate([votes, found]), axis=0, return_inverse=True)
    which = which.ravel()
    expected = np.bincount(which[: len(votes)], weights=chances, minlength=len(patterns))
    observed = np.bincount(which[len(votes) :], minlength=len(patterns))
    # Patterns too rare for the chi-square approximation are counted as one.
    rare = expected * N_FITS < 5
    group = np.where(rare, 0, np.cumsum(~rare))
    expected, observed = (np.bincount(group, weights=v) for v in (expected * N_FITS, observed))
    kept = expected > 0
    assert observed[~kept].sum() == 0
    assert chisquare(observed[kept], expected[kept]).pvalue > FALSE_ALARM
