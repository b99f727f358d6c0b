"""Logistic regression by noisy Newton steps: one noisy Gram matrix, then noisy gradients."""

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
    r"""Logistic regression on one-hot columns by noisy Newton steps of all columns at once.

    The Gram matrix :math:`\sum_i u_i u_i^\top` of the one-hot rows is released once; a quarter of
    it bounds the Hessian of the logistic loss everywhere. Each step releases a gradient (the sum of
    the rows times the residuals :math:`y_i - p_i`, clipped at ±½) and multiplies it by the inverse
    of this quarter. Before the inversion, eigenvalues of the Gram matrix are raised to at least
    half the norm of its noise. The quadratic upper bound is from Ganesh, Haghifam, Steinke and
    Thakurta, *Faster differentially private convex optimization via second-order methods*, NeurIPS
    2023, §3; they release the matrix at each step. Proof: docs/proofs.md, 'Joint Newton steps'.

    Parameters
    ----------
    n_steps : int
    gram_share, n_groups, neighbours, ordered, epsilon, delta, calibration, n_bins, bounds, classes
        See :class:`~privcurve.learners.linear.joint.JointClassifier`, also for `random_state` and
        the attributes.
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
    """Return the inverse of a noisy Gram matrix whose small eigenvalues are raised to a floor.

    `deviation` is the standard deviation σ of the noise on the diagonal.
    """
    values, vectors = eigenvalues(gram)
    # The norm of the noise is about σ√(2·width). The floor is half of this norm; a floor as large
    # as the norm would make steps too short. Without noise any positive floor is right: gradients
    # have no component in directions with the eigenvalue 0.
    floor = max(deviation * math.sqrt(len(gram) / 2), 1e-9 * float(values.max()), 1.0)
    return np.asarray(weighted_gram(vectors, 1 / np.maximum(values, floor)))
