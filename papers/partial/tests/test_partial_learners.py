"""Test learners with public columns: LazyBB and logistic regression."""

import math

import numpy as np
import pytest

from privcurve.coding import Records
from privcurve.learners.lazybb import LazyBBClassifier
from privcurve.learners.linear.linear import LogisticRegressionClassifier
from privcurve.privacy.curator import Curator

BINS = (3, 4, 5)
KNOWN = {"n_bins": BINS, "classes": (-1, 1)}


def records(n=400):
    rng = np.random.default_rng(0)
    X = rng.integers(0, BINS, (n, 3)).astype(np.uint8)
    return X, np.where((X[:, 2] > 2) ^ (rng.random(n) < 0.15), 1, -1)


def seeded():
    return np.random.default_rng(3)


@pytest.mark.parametrize("weak_learner", ["one_rule", "topdown"])
def test_votes_of_a_started_lazybb_use_only_private_columns(weak_learner):
    X, y = records()
    options = {**KNOWN, "weak_learner": weak_learner, "start": "public", "n_rounds": 5}
    for seed in range(5):
        model = LazyBBClassifier(
            **options, public_columns=(0, 2), epsilon=0.5, random_state=np.random.default_rng(seed)
        ).fit(X, y)
        other = X.copy()
        other[:, [0, 2]] = 0
        shift = model.start_.log_odds(X) - model.start_.log_odds(other)
        scores = model.decision_function(X) - model.decision_function(other)
        assert scores == pytest.approx(shift)
    assert model.privacy_.neighbours == "private-columns"
    assert model.privacy_.public_columns == (0, 2)
    changed = X.copy()
    changed[:, 1] = 3 - X[:, 1]
    again = LazyBBClassifier(**options, public_columns=(0, 2), random_state=seeded())
    assert np.array_equal(again.fit(changed, y).start_.coefficients, model.start_.coefficients)


def test_the_weight_of_a_vote():
    X, y = records()
    options = {**KNOWN, "start": "public", "public_columns": (0,), "epsilon": math.inf}
    for rounds, worth, expected in ((1, None, 1.0), (3, None, 0.9), (3, 0.25, 0.25)):
        model = LazyBBClassifier(
            **options, n_rounds=rounds, vote_worth=worth, random_state=seeded()
        )
        scores = model.fit(X, y).decision_function(X) - model.start_.log_odds(X)
        votes = scores / expected
        assert votes == pytest.approx(np.round(votes), abs=1e-9)
        assert np.abs(votes).max() <= rounds + 1e-9
    assert not model.privacy_.private


@pytest.mark.usefixtures("given_streams")
def test_a_start_next_to_other_settings_of_one_batch():
    X, y = records()
    learner = LazyBBClassifier(**KNOWN, public_columns=(0,), n_rounds=3)
    side = Records(X, y, np.ones(len(y), dtype=np.int64), np.array(KNOWN["n_bins"]))
    plain, started = learner.fit_records(
        side, [{}, {"start": "public"}], [Curator(seeded()), Curator(seeded())]
    )
    alone = LazyBBClassifier(**KNOWN, n_rounds=3, random_state=seeded()).fit(X, y)
    assert np.array_equal(plain.decision_function(X), alone.decision_function(X))
    assert plain.privacy_ == alone.privacy_
    assert started.privacy_.public_label


def test_logistic_regression_of_public_columns_costs_nothing():
    X, y = records()
    model = LogisticRegressionClassifier(**KNOWN, columns="public", public_columns=(1, 2))
    statement = model.fit(X, y).privacy_
    assert (statement.epsilon, statement.epsilon_spent) == (0.0, 0.0)
    assert statement.ledger == ()
    assert statement.neighbours == "private-columns"
    assert statement.public_columns == (1, 2)
    assert len(model.coef_) == 9
    scaled = LogisticRegressionClassifier(**KNOWN, encoding="scaled").fit(X, y)
    assert len(scaled.coef_) == 3
    assert not scaled.privacy_.private
    with pytest.raises(ValueError, match="columns = 'public' needs public columns"):
        LogisticRegressionClassifier(**KNOWN, columns="public").fit(X, y)


def test_no_public_column_leaves_the_share_of_labels():
    X, y = records()
    model = LogisticRegressionClassifier(**KNOWN, columns="public", public_columns=()).fit(X, y)
    assert model.intercept_ == pytest.approx(math.log((y > 0).sum() / (y < 0).sum()))
