"""Logistic regression: private by objective perturbation, and without privacy."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from diffprivlib.mechanisms import Vector
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize
from scipy.sparse import csr_array
from sklearn import linear_model
from sklearn._loss import HalfBinomialLoss
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model._linear_loss import LinearModelLoss
from threadpoolctl import threadpool_limits

from privcurve.coding import Codes, one_hot
from privcurve.learners.checks import RandomState
from privcurve.learners.log_odds import CERTAIN, LogOddsClassifier, only_label
from privcurve.privacy.accountants.compose import BASIC
from privcurve.privacy.budget import CERTIFIED, PUBLISHED, is_private
from privcurve.privacy.ledger import (
    ASSUMED_BINS,
    ASSUMED_LABELS,
    ASSUMED_N,
    NOT_FLOATS,
    NOT_SEED,
    NOT_SELECTION,
    REPLACE_ONE,
    LedgerEntry,
    PrivacyStatement,
)

# The logistic loss has |ℓ'| ≤ 1 and ℓ'' ≤ 1/4: the constant c of Chaudhuri et al.
CURVATURE = 0.25

# The gradient (of a mean over records) at which the solver stops. The proof is about the
# exact minimum, so this is far below the noise; diffprivlib's default is 1e-4.
TOLERANCE = 1e-8
MAX_ITERATIONS = 20_000


class LogisticRegressionClassifier(LogOddsClassifier):
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
        label = only_label(signs)
        if label is not None:
            # scikit-learn refuses one label: the unpenalised intercept would be infinite.
            self.coef_ = np.zeros(int(self.n_bins_.sum()))
            self.intercept_ = CERTAIN * label
        else:
            # Newton: exact in some ten steps, where L-BFGS takes hundreds or stops early.
            model = linear_model.LogisticRegression(
                C=self.C, solver="newton-cholesky", tol=TOLERANCE
            )
            with threadpool_limits(1):
                model.fit(one_hot(codes, self.n_bins_), signs, sample_weight=counts)
            self.coef_ = model.coef_[0]
            self.intercept_ = float(model.intercept_[0])
        self.n_features_used_ = int(np.count_nonzero(self.coef_))
        return PrivacyStatement.not_private(self._learner)

    def _scores(self, codes: Codes) -> NDArray[np.float64]:
        return np.asarray(one_hot(codes, self.n_bins_) @ self.coef_ + self.intercept_)


@dataclass(frozen=True)
class Perturbation:
    """How the objective is posed and perturbed, from public facts alone.

    Attributes
    ----------
    value : float
        What stands for a 1 of the one-hot matrix.
    C : float
        Inverse penalty of the coefficients of that matrix.
    intercept : bool
        Whether there is an intercept, which is not penalised.
    norm : float
        R, the L2 norm of every row, with the intercept's 1.
    """

    value: float
    C: float
    intercept: bool
    norm: float

    @classmethod
    def of(cls, C: float, n_columns: int, calibration: str) -> Perturbation:
        """Give the objective of a calibration."""
        if calibration == PUBLISHED:
            return cls(1.0, C, True, math.sqrt(n_columns + 1))
        # The same model in other units: coefficients √n_columns times as large.
        return cls(1 / math.sqrt(n_columns), C * n_columns, False, 1.0)

    def noise_epsilon(self, epsilon: float) -> float:
        """Give ε', the part of ε that the noise vector gets (as diffprivlib computes it)."""
        left = epsilon - 2 * math.log1p(CURVATURE * self.norm * self.C)
        return left if left > 0 else epsilon / 2

    def proved_epsilon(self, epsilon: float, n_columns: int) -> float:
        """Give the ε that follows from Chaudhuri et al.'s argument for this noise.

        The noise costs ε'. The Jacobian of the map from minimum to noise changes by at
        most 1 + c·xᵀH⁻¹x when the record x is put in place of another, where H holds
        the penalties: α + nΔ of a coefficient, and nΔ of an intercept.
        """
        noise = self.noise_epsilon(epsilon)
        alpha = 1 / self.C
        extra = 0.0
        if noise == epsilon / 2:
            extra = CURVATURE * self.norm / math.expm1(epsilon / 4) - alpha
        change = n_columns * self.value**2 / (alpha + extra)
        if self.intercept:
            change += 1 / extra if extra > 0 else math.inf
        return noise + math.log1p(CURVATURE * change)


class DPLogisticRegressionClassifier(LogOddsClassifier):
    r"""Logistic regression with a perturbed objective (diffprivlib's noise).

    The minimum of

    .. math:: \frac1n \sum_i \ell(y_i f^\top x_i) + \frac{\|f\|^2}{2Cn}
              + \frac{b^\top f}{n} + \frac{\Delta}{2}\|f\|^2

    over the one-hot coded columns, where the density of :math:`b` falls as
    :math:`e^{-\varepsilon'\|b\|/2R}`, R bounds the norm of a row, and ε' and Δ are as in
    Algorithm 2 of Chaudhuri, Monteleoni and Sarwate (JMLR 12, 2011). Noise and Δ come
    from diffprivlib's `Vector` mechanism; its `LogisticRegression` minimises the same
    function, but takes no weights, no sparse rows, and raises when a label is missing.

    Calibrations:

    - ``published``: what diffprivlib's `LogisticRegression` does with
      ``data_norm=√n_columns``, the exact norm of every one-hot row (√(n_columns+1) with
      the intercept). **The paper's proof does not cover it.** The proof is for rows of
      norm 1; for norm R its curvature bound is R²/4, but diffprivlib takes R/4; and it
      penalises all coefficients, but diffprivlib leaves the intercept out unless Δ > 0.
      The statement names the ε that can be proved instead.
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
        posed = self._perturbation()
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
        return self._statement()

    def _scores(self, codes: Codes) -> NDArray[np.float64]:
        return np.asarray(one_hot(codes, self.n_bins_) @ self.coef_ + self.intercept_)

    def _perturbation(self) -> Perturbation:
        return Perturbation.of(float(self.C), self.n_features_in_, self.calibration)

    def _statement(self) -> PrivacyStatement:
        if not is_private(self.epsilon):
            return PrivacyStatement.not_private(self._learner)
        epsilon = float(self.epsilon)
        posed = self._perturbation()
        entry = LedgerEntry(
            mechanism="objective_perturbation",
            what="the objective, and with it all coefficients",
            noise_rate=posed.noise_epsilon(epsilon) / (2 * posed.norm),
            sensitivity=2 * posed.norm,
            epsilon=epsilon,
            source="Chaudhuri, Monteleoni and Sarwate 2011, Algorithm 2 and Theorem 9",
        )
        norm = f"the L2 norm {posed.norm:.4g} of every row (it follows from the coding)"
        exclusions = [
            f"the tolerance of the solver (gradient {TOLERANCE:g}; the proof is about the "
            "exact minimum)",
            NOT_SEED,
            NOT_FLOATS,
            NOT_SELECTION,
        ]
        proved = posed.proved_epsilon(epsilon, self.n_features_in_)
        if self.calibration == PUBLISHED and proved > epsilon:
            known = f"epsilon = {proved:.4g}" if math.isfinite(proved) else "no finite epsilon"
            exclusions.insert(
                0,
                "a flaw of the published noise (diffprivlib 0.6: the curvature bound of rows "
                f"of norm above 1, an unpenalised intercept), for which {known} is proved",
            )
        return PrivacyStatement(
            learner=self._learner,
            epsilon=epsilon,
            delta=0.0,
            neighbours=REPLACE_ONE,
            calibration=self.calibration,
            composition=BASIC,
            ledger=(entry,),
            assumptions=(ASSUMED_N, ASSUMED_BINS, ASSUMED_LABELS, norm),
            exclusions=tuple(exclusions),
        )


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
    mechanism = Vector(
        epsilon=epsilon,
        dimension=dimension,
        alpha=1 / posed.C,
        function_sensitivity=CURVATURE,
        data_sensitivity=posed.norm,
        n=n,
        random_state=noise,
    )
    loss = LinearModelLoss(base_loss=HalfBinomialLoss(), fit_intercept=posed.intercept)
    result = minimize(
        mechanism.randomise(loss.loss_gradient),
        np.zeros(dimension),
        args=(rows, (signs > 0).astype(float), counts.astype(float), 1 / (posed.C * n)),
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
