"""Write privacy statements of protocols of several parties, and calibrate noise of random trees."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

from privcurve.privacy.accountants.cost import GAUSSIAN_KIND, Cost
from privcurve.privacy.budget import PROVED, is_private
from privcurve.privacy.calibration.search import calibrate
from privcurve.privacy.ledger import LedgerEntry, PrivacyStatement, state
from privcurve.privacy.mechanisms import GAUSSIAN
from privcurve.privacy.sensitivity.counts import residual_sums_l2

FOLLOWED = "that every party follows the protocol"
SIZES = "the number of records of each party"
WHERE = "which party has which record"
ONLY_SUMS = "that the secure sum shows the server nothing but sums"
NOT_DROPOUTS = "parties that drop out or send other numbers than the protocol asks for"


def holders_statement(
    learner: str,
    epsilon: float,
    delta: float,
    accountant: str,
    ledger: list[LedgerEntry],
    trust: str,
    n_colluding: int,
) -> PrivacyStatement:
    """Return the privacy statement of a proved protocol of several parties.

    A record of one party is protected from the server, from other parties, and from recipients of
    the model. Only the messages of this party depend on the record, so the costs of parties do not
    add up. `trust` is ``central``, ``local`` or ``secure_sum``. Under a secure sum, a party that
    wants to learn about others' records can subtract its own share of the noise, so it counts among
    the `n_colluding` parties. With `n_colluding` = 0, the guarantee is only against the server and
    recipients of the model (papers/distributed/README.md, Who sees what).
    """
    assumptions: list[str] = []
    exclusions: list[str] = []
    if trust != "central":
        assumptions += [SIZES, WHERE, FOLLOWED]
        exclusions.append(NOT_DROPOUTS)
    if trust == "secure_sum":
        others = "no other party uses or tells its share"
        if n_colluding == 1:
            others = "at most 1 other party uses or tells its share"
        elif n_colluding:
            others = f"at most {n_colluding} other parties use or tell their shares"
        assumptions += [ONLY_SUMS, f"that {others} of the noise"]
    return state(
        learner,
        epsilon=epsilon,
        delta=delta,
        calibration=PROVED,
        composition=accountant,
        ledger=ledger,
        status=PROVED,
        assumptions=assumptions,
        exclusions=exclusions,
    )


@dataclass(frozen=True)
class LeafNoise:
    """The noise in the leaves of random trees, and the privacy statement of the fit."""

    scale: float  # σ of the noise on every number; 0 without privacy
    statement: PrivacyStatement


@lru_cache(maxsize=256)
def random_trees(
    *,
    n_trees: int,
    batch: int,
    n_classes: int,
    epsilon: float,
    delta: float,
    trust: str,
    n_colluding: int,
) -> LeafNoise:
    """Calibrate the Gaussian noise of random trees (docs/proofs.md, 'Clipped residuals').

    σ is S·√T/μ, for T trees, the L2 sensitivity S of the sums in one tree's leaves, and the budget
    μ of Gaussian noise that follows from (ε, δ). Raises ValueError if δ = 0.
    """
    if not is_private(epsilon):
        return LeafNoise(0.0, PrivacyStatement.not_private("random_trees"))
    largest, accountant = calibrate((Cost(GAUSSIAN_KIND, 1.0, n_trees),), epsilon, delta)
    bound = residual_sums_l2(n_classes)
    scale = bound / largest
    batches = [(start, min(start + batch, n_trees)) for start in range(0, n_trees, batch)]
    ledger = [
        LedgerEntry(
            mechanism=GAUSSIAN,
            what=f"leaves of the trees {start + 1} to {end}",
            noise_rate=1 / scale,
            sensitivity=bound * math.sqrt(end - start),
            epsilon=math.inf,
            source="docs/proofs.md, 'Clipped residuals'",
        )
        for start, end in batches
    ]
    statement = holders_statement(
        "random_trees", epsilon, delta, accountant, ledger, trust, n_colluding
    )
    return LeafNoise(scale, statement)
