"""Probabilities of learners whose scores are not log-odds."""

import numpy as np
import pytest
from scipy.special import expit, logit

from privcurve.experiments.metrics import fits_log_odds
from privcurve.learners.registry import LEARNERS, make
from privcurve.learners.shared import chances


def coded(n=4000, seed=0):
    """Return records whose label is more often positive if more of three columns are high."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, size=(n, 3)).astype(np.uint8)
    chance = expit(1.5 * (X.sum(axis=1) - 4.5))
    return X, np.where(rng.random(n) < chance, 1, -1)


class Four:
    n_bins = (4, 4, 4)
    ordered = (True, True, True)


def log_loss(chance, y):
    return float(-np.mean(np.log(np.where(y > 0, chance[:, 1], chance[:, 0]))))


@pytest.mark.parametrize("cap", [-1.0, 0.0, 2.5])
def test_at_the_probability_both_labels_weigh_the_same(cap):
    votes, rate = np.arange(-9.0, 10.0), 0.4
    q = expit(chances.capped_weights(votes, rate, cap))

    def weight(margin):
        return np.minimum(1.0, np.exp(cap - rate * margin))

    assert np.allclose(q * weight(votes), (1 - q) * weight(-votes), rtol=1e-12)


@pytest.mark.parametrize("density", [0.05, 0.35, 0.9])
@pytest.mark.parametrize("rate", [0.1, 0.45, 1.0])
def test_the_cap_makes_weights_as_dense_as_the_measure(density, rate):
    votes = np.random.default_rng(0).integers(-12, 13, 500).astype(float)
    cap = chances.cap_of(votes, rate, density)
    q = expit(chances.capped_weights(votes, rate, cap))
    a, b = (np.minimum(1.0, np.exp(cap - rate * side)) for side in (votes, -votes))
    dense = float(np.mean(q * a + (1 - q) * b))
    # Rounds begin at ln density; the weights become no smaller.
    assert cap == pytest.approx(np.log(density)) or dense == pytest.approx(density, rel=1e-6)
    assert dense >= density * (1 - 1e-6)


def test_unanimous_votes_are_no_certainty():
    # The rarer label keeps half of the density, 0.35 / 2: docs/probabilities.md.
    votes = np.full(100, -39.0)
    cap = chances.cap_of(votes, 0.45, 0.35)
    q = expit(chances.capped_weights(votes, 0.45, cap))
    assert q == pytest.approx(0.35 / 2, rel=1e-6)


def test_links_of_other_losses():
    scores = np.linspace(-6, 6, 25)
    assert np.allclose(expit(chances.succession(np.array([-7.0, 0, 3]), 7)), [1 / 9, 0.5, 6 / 9])
    p = expit(scores)
    odds = np.where(p > 0.5, 1 / (2 * (1 - p)), 2 * p)
    assert np.allclose(chances.clipped_log_odds(scores), np.log(odds))


BOUNDED = [
    ("lazybb", {"n_rounds": 15}),
    ("lazybb", {"n_rounds": 15, "density": 1.0}),
    ("lazybb", {"n_rounds": 5, "weak_learner": "topdown"}),
    ("one_rule", {}),
    ("topdown", {}),
    ("bdpe", {}),
    ("dp_forest", {"n_trees": 15}),
    ("random_trees", {"n_trees": 10, "delta": 1e-6}),
    ("dpboost", {"n_trees": 10, "epsilon": np.inf}),
    ("distributed_topdown", {}),
]


@pytest.mark.parametrize(
    ("name", "parameters"),
    [one for one in BOUNDED if one[0] in LEARNERS],
)
def test_probabilities_beat_a_coin_and_agree_with_the_label(name, parameters):
    X, y = coded()
    model = make(name, Four(), {"epsilon": 8.0, "random_state": 0, **parameters}).fit(X, y)
    test, labels = coded(2000, 1)
    chance = model.predict_proba(test)
    assert np.allclose(chance.sum(axis=1), 1)
    assert np.array_equal(chance.argmax(axis=1) == 1, model.predict(test) == 1)
    assert log_loss(chance, labels) < np.log(2) - 0.02
    # Stored results have a log loss only for learners that fit log-odds.
    assert not fits_log_odds(model)


def test_probabilities_of_lazybb_do_not_depend_on_other_rows():
    X, y = coded()
    model = make("lazybb", Four(), {"n_rounds": 9, "random_state": 0}).fit(X, y)
    together = model.predict_proba(X[:50])
    assert np.array_equal(np.vstack([model.predict_proba(row) for row in X[:50, None]]), together)
    assert "_cap" not in vars(model)


def test_a_public_start_gives_log_odds():
    X, y = coded()

    class Facts(Four):
        public_columns = (0,)
        public_label = True

    model = make("lazybb", Facts(), {"start": "public", "n_rounds": 3}, "private-columns")
    model.fit(X, y)
    assert model.cap_ is None
    odds = logit(model.predict_proba(X)[:, 1])
    assert np.allclose(odds, model.decision_function(X), atol=1e-6)
