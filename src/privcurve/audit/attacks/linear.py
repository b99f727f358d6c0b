"""Private logistic regression: the density of its coefficients, and real fits.

Objective perturbation adds a random linear term b to the objective; the coefficients are
the minimum. Each b gives another minimum, so the density of coefficients is that of the b
that leads to them, times the determinant of how b changes with them (Chaudhuri et al. 2011).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from privcurve.audit.attacks.any_learner import BOTH, sampled, whole_state
from privcurve.audit.attacks.pairs import rare_in_part
from privcurve.audit.claim import Attack, Claim
from privcurve.audit.pairs import Pair, Records, Target, records
from privcurve.coding import one_hot
from privcurve.learners.linear import DPLogisticRegressionClassifier
from privcurve.privacy.calibration.logistic_regression import Perturbation

# Coefficients (for rows as the learner scales them) that the density is compared at: every
# combination of these. Further out the determinant of an unpenalised intercept is lost in
# rounding; its ratio has no bound.
GRID = (-12.0, -8.0, -4.0, -2.0, -1.0, 0.0, 1.0, 2.0, 4.0, 8.0, 12.0)


def noise_of(
    posed: Perturbation, epsilon: float, side: Records, coefficients: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Give the noise b whose objective has its minimum at some coefficients.

    Parameters
    ----------
    posed : Perturbation
    epsilon : float
    side : Records
    coefficients : ndarray of shape (n_coefficients,)
        Of the rows as they are scaled; the intercept, if there is one, comes last.

    Returns
    -------
    noise : ndarray of shape (n_coefficients,)
    jacobian : ndarray of shape (n_coefficients, n_coefficients)
        How the noise changes with the coefficients, with the opposite sign.
    """
    rows = one_hot(side.codes, side.n_bins, posed.value).toarray()
    penalty = np.full(rows.shape[1], 1 / posed.C)
    if posed.intercept:
        rows = np.column_stack([rows, np.ones(len(rows))])
        penalty = np.append(penalty, 0.0)
    penalty = penalty + posed.extra_penalty(epsilon)
    signs = side.signs.astype(np.float64)
    wrong = expit(-signs * (rows @ coefficients))
    gradient = -(rows.T @ (side.counts * signs * wrong)) + penalty * coefficients
    jacobian = rows.T @ ((side.counts * wrong * (1 - wrong))[:, None] * rows) + np.diag(penalty)
    return -gradient, jacobian


def coefficient_densities(
    learner: DPLogisticRegressionClassifier, pair: Pair
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Give the log densities of coefficients on a grid, on either side of a pair.

    The density of the noise falls as exp(−ε'‖b‖/2R); ε' and R are the learner's own.

    Parameters
    ----------
    learner : DPLogisticRegressionClassifier
        Not fitted.
    pair : Pair
        In a domain of few bins.

    Returns
    -------
    left, right : ndarray of shape (n_outputs,)
        Up to a constant that both share.
    """
    posed = Perturbation.of(float(learner.C), len(pair.left.n_bins), learner.calibration)
    epsilon = float(learner.epsilon)
    scale = posed.noise_scale(epsilon)
    dimension = int(pair.left.n_bins.sum()) + int(posed.intercept)
    found: list[list[float]] = [[], []]
    for point in itertools.product(GRID, repeat=dimension):
        for side, values in zip((pair.left, pair.right), found, strict=True):
            noise, jacobian = noise_of(posed, epsilon, side, np.array(point))
            determinant = np.linalg.slogdet(jacobian)[1]
            values.append(float(determinant) - float(np.linalg.norm(noise)) / scale)
    return np.array(found[0]), np.array(found[1])


def moved_from_three(c: Claim, target: Target) -> list[Pair]:
    """Give three positive records in one of two bins; one of them moves to the other bin."""
    sides = [records([[code], [0], [0]], [1, 1, 1], [2]) for code in (0, 1)]
    return [Pair("tiny", "three positive records in one bin, one moves", sides[0], sides[1])]


def _dp_logistic_regression() -> Iterator[Claim]:
    name = "dp_logistic_regression"
    for calibration in BOTH:
        for C in (0.01, 0.1, 1.0):
            yield Claim(
                name,
                calibration,
                1.0,
                moved_from_three,
                setting={"C": C},
                densities=coefficient_densities,
            )
        yield sampled(name, calibration, {"C": 0.01}, 600)
        yield sampled(name, calibration, {"C": 0.1}, 300, rare_in_part)
        yield whole_state(name, calibration, {"C": 0.1}, 200)


RELEASED = {
    "coef_": "the minimum of the perturbed objective",
    "intercept_": "the minimum of the perturbed objective",
}

ATTACKS = (Attack("dp_logistic_regression", tuple(_dp_logistic_regression()), RELEASED),)
