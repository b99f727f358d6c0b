import math

import numpy as np
import pytest

from privcurve.coding import Records, one_hot
from privcurve.papers.thesis.learners.dp_bagging.classifier import DPBaggingClassifier
from privcurve.papers.thesis.learners.dp_bagging.kernel import add_votes


def problem(n=600, seed=0):
    rng = np.random.default_rng(seed)
    n_bins = np.array([4, 2, 6])
    X = rng.integers(0, n_bins, size=(n, 3)).astype(np.uint8)
    truth = X[:, 0] + (X[:, 2] > 2) >= 3
    y = np.where(truth ^ (rng.random(n) < 0.05), 1, -1)
    return X, y, n_bins


def plain_votes(X, y, order, ends, n_bins, n_passes, pool):
    """Return the sum of all teachers' votes on each row of `pool`, in plain Python.

    The arguments are as in the kernel `add_votes`.
    """
    votes = np.zeros(len(pool), dtype=int)
    rows, queries = one_hot(X, n_bins).toarray(), one_hot(pool, n_bins).toarray()
    for start, end in zip([0, *ends], ends, strict=False):
        weights = np.zeros(n_bins.sum())
        for t in range(n_passes):
            for i in order[start:end]:
                slope = y[i] / (1 + math.exp(y[i] * rows[i] @ weights))
                weights += 2 / (X.shape[1] * (1 + t)) * slope * rows[i]
        votes += np.where(queries @ weights > 0, 1, -1)
    return votes


def test_teachers_match_plain_python():
    X, y, n_bins = problem(90)
    pool = problem(25, seed=1)[0]
    order = np.random.default_rng(0).permutation(90)
    # The third teacher has no records, so its scores are 0 and it votes −1.
    ends = np.array([30, 50, 50, 90])
    votes = np.zeros(25, dtype=np.int64)
    starts = np.concatenate([[0], np.cumsum(n_bins)])
    add_votes(X, y.astype(np.int8), order, ends, starts, 3, pool, votes)
    assert votes.tolist() == plain_votes(X, y, order, ends, n_bins, 3, pool).tolist()


def test_the_model_is_only_the_student():
    X, y, n_bins = problem()
    model = DPBaggingClassifier(n_bins=n_bins, epsilon=np.inf).fit(X, y)
    expected = one_hot(X, n_bins) @ model.coef_ + model.intercept_
    assert model.decision_function(X) == pytest.approx(expected)
    assert model.predict_proba(X)[:, 1] == pytest.approx(1 / (1 + np.exp(-expected)))


def test_few_records_make_few_teachers():
    X, y, n_bins = problem(35)
    model = DPBaggingClassifier(n_bins=n_bins, n_teachers=300, n_partitions=1).fit(X, y)
    pool = problem(50, seed=1)[0]
    records = Records(X, y.astype(np.int8), np.ones(35, dtype=np.int64), n_bins)
    margins = model._poll(records, pool, np.random.default_rng(0).permutation)
    assert np.abs(margins).max() <= 3


def test_the_student_sees_no_record(monkeypatch):
    queries = []
    train = DPBaggingClassifier._regress

    def watched(self, pool, answers, counts):
        queries.append(pool.copy())
        return train(self, pool, answers, counts)

    monkeypatch.setattr(DPBaggingClassifier, "_regress", watched)
    for seed in (0, 1):
        X, y, n_bins = problem(200, seed)
        DPBaggingClassifier(n_bins=n_bins, random_state=7).fit(X, y)
    # The pool depends only on the domain and the seed, so two fits with other records have the same
    # pool.
    assert np.array_equal(*queries)
    assert queries[0].shape == (300, 3)
    assert (queries[0].max(axis=0) + 1 == n_bins).all()
