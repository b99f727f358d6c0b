"""Noise of naive Bayes from counts, and the statement. Proofs: docs/partial.md, P3."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from privcurve.privacy.accountants.compose import BASIC
from privcurve.privacy.accountants.cost import BOUNDED_RANGE_KIND, GAUSSIAN_KIND, Cost
from privcurve.privacy.budget import CERTIFIED, REPLACE_ONE, check_budget, is_private
from privcurve.privacy.calibration.search import calibrate
from privcurve.privacy.curator import EXACT, Call, call_of
from privcurve.privacy.ledger import LedgerEntry, PrivacyStatement
from privcurve.privacy.mechanisms import (
    EXPONENTIAL,
    GAUSSIAN,
    LAPLACE,
    PERMUTE_AND_FLIP,
    score_range,
)
from privcurve.privacy.public_facts import state
from privcurve.privacy.sensitivity.noisy_bayes import (
    column_counts_l1,
    column_counts_l2,
    column_score,
)

SOURCE = "docs/partial.md, P3"


@dataclass(frozen=True)
class BayesNoise:
    """Noise of the choice of columns and of their counts.

    Attributes
    ----------
    mechanism : str
        Of each choice: permute-and-flip, or the exponential mechanism when δ > 0.
    rate : float
        η of each choice; infinite at ε = ∞.
    counts : str
        Whose noise every count gets: Laplace, or Gaussian when δ > 0.
    scale : float
        b or σ; 0 at ε = ∞.
    statement : PrivacyStatement
    """

    mechanism: str
    rate: float
    counts: str
    scale: float
    statement: PrivacyStatement

    @property
    def of_counts(self) -> Call:
        """The call that releases all counts."""
        return call_of(self.statement.ledger[-1]) if self.statement.private else EXACT

    def of_choice(self, k: int) -> Call:
        """Return the call of the k-th choice, from 0."""
        return call_of(self.statement.ledger[k]) if self.statement.private else EXACT


@lru_cache(maxsize=1024)
def noisy_bayes(
    *,
    n_columns: int,
    chosen: bool,
    choice_share: float,
    epsilon: float,
    delta: float,
    public: tuple[int, ...] | None,
) -> BayesNoise:
    """Calibrate naive Bayes from noisy counts.

    Parameters
    ----------
    n_columns : int
        Columns that are counted, m.
    chosen : bool
        Whether they are chosen by the data, one after another.
    choice_share : float
        Part of the budget for the choice: of ε, or of ρ when δ > 0.
    epsilon, delta : float
    public : tuple of int or None
        Public columns, if they and the label are read.

    Returns
    -------
    BayesNoise

    Raises
    ------
    ValueError
        If the budget is out of range.
    """
    check_budget(epsilon, delta)
    pure = delta == 0
    mechanism = PERMUTE_AND_FLIP if pure else EXPONENTIAL
    counts = LAPLACE if pure else GAUSSIAN
    if not is_private(epsilon):
        none = PrivacyStatement.not_private("noisy_bayes")
        return BayesNoise(mechanism, math.inf, counts, 0.0, none)
    share = choice_share if chosen else 0.0
    if pure:
        each, amount, accountant = share * epsilon / n_columns, (1 - share) * epsilon, BASIC
        bound = column_counts_l1(n_columns)
    else:
        # In proportion so that ρ is shared: a choice of range r costs r²/8, Gaussian a²/2.
        costs = [Cost(GAUSSIAN_KIND, math.sqrt(2 * (1 - share)))]
        if chosen:
            costs.append(Cost(BOUNDED_RANGE_KIND, math.sqrt(8 * share / n_columns), n_columns))
        found = calibrate(tuple(costs), epsilon, delta)
        each = costs[1].amount * found.scale if chosen else 0.0
        amount, accountant = costs[0].amount * found.scale, found.accountant
        bound = column_counts_l2(n_columns)
    rate = each / score_range(column_score(), REPLACE_ONE)
    ledger = [
        LedgerEntry(
            mechanism=mechanism,
            what=f"choice of column {k}",
            noise_rate=rate,
            sensitivity=column_score(),
            epsilon=each,
            bounded_range=None if pure else each,
            source=SOURCE,
        )
        for k in range(1, n_columns + 1)
        if chosen
    ]
    ledger.append(
        LedgerEntry(
            mechanism=counts,
            what=f"counts of {n_columns} columns by code and label",
            noise_rate=amount / bound,
            sensitivity=bound,
            epsilon=amount if pure else math.inf,
            source=SOURCE,
        )
    )
    statement = state(
        "noisy_bayes",
        epsilon=epsilon,
        delta=delta,
        calibration=CERTIFIED,
        composition=accountant,
        ledger=ledger,
        public=public,
    )
    return BayesNoise(mechanism, rate, counts, bound / amount, statement)


def columns_counted(n_columns: int | None, available: Sequence[int]) -> int:
    """Give how many columns are counted: all that may be, if fewer are than asked for."""
    return len(available) if n_columns is None else min(n_columns, len(available))
