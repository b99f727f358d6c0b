"""Noise of PrivGAM, its ledger and its statement. Proofs: docs/proofs.md, 'PrivGAM'."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from privcurve.lazy import arithmetic
from privcurve.privacy.accountants.compose import BASIC, GAUSSIAN
from privcurve.privacy.accountants.compose import ZCDP_CKS as ZCDP
from privcurve.privacy.accountants.cost import GAUSSIAN_KIND, ZCDP_KIND, Cost
from privcurve.privacy.budget import ADD_REMOVE, PROVED, check_budget, is_private
from privcurve.privacy.calibration.search import calibrate
from privcurve.privacy.ledger import (
    ASSUMED_ESTIMATE,
    ASSUMED_ORDER,
    NOT_COVERED,
    NOT_FLOATS,
    LedgerEntry,
    PrivacyStatement,
    assumptions_for,
)
from privcurve.privacy.mechanisms import LARGEST_SCALE, score_range
from privcurve.privacy.noise import Announced
from privcurve.privacy.sensitivity.counts import histogram_l1, histogram_l2, touched_cells

SOURCE = "docs/proofs.md, 'PrivGAM'"

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


def sums_sensitivity(neighbours: str, pure: bool, n_classes: int = 2) -> float:
    """Return the sensitivity of the sums of residuals by (bin, label): L1 if pure, else L2.

    A record adds at most c to one cell: 2c and √2·c (replace-one), c (add/remove). Of more than
    two classes it adds c to one cell and c, in parts, to those of the others: twice that in L1,
    √2 times in L2. Source: docs/proofs.md, 'PrivGAM', 1 and 6 (proved, attained).
    """
    times = 1 if n_classes == 2 else 2
    if pure:
        return times * histogram_l1(neighbours, CLIP)
    return histogram_l2(neighbours, math.sqrt(times) * CLIP)


def stump_range(neighbours: str) -> float:
    """Return the range of the change of stumps' scores: 4c (replace-one), 2c (add/remove).

    Each moves by the record's residual, up for some stumps and down for others. Source:
    docs/proofs.md, 'PrivGAM', 2 (proved).
    """
    return score_range(sums_sensitivity(neighbours, True), neighbours)


def slopes_l2(size: int, neighbours: str) -> float:
    """Return the L2 sensitivity of `size` sums of residual × place; a record adds ≤ c·√(size/4).

    Source: docs/proofs.md, 'PrivGAM', 3 (proved).
    """
    return touched_cells(neighbours) * CLIP * math.sqrt(size / 4)


def products_l2(size: int, neighbours: str) -> float:
    """Return the L2 sensitivity of the upper triangle of Σ uuᵀ, |u_i| ≤ 1/2.

    Its square is half of that of the matrix, k·size²/16 (k = 2 replace-one, 1 add/remove), and half
    of that of its diagonal, size/16. Source: docs/proofs.md, 'PrivGAM', 3 (proved).
    """
    return math.sqrt((touched_cells(neighbours) * (size * size) + size) / 32)


@dataclass(frozen=True)
class Budget:
    """A budget in the unit in which its shares add up: ε if δ = 0, else μ; ∞ at ε = ∞.

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

    def release_cost(self, share: float) -> float:
        """Return the cost of a release with a share: ε, or sensitivity/σ."""
        return share * self.amount if self.pure else math.sqrt(share) * self.amount

    def choice_cost(self, share: float) -> float:
        """Return the cost of a choice with a share: ε, or the length of its range."""
        return share * self.amount if self.pure else 2 * math.sqrt(share) * self.amount

    def sensitivity(self) -> float:
        """Return the sensitivity of the sums of a column, in the norm of the noise."""
        return sums_sensitivity(self.neighbours, self.pure, self.n_classes)

    @property
    def flat_residual(self) -> float:
        """The residual if all of several classes have equal probabilities."""
        return CLIP if self.pure else math.sqrt((self.n_classes - 1) / (2 * self.n_classes))

    def counts_sensitivity(self, n_columns: int) -> float:
        """Return the sensitivity of all columns' sums of own residuals before anything is asked."""
        if self.pure:
            return n_columns * histogram_l1(self.neighbours, self.flat_residual)
        return math.sqrt(n_columns) * histogram_l2(self.neighbours, self.flat_residual)

    def entry(self, announced: Announced, share: float) -> LedgerEntry:
        """Return the ledger entry of a release or a choice with a share."""
        amount = self.choice_cost(share) if announced.score_range else self.release_cost(share)
        return announced.entries(amount, self.pure)[0]

    def release(self, what: str, share: float, sensitivity: float) -> LedgerEntry:
        """Return the ledger's entry of a release."""
        numbers = Announced(what, l1=sensitivity, l2=sensitivity, source=SOURCE)
        return self.entry(numbers, share)

    def choice(self, what: str, share: float) -> LedgerEntry:
        """Return the ledger's entry of a choice of a stump."""
        scores = Announced(what, score_range=stump_range(self.neighbours), source=SOURCE)
        return self.entry(scores, share)

    def grid_scale(self, rate: float, bits: int | None = None) -> int:
        """Return the scale of noise, 1/rate, on the grid, or on another one: rounded up.

        Raises ValueError if it has no room there: of a linear part of very many columns at a tiny
        ε.
        """
        scale = math.ceil(2.0 ** (self.bits if bits is None else bits) / rate)
        if scale > LARGEST_SCALE:
            raise ValueError(_no_room_message(self.epsilon))
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


def grid_bits(budget: Budget, least_share: float, n_columns: int) -> int:
    """Return the bits of a grid on which noise has room, from the smallest share of a call on.

    Raises ValueError if the noise is so large that there is none.
    """
    if not budget.private:
        return MOST_BITS
    largest = max(stump_range(budget.neighbours), slopes_l2(n_columns + 1, budget.neighbours))
    if budget.n_classes > 2 or not budget.pure:
        largest = max(largest, budget.counts_sensitivity(n_columns))
    room = arithmetic.log2(LARGEST_SCALE / 2 * budget.release_cost(least_share) / largest)
    bits = min(MOST_BITS, math.floor(room))
    if bits < LEAST_BITS:
        raise ValueError(_no_room_message(budget.epsilon))
    return bits


def _no_room_message(epsilon: float) -> str:
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
        calibration=PROVED,
        composition=budget.accountant,
        ledger=tuple(ledger),
        status=PROVED,
        assumptions=(*assumptions_for(budget.neighbours), *estimated, ASSUMED_ORDER, settings),
        exclusions=tuple(text for text in NOT_COVERED if text != NOT_FLOATS),
    )
