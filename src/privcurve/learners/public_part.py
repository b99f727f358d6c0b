"""What is learned of public columns and labels alone, and so costs nothing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privcurve.coding import scaled
from privcurve.kernels.newton import minimise_logistic
from privcurve.learners.log_odds import CERTAIN, only_label
from privcurve.learners.roles import PublicRows


@dataclass(frozen=True)
class LinearScore:
    """A score θ·x + intercept of columns.

    Attributes
    ----------
    coefficients : ndarray of shape (n_inputs,)
    intercept : float
    """

    coefficients: NDArray[np.float64]
    intercept: float

    def of(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Score rows."""
        return np.asarray(rows @ self.coefficients + self.intercept)


class PublicClassifier:
    """The logistic regression of labels on scaled public columns, refitted as weights move.

    The penalty is ½‖coefficients‖²; the intercept has none. It reads nothing private.

    Parameters
    ----------
    rows : PublicRows
    n_bins : ndarray of shape (n_public,)
    """

    def __init__(self, rows: PublicRows, n_bins: NDArray[np.int64]) -> None:
        self._rows = rows
        self._inputs = np.column_stack([scaled(rows.codes, n_bins), np.ones(len(rows.signs))])
        self._last: NDArray[np.float64] | None = None
        self._penalty = np.ones(self._inputs.shape[1])
        self._penalty[-1] = 0.0

    def fit(self, weights: NDArray[np.float64]) -> LinearScore:
        """Fit, each record of a row with a weight, beginning at the last solution."""
        signs = self._rows.signs
        label = only_label(signs)
        if label is not None:
            return LinearScore(np.zeros(self._inputs.shape[1] - 1), CERTAIN * label)
        self._last = minimise_logistic(
            self._inputs, signs, self._rows.counts * weights, self._penalty, self._last
        )
        return LinearScore(self._last[:-1], float(self._last[-1]))

    def wrong(self, score: LinearScore) -> NDArray[np.bool_]:
        """Say which rows a score gets wrong (0 counts as negative)."""
        return (score.of(self._inputs[:, :-1]) > 0) != (self._rows.signs > 0)
