"""Noise of PrivGAM, its ledger and its statement. Proofs: docs/privgam.md."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from privcurve.privacy.accountants.compose import BASIC, GAUSSIAN, MIXED
from privcurve.privacy.accountants.compose import ZCDP_CKS as ZCDP
from privcurve.privacy.accountants.cost import BOUNDED_RANGE_KIND, GAUSSIAN_KIND, ZCDP_KIND, Cost
from privcurve.privacy.budget import ADD_REMOVE, CERTIFIED, check_budget, is_private
from privcurve.privacy.calibration.search import calibrate
from privcurve.privacy.ledger import (
    ASSUMED,
    ASSUMED_N,
    NOT_COVERED,
    NOT_FLOATS,
    LedgerEntry,
    PrivacyStatement,
)
from privcurve.privacy.mechanisms import LARGEST_SCALE, score_range
from privcurve.privacy.noise import Announced
from privcurve.privacy.sensitivity.counts import histogram_l1, histogram_l2, per_change

SOURCE = "docs/privgam.md"

# A logistic residual is clipped here: half of the noise, and the same decision (docs/privgam.md).
CLIP = 0.5

# Residuals are whole multiples of 2^-bits; more bits than this gain nothing.
MOST_BITS = 30
LEAST_BITS = 8
# Records whose sums stay below 2^61 in units of 2^-30.
MOST_RECORDS = 2**31

# The public datasets whose test rows its rule's constants were set on: docs/privgam.md.
SET_ON = ("adult", "bank", "creditcard", "codrna", "mushroom", "magic")
ASSUMED_RULE = (
    "the settings (public rule, fixed before and apart from these records, unless they are of the "
    f"public datasets that its constants were set on: {', '.join(SET_ON)})"
)
ASSUMED_SETTINGS = "the settings, which were given"
ASSUMED_ORDER = "which columns are ordered"
ASSUMED_ESTIMATE = "an estimate of the number of records (the number itself is not public)"


def cells_l1(clip: float, neighbours: str) -> float:
    """L1 sensitivity of the sums of residuals by (bin, label): 2c (replace-one), c (add/remove).

    A record adds at most c to one cell. Source: docs/privgam.md, proof 1 (proved, attained).
    """
    return histogram_l1(neighbours, clip)


def cells_l2(clip: float, neighbours: str) -> float:
    """L2 sensitivity of the sums of residuals by (bin, label): √2·c (replace-one), c (add/remove).

    Source: docs/privgam.md, proof 1 (proved, attained).
    """
    return histogram_l2(neighbours, clip)


def edge_range(clip: float, neighbours: str) -> float:
    """Range of the change of all columns' Σ_b |G_b|: 4c (replace-one), 2c (add/remove).

    Each is 1-Lipschitz in the L1 norm of G, the signed sums of residuals. Source:
    docs/privgam.md, proof 2 (proved).
    """
    return score_range(cells_l1(clip, neighbours), neighbours)


def slopes_l1(clip: float, size: int, neighbours: str) -> float:
    """L1 sensitivity of sums of residual times place, `size` of them: a record adds c/2 to each.

    Source: docs/privgam.md, proof 3 (proved).
    """
    return per_change(neighbours) * clip * size / 2


def slopes_l2(clip: float, size: int, neighbours: str) -> float:
    """L2 sensitivity of sums of residual times place: a record adds at most c·√(size/4).

    Source: docs/privgam.md, proof 3 (proved).
    """
    return per_change(neighbours) * clip * math.sqrt(size / 4)


def products_l1(size: int) -> float:
    """L1 sensitivity of the upper triangle of Σ uuᵀ, |u_i| ≤ 1/2: size · (size + 1)/8.

    It is the same for a record that is replaced and for one that is added. Source:
    docs/privgam.md, proof 3 (proved).
    """
    return size * (size + 1) / 8


def products_l2(size: int, neighbours: str) -> float:
    """Sensitivity of Σ uuᵀ in the norm of Frobenius: √2·size/4 (replace-one), size/4 (add/remove).

    Source: docs/privgam.md, proof 3 (proved).
    """
    return math.sqrt(per_change(neighbours)) * size / 4


@dataclass(frozen=True)
class Budget:
    """A budget in the unit that shares of it add up in.

    A share x of it gives a release xε of pure privacy; or, where δ > 0, √x·μ of Gaussian privacy,
    and a choice a range of 2√x·μ: both cost x of ρ = μ²/2.

    Attributes
    ----------
    epsilon, delta : float
    neighbours : str
    amount : float
        ε where δ = 0, else μ; infinite at ε = ∞.
    accountant : str
    bits : int
        Of the grid that sums and noise are on.
    """

    epsilon: float
    delta: float
    neighbours: str
    amount: float
    accountant: str
    bits: int = MOST_BITS

    @property
    def pure(self) -> bool:
        """Whether δ = 0."""
        return self.delta == 0

    @property
    def private(self) -> bool:
        """Whether ε is finite."""
        return is_private(self.epsilon)

    def of_release(self, share: float) -> float:
        """Return what a release costs that has a share: ε, or sensitivity/σ."""
        return share * self.amount if self.pure else math.sqrt(share) * self.amount

    def of_choice(self, share: float) -> float:
        """Return what a choice costs that has a share: ε, or the length of its range."""
        return share * self.amount if self.pure else 2 * math.sqrt(share) * self.amount

    def sensitivity(self) -> float:
        """Return the sensitivity of the sums of a column, in the norm of the noise."""
        bound = cells_l1 if self.pure else cells_l2
        return bound(CLIP, self.neighbours)

    def of_slopes(self, size: int) -> float:
        """Return the sensitivity of the slopes of a linear part, in the norm of the noise."""
        bound = slopes_l1 if self.pure else slopes_l2
        return bound(CLIP, size, self.neighbours)

    def of_products(self, size: int) -> float:
        """Return the sensitivity of its sums of products, in the norm of the noise."""
        return products_l1(size) if self.pure else products_l2(size, self.neighbours)

    def beside_diagonal(self, rate: float) -> float:
        """Return the rate of the noise of products beside the diagonal.

        In the norm of Frobenius such an element counts twice, so it takes noise of 1/√2 of the
        deviation; for Laplace noise there is no such thing (docs/privgam.md, proof 3).
        """
        return rate if self.pure else rate / math.sqrt(0.5)

    def release(self, what: str, share: float, sensitivity: float) -> LedgerEntry:
        """Return the ledger's entry of a release."""
        numbers = Announced(what, l1=sensitivity, l2=sensitivity, source=SOURCE)
        return numbers.entries(self.of_release(share), self.pure)[0]

    def choice(self, what: str, share: float) -> LedgerEntry:
        """Return the ledger's entry of a choice among the columns."""
        scores = Announced(what, score_range=edge_range(CLIP, self.neighbours), source=SOURCE)
        return scores.entries(self.of_choice(share), self.pure)[0]

    def on_grid(self, rate: float, bits: int | None = None) -> int:
        """Return the scale of noise, 1/rate, on the grid, or on another one: rounded up.

        Raises
        ------
        ValueError
            If it has no room there: of a linear part of very many columns at a tiny ε.
        """
        scale = math.ceil(2.0 ** (self.bits if bits is None else bits) / rate)
        if scale > LARGEST_SCALE:
            raise ValueError(_no_room(self.epsilon))
        return scale


@lru_cache(maxsize=1024)
def gaussian_budget(epsilon: float, delta: float, neighbours: str) -> Budget:
    """Return the budget of Gaussian releases alone, by their exact composition.

    Raises
    ------
    ValueError
        If the budget is out of range, or δ = 0.
    """
    check_budget(epsilon, delta)
    if not is_private(epsilon):
        return Budget(epsilon, delta, neighbours, math.inf, GAUSSIAN)
    mu = calibrate((Cost(GAUSSIAN_KIND, 1.0),), epsilon, delta, (GAUSSIAN,)).scale
    return Budget(epsilon, delta, neighbours, mu, GAUSSIAN)


@lru_cache(maxsize=1024)
def mixed_budget(epsilon: float, delta: float, neighbours: str) -> Budget:
    """Return the budget of choices and releases in any proportion: ε where δ = 0, else by zCDP.

    Raises
    ------
    ValueError
        If the budget is out of range.
    """
    check_budget(epsilon, delta)
    if delta == 0 or not is_private(epsilon):
        return Budget(epsilon, delta, neighbours, epsilon, BASIC)
    mu = calibrate((Cost(ZCDP_KIND, 1.0),), epsilon, delta, (ZCDP,)).scale
    return Budget(epsilon, delta, neighbours, mu, ZCDP)


@lru_cache(maxsize=1024)
def chosen_budget(
    epsilon: float, delta: float, neighbours: str, n_choices: int, choice_share: float
) -> Budget:
    """Return the budget of equal choices and Gaussian releases, by the better of two accountants.

    Parameters
    ----------
    epsilon, delta : float
        ε finite, δ above 0.
    neighbours : str
    n_choices : int
    choice_share : float
        Of each; the rest is for releases.
    """
    costs = (
        Cost(BOUNDED_RANGE_KIND, 2 * math.sqrt(choice_share), n_choices),
        Cost(GAUSSIAN_KIND, math.sqrt(1 - n_choices * choice_share)),
    )
    found = calibrate(costs, epsilon, delta, (ZCDP, MIXED))
    return Budget(epsilon, delta, neighbours, found.scale, found.accountant)


def grid_bits(budget: Budget, least_share: float) -> int:
    """Return the bits of a grid on which all scales of noise have room.

    Parameters
    ----------
    budget : Budget
    least_share : float
        The smallest share of a release or choice.

    Raises
    ------
    ValueError
        If the noise is so large that there is none.
    """
    if not budget.private:
        return MOST_BITS
    least = min(budget.of_release(least_share), budget.of_choice(least_share))
    room = math.log2(LARGEST_SCALE) - 1 - math.log2(edge_range(CLIP, budget.neighbours) / least)
    bits = min(MOST_BITS, math.floor(room))
    if bits < LEAST_BITS:
        raise ValueError(_no_room(budget.epsilon))
    return bits


def _no_room(epsilon: float) -> str:
    return (
        f"privgam: epsilon = {epsilon:g} is so small that its noise has no room in 64 bits: give a "
        "larger one"
    )


def statement(budget: Budget, ledger: Sequence[LedgerEntry], by_rule: bool) -> PrivacyStatement:
    """Make the statement of a fit.

    Its sums are whole numbers and its noise exact, so floating point is not excluded.

    Parameters
    ----------
    budget : Budget
    ledger : sequence of LedgerEntry
        All releases and choices.
    by_rule : bool
        Whether all settings are those of the public rule.
    """
    if not budget.private:
        return PrivacyStatement.not_private("privgam")
    assumed = [fact for fact in ASSUMED if fact != ASSUMED_N or budget.neighbours != ADD_REMOVE]
    if budget.neighbours == ADD_REMOVE:
        assumed.append(ASSUMED_ESTIMATE)
    return PrivacyStatement(
        learner="privgam",
        epsilon=budget.epsilon,
        delta=budget.delta,
        neighbours=budget.neighbours,
        calibration=CERTIFIED,
        composition=budget.accountant,
        ledger=tuple(ledger),
        assumptions=(*assumed, ASSUMED_ORDER, ASSUMED_RULE if by_rule else ASSUMED_SETTINGS),
        exclusions=tuple(text for text in NOT_COVERED if text != NOT_FLOATS),
    )
