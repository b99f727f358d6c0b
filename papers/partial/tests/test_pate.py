"""Test PATE with public columns: the effect of one record, and the cost of answers."""

import copy
import pickle

import numpy as np
import pytest

from privcurve.coding import Records
from privcurve.experiments import metrics
from privcurve.learners.tuned import TunedClassifier
from privcurve.papers.partial.learners.pate.classifier import (
    ASKED_AGAIN,
    NOT_OWN,
    PATEClassifier,
    _count_margins,
    _train_teachers,
    answers_l1,
)

BINS = (3, 4)


def records(n=60):
    rng = np.random.default_rng(1)
    X = rng.integers(0, BINS, (n, 2)).astype(np.uint8)
    return X, np.where((X[:, 1] > 1) ^ (rng.random(n) < 0.1), 1, -1)


def fit(X, y, seed=0, **parameters):
    options = {"n_bins": BINS, "classes": (-1, 1), "public_columns": (0,), "n_teachers": 5}
    options |= {"random_state": np.random.default_rng(seed), **parameters}
    return PATEClassifier(**options).fit(X, y)


def test_margins_of_neighbours():
    """A replaced record changes one teacher, so it changes other records' margins by at most 2.

    All K teachers vote on the replaced record, so its own margin changes by up to 2K.
    """
    rng = np.random.default_rng(0)
    n, k = 24, 4
    worst_own = worst_other = 0.0
    for _ in range(40):
        z = rng.choice([-1.0, 1.0], n)
        y = np.where(z > 0, 1, -1).astype(np.int8)
        moved = z.copy()
        moved[0] = -z[0]
        parts = np.array_split(rng.permutation(n), k)
        margins = []
        for points in (z, moved):
            rows = np.column_stack([points, np.ones(n)])
            margins.append(_count_margins(rows, _train_teachers(rows, y, parts)))
        change = np.abs(margins[0] - margins[1])
        assert change.sum() <= answers_l1(n, k)
        worst_own, worst_other = max(worst_own, change[0]), max(worst_other, change[1:].max())
    assert worst_own == 2 * k
    assert worst_other <= 2


def test_noise_of_training_answers_is_the_records_own():
    """Equal training rows get independent noise, because noise must not depend on their bins."""
    X = np.zeros((400, 2), dtype=np.uint8)
    y = np.where(np.arange(400) % 2, 1, -1)
    rng = np.random.default_rng(0)
    drawn = []

    class Spy(PATEClassifier):
        def _train_student(self, codes, signs, positive):
            drawn.append(positive)
            return super()._train_student(codes, signs, positive)

    Spy(n_bins=BINS, classes=(-1, 1), public_columns=(0,), epsilon=1.0, random_state=rng).fit(X, y)
    assert 0.3 < drawn[0].mean() < 0.7


def test_asking_twice_gives_the_same_and_costs_once():
    X, y = records()
    model = fit(X, y, n_answers=62, epsilon=0.01)
    first = model.decision_function(X[:30, :] * np.array([1, 0], dtype=np.uint8))
    again = model.decision_function(X[:30, :] * np.array([1, 0], dtype=np.uint8))
    assert np.array_equal(first, again)
    model.predict([[0, 1]])
    with pytest.raises(
        ValueError, match=r"at most 0 new rows, because ε pays for 2 answers in addition"
    ):
        model.predict([[2, 2]])
    # A row with the private bin 1 already has an answer, so this answer costs nothing.
    model.predict([[2, 1]])


def test_answers_of_scored_rows_flip_as_often_as_their_noise_says():
    """Laplace noise of scale b flips the sign of a margin m with probability ½e^(−|m|/b).

    The tolerance is 5 standard deviations of the number of flips in 1,200 rows.
    """
    rng = np.random.default_rng(3)
    X = np.c_[rng.integers(0, 3, 200), rng.integers(0, 1200, 200)].astype(np.uint16)
    y = np.where((X[:, 1] > 600) ^ (rng.random(200) < 0.1), 1, -1)
    rows = np.c_[np.zeros(1200), np.arange(1200)].astype(np.uint16)
    model = fit(X, y, n_bins=(3, 1200), n_answers=1400, epsilon=500.0)
    scale = 2 * (1400 - 1 + 5) / 500
    margins = _count_margins(model._private_rows(rows), model._teachers)
    flipped = (model._ask(rows) > 0) != (margins > 0)
    chances = np.exp(-np.abs(margins) / scale) / 2
    spread = np.sqrt((chances * (1 - chances)).sum())
    assert abs(flipped.sum() - chances.sum()) < 5 * spread
    # Noise of half the scale would flip far fewer margins, so the test would notice it.
    assert (np.exp(-2 * np.abs(margins) / scale) / 2).sum() < chances.sum() - 8 * spread


def test_equal_answers_of_training_rows_show_equal_codes():
    """If training rows are scored, rows with equal private bins always get equal answers.

    Different answers then show for certain that the private bins of two training rows differ. This
    is why training rows must not be scored.
    """
    X, y = records()
    neighbour = X.copy()
    X[1, 1] = X[0, 1]
    neighbour[1, 1] = (X[0, 1] + 1) % 4
    unequal = []
    for rows in (X, neighbour):
        answers = [fit(rows, y, seed, epsilon=1.0)._ask(rows[:2]) for seed in range(40)]
        unequal.append(sum(first != second for first, second in answers))
    assert unequal[0] == 0
    assert unequal[1] > 5


@pytest.mark.parametrize("part", [slice(None), slice(3, 5)])
def test_a_claim_is_refuted_once_its_own_rows_are_asked_about(part):
    X, y = records()
    model = fit(X, y)
    assert NOT_OWN in model.privacy_.assumptions
    # A copy of the training rows is another array, so the model does not recognise it.
    model.predict(X.copy())
    assert model.privacy_.status == "proved"
    with pytest.warns(UserWarning, match="pate: records that were trained on were asked about"):
        model.predict(X[part])
    statement = model.privacy_
    assert (statement.status, statement.proved_epsilon) == ("refuted", np.inf)
    assert ASKED_AGAIN in str(statement)
    assert pickle.loads(pickle.dumps(model)).privacy_ == statement
    # A new fit starts with no answers, so its statement is proved again.
    assert model.fit(X, y).privacy_.status == "proved"


def test_lists_are_recognised_too():
    X, y = records()
    rows = X.tolist()
    model = fit(rows, y)
    with pytest.warns(UserWarning, match="records that were trained on were asked about"):
        model.predict(rows)


@pytest.mark.parametrize("make", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_copies_give_no_answers_that_nobody_adds_up(make):
    X, y = records()
    model = fit(X, y, n_answers=64)
    given = model.predict([[0, 1]])
    other = make(model)
    assert other.predict([[1, 1]]) == given  # the same private bin as the row [0, 1]
    with pytest.raises(
        ValueError, match=r"a copy of the fitted model .* must get no new rows.*; got 1"
    ):
        other.predict([[0, 2]])
    model.predict([[0, 2]])


def test_a_fork_is_a_copy():
    """A forked process gives no new answers: its parent may give all answers that ε pays for."""
    X, y = records()
    model = fit(X, y, n_answers=64)
    model.predict([[0, 1]])
    model._answers._process += 1  # as in a child process, which has another process id
    model.predict([[0, 1]])
    with pytest.raises(
        ValueError, match=r"a copy of the fitted model .* must get no new rows.*; got 1"
    ):
        model.predict([[0, 2]])


@pytest.mark.usefixtures("given_streams")
def test_without_a_claim_there_is_no_sentence_about_own_rows(recwarn):
    X, y = records()
    model = fit(X, y, epsilon=np.inf)
    model.predict(X)
    assert not recwarn
    assert not model.privacy_.private


def test_its_printed_state_is_the_same_in_each_process():
    X, y = records()
    assert " at 0x" not in str(vars(fit(X, y, random_state=0)))


def test_messages():
    X, y = records()
    with pytest.raises(ValueError, match="pate: public_columns must list"):
        fit(X, y, public_columns=None)
    with pytest.raises(
        ValueError, match="n_answers must be at least the number 60 of training records; got 59"
    ):
        fit(X, y, n_answers=59)


def test_the_pipeline_asks_no_training_record_again():
    X, y = records()
    ones = np.ones(len(y), dtype=np.int64)
    model = fit(X, y, n_answers=72)
    part, scored = Records(X, y, ones, BINS), Records(X[:40] % 2, y[:40], ones[:40], BINS)
    run = metrics.score(model, part, scored, 0.1)
    assert run["status"] == "ok"
    assert run["train_accuracy"] is None
    # The scored rows have two distinct bins in the private column, so two answers were charged.
    assert len(model._answers.given) == 2


def test_it_is_not_chosen_privately():
    result = "pate can't be chosen privately: pate offers neighbours = 'private-columns', not"
    X, y = records()
    with pytest.raises(ValueError, match=result):
        TunedClassifier(learner="pate", n_bins=BINS, classes=(-1, 1)).fit(X, y)
