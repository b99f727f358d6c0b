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
# A fit of two classes spends CHOICE_SHARE of its budget on choosing k columns (`n_chosen`); if k is
# more than half of the columns, it uses all columns instead. Noise grows with the number of columns
# in a release: on wide tables, few columns with less noise are better.
LEAST_CHOSEN, CHOSEN_PER_ROOT, CHOICE_SHARE = 4, 0.12, 0.25

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
    deviation: float  # standard deviation of the noise, multiplied by `Plan.scale`; above 0


class Plan(NamedTuple):
    """The settings of a fit of PrivGAM, which follow from public facts."""

    budget: SharedBudget
    laplace: bool  # whether noise is Laplace noise; if not, it is Gaussian, or there is none
    # The name in the ledger of each choice of a column; empty if the fit uses all columns.
    choices: tuple[str, ...]
    m: float  # n·μ/d, see `plan`
    most_bins: int  # the maximum number of bins of an ordered column
    releases: tuple[tuple[Question, Question], ...]  # per release: sums by bin, then totals
    ledger: tuple[LedgerEntry, ...]  # one entry per call; empty if ε is infinite
    # The network reads the noisy sums multiplied by `scale`. It is below 1 only if there are more
    # records than in the largest table on which the network was trained.
    scale: float


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


def n_chosen(facts: FitFacts, amount: float) -> int:
    """Return how many columns a fit chooses; 0 if it uses all columns without a choice.

    Parameters
    ----------
    facts : FitFacts
    amount : float
        The entire budget: ε if δ = 0, else the μ of Gaussian differential privacy (μ-GDP).
    """
    if facts.n_classes > 2 or math.isinf(amount):
        return 0
    # `noise` is the allowed noise of a release of k columns, divided by the noise of a release of
    # one column. This quotient is k for Laplace noise, and √k for Gaussian noise.
    noise = max(LEAST_CHOSEN, CHOSEN_PER_ROOT * math.sqrt(facts.n * amount))
    k = round(noise if facts.delta == 0 else noise * noise)
    return k if 2 * k <= len(facts.ordered) else 0


def plan(facts: FitFacts) -> Plan:
    """Return the settings of a fit, which depend mostly on m = n·μ/d.

    n is the number of records, and d the number of columns in a release: all, or those that the fit
    chooses first (`n_chosen`). μ measures the budget of the releases: a release of counts that
    spent all of this budget would have noise with some standard deviation σ, and Gaussian noise
    with this σ makes the counts μ-GDP for replace-one neighbours.

    The network was trained on a range of m and n. Outside of this range, the shares are computed
    for the nearest m. If m is too large, the network gets the noise of the largest m. If n is too
    large, sums and noise are both scaled down.
    """
    n = facts.n
    find = gaussian_budget if facts.delta > 0 else mixed_budget
    budget = find(facts.epsilon, facts.delta, facts.neighbours)
    n_choices = n_chosen(facts, budget.amount)
    d, left = len(facts.ordered), 1.0
    if n_choices:
        d, left = n_choices, 1.0 - CHOICE_SHARE
        budget = mixed_budget(facts.epsilon, facts.delta, facts.neighbours)
    laplace = budget.pure and budget.private
    of_counts = counts_sensitivity(facts.neighbours, laplace, d)

    def part_of_scale(share: float) -> float:
        """Return the noise scale of a call with the entire budget over one with this share."""
        return share if laplace else math.sqrt(share)

    # Standard deviation of the noise of a release that has the sensitivity 1 and spends all of the
    # budget that remains after the choice of columns.
    noise = (math.sqrt(2.0) if laplace else 1.0) / (part_of_scale(left) * budget.amount)
    # If a release of counts spends this budget, its noise has σ = √(2d)/(2μ). So n/σ = m·√(2d) for
    # m = n·μ/d.
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
        deviation = scale * noise * bound / part_of_scale(share)
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
