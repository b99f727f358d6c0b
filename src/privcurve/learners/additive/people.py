"""Number of people with each code, from released noisy counts: post-processing, which is free."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from privcurve.coding import Codes, Floats

# People by code are rounded to a tenth.
STEPS = 10

# A bin of an ordered column has people if the mean count of this many bins around it exceeds this
# many standard deviations of the mean's noise.
AROUND, LEAST_DEVIATIONS = 5, 2.5


class NoisyCounts(NamedTuple):
    """Noisy numbers of people, as released."""

    by_bin: Floats  # (n_bins,): all columns, concatenated
    total: float  # of all people
    deviation: float  # the standard deviation of the noise of a bin


def people_by_code(
    counts: NoisyCounts, maps: Sequence[Codes], starts: Sequence[int], ordered: Sequence[bool]
) -> tuple[Floats, ...]:
    """Estimate how many people have each code of each column.

    Parameters
    ----------
    counts : NoisyCounts
    maps : sequence of ndarray
        The bin of each code, by column; codes of one bin get equal parts of its people.
    starts : sequence of int
        The first bin of each column, and the number of all bins.
    ordered : sequence of bool
        Whether neighbouring bins of a column are similar.

    Returns
    -------
    tuple of ndarray, each of shape (n_codes,)
        Not negative; each column adds up to about the total.
    """
    people, total = [], max(counts.total, 0.0)
    for j, bins in enumerate(maps):
        noisy = counts.by_bin[starts[j] : starts[j + 1]]
        own = nearest_counts(noisy, total)
        if ordered[j] and len(own) > AROUND:
            # Noise would leave people in empty bins far from all others, where values are extreme.
            up_to = np.append(0.0, np.cumsum(np.pad(own, AROUND // 2)))
            around = (up_to[AROUND:] - up_to[:-AROUND]) / AROUND
            least = LEAST_DEVIATIONS * counts.deviation / math.sqrt(AROUND)
            if (around > least).any():
                own = nearest_counts(np.where(around > least, noisy, -np.inf), total)
        shares = own / np.bincount(bins, minlength=len(own))
        people.append(np.rint(shares[bins] * STEPS) / STEPS)
    return tuple(people)


def nearest_counts(counts: Floats, total: float) -> Floats:
    """Return the nearest nonnegative counts (least squares) with a given total.

    All counts move by the same amount, and stop at 0; a count of -inf is 0.
    """
    ordered = np.sort(counts)[::-1]
    excess = (np.cumsum(ordered) - total) / np.arange(1, len(ordered) + 1)
    used = np.flatnonzero(ordered > excess)
    # Without a total above 0 all counts are 0.
    level = excess[used[-1]] if len(used) else ordered[0]
    return np.maximum(counts - level, 0.0)


def released_people(learner: Any) -> tuple[Floats, ...] | None:
    """Return the people by code that a fitted learner released; None if it did not.

    The codes are the model's: merged bins, if the learner merges bins.
    """
    model = getattr(learner._model_to_save(), "model_", None)
    return getattr(model, "people", ()) or None


def code_weights(learner: Any) -> list[Floats]:
    """Return the weight of each code of each column: its people if released, else equal weights."""
    n_codes = learner._as_fitted()._n_codes.tolist()
    people = released_people(learner)
    if people is not None and [len(own) for own in people] == n_codes:
        return list(people)
    return [np.ones(count) for count in n_codes]
