"""The public rule of PrivGAM: its constants, and what follows from public facts.

Nothing here is read from records. Where each constant comes from: docs/privgam.md, "The rule".
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

from privcurve.coding import MOST_CODES
from privcurve.privacy.budget import is_private
from privcurve.privacy.calibration.privgam import Budget, gaussian_budget, grid_bits, mixed_budget

RULE = "rule"
STUMPS = "stumps"  # of two classes; δ = 0
CYCLIC = "cyclic"  # rounds of all columns; δ > 0
ONCE = "once"  # of more classes: all columns at once, and nothing else

# Stumps are an odd number T, with √(n·ε) about STUMPS_ROOT times T; each moves scores by
# STUMP_SIZE/√T. Below this n·ε there are none, but a noisy majority.
STUMPS_FROM = 20.0
STUMPS_ROOT = 6.0
STUMP_SIZE = 2.0
MOST_STUMPS = 300  # more gain nothing; without noise n·ε is infinite
# Rounds: from this n·μ a column on, of so many columns at least; their number; what an intercept
# has of a column's share.
ROUNDS_FROM = 25.0
LEAST_COLUMNS = 8
ROUNDS = 10
INTERCEPT_WEIGHT = 0.2
# Empirical Bayes: deviations of shape functions; correlation lengths along a column (0: with a
# line); the deviation of an intercept.
SIZES = (0.0, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6)
LENGTHS = (0.05, 0.3, 0.0)
INTERCEPT_DEVIATION = 3.0
# The bins of an ordered column are at most n·μ over this a class, but so many; neighbours are
# merged.
PER_BIN = 10.0
FEW_BINS = 4
# The linear part: from this n·μ a column on; its share before the rounds, in so many steps; what
# of the sums of products is its curvature; the deviation of its coefficients.
LINE_FROM = 75.0
LINE_SHARE = 0.15
LINE_STEPS = 6
LINE_CURVATURE = 0.08
LINE_DEVIATION = 10.0
# Pairs, after the rounds: from this n·μ on; of so many columns; their share.
PAIRS_FROM = 3000.0
PAIR_COLUMNS = 4
PAIR_SHARE = 0.2


class Facts(NamedTuple):
    """What is public of a fit, and decides all else."""

    n: int
    ordered: tuple[bool, ...]
    n_classes: int
    epsilon: float
    delta: float
    neighbours: str

    @property
    def scale(self) -> float:
        """Return n·μ, μ of the exact Gaussian profile; n·ε where δ = 0."""
        find = gaussian_budget if self.delta > 0 else mixed_budget
        return self.n * find(self.epsilon, self.delta, self.neighbours).amount

    @property
    def per_column(self) -> float:
        """Return that a column, of some at least, times half of the number of classes."""
        return self.scale * self.n_classes / (2 * max(len(self.ordered), LEAST_COLUMNS))


class Extras(NamedTuple):
    """What a fit has beside its method."""

    n_steps: int  # rounds, or stumps
    most_bins: int  # of an ordered column
    linear: bool  # whether there is a joint linear part
    pairs: bool  # whether pairs of columns are asked after the rounds
    once: float  # the share of a release of all columns at once, before the rounds

    def round_share(self, t: int, n_columns: int) -> float:
        """Return the share of each column in round t, of 1 up to `n_steps`: in proportion to √t."""
        rest = 1.0 - 1.5 * LINE_SHARE * self.linear - PAIR_SHARE * self.pairs - self.once
        part = math.sqrt(t) / sum(math.sqrt(k) for k in range(1, self.n_steps + 1))
        return (
            rest * part / (n_columns + self.linear + INTERCEPT_WEIGHT * (1 + (t == self.n_steps)))
        )

    def once_weight(self) -> float:
        """Return the weight of a release of all columns at once, where round t has √t."""
        rounds = sum(math.sqrt(k) for k in range(1, self.n_steps + 1))
        return rounds * self.once / (1.0 - self.once) if self.once < 1.0 else 1.0

    def least_share(self, method: str, n_columns: int) -> float:
        """Return a share that no call is below."""
        if method == STUMPS:
            return 1.0 / max(self.n_steps, 1)
        if self.once == 1.0:
            return self.once
        # The last round, which may be the first, has the intercept twice.
        shares = [INTERCEPT_WEIGHT * self.round_share(1, n_columns), self.once or 1.0]
        shares += [LINE_SHARE / LINE_STEPS, PAIR_SHARE / math.comb(PAIR_COLUMNS, 2)]
        return min(shares)


def method_of(facts: Facts) -> str:
    """Return the method of a fit."""
    otherwise = STUMPS if facts.n_classes == 2 else ONCE
    enough = facts.delta > 0 and facts.per_column >= ROUNDS_FROM
    return CYCLIC if enough or not is_private(facts.epsilon) else otherwise


def extras_of(method: str, facts: Facts) -> Extras:
    """Return what a fit by this method has beside."""
    rounds, several = method == CYCLIC and facts.n_classes == 2, len(facts.ordered) > 1
    line_from = LINE_FROM * len(facts.ordered)
    # Without noise n·μ is infinite.
    bins = min(facts.scale / (PER_BIN * facts.n_classes), MOST_CODES)
    once = ROUNDS_FROM / (ROUNDS_FROM + facts.per_column) if method == CYCLIC else 1.0
    return Extras(
        n_steps={CYCLIC: ROUNDS, STUMPS: n_stumps(facts), ONCE: 1}[method],
        most_bins=MOST_CODES if method == STUMPS else max(FEW_BINS, math.floor(bins)),
        linear=rounds and several and all(facts.ordered) and facts.scale >= line_from,
        pairs=rounds and several and facts.scale >= PAIRS_FROM,
        once=0.0 if facts.n_classes == 2 else once,
    )


def budget_of(method: str, extras: Extras, facts: Facts) -> Budget:
    """Return the budget of a fit: of stumps it is pure, as δ would gain next to nothing."""
    pure = method == STUMPS or facts.delta == 0
    find = mixed_budget if pure else gaussian_budget
    budget = find(facts.epsilon, 0.0 if pure else facts.delta, facts.neighbours)
    budget = replace(budget, n_classes=facts.n_classes)
    least = extras.least_share(method, len(facts.ordered))
    return replace(budget, bits=grid_bits(budget, least, len(facts.ordered)))


def n_stumps(facts: Facts) -> int:
    """Return how many stumps are chosen: an odd number, or none for a noisy majority."""
    scale = facts.n * facts.epsilon
    root = min(math.sqrt(scale) / STUMPS_ROOT, MOST_STUMPS)
    odd = max(1, 2 * math.floor((root + 1) / 2) - 1)
    return odd if scale >= STUMPS_FROM else 0
