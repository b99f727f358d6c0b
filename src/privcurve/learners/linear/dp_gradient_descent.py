"""Full-batch gradient descent with noise, on one-hot columns."""

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
    r"""Logistic regression on one-hot columns by gradient descent over all records, with noise.

    Each step releases :math:`\sum_i c(y_i - p_i) \, u_i` with noise, where :math:`c` clips a
    residual to ±½ and :math:`u_i` is the one-hot row of record i. All rows have the same norm, so
    only residuals need clipping. The step adds `learning_rate` times the mean over the records to
    the weights. Proof: docs/proofs.md, 'Joint Newton steps'.

    Parameters
    ----------
    n_steps : int
    learning_rate : float
        Factor of the mean gradient. The best value depends on the records, so take it from other
        data, or let ``tuned`` choose it within the budget.
    n_estimate : int or None
        Only with ``add-remove``: an estimate of the number of records, from public sources.
    n_groups, neighbours, ordered, epsilon, delta, calibration, n_bins, bounds, classes
        See :class:`~privcurve.learners.linear.joint.JointClassifier`, also for `random_state` and
        the attributes.
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
