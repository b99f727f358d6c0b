"""Calibrate the noise of DP-TopDown trees, single or boosted by LazyBB, for a budget (ε, δ)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from privcurve.coding import Floats
from privcurve.privacy.accountants.compose import BASIC
from privcurve.privacy.accountants.cost import BOUNDED_RANGE_KIND, Cost
from privcurve.privacy.budget import PROVED, PUBLISHED
from privcurve.privacy.calibration.search import calibrate
from privcurve.privacy.ledger import LedgerEntry, PrivacyStatement, state
from privcurve.privacy.mechanisms import AUTO, EXPONENTIAL, LAPLACE, LOGISTIC, TWO_LAPLACE, resolve
from privcurve.privacy.noise import Announced, freeze
from privcurve.privacy.sensitivity import lazybb as sensitivity

# Values of the parameter `leaves`: whether the leaves of a tree contain labels or 1-rules.
LABELS = "labels"
RULES = "rules"

# The value of `LedgerEntry.parallel` for one call per node of a level: the nodes of a level have
# disjoint records, so the ledger charges their choices (or labels) only once.
NODES = "the nodes of a tree's level"

# Share of ε that the splits of a tree get if δ = 0, by the value of `leaves`. Of 0.4, 0.5, … 0.8,
# this share was the best overall in cross-validation on Adult, for trees of 2 to 4 levels at ε =
# 0.1, 1 and 3.
SPLIT_SHARES = {LABELS: 0.8, RULES: 0.4}

SOURCE = "docs/proofs.md, 'LazyBB: first rounds' and 'LazyBB: trees'"
SOURCE_STARTED = "docs/proofs.md, 'LazyBB from a public start' and 'LazyBB: trees'"
SOURCE_PUBLISHED = "thesis Thm. 4.2.2, Cor. 4.2.5; valid: docs/proofs.md, 'LazyBB: trees'"


@dataclass(frozen=True)
class TreeNoiseRates:
    """The noise of DP-TopDown trees, single or boosted, and the privacy statement of the fit."""

    # (n_rounds,), read-only: η_t, the factor of the criterion in the score of a split in round t;
    # infinite at ε = ∞.
    rates: Floats
    # (n_rounds,), read-only: the factor of a leaf's margin in round t; noise of scale 1 is added to
    # the product.
    label_rates: Floats
    mechanism: str  # the mechanism of the splits
    label_noise: str  # the mechanism of the labels
    # Whether the last level has 1-rules (a label for each bin of a column) in place of splits and
    # labels. If so, `label_rates` has the noise rate of the choice of the 1-rules of each round.
    rules: bool
    # Whether weights are divided by their sum (published), or by κn, with the density κ (proved).
    normalise: bool
    statement: PrivacyStatement

    @property
    def by_levels(self) -> bool:
        """Whether each node of a level makes its own choice of a split (proved).

        Otherwise each call chooses one split among the splits of all leaves (published).
        """
        return not self.normalise


# The cache saves time in cross-validation: folds of equal size have the same arguments.
@lru_cache(maxsize=2048)
def lazybb_trees(
    *,
    learner: str,
    n: int,
    n_rounds: int,
    density: float,
    learning_rate: float,
    depth: int,
    n_splits: int,
    criterion: str,
    split_share: float | None,
    leaves: str,
    epsilon: float,
    delta: float,
    calibration: str,
    mechanism: str = "auto",
    started: bool = False,
) -> TreeNoiseRates:
    """Calibrate LazyBB with DP-TopDown trees; a single tree is one round at density 1.

    The letters η, κ, τ, ζ_t and λ are as in ``calibration.lazybb_one_rule``; D, t and f are
    parameters below.

    The published calibration is for Gini and δ = 0 (thesis, Cor. 4.2.5): η = εκn/(16τt), and each
    leaf has two numbers with noise Lap(1/(4tη)).

    In the proved calibration (docs/proofs.md, 'LazyBB: trees'), a round has D levels of splits, and
    then the labels. If δ = 0, each level spends fε/(τD). The labels of a round spend ε_l = (1 −
    f)ε/τ: each margin has noise Lap(2ζ_t/ε_l). If δ > 0, a label is drawn with the probability
    P(+) = σ(ε_l·margin/(2ζ_t)), so all steps are bounded-range. By default all steps have equal
    ranges, and the best accountant composes them. With a given share f of ρ for splits, the ranges
    differ, and zCDP composes the steps.

    With ``leaves="rules"``, there are D − 1 levels of splits, and each node of the last level
    chooses a 1-rule with its labels, so that labels need no budget. The errors of all nodes of this
    level add up to one weighted error, and the change of a node's error has a range of at most the
    weight that moves in the node. So all choices of the level together are 2ηζ_t-DP and
    bounded-range, like one 1-rule (docs/proofs.md, 'Levels of a tree').

    Like ``calibration.lazybb_one_rule``, both calibrations refuse parameters for which the rounding
    of weights is too coarse.

    Parameters
    ----------
    depth : int
        D, the number of levels of splits; only the proved calibration uses it.
    n_splits : int
        t, the number of internal nodes; only the published calibration uses it.
    criterion : str
        The split criterion: ``sensitivity.lazybb_split_range`` has its sensitivity.
    split_share : float or None
        f, in (0, 1): the share of ε (if δ = 0) or ρ (if δ > 0) for splits. The default (None) is
        `SPLIT_SHARES` if δ = 0, and equal ranges if δ > 0. It must be None for the published
        calibration, whose formula gives splits half of ε.
    leaves : str
        ``labels``, or ``rules`` (only for the proved calibration).
    learner, n, n_rounds, density, learning_rate, epsilon, delta, calibration, mechanism, started
        See ``calibration.lazybb_one_rule``.

    Raises
    ------
    ValueError
        If the rounding of weights is too coarse for the density, or the calibration does not
        support the request.
    """
    if not math.isinf(epsilon):
        normalise = calibration == PUBLISHED
        sensitivity.check_lazybb_rounding(n, density, normalise=normalise)
    if calibration == PUBLISHED:
        _check_published(criterion, split_share, leaves, delta, mechanism)
        zeta = np.full(n_rounds, sensitivity.lazybb_zeta(n, density))
        return _published_noise(learner, zeta, n_splits, epsilon)
    mechanism = resolve(mechanism, delta, calibration)
    zeta = sensitivity.lazybb_zeta_rounds(n, density, learning_rate, n_rounds)
    if started:
        zeta[:] = sensitivity.lazybb_zeta(n, density)
    spread = sensitivity.lazybb_split_range(n, 1.0, criterion) * zeta

    rules, pure = leaves == RULES, delta == 0
    n_levels = depth - 1 if rules else depth
    level, last, accountant = _shares(
        n_rounds, n_levels, split_share, SPLIT_SHARES[leaves], epsilon, delta
    )
    source = SOURCE_STARTED if started else SOURCE
    ledger: list[LedgerEntry] = []
    for t, (bound, of_split) in enumerate(zip(zeta.tolist(), spread.tolist(), strict=True), 1):
        for k in range(n_levels):
            what = f"round {t}: splits of level {k + 1}, all nodes"
            splits = Announced(
                what, score_range=of_split, by=mechanism, calls=2**k, parallel=NODES, source=source
            )
            ledger += splits.entries(level, pure)
        # The bound 2ζ has two meanings: the score range for choices of 1-rules, and the L1
        # sensitivity of margins for labels.
        both = sensitivity.lazybb_margins_l1(bound)
        if rules:
            steps = Announced(
                f"round {t}: 1-rules of the last level, all nodes", score_range=both, by=mechanism,
                source=source,
            )  # fmt: skip
        else:
            steps = Announced(f"round {t}: labels of all leaves", margins=both, source=source)
        ledger += replace(steps, calls=2**n_levels, parallel=NODES).entries(last, pure)
    statement = state(
        learner,
        epsilon=epsilon,
        delta=delta,
        calibration=PROVED,
        composition=accountant,
        ledger=ledger,
        status=PROVED,
    )
    label_rates = last / sensitivity.lazybb_margins_l1(1.0) / zeta
    label_noise = LAPLACE if pure else LOGISTIC
    return TreeNoiseRates(
        freeze(level / spread), freeze(label_rates), mechanism, label_noise, rules, False, statement
    )


def _check_published(
    criterion: str, split_share: float | None, leaves: str, delta: float, mechanism: str
) -> None:
    if criterion != "gini":
        raise ValueError(
            "criterion must be 'gini' for the published calibration of DP-TopDown (thesis, "
            f"Theorem 4.2.2); got {criterion!r}: use calibration='proved'"
        )
    if leaves != LABELS:
        raise ValueError(
            f"leaves must be {LABELS!r} for the published DP-TopDown, which labels its leaves "
            f"one by one; got {leaves!r}"
        )
    if split_share is not None:
        raise ValueError(
            "split_share must be left out for the published DP-TopDown, which gives splits and "
            "labels half of ε each; or use calibration='proved'"
        )
    if delta > 0:
        raise ValueError(
            "delta must be 0 for the published DP-TopDown: the thesis's formula for delta > 0 "
            "(Remark 4.2.1) lacks a factor √2 of its Theorem 2.5.3, so its noise is too small "
            "(docs/proofs.md, 'LazyBB: trees'). Use calibration='proved'"
        )
    if mechanism not in (AUTO, EXPONENTIAL):
        raise ValueError(
            f"mechanism must be 'exponential' for the published DP-TopDown; got {mechanism!r}"
        )


def _published_noise(learner: str, zeta: Floats, n_splits: int, epsilon: float) -> TreeNoiseRates:
    each = epsilon / (len(zeta) * 2 * n_splits)
    rates = each / (sensitivity.TOP_DOWN_SPLIT * zeta)
    label_rates = n_splits * each / sensitivity.lazybb_margins_l1(1.0) / zeta
    ledger: list[LedgerEntry] = []
    for t, bound in enumerate(zeta.tolist(), start=1):
        splits = Announced(
            f"round {t}: split {{}} of a tree",
            times=n_splits,
            score_range=sensitivity.TOP_DOWN_SPLIT * bound,
            by=EXPONENTIAL,
            source=SOURCE_PUBLISHED,
        )
        labels = Announced(
            f"round {t}: labels of the leaves, two numbers each",
            l1=sensitivity.lazybb_margins_l1(bound),
            calls=2 * (n_splits + 1),
            parallel="the leaves of a tree",
            source=SOURCE_PUBLISHED,
        )
        ledger += splits.entries(each, pure=True)
        ledger += labels.entries(n_splits * each, pure=True)
    statement = state(
        learner,
        epsilon=epsilon,
        delta=0.0,
        calibration=PUBLISHED,
        composition=BASIC,
        ledger=ledger,
        status=PROVED,
    )
    return TreeNoiseRates(
        freeze(rates), freeze(label_rates), EXPONENTIAL, TWO_LAPLACE, False, True, statement
    )


def _shares(
    n_rounds: int,
    n_levels: int,
    split_share: float | None,
    default_share: float,
    epsilon: float,
    delta: float,
) -> tuple[float, float, str]:
    """Return the cost of one level of splits, the cost of a round's last step, and the accountant.

    A cost is ε if δ = 0, else a bounded range. The last step of a round chooses labels or 1-rules.
    If `n_levels` is 0, no level has splits, and the first cost has no meaning.
    """
    if math.isinf(epsilon):
        return math.inf, math.inf, BASIC
    if delta == 0:
        each = epsilon / n_rounds
        if n_levels == 0:
            return each, each, BASIC
        share = default_share if split_share is None else split_share
        return share * each / n_levels, (1 - share) * each, BASIC
    if split_share is None or n_levels == 0:
        steps = Cost(BOUNDED_RANGE_KIND, 1.0, n_rounds * (n_levels + 1))
        scale, accountant = calibrate((steps,), epsilon, delta)
        return scale, scale, accountant
    # A step with a bounded range costs ρ = range²/8, so ranges are in proportion to √share.
    level, last = math.sqrt(split_share / n_levels), math.sqrt(1 - split_share)
    costs = (
        Cost(BOUNDED_RANGE_KIND, level, n_rounds * n_levels),
        Cost(BOUNDED_RANGE_KIND, last, n_rounds),
    )
    scale, accountant = calibrate(costs, epsilon, delta)
    return scale * level, scale * last, accountant
