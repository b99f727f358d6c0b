"""Merge fine bins before a fit, for learners that are most accurate with few bins per column.

Neighbouring bins are merged to groups of about equal numbers of bins, by public facts alone.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np

from privcurve.coding import Codes, Ints, Records, code_type, merge_bins
from privcurve.learners.registry import entry
from privcurve.privacy.curator import Curator
from privcurve.privacy.parts import SealedRecords
from privcurve.privacy.sealed import kernel


@kernel(rows=0)
def merge_codes(codes: Codes, groups: Sequence[Codes]) -> Codes:
    """Replace each bin b of each column j in `codes` by its group, ``groups[j][b]``."""
    seen = np.empty(codes.shape, dtype=code_type(_count_groups(groups)))
    for j, group in enumerate(groups):
        seen[:, j] = group[codes[:, j]]
    return seen


def _count_groups(groups: Sequence[Codes]) -> Ints:
    return np.array([int(group[-1]) + 1 for group in groups])


# Learners ---------------------------------------------------------------------------------------


@dataclass(kw_only=True, eq=False, repr=False)
class MergingClassifier:
    """Mixin of learners that merge bins before a fit.

    Parameters
    ----------
    mixed_bins : sequence of int, optional
        For each column, how many of its first bins are fine bins, made to be merged (0: none). The
        number comes from a schema or a dataset's description. If the registry gives the learner a
        number of bins that suits it (`LearnerEntry.few_bins`), the fit merges neighbouring fine
        bins to this number.

    Attributes
    ----------
    groups_ : list of ndarray
        For each column, the group of each bin of X. It is missing if no bins were merged.
    n_bins_ : ndarray of shape (n_columns,)
        The number of bins of each column that the fit sees, after merging.
    """

    # Whether the fit itself merges bins. It is False for `tuned`, whose candidates merge their own
    # bins.
    _merges: ClassVar[bool] = True

    mixed_bins: Sequence[int] | None = None
    n_bins_: Ints = field(init=False)
    groups_: list[Codes] = field(init=False)

    def _encode(self, X: Any, fit: bool) -> Codes:
        raise NotImplementedError

    def _code(self, X: object) -> Codes:
        """Check X, and return its bins after the merging of the fit."""
        return self._merge(self._encode(X, fit=False))

    def _merge(self, codes: Codes) -> Codes:
        """Replace bins of X by their groups, if the fit merged bins."""
        groups = getattr(self, "groups_", None)
        return codes if groups is None else merge_codes(codes, groups)

    @property
    def _n_codes(self) -> Ints:
        """Number of bins of each column of X, before merging."""
        groups = getattr(self, "groups_", None)
        return self.n_bins_ if groups is None else np.array([*map(len, groups)])

    def _on_groups(self, domain: Any) -> tuple[Self, Any]:
        """Return a copy of this learner that expects merged bins, and `domain` with merged bins.

        If no bins were merged, both are returned unchanged.
        """
        groups = getattr(self, "groups_", None)
        if groups is None or domain is None:
            return self, domain
        other = copy.copy(self)
        del other.groups_
        return other, domain.merge_bins(groups)


# Fits -------------------------------------------------------------------------------------------


def fit(learners: Sequence[Any], records: Records, curators: Sequence[Curator]) -> None:
    """Train learners that differ only in hyperparameters, after merging the bins for each.

    If no learner merges bins, one call trains all of them. There is one curator per learner.
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
    """Return records in which the fine bins of a column are merged to at most `most` bins.

    The groups are stored on the learner.
    """
    learner.groups_ = merge_bins(records.n_bins, learner.mixed_bins, most)
    learner.n_bins_ = _count_groups(learner.groups_)
    codes = merge_codes(records.codes, learner.groups_)
    merged = records._replace(codes=codes, n_bins=learner.n_bins_)
    return merged.trusted() if isinstance(merged, SealedRecords) else merged
