"""Newton's method for logistic regression finds the minimum, also where full steps diverge."""

import numpy as np
import pytest

from privcurve.kernels.newton import SURE_MOVE, NoMinimumError, minimise_logistic


def problem(seed, n=40, d=3):
    rng = np.random.default_rng(seed)
    rows = rng.uniform(-1, 1, (n, d))
    signs = np.where(rows[:, 0] + 0.5 * rng.normal(size=n) > 0, 1, -1).astype(np.int8)
    return rows, signs, rng.uniform(0.5, 1.5, n), rng


def value(theta, rows, signs, weights, penalty):
    losses = np.logaddexp(0.0, -signs * (rows @ theta))
    return float(weights @ losses + 0.5 * penalty @ theta**2)


def newton_step(theta, rows, signs, weights, penalty):
    doubt = 1 / (1 + np.exp(signs * (rows @ theta)))
    gradient = penalty * theta - rows.T @ (weights * signs * doubt)
    hessian = (rows.T * (weights * doubt * (1 - doubt))) @ rows + np.diag(penalty)
    return np.linalg.solve(hessian, gradient)


@pytest.mark.parametrize("far", [0.0, 3.0, 40.0])
def test_the_gradient_vanishes_wherever_it_begins(far):
    rows, signs, weights, rng = problem(1)
    penalty = np.full(3, 0.05)
    start = far * rng.normal(size=3)
    theta = minimise_logistic(rows, signs, weights, penalty, start)
    doubt = 1 / (1 + np.exp(signs * (rows @ theta)))
    gradient = penalty * theta - rows.T @ (weights * signs * doubt)
    assert np.abs(gradient).max() < 1e-10
    assert theta == pytest.approx(minimise_logistic(rows, signs, weights, penalty), rel=1e-10)


def test_a_full_step_from_afar_would_increase_the_loss():
    """In the case above the full step would increase the loss."""
    rows, signs, weights, rng = problem(1)
    penalty = np.full(3, 0.05)
    start = 40.0 * rng.normal(size=3)
    step = newton_step(start, rows, signs, weights, penalty)
    given = rows, signs, weights, penalty
    assert np.abs(rows @ step).max() > SURE_MOVE
    assert value(start - step, *given) > value(start, *given)


def test_a_short_step_never_makes_the_value_grow():
    """Steps that move all margins by less than SURE_MOVE need no check."""
    moved = []
    for seed in range(400):
        rows, signs, weights, rng = problem(seed, n=6)
        penalty = np.full(3, 10.0 ** rng.uniform(-1, 1))
        theta = rng.normal(size=3) * 10.0 ** rng.uniform(-1, 1)
        step = newton_step(theta, rows, signs, weights, penalty)
        move = np.abs(rows @ step).max()
        if move <= SURE_MOVE:
            moved.append(move)
            given = rows, signs, weights, penalty
            assert value(theta - step, *given) <= value(theta, *given) * (1 + 1e-13)
    assert len(moved) > 100
    assert max(moved) > 0.9 * SURE_MOVE


def test_a_missing_minimum_is_reported():
    with pytest.raises(NoMinimumError):
        minimise_logistic(np.ones((2, 1)), np.ones(2, dtype=np.int8), np.ones(2), np.zeros(1))
