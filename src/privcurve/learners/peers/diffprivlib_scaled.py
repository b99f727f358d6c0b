"""diffprivlib's learners for numeric columns: logistic regression and Gaussian naive Bayes."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from diffprivlib import models
from diffprivlib.accountant import BudgetAccountant
from diffprivlib.utils import PrivacyLeakWarning

from privcurve.coding import Codes, Floats, Records
from privcurve.learners.base import PrivateClassifier
from privcurve.learners.entries.parameters import PenaltyParameters
from privcurve.learners.shared.chances import CERTAIN, ChanceClassifier, only_label
from privcurve.learners.shared.checks import ordered_columns
from privcurve.learners.shared.threads import one_thread
from privcurve.privacy.accountants.compose import BASIC
from privcurve.privacy.budget import ADD_REMOVE, PUBLISHED, REPLACE_ONE, is_private
from privcurve.privacy.curator import Curator
from privcurve.privacy.ledger import CLAIMED, LedgerEntry, PrivacyStatement, state

# diffprivlib refuses ε = ∞, so it gets this ε instead: the noise is then below rounding errors.
LARGEST_EPSILON = 1e9


@dataclass(kw_only=True, eq=False, repr=False)
class _Scaled(ChanceClassifier, PrivateClassifier):
    """Base of diffprivlib's learners for numeric columns, which get numbers in [0, 1].

    An ordered column becomes one number, proportional to its bin; any other is one-hot encoded.
    """

    ordered: Sequence[bool] | bool | None = None
    calibration: str = PUBLISHED

    _relation: ClassVar[str]

    def _model(self, width: int, **common: Any) -> Any:
        """Return diffprivlib's unfitted model for `width` columns, with the arguments `common`."""
        raise NotImplementedError

    def _odds(self, rows: Floats) -> Floats:
        """Return the log-odds of the positive label for each row of numbers."""
        raise NotImplementedError

    def _ledger(self, epsilon: float) -> tuple[LedgerEntry, ...]:
        """Return the ledger of the releases that the library claims to make."""
        raise NotImplementedError

    def _numbers(self, codes: Codes) -> Floats:
        """Convert bins to numbers in [0, 1]; columns without an order become one-hot columns."""
        by_default = self.bounds is not None
        n_bins = self.n_bins_.tolist()
        ordered = ordered_columns(self._learner, self.ordered, by_default, len(n_bins))
        parts = []
        for column, size, in_order in zip(codes.T, n_bins, ordered, strict=True):
            if in_order:
                parts.append(column[:, None] / max(size - 1, 1))
            else:
                parts.append((column[:, None] == np.arange(size)).astype(np.float64))
        return np.hstack(parts)

    def _fit_one(self, records: Records, curator: Curator) -> PrivacyStatement:
        codes, signs, counts, _ = records
        rng = curator.generator(())
        private = is_private(self.epsilon)
        self.constant_ = CERTAIN * (only_label(signs) or 0) if len(signs) else 0.0
        self.model_: Any = None
        self.n_features_used_ = 0
        if self.constant_ or not len(signs):
            # diffprivlib refuses an empty table, and records that all have the same label. In both
            # cases this learner's score is a constant.
            return self._statement()
        rows = np.repeat(self._numbers(codes), counts, axis=0)
        model = self._model(
            rows.shape[1],
            epsilon=min(float(self.epsilon), LARGEST_EPSILON),
            # Give each model a new accountant: diffprivlib's default is global and would add up all
            # fits.
            accountant=BudgetAccountant(),
            random_state=int(rng.integers(2**31)) if private else 0,
        )
        with warnings.catch_warnings(), one_thread():
            warnings.filterwarnings("ignore", message="lbfgs failed to converge")
            # diffprivlib uses deprecated options of scikit-learn and SciPy.
            warnings.filterwarnings("ignore", category=FutureWarning)
            warnings.filterwarnings("ignore", category=DeprecationWarning)
            warnings.simplefilter("error", PrivacyLeakWarning)
            self.model_ = model.fit(rows, np.repeat(signs, counts))
        # The seed determines all noise, so it must not remain in the model.
        self.model_.random_state = None
        self.n_features_used_ = codes.shape[1]
        return self._statement()

    def _scores(self, codes: Codes) -> Floats:
        if self.model_ is None:
            return np.full(len(codes), self.constant_)
        return self._odds(self._numbers(codes))

    def _statement(self) -> PrivacyStatement:
        if not is_private(self.epsilon):
            return PrivacyStatement.not_private(self._learner)
        epsilon = float(self.epsilon)
        return state(
            self._learner,
            epsilon=epsilon,
            delta=0.0,
            neighbours=self._relation,
            calibration=PUBLISHED,
            composition=BASIC,
            ledger=self._ledger(epsilon),
            status=CLAIMED,
            caveat="the claim is diffprivlib's, and no proof of this project",
            exclusions=(
                "that there are records of both labels (with one label the score is a constant, "
                "without noise)",
                "a guess of the seed that diffprivlib is given, which has 31 bits",
            ),
        )


@dataclass(kw_only=True, eq=False, repr=False)
class DiffprivlibLogisticRegressionClassifier(_Scaled, PenaltyParameters):
    """diffprivlib's `LogisticRegression`, unchanged: objective perturbation.

    The method is by Chaudhuri, Monteleoni and Sarwate, JMLR 2011, for neighbours that differ in the
    values of one record. Ordered columns become numbers in [0, 1], others are one-hot encoded, so
    the norm of a record is at most the square root of the number of columns: this is the
    ``data_norm`` that diffprivlib is given.

    Parameters
    ----------
    C : float
        Inverse strength of the L2 penalty.
    ordered : sequence of bool, bool or None
        Which columns have ordered bins (a public fact). None: all if `bounds` is given, else none.
    epsilon : float
        ε as claimed by diffprivlib; infinite: no noise.
    delta : float
        Must be 0.
    calibration : str
        ``published``: the library's noise.
    n_bins, bounds, classes, random_state
        See :class:`~privcurve.learners.base.CodedClassifier`.

    Attributes
    ----------
    model_ : diffprivlib.models.LogisticRegression or None
        None if all records have the same label: then the score is constant.
    n_features_used_ : int
        Number of encoded columns.
    """

    _learner = "dpl_logistic_regression"
    _relation = REPLACE_ONE

    def _model(self, width: int, **common: Any) -> Any:
        norm = math.sqrt(len(self.n_bins_))
        return models.LogisticRegression(data_norm=norm, C=float(self.C), **common)

    def _odds(self, rows: Floats) -> Floats:
        return np.asarray(self.model_.decision_function(rows), dtype=np.float64)

    def _ledger(self, epsilon: float) -> tuple[LedgerEntry, ...]:
        return (
            LedgerEntry(
                mechanism="objective_perturbation",
                what="the coefficients, which minimise a loss with a random linear part",
                noise_rate=epsilon,
                sensitivity=1.0,
                epsilon=epsilon,
                source="claimed by diffprivlib, models/logistic_regression.py; docs/peers.md",
            ),
        )


@dataclass(kw_only=True, eq=False, repr=False)
class DiffprivlibGaussianNBClassifier(_Scaled):
    """diffprivlib's `GaussianNB`, unchanged: noisy counts, means and variances by label.

    Ordered columns become numbers in [0, 1], others are one-hot encoded; all bounds are 0 and 1.

    Parameters
    ----------
    epsilon : float
        ε as claimed by diffprivlib, for adding or removing a record; infinite: no noise.
    ordered, delta, calibration, n_bins, bounds, classes, random_state
        See :class:`DiffprivlibLogisticRegressionClassifier`.

    Attributes
    ----------
    model_ : diffprivlib.models.GaussianNB or None
        None if all records have the same label: then the score is constant.
    n_features_used_ : int
        Number of encoded columns.
    """

    _learner = "dpl_gaussian_nb"
    _relation = ADD_REMOVE

    def _model(self, width: int, **common: Any) -> Any:
        return models.GaussianNB(bounds=(np.zeros(width), np.ones(width)), **common)

    def _odds(self, rows: Floats) -> Floats:
        joint = self.model_._joint_log_likelihood(rows)
        return np.asarray(joint[:, 1] - joint[:, 0], dtype=np.float64)

    def _ledger(self, epsilon: float) -> tuple[LedgerEntry, ...]:
        return (
            LedgerEntry(
                mechanism="laplace",
                what="the count of each label, and mean and variance of each number by label",
                noise_rate=epsilon,
                sensitivity=1.0,
                epsilon=epsilon,
                source="claimed by diffprivlib, models/naive_bayes.py; docs/peers.md",
            ),
        )
