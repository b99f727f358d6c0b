"""Learners whose score is an estimate of the log-odds of the positive label."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logit

from privcurve.learners.base import CodedClassifier

# The score for "all records have this label". Finite, so that the log-loss is; the
# probability is 1 minus the relative rounding error of a float32, as scikit-learn's
# gradient boosting has it.
CERTAIN = float(-logit(np.finfo(np.float32).eps))


def only_label(signs: NDArray[np.int8]) -> int | None:
    """Give the sign that all records share, None if both occur."""
    return int(signs[0]) if (signs == signs[0]).all() else None


class LogOddsClassifier(CodedClassifier):
    """A learner with `predict_proba`, the logistic function of its score."""

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Estimate the probability of each label.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_columns)

        Returns
        -------
        ndarray of shape (n_rows, 2)
            Columns in the order of ``classes_``.
        """
        scores: NDArray[Any] = self.decision_function(X)
        return np.column_stack([expit(-scores), expit(scores)])
