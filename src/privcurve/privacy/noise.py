"""From announced mechanism calls and a budget to noise: the one calibration."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from privcurve.coding import Floats
from privcurve.privacy.accountants.compose import BASIC
from privcurve.privacy.accountants.cost import BOUNDED_RANGE_KIND, GAUSSIAN_KIND, Cost
from privcurve.privacy.budget import CERTIFIED, check_budget, is_private
from privcurve.privacy.calibration.search import calibrate
from privcurve.privacy.ledger import LedgerEntry, PrivacyStatement
from privcurve.privacy.mechanisms import (
    EXPONENTIAL,
    GAUSSIAN,
    LAPLACE,
    MECHANISMS,
    NOISY_LABEL,
    PERMUTE_AND_FLIP,
)
from privcurve.privacy.public_facts import state


@dataclass(frozen=True)
class Announced:
    """Mechanism calls that a learner announces: data, from public facts alone.

    One of `l1` (with `l2`), `score_range` and `margins` says what is called: numbers with noise, a
    choice by noisy scores, or labels drawn by their margins.

    Attributes
    ----------
    what : str
        What a call releases, for the ledger; ``{}`` in it is the number of the call, from 1.
    share : float
        Of the budget, for all `times` together: of ε where δ = 0, of ρ (zCDP) where δ > 0.
    times : int
        How many such calls there are, one after another, each charged by itself.
    l1, l2 : float
        Sensitivity of the numbers: in the L1 norm for Laplace noise (δ = 0), in the L2 norm for
        Gaussian noise (δ > 0).
    score_range : float
        Of a choice: the range of the scores' change between neighbours (PRIVACY.md §0, L0); twice
        the sensitivity of a score, unless scores change in one direction alone.
    margins : float
        Of labels: the L1 sensitivity of all margins of a call. With δ = 0 they get Laplace noise.
    calls : int
        How many choices or numbers a call makes, which are charged together.
    parallel : str
        Why they may be: what the disjoint parts of the records are, each of which one looks at.
    source : str
        Where the sensitivity is proved.
    by : str
        A mechanism in place of the usual one, which follows from δ.
    parts : int
        Into how many parts a call divides what it may cost, as a paper may do where it need not:
        noise is for one of them.
    """

    what: str
    share: float = 1.0
    times: int = 1
    l1: float = 0.0
    l2: float = 0.0
    score_range: float = 0.0
    margins: float = 0.0
    calls: int = 1
    parallel: str = ""
    source: str = ""
    by: str = ""
    parts: int = 1

    def __post_init__(self) -> None:
        said = (self.l1 > 0 or self.l2 > 0) + (self.score_range > 0) + (self.margins > 0)
        if said != 1:
            one = "numbers (l1, l2), a choice (score_range) or labels (margins)"
            raise ValueError(f"{self.what}: announce one of {one}")
        if not (self.times >= 1 and 0 < self.share <= 1 + 1e-12):
            raise ValueError(f"{self.what}: times = {self.times}, share = {self.share}")

    def mechanism(self, pure: bool) -> str:
        """Return the mechanism of the calls, for δ = 0 or above."""
        if self.by:
            return self.by
        if self.score_range:
            return PERMUTE_AND_FLIP if pure else EXPONENTIAL
        if self.margins:
            return LAPLACE if pure else NOISY_LABEL
        return LAPLACE if pure else GAUSSIAN

    def bound(self, pure: bool) -> float:
        """Return what the rate multiplies to give the cost of a call.

        Raises
        ------
        ValueError
            If there is none: numbers without the norm that their noise needs.
        """
        norm = self.l1 if pure else self.l2
        bound = self.score_range or self.margins or norm
        if not bound:
            needed = "= 0 needs its L1" if pure else "> 0 needs its L2"
            raise ValueError(f"{self.what}: delta {needed} sensitivity")
        return bound

    def cost(self) -> Cost:
        """Return the cost of the calls where δ > 0, in proportion to the others'."""
        if self.score_range or self.margins:
            # A choice of range r costs ρ = r²/8, Gaussian noise a²/2.
            return Cost(BOUNDED_RANGE_KIND, math.sqrt(8 * self.share / self.times), self.times)
        return Cost(GAUSSIAN_KIND, math.sqrt(2 * self.share / self.times), self.times)

    def entries(self, amount: float, pure: bool) -> list[LedgerEntry]:
        """Return the ledger's entries, each of which costs `amount`."""
        bound, mechanism = self.bound(pure), self.mechanism(pure)
        return [
            LedgerEntry(
                mechanism=mechanism,
                what=self.what.format(k),
                noise_rate=amount / (bound * self.parts),
                sensitivity=bound / 2 if self.score_range else bound,
                epsilon=math.inf if mechanism == GAUSSIAN else amount,
                bounded_range=MECHANISMS[mechanism].bounded_range(amount),
                source=self.source,
                calls=self.calls,
                parallel=self.parallel,
            )
            for k in range(1, self.times + 1)
        ]


@lru_cache(maxsize=64)
def noise_of(
    learner: str,
    announced: tuple[Announced, ...],
    *,
    epsilon: float,
    delta: float = 0.0,
    calibration: str = CERTIFIED,
    rounds: int = 1,
    accountants: tuple[str, ...] | None = None,
    **words: Any,
) -> PrivacyStatement:
    """Calibrate announced calls: the statement of a fit, with the noise of each call in its ledger.

    Parameters
    ----------
    learner : str
    announced : tuple of Announced
        In the order of the ledger; their shares add up to 1. Of several rounds those of each.
    epsilon, delta : float
        The budget; ε may be infinite.
    calibration : str
    rounds : int
        Which share the budget equally; ``{}`` in what a call releases is the number of its round.
    accountants : tuple of str, optional
        For δ > 0: those to take the best of; by default all that fit.
    **words
        Of the statement, see :func:`~privcurve.privacy.public_facts.state`.

    Returns
    -------
    PrivacyStatement

    Raises
    ------
    ValueError
        If the budget is out of range, or shares do not add up to 1.
    """
    check_budget(epsilon, delta)
    if not is_private(epsilon):
        return PrivacyStatement.not_private(learner)
    if rounds > 1:
        announced = tuple(
            replace(each, what=each.what.format(t), share=each.share / rounds)
            for t in range(1, rounds + 1)
            for each in announced
        )
    whole = math.fsum(each.share for each in announced)
    if abs(whole - 1) > 1e-9:
        raise ValueError(f"{learner}: the shares of its calls add up to {whole}, not to 1")
    pure = delta == 0
    if pure:
        accountant = BASIC
        amounts = [each.share * epsilon / each.times for each in announced]
    else:
        costs = tuple(each.cost() for each in announced)
        best = {} if accountants is None else {"accountants": accountants}
        # Equal ones together: there may be hundreds.
        counts: Counter[tuple[str, float]] = Counter()
        for cost in costs:
            counts[cost.kind, cost.amount] += cost.count
        together = tuple(Cost(*key, count) for key, count in counts.items())
        found = calibrate(together, epsilon, delta, **best)
        accountant = found.accountant
        amounts = [cost.amount * found.scale for cost in costs]
    ledger = [
        entry
        for each, amount in zip(announced, amounts, strict=True)
        for entry in each.entries(amount, pure)
    ]
    return state(
        learner,
        epsilon=epsilon,
        delta=delta,
        calibration=calibration,
        composition=accountant,
        ledger=ledger,
        **words,
    )


def frozen(array: Floats) -> Floats:
    """Return an array that no one can write into: one that a cache hands out again."""
    array.flags.writeable = False
    return array
