"""Objective perturbation: diffprivlib's noise, its proof, and a refutation as published."""

import math

import numpy as np
import pytest

from privcurve.privacy.budget import PROVED, PUBLISHED
from privcurve.privacy.calibration.objective import CURVATURE, Perturbation
from privcurve.privacy.mechanisms import MECHANISMS, OBJECTIVE_PERTURBATION


@pytest.mark.parametrize("calibration", [PUBLISHED, PROVED])
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 30.0, math.inf])
def test_noise_is_diffprivlibs_bit_for_bit(epsilon, calibration):
    posed = Perturbation.from_calibration(0.7, 14, calibration)
    dimension, n = 6, 50
    mechanism = pytest.importorskip("diffprivlib.mechanisms").Vector(
        epsilon=epsilon,
        dimension=dimension,
        alpha=1 / posed.C,
        function_sensitivity=CURVATURE,
        data_sensitivity=posed.norm,
        n=n,
        random_state=np.random.RandomState(3),
    )
    theirs = mechanism.randomise(lambda point: (0.0, np.zeros(dimension)))
    draw = MECHANISMS[OBJECTIVE_PERTURBATION].draw
    ours = draw(np.random.RandomState(3), dimension, posed.noise_scale(epsilon))
    assert np.array_equal(theirs(np.zeros(dimension))[1], ours / n)
    assert theirs(np.ones(dimension))[1] == pytest.approx(
        ours / n + posed.extra_penalty(epsilon) / n, abs=1e-15
    )


@pytest.mark.parametrize("n_columns", [1, 14, 100])
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("epsilon", [0.01, 0.5, 2.0, 20.0])
def test_proved_noise_is_enough(epsilon, C, n_columns):
    posed = Perturbation.from_calibration(C, n_columns, PROVED)
    assert posed.norm == pytest.approx(posed.value * math.sqrt(n_columns))
    assert not posed.intercept
    assert 0 < posed.proved_epsilon(epsilon) <= epsilon


def test_published_noise_is_not_enough_on_adult():
    """ε = 1: by hand, R = √15, α + nΔ = (R/4)/(e^¼ - 1), and 1/2 + ln(1 + …)."""
    posed = Perturbation.from_calibration(1.0, 14, PUBLISHED)
    penalty = math.sqrt(15) / 4 / math.expm1(0.25)
    by_hand = 0.5 + math.log(1 + 0.25 * (14 / penalty + 1 / (penalty - 1)))
    assert posed.proved_epsilon(1.0) == pytest.approx(by_hand)
    assert by_hand > 1.2
    assert posed.proved_epsilon(10.0) == math.inf
    # With a penalty on the intercept, only a finite ε is proved.
    of = {"learner": "dp_logistic_regression", "tolerance": 1e-8}
    assert posed.statement(epsilon=1.0, **of).status == "claimed"
    assert posed.statement(epsilon=10.0, **of).status == "refuted"


def log_density(posed, epsilon, rows, model):
    """Return the logarithm of the model's density, up to a constant; all labels are positive.

    Exactly one noise b has the model as its minimum, and the density of the model is the density of
    b times the determinant of the Jacobian.
    """
    chance = 1 / (1 + np.exp(-(rows @ model)))
    penalty = np.diag([1 / posed.C, 1 / posed.C, 0.0])  # no penalty on the intercept
    noise = rows.T @ (1 - chance) - penalty @ model
    jacobian = (rows.T * (chance * (1 - chance))) @ rows + penalty
    return -np.linalg.norm(noise) / posed.noise_scale(epsilon) + float(
        np.linalg.slogdet(jacobian)[1]
    )


def test_published_is_refuted_by_three_records():
    """Three positive records in bin 0 of 2, one of them moved to bin 1; C = 1, ε = 1.

    At scores t in bin 0 and 0 in bin 1, the log-ratio is t minus a constant: no ε is enough.
    """
    posed = Perturbation.from_calibration(1.0, 1, PUBLISHED)
    before = np.array([[1.0, 0.0, 1.0]] * 3)
    after = before.copy()
    after[2] = [0.0, 1.0, 1.0]

    def ratio(t):
        model = np.array([0.0, -t, t])
        return log_density(posed, 1.0, after, model) - log_density(posed, 1.0, before, model)

    assert ratio(5.0) > 2
    assert ratio(36.0) > 33
    assert ratio(30.0) - ratio(20.0) == pytest.approx(10, abs=1e-2)
