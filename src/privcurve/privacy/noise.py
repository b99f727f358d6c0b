"""Calibrate the noise of announced mechanism calls to a budget.

This module also makes the statement of a private selection, and the mechanism call of the noisy
counts in a release or an evaluation. No learner announces these calls.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from privcurve.coding import Floats
from privcurve.privacy.account import RULES, Pending
from privcurve.privacy.accountants.compose import BASIC
from privcurve.privacy.accountants.cost import BOUNDED_RANGE_KIND, GAUSSIAN_KIND, Cost, on_batches
from privcurve.privacy.budget import PROVED, REPLACE_ONE, check_budget, is_private
from privcurve.privacy.calibration.search import BEST_OF, calibrate
from privcurve.privacy.curator import Call
from privcurve.privacy.ledger import (
    ASSUMED,
    NOT_COVERED,
    NOT_FLOATS,
    NOT_SELECTION,
    LedgerEntry,
    PrivacyStatement,
    state,
)
from privcurve.privacy.mechanisms import (
    EXPONENTIAL,
    GAUSSIAN,
    LAPLACE,
    LARGEST_SCALE,
    MECHANISMS,
    NOISY_LABEL,
    PERMUTE_AND_FLIP,
)
from privcurve.privacy.selection import UNITS, SelectionBudget


@dataclass(frozen=True)
class Announced:
    """Mechanism calls that a learner announces; all fields must be public.

    One of `l1` (with `l2`), `score_range` and `margins` determines the call: numbers with noise, a
    choice by noisy scores, or labels drawn by their margins. Without any of them, the call is for a
    :class:`~privcurve.privacy.rows.Sum`, from which the sensitivity is derived.

    Attributes
    ----------
    what : str
        What a call releases, for the ledger; the number of the call, from 1, replaces ``{}``.
    share : float
        Share of the budget for all `times` calls together: of ε if δ = 0, of ρ (zCDP) if δ > 0.
    times : int
        Number of such calls, each charged separately.
    l1, l2 : float
        Sensitivity of the numbers: in the L1 norm for Laplace noise (δ = 0), in the L2 norm for
        Gaussian noise (δ > 0).
    score_range : float
        For a choice: the range of the scores' change between neighbours (docs/proofs.md,
        'Choices'), which is twice the sensitivity of a score unless all scores change in
        the same direction.
    margins : float
        For labels: the L1 sensitivity of all margins of a call. With δ = 0 they get Laplace noise.
    choice : bool
        Whether a call with a derived sensitivity is a choice; otherwise it releases numbers.
    calls : int
        Number of choices or numbers that one call charges together.
    parallel : str
        Why one call may charge them together: names the disjoint parts of the records that they
        read, such as ``the nodes of a tree``.
    source : str
        The proof of the sensitivity.
    by : str
        Name of a mechanism of the call; if empty, `mechanism` chooses by δ and the kind of call.
    parts : int
        The learner's paper divides the budget of a call by this number, although the proof does not
        need it: the noise is larger than necessary.
    sampled : float
        The rate q at which each record is in the Poisson batch (``Curator.batch``) whose sum a
        call releases; below 1 only for sums with δ > 0. `share` then refers to the cost that the
        calls would have on all records.
    """

    what: str
    share: float = 1.0
    times: int = 1
    l1: float = 0.0
    l2: float = 0.0
    score_range: float = 0.0
    margins: float = 0.0
    choice: bool = False
    calls: int = 1
    parallel: str = ""
    source: str = ""
    by: str = ""
    parts: int = 1
    sampled: float = 1.0

    def __post_init__(self) -> None:
        kinds = (self.l1 > 0 or self.l2 > 0, self.score_range > 0, self.margins > 0)
        if sum(kinds) > 1 or (any(kinds) and self.choice):
            one = "numbers (l1, l2), a choice (score_range) or labels (margins)"
            raise ValueError(f"{self.what}: announce only one of {one}, or none")
        if self.is_derived and (self.parts, self.calls) != (1, 1):
            raise ValueError(f"{self.what}: a call in parts must announce its sensitivity")
        if not 0 < self.sampled <= 1:
            raise ValueError(f"{self.what}: sampled must be a rate in (0, 1]; got {self.sampled}")
        if self.sampled < 1 and (self.choice or self.by or not self.is_derived):
            raise ValueError(
                f"{self.what}: sampled must be 1 unless the call releases a sum of rows, whose "
                "sensitivity is derived: leave out l1, l2, score_range, margins, choice and by"
            )
        if not (self.times >= 1 and 0 < self.share <= 1 + 1e-12):
            raise ValueError(
                f"{self.what}: times must be ≥ 1 and share > 0; got {self.times} and {self.share}"
            )

    @property
    def is_derived(self) -> bool:
        """Whether the sensitivity is derived from the sum that the call releases."""
        return not (self.l1 or self.l2 or self.score_range or self.margins)

    def mechanism(self, pure: bool) -> str:
        """Return the mechanism of the calls, for δ = 0 (`pure`) or δ > 0."""
        if self.by:
            return self.by
        if self.score_range or self.choice:
            return PERMUTE_AND_FLIP if pure else EXPONENTIAL
        if self.margins:
            return LAPLACE if pure else NOISY_LABEL
        return LAPLACE if pure else GAUSSIAN

    def check_mechanism(self, pure: bool) -> None:
        """Raise ValueError if the calls' mechanism is not possible with δ = 0 (`pure`) or δ > 0."""
        if pure and self.sampled < 1:
            raise ValueError(
                f"{self.what}: delta must be above 0 where batches are sampled: they are accounted "
                "with Gaussian noise alone"
            )
        kind = MECHANISMS[self.mechanism(pure)].kind
        is_refused = kind == GAUSSIAN_KIND if pure else kind != self.cost().kind
        if is_refused:
            relation = "= 0" if pure else "> 0"
            raise ValueError(f"{self.what}: {self.by} noise does not support delta {relation}")

    def bound(self, pure: bool) -> float:
        """Return the cost of a call per unit of its noise rate.

        It is the range of the scores' change, or the sensitivity of numbers or margins; 1 if the
        sensitivity is derived later.
        """
        if self.is_derived:
            return 1.0
        bound = self.score_range or self.margins or (self.l1 if pure else self.l2)
        if not bound:
            needed = "= 0 needs its L1" if pure else "> 0 needs its L2"
            raise ValueError(f"{self.what}: delta {needed} sensitivity")
        return bound

    def cost(self) -> Cost:
        """Return the cost of the calls for δ > 0, up to a factor common to all calls of a fit."""
        if self.score_range or self.margins or self.choice:
            # A choice with the bounded range r costs ρ = r²/8. Gaussian noise costs ρ = a²/2, where
            # a is sensitivity/σ.
            return Cost(BOUNDED_RANGE_KIND, math.sqrt(8 * self.share / self.times), self.times)
        return Cost(GAUSSIAN_KIND, math.sqrt(2 * self.share / self.times), self.times)

    def entries(self, amount: float, pure: bool) -> list[LedgerEntry]:
        """Return the ledger entries of all `times` calls, each with the cost `amount`."""
        bound, mechanism = self.bound(pure), self.mechanism(pure)
        kind = Pending if self.is_derived else LedgerEntry
        return [
            kind(
                mechanism=mechanism,
                what=self.what.format(k),
                noise_rate=amount / (bound * self.parts),
                sensitivity=bound / 2 if self.score_range else bound,
                epsilon=math.inf if mechanism == GAUSSIAN else amount,
                bounded_range=MECHANISMS[mechanism].bounded_range(amount),
                source=RULES if self.is_derived else self.source,
                calls=self.calls,
                parallel=self.parallel,
                sampled=self.sampled,
            )
            for k in range(1, self.times + 1)
        ]


# Cached: the noise depends on the calls, ε and δ, so folds of equal size share it.
@lru_cache(maxsize=512)
def noise_of(
    learner: str,
    announced: tuple[Announced, ...],
    *,
    epsilon: float,
    status: str,
    delta: float = 0.0,
    calibration: str = PROVED,
    rounds: int = 1,
    accountants: tuple[str, ...] = BEST_OF,
    **words: Any,
) -> PrivacyStatement:
    """Calibrate announced calls; return the statement, whose ledger has the noise of each call.

    Parameters
    ----------
    learner : str
    announced : tuple of Announced
        The calls in the order of the ledger; their shares add up to 1. If there are several rounds:
        the calls of one round.
    epsilon, delta : float
        The budget; ε may be infinite.
    status, calibration : str
        See :class:`~privcurve.privacy.ledger.PrivacyStatement`.
    rounds : int
        The number of rounds, with equal budgets; its number replaces ``{}`` in the `what` of a
        call.
    accountants : tuple of str
        For δ > 0: the accountants to try; the best one is used. By default all that fit.
    **words
        Other arguments of :func:`~privcurve.privacy.ledger.state`.

    Returns
    -------
    PrivacyStatement

    Raises
    ------
    ValueError
        If the budget is out of range, shares do not add up to 1, or a mechanism does not support δ.
    """
    check_budget(epsilon, delta)
    if not is_private(epsilon):
        return PrivacyStatement.not_private(learner)
    if rounds > 1:
        announced = tuple(
            replace(calls, what=calls.what.format(t), share=calls.share / rounds)
            for t in range(1, rounds + 1)
            for calls in announced
        )
    total = math.fsum(calls.share for calls in announced)
    if abs(total - 1) > 1e-9:
        raise ValueError(
            f"{learner}: the shares of its calls must add up to 1; they add up to {total}"
        )
    pure = delta == 0
    for calls in announced:
        calls.check_mechanism(pure)
    if pure:
        accountant = BASIC
        amounts = [calls.share * epsilon / calls.times for calls in announced]
    else:
        neighbours = words.get("neighbours", REPLACE_ONE)
        costs = tuple(on_batches(calls.cost(), calls.sampled, neighbours) for calls in announced)
        # Equal costs are combined, as there may be hundreds.
        counts: Counter[tuple[str, float, float]] = Counter()
        for cost in costs:
            counts[cost.kind, cost.amount, cost.rate] += cost.count
        together = tuple(
            Cost(kind, amount, count, rate) for (kind, amount, rate), count in counts.items()
        )
        scale, accountant = calibrate(together, epsilon, delta, accountants)
        amounts = [cost.amount * scale for cost in costs]
    ledger = [
        entry
        for calls, amount in zip(announced, amounts, strict=True)
        for entry in calls.entries(amount, pure)
    ]
    return state(
        learner,
        epsilon=epsilon,
        delta=delta,
        calibration=calibration,
        composition=accountant,
        ledger=ledger,
        status=status,
        **words,
    )


# Private selection -----------------------------------------------------------------------------

OF_SELECTION = "docs/proofs.md, 'Private selection'"
ASSUMED_GRID = "the settings that were drawn from, which were fixed apart from the records"
NOT_RUNS = "how many runs there were, which the time of a training may tell"


def selection_statement(
    budget: SelectionBudget,
    base: str,
    n_settings: int,
    assumptions: Sequence[str] = (),
    exclusions: Sequence[str] = (),
) -> PrivacyStatement:
    """Return the statement of a private selection; it depends on public facts alone.

    The ledger describes one run: a training, and the score of its model, which is the number of
    training records that the model predicts correctly. Replacing a record changes the score of a
    given model by at most one. `base` names the learners whose settings are tried. `assumptions`
    and `exclusions` are the union over all settings, as any setting may win.
    """
    of_settings = [text for text in exclusions if text not in NOT_COVERED]
    # Drop two of the usual exclusions. NOT_SELECTION: ε covers the choice of settings, which is
    # private. NOT_FLOATS: scores are integers, so floating-point arithmetic matters only in the
    # trainings, and `exclusions` names its effects there.
    others = [text for text in NOT_COVERED if text not in (NOT_SELECTION, NOT_FLOATS)]
    training = LedgerEntry(
        mechanism="training",
        what=f"one of a random number of runs: {base} with a setting drawn from {n_settings}",
        noise_rate=budget.training,
        sensitivity=1.0,
        epsilon=budget.training if budget.pure else math.inf,
        rho=None if budget.pure else budget.training,
        source=OF_SELECTION,
    )
    what = "its score: how many training records it decides right"
    score = Announced(what, l1=1.0, l2=1.0, source=OF_SELECTION)
    return PrivacyStatement(
        learner="tuned",
        epsilon=budget.epsilon,
        delta=budget.delta,
        neighbours=REPLACE_ONE,
        calibration=PROVED,
        composition=budget.runs.name,
        ledger=(training, *score.entries(UNITS / budget.score_scale, budget.pure)),
        assumptions=tuple(dict.fromkeys((*ASSUMED, *assumptions, ASSUMED_GRID))),
        exclusions=tuple(dict.fromkeys((*of_settings, *others, NOT_RUNS))),
        status=PROVED,
    )


# Counts of records for a release ----------------------------------------------------------------

# Counts are released in units of 1/PARTS of a record. Noise scales are whole numbers of units, so
# rounding up changes a scale only a little.
PARTS = 2**10


def noisy_counts(what: str, l1: float, epsilon: float, source: str) -> Call:
    """Return the call that releases counts of records, in units of 1/PARTS of a record.

    The noise is discrete Laplace noise (``Curator.whole_numbers``). Neighbours move all counts
    together by at most `l1`, so the release is ε-DP. Raises ValueError if ε is finite and so small
    that its noise does not fit in 64 bits.
    """
    if not epsilon * LARGEST_SCALE > l1 * PARTS:
        raise ValueError(
            f"epsilon must be larger; got {epsilon:g}, whose noise does not fit in 64 bits"
        )
    scale = math.ceil(l1 * PARTS / epsilon)
    entry = LedgerEntry(
        mechanism=LAPLACE,
        what=what,
        noise_rate=1 / scale,
        sensitivity=l1 * PARTS,
        epsilon=l1 * PARTS / scale,
        source=source,
    )
    return Call(LAPLACE, float(scale), entry)


def freeze(array: Floats) -> Floats:
    """Make an array read-only, and return it: callers of a cached function share it."""
    array.flags.writeable = False
    return array
