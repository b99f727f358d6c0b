"""Fit logistic regressions, with and without noise; base class of learners with one-hot inputs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_array, hstack
from sklearn.linear_model import LogisticRegression

from privcurve.coding import Codes, Floats, Ints, Signs, one_hot
from privcurve.kernels import arithmetic
from privcurve.kernels.arithmetic import dot, total
from privcurve.kernels.newton import logistic_gradient, minimise_logistic
from privcurve.kernels.rows import times, weighted_sum
from privcurve.learners.shared.chances import CERTAIN, ChanceClassifier, log_shares, only_label
from privcurve.learners.shared.checks import require
from privcurve.learners.shared.threads import one_thread
from privcurve.privacy.curator import Call, Curator
from privcurve.privacy.sealed import kernel

# Maximum number of steps of L-BFGS; it usually takes some hundreds.
MOST_STEPS = 5_000

gradient_kernel = kernel(logistic_gradient)
minimise_kernel = kernel(minimise_logistic)


def logistic_loss(
    model: Floats, rows: csr_array | Floats, signs: Signs, counts: Ints, penalty: float
) -> tuple[float, Floats]:
    """Return the mean logistic loss plus ½·penalty·‖coefficients‖², and its gradient.

    `model` has a coefficient per column of `rows`; a further entry is an intercept without penalty.
    """
    n_features = rows.shape[1]
    weights = model[:n_features]
    margins = signs * (times(rows, weights) + total(model[n_features:]))
    n = counts.sum()
    # The loss and its derivative share one exponential, whose argument is ≤ 0, so it cannot
    # overflow.
    small = arithmetic.exps(-np.abs(margins))
    losses = arithmetic.log1ps(small) - np.minimum(margins, 0.0)
    wrong = np.where(margins > 0, small, 1.0) / (1.0 + small)
    loss = total(counts * losses) / n + 0.5 * penalty * dot(weights, weights)
    slopes = -signs * counts * wrong / n
    gradient = np.empty_like(model)
    gradient[:n_features] = weighted_sum(rows, slopes) + penalty * weights
    gradient[n_features:] = total(slopes)
    return float(loss), gradient


def perturbed_logistic(
    *,
    curator: Curator,
    call: Call,
    rows: Floats,
    signs: Signs,
    weights: Floats,
    penalty: Floats,
    offset: Floats | float = 0.0,
) -> Floats:
    """Return the minimiser of a logistic objective plus a random linear term, the noise.

    Parameters
    ----------
    curator : Curator
    call : Call
        The mechanism call of the release.
    rows : ndarray of shape (n_rows, n_inputs)
    signs, weights : ndarray of shape (n_rows,)
        Labels −1 and +1, and the number of records of each row.
    penalty : ndarray of shape (n_inputs,)
        The L2 penalty of each coefficient.
    offset : ndarray of shape (n_rows,) or float
        Added to the score of each row.

    Returns
    -------
    ndarray of shape (n_inputs,)
    """
    posed = rows, signs, weights, penalty
    return curator.objective(
        call,
        len(penalty),
        lambda theta: gradient_kernel(theta, *posed, offset=offset),
        lambda tilt: minimise_kernel(*posed, offset=offset, tilt=tilt),
    )


def regress(
    rows: csr_array | Floats,
    signs: Signs,
    counts: Ints | Floats,
    C: float = 1.0,
    start: Floats | None = None,
) -> tuple[Floats, float]:
    """Return the coefficients and intercept of a logistic regression without noise.

    The objective is the sum of the losses plus ‖coefficients‖²/(2C). The intercept has no penalty;
    if only one label occurs it would be infinite, and ±`CERTAIN` is returned. `start` is where the
    search starts: coefficients, then the intercept.
    """
    width = rows.shape[1]
    label = only_label(signs)
    if label is not None:
        return np.zeros(width), CERTAIN * label
    ones = np.ones((len(signs), 1))
    if isinstance(rows, np.ndarray):
        inputs = np.column_stack([rows, ones])
    else:
        inputs = hstack([rows, csr_array(ones)], format="csr")
    penalty = np.append(np.full(width, 1 / C), 0.0)
    solution = minimise_logistic(inputs, signs, counts.astype(np.float64), penalty, start)
    return solution[:-1], float(solution[-1])


class OneHotClassifier(ChanceClassifier):
    """Base of learners whose score is linear in the one-hot encoded columns.

    Attributes
    ----------
    coef_ : ndarray of shape (n_bins.sum(),)
        A coefficient for each bin of each column; with more than two classes, a row per class.
    intercept_ : float
        With more than two classes, an array with an intercept per class.
    n_features_used_ : int
        Number of inputs with a nonzero coefficient.
    """

    C: float
    coef_: Floats
    intercept_: float | Floats

    _released: ClassVar[Mapping[str, Any]] = {"coef_": Floats, "intercept_": float | Floats}

    def _width(self) -> int:
        """Return the number of inputs of the linear score."""
        return int(self.n_bins_.sum())

    def _rows(self, codes: Codes, value: float = 1.0) -> csr_array | Floats:
        """Return the inputs of the linear score for each row, multiplied by `value`."""
        return one_hot(codes, self.n_bins_, value)

    def _restore(self) -> None:
        classes = () if len(self.classes_) == 2 else (len(self.classes_),)
        fits = self.coef_.shape == (*classes, self._width())
        require(fits and np.shape(self.intercept_) == classes, "it is linear in other columns")

    def _scores(self, codes: Codes) -> Floats:
        rows = self._rows(codes)
        if self.coef_.ndim == 1:
            return np.asarray(times(rows, self.coef_) + self.intercept_)
        return np.column_stack([times(rows, row) for row in self.coef_]) + self.intercept_

    def _regress(self, codes: Codes, signs: Signs, counts: Ints) -> None:
        """Set the coefficients by a logistic regression without noise."""
        self.coef_, self.intercept_ = regress(self._rows(codes), signs, counts, self.C)
        self.n_features_used_ = int(np.count_nonzero(self.coef_))

    def _regress_classes(self, codes: Codes, labels: Ints, counts: Ints) -> None:
        """Set the coefficients of more than two classes by a multinomial regression without noise.

        A class without records gets so low a score that it is never predicted.
        """
        n_classes = len(self.classes_)
        self.coef_ = np.zeros((n_classes, self._width()))
        self.intercept_ = log_shares(labels, counts, n_classes)
        present = np.unique(labels)
        if self._width() and len(present) > 1:
            # Use L-BFGS, scikit-learn's default. Newton steps would need a large Hessian: a row for
            # each coefficient of each class.
            model = LogisticRegression(C=self.C, max_iter=MOST_STEPS)
            with one_thread():
                model.fit(self._rows(codes), labels, sample_weight=counts)
            # If only two classes occur, scikit-learn returns one row of coefficients; each class
            # gets ± half of the row.
            signs = [[-0.5], [0.5]] if len(present) == 2 else [[1.0]]
            self.coef_[present] = model.coef_ * signs
            self.intercept_ = np.full(n_classes, -CERTAIN)
            self.intercept_[present] = model.intercept_ * np.ravel(signs)
        self.n_features_used_ = int(np.count_nonzero(self.coef_.any(axis=0)))
