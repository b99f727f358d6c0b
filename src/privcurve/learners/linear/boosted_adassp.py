"""Boosted AdaSSP: least squares by rounds, on one noisy Gram matrix with a ridge."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from privcurve.coding import Floats, Records
from privcurve.kernels.arithmetic import inverse, logs, times
from privcurve.learners.entries.parameters import BoostedAdaSSPParameters
from privcurve.learners.linear.joint import (
    SLOPES,
    JointClassifier,
    gram_and_slopes,
    linear_slopes,
    noisy_gram,
)
from privcurve.privacy.curator import Curator
from privcurve.privacy.noise import Announced

# The ridge in units of the noise's norm, as in the authors' code.
RIDGE = 1.96
# The smallest probability of a label.
LEAST_CHANCE = 1e-6


@dataclass(kw_only=True, eq=False, repr=False)
class BoostedAdaSSPClassifier(JointClassifier, BoostedAdaSSPParameters):
    r"""Least squares on one-hot codes: rounds of a ridge regression on clipped residuals.

    After Tang, Aydore, Kearns, Rho, Roth, Wang, Wang and Wu, *Improved differentially private
    regression via gradient boosting*, arXiv 2303.03451. The Gram matrix is released once, and its
    ridge is what its noise may take from an eigenvalue; each round releases the products of the
    codes with what the rounds before left of the labels, clipped, and adds the regression on it.
    The smallest eigenvalue, which they release too for a smaller ridge, is publicly 0 of one-hot
    codes: that share goes to the rest. Their 100 rounds are many for so wide a matrix: ten are the
    default. Proof: docs/proofs.md, 'Joint Newton steps'.

    Parameters
    ----------
    n_rounds : int
    gram_share : float
        Of the budget (ρ), for the Gram matrix; the rounds share the rest evenly.
    n_groups, neighbours, ordered, epsilon, delta, calibration
        See :class:`~privcurve.learners.shared.grouped.GroupedClassifier`.
    n_bins, bounds, classes, random_state
        See :class:`~privcurve.learners.base.CodedClassifier`.

    Attributes
    ----------
    coef_ : ndarray of shape (n_bins.sum(),)
        What each code of each column adds to the score, an estimate of y − ½.
    intercept_ : float
    """

    _learner = "boosted_adassp"

    def _calls(self, n: int) -> Sequence[Announced]:
        return gram_and_slopes(self.gram_share, self.n_rounds)

    def _model(self, rows: csr_array, width: int, records: Records, curator: Curator) -> Floats:
        _, signs, counts, _ = records
        gram, deviation = noisy_gram(rows, counts, self._n_ones, width, curator)
        ridge = max(RIDGE * deviation * math.sqrt(len(gram)), 1e-9 * float(np.trace(gram)), 1.0)
        solved = inverse(gram + ridge * np.eye(len(gram)))
        model = np.zeros(width)
        for k in range(1, self.n_rounds + 1):
            slopes = linear_slopes(rows, signs, counts, model, self._n_ones)
            model += times(solved, curator.numbers(SLOPES.format(k), slopes))
        return model

    def _log_odds(self, scores: Floats) -> Floats:
        # Where residuals cancel, q·(½ − F) = (1 − q)/2 for F ≥ 0: the odds are 1/(1 − 2F).
        near = np.maximum(1 - 2 * np.abs(scores), LEAST_CHANCE)
        return np.asarray(-np.sign(scores) * logs(near))
