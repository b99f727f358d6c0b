"""From a budget (ε, δ) to the noise of distributed trees: what each message costs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from privcurve.coding import Floats
from privcurve.privacy.accountants.compose import BASIC
from privcurve.privacy.accountants.cost import BOUNDED_RANGE_KIND, GAUSSIAN_KIND, Cost
from privcurve.privacy.budget import CERTIFIED, check_budget, is_private
from privcurve.privacy.calibration.search import calibrate
from privcurve.privacy.ledger import LedgerEntry, PrivacyStatement
from privcurve.privacy.mechanisms import EXPONENTIAL, GAUSSIAN, LAPLACE
from privcurve.privacy.noise import Announced, frozen
from privcurve.privacy.public_facts import state
from privcurve.privacy.sensitivity.counts import (
    feature_histograms_l1,
    feature_histograms_l2,
)
from privcurve.privacy.sensitivity.impurity import split_range, split_sensitivity

SINGLE = "single"
NOISY_COUNTS = "noisy_counts"
LOCAL_RNM = "local_rnm"

DECAY = "decay"
UNIFORM = "uniform"
LEVELS = "levels"

FOLLOWED = "that every holder follows the protocol"
SIZES = "the number of records of each holder"
WHERE = "which holder has which record"
ONLY_SUMS = "that the secure sum shows the coordinator nothing but sums"
NOT_DROPOUTS = "holders that drop out or send other numbers than the protocol asks for"
NODES = "the nodes of a tree's level, and the holders"


@dataclass(frozen=True)
class LevelNoise:
    """Noise of a tree that is grown by levels.

    Attributes
    ----------
    ranges : ndarray of shape (n_levels,)
        ε of the votes of a level; 0: there are none. Read-only.
    amounts : ndarray of shape (n_levels,)
        Of the histograms of a level: ε with Laplace noise, sensitivity over σ with Gaussian
        noise. Read-only; infinite at ε = ∞, as `ranges`.
    mechanism : str
        ``laplace`` or ``gaussian``.
    statement : PrivacyStatement
    """

    ranges: Floats
    amounts: Floats
    mechanism: str
    statement: PrivacyStatement

    @property
    def votes(self) -> bool:
        """Whether holders vote."""
        return bool(self.ranges[0] > 0)

    def vote_rate(self, level: int, size: int, criterion: str) -> float:
        """Give the rate of a holder's votes on a level; 0 where F is the same for all records.

        Parameters
        ----------
        level : int
            From 0.
        size : int
            Records of the holder, in all nodes.
        criterion : str
            Whose F scores a question.
        """
        if math.isinf(self.ranges[level]):
            return math.inf
        change = split_range(max(size, 1), criterion)
        return float(self.ranges[level]) / change if change else 0.0

    def vote_what(self, level: int) -> str:
        """Return what the ledger calls the votes of a level; nothing where nothing is private."""
        ledger = self.statement.ledger
        return ledger[2 * level].what if ledger else ""

    def counts_what(self, level: int) -> str:
        """Return what the ledger calls the histograms of a level."""
        ledger = self.statement.ledger
        return ledger[(2 if self.votes else 1) * (level + 1) - 1].what if ledger else ""

    def counts_scale(self, level: int, n_columns: int) -> float:
        """Give the scale of the noise of the histograms of some columns at a node."""
        amount = float(self.amounts[level])
        return histograms_sensitivity(n_columns, self.mechanism) / amount


def histograms_sensitivity(n_columns: int, mechanism: str) -> float:
    """Give the sensitivity of some columns' histograms, in the norm of the mechanism."""
    if mechanism == LAPLACE:
        return feature_histograms_l1(n_columns)
    return feature_histograms_l2(n_columns)


@lru_cache(maxsize=256)
def level_holders(
    *,
    depth: int,
    votes: bool,
    vote_share: float,
    budget: str,
    criterion: str,
    n: int,
    n_columns: int,
    epsilon: float,
    delta: float,
    trust: str,
    n_colluding: int,
) -> LevelNoise:
    """Calibrate a tree that is grown by levels (PRIVACY.md §e, certified; docs/privacy.md).

    A level has votes and histograms, or histograms alone. δ = 0: shares of ε; δ > 0: shares of
    ρ, the histograms with Gaussian noise.

    Parameters
    ----------
    depth : int
        Levels of splits.
    votes : bool
        Whether holders vote for columns first.
    vote_share : float
        Share of the votes in a level's budget.
    budget : str
        ``levels``: equal; ``decay``: 2^−d.
    criterion : str
    n : int
        Records of the largest holder, for the ledger.
    n_columns : int
        Columns of a histogram without votes, for the ledger.
    epsilon, delta : float
    trust : str
    n_colluding : int

    Returns
    -------
    LevelNoise
    """
    check_budget(epsilon, delta)
    if budget == UNIFORM:
        raise ValueError(
            f"budget = {UNIFORM!r} is for calibration='published'; certified trees have "
            f"{LEVELS!r} or {DECAY!r}"
        )
    mechanism = LAPLACE if delta == 0 else GAUSSIAN
    share = vote_share if votes else 0.0
    if not is_private(epsilon):
        whole = frozen(np.full(depth, math.inf))
        none = PrivacyStatement.not_private("distributed_topdown")
        return LevelNoise(whole if votes else frozen(np.zeros(depth)), whole, mechanism, none)
    weights = np.ones(depth) if budget == LEVELS else 2.0 ** -np.arange(depth)
    weights /= weights.sum()
    if delta == 0:
        ranges, amounts = share * epsilon * weights, (1 - share) * epsilon * weights
        accountant = BASIC
    else:
        # ρ of a choice is its range squared over 8, of Gaussian noise its amount squared over 2.
        ranges, amounts = np.sqrt(8 * share * weights), np.sqrt(2 * (1 - share) * weights)
        costs = [Cost(GAUSSIAN_KIND, float(amount)) for amount in amounts]
        costs += [Cost(BOUNDED_RANGE_KIND, float(one)) for one in ranges if votes]
        found = calibrate(tuple(costs), epsilon, delta)
        ranges, amounts, accountant = ranges * found.scale, amounts * found.scale, found.accountant
    counted = "all columns"
    if votes:
        grows = "variance" if delta else "scale"
        counted = f"each voted column (of c of them: c times the {grows})"
    ledger: list[LedgerEntry] = []
    for level in range(depth):
        if votes:
            last = level == depth - 1
            bound = split_sensitivity(max(n, 2), "zero_one" if last else criterion)
            each = float(ranges[level])
            what = f"level {level + 1}: votes of a holder at all nodes, by its number of records"
            call = Announced(
                what, score_range=2 * bound, by=EXPONENTIAL, calls=2**level, parallel=NODES,
                source="PRIVACY.md §0 L2, L3; §e (certified)",
            )  # fmt: skip
            ledger += call.entries(each, delta == 0)
        amount = float(amounts[level])
        bound = histograms_sensitivity(1 if votes else n_columns, mechanism)
        what = f"level {level + 1}: histograms of {counted}, all nodes"
        call = Announced(
            what, l1=bound, l2=bound, calls=2**level, parallel=NODES,
            source="PRIVACY.md §e4, certified",
        )  # fmt: skip
        ledger += call.entries(amount, delta == 0)
    return LevelNoise(
        frozen(ranges),
        frozen(amounts),
        mechanism,
        holders_statement(
            "distributed_topdown", epsilon, delta, accountant, ledger, trust, n_colluding
        ),
    )


def holders_statement(
    learner: str,
    epsilon: float,
    delta: float,
    accountant: str,
    ledger: list[LedgerEntry],
    trust: str,
    n_colluding: int,
) -> PrivacyStatement:
    """State what a certified protocol guarantees, and under which trust.

    A record of one holder is protected from the coordinator, from other holders, and from
    whoever has the model: only that holder's messages depend on it, so that costs of holders
    do not add up. Under a secure sum a holder that wants to know takes its own share of the
    noise off the sum: it is one of the `n_colluding`. With none, the guarantee is for the
    coordinator and whoever has the model (docs/distributed.md, Who sees what).
    """
    assumptions: list[str] = []
    exclusions: list[str] = []
    if trust != "central":
        assumptions += [SIZES, WHERE, FOLLOWED]
        exclusions.append(NOT_DROPOUTS)
    if trust == "secure_sum":
        assumptions.append(ONLY_SUMS)
        others = "no other holder uses or tells its share of the noise"
        if n_colluding:
            tell = "holder uses or tells its share"
            if n_colluding > 1:
                tell = "holders use or tell their shares"
            others = f"at most {n_colluding} other {tell} of the noise"
        assumptions.append(f"that {others}")
    return state(
        learner,
        epsilon=epsilon,
        delta=delta,
        calibration=CERTIFIED,
        composition=accountant,
        ledger=ledger,
        assumptions=assumptions,
        exclusions=exclusions,
    )
