"""Full-batch gradient descent with noise, on one-hot codes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from privcurve.coding import Floats, Records
from privcurve.learners.entries.parameters import DPGradientDescentParameters
from privcurve.learners.linear.joint import (
    SLOPES,
    JointClassifier,
    logistic_slopes,
)
from privcurve.learners.shared.grouped import DescentClassifier
from privcurve.privacy.curator import Curator
from privcurve.privacy.noise import Announced


@dataclass(kw_only=True, eq=False, repr=False)
class DPGradientDescentClassifier(JointClassifier, DescentClassifier, DPGradientDescentParameters):
    r"""Logistic regression on one-hot codes by gradient descent over all records, with noise.

    Each step releases :math:`\sum_i \min(|y_i - p_i|, \frac12) \cdot u_i` over the one-hot rows
    :math:`u_i`, whose norm is the same for all, so that nothing but the residual is clipped; and
    goes `learning_rate` times their mean. The last step's weights are the model. Proof:
    docs/proofs.md, 'Joint Newton steps'.

    Parameters
    ----------
    n_steps : int
    learning_rate : float
        Of the mean slope. The best one depends on the records: it has to be known, or chosen
        within the budget (``tuned``).
    n_estimate : int or None
        About how many records there are, from public sources; with ``add-remove`` alone.
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

    _learner = "dp_gradient_descent"

    def _calls(self, n: int) -> Sequence[Announced]:
        return (Announced(SLOPES, times=self.n_steps),)

    def _model(self, rows: csr_array, width: int, records: Records, curator: Curator) -> Floats:
        _, signs, counts, _ = records
        n = self._n_public(records)
        model = np.zeros(width)
        for k in range(1, self.n_steps + 1):
            slopes = logistic_slopes(rows, signs, counts, model, self._n_ones)
            model += self.learning_rate / n * curator.numbers(SLOPES.format(k), slopes)
        return model
