"""Noisy naive Bayes: plain naive Bayes without noise; chosen columns; the public start."""

import math

import numpy as np
import pytest

from privcurve.learners.noisy_bayes import NoisyBayesClassifier


def records(n=60, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, (3, 2, 4), (n, 3)).astype(np.uint8)
    return X, np.where((X[:, 0] > 0) ^ (rng.random(n) < 0.2), 1, -1)


def fit(X, y, **parameters):
    options = {"n_bins": (3, 2, 4), "classes": (-1, 1), **parameters}
    options["random_state"] = np.random.default_rng(options.get("random_state", 0))
    return NoisyBayesClassifier(**options).fit(X, y)


def test_without_noise_it_is_naive_bayes():
    X, y = records(500)
    model = fit(X, y, epsilon=math.inf)
    for row in X[:20]:
        score = math.log((y > 0).sum() + 5) - math.log((y < 0).sum() + 5)
        for j, bins in enumerate((3, 2, 4)):
            up, down = (
                (np.sum((X[:, j] == row[j]) & (y == s)) + 5) / (np.sum(y == s) + 5 * bins)
                for s in (1, -1)
            )
            score += math.log(up / down)
        assert model.decision_function(row[None])[0] == pytest.approx(score)


def test_the_most_telling_column_is_chosen():
    X, y = records(500)
    assert fit(X, y, n_columns=1, epsilon=math.inf).columns_.tolist() == [0]
    assert fit(X, y, n_columns=9, epsilon=math.inf).columns_.tolist() == [0, 1, 2]


@pytest.mark.usefixtures("given_streams")
def test_a_public_start_needs_public_columns():
    X, y = records()
    with pytest.raises(ValueError, match="noisy_bayes: start = 'public' needs public_columns="):
        fit(X, y, start="public")
    plain, result = fit(X, y), fit(X, y, public_columns=(0,))
    assert np.array_equal(plain.decision_function(X), result.decision_function(X))
    assert result.privacy_.neighbours == "replace-one"
    started = fit(X, y, start="public", public_columns=())
    assert started.privacy_.neighbours == "private-columns"
    assert started.privacy_.public_columns == ()
    assert started.privacy_.public_label
