"""The public rule of PrivGAM: its constants, and the settings that follow from public facts.

Nothing here is read from records.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from privcurve.learners.additive import decoder
from privcurve.privacy.calibration.privgam import SOURCE, counts_sensitivity, sums_sensitivity
from privcurve.privacy.calibration.shares import Budget, gaussian_budget, mixed_budget
from privcurve.privacy.ledger import LedgerEntry
from privcurve.privacy.noise import Announced

# An ordered column has at most BINS_PER_ROOT·√m bins, but LEAST_BINS to MOST_BINS.
LEAST_BINS, BINS_PER_ROOT, MOST_BINS = 8, 3.0, 64
# The network has seen m of this range. Shares go by the nearest m of it, and the network reads at
# least the noise of its upper end.
LEAST_SCALE, MOST_SCALE = 0.02, 8000.0
# The network has seen so many records: sums and noise of more are scaled down together.
MOST_SEEN = 2**21


class Facts(NamedTuple):
    """The public facts of a fit; all settings follow from them."""

    n: int
    ordered: tuple[bool, ...]
    n_classes: int
    epsilon: float
    delta: float
    neighbours: str


class Plan(NamedTuple):
    """The settings of a fit."""

    budget: Budget
    laplace: bool  # whether the noise is Laplace noise, else it is Gaussian, or none
    most_bins: int  # of an ordered column
    shares: tuple[float, ...]  # of the budget, by release
    ledger: tuple[LedgerEntry, ...]  # an entry for each release; empty where ε is infinite
    # The noise of the sums of each release as the network reads it: a standard deviation, above 0.
    deviations: tuple[float, ...]
    scale: float  # factor of sums and deviations, for the network


def words(release: int) -> str:
    """Return the name of a release, from 0 on, in the ledger."""
    what = "residuals" if release else "half of the counts"
    return f"release {release + 1}: {what} by class and bin of all columns"


def plan(facts: Facts) -> Plan:
    """Return the settings of a fit, which m = n·μ/d rules.

    μ is the budget of Gaussian noise with the standard deviation of the noise of the fit.
    """
    n, d = facts.n, len(facts.ordered)
    find = gaussian_budget if facts.delta > 0 else mixed_budget
    budget = find(facts.epsilon, facts.delta, facts.neighbours)
    laplace = budget.pure and budget.private
    of_counts = counts_sensitivity(facts.neighbours, laplace, d)
    of_sums = sums_sensitivity(facts.neighbours, laplace, facts.n_classes, d)
    noise = (math.sqrt(2.0) if laplace else 1.0) * of_counts / budget.amount
    # With σ = √(2d)/(2μ), n/σ is m·√(2d).
    root = math.sqrt(2.0 * d)
    noise = max(noise, n / (MOST_SCALE * root))
    m = n / (noise * root)
    shares = decoder.load().shares_of(max(m, LEAST_SCALE) * root, float(d))
    sensitivities = (of_counts, *[of_sums] * (len(shares) - 1))
    calls = [
        budget.entry(Announced(words(t), l1=bound, l2=bound, source=SOURCE), share)
        for t, (bound, share) in enumerate(zip(sensitivities, shares, strict=True))
        if budget.private
    ]
    parts = [share if laplace else math.sqrt(share) for share in shares]
    scale = min(1.0, MOST_SEEN / n)
    return Plan(
        budget,
        laplace,
        most_bins=max(LEAST_BINS, min(MOST_BINS, math.floor(BINS_PER_ROOT * math.sqrt(m)))),
        shares=shares,
        ledger=tuple(calls),
        deviations=tuple(
            scale * noise * bound / (of_counts * part)
            for bound, part in zip(sensitivities, parts, strict=True)
        ),
        scale=scale,
    )
