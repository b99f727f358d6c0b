"""Noise of private bagging's answers, and the statement.

Proofs are in docs/competitors.md, section DP bagging.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

from privcurve.privacy.accountants.compose import BASIC
from privcurve.privacy.accountants.cost import BOUNDED_RANGE_KIND, Cost
from privcurve.privacy.budget import CERTIFIED, check_budget
from privcurve.privacy.calibration.search import calibrate
from privcurve.privacy.ledger import LedgerEntry, PrivacyStatement
from privcurve.privacy.mechanisms import LAPLACE, MECHANISMS, NOISY_LABEL
from privcurve.privacy.public_facts import state

# A record is in one part of each of k partitions: replacing it turns at most k votes
# around, so the margin of the votes, divided by k, changes by at most 2.
MARGIN_SENSITIVITY = 2.0

SOURCE = "docs/competitors.md, DP bagging"


@dataclass(frozen=True)
class BaggingNoise:
    """Noise of private bagging.

    Attributes
    ----------
    mechanism : str
        ``laplace``: the sign of the margin plus Laplace noise of scale 1/rate (δ = 0);
        ``noisy_label``: + with probability σ(rate · margin) (δ > 0).
    rate : float
        Multiplies the margin of the votes, divided by k; infinite at ε = ∞.
    statement : PrivacyStatement
    """

    mechanism: str
    rate: float
    statement: PrivacyStatement


@lru_cache(maxsize=1024)
def bagging(*, n_queries: int, epsilon: float, delta: float) -> BaggingNoise:
    """Calibrate private bagging, for any number of teachers and partitions.

    Parameters
    ----------
    n_queries : int
        Answers given.
    epsilon, delta : float
        The budget; ε may be infinite.

    Returns
    -------
    BaggingNoise

    Raises
    ------
    ValueError
        If the budget is out of range.
    """
    check_budget(epsilon, delta)
    if math.isinf(epsilon):
        return BaggingNoise(LAPLACE, math.inf, PrivacyStatement.not_private("dp_bagging"))
    if delta == 0:
        mechanism, accountant, each = LAPLACE, BASIC, epsilon / n_queries
    else:
        found = calibrate((Cost(BOUNDED_RANGE_KIND, 1.0, n_queries),), epsilon, delta)
        mechanism, accountant, each = NOISY_LABEL, found.accountant, found.scale
    rate = each / MARGIN_SENSITIVITY
    ledger = tuple(
        LedgerEntry(
            mechanism=mechanism,
            what=f"answer {q} of the teachers",
            noise_rate=rate,
            sensitivity=MARGIN_SENSITIVITY,
            epsilon=each,
            bounded_range=MECHANISMS[mechanism].bounded_range(each),
            source=SOURCE,
        )
        for q in range(1, n_queries + 1)
    )
    statement = state(
        "dp_bagging",
        epsilon=epsilon,
        delta=delta,
        calibration=CERTIFIED,
        composition=accountant,
        ledger=ledger,
    )
    return BaggingNoise(mechanism, rate, statement)
