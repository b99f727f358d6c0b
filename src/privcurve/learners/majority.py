"""The baseline of every comparison: the most frequent label, with or without noise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from sklearn.dummy import DummyClassifier

from privcurve.coding import Codes, Floats, Records
from privcurve.kernels.arithmetic import log
from privcurve.learners.base import PrivateClassifier
from privcurve.learners.shared.chances import CERTAIN, ChanceClassifier, log_shares
from privcurve.learners.shared.checks import require
from privcurve.privacy.curator import Curator
from privcurve.privacy.ledger import PrivacyStatement
from privcurve.privacy.noise import Announced


@dataclass(kw_only=True, eq=False, repr=False)
class MajorityClassClassifier(ChanceClassifier):
    """Predict the most frequent label (scikit-learn's `DummyClassifier`); not private.

    The score of every row is the log-odds of the positive label among the records, and a tie is
    negative; with more than two classes it is the logarithm of each class's share.

    Parameters
    ----------
    n_bins, bounds, classes, random_state
        See :class:`~privcurve.learners.base.CodedClassifier`.

    Attributes
    ----------
    model_ : sklearn.dummy.DummyClassifier
    score_ : float, or ndarray of shape (n_classes,)
        The log-odds, or the logarithms.
    n_features_used_ : int
        Always 0.
    """

    _learner = "majority_class"
    _released: ClassVar[Mapping[str, Any]] = {"score_": float | Floats}

    score_: float | Floats = field(init=False)

    def _fit_one(self, records: Records, curator: Curator) -> PrivacyStatement:
        codes, labels, counts, _ = records
        self.model_ = DummyClassifier(strategy="prior").fit(codes, labels, sample_weight=counts)
        if len(self.classes_) > 2:
            self.score_ = log_shares(labels, counts, len(self.classes_))
        else:
            share = float(self.model_.class_prior_[self.model_.classes_ == 1].sum())
            self.score_ = float(np.clip(log(share) - log(1 - share), -CERTAIN, CERTAIN))
        self.n_features_used_ = 0
        return PrivacyStatement.not_private(self._learner)

    def _restore(self) -> None:
        shape = () if len(self.classes_) == 2 else (len(self.classes_),)
        require(np.shape(self.score_) == shape, "it is of another number of classes")

    def _scores(self, codes: Codes) -> Floats:
        return np.full((len(codes), *np.shape(self.score_)), self.score_)


MARGIN = "margin of all labels"


@dataclass(kw_only=True, eq=False, repr=False)
class NoisyMajorityClassifier(PrivateClassifier):
    """The sign of n₊ − n₋ with Laplace noise, for all rows: the baseline at small ε.

    Parameters
    ----------
    epsilon : float
        At ∞ there is no noise.
    delta : float
        0.
    calibration : str
        ``proved``.
    n_bins, bounds, classes, random_state
        See :class:`~privcurve.learners.base.CodedClassifier`.

    Attributes
    ----------
    margin_ : float
        n₊ − n₋ with noise, the score of every row.
    n_features_used_ : int
        0.
    n_records_ : int
        Training records: the sum of the counts. Public, as neighbours have equally many.
    """

    _learner = "noisy_majority"
    _released: ClassVar[Mapping[str, Any]] = {"margin_": float}

    def _calls(self, n: int) -> tuple[Announced, ...]:
        return (Announced(MARGIN),)

    def _release(self, records: Records, curator: Curator) -> None:
        self.n_records_, self.n_features_used_ = records.n, 0
        _, signs = curator.rows(records)
        self.margin_ = curator.number(MARGIN, signs.sum())

    def _scores(self, codes: Codes) -> Floats:
        return np.full(len(codes), self.margin_)
