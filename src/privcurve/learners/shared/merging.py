"""Bins that are merged before a fit: evenly, or by histograms that are paid for.

A column of mixed bins has many, of which some learners are best with fewer: neighbours are merged,
by public facts alone. A column of private bins has thousands of leaves: its histogram is released,
and where most noisy records are, bins are finest. Proof: docs/proofs.md, bins that are paid for.
"""

from __future__ import annotations

import copy
import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from privcurve.coding import Codes, Ints, Records, class_labels, code_type, merged_bins
from privcurve.learners.registry import MERGED, entry
from privcurve.privacy.budget import ADD_REMOVE
from privcurve.privacy.calibration.private_bins import left, price, together
from privcurve.privacy.curator import Call, Curator
from privcurve.privacy.ledger import PrivacyStatement
from privcurve.privacy.mechanisms import LAPLACE
from privcurve.privacy.noise import PARTS
from privcurve.privacy.sealed import kernel

# Parameters of all learners that are about merged codes.
OWN = (*MERGED, "bin_share")

# A private column has so many bins at most, unless its learner is best with fewer.
MOST = 64

# A bin is halved where its noisy count is above so many standard deviations of the noise.
_CLEAR = 3.0


class Histograms(NamedTuple):
    """What is asked of the records, by public facts."""

    # How many of the first codes of each column are leaves, which are merged; 0: none.
    leaves: Sequence[int]
    most: int = MOST  # bins that are made of them, at most

    def levels(self, leaves: int) -> range:
        """Return at which halvings of the leaves records are counted."""
        depth = (leaves - 1).bit_length()
        return range(max(1, min(depth // 3, self.most.bit_length() - 3)), depth)

    @property
    def n_levels(self) -> int:
        """How many histograms there are: in each a record is in one place at most."""
        return sum(len(self.levels(leaves)) for leaves in self.leaves if leaves)

    def released(self, records: Records, call: Call, curator: Curator) -> list[Codes]:
        """Count the records with noise, and return the group of each code, by column."""
        counts = [
            _counts(records.codes[:, j], records.counts, leaves, self._halvings(leaves))
            for j, leaves in enumerate(self.leaves)
        ]
        noisy = curator.whole_numbers(call, PARTS * np.concatenate(counts))
        least = _CLEAR * call.scale * (math.sqrt(2) if call.mechanism == LAPLACE else 1.0)
        ends = np.cumsum([len(each) for each in counts])
        return [
            self._groups(answers, leaves, int(n_codes), least)
            for answers, leaves, n_codes in zip(
                np.split(noisy, ends[:-1]), self.leaves, records.n_bins, strict=True
            )
        ]

    def _halvings(self, leaves: int) -> tuple[int, ...]:
        return tuple(self.levels(leaves)) if leaves else ()

    def _groups(self, noisy: Ints, leaves: int, n_codes: int, least: float) -> Codes:
        """Halve the fullest bin as long as it is clearly not empty, and there are not too many."""
        if not leaves:
            return np.arange(n_codes).astype(code_type(n_codes))
        levels = self.levels(leaves)
        starts = set(range(leaves)) if not levels else self._starts(noisy, leaves, least)
        ends = np.array([*sorted(starts), *range(leaves, n_codes)])
        return (np.searchsorted(ends, np.arange(n_codes), "right") - 1).astype(code_type(n_codes))

    def _starts(self, noisy: Ints, leaves: int, least: float) -> set[int]:
        """Return at which leaves bins begin."""
        levels = self.levels(leaves)
        sizes = [1 << level for level in levels]
        counts = dict(zip(levels, np.split(noisy, np.cumsum(sizes)[:-1]), strict=True))
        bins = [(-int(count), levels[0], place) for place, count in enumerate(counts[levels[0]])]
        heapq.heapify(bins)
        halved: list[tuple[int, int]] = []
        while bins and len(bins) + len(halved) < self.most and -bins[0][0] > least:
            _, level, place = heapq.heappop(bins)
            for half in (2 * place, 2 * place + 1):
                if level == levels[-1]:
                    halved.append((level + 1, half))
                else:
                    count = -int(counts[level + 1][half])
                    heapq.heappush(bins, (count, level + 1, half))
        halved += [(level, place) for _, level, place in bins]
        return {-(-place * leaves // (1 << level)) for level, place in halved}


@kernel
def _counts(codes: Codes, counts: Ints, leaves: int, levels: Sequence[int]) -> Ints:
    """Count the records of a column at each level; those of no leaf nowhere."""
    inside = codes < leaves
    leaf, times = codes[inside].astype(np.int64), counts[inside]
    parts = [np.bincount((leaf << k) // leaves, times, 1 << k) for k in levels]
    return np.concatenate([np.empty(0), *parts]).astype(np.int64)


@kernel(rows=0)
def in_groups(codes: Codes, groups: Sequence[Codes]) -> Codes:
    """Return the group of each code, by `groups`: that of each code by column; they rise."""
    seen = np.empty(codes.shape, dtype=code_type(_sizes(groups)))
    for j, group in enumerate(groups):
        seen[:, j] = group[codes[:, j]]
    return seen


def _sizes(groups: Sequence[Codes]) -> Ints:
    return np.array([int(group[-1]) + 1 for group in groups])


# Learners ---------------------------------------------------------------------------------------


@dataclass(kw_only=True, eq=False, repr=False)
class MergingClassifier:
    """What a learner has of merged codes.

    Parameters, one int a column; both follow from a schema or a description: how many of its first
    codes are ``mixed_bins`` (fine ones, which a learner that is best with few of them sees merged)
    or ``private_bins`` (leaves, which are merged by what the share ``bin_share`` of the budget
    pays for).

    Attributes
    ----------
    groups_ : list of ndarray
        Where codes were merged: the group of each code of X, by column.
    n_bins_ : ndarray
        Of what the fit saw: groups.
    """

    # Whether a fit sees merged codes; one of other learners leaves that to them.
    _merges: ClassVar[bool] = True

    mixed_bins: Sequence[int] | None = None
    private_bins: Sequence[int] | None = None
    n_bins_: Ints = field(init=False)
    groups_: list[Codes] = field(init=False)

    @property
    def _has_merged(self) -> bool:
        return self.mixed_bins is not None or self.private_bins is not None

    def _coded(self, X: Any, n_bins: Ints | None) -> Codes:
        raise NotImplementedError

    def _code(self, X: Any, fit: bool) -> Codes:
        """Check X and code it; at fit, settle ``n_bins_``, later merge as at the fit."""
        if fit:
            return self._coded(X, None)
        codes, groups = self._coded(X, self._n_codes), getattr(self, "groups_", None)
        return codes if groups is None else in_groups(codes, groups)

    @property
    def _n_codes(self) -> Ints:
        """How many codes each column of X has: more than ``n_bins_`` where some were merged."""
        groups = getattr(self, "groups_", None)
        return self.n_bins_ if groups is None else np.array([*map(len, groups)])

    def _on_groups(self, domain: Any) -> tuple[Self, Any]:
        """Return the fitted learner as one of merged bins, whose codes it then takes; their domain.

        Both are as they were where nothing was merged.
        """
        groups = getattr(self, "groups_", None)
        if groups is None or domain is None:
            return self, domain
        other = copy.copy(self)
        del other.groups_
        return other, domain.in_groups(groups)


# Fits -------------------------------------------------------------------------------------------


def fit(learners: Sequence[Any], records: Records, curators: Sequence[Curator]) -> None:
    """Train learners that differ in settings alone, on merged codes where they have any.

    There is one curator for each learner.
    """
    fine = [_most_bins(learner) for learner in learners if learner.mixed_bins is not None]
    if not (any(fine) or learners[0].private_bins is not None) or not learners[0]._merges:
        learners[0]._fit_batch(learners, records, curators)
        return
    for learner, curator in zip(learners, curators, strict=True):
        seen, most = records, _most_bins(learner)
        if learner.mixed_bins is not None and most is not None:
            seen = _see(learner, records, merged_bins(records.n_bins, learner.mixed_bins, most))
        if learner.private_bins is None:
            learner._fit_batch([learner], seen, [curator])
        else:
            _fit_paid(learner, seen, curator, most or MOST)


def check_share(name: str, share: Any) -> None:
    """Refuse a share of a budget that is none, or all of it; learners without one have None."""
    if not (share is None or (isinstance(share, (int, float)) and 0 < share < 1)):
        raise ValueError(f"{name}: bin_share = {share!r} is not a number in (0, 1)")


def _most_bins(learner: Any) -> int | None:
    most: int | None = entry(learner._learner).most_bins(learner.get_params(deep=False))
    return most


def _see(learner: Any, records: Records, groups: list[Codes]) -> Records:
    """Return records merged by groups, which stay with the learner."""
    before = getattr(learner, "groups_", None)
    learner.groups_ = groups
    if before is not None:
        learner.groups_ = [new[old] for new, old in zip(groups, before, strict=True)]
    learner.n_bins_ = _sizes(groups)
    return records._replace(codes=in_groups(records.codes, groups), n_bins=learner.n_bins_)


def _fit_paid(learner: Any, records: Records, curator: Curator, most: int) -> None:
    """Release histograms, merge private bins by them, and train with the rest of the budget."""
    epsilon = float(getattr(learner, "epsilon", math.inf))
    delta, share = getattr(learner, "delta", 0.0), getattr(learner, "bin_share", 0.0)
    histograms = Histograms(learner.private_bins, most)
    call = price(histograms.n_levels, epsilon, delta, share, learner._neighbours())
    seen = _see(learner, records, histograms.released(records, call, curator))
    if call.entry is None:
        learner._fit_batch([learner], seen, [curator])
        return
    # A copy of the caller's, which has its own ε again when it is trained.
    learner.epsilon = left(call, epsilon, delta, lambda part: _stated(learner, part, seen))
    learner._fit_batch([learner], seen, [curator])
    learner.epsilon = epsilon
    learner._fitted_statement = together(learner._fitted_statement, call, epsilon, delta)


def _stated(learner: Any, epsilon: float, records: Records) -> PrivacyStatement:
    """Return what a fit on merged codes would guarantee, which no record changes."""
    # With add-remove neighbours the number of records is not public, and nothing follows from it.
    n = 2 if learner._neighbours() == ADD_REMOVE else records.n
    counts = [n - n // 2, n // 2][: min(n, 2)]
    classes = class_labels(len(learner.classes_))
    facts = {"n_bins": records.n_bins.tolist(), "classes": classes, "epsilon": epsilon}
    alone = dict.fromkeys(("bounds", "schema", *MERGED))
    made_up = type(learner)(**{**learner.get_params(deep=False), **alone, **facts})
    rows = np.zeros((len(counts), len(records.n_bins)), dtype=np.int64)
    coins = np.random.default_rng(0)
    (fitted,) = made_up.fit_many(rows, classes[: len(counts)], [{}], [coins], counts)
    statement: PrivacyStatement = fitted._fitted_statement
    return statement
