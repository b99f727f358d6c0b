"""Noise of boosting random classifiers, and the statement.

Shen, Krishnaswamy, Kulkarni and Munagala, Classification with Partially Private Features.
Proofs are in PRIVACY.md §d and docs/partial.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from privcurve.privacy.accountants.compose import BASIC
from privcurve.privacy.accountants.cost import BOUNDED_RANGE_KIND, GAUSSIAN_KIND, Cost
from privcurve.privacy.budget import CERTIFIED, PUBLISHED, check_budget, is_private
from privcurve.privacy.calibration.search import calibrate
from privcurve.privacy.curator import Call, call_of
from privcurve.privacy.ledger import LedgerEntry, PrivacyStatement
from privcurve.privacy.mechanisms import EXPONENTIAL
from privcurve.privacy.noise import Announced
from privcurve.privacy.public_facts import state
from privcurve.privacy.sensitivity.brc import (
    brc_delta_published,
    brc_delta_rounds,
    brc_edge_rounds,
)

ERROR = "error"
EDGE = "edge"


@dataclass(frozen=True)
class BRCNoise:
    """How much noise each round gets, by the transcript so far.

    Given the α's that were released, a record's weight is a function of that record alone,
    and classifiers do not depend on the data, so the sensitivity Δ_t of round t's estimate
    is known (PRIVACY.md §d); noise is in proportion to it.

    Attributes
    ----------
    learner : str
    n : int
        Records.
    n_rounds : int
        T.
    smallest, largest : float
        Caps of a weight, 1/c₁ and c₂.
    epsilon, delta : float
    calibration : str
        ``published``: Lap(c₁c₂T/(εn)) in each round (Theorems 3 and 4), whatever δ: the paper
        has pure privacy alone. ``certified``: Lap(Δ_tT/ε), or Gaussian noise in proportion
        to Δ_t when δ > 0.
    estimate : str
        What is estimated: ``error`` or ``edge``.
    choice_share : float
        Part of the budget for the choice of thresholds (§d iii); 0 if none is chosen.
    """

    learner: str
    n: int
    n_rounds: int
    smallest: float
    largest: float
    epsilon: float
    delta: float
    calibration: str
    estimate: str = ERROR
    choice_share: float = 0.0

    def __post_init__(self) -> None:
        check_budget(self.epsilon, self.delta)
        if self.calibration == PUBLISHED and is_private(self.epsilon):
            printed = {"estimate": self.estimate == ERROR, "intercept": self.choice_share == 0}
            for name, same in printed.items():
                if not same:
                    raise ValueError(
                        f"{self.learner}: the published noise is for estimate = 'error' and "
                        f"random intercepts; for another {name} take calibration = {CERTIFIED!r}"
                    )

    @property
    def _pure(self) -> bool:
        return self.delta == 0 or self.calibration == PUBLISHED

    def sensitivity(self, alphas: Sequence[float]) -> float:
        """Give Δ_t of the round after those whose α are given."""
        if self.calibration == PUBLISHED:
            return brc_delta_published(self.n, 1 / self.smallest, self.largest)
        if self.estimate == EDGE:
            return float(brc_edge_rounds(self.n, self.largest, alphas)[-1])
        return float(brc_delta_rounds(self.n, 1 / self.smallest, self.largest, alphas)[-1])

    def alpha(self, released: float, alphas: Sequence[float]) -> float:
        """Give α of a released estimate.

        Certified estimates are put back into the range that is public (post-processing);
        published ones are left as they are.
        """
        edge = self.estimate == EDGE
        if self.calibration != PUBLISHED:
            reach = self.sensitivity(alphas) * self.n / 2
            low, high = (-reach, reach) if edge else (0.0, 1.0)
            released = min(max(released, low), high)
        return released if edge else 0.5 - released

    def of_choice(self, alphas: Sequence[float]) -> Call:
        """Return the call of the next round's threshold, by |½ − error| or |edge|."""
        return call_of(self._choice(alphas))

    def of_estimate(self, alphas: Sequence[float]) -> Call:
        """Return the call of the next round's estimate."""
        return call_of(self.estimate_entry(alphas))

    def _choice(self, alphas: Sequence[float]) -> LedgerEntry | None:
        if not is_private(self.epsilon) or self.choice_share == 0:
            return None
        spread, bound = self._amounts()[1], self.sensitivity(alphas)
        what = f"round {len(alphas) + 1}: choice of a threshold"
        choice = Announced(what, score_range=2 * bound, by=EXPONENTIAL, source="PRIVACY.md §d iii")
        return choice.entries(spread, self._pure)[0]

    def estimate_entry(self, alphas: Sequence[float]) -> LedgerEntry | None:
        """Return what the next round's estimate is charged to; None at ε = ∞."""
        if not is_private(self.epsilon):
            return None
        amount, bound = self._amounts()[0], self.sensitivity(alphas)
        what = f"round {len(alphas) + 1}: weighted {self.estimate} of the private classifier"
        source = "Shen et al., Theorems 3 and 4; " if self.calibration == PUBLISHED else ""
        error = Announced(what, l1=bound, l2=bound, source=f"{source}PRIVACY.md §d")
        return error.entries(amount, self._pure)[0]

    def _amounts(self) -> tuple[float, float, str]:
        """Give Δ_t/noise of an estimate, the range of a choice, and the accountant."""
        share, rounds = self.choice_share, self.n_rounds
        if self._pure:
            each = self.epsilon / rounds
            return (1 - share) * each, share * each, BASIC
        # In proportion so that ρ is shared: Gaussian noise costs a²/2, a choice r²/8.
        gaussian, ranged = math.sqrt(2 * (1 - share)), math.sqrt(8 * share)
        costs = [Cost(GAUSSIAN_KIND, gaussian, rounds)]
        if share > 0:
            costs.append(Cost(BOUNDED_RANGE_KIND, ranged, rounds))
        found = calibrate(tuple(costs), self.epsilon, self.delta)
        return gaussian * found.scale, ranged * found.scale, found.accountant

    def statement(self, alphas: Sequence[float], public: Sequence[int] | None) -> PrivacyStatement:
        """Make the statement of a fit.

        Parameters
        ----------
        alphas : sequence of float
            The α's of the private estimates, all rounds; 0 for those that left the
            weights alone.
        public : sequence of int or None
            Public columns, if they were read.
        """
        if not is_private(self.epsilon):
            return PrivacyStatement.not_private(self.learner)
        rounds = [alphas[:t] for t in range(self.n_rounds)]
        ledger = [
            entry
            for before in rounds
            for entry in (self._choice(before), self.estimate_entry(before))
            if entry is not None
        ]
        return state(
            self.learner,
            epsilon=self.epsilon,
            delta=self.delta,
            calibration=self.calibration,
            composition=self._amounts()[2],
            ledger=ledger,
            public=public,
        )
