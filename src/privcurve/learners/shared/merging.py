"""Merging of mixed bins before a fit, for learners that do best with few bins.

Neighbouring bins are merged evenly, by public facts alone.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np

from privcurve.coding import Codes, Ints, Records, code_type, merge_bins
from privcurve.learners.registry import entry
from privcurve.parts import SealedRecords
from privcurve.privacy.curator import Curator
from privcurve.privacy.sealed import kernel


@kernel(rows=0)
def merge_codes(codes: Codes, groups: Sequence[Codes]) -> Codes:
    """Return the group of each code; `groups` has a column's groups by code, increasing."""
    seen = np.empty(codes.shape, dtype=code_type(_count_groups(groups)))
    for j, group in enumerate(groups):
        seen[:, j] = group[codes[:, j]]
    return seen


def _count_groups(groups: Sequence[Codes]) -> Ints:
    return np.array([int(group[-1]) + 1 for group in groups])


# Learners ---------------------------------------------------------------------------------------


@dataclass(kw_only=True, eq=False, repr=False)
class MergingClassifier:
    """Mixin of a learner that merges codes.

    The parameter ``mixed_bins``, one int per column, comes from a schema or a description: the
    number of its first codes that are fine bins. A learner that does best with few bins merges
    them.

    Attributes
    ----------
    groups_ : list of ndarray
        The group of each code of X, by column; only if codes were merged.
    n_bins_ : ndarray
        The number of groups of each column in the fit.
    """

    # Whether the fit itself merges codes; `tuned` leaves that to the learners that it trains.
    _merges: ClassVar[bool] = True

    mixed_bins: Sequence[int] | None = None
    n_bins_: Ints = field(init=False)
    groups_: list[Codes] = field(init=False)

    def _encode(self, X: Any, fit: bool) -> Codes:
        raise NotImplementedError

    def _code(self, X: object) -> Codes:
        """Check X and encode it, merged as in the fit."""
        return self._merge(self._encode(X, fit=False))

    def _merge(self, codes: Codes) -> Codes:
        """Merge codes as in the fit."""
        groups = getattr(self, "groups_", None)
        return codes if groups is None else merge_codes(codes, groups)

    @property
    def _n_codes(self) -> Ints:
        """Number of codes of each column of X: more than ``n_bins_`` if some were merged."""
        groups = getattr(self, "groups_", None)
        return self.n_bins_ if groups is None else np.array([*map(len, groups)])

    def _on_groups(self, domain: Any) -> tuple[Self, Any]:
        """Return a learner for codes of merged bins, and the domain of the merged bins.

        Without merged bins both are returned unchanged.
        """
        groups = getattr(self, "groups_", None)
        if groups is None or domain is None:
            return self, domain
        other = copy.copy(self)
        del other.groups_
        return other, domain.merge_bins(groups)


# Fits -------------------------------------------------------------------------------------------


def fit(learners: Sequence[Any], records: Records, curators: Sequence[Curator]) -> None:
    """Train learners that differ only in settings, each on its merged codes if it has some.

    There is one curator per learner.
    """
    most = [_find_most_bins(learner) for learner in learners if learner.mixed_bins is not None]
    if not any(most) or not learners[0]._merges:
        learners[0]._fit_batch(learners, records, curators)
        return
    for learner, curator in zip(learners, curators, strict=True):
        few = _find_most_bins(learner)
        learner._fit_batch(
            [learner], _merge_records(learner, records, few) if few else records, [curator]
        )


def _find_most_bins(learner: Any) -> int | None:
    return entry(learner._learner).most_bins(learner.get_params(deep=False))


def _merge_records(learner: Any, records: Records, most: int) -> Records:
    """Merge the bins of records into at most `most`; store the groups on the learner."""
    learner.groups_ = merge_bins(records.n_bins, learner.mixed_bins, most)
    learner.n_bins_ = _count_groups(learner.groups_)
    codes = merge_codes(records.codes, learner.groups_)
    merged = records._replace(codes=codes, n_bins=learner.n_bins_)
    return merged.trusted() if isinstance(merged, SealedRecords) else merged
