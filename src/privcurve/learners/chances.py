"""Probabilities of labels: a public function of scores, so they cost nothing that is not paid."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, softmax

from privcurve.learners.base import CodedClassifier


class ChanceClassifier(CodedClassifier):
    """A learner with `predict_proba`: the logistic function of log-odds, or the softmax.

    A subclass says what the log-odds are by its score (`_log_odds`): by default the score itself.
    """

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Estimate the probability of each label.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_columns)

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            Columns in the order of ``classes_``.
        """
        odds: NDArray[Any] = self._log_odds(self.decision_function(X))
        if odds.ndim == 2:
            return np.asarray(softmax(odds, axis=1))
        return np.column_stack([expit(-odds), expit(odds)])

    def _log_odds(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Give log-odds of the positive label, or logarithms of shares of each, by scores."""
        return scores


class LinkedClassifier(ChanceClassifier):
    """A learner whose score is no log-odds: its loss, or its votes, say by what link it is one.

    docs/probabilities.md derives each link and measures its log-loss.
    """

    chances_by_link: ClassVar[bool] = True

    def _log_odds(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        raise NotImplementedError


def whole_residuals(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Give the log-odds that a fit to clipped residuals means: ±(ln(1 + e^{|score|}) − ln 2).

    See :class:`privcurve.learners.additive.model.AdditiveModel`.
    """
    return np.asarray(np.sign(scores) * (np.logaddexp(0.0, np.abs(scores)) - np.log(2)))
