"""The distribution of box noise, and its use in a fit (docs/proofs.md, 'Box noise')."""

import math

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit

from privcurve.learners.linear.linear import DPLogisticRegressionClassifier
from privcurve.privacy.mechanisms import BOX_PERTURBATION, MECHANISMS

# Probability of a false alarm, per test.
FALSE_ALARM = 1e-6


@pytest.mark.parametrize("dimension", [1, 2, 7])
def test_largest_entry_is_gamma_and_the_rest_is_uniform(dimension):
    rng = np.random.default_rng(20)
    scale = 3.0
    drawn = [MECHANISMS[BOX_PERTURBATION].draw(rng, dimension, scale) for _ in range(3000)]
    norms = np.abs(drawn).max(axis=1)
    assert stats.kstest(norms, stats.gamma(dimension, scale=scale).cdf).pvalue > FALSE_ALARM
    # On the surface of the cube all other entries are uniform.
    shares = np.sort(np.abs(drawn), axis=1)[:, :-1] / norms[:, None]
    if dimension > 1:
        assert stats.kstest(shares.ravel(), "uniform").pvalue > FALSE_ALARM
    # The mutant, Gamma(k) times a uniform point of the cube, has another distribution.
    wrong = rng.gamma(dimension, scale, 3000) * np.abs(rng.uniform(-1, 1, (3000, dimension))).max(1)
    assert stats.kstest(wrong, stats.gamma(dimension, scale=scale).cdf).pvalue < FALSE_ALARM


def records(n=300):
    rng = np.random.default_rng(0)
    X = rng.integers(0, (3, 4, 5), (n, 3)).astype(np.uint8)
    return X, np.where((X[:, 2] > 2) ^ (rng.random(n) < 0.1), 1, -1)


def fit(X, y, **parameters):
    options = {"n_bins": (3, 4, 5), "classes": (-1, 1), "noise": "box", **parameters}
    options["random_state"] = np.random.default_rng(0)
    return DPLogisticRegressionClassifier(**options).fit(X, y)


@pytest.mark.parametrize("encoding", ["scaled", "one_hot"])
@pytest.mark.parametrize("columns", ["all", "private", "public"])
@pytest.mark.parametrize("start", ["none", "public"])
def test_columns_and_start_that_a_fit_uses(encoding, columns, start):
    X, y = records()
    model = fit(X, y, encoding=encoding, columns=columns, start=start, public_columns=(0, 1))
    read = {"all": [0, 1, 2], "private": [2], "public": [0, 1]}[columns]
    assert len(model.coef_) == (
        len(read) if encoding == "scaled" else np.take((3, 4, 5), read).sum()
    )
    relation = "private-columns" if start == "public" else "replace-one"
    assert model.privacy_.neighbours == relation
    other = X.copy()
    for j in set(range(3)) - set(read) - ({0, 1} if start == "public" else set()):
        other[:, j] = 0
    assert np.array_equal(model.decision_function(X), model.decision_function(other))


def test_without_noise_the_penalty_is_the_usual_one():
    X, y = records()
    model = fit(X, y, epsilon=math.inf, encoding="scaled", C=0.5)
    rows = np.column_stack([-1 + 2 * X / np.array([2, 3, 4]), np.ones(len(X))])
    theta = np.append(model.coef_, model.intercept_)
    gradient = -rows.T @ (y * expit(-y * (rows @ theta))) + theta / 0.5
    assert np.abs(gradient).max() < 1e-8


def test_box_noise_is_not_published():
    X, y = records(20)
    with pytest.raises(ValueError, match="noise = 'box' needs calibration = 'proved'"):
        fit(X, y, calibration="published")
