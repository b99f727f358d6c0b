"""What each column adds to the score of a model, where the score is a sum over columns.

It is found by asking the model, which is released: nothing is learned of any record.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privcurve.datasets import Domain

# Of larger domains a card would be a book.
MOST_CODES = 2000
# Rows by which it is seen whether a score is a sum: so many for each two codes of two columns, so
# that some two are not seen together with a probability of e^-10, and in any case.
PROBES_A_PAIR = 10
LEAST_PROBES, MOST_PROBES = 300, 200_000


@dataclass(frozen=True, eq=False)
class Shares:
    """A score that is a sum: of a constant, and what each code adds, by column, of mean 0."""

    constant: float
    values: tuple[NDArray[np.float64], ...]


def of(learner: Any, domain: Domain) -> Shares | None:
    """Take the score of a fitted learner of two classes apart.

    None if the score is no sum over columns, or there are too many codes.
    """
    widths = np.array(domain.n_bins)
    if domain.n_classes > 2 or widths.sum() > MOST_CODES:
        return None
    kind = np.min_scalar_type(int(widths.max()))
    rows = np.zeros((int(widths.sum()), len(widths)), dtype=kind)
    ends = np.cumsum(widths)
    for j, (end, width) in enumerate(zip(ends, widths, strict=True)):
        rows[end - width : end, j] = np.arange(width)
    base = float(learner.decision_function(rows[:1])[0])
    parts = np.split(learner.decision_function(rows) - base, ends[:-1])
    n_pairs = int(np.prod(np.sort(widths)[-2:]))
    n_probes = min(max(PROBES_A_PAIR * n_pairs, LEAST_PROBES), MOST_PROBES)
    probes = np.random.default_rng(0).integers(widths, size=(n_probes, len(widths))).astype(kind)
    scores = learner.decision_function(probes)
    summed = base + sum(part[probes[:, j]] for j, part in enumerate(parts))
    if np.abs(scores - summed).max() > 1e-9 * (1 + np.abs(scores).max()):
        return None
    means = [float(part.mean()) for part in parts]
    # Of a column without effect rounding would leave a trace.
    centred = [np.where(np.ptp(p) > 1e-12, p - m, 0.0) for p, m in zip(parts, means, strict=True)]
    return Shares(base + sum(means), tuple(centred))
