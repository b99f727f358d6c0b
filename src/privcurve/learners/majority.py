"""Baselines for comparisons: predict the most frequent label, found with or without noise."""

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

    All rows have the same score. With two classes it is the log-odds of the positive label among
    the records (a tie predicts the negative label); with more, the logarithm of the share of each
    class.

    Parameters
    ----------
    n_bins, bounds, classes, random_state
        See :class:`~privcurve.learners.base.CodedClassifier`.

    Attributes
    ----------
    model_ : sklearn.dummy.DummyClassifier
    score_ : float, or ndarray of shape (n_classes,)
        The log-odds, or the logarithm of the share of each class.
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
    """Predict for all rows the sign of n₊ − n₋ with Laplace noise: the baseline at small ε.

    n₊ and n₋ are the numbers of positive and negative records.

    Parameters
    ----------
    epsilon : float
        ε, above 0; infinite: no noise.
    delta : float
        Must be 0.
    calibration : str
        ``proved``.
    n_bins, bounds, classes, random_state
        See :class:`~privcurve.learners.base.CodedClassifier`.

    Attributes
    ----------
    margin_ : float
        n₊ − n₋ with noise, the score of every row.
    n_features_used_ : int
        Always 0.
    n_records_ : int
        Number of training records (the sum of the counts). It is public: replace-one neighbours
        have equally many records.
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
