"""Divide the budget of a fit into shares, each of which pays for one mechanism call."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

from privcurve.privacy.accountants.compose import BASIC, GAUSSIAN
from privcurve.privacy.accountants.compose import ZCDP_CKS as ZCDP
from privcurve.privacy.accountants.cost import GAUSSIAN_KIND, ZCDP_KIND, Cost
from privcurve.privacy.budget import is_private
from privcurve.privacy.calibration.search import calibrate
from privcurve.privacy.ledger import LedgerEntry
from privcurve.privacy.noise import Announced


@dataclass(frozen=True)
class SharedBudget:
    """A budget that mechanism calls spend in shares, which must add up to at most 1.

    If δ = 0, a share x pays for an xε-DP call. If δ > 0, a share x pays for a Gaussian release with
    sensitivity/σ = √x·μ, or for a choice with the bounded range 2√x·μ: both cost x·ρ, with ρ =
    μ²/2.
    """

    epsilon: float
    delta: float
    neighbours: str
    amount: float  # ε if δ = 0, else μ; infinite at ε = ∞
    accountant: str

    @property
    def pure(self) -> bool:
        """Whether δ = 0."""
        return self.delta == 0

    @property
    def private(self) -> bool:
        """Whether ε is finite."""
        return is_private(self.epsilon)

    def entry(self, announced: Announced, share: float) -> LedgerEntry:
        """Return the ledger entry of a release or a choice that a share pays for."""
        if self.pure:
            return announced.entries(share * self.amount, True)[0]
        # The amount of a release is sensitivity/σ. The amount of a choice is its bounded range,
        # which is twice as large for the same ρ.
        amount = math.sqrt(share) * self.amount * (2 if announced.score_range else 1)
        return announced.entries(amount, False)[0]


@lru_cache(maxsize=1024)
def gaussian_budget(epsilon: float, delta: float, neighbours: str) -> SharedBudget:
    """Return a budget for Gaussian releases alone, by their exact composition; δ must be > 0."""
    if not is_private(epsilon):
        return SharedBudget(epsilon, delta, neighbours, math.inf, GAUSSIAN)
    mu = calibrate((Cost(GAUSSIAN_KIND, 1.0),), epsilon, delta, (GAUSSIAN,)).scale
    return SharedBudget(epsilon, delta, neighbours, mu, GAUSSIAN)


@lru_cache(maxsize=1024)
def mixed_budget(epsilon: float, delta: float, neighbours: str) -> SharedBudget:
    """Return a budget for choices and releases: an ε if δ = 0, else a ρ of zCDP."""
    if delta == 0 or not is_private(epsilon):
        return SharedBudget(epsilon, delta, neighbours, epsilon, BASIC)
    mu = calibrate((Cost(ZCDP_KIND, 1.0),), epsilon, delta, (ZCDP,)).scale
    return SharedBudget(epsilon, delta, neighbours, mu, ZCDP)
