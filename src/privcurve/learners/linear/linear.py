"""Logistic regression without privacy, and with privacy by objective perturbation."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning

from privcurve.coding import Codes, Floats, Records, one_hot, scale_codes
from privcurve.kernels.arithmetic import dot
from privcurve.kernels.descent import find_lowest
from privcurve.learners.entries.parameters import DPLogisticRegressionParameters, InputParameters
from privcurve.learners.shared.log_odds import OneHotClassifier, logistic_loss, perturbed_logistic
from privcurve.learners.shared.public_part import (
    PUBLIC_START,
    PublicStart,
    StartClassifier,
    check_start,
)
from privcurve.learners.shared.roles import PUBLIC, PublicRows, Roles
from privcurve.privacy.budget import PROVED
from privcurve.privacy.calibration.objective import (
    COEFFICIENTS,
    Objective,
    Perturbation,
    box_objective,
    box_statement,
)
from privcurve.privacy.curator import Curator
from privcurve.privacy.ledger import PrivacyStatement, state_public
from privcurve.privacy.sealed import WHOLE, kernel

SCALED = "scaled"


@dataclass(kw_only=True, eq=False, repr=False)
class LinearClassifier(OneHotClassifier, InputParameters):
    """Base of learners whose score is linear in some of the columns, one-hot encoded or scaled.

    Attributes
    ----------
    coef_ : ndarray of shape (n_inputs,)
        A coefficient for each bin of the columns that are read (``one_hot``), or for each of these
        columns (``scaled``).
    """

    public_columns: Sequence[int] | None = None

    def _read_columns(self) -> NDArray[np.intp]:
        """Return the positions of the columns that are read."""
        roles = Roles.from_positions(self._learner, self.public_columns, self.n_features_in_)
        return roles.columns(self.columns)

    def _width(self) -> int:
        columns = self._read_columns()
        return len(columns) if self.encoding == SCALED else int(self.n_bins_[columns].sum())

    def _rows(self, codes: Codes, value: float = 1.0) -> csr_array | Floats:
        columns = self._read_columns()
        if self.encoding == SCALED:
            return value * scale_codes(codes[:, columns], self.n_bins_[columns])
        if not len(columns):
            return np.zeros((len(codes), 0))
        return one_hot(codes[:, columns], self.n_bins_[columns], value)


# The solver stops when no entry of the gradient of the mean loss is above TOLERANCE (diffprivlib's
# default is 1e-4). The proof is about the exact minimum: TOLERANCE must be far below the noise.
TOLERANCE = 1e-8
MAX_ITERATIONS = 20_000


@dataclass(kw_only=True, eq=False, repr=False)
class LogisticRegressionClassifier(LinearClassifier):
    """scikit-learn's logistic regression on the encoded columns; not private.

    A fit with ``columns="public"`` reads nothing but public columns and labels, so its statement is
    ε = 0.

    Parameters
    ----------
    C : float
        Inverse strength of the L2 penalty: the objective is the sum of the records'
        losses + ‖coefficients‖²/(2C). The intercept is not penalised.
    columns : str
        The columns that are read: ``all``, ``public`` or ``private`` ones.
    encoding : str
        ``one_hot``, or ``scaled``: one number per column, with bins at equal distances from −1
        to 1.
    public_columns : sequence of int or None
        Positions of the public columns.
    n_bins, bounds, classes, random_state
        See :class:`~privcurve.learners.base.CodedClassifier`. There is no randomness.

    Attributes
    ----------
    coef_, intercept_, n_features_used_
        See :class:`~privcurve.learners.shared.log_odds.OneHotClassifier`. With more than two
        classes, each has a row of coefficients and an intercept.
    """

    _learner = "logistic_regression"

    def _fit_one(self, records: Records, curator: Curator) -> PrivacyStatement:
        codes, labels, counts, _ = records
        read = self._read_columns()
        signs = (2 * labels - 1).astype(np.int8)
        if len(self.classes_) > 2:
            self._regress_classes(codes, labels, counts)
        elif len(read):
            self._regress(codes, signs, counts)
        else:
            self.coef_, self.n_features_used_ = np.zeros(0), 0
            none = Roles(codes.shape[1], ())
            rows = PublicRows.gather(codes[:, []], signs, counts, self.n_bins_[[]])
            self.intercept_ = PublicStart.fit(rows, none, self.n_bins_).intercept
        if self.columns == PUBLIC:
            return state_public(self._learner, read.tolist())
        return PrivacyStatement.not_private(self._learner)


@dataclass(kw_only=True, eq=False, repr=False)
class DPLogisticRegressionClassifier(
    LinearClassifier, StartClassifier, DPLogisticRegressionParameters
):
    r"""Logistic regression with a perturbed objective, with the noise of diffprivlib or box noise.

    With ``noise="ball"`` the fit minimises

    .. math:: \frac1n \sum_i \ell(y_i f^\top x_i) + \frac{\|f\|^2}{2Cn}
              + \frac{b^\top f}{n} + \frac{\Delta}{2}\|f\|^2

    over the one-hot encoded columns. The density of :math:`b` is proportional to
    :math:`e^{-\varepsilon'\|b\|/2R}`, R bounds the norm of a row, and ε' and Δ are as in Algorithm
    2 of Chaudhuri, Monteleoni and Sarwate (JMLR 12, 2011). diffprivlib's `Vector` mechanism has the
    same noise and Δ. Its `LogisticRegression` minimises the same function, but supports neither
    weights nor sparse rows, and raises an error if a label does not occur.

    Calibrations:

    - ``published``: what diffprivlib's `LogisticRegression` does with
      ``data_norm=√n_columns``, the exact norm of every one-hot row (√(n_columns+1) with the
      intercept). **It is not ε-private.** The paper's proof is for rows of norm 1. For rows of norm
      R its bound of the curvature is R²/4, but diffprivlib uses R/4. The proof also penalises all
      coefficients, but diffprivlib does not penalise the intercept unless Δ > 0; with an
      unpenalised intercept, no finite ε holds. The statement names the proved ε, or says that there
      is none.
    - ``proved``: rows are scaled to norm 1, and there is no intercept (which would be redundant,
      as the one-hot columns of a column add up to 1). With this scaling, diffprivlib's noise is
      exactly the noise of the paper's Theorem 9. C has the same meaning as without scaling.

    With ``noise="box"`` (only ``proved``) the density of b depends on its largest absolute entry
    instead of its L2 norm, all coefficients are penalised, and the score may start at the log-odds
    of a model of the public columns, which costs no privacy (docs/proofs.md, 'Box noise').

    If a label does not occur, the same function is minimised, so neither an error nor the form of
    the model reveals that the label is missing. With ``published`` and few records, the noise can
    outweigh the data in the direction of the intercept, which is not penalised. Then there is no
    minimum, and the intercept is huge but finite, depending on when the solver stops. With
    ``proved`` there is always a minimum.

    Parameters
    ----------
    C : float
        Inverse strength of the L2 penalty, as for the non-private learner. With box noise the
        penalty is larger if privacy needs it.
    columns : str
        The columns that are read: ``all``, ``public`` or ``private`` ones.
    encoding : str
        ``one_hot``, or ``scaled``: one number per column, with bins at equal distances from −1
        to 1.
    public_columns : sequence of int or None
        Positions of the public columns.
    noise : str
        ``ball`` (its density depends on the L2 norm) or ``box`` (on the largest absolute entry).
    start : str
        ``none``, or ``public``: scores start at the log-odds of a model of the public columns.
        Labels are then public too, and the guarantee is about private columns. Only with box noise.
    curvature_share : float
        With box noise: the largest share of ε that pays for the change of the Jacobian
        (docs/proofs.md, 'Box noise').
    epsilon : float
        ε, above 0; infinite: no noise.
    delta : float
        Must be 0.
    calibration : str
        ``proved`` or ``published``; see above.
    n_bins, bounds, classes, random_state
        See :class:`~privcurve.learners.base.CodedClassifier`.

    Attributes
    ----------
    coef_ : ndarray of shape (n_inputs,)
        Coefficients of the one-hot columns (0 or 1), or of the scaled columns.
    intercept_ : float
    start_ : PublicStart
        With a public start: the model of the public columns, whose log-odds are added to the score.
    n_features_used_ : int
        Number of nonzero coefficients (with noise, all of them), plus the number of public columns
        of a public start.
    """

    _learner = "dp_logistic_regression"
    _released: ClassVar[Mapping[str, Any]] = {
        **LinearClassifier._released,
        "start_": PublicStart | None,
    }

    def _guarantee(self, n: int) -> PrivacyStatement:
        if self.noise == "box":
            return box_statement(self._learner, self._objective(), self._roles().public)
        return self._perturbation().statement(self._learner, float(self.epsilon), TOLERANCE)

    def _release(self, records: Records, curator: Curator) -> None:
        (self._release_box if self.noise == "box" else self._release_ball)(records, curator)

    @property
    def _constant(self) -> bool:
        """Whether rows get a constant column in place of an intercept.

        With ``calibration="proved"`` there is no intercept. One-hot columns add up to a constant,
        and so can replace it. Scaled columns cannot, so their rows get a constant column.
        """
        return self.encoding == SCALED and self.calibration == PROVED

    def _perturbation(self) -> Perturbation:
        n_columns = len(self._read_columns()) + self._constant
        return Perturbation.from_calibration(float(self.C), n_columns, self.calibration)

    def _release_ball(self, records: Records, curator: Curator) -> None:
        posed = self._perturbation()
        inputs, constant = partial(self._rows, value=posed.value), posed.value * self._constant
        rows = _make_rows(records.codes, inputs, constant, False)
        width = self._width() + self._constant
        solution = _minimise(rows, width, records, posed, float(self.epsilon), curator)
        self.coef_ = solution[: self._width()] * posed.value
        self.intercept_ = float(solution[-1]) if posed.intercept else 0.0
        if self._constant:
            self.intercept_ = float(solution[-1] * posed.value)
        self.n_features_used_ = int(np.count_nonzero(self.coef_))

    def _release_box(self, records: Records, curator: Curator) -> None:
        codes, signs, counts, n_bins = records
        roles = self._roles()
        width = self._width() + 1
        dense = _make_rows(codes, self._rows, 1.0, True)
        offset: Floats | float = 0.0
        if roles.public is not None:
            public = curator.public(roles.public, PublicRows.gather, records)
            self.start_ = PublicStart.fit(public, roles, n_bins)
            offset = self.start_.log_odds(codes)
        solution = perturbed_logistic(
            curator=curator,
            call=curator.call(COEFFICIENTS),
            rows=dense,
            signs=signs,
            weights=counts.astype(np.float64),
            penalty=np.full(width, self._objective().penalty),
            offset=offset,
        )
        self.coef_, self.intercept_ = solution[:-1], float(solution[-1])
        self.n_features_used_ = int(np.count_nonzero(self.coef_)) + len(roles.public or ())

    def _objective(self) -> Objective:
        """Return the objective with box noise."""
        return box_objective(
            n_columns=len(self._read_columns()),
            C=float(self.C),
            epsilon=float(self.epsilon),
            curvature_share=float(self.curvature_share),
        )

    def _restore(self) -> None:
        super()._restore()
        check_start(self, self._roles())

    def _scores(self, codes: Codes) -> Floats:
        solution = super()._scores(codes)
        return solution + self.start_.log_odds(codes) if self.start == PUBLIC_START else solution


@kernel(rows=WHOLE)
def _make_rows(
    codes: Codes, inputs: Callable[[Codes], csr_array | Floats], constant: float, dense: bool
) -> csr_array | Floats:
    """Return the rows of the objective, with a column of the value `constant` unless this is 0.

    With `dense` the result is an ndarray, which the minimisation with box noise needs.
    """
    rows = inputs(codes)
    if dense and not isinstance(rows, np.ndarray):
        rows = rows.toarray()
    return np.column_stack([rows, np.full(len(codes), constant)]) if constant else rows


def _minimise(
    rows: csr_array | Floats,
    width: int,
    records: Records,
    posed: Perturbation,
    epsilon: float,
    curator: Curator,
) -> Floats:
    """Return the minimiser of the perturbed objective: coefficients, then the intercept if any."""
    n = records.n
    dimension = width + int(posed.intercept)
    extra = posed.extra_penalty(epsilon) / n
    data = rows, records.labels, records.counts, 1 / (posed.C * n)

    @kernel
    def gradient(model: Floats, *data: Any) -> Floats:
        return n * (logistic_loss(model, *data)[1] + extra * model)

    @kernel
    def minimise(linear: Floats, *data: Any) -> Floats:
        def perturbed_loss(model: Floats) -> tuple[float, Floats]:
            value, slope = logistic_loss(model, *data)
            value += dot(linear, model) / n + 0.5 * extra * dot(model, model)
            return value, slope + (linear / n + extra * model)

        model, near = find_lowest(perturbed_loss, np.zeros(dimension), TOLERANCE, MAX_ITERATIONS)
        if not near:
            warnings.warn(
                f"logistic regression: no minimum after {MAX_ITERATIONS} steps; the guarantee "
                "is about the minimum. A smaller C helps.",
                ConvergenceWarning,
                stacklevel=2,
            )
        return model

    # Draw the noise with NumPy's old samplers, as diffprivlib does, to get the same numbers.
    return curator.objective(
        COEFFICIENTS,
        dimension,
        lambda model: gradient(model, *data),
        lambda linear: minimise(linear, *data),
        old=True,
    )
