"""P3 of docs/partial.md: what a changed record does to choices and counts, enumerated."""

import itertools
import math

import numpy as np
import pytest

from privcurve.learners.noisy_bayes import NoisyBayesClassifier, column_score, label_counts
from privcurve.privacy.calibration.noisy_bayes import noisy_bayes
from privcurve.privacy.mechanisms import MECHANISMS
from privcurve.privacy.sensitivity.noisy_bayes import (
    column_counts_l1,
    column_counts_l2,
)
from privcurve.privacy.sensitivity.noisy_bayes import column_score as score_sensitivity

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
    assert score <= score_sensitivity()
    assert n == 1 or score == score_sensitivity()
    assert l1 == column_counts_l1(2)
    assert l2 == pytest.approx(column_counts_l2(2))


def calibrated(**changes):
    options = {"n_columns": 1, "chosen": True, "choice_share": 0.5, "epsilon": 1.0, "delta": 0.0}
    return noisy_bayes(**{**options, "public": None, **changes})


@pytest.mark.parametrize("delta", [0.0, 1e-5])
def test_a_choice_costs_no_more_than_its_entry(delta):
    noise = calibrated(delta=delta)
    entry = noise.statement.ledger[0]
    chances = MECHANISMS[noise.mechanism].probabilities
    worst = 0.0
    for left, right in neighbours(3):
        p, q = (chances([column_score(t) for t in side], noise.rate) for side in (left, right))
        worst = max(worst, np.abs(np.log(p) - np.log(q)).max())
    assert 0.2 * entry.epsilon < worst <= entry.epsilon * (1 + 1e-9)


@pytest.mark.parametrize("delta", [0.0, 1e-5])
@pytest.mark.parametrize("chosen", [True, False])
def test_the_ledger_adds_up(delta, chosen):
    statement = calibrated(n_columns=3, chosen=chosen, delta=delta).statement
    assert len(statement.ledger) == 1 + 3 * chosen
    assert statement.epsilon_spent == pytest.approx(1.0, rel=1e-9)


def records(n=60, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, (3, 2, 4), (n, 3)).astype(np.uint8)
    return X, np.where((X[:, 0] > 0) ^ (rng.random(n) < 0.2), 1, -1)


def fit(X, y, **parameters):
    options = {"n_bins": (3, 2, 4), "classes": (-1, 1), **parameters}
    options["random_state"] = np.random.default_rng(options.get("random_state", 0))
    return NoisyBayesClassifier(**options).fit(X, y)


@pytest.mark.parametrize("delta", [0.0, 1e-5])
def test_the_noise_of_a_fit_is_that_of_the_ledger(delta):
    """Invert the score: noisy shares, and from them counts, whose noise has the stated scale."""
    X, y = records(4000)
    noise = []
    for seed in range(300):
        model = fit(X, y, epsilon=2.0, delta=delta, start="public", public_columns=(0,),
                    random_state=seed)  # fmt: skip
        entry = model.privacy_.ledger[-1]
        added = 1 / entry.noise_rate + 5
        assert model.columns_.tolist() == [1, 2]
        table = label_counts(X[:, 1], 2, y, np.ones(len(y), dtype=np.int64))
        totals = table.sum(axis=0)
        # To first order a log-ratio moves by noise₊/(count₊ + s) − noise₋/(count₋ + s).
        shares = np.log((table + added) / (totals + 2 * added))
        exact = shares[:, 1] - shares[:, 0]
        size = np.sqrt((1 / (table + added) ** 2).sum(axis=1)) / entry.noise_rate
        noise.extend((model.log_ratios_[0] - exact) / size)
    # Laplace noise of scale b has the deviation √2·b, Gaussian noise σ.
    expected = math.sqrt(2) if delta == 0 else 1.0
    assert np.std(noise) == pytest.approx(expected, rel=0.1)


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


def test_private_codes_change_no_bit_of_a_public_start():
    X, y = records()
    first = fit(X, y, start="public", public_columns=(0,)).prior_
    changed = X.copy()
    changed[0, 1:] = (1 - X[0, 1], 3 - X[0, 2])
    again = fit(changed, y, start="public", public_columns=(0,), random_state=9).prior_
    assert np.array_equal(first.coefficients, again.coefficients)
    assert first.intercept == again.intercept
    changed[:, 1:] = 0
    order = np.random.default_rng(0).permutation(len(y))
    again = fit(changed[order], y[order], start="public", public_columns=(0,)).prior_
    assert np.array_equal(first.coefficients, again.coefficients)


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
