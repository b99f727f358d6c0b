"""The more frequent label, by one noisy number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privcurve.coding import Codes, Records
from privcurve.learners.base import CodedClassifier
from privcurve.learners.checks import RandomState
from privcurve.privacy.budget import CERTIFIED
from privcurve.privacy.calibration.forest import MarginNoise, majority
from privcurve.privacy.curator import Curator, call_of
from privcurve.privacy.ledger import PrivacyStatement


class NoisyMajorityClassifier(CodedClassifier):
    """The sign of n₊ − n₋ with Laplace noise, for all rows: the bar at small ε.

    Parameters
    ----------
    epsilon : float
        At ∞ there is no noise.
    delta : float
        0.
    calibration : str
        ``certified``.
    n_bins, bounds, classes, random_state
        See :class:`~privcurve.learners.base.CodedClassifier`.

    Attributes
    ----------
    margin_ : float
        n₊ − n₋ with noise, the score of every row.
    n_features_used_ : int
        0.
    n_records_ : int
        Records trained on: the sum of the counts. Public, for neighbours have equally many.
    """

    _learner = "noisy_majority"
    _released: ClassVar[Mapping[str, Any]] = {"margin_": float}

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 0.0,
        calibration: str = CERTIFIED,
        n_bins: int | Sequence[int] | None = None,
        bounds: tuple[ArrayLike, ArrayLike] | None = None,
        classes: Sequence[Any] | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.calibration = calibration
        self.n_bins = n_bins
        self.bounds = bounds
        self.classes = classes
        self.random_state = random_state

    def _fit_one(self, records: Records, curator: Curator) -> PrivacyStatement:
        noise = self._noise()
        self.n_records_ = records.n
        self.n_features_used_ = 0
        margin = float(records.counts @ records.labels.astype(np.int64))
        self.margin_ = curator.number(call_of(*noise.statement.ledger or [None]), margin)
        return noise.statement

    def _noise(self) -> MarginNoise:
        return majority(float(self.epsilon))

    def _scores(self, codes: Codes) -> NDArray[np.float64]:
        return np.full(len(codes), self.margin_)
