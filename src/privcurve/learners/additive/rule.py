"""The public rule of PrivGAM: all its constants, and what follows from public facts.

Nothing here is read from records. The constants were fixed once, and are frozen: they were set
while looking at the test accuracies of public data sets (``SET_ON`` of the calibration: Adult most
of all, with over a hundred variants), before and apart from any other record that a fit is given.
docs/privgam.md says what was tried. For these data sets the rule is not free of their test rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

CYCLIC = "cyclic"
GREEDY = "greedy"
STUMPS = "stumps"
RULE = "rule"

# Stumps, of two classes, in place of a greedy fit: from this n·ε on; where δ = 0 up to the next;
# and where no column is ordered, so that a stump takes one bin apart, up to the one after that.
# They are an odd number T, with √(n·ε) about STUMPS_ROOT times T; each moves scores by
# STUMP_SIZE/√T. Set on the 13 data sets that may set constants, and samples of them:
# docs/privgam.md.
STUMPS_FROM = 20.0
STUMPS_BELOW = 10_000.0
NOMINAL_STUMPS_BELOW = 150.0
STUMPS_ROOT = 6.0
STUMP_SIZE = 2.0

# Cyclic: rounds; round t has a share of the budget ∝ t^ROUND_POWER and the weight t^CYCLIC_POWER.
ROUNDS = 10
ROUND_POWER = 0.5
CYCLIC_POWER = 0.5
# What a release of the intercept gets beside one of a column.
INTERCEPT_WEIGHT = 0.2
# Where a record is added and δ > 0: of what a release costs, the part for the difference of the
# labels' sums; their total has the rest. Set on Adult.
SLOPE_PART = 0.7
# Columns whose weight of "no effect" is at least this leave after this round.
DROP_ROUND = 2
DROP_WEIGHT = 0.5

# Pairs of columns, after the rounds of a cyclic fit, from this n·μ on: of so many columns, in so
# many groups of bins each, with a share of the budget; so much of that for all of them, the rest
# for those that probably have an effect. Set on the five data sets and Magic: docs/privgam.md.
PAIRS_FROM = 3000.0
PAIR_COLUMNS = 4
PAIR_GROUPS = 8
PAIR_SHARE = 0.2
PAIR_FIRST = 0.4

# Greedy: shares of the budget for the intercept, first and last; of a step's share for its choice,
# by δ = 0 or above; the weight of step t is t^GREEDY_POWER.
FIRST_SHARE = 0.10
LAST_SHARE = 0.05
# Of more than two classes: a rare class's curvature is small at last, so that noise in its step may
# outweigh all that was learned. Set on simulated tables.
CLASS_LAST_SHARE = 0.0
# The intercept needs about so much of n·ε (δ = 0) or n·μ; from ALL_FROM on it takes all. The second
# of these, which was 12, was set on simulated tables.
FIRST_NEEDS = {True: 60.0, False: 18.0}
ALL_FROM = 0.6
CHOICE_SHARE = {True: 0.30, False: 0.15}
GREEDY_POWER = 1.0
# Beyond these a step's share gains nothing; no data set of the rule comes near.
MOST_STEPS = 300

# Empirical Bayes: sizes of shape functions; correlation lengths along a column (0: with a line).
SIZES = (0.0, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6)
LENGTHS = (0.05, 0.3, 0.0)
INTERCEPT_VARIANCE = 9.0
LEAST_CURVATURE = 1e-3
MOST_NOISE = 1e6

# The linear part: shares for the sums of products and for the first steps; later one step a round,
# or one instead of a choice. Its curvature is a fixed part of the sums of products.
GRAM_SHARE = 0.08
LINE_SHARE = 0.15
LINE_STEPS = 6
LINE_EVERY = 6
LINE_CURVATURE = 0.08
LINE_FROM = {True: 1000.0, False: 200.0}
LINE_POWER = 1.0
# The deviation of its coefficients' prior, by marginal likelihood where n·ε (δ = 0) or n·μ is below
# so much a coefficient; else the largest. Set on simulated tables; the bound, with Cod-RNA too.
LINE_SIZES = (0.0, 0.625, 1.25, 2.5, 5.0, 10.0, 20.0, 40.0)
LINE_WIDE_FROM = {True: 600.0, False: 60.0}
LINE_INTERCEPT_DEVIATION = 10.0

# Bins of ordered columns where noise is large against n.
FEW_BINS = 16
MERGE_BELOW = {True: 5000.0, False: 1250.0}
# Mixed bins spread over all that a column may hold, and its records may stand in a few of them. In
# a cyclic fit of two classes, where n·μ is between these, they are merged after the round in which
# columns leave, by what was released of them: neighbours in so many groups of about equal weight.
# There is no linear part then. Set on Friedman's and Hastie's generators, Adult, Bank, Credit,
# Cod-RNA and Magic.
MIXED_GROUPS = 20
MIXED_FROM, MIXED_BELOW = 1250.0, 3500.0
# Cyclic from this n·μ on, times d√d for d columns, or from the second on: where rounds are better
# than stumps. Of K classes from the third times d/K on: where they are better than greedy steps.
CYCLIC_FROM = 11.0
MOST_CYCLIC_FROM = 600.0
CLASS_CYCLIC_FROM = 72.0
# Of more than two classes still fewer bins, where n·ε or n·μ is below so much a class and root of
# columns: a bin has a class's part of the records. Set on simulated tables.
CLASS_BINS = 4
CLASS_BINS_BELOW = {True: 75.0, False: 30.0}


# A cyclic fit of more than two classes asks all columns at once before its rounds, where n·μ is
# below so much a column and class: with this share of the budget, and this part of the weight that
# a share has in rounds, as these numbers know nothing of other columns. Set on simulated tables and
# on samples of MNIST's training file.
FIRST_BELOW = 500.0
FIRST_COLUMNS_SHARE = 0.5
FIRST_WEIGHT = 1.0


def merges(n: float, amount: float, pure: bool) -> bool:
    """Whether bins are merged: n·μ (n·ε where δ = 0) is small."""
    return n * amount < MERGE_BELOW[pure]


def few_bins(n: float, amount: float, n_columns: int, n_classes: int, pure: bool) -> int:
    """Return how many bins an ordered column has at most, where bins are merged."""
    least = CLASS_BINS_BELOW[pure] * n_classes * math.sqrt(n_columns)
    return CLASS_BINS if n_classes > 2 and n * amount < least else FEW_BINS


def regroups(n: float, mu: float, n_classes: int) -> bool:
    """Whether mixed bins are merged in a cyclic fit, by what was released of them."""
    return n_classes == 2 and MIXED_FROM <= n * mu < MIXED_BELOW


def is_cyclic(n: float, mu: float, n_columns: int, n_classes: int = 2) -> bool:
    """Whether each column can be asked in turn, for δ > 0; μ of the exact Gaussian profile."""
    if n_classes > 2:
        return n * mu * n_classes >= CLASS_CYCLIC_FROM * n_columns
    return n * mu >= min(CYCLIC_FROM * n_columns**1.5, MOST_CYCLIC_FROM)


def steps(n: float, amount: float, pure: bool) -> int:
    """How many choices a greedy fit makes; `amount` is ε where δ = 0, else √(2ρ)."""
    least, unit = (3, 14) if pure else (4, 4)
    # Without noise n · amount is infinite.
    return max(least, math.floor(min(math.sqrt(n * amount) / unit, MOST_STEPS)))


def is_stumps(
    n: float, epsilon: float, pure: bool, ordered: Sequence[bool], n_classes: int
) -> bool:
    """Whether a fit that is not cyclic is of stumps."""
    most = STUMPS_BELOW if pure else math.inf
    most = most if any(ordered) else NOMINAL_STUMPS_BELOW
    return n_classes == 2 and STUMPS_FROM <= n * epsilon < most


def stumps(n: float, epsilon: float) -> int:
    """How many stumps are chosen: an odd number."""
    # Without noise n · ε is infinite.
    root = min(math.sqrt(n * epsilon) / STUMPS_ROOT, MOST_STEPS)
    return max(1, 2 * math.floor((root + 1) / 2) - 1)


def stump_size(n_stumps: int) -> float:
    """Return by how much a stump moves a score."""
    return STUMP_SIZE / math.sqrt(n_stumps)


def has_pairs(n: float, mu: float, n_columns: int) -> bool:
    """Whether pairs of columns are asked in a cyclic fit; μ of the exact Gaussian profile."""
    return n_columns >= 2 and n * mu >= PAIRS_FROM


def has_line(ordered: Sequence[bool], n: float, amount: float, pure: bool) -> bool:
    """Whether there is a joint linear part.

    All columns are ordered, there are several, and n·ε (δ = 0) or n·μ is not small.
    """
    return len(ordered) >= 2 and all(ordered) and n * amount >= LINE_FROM[pure]


def line_sizes(n: float, amount: float, n_columns: int, pure: bool) -> tuple[float, ...]:
    """Return the deviations that the prior of a linear part's coefficients may have."""
    wide = n * amount >= LINE_WIDE_FROM[pure] * (n_columns + 1)
    return LINE_SIZES[-1:] if wide else LINE_SIZES


def last_share(n_classes: int) -> float:
    """Return the share of the intercept at the end of a greedy fit."""
    return LAST_SHARE if n_classes == 2 else CLASS_LAST_SHARE


def intercept_shares(
    n: float, amount: float, pure: bool, n_classes: int = 2
) -> tuple[float, float]:
    """Return the shares of the intercept in a greedy fit, first and last.

    Where n·ε or n·μ is small it takes what it needs, all of it first: in the end it takes
    everything, and what is left is a noisy majority.
    """
    need = FIRST_NEEDS[pure] / (n * amount)
    need = need if pure else need**2
    if need <= FIRST_SHARE:
        return FIRST_SHARE, last_share(n_classes)
    return (need, 0.0) if need < ALL_FROM else (1.0, 0.0)


def greedy_shares(
    n_steps: int, pure: bool, linear: bool, intercept: float = FIRST_SHARE + LAST_SHARE
) -> tuple[float, float]:
    """Return the share of each greedy step's release, and that of its choice."""
    if n_steps == 0:
        return 0.0, 0.0
    each = (1.0 - intercept - (GRAM_SHARE + LINE_SHARE) * linear) / n_steps
    return (1.0 - CHOICE_SHARE[pure]) * each, CHOICE_SHARE[pure] * each


def of_columns(pairs: bool) -> float:
    """Return the share of all but the pairs in a cyclic fit."""
    return 1.0 - PAIR_SHARE * pairs


def first_share(n: float, mu: float, n_columns: int, n_classes: int) -> float:
    """Return the share of a release of all columns before the rounds of a cyclic fit."""
    few = n * mu * n_classes < FIRST_BELOW * n_columns
    return FIRST_COLUMNS_SHARE if n_classes > 2 and few else 0.0


def first_weight(share: float, n_rounds: int) -> float:
    """Return the weight of that release, where round t has t^CYCLIC_POWER."""
    rounds = sum(k**ROUND_POWER for k in range(1, n_rounds + 1))
    return FIRST_WEIGHT * rounds * share / (1.0 - share)


def cyclic_unit(
    t: int,
    n_rounds: int,
    n_active: int,
    linear: bool,
    pairs: bool = False,
    first: float = 0.0,
) -> float:
    """Return the share of each column in round t, 1 up to `n_rounds`, of a cyclic fit."""
    total = sum(k**ROUND_POWER for k in range(1, n_rounds + 1))
    rounds = of_columns(pairs) * (1.0 - (GRAM_SHARE + LINE_SHARE) * linear) - first
    share = rounds * t**ROUND_POWER / total
    return share / (n_active + INTERCEPT_WEIGHT * (1 + (t == n_rounds)) + linear)


def least_share(
    method: str,
    n_steps: int,
    n_columns: int,
    pure: bool,
    linear: bool,
    intercept: float = FIRST_SHARE + LAST_SHARE,
    pairs: bool = False,
    first: float = 0.0,
) -> float:
    """Return a share that no release or choice is below."""
    if method == STUMPS:
        return 1.0 / n_steps
    if method == GREEDY:
        shares = greedy_shares(n_steps, pure, linear, intercept) if n_steps else (1.0,)
        return min(*shares, LINE_SHARE / LINE_STEPS)
    # The last round may be the first: then the intercept comes twice.
    unit = cyclic_unit(1, n_steps, n_columns + 1, linear, pairs, first)
    least = INTERCEPT_WEIGHT * min(unit, LINE_SHARE / LINE_STEPS)
    most_pairs = PAIR_COLUMNS * (PAIR_COLUMNS - 1) // 2
    return min(least, PAIR_SHARE * min(PAIR_FIRST, 1 - PAIR_FIRST) / most_pairs) if pairs else least
