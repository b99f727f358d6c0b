"""Estimate the number of people in each bin of each column, from the counts that PrivGAM releases.

PrivGAM counts people in merged bins. Here a *code* is a bin of the encoded data, and *bin* means a
merged bin, which has one or more codes. The estimate is post-processing: it costs no privacy.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from privcurve.coding import Codes, Floats

# Estimated numbers of people are rounded to multiples of 1/STEPS.
STEPS = 10

# A bin of an ordered column is treated as empty unless the mean noisy count of the AROUND bins
# centred on it exceeds LEAST_DEVIATIONS standard deviations of the noise of that mean.
AROUND, LEAST_DEVIATIONS = 5, 2.5


class NoisyCounts(NamedTuple):
    """The released noisy numbers of people, by bin and in total."""

    by_bin: Floats  # (n_bins,): people in each merged bin of all columns, concatenated
    total: float  # number of people in total
    deviation: float  # standard deviation of the noise of each entry of `by_bin`


def people_by_code(
    counts: NoisyCounts, maps: Sequence[Codes], starts: Sequence[int], ordered: Sequence[bool]
) -> tuple[Floats, ...]:
    """Estimate how many people have each code (bin of the encoded data) of each column.

    Parameters
    ----------
    counts : NoisyCounts
    maps : sequence of ndarray
        For each column, the merged bin of each code. The people of a merged bin are divided equally
        among its codes.
    starts : sequence of int
        The first merged bin of each column, then the number of all merged bins.
    ordered : sequence of bool
        Whether the bins of each column are ordered.

    Returns
    -------
    tuple of ndarray, each of shape (n_codes,)
        For each column, nonnegative numbers that add up to about `counts.total`.
    """
    people, total = [], max(counts.total, 0.0)
    for j, bins in enumerate(maps):
        noisy = counts.by_bin[starts[j] : starts[j + 1]]
        own = nearest_counts(noisy, total)
        if ordered[j] and len(own) > AROUND:
            # Bins far from all records have extreme scores. If noise alone gave them some people,
            # means of scores over people would be wrong. So a bin that seems empty gets 0 people.
            up_to = np.append(0.0, np.cumsum(np.pad(own, AROUND // 2)))
            around = (up_to[AROUND:] - up_to[:-AROUND]) / AROUND
            least = LEAST_DEVIATIONS * counts.deviation / math.sqrt(AROUND)
            if (around > least).any():
                own = nearest_counts(np.where(around > least, noisy, -np.inf), total)
        shares = own / np.bincount(bins, minlength=len(own))
        people.append(np.rint(shares[bins] * STEPS) / STEPS)
    return tuple(people)


def nearest_counts(counts: Floats, total: float) -> Floats:
    """Return the nonnegative counts nearest to `counts`, in least squares, that add up to `total`.

    The result is max(0, count − level), with the same level for all counts; a count of -inf becomes
    0.
    """
    ordered = np.sort(counts)[::-1]
    excess = (np.cumsum(ordered) - total) / np.arange(1, len(ordered) + 1)
    used = np.flatnonzero(ordered > excess)
    # If the total is 0, all counts must become 0, so the level is the largest count.
    level = excess[used[-1]] if len(used) else ordered[0]
    return np.maximum(counts - level, 0.0)


def released_people(learner: Any) -> tuple[Floats, ...] | None:
    """Return for each column the released number of people in each bin; None if none was released.

    The bins are those that the learner's fit used, so they may be merged (`MergingClassifier`).
    """
    model = getattr(learner._model_to_save(), "model_", None)
    return getattr(model, "people", ()) or None


def code_weights(learner: Any) -> list[Floats]:
    """Return for each column a weight of each bin.

    The weight is the released number of people in the bin, or 1 if the model released no such
    numbers.
    """
    n_codes = learner._as_fitted()._n_codes.tolist()
    people = released_people(learner)
    if people is not None and [len(own) for own in people] == n_codes:
        return list(people)
    return [np.ones(count) for count in n_codes]
