"""Compute the settings of a fit of PrivGAM from public facts, by a fixed rule.

Nothing here depends on records.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from privcurve.learners.additive import decoder
from privcurve.privacy.calibration.privgam import (
    SCORE_RANGE,
    SOURCE,
    counts_sensitivity,
    sums_sensitivity,
)
from privcurve.privacy.calibration.shares import SharedBudget, gaussian_budget, mixed_budget
from privcurve.privacy.ledger import LedgerEntry
from privcurve.privacy.noise import Announced

# An ordered column has at most max(LEAST_BINS, BINS_PER_ROOT·√m) bins; `plan` defines m.
LEAST_BINS, BINS_PER_ROOT = 8, 3.0
# Pairs: if m is at least the first number, a fit makes the second number of releases.
RELEASES = ((0.0, 3), (100.0, 6), (600.0, 12))
# With δ = 0 and two classes, a fit chooses max(LEAST_CHOSEN, CHOSEN_PER_ROOT·√(n·ε)) columns with
# CHOICE_SHARE of ε, unless these are more than half of the columns. Laplace noise is proportional
# to the number of columns in a release: on wide tables few columns with less noise are better.
LEAST_CHOSEN, CHOSEN_PER_ROOT, CHOICE_SHARE = 4, 0.12, 1 / 3

# With a smaller m, simpler learners are often more accurate: docs/privgam.md, small budgets.
LEAST_M = 5.0


class FitFacts(NamedTuple):
    """The public facts that determine all settings of a fit."""

    n: int
    ordered: tuple[bool, ...]
    n_classes: int
    epsilon: float
    delta: float
    neighbours: str


class Question(NamedTuple):
    """The settings of one mechanism call: a release's sums by bin, or its totals."""

    words: str  # the name of the call in the ledger
    share: float  # share of the budget that the call spends
    sensitivity: float  # L1 for Laplace noise, else L2
    deviation: float  # > 0: standard deviation of the noise, multiplied by `Plan.scale`


class Plan(NamedTuple):
    """The settings of a fit of PrivGAM, which follow from public facts."""

    budget: SharedBudget
    laplace: bool  # whether noise is Laplace noise; if not, it is Gaussian, or there is none
    choices: tuple[str, ...]  # the ledger's name of each choice of a column; empty: all are asked
    m: float  # n·μ/d, see `plan`
    most_bins: int  # the maximum number of bins of an ordered column
    releases: tuple[tuple[Question, Question], ...]  # per release: sums by bin, then totals
    ledger: tuple[LedgerEntry, ...]  # one entry per call; empty if ε is infinite
    scale: float  # ≤ 1: factor of the noisy sums before the network reads them


def words(release: int, totals: bool, chosen: bool = False) -> str:
    """Return the name in the ledger of a release's sums by bin, or of its totals.

    The first release is 0. With `chosen`, the sums are of the columns that the fit chose.
    """
    what = "residuals" if release else "half of the counts"
    where = "" if totals else f" and bin of {'the chosen' if chosen else 'all'} columns"
    return f"release {release + 1}: {what} by class{where}"


def most_bins(m: float) -> int:
    """Return the maximum number of bins of an ordered column after neighbours are merged."""
    by_rule = math.floor(BINS_PER_ROOT * math.sqrt(m))
    return max(LEAST_BINS, min(decoder.MOST_BINS, by_rule))


def n_releases(m: float) -> int:
    """Return how many releases a fit makes."""
    return max(n for least, n in RELEASES if m >= least)


def n_chosen(facts: FitFacts) -> int:
    """Return how many columns a fit chooses; 0 if it asks all."""
    if facts.delta > 0 or facts.n_classes > 2 or math.isinf(facts.epsilon):
        return 0
    k = max(LEAST_CHOSEN, round(CHOSEN_PER_ROOT * math.sqrt(facts.n * facts.epsilon)))
    return k if 2 * k <= len(facts.ordered) else 0


def plan(facts: FitFacts) -> Plan:
    """Return the settings of a fit, which depend mostly on m = n·μ/d.

    n is the number of records and d the number of columns that the fit asks: all, or those that it
    chooses first (`n_chosen`). μ measures the budget: if one release of
    counts spent all of it, Gaussian noise as large as the noise of the counts would be μ-GDP for
    replace-one neighbours. The network was trained on a range of m and n. Outside of this range,
    the shares are computed for the nearest m; if m is too large, the network gets the noise of the
    largest m; and if n is too large, sums and noise are both scaled down.
    """
    n, n_choices = facts.n, n_chosen(facts)
    d = n_choices or len(facts.ordered)
    left = 1.0 - CHOICE_SHARE if n_choices else 1.0
    find = gaussian_budget if facts.delta > 0 else mixed_budget
    budget = find(facts.epsilon, facts.delta, facts.neighbours)
    laplace = budget.pure and budget.private
    of_counts = counts_sensitivity(facts.neighbours, laplace, d)
    # Standard deviation of the noise with all of the budget that is left, for a sensitivity of 1.
    noise = (math.sqrt(2.0) if laplace else 1.0) / (left * budget.amount)
    # Counts with this noise have σ = √(2d)/(2μ), so n/σ = m·√(2d) for m = n·μ/d.
    root = math.sqrt(2.0 * d)
    noise = max(noise, n / (decoder.MOST_SCALE * root * of_counts))
    m = n / (noise * of_counts * root)
    scale = min(1.0, decoder.MOST_RECORDS / n)
    ratio = max(m, decoder.LEAST_SCALE) * root
    shares = decoder.load().shares_of(n_releases(m), ratio, float(d))

    def question(release: int, totals: bool) -> Question:
        n_columns, share = 1 if totals else d, shares[release][totals]
        if release == 0:
            bound = counts_sensitivity(facts.neighbours, laplace, n_columns)
        else:
            bound = sums_sensitivity(facts.neighbours, laplace, facts.n_classes, n_columns)
        deviation = scale * noise * bound / (share if laplace else math.sqrt(share))
        return Question(words(release, totals, n_choices > 0), left * share, bound, deviation)

    choices = tuple(f"choice {k} of a column" for k in range(1, n_choices + 1))
    announced = [
        (Announced(choice, score_range=SCORE_RANGE, source=SOURCE), CHOICE_SHARE / n_choices)
        for choice in choices
    ]
    releases = tuple((question(t, False), question(t, True)) for t in range(len(shares)))
    announced += [
        (Announced(q.words, l1=q.sensitivity, l2=q.sensitivity, source=SOURCE), q.share)
        for release in releases
        for q in release
    ]
    ledger = tuple(budget.entry(*one) for one in announced) if budget.private else ()
    return Plan(budget, laplace, choices, m, most_bins(m), releases, ledger, scale)
