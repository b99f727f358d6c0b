"""Scores on counted rows against scikit-learn on repeated rows."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as reference

from privcurve.analysis import measures
from privcurve.coding import Records
from privcurve.experiments import metrics
from privcurve.privacy.ledger import LedgerEntry, PrivacyStatement

rows = st.lists(
    st.tuples(
        st.one_of(st.integers(-50, 50).map(float), st.floats(-3, 3)),
        st.sampled_from([-1, 1]),
        st.integers(1, 4),
    ),
    min_size=2,
    max_size=30,
)


@given(rows)
def test_scores_equal_scores_of_repeated_rows(drawn):
    scores, signs, counts = (np.array(column) for column in zip(*drawn, strict=True))
    long_scores, long_signs = np.repeat(scores, counts), np.repeat(signs, counts)
    predicted = np.where(long_scores > 0, 1, -1)
    assert measures.accuracy(scores, signs, counts) == pytest.approx(
        reference.accuracy_score(long_signs, predicted)
    )
    if len(set(signs)) == 2:
        assert measures.auc(scores, signs, counts) == pytest.approx(
            reference.roc_auc_score(long_signs, long_scores)
        )
        assert measures.balanced_accuracy(scores, signs, counts) == pytest.approx(
            reference.balanced_accuracy_score(long_signs, predicted)
        )
    else:
        assert np.isnan(measures.auc(scores, signs, counts))


def of_classes(n_classes, n=60):
    """Return labels, probabilities with ties, and counts of some rows."""
    rng = np.random.default_rng(n_classes)
    chances = rng.multinomial(5, np.full(n_classes, 1 / n_classes), n) / 5
    return rng.integers(n_classes, size=n), chances, rng.integers(1, 4, n)


@pytest.mark.parametrize("n_classes", [3, 7])
def test_scores_of_classes_are_scikit_learns(n_classes):
    """The AUC is the mean over classes of the AUC of one class against the others."""
    labels, chances, counts = of_classes(n_classes)
    largest = chances.argmax(axis=1)
    assert measures.auc(chances, labels, counts) == pytest.approx(
        reference.roc_auc_score(labels, chances, multi_class="ovr", sample_weight=counts)
    )
    for name in ("accuracy", "balanced_accuracy"):
        expected = getattr(reference, f"{name}_score")(labels, largest, sample_weight=counts)
        assert getattr(measures, name)(chances, labels, counts) == pytest.approx(expected)


def test_a_class_that_no_scored_record_has_is_left_out_of_the_auc():
    labels, chances, counts = of_classes(4)
    labels[labels == 2] = 1
    each = [
        reference.roc_auc_score(labels == k, chances[:, k], sample_weight=counts) for k in (0, 1, 3)
    ]
    assert measures.auc(chances, labels, counts) == pytest.approx(np.mean(each))
    assert np.isnan(measures.auc(chances, np.zeros(60, dtype=int), counts))


@pytest.mark.parametrize(
    ("chances", "labels"),
    [([[0.8, 0.2], [0.3, 0.7]], [-1, 1]), ([[0.1, 0.8, 0.1], [0.1, 0.2, 0.7]], [1, 2])],
)
def test_log_loss_counts_rows(chances, labels):
    loss = measures.log_loss(np.array(chances), np.array(labels), np.array([3, 1]))
    assert loss == pytest.approx(-(3 * np.log(0.8) + np.log(0.7)) / 4)


class Learner:
    """A fitted learner, as far as scoring needs it."""

    n_features_used_ = 1

    def __init__(self, neighbours="replace-one", epsilon=1.0, **more):
        words = (neighbours, "proved", "basic", ())
        self.privacy_ = PrivacyStatement("lazybb", epsilon, 0.0, *words, status="proved")
        vars(self).update(more)

    def score_codes(self, X):
        return np.asarray(X)[:, 0] - 0.5


PART = Records(np.array([[0], [1]]), np.array([-1, 1]), np.array([3, 1]), np.array([2]))


class LearnerOfThree(Learner):
    """Scores of each record are shifted by a constant, which says nothing about its class."""

    def score_codes(self, X):
        return np.log(self.predict_proba(X)) + 10 * np.arange(len(X))[:, None]

    def predict_proba(self, X):
        return np.array([[0.7, 0.2, 0.1], [0.2, 0.5, 0.3], [0.1, 0.1, 0.8], [0.5, 0.4, 0.1]])


def test_classes_are_ranked_by_their_chances():
    part = Records(np.zeros((4, 1)), np.array([0, 1, 2, 0]), np.ones(4, dtype=int), np.array([1]))
    assert metrics.score(LearnerOfThree(), part, part, 0.1)["auc"] == 1.0


def test_a_statement_for_other_neighbours_is_a_failure():
    partial = Learner("private-columns")
    scores = metrics.score(partial, PART, PART, 0.1, "replace-one")
    assert scores["status"] == "failed"
    assert "the statement must be for 'replace-one'; it is for 'private-columns'" in scores["error"]
    assert metrics.score(partial, PART, PART, 0.1, "private-columns")["status"] == "ok"
    assert metrics.score(Learner(), PART, PART, 0.1, "add-remove")["status"] == "failed"
    without_noise = Learner("private-columns", epsilon=math.inf)
    assert metrics.score(without_noise, PART, PART, 0.1, "replace-one")["status"] == "ok"


def test_a_statement_stronger_than_requested_is_no_failure():
    scores = metrics.score(Learner(), PART, PART, 0.1, "private-columns")
    assert (scores["status"], scores["neighbours"]) == ("ok", "replace-one")


def test_training_records_are_not_predicted_again_if_answers_cost_budget():
    assert metrics.score(Learner(), PART, PART, 0.1)["train_accuracy"] == 1.0
    costly = metrics.score(Learner(scores_cost_answers=True), PART, PART, 0.1)
    assert (costly["train_accuracy"], costly["accuracy"]) == (None, 1.0)


def test_measures_of_a_learner_are_stored_as_numbers():
    own = {"rounds": np.int64(3), "depth": 1.5, "spare": math.nan}
    scores = metrics.score(Learner(measures_=own), PART, PART, 0.1)
    assert json.loads(scores["measures"]) == {"rounds": 3, "depth": 1.5, "spare": None}
    assert "measures" not in metrics.score(Learner(), PART, PART, 0.1)


def test_a_statement_that_claims_more_epsilon_than_was_asked_is_a_failure():
    def status(budget, **more):
        return metrics.score(Learner(**more), PART, PART, 0.1, "replace-one", budget)["status"]

    assert status((1.0, 0.0)) == "ok"
    assert status((2.0, 0.0)) == "ok"
    assert status((0.5, 0.0)) == "failed"
    # No noise, although ε is finite.
    assert status((0.5, 0.0), epsilon=math.inf) == "failed"
    assert status((math.inf, 0.0), epsilon=math.inf) == "ok"


def test_a_ledger_that_adds_up_to_more_than_was_asked_is_a_failure():
    learner = Learner()
    call = LedgerEntry("laplace", "counts", 0.5, 2.0, 1.0)
    for calls, status in ((1, "ok"), (2, "failed")):
        learner.privacy_ = replace(learner.privacy_, ledger=(call,) * calls)
        scores = metrics.score(learner, PART, PART, 0.1, "replace-one", (1.0, 0.0))
        assert scores["status"] == status
    assert "its ledger adds up to epsilon = 2" in scores["error"]


def test_a_delta_that_was_not_asked_for_is_a_failure():
    learner = Learner()
    learner.privacy_ = replace(learner.privacy_, delta=1e-3)
    assert metrics.score(learner, PART, PART, 0.1, None, (1.0, 1e-3))["status"] == "ok"
    assert metrics.score(learner, PART, PART, 0.1, None, (1.0, 1e-5))["status"] == "failed"


@pytest.mark.parametrize("n_classes", [2, 4])
def test_average_precision_and_the_brier_score_match_scikit_learn(n_classes):
    rng = np.random.default_rng(n_classes)
    chances = rng.dirichlet(np.ones(n_classes), 80).round(1 if n_classes == 2 else 2)
    chances /= chances.sum(axis=1, keepdims=True)
    counts = rng.integers(1, 4, 80)
    places = rng.integers(0, n_classes, 80)
    truth = np.eye(n_classes)[places]
    labels = 2 * places - 1 if n_classes == 2 else places
    squares = ((chances - truth) ** 2).sum(axis=1)
    assert measures.brier(chances, labels, counts) == pytest.approx(
        np.average(squares, weights=counts) / 2
    )
    each = [
        reference.average_precision_score(truth[:, k], chances[:, k], sample_weight=counts)
        for k in ([1] if n_classes == 2 else range(n_classes))
    ]
    scores = chances[:, 1] if n_classes == 2 else chances
    assert measures.average_precision(scores, labels, counts) == pytest.approx(np.mean(each))
    alone = np.ones(80, dtype=int) if n_classes == 2 else np.zeros(80, dtype=int)
    assert np.isnan(measures.average_precision(scores, alone, counts))


def test_a_run_has_all_measures_with_null_where_probabilities_lack():
    scores = metrics.score(Learner(), PART, PART, 0.1)
    assert set(measures.MEASURES) <= set(scores)
    needy = {name for name, one in measures.MEASURES.items() if one.needs == measures.CHANCES}
    assert needy == {"log_loss", "brier"}
    has = hasattr(Learner(), "predict_proba")
    assert {name for name in measures.MEASURES if scores[name] is None} == (set() if has else needy)
