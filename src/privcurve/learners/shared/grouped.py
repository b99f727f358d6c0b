"""Bases of learners with Gaussian noise on sums over all columns, with merged bins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from privcurve.coding import Codes, Records, merge_bins
from privcurve.learners.base import PrivateClassifier
from privcurve.learners.entries.parameters import EstimateParameters, GroupParameters
from privcurve.learners.shared.chances import ChanceClassifier
from privcurve.learners.shared.checks import check_estimate, ordered_columns
from privcurve.privacy.budget import ADD_REMOVE, REPLACE_ONE
from privcurve.privacy.ledger import ASSUMED_ESTIMATE, ASSUMED_ORDER, PrivacyStatement


@dataclass(kw_only=True, eq=False, repr=False)
class GroupedClassifier(ChanceClassifier, PrivateClassifier, GroupParameters):
    """Base of learners with Gaussian noise that merge neighbouring bins of ordered columns.

    Parameters
    ----------
    n_groups : int
        Neighbouring bins of an ordered column are merged to at most this number of groups.
    neighbours : str
        ``replace-one``; or ``add-remove``, for which the number of records is not public.
    ordered : sequence of bool, bool or None
        Which columns have ordered bins (a public fact). None: all if `bounds` is given, else none.
    epsilon, delta : float
        The budget; δ must be above 0, as the noise is Gaussian.
    calibration : str
        ``proved``.
    """

    delta: float = 1e-5
    neighbours: str = REPLACE_ONE
    ordered: Sequence[bool] | bool | None = None

    def _guarantee(self, n: int) -> PrivacyStatement:
        words = {"neighbours": self.neighbours, "assumptions": self._assumptions()}
        return self._noise_of(self._calls(n), **words)

    def _assumptions(self) -> tuple[str, ...]:
        """Return public facts that the statement assumes, in addition to those of all learners."""
        return (ASSUMED_ORDER,)

    def _groups(self) -> list[Codes]:
        """Return per column the group of each bin; bins of unordered columns are not merged."""
        return merge_bins(self.n_bins_, self.n_bins_ * np.array(self._ordered()), self.n_groups)

    def _ordered(self) -> tuple[bool, ...]:
        """Return for each column whether its bins are ordered."""
        by_default = self.bounds is not None
        return ordered_columns(self._learner, self.ordered, by_default, len(self.n_bins_))


@dataclass(kw_only=True, eq=False, repr=False)
class DescentClassifier(GroupedClassifier, EstimateParameters):
    """Base of learners that divide their steps by the number of records.

    Parameters
    ----------
    n_estimate : int or None
        Only with ``add-remove``, for which the number of records is not public: an estimate from
        public sources.
    """

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_estimate(self._learner, self.neighbours, self.n_estimate)

    def _assumptions(self) -> tuple[str, ...]:
        estimated = (ASSUMED_ESTIMATE,) if self.neighbours == ADD_REMOVE else ()
        return (*super()._assumptions(), *estimated)

    def _n_public(self, records: Records) -> Any:
        """Return the number of records if it is public, else the estimate."""
        return records.n if self.n_estimate is None else int(self.n_estimate)
