"""P3 of docs/partial.md: what a changed record does to choices and counts, enumerated."""

import itertools
import math

import numpy as np
import pytest

from privcurve.learners.noisy_bayes import (
    SCORE_SENSITIVITY,
    NoisyBayesClassifier,
    column_score,
    label_counts,
)
from privcurve.privacy.sensitivity.counts import feature_histograms_l1, feature_histograms_l2

N_BINS = (3, 2)
RECORDS = list(itertools.product(*(range(b) for b in N_BINS), (-1, 1)))


def tables(records):
    whole = np.array(records)
    ones = np.ones(len(whole), dtype=np.int64)
    return [label_counts(whole[:, j], N_BINS[j], whole[:, -1], ones) for j in range(2)]


def neighbours(n):
    """All pairs of n records that differ in one, by the sets of the other records."""
    for others in itertools.combinations_with_replacement(RECORDS, n - 1):
        found = [tables([one, *others]) for one in RECORDS]
        yield from itertools.combinations(found, 2)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_sensitivities_are_reached_and_never_passed(n):
    score = l1 = l2 = 0.0
    for left, right in neighbours(n):
        moved = np.concatenate([(a - b).ravel() for a, b in zip(left, right, strict=True)])
        score = max(
            score,
            *(abs(column_score(a) - column_score(b)) for a, b in zip(left, right, strict=True)),
        )
        l1, l2 = max(l1, np.abs(moved).sum()), max(l2, float(np.linalg.norm(moved)))
    assert score <= SCORE_SENSITIVITY
    assert n == 1 or score == SCORE_SENSITIVITY
    assert l1 == feature_histograms_l1(2)
    assert l2 == pytest.approx(feature_histograms_l2(2))


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


def test_a_public_start_needs_public_columns():
    X, y = records()
    with pytest.raises(ValueError, match="noisy_bayes: start = 'public' needs public_columns="):
        fit(X, y, start="public")
    plain, told = fit(X, y), fit(X, y, public_columns=(0,))
    assert np.array_equal(plain.decision_function(X), told.decision_function(X))
    assert told.privacy_.neighbours == "replace-one"
    started = fit(X, y, start="public", public_columns=())
    assert started.privacy_.neighbours == "private-columns"
    assert started.privacy_.public_columns == ()
    assert started.privacy_.public_label
