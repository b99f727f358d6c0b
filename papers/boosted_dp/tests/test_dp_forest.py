"""Test forests of random trees and the noisy majority: votes, ledgers, refusals."""

import numpy as np
import pytest

from privcurve.learners.majority import NoisyMajorityClassifier
from privcurve.papers.boosted_dp.learners.dp_forest.classifier import DPForestClassifier

N_BINS = [4, 3, 5]


def problem(n=150, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, N_BINS, (n, 3)).astype(np.uint8)
    return X, np.where((X[:, 0] > 1) ^ (rng.random(n) < 0.1), 1, -1)


def fitted(kind=DPForestClassifier, seed=0, n_bins=N_BINS, **parameters):
    learner = kind(n_bins=n_bins, classes=(-1, 1), **parameters)
    return learner.set_params(random_state=np.random.default_rng(seed)).fit(*problem())


@pytest.mark.parametrize("votes", ["sign", "shrunk"])
def test_without_noise_a_leaf_votes_by_its_records(votes):
    X, y = problem()
    model = fitted(n_trees=3, depth=3, epsilon=np.inf, votes=votes)
    starts = np.concatenate([[0], np.cumsum(N_BINS)])
    expected = np.zeros(len(X))
    for splits in model.splits_:
        leaves = np.zeros(len(X), dtype=int)
        for i, row in enumerate(X):
            node = 0
            while node < 7:
                column = np.searchsorted(starts, splits[node], side="right") - 1
                node = 2 * node + 1 + int(row[column] > splits[node] - starts[column])
            leaves[i] = node - 7
        margins = np.bincount(leaves, weights=y, minlength=8)
        vote = np.sign(margins)
        if votes == "shrunk":
            vote = margins / (np.abs(margins) + len(X) / 64)
        expected += vote[leaves]
    assert model.decision_function(X) == pytest.approx(expected)


def test_the_majority():
    X, y = problem()
    assert fitted(NoisyMajorityClassifier, epsilon=np.inf).margin_ == y.sum()
    margins = [fitted(NoisyMajorityClassifier, seed=s, epsilon=0.5).margin_ for s in range(2_000)]
    errors = np.array(margins) - y.sum()
    # The noise is Laplace noise of scale 4, so |error| has mean 4 and standard deviation 4. The
    # tolerance of four standard errors gives a false alarm with probability 6·10⁻⁵.
    assert np.abs(errors).mean() == pytest.approx(4, abs=4 * 4 / np.sqrt(2_000))
    model = fitted(NoisyMajorityClassifier, epsilon=0.5)
    assert model.privacy_.epsilon_spent == 0.5
    assert set(model.predict(X)) == {1 if model.margin_ > 0 else -1}


def test_a_file_whose_leaf_has_more_than_its_vote_is_refused():
    model = fitted()
    model.leaf_values_[0, 0] = 2
    with pytest.raises(ValueError, match="the vote of a leaf is not between -1 and 1"):
        model._restore()
