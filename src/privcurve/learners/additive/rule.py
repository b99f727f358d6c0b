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

# An ordered column has at most BINS_PER_ROOT·√m bins, and LEAST_BINS at least.
LEAST_BINS, BINS_PER_ROOT = 8, 3.0
# With m of at least the first number, a fit makes as many releases as the second says.
RELEASES = ((0.0, 3), (100.0, 6), (600.0, 12))


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


def most_bins(m: float) -> int:
    """Return the largest number of bins of an ordered column, whose neighbours are merged."""
    by_rule = math.floor(BINS_PER_ROOT * math.sqrt(m))
    return max(LEAST_BINS, min(decoder.MOST_BINS, by_rule))


def n_releases(m: float) -> int:
    """Return how many releases a fit makes."""
    return max(n for least, n in RELEASES if m >= least)


def plan(facts: Facts) -> Plan:
    """Return the settings of a fit, which m = n·μ/d rules.

    μ is the budget of Gaussian noise with the standard deviation of the noise of the fit. Beyond
    what the network has seen, shares are of the nearest m that it has seen, the network reads at
    least the noise of the largest one, and sums and noise of more records are scaled down together.
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
    noise = max(noise, n / (decoder.MOST_SCALE * root))
    m = n / (noise * root)
    ratio = max(m, decoder.LEAST_SCALE) * root
    shares = decoder.load().shares_of(n_releases(m), ratio, float(d))
    sensitivities = (of_counts, *[of_sums] * (len(shares) - 1))
    calls = [
        budget.entry(Announced(words(t), l1=bound, l2=bound, source=SOURCE), share)
        for t, (bound, share) in enumerate(zip(sensitivities, shares, strict=True))
        if budget.private
    ]
    parts = [share if laplace else math.sqrt(share) for share in shares]
    scale = min(1.0, decoder.MOST_RECORDS / n)
    return Plan(
        budget,
        laplace,
        most_bins=most_bins(m),
        shares=shares,
        ledger=tuple(calls),
        deviations=tuple(
            scale * noise * bound / (of_counts * part)
            for bound, part in zip(sensitivities, parts, strict=True)
        ),
        scale=scale,
    )
