"""Convert scores to probabilities of labels: public functions of scores, which cost no privacy."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privcurve.coding import Floats, Ints, Signs
from privcurve.kernels.arithmetic import exp, expits, exps, log, log_softmax, logs, softplus, total
from privcurve.learners.base import CodedClassifier, with_fitted_parameters

# A link function plus SLOPE · score is used: where the link alone is 0, the predicted label still
# gets the larger probability.
SLOPE = 1e-9

# If all records have the same label, its log-odds is CERTAIN: a finite number, so that the log-loss
# is finite. As in scikit-learn, the probability is 1 minus the rounding error of a float32.
CERTAIN = log(2.0**23 - 1)


def only_label(signs: Signs) -> int | None:
    """Return the sign that all records share; None if both occur."""
    return int(signs[0]) if (signs == signs[0]).all() else None


def log_shares(labels: NDArray[Any], counts: Ints, n_classes: int) -> Floats:
    """Return the logarithm of each class's share of the records, clipped below at −`CERTAIN`."""
    shares = np.bincount(labels, weights=counts, minlength=n_classes) / counts.sum()
    return logs(np.maximum(shares, exp(-CERTAIN)))


class ChanceClassifier(CodedClassifier):
    """A learner with `predict_proba`: the logistic function (K > 2: softmax) of its scores.

    The score estimates the log-odds of the positive label; with more than two classes there is a
    score for each class.
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
        """Convert scores of `decision_function` to the probabilities of :meth:`predict_proba`."""
        odds: NDArray[Any] = self._log_odds(scores)
        if odds.ndim == 2:
            return exps(log_softmax(np.ascontiguousarray(odds)))
        return np.column_stack([expits(-odds), expits(odds)])

    def _log_odds(self, scores: Floats) -> Floats:
        """Convert scores to log-odds of the positive label, or to inputs of the softmax."""
        return scores


class LinkedClassifier(ChanceClassifier):
    """A learner whose scores are not log-odds, but are converted to log-odds by a link function.

    docs/probabilities.md derives each link from the learner's loss or votes, and measures its
    log-loss.
    """

    # The pipeline reports no log-loss of these learners, because their fits do not aim at log-odds.
    chances_by_link = True

    def _log_odds(self, scores: Floats) -> Floats:
        return np.asarray(self._link(scores) + SLOPE * scores)

    def _link(self, scores: Floats) -> Floats:
        """Convert scores to log-odds of the same sign. By default scores are not changed."""
        return scores


def clipped_log_odds(scores: Floats) -> Floats:
    """Convert scores to log-odds ±(ln(1 + e^{|score|}) − ln 2), with the sign of the score.

    The scores must be fitted to clipped residuals; docs/probabilities.md derives the formula.
    """
    return np.asarray(np.sign(scores) * (softplus(np.abs(scores)) - softplus(0.0)))


def succession(votes: Floats, n_voters: int) -> Floats:
    """Convert votes to log-odds of the probability (v₊ + 1)/(T + 2), Laplace's rule of succession.

    Of T = `n_voters` voters, v₊ vote for the positive label and v₋ against it; `votes` is v₊ − v₋.
    """
    return logs(n_voters + 2 + votes) - logs(n_voters + 2 - votes)


def cap_of(votes: Floats, learning_rate: float, density: float) -> float:
    """Find the cap in LazyBB's weights min(1, e^{cap − λσ}) from the votes alone.

    `votes` has the score of each row; the margin σ of a record is its score times its label (±1).
    Let a and b be the weights that a row has with each label. The model of :func:`capped_weights`
    gives the labels probabilities b/(a + b) and a/(a + b), so the row's expected weight is 2ab/(a +
    b). The cap makes the mean of the expected weights equal to κ, the density.
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
    """Return the log-odds at which both labels of a row have the same expected weight.

    The expected weight of a label is its probability times the weight min(1, e^{cap − λσ}) that the
    row has with this label, where σ is the score times the label (±1): see `cap_of`.
    """
    margins = learning_rate * np.abs(votes)
    weights = np.minimum(cap + margins, 0.0) - np.minimum(cap - margins, 0.0)
    return np.asarray(np.sign(votes) * weights)
