"""Joint Newton steps and gradient descent on one-hot codes, compared with plain formulas."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from privcurve.learners.linear.boosted_adassp import BoostedAdaSSPClassifier
from privcurve.learners.linear.dp_gradient_descent import DPGradientDescentClassifier
from privcurve.learners.linear.dp_newton import DPNewtonClassifier, floored_inverse
from privcurve.learners.registry import estimator_class

N_BINS = (3, 40)


EXACT = {"epsilon": float("inf"), "n_bins": N_BINS, "ordered": (False, True)}


@pytest.fixture(scope="module")
def records():
    rng = np.random.default_rng(7)
    X = np.column_stack([rng.integers(0, bins, 400) for bins in N_BINS]).astype(np.uint8)
    y = np.where(X[:, 0] + X[:, 1] / 20 + rng.logistic(size=400) > 2.5, 1, -1)
    return X, y


def rows_of(X, groups):
    """Return one-hot rows of merged codes, with a column of ones."""
    parts = [np.eye(max(group) + 1)[np.array(group)[X[:, j]]] for j, group in enumerate(groups)]
    return np.hstack([*parts, np.ones((len(X), 1))])


def slopes(U, y, model):
    residuals = (y > 0) - 1 / (1 + np.exp(-U @ model))
    return U.T @ np.clip(residuals, -0.5, 0.5)


def spread(model):
    """Return the coefficients of merged codes, and the intercept."""
    merged = model.coef_[3:][[GROUPS[1].index(g) for g in range(16)]]
    return np.concatenate([model.coef_[:3], merged, [model.intercept_]])


GROUPS = [[0, 1, 2], [code * 16 // 40 for code in range(40)]]


def test_without_noise_newton_solves_the_clipped_equations(records):
    X, y = records
    model = DPNewtonClassifier(**EXACT, n_steps=3000).fit(X, y)
    U = rows_of(X, GROUPS)
    assert np.abs(slopes(U, y, spread(model))).max() < 1e-3
    assert model.score(X, y) > 0.7


def test_descent_goes_along_the_mean_slope(records):
    X, y = records
    U = rows_of(X, GROUPS)
    plain = np.zeros(U.shape[1])
    for _ in range(5):
        plain += 1.5 / len(y) * slopes(U, y, plain)
    fitted = DPGradientDescentClassifier(**EXACT, n_steps=5, learning_rate=1.5).fit(X, y)
    # Residuals are multiples of 2^-22.
    np.testing.assert_allclose(fitted.coef_[:3], plain[:3], rtol=1e-5)
    np.testing.assert_allclose(fitted.coef_[3:], plain[3:19][GROUPS[1]], rtol=1e-5)
    np.testing.assert_allclose(fitted.intercept_, plain[-1], rtol=1e-5)


def test_eigenvalues_are_floored_at_half_the_norm_of_the_noise():
    width, deviation = 18, 5.0
    inverse = floored_inverse(np.zeros((width, width)), deviation)
    np.testing.assert_allclose(inverse, np.eye(width) / (deviation * (2 * width) ** 0.5 / 2))


def test_without_noise_boosted_rounds_fit_least_squares_with_clipped_residuals(records):
    X, y = records
    model = BoostedAdaSSPClassifier(**EXACT, n_rounds=300).fit(X, y)
    U = rows_of(X, GROUPS)
    residuals = np.clip(y / 2 - U @ spread(model), -0.5, 0.5)
    assert np.abs(U.T @ residuals).max() < 1e-3
    assert model.score(X, y) > 0.7


def test_residuals_cancel_at_the_probabilities_of_boosted_rounds():
    model = BoostedAdaSSPClassifier(n_bins=N_BINS)
    scores = np.array([-0.4, -0.1, 0.0, 0.25])
    q = expit(model._log_odds(scores))
    kept = np.clip(0.5 - scores, -0.5, 0.5), np.clip(-0.5 - scores, -0.5, 0.5)
    np.testing.assert_allclose(q * kept[0] + (1 - q) * kept[1], 0, atol=1e-12)


def test_bad_requests_name_the_remedy(records):
    learner = DPGradientDescentClassifier(delta=1e-5, n_bins=N_BINS, neighbours="add-remove")
    with pytest.raises(ValueError, match="n_estimate"):
        learner.fit(*records)


def test_coefficients_beyond_the_255th_match_their_own_columns():
    """NumPy 1 adds integers to codes of one byte in one byte."""
    X = np.random.default_rng(0).integers(0, 10, (400, 30)).astype(np.uint8)
    y = np.where(X[:, 25] > 5, 1, -1)
    learner = estimator_class("dp_newton")(epsilon=np.inf, n_bins=[10] * 30, classes=(-1, 1))
    assert (learner.fit(X, y).predict(X) == y).mean() > 0.95
