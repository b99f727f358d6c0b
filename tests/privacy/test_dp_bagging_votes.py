"""Private bagging: what one record does to the votes, and to the answers' probabilities."""

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import laplace, norm

from privcurve.learners.dp_bagging import DPBaggingClassifier, _answer
from privcurve.privacy.calibration.dp_bagging import MARGIN_SENSITIVITY, bagging

N_BINS = np.array([2, 2])


def data(n=60, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, size=(n, 2)).astype(np.uint8)
    return X, np.where(rng.random(n) < 0.5, 1, -1).astype(np.int8)


def margins(X, signs, n_partitions, pool):
    """Margins with the same partitions for all data of one size."""
    learner = DPBaggingClassifier(n_teachers=5, n_partitions=n_partitions)
    learner.n_bins_ = N_BINS
    records = np.arange(len(X))
    return learner._margins(X, signs, records, pool, np.random.default_rng(1))


def neighbours(X, signs):
    """Every record, replaced by every other."""
    for i in range(len(X)):
        for code in range(8):
            other_X, other_signs = X.copy(), signs.copy()
            other_X[i] = code & 1, code >> 1 & 1
            other_signs[i] = 1 if code & 4 else -1
            yield other_X, other_signs


POOL = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=np.uint8)


@pytest.mark.parametrize("n_partitions", [1, 3, 10])
def test_a_record_turns_one_vote_a_partition(n_partitions):
    worst = 0.0
    for seed in range(6):
        X, signs = data(seed=seed)
        exact = margins(X, signs, n_partitions, POOL)
        for other in neighbours(X, signs):
            worst = max(worst, np.abs(margins(*other, n_partitions, POOL) - exact).max())
    assert worst <= MARGIN_SENSITIVITY + 1e-12
    # The bound is met: no smaller sensitivity is right, whatever the partitions.
    if n_partitions == 1:
        assert worst == MARGIN_SENSITIVITY


def chances(noise, values):
    """log P(+), log P(−)."""
    if noise.mechanism == "laplace":
        scaled = laplace(scale=1 / noise.rate)
        return np.array([scaled.logcdf(values), scaled.logsf(values)])
    return -np.logaddexp(0, noise.rate * np.array([-values, values]))


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_answers_to_all_queries_keep_epsilon(delta):
    """Exact: the worst log-ratio of all answer vectors of all neighbours, same partitions."""
    noise = bagging(n_queries=len(POOL), epsilon=2.0, delta=delta)
    limit = 2 * noise.rate * len(POOL)
    if delta == 0:
        assert limit == pytest.approx(2.0)
    worst = 0.0
    for seed in range(6):
        X, signs = data(seed=seed)
        exact = chances(noise, margins(X, signs, 3, POOL))
        for other in neighbours(X, signs):
            ratio = np.abs(chances(noise, margins(*other, 3, POOL)) - exact).max(axis=0)
            worst = max(worst, ratio.sum())
    assert 0.1 * limit < worst <= limit


def test_one_answer_meets_its_epsilon():
    """Two votes fewer for the loser: ratio e^ε exactly (Laplace), near it (labels)."""
    for delta, share in ((0.0, 1.0), (1e-9, 0.9)):
        noise = bagging(n_queries=1, epsilon=0.5, delta=delta)
        each = noise.statement.ledger[0].epsilon
        positive = chances(noise, np.array([-40.0, -42.0]))[0]
        assert positive[0] - positive[1] <= each * (1 + 1e-9)
        assert positive[0] - positive[1] > share * each * (1 - 1e-9)


@pytest.mark.parametrize("delta", [0.0, 1e-5])
def test_answers_are_drawn_with_these_probabilities(delta):
    """Two-sided, 5 margins a case; false alarm 1e-6 each."""
    noise = bagging(n_queries=20, epsilon=2.0, delta=delta)
    rng = np.random.default_rng(4)
    n = 20_000
    for margin in (-30.0, -4.0, 0.0, 7.0, 60.0):
        positive = (_answer(np.full(n, margin), noise, rng) > 0).sum()
        chance = np.exp(chances(noise, np.array([margin]))[0, 0])
        if delta > 0:
            assert chance == pytest.approx(expit(noise.rate * margin))
        spread = np.sqrt(n * chance * (1 - chance))
        assert abs(positive - n * chance) < norm.isf(5e-7) * spread + 1
