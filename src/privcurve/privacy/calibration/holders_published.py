"""The noise of the published distributed trees, as printed, and what it is worth."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

from privcurve.privacy.accountants.compose import BASIC
from privcurve.privacy.budget import PUBLISHED, check_budget, is_private
from privcurve.privacy.calibration.holders import (
    DECAY,
    FOLLOWED,
    LEVELS,
    LOCAL_RNM,
    NOISY_COUNTS,
    NOT_DROPOUTS,
    SINGLE,
    SIZES,
    UNIFORM,
    WHERE,
)
from privcurve.privacy.ledger import (
    NOT_PROVED,
    REFUTED,
    LedgerEntry,
    PrivacyStatement,
)
from privcurve.privacy.mechanisms import LAPLACE
from privcurve.privacy.public_facts import state
from privcurve.privacy.sensitivity.counts import noisy_counts_published
from privcurve.privacy.sensitivity.impurity import distributed_split_published


@dataclass(frozen=True)
class PublishedNoise:
    """Noise of Algorithm 1, as printed.

    Attributes
    ----------
    protocol : str
        ``single``, ``noisy_counts`` or ``local_rnm``.
    epsilon : float
        α.
    leaf_share : float
        LPF.
    budget : str
        ``decay`` or ``uniform``.
    n_splits : int
        M.
    statement : PrivacyStatement
    """

    protocol: str
    epsilon: float
    leaf_share: float
    budget: str
    n_splits: int
    statement: PrivacyStatement

    def level(self, depth: int) -> float:
        """Give a_d = (1 − LPF)·α·B(d); the root has depth 1."""
        share = 2.0**-depth if self.budget == DECAY else 1 / self.n_splits
        return (1 - self.leaf_share) * self.epsilon * share

    def split_budget(self, depth: int) -> float:
        """Give α′ of PrivateSplit: all of a_1 at the root, half of a_d below."""
        return self.level(depth) if depth == 1 else self.level(depth) / 2

    def weight_scale(self, depth: int) -> float:
        """Give the scale of a count's noise, 2/a_d."""
        return 2 / self.level(depth)

    def families_scale(self, budget: float, n_questions: int) -> float:
        """Give the scale of NoisyCounts, 3|H|/α′ (A3: the other one printed is a typo)."""
        return noisy_counts_published(n_questions) / budget

    @property
    def label_scale(self) -> float:
        """Give the scale of a leaf's counts: 2/(LPF·α) of one machine, else 1/(LPF·α)."""
        return (2 if self.protocol == SINGLE else 1) / (self.leaf_share * self.epsilon)


@lru_cache(maxsize=256)
def published_holders(
    *,
    protocol: str,
    criterion: str,
    budget: str,
    leaf_share: float,
    n_splits: int,
    epsilon: float,
    delta: float,
) -> PublishedNoise:
    """Give the noise of the published protocols, and say what it is worth.

    Parameters
    ----------
    protocol, criterion : str
    budget : str
        ``decay`` (2^−d) or ``uniform`` (1/M).
    leaf_share : float
        LPF, in (0, 1).
    n_splits : int
        M.
    epsilon, delta : float

    Returns
    -------
    PublishedNoise

    Raises
    ------
    ValueError
        If δ > 0, or the paper has no formula for what is asked.
    """
    check_budget(epsilon, delta)
    if delta > 0:
        raise ValueError(
            "the published calibration of distributed trees has delta = 0 alone: use "
            "calibration='certified'"
        )
    if budget == LEVELS:
        raise ValueError(
            f"budget = {LEVELS!r} is for calibration='certified'; published trees have "
            f"{DECAY!r} or {UNIFORM!r}"
        )
    if protocol != NOISY_COUNTS:
        distributed_split_published(2, criterion)
    statement = PrivacyStatement.not_private("distributed_topdown")
    if is_private(epsilon):
        statement = _published_statement(protocol, budget, leaf_share, n_splits, epsilon)
    return PublishedNoise(protocol, epsilon, leaf_share, budget, n_splits, statement)


# What the claim of each published protocol is worth for a replaced record.
_CAVEATS = {
    SINGLE: (
        REFUTED,
        "noise is scaled by the exact number of records of a node, nodes of fewer than two "
        "records show, and the noisy maximum is released beside the question (PRIVACY.md §e1, "
        "§e2)",
        math.inf,
    ),
    NOISY_COUNTS: (
        REFUTED,
        "counts have the noise for an added record, whose number would then not be public; a "
        "replaced one costs twice as much (PRIVACY.md §e4)",
        2.0,
    ),
    LOCAL_RNM: (
        NOT_PROVED,
        "counts and labels have the noise for an added record, and the noise of votes is scaled "
        "by the exact number of a holder's records in a node (PRIVACY.md §e2, §e4)",
        None,
    ),
}


def _published_statement(
    protocol: str, budget: str, leaf_share: float, n_splits: int, epsilon: float
) -> PrivacyStatement:
    growth = (1 - leaf_share) * epsilon
    level = growth / 2 if budget == DECAY else growth / n_splits
    weights = (growth - level) / 2
    # In units of Δ(m), of one machine.
    bound = 2.0 if protocol == SINGLE else noisy_counts_published(1)
    ledger = [
        LedgerEntry(
            LAPLACE,
            f"questions and gains of all nodes ({protocol}): the root has {level:.4g}, the "
            f"levels below half of their budgets ({budget}); the rate is that of the root, for "
            + ("a gain" if protocol == SINGLE else "one question"),
            level / bound,
            bound,
            growth - weights,
            source="the paper's Algorithm 1 and Theorem 15; PRIVACY.md §e: not so",
        ),
        LedgerEntry(
            LAPLACE,
            "labels of all leaves",
            leaf_share * epsilon / (2 if protocol == SINGLE else 1),
            2.0 if protocol == SINGLE else 1.0,
            leaf_share * epsilon,
            source="the paper's Corollary 16",
        ),
    ]
    if weights > 0:
        ledger.append(
            LedgerEntry(
                LAPLACE,
                "weights of all nodes below the root: half of the budget of each level",
                level / 4,
                2.0,
                weights,
                source="the paper's Algorithm 1, line 10; PRIVACY.md §e5: a replaced record "
                "costs twice that",
            )
        )
    status, caveat, factor = _CAVEATS[protocol]
    if budget == UNIFORM:
        over = (n_splits + 1) / n_splits
        factor = None if factor is None else factor * over
        caveat += f"; and a chain of {n_splits} splits spends {over:.4g} times the budget"
    alone = protocol == SINGLE
    return state(
        "distributed_topdown",
        epsilon=epsilon,
        delta=0.0,
        calibration=PUBLISHED,
        composition=BASIC,
        ledger=ledger,
        assumptions=() if alone else (SIZES, WHERE, FOLLOWED),
        exclusions=() if alone else (NOT_DROPOUTS,),
        status=status,
        caveat=caveat,
        proved_epsilon=None if factor is None else factor * epsilon,
    )
