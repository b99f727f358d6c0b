"""Logistic regression: private by objective perturbation, and without privacy."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from privcurve.coding import Codes, one_hot
from privcurve.learners.checks import RandomState
from privcurve.learners.log_odds import OneHotClassifier, logistic_loss
from privcurve.privacy.budget import CERTIFIED
from privcurve.privacy.calibration.logistic_regression import Perturbation
from privcurve.privacy.ledger import PrivacyStatement

# The gradient (of a mean over records) at which the solver stops. The proof is about the
# exact minimum, so this is far below the noise; diffprivlib's default is 1e-4.
TOLERANCE = 1e-8
MAX_ITERATIONS = 20_000


class LogisticRegressionClassifier(OneHotClassifier):
    """scikit-learn's logistic regression on the one-hot coded columns; not private.

    Parameters
    ----------
    C : float
        Inverse strength of the L2 penalty: the objective is the sum of the records'
        losses + ‖coefficients‖²/(2C). The intercept is not penalised.
    n_bins, bounds, classes, random_state
        See :class:`~privcurve.learners.base.CodedClassifier`. There is no randomness.

    Attributes
    ----------
    coef_ : ndarray of shape (n_bins.sum(),)
    intercept_ : float
    n_features_used_ : int
        Number of coefficients that are not zero.
    """

    _learner = "logistic_regression"

    def __init__(
        self,
        C: float = 1.0,
        n_bins: int | Sequence[int] | None = None,
        bounds: tuple[ArrayLike, ArrayLike] | None = None,
        classes: Sequence[Any] | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.C = C
        self.n_bins = n_bins
        self.bounds = bounds
        self.classes = classes
        self.random_state = random_state

    def _fit_one(
        self,
        codes: Codes,
        signs: NDArray[np.int8],
        counts: NDArray[np.int64],
        rng: np.random.Generator,
    ) -> PrivacyStatement:
        self._regress(codes, signs, counts, tol=TOLERANCE)
        return PrivacyStatement.not_private(self._learner)


class DPLogisticRegressionClassifier(OneHotClassifier):
    r"""Logistic regression with a perturbed objective (diffprivlib's noise).

    The minimum of

    .. math:: \frac1n \sum_i \ell(y_i f^\top x_i) + \frac{\|f\|^2}{2Cn}
              + \frac{b^\top f}{n} + \frac{\Delta}{2}\|f\|^2

    over the one-hot coded columns, where the density of :math:`b` falls as
    :math:`e^{-\varepsilon'\|b\|/2R}`, R bounds the norm of a row, and ε' and Δ are as in
    Algorithm 2 of Chaudhuri, Monteleoni and Sarwate (JMLR 12, 2011). Noise and Δ are
    those of diffprivlib's `Vector` mechanism; its `LogisticRegression` minimises the same
    function, but takes no weights, no sparse rows, and raises when a label is missing.

    Calibrations:

    - ``published``: what diffprivlib's `LogisticRegression` does with
      ``data_norm=√n_columns``, the exact norm of every one-hot row (√(n_columns+1) with
      the intercept). **It is not ε-private.** The paper's proof is for rows of
      norm 1; for norm R its curvature bound is R²/4, but diffprivlib takes R/4; and it
      penalises all coefficients, but diffprivlib leaves the intercept out unless Δ > 0:
      then there is no ε at all. The statement says so, or names the ε that is proved.
    - ``certified``: rows scaled to norm 1, and no intercept (the one-hot columns of a
      coded column add up to one, so it would be redundant). Here diffprivlib's noise is
      exactly that of the paper's Theorem 9. C keeps its meaning for the unscaled matrix.

    A label that does not occur is no special case: the same function is minimised, so
    neither an error nor the model's form tells that it is missing. With ``published`` and
    few records the noise can outweigh the data in the direction of the unpenalised
    intercept; then there is no minimum, and the intercept is where the solver gives up,
    huge but finite. With ``certified`` there always is one.

    Parameters
    ----------
    C : float
        Inverse strength of the L2 penalty, as for the non-private learner.
    epsilon : float
        Privacy level; inf for no noise.
    delta : float
        Must be 0.
    calibration : str
        See above.
    n_bins, bounds, classes, random_state
        See :class:`~privcurve.learners.base.CodedClassifier`.

    Attributes
    ----------
    coef_ : ndarray of shape (n_bins.sum(),)
        For the unscaled one-hot matrix.
    intercept_ : float
    n_features_used_ : int
        Number of coefficients that are not zero: with noise, all of them.
    """

    _learner = "dp_logistic_regression"

    def __init__(
        self,
        C: float = 1.0,
        epsilon: float = 1.0,
        delta: float = 0.0,
        calibration: str = CERTIFIED,
        n_bins: int | Sequence[int] | None = None,
        bounds: tuple[ArrayLike, ArrayLike] | None = None,
        classes: Sequence[Any] | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.C = C
        self.epsilon = epsilon
        self.delta = delta
        self.calibration = calibration
        self.n_bins = n_bins
        self.bounds = bounds
        self.classes = classes
        self.random_state = random_state

    def _fit_one(
        self,
        codes: Codes,
        signs: NDArray[np.int8],
        counts: NDArray[np.int64],
        rng: np.random.Generator,
    ) -> PrivacyStatement:
        posed = Perturbation.of(float(self.C), self.n_features_in_, self.calibration)
        rows = one_hot(codes, self.n_bins_, posed.value)
        seed = rng.integers(2**32, size=4, dtype=np.uint32)
        # diffprivlib draws from the old kind of generator only.
        noise = np.random.RandomState(np.random.MT19937(np.random.SeedSequence(seed.tolist())))
        # One thread: equal bits on any machine, and faster for vectors this short.
        with threadpool_limits(1):
            found = _minimum(rows, signs, counts, posed, float(self.epsilon), noise)
        self.coef_ = found[: rows.shape[1]] * posed.value
        self.intercept_ = float(found[-1]) if posed.intercept else 0.0
        self.n_features_used_ = int(np.count_nonzero(self.coef_))
        return posed.statement(self._learner, float(self.epsilon), TOLERANCE)


def _minimum(
    rows: csr_array,
    signs: NDArray[np.int8],
    counts: NDArray[np.int64],
    posed: Perturbation,
    epsilon: float,
    noise: np.random.RandomState,
) -> NDArray[np.float64]:
    """Draw the noise and minimise the perturbed objective (the intercept comes last)."""
    n = int(counts.sum())
    dimension = rows.shape[1] + int(posed.intercept)
    linear = posed.draw(epsilon, dimension, noise)
    extra = posed.extra_penalty(epsilon) / n

    def perturbed(model: NDArray[np.float64], *data: Any) -> tuple[float, NDArray[np.float64]]:
        value, gradient = logistic_loss(model, *data)
        value += float(linear @ model) / n
        value += 0.5 * extra * float(model @ model)
        return value, gradient + (linear / n + extra * model)

    result = minimize(
        perturbed,
        np.zeros(dimension),
        args=(rows, signs, counts, 1 / (posed.C * n)),
        jac=True,
        method="L-BFGS-B",
        options={
            "gtol": TOLERANCE,
            "ftol": 0.0,
            "maxiter": MAX_ITERATIONS,
            "maxfun": 2 * MAX_ITERATIONS,
        },
    )
    # Status 2, "no lower point found", is the end of what float64 can resolve: harmless.
    if result.status == 1:
        warnings.warn(
            f"logistic regression: no minimum after {MAX_ITERATIONS} steps; the guarantee "
            "is about the minimum. A smaller C helps.",
            ConvergenceWarning,
            stacklevel=2,
        )
    return np.asarray(result.x)
