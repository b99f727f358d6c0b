"""Probabilities of labels: a public function of scores, which costs nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privcurve.coding import Floats, Ints, Signs
from privcurve.kernels.arithmetic import exp, expits, exps, log, log_softmax, logs, softplus, total
from privcurve.learners.base import CodedClassifier, with_fitted_parameters

# Slope added to a flat link, so that the predicted label has the larger probability.
SLOPE = 1e-9

# The score for "all records have this label". It is finite, so that the log-loss is; the
# probability is 1 minus the relative rounding error of a float32, as in scikit-learn's gradient
# boosting.
CERTAIN = log(2.0**23 - 1)


def only_label(signs: Signs) -> int | None:
    """Return the sign that all records share; None if both occur."""
    return int(signs[0]) if (signs == signs[0]).all() else None


def log_shares(labels: NDArray[Any], counts: Ints, n_classes: int) -> Floats:
    """Return the logarithm of each class's share of the records, at least minus `CERTAIN`."""
    shares = np.bincount(labels, weights=counts, minlength=n_classes) / counts.sum()
    return logs(np.maximum(shares, exp(-CERTAIN)))


class ChanceClassifier(CodedClassifier):
    """A learner with `predict_proba`: the logistic function of its score, or the softmax.

    The score is an estimate of the log-odds of the positive label, or of each class.
    """

    def predict_proba(self, X: ArrayLike) -> Floats:
        """Estimate the probability of each label.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_columns)

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            Columns in the order of ``classes_``.
        """
        return self.chances(self.decision_function(X))

    @with_fitted_parameters
    def chances(self, scores: Floats) -> Floats:
        """Return the probabilities of :meth:`predict_proba`, by scores of `decision_function`."""
        odds: NDArray[Any] = self._log_odds(scores)
        if odds.ndim == 2:
            return exps(log_softmax(np.ascontiguousarray(odds)))
        return np.column_stack([expits(-odds), expits(odds)])

    def _log_odds(self, scores: Floats) -> Floats:
        """Return the log-odds of the positive label, or the logarithms of classes' shares."""
        return scores


class LinkedClassifier(ChanceClassifier):
    """A learner whose score is not log-odds: a link, from its loss or its votes, converts it.

    docs/probabilities.md derives each link, and measures its log-loss.
    """

    # The pipeline reports the log-loss only for learners that fit log-odds.
    chances_by_link = True

    def _log_odds(self, scores: Floats) -> Floats:
        return np.asarray(self._link(scores) + SLOPE * scores)

    def _link(self, scores: Floats) -> Floats:
        """Return the log-odds of scores, with the same signs; here the scores themselves."""
        return scores


def clipped_log_odds(scores: Floats) -> Floats:
    """Return the log-odds of a fit to clipped residuals: ±(ln(1 + e^{|score|}) − ln 2).

    See :class:`privcurve.learners.additive.model.AdditiveModel`.
    """
    return np.asarray(np.sign(scores) * (softplus(np.abs(scores)) - softplus(0.0)))


def succession(votes: Floats, n_voters: int) -> Floats:
    """Return the log-odds by Laplace's rule of succession: of (v₊ + 1)/(T + 2)."""
    return logs(n_voters + 2 + votes) - logs(n_voters + 2 - votes)


def cap_of(votes: Floats, learning_rate: float, density: float) -> float:
    """Find the cap of LazyBB's weights from the margins alone.

    A record with margin σ has the weight min(1, e^{cap − λσ}). The probability of its label is such
    that both labels have the same expected weight. The mean weight by these probabilities, 2ab/(a +
    b) for the weights a and b of the labels, is κ, the density of every round.
    """
    margins, counts = np.unique(np.abs(votes), return_counts=True)
    low, high = log(density), float(learning_rate * margins.max() + 1)

    def mean_weight(cap: float) -> float:
        a = exps(np.minimum(cap - learning_rate * margins, 0.0))
        b = exps(np.minimum(cap + learning_rate * margins, 0.0))
        return float(total(counts * 2 * a * b / (a + b)) / counts.sum())

    if mean_weight(low) >= density:
        return low
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if mean_weight(middle) < density else (low, middle)
    return low


def capped_weights(votes: Floats, learning_rate: float, cap: float) -> Floats:
    """Return the log-odds at which both labels have equal weights min(1, e^{cap − λσ})."""
    margins = learning_rate * np.abs(votes)
    weights = np.minimum(cap + margins, 0.0) - np.minimum(cap - margins, 0.0)
    return np.asarray(np.sign(votes) * weights)
