"""Boosted AdaSSP: rounds of ridge regression that share one noisy Gram matrix."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

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
from privcurve.learners.shared.numbers import LEVEL_UNIT, NumbersClassifier, even_levels
from privcurve.privacy.curator import Curator
from privcurve.privacy.noise import Announced

# The ridge is RIDGE·σ·√(number of inputs), about the norm of the noise of the Gram matrix; σ is the
# standard deviation of this noise. The constant is from the authors' code.
RIDGE = 1.96
# The value of `inputs` for columns that are read as numbers.
NUMBERS = "numbers"
# Lower limit of 1 − 2|F|. A score F has the log-odds −sign(F)·log(1 − 2|F|) (`_log_odds`); the
# limit keeps them finite for |F| ≥ ½.
LEAST_CHANCE = 1e-6


@dataclass(kw_only=True, eq=False, repr=False)
class BoostedAdaSSPClassifier(JointClassifier, NumbersClassifier, BoostedAdaSSPParameters):
    r"""Least squares on one-hot columns: rounds of a ridge regression on clipped residuals.

    The method is by Tang, Aydore, Kearns, Rho, Roth, Wang, Wang and Wu, *Improved differentially
    private regression via gradient boosting*, arXiv 2303.03451. The Gram matrix is released once;
    its ridge is about as large as the reduction of an eigenvalue that noise may cause. Each round
    releases the sum of the one-hot rows times the clipped residuals of the previous rounds, and
    adds the ridge regression on these residuals to the model.

    Two things differ from the paper. The paper also releases the smallest eigenvalue, to reduce the
    ridge; for one-hot rows this eigenvalue is 0, so no budget is spent on it. The paper makes 100
    rounds; the default here is lower, as the matrix is wide. Proof: docs/proofs.md, 'Joint Newton
    steps'.

    Parameters
    ----------
    n_rounds : int
    inputs : str
        ``codes``: all columns are one-hot encoded. ``numbers``: ordered columns are numbers in [0,
        1], as in the paper, and all other columns are one-hot encoded.
    levels : sequence, optional
        Only with ``numbers``: see :class:`~privcurve.learners.shared.numbers.NumbersClassifier`.
        Without it, the bins of ordered columns are at equal distances.
    gram_share, n_groups, neighbours, ordered, epsilon, delta, calibration, n_bins, bounds, classes
        See :class:`~privcurve.learners.linear.joint.JointClassifier`, also for `random_state` and
        the attributes. The score estimates y − ½ for y in {0, 1}.
    """

    _learner = "boosted_adassp"

    def _calls(self, n: int) -> Sequence[Announced]:
        return gram_and_slopes(self.gram_share, self.n_rounds)

    def _model(self, rows: csr_array, width: int, records: Records, curator: Curator) -> Floats:
        _, signs, counts, _ = records
        gram, deviation = noisy_gram(rows, counts, self._n_ones, width, curator)
        ridge = max(RIDGE * deviation * math.sqrt(len(gram)), 1e-9 * float(np.trace(gram)), 1.0)
        solved = inverse(gram + ridge * np.eye(len(gram)))
        model, part = np.zeros(width), LEVEL_UNIT if self.inputs == NUMBERS else 1.0
        for k in range(1, self.n_rounds + 1):
            slopes = linear_slopes(rows, signs, counts, model, self._n_ones, part)
            model += times(solved, curator.numbers(SLOPES.format(k), slopes))
        return model

    def _facts(self, n: int) -> dict[str, Any]:
        """Return the facts of a fit, without `inputs` and `levels` if all columns are one-hot.

        The random stream of a seed depends on these facts. Leaving two out keeps the stream of
        versions without these parameters.
        """
        idle = () if self.inputs == NUMBERS else ("inputs", "levels")
        return {name: fact for name, fact in super()._facts(n).items() if name not in idle}

    def _numbers(self) -> Sequence[Floats | None]:
        if self.inputs != NUMBERS:
            return super()._numbers()
        if self.levels is not None:
            return self._check_levels()
        return [
            even_levels(n) if is_ordered else None
            for n, is_ordered in zip(self.n_bins_.tolist(), self._ordered(), strict=True)
        ]

    def _log_odds(self, scores: Floats) -> Floats:
        # At the minimum of the loss, the expected clipped residual of a row is 0. For a score F ≥ 0
        # and a probability q of the positive label this means q·(½ − F) = (1 − q)/2. So the odds
        # q/(1 − q) are 1/(1 − 2F).
        near = np.maximum(1 - 2 * np.abs(scores), LEAST_CHANCE)
        return np.asarray(-np.sign(scores) * logs(near))
