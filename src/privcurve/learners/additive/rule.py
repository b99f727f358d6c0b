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
STUMPS = "stumps"  # of two classes
CYCLIC = "cyclic"  # rounds of all columns; δ > 0
ONCE = "once"  # of more classes: all columns at once, and nothing else

# Stumps are an odd number T, with √(n·ε) about STUMPS_ROOT times T, or MIXED_ROOT times where δ
# pays; each moves scores by STUMP_SIZE/√T. Below STUMPS_FROM of n·ε there are none, but a noisy
# majority.
STUMPS_FROM = 20.0
STUMPS_ROOT = 6.0
MIXED_ROOT = 4.0
STUMP_SIZE = 2.0
MOST_STUMPS = 300  # more gain nothing; without noise n·ε is infinite
# Rounds: from this n·μ a column on, of two classes and of more, and of so many columns at least,
# from which on stumps use δ as well; their number; what an intercept has of a column's share.
ROUNDS_FROM = 75.0
CLASS_ROUNDS_FROM = 25.0
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
# The share of what is asked beside rounds or stumps: of a linear part, of pairs, of all columns at
# once before stumps that use δ.
EXTRA_SHARE = 0.15
# The linear part, before the rounds: in so many steps; what of the sums of products is its
# curvature; the deviation of its coefficients.
LINE_STEPS = 6
LINE_CURVATURE = 0.08
LINE_DEVIATION = 10.0
# Pairs, after the rounds: from this n·μ on; of so many columns.
PAIRS_FROM = 3000.0
PAIR_COLUMNS = 4


class Facts(NamedTuple):
    """The public facts of a fit, from which all settings follow."""

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
    def column_scale(self) -> float:
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
        rest = 1.0 - EXTRA_SHARE * (1.5 * self.linear + self.pairs) - self.once
        part = math.sqrt(t) / sum(math.sqrt(k) for k in range(1, self.n_steps + 1))
        of_intercept = INTERCEPT_WEIGHT * (1 + (t == self.n_steps))
        return rest * part / (n_columns + self.linear + of_intercept)

    def once_weight(self) -> float:
        """Return the weight of a release of all columns at once, where round t has √t."""
        rounds = sum(math.sqrt(k) for k in range(1, self.n_steps + 1))
        return rounds * self.once / (1.0 - self.once) if self.once < 1.0 else 1.0

    def least_share(self, method: str, n_columns: int) -> float:
        """Return a share that no call is below."""
        if method == STUMPS:
            return min(EXTRA_SHARE, (1.0 - EXTRA_SHARE) / max(self.n_steps, 1))
        if self.once == 1.0:
            return self.once
        # The last round, which may be the first, has the intercept twice.
        shares = [INTERCEPT_WEIGHT * self.round_share(1, n_columns), self.once or 1.0]
        shares += [EXTRA_SHARE / LINE_STEPS, EXTRA_SHARE / math.comb(PAIR_COLUMNS, 2)]
        return min(shares)


def method_of(facts: Facts) -> str:
    """Return the method of a fit."""
    otherwise = STUMPS if facts.n_classes == 2 else ONCE
    least = ROUNDS_FROM if facts.n_classes == 2 else CLASS_ROUNDS_FROM
    enough = facts.delta > 0 and facts.column_scale >= least
    return CYCLIC if enough or not is_private(facts.epsilon) else otherwise


def extras_of(method: str, facts: Facts) -> Extras:
    """Return what a fit by this method has beside."""
    rounds, several = method == CYCLIC and facts.n_classes == 2, len(facts.ordered) > 1
    # Without noise n·μ is infinite.
    bins = min(facts.scale / (PER_BIN * facts.n_classes), MOST_CODES)
    least = CLASS_ROUNDS_FROM
    once = least / (least + facts.column_scale) if method == CYCLIC else 1.0
    return Extras(
        n_steps=n_stumps(facts) if method == STUMPS else ROUNDS if method == CYCLIC else 1,
        most_bins=max(FEW_BINS, math.floor(bins)),
        linear=rounds and several and all(facts.ordered),
        pairs=rounds and several and facts.scale >= PAIRS_FROM,
        once=0.0 if facts.n_classes == 2 else once,
    )


def budget_of(method: str, extras: Extras, facts: Facts) -> Budget:
    """Return the budget of a fit."""
    if method == STUMPS:
        budget = stump_budget(extras.n_steps, facts)
    else:
        find = gaussian_budget if facts.delta > 0 else mixed_budget
        budget = find(facts.epsilon, facts.delta, facts.neighbours)
    budget = replace(budget, n_classes=facts.n_classes)
    least = extras.least_share(method, len(facts.ordered))
    return replace(budget, bits=grid_bits(budget, least, len(facts.ordered)))


def stump_budget(n_stumps: int, facts: Facts) -> Budget:
    """Return a budget that uses δ: of more stumps than without it, if each has more; else pure."""
    pure, mixed = (
        mixed_budget(facts.epsilon, delta, facts.neighbours) for delta in (0.0, facts.delta)
    )
    own, other = (each.choice_cost(stump_share(n_stumps, each)) for each in (pure, mixed))
    return mixed if n_stumps > _odd_root(facts, STUMPS_ROOT) and other > own else pure


def stump_share(n_stumps: int, budget: Budget) -> float:
    """Return the share of each stump."""
    return (1.0 if budget.pure else 1.0 - EXTRA_SHARE) / max(n_stumps, 1)


def n_stumps(facts: Facts) -> int:
    """Return how many stumps are chosen: an odd number, or none for a noisy majority."""
    few, many = (_odd_root(facts, root) for root in (STUMPS_ROOT, MIXED_ROOT))
    # With few columns a few stumps suffice.
    pays = len(facts.ordered) >= LEAST_COLUMNS and not stump_budget(many, facts).pure
    return many if pays else few


def _odd_root(facts: Facts, root: float) -> int:
    """Return the largest odd number up to √(n·ε)/root, at least 1; 0 of few records."""
    scale = facts.n * facts.epsilon
    most = min(math.sqrt(scale) / root, MOST_STUMPS)
    return max(1, 2 * math.floor((most + 1) / 2) - 1) if scale >= STUMPS_FROM else 0
