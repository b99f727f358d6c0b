"""Joint Newton steps on one-hot codes: one noisy Gram matrix, then noisy slopes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from privcurve.coding import Floats, Records
from privcurve.kernels.arithmetic import gram as weighted_gram
from privcurve.kernels.arithmetic import times
from privcurve.kernels.eigen import eigenvalues
from privcurve.learners.entries.parameters import DPNewtonParameters
from privcurve.learners.linear.joint import (
    SLOPES,
    JointClassifier,
    gram_and_slopes,
    logistic_slopes,
    noisy_gram,
)
from privcurve.privacy.curator import Curator
from privcurve.privacy.noise import Announced


@dataclass(kw_only=True, eq=False, repr=False)
class DPNewtonClassifier(JointClassifier, DPNewtonParameters):
    r"""Logistic regression on one-hot codes by noisy Newton steps of all columns at once.

    The Gram matrix :math:`\sum_i u_i u_i^\top` of the one-hot rows is released once; a quarter of
    it bounds the Hessian of the logistic loss everywhere. Each step releases the slopes, sums of
    the residuals :math:`y_i - p_i` clipped at ½, and goes by the inverse of that matrix, whose
    eigenvalues are floored at half the norm of its noise. After Ganesh, Haghifam, Steinke and
    Thakurta, *Faster differentially private convex optimization via second-order methods*, NeurIPS
    2023, §3: their quadratic upper bound, released once and not at each step. Proof:
    docs/proofs.md, 'Joint Newton steps'.

    Parameters
    ----------
    n_steps : int
    gram_share : float
        Of the budget (ρ), for the Gram matrix; the steps share the rest evenly.
    n_groups, neighbours, ordered, epsilon, delta, calibration
        See :class:`~privcurve.learners.shared.grouped.GroupedClassifier`.
    n_bins, bounds, classes, random_state
        See :class:`~privcurve.learners.base.CodedClassifier`.

    Attributes
    ----------
    coef_ : ndarray of shape (n_bins.sum(),)
        What each code of each column adds to the score.
    intercept_ : float
    """

    _learner = "dp_newton"

    def _calls(self, n: int) -> Sequence[Announced]:
        return gram_and_slopes(self.gram_share, self.n_steps)

    def _model(self, rows: csr_array, width: int, records: Records, curator: Curator) -> Floats:
        _, signs, counts, _ = records
        inverse = floored_inverse(*noisy_gram(rows, counts, self._n_ones, width, curator))
        model = np.zeros(width)
        for k in range(1, self.n_steps + 1):
            slopes = logistic_slopes(rows, signs, counts, model, self._n_ones)
            model += 4 * times(inverse, curator.numbers(SLOPES.format(k), slopes))
        return model


def floored_inverse(gram: Floats, deviation: float) -> Floats:
    """Return the inverse of a matrix with its eigenvalues floored, given its noise's deviation."""
    values, vectors = eigenvalues(gram)
    # Half of the norm of a symmetric matrix of such noise, about σ√(2·width): steps limited by the
    # full norm are too short to converge. Without noise, directions common to all columns have the
    # eigenvalue 0, and no slope.
    floor = max(deviation * math.sqrt(len(gram) / 2), 1e-9 * float(values.max()), 1.0)
    return np.asarray(weighted_gram(vectors, 1 / np.maximum(values, floor)))
