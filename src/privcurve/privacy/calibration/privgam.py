"""Noise of PrivGAM, its ledger and its statement. Proofs: docs/privgam.md."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from privcurve.lazy import arithmetic
from privcurve.privacy.accountants.compose import BASIC, GAUSSIAN, MIXED
from privcurve.privacy.accountants.compose import ZCDP_CKS as ZCDP
from privcurve.privacy.accountants.cost import BOUNDED_RANGE_KIND, GAUSSIAN_KIND, ZCDP_KIND, Cost
from privcurve.privacy.budget import ADD_REMOVE, CERTIFIED, check_budget, is_private
from privcurve.privacy.calibration.search import calibrate
from privcurve.privacy.ledger import (
    ASSUMED_ESTIMATE,
    ASSUMED_ORDER,
    NOT_COVERED,
    NOT_FLOATS,
    LedgerEntry,
    PrivacyStatement,
    assumed_of,
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

# The sources of the public datasets that its rule's constants were set on: docs/privgam.md.
SET_ON = (
    "adult",
    "bank",
    "creditcard",
    "codrna",
    "mushroom",
    "magic",
    "page-blocks",
    "breast-cancer-wisconsin",
    "banknote",
    "winequality",
    "eeg-eye-state",
    "transfusion",
)
ASSUMED_RULE = (
    "the settings (public rule, fixed before and apart from these records, unless they are of the "
    f"public datasets that its constants were set on: {', '.join(SET_ON)})"
)
ASSUMED_SETTINGS = "the settings, which were given"


def flat_residual(n_classes: int) -> float:
    """Return the residual where all classes have one probability and δ > 0: √((K − 1)/(2K))."""
    return math.sqrt((n_classes - 1) / (2 * n_classes))


def cells(neighbours: str, pure: bool, n_classes: int = 2) -> float:
    """Sensitivity of the sums of residuals by (bin, label): L1 if pure, else L2.

    A record adds at most c to one cell: 2c and √2·c (replace-one), c (add/remove). Of more than
    two classes it adds c to one cell and c, in parts, to those of the others: twice that in L1,
    √2 times in L2. Source: docs/privgam.md, proofs 1 and 8 (proved, attained).
    """
    if n_classes == 2:
        return (histogram_l1 if pure else histogram_l2)(neighbours, CLIP)
    return 2 * histogram_l1(neighbours, CLIP) if pure else histogram_l2(neighbours, 2**0.5 * CLIP)


def edge_range(neighbours: str, n_classes: int = 2, norm: int = 1) -> float:
    """Range of the change of all columns' Σ_b |G_b|: 4c (replace-one), 2c (add/remove).

    Each is 1-Lipschitz in the L1 norm of G, the signed sums of residuals. Twice that of more than
    two classes; where these are clipped in L2, residuals are largest, above c, where all classes
    have one probability. Source: docs/privgam.md, proofs 2 and 8 (proved).
    """
    largest = flat_residual(n_classes) / CLIP if n_classes > 2 and norm == 2 else 1.0
    return score_range(largest * cells(neighbours, True, n_classes), neighbours)


def slopes(size: int, neighbours: str, pure: bool) -> float:
    """Sensitivity of `size` sums of residual times place: L1 if pure, else L2.

    A record adds c/2 to each, and c·√(size/4) at most to all. Source: docs/privgam.md, proof 3
    (proved).
    """
    return per_change(neighbours) * CLIP * (size / 2 if pure else math.sqrt(size / 4))


def products(size: int, neighbours: str, pure: bool) -> float:
    """Sensitivity of Σ uuᵀ, |u_i| ≤ 1/2: L1 of its upper triangle if pure, else Frobenius' norm.

    The first is size · (size + 1)/8, whether a record is replaced or added; the second √2·size/4
    (replace-one) or size/4 (add/remove). Source: docs/privgam.md, proof 3 (proved).
    """
    if pure:
        return size * (size + 1) / 8
    return math.sqrt(per_change(neighbours)) * size / 4


@dataclass(frozen=True)
class Budget:
    """A budget in the unit that shares of it add up in: ε where δ = 0, else μ; ∞ at ε = ∞.

    A share x of it gives a release xε of pure privacy; or, where δ > 0, √x·μ of Gaussian privacy,
    and a choice a range of 2√x·μ: both cost x of ρ = μ²/2. `bits` are those of the grid that sums
    and noise are on.
    """

    epsilon: float
    delta: float
    neighbours: str
    amount: float
    accountant: str
    bits: int = MOST_BITS
    n_classes: int = 2

    @property
    def pure(self) -> bool:
        """Whether δ = 0."""
        return self.delta == 0

    @property
    def private(self) -> bool:
        """Whether ε is finite."""
        return is_private(self.epsilon)

    @property
    def norm(self) -> int:
        """The norm of its noise, in which residuals of more than two classes are clipped."""
        return 1 if self.pure else 2

    def of_release(self, share: float) -> float:
        """Return what a release costs that has a share: ε, or sensitivity/σ."""
        return share * self.amount if self.pure else math.sqrt(share) * self.amount

    def of_choice(self, share: float) -> float:
        """Return what a choice costs that has a share: ε, or the length of its range."""
        return share * self.amount if self.pure else 2 * math.sqrt(share) * self.amount

    def sensitivity(self) -> float:
        """Return the sensitivity of the sums of a column, in the norm of the noise."""
        return cells(self.neighbours, self.pure, self.n_classes)

    def of_one_cell(self) -> float:
        """Return that of sums of which a record enters one alone: of records' own residuals."""
        return cells(self.neighbours, self.pure)

    def of_counts(self, n_columns: int) -> float:
        """Return that of all columns' sums of records' own residuals, before anything is asked."""
        largest = flat_residual(self.n_classes)
        return math.sqrt(n_columns) * histogram_l2(self.neighbours, largest)

    def of_slopes(self, size: int) -> float:
        """Return the sensitivity of the slopes of a linear part, in the norm of the noise."""
        return slopes(size, self.neighbours, self.pure)

    def of_products(self, size: int) -> float:
        """Return the sensitivity of its sums of products, in the norm of the noise."""
        return products(size, self.neighbours, self.pure)

    def beside_diagonal(self) -> float:
        """Return by how much the rate of the noise of products is larger beside the diagonal.

        In the norm of Frobenius such an element counts twice, so it takes noise of 1/√2 of the
        deviation; for Laplace noise there is no such thing (docs/privgam.md, proof 3).
        """
        return 1.0 if self.pure else math.sqrt(2)

    def slope_and_total(self, part: float) -> tuple[float, float] | None:
        """Return how much of the rate difference and total of two labels' sums have: √part, √rest.

        None where the sums themselves are released: an added record moves both by its residual, a
        replaced one the difference by up to twice that (docs/privgam.md, proof 1).
        """
        if self.pure or self.neighbours != ADD_REMOVE or self.n_classes > 2 or not self.private:
            return None
        return math.sqrt(part), math.sqrt(1 - part)

    def entry(self, announced: Announced, share: float) -> LedgerEntry:
        """Return the ledger's entry of a release or a choice that has a share."""
        amount = self.of_choice(share) if announced.score_range else self.of_release(share)
        return announced.entries(amount, self.pure)[0]

    def release(self, what: str, share: float, sensitivity: float) -> LedgerEntry:
        """Return the ledger's entry of a release."""
        numbers = Announced(what, l1=sensitivity, l2=sensitivity, source=SOURCE)
        return self.entry(numbers, share)

    def choice(self, what: str, share: float) -> LedgerEntry:
        """Return the ledger's entry of a choice among the columns."""
        scores = Announced(
            what, score_range=edge_range(self.neighbours, self.n_classes, self.norm), source=SOURCE
        )
        return self.entry(scores, share)

    def on_grid(self, rate: float, bits: int | None = None) -> int:
        """Return the scale of noise, 1/rate, on the grid, or on another one: rounded up.

        Raises ValueError if it has no room there: of a linear part of very many columns at a tiny
        ε.
        """
        scale = math.ceil(2.0 ** (self.bits if bits is None else bits) / rate)
        if scale > LARGEST_SCALE:
            raise ValueError(_no_room(self.epsilon))
        return scale


@lru_cache(maxsize=1024)
def gaussian_budget(epsilon: float, delta: float, neighbours: str) -> Budget:
    """Return the budget of Gaussian releases alone, by their exact composition."""
    check_budget(epsilon, delta)
    if not is_private(epsilon):
        return Budget(epsilon, delta, neighbours, math.inf, GAUSSIAN)
    mu = calibrate((Cost(GAUSSIAN_KIND, 1.0),), epsilon, delta, (GAUSSIAN,)).scale
    return Budget(epsilon, delta, neighbours, mu, GAUSSIAN)


@lru_cache(maxsize=1024)
def mixed_budget(epsilon: float, delta: float, neighbours: str) -> Budget:
    """Return the budget of choices and releases in any proportion: ε where δ = 0, else by zCDP."""
    check_budget(epsilon, delta)
    if delta == 0 or not is_private(epsilon):
        return Budget(epsilon, delta, neighbours, epsilon, BASIC)
    mu = calibrate((Cost(ZCDP_KIND, 1.0),), epsilon, delta, (ZCDP,)).scale
    return Budget(epsilon, delta, neighbours, mu, ZCDP)


@lru_cache(maxsize=1024)
def chosen_budget(
    epsilon: float, delta: float, neighbours: str, n_choices: int, choice_share: float
) -> Budget:
    """Return the budget of equal choices and Gaussian releases, for δ > 0.

    Each choice has `choice_share`, the releases the rest; the better of two accountants counts.
    """
    costs = (
        Cost(BOUNDED_RANGE_KIND, 2 * math.sqrt(choice_share), n_choices),
        Cost(GAUSSIAN_KIND, math.sqrt(1 - n_choices * choice_share)),
    )
    return Budget(epsilon, delta, neighbours, *calibrate(costs, epsilon, delta, (ZCDP, MIXED)))


def grid_bits(budget: Budget, least_share: float) -> int:
    """Return the bits of a grid on which noise has room, from the smallest share of a call on.

    Raises ValueError if the noise is so large that there is none.
    """
    if not budget.private:
        return MOST_BITS
    least = min(budget.of_release(least_share), budget.of_choice(least_share))
    room = (
        arithmetic.log2(LARGEST_SCALE)
        - 1
        - arithmetic.log2(edge_range(budget.neighbours, budget.n_classes, budget.norm) / least)
    )
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
    """Make the statement of a fit; `by_rule` if all settings are those of the public rule.

    Its sums are whole numbers and its noise exact, so floating point is not excluded.
    """
    if not budget.private:
        return PrivacyStatement.not_private("privgam")
    estimated = (ASSUMED_ESTIMATE,) if budget.neighbours == ADD_REMOVE else ()
    settings = ASSUMED_RULE if by_rule else ASSUMED_SETTINGS
    return PrivacyStatement(
        learner="privgam",
        epsilon=budget.epsilon,
        delta=budget.delta,
        neighbours=budget.neighbours,
        calibration=CERTIFIED,
        composition=budget.accountant,
        ledger=tuple(ledger),
        assumptions=(*assumed_of(budget.neighbours), *estimated, ASSUMED_ORDER, settings),
        exclusions=tuple(text for text in NOT_COVERED if text != NOT_FLOATS),
    )
