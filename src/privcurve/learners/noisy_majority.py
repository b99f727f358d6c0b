"""The more frequent label, by one noisy number."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from privcurve.coding import Codes, Floats, Records
from privcurve.learners.base import PrivateClassifier
from privcurve.privacy.curator import Curator
from privcurve.privacy.noise import Announced
from privcurve.privacy.sensitivity.counts import margins_l1

MARGIN = "margin of all labels"


@dataclass(kw_only=True, eq=False, repr=False)
class NoisyMajorityClassifier(PrivateClassifier):
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

    def _calls(self, n: int) -> tuple[Announced, ...]:
        return (Announced(MARGIN, l1=margins_l1(), source="PRIVACY.md §f6"),)

    def _release(self, records: Records, curator: Curator) -> None:
        self.n_records_, self.n_features_used_ = records.n, 0
        margin = records.counts @ records.labels.astype(np.int64)
        self.margin_ = curator.number(MARGIN, float(margin))

    def _scores(self, codes: Codes) -> Floats:
        return np.full(len(codes), self.margin_)
