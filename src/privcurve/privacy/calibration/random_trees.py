"""From a budget (ε, δ) to the noise of random trees."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

from privcurve.privacy.accountants.cost import GAUSSIAN_KIND, Cost
from privcurve.privacy.budget import check_budget, is_private
from privcurve.privacy.calibration.holders import holders_statement
from privcurve.privacy.calibration.search import calibrate
from privcurve.privacy.ledger import LedgerEntry, PrivacyStatement
from privcurve.privacy.mechanisms import GAUSSIAN
from privcurve.privacy.sensitivity.counts import residual_sums_l2


@dataclass(frozen=True)
class LeafNoise:
    """Noise of the leaves of all trees.

    Attributes
    ----------
    scale : float
        σ of every number; 0: none.
    statement : PrivacyStatement
    """

    scale: float
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
    """Calibrate the Gaussian noise of T trees: σ = S·√T/μ (PRIVACY.md §d, §e).

    Raises
    ------
    ValueError
        If the budget is out of range, or pure.
    """
    check_budget(epsilon, delta)
    if not is_private(epsilon):
        return LeafNoise(0.0, PrivacyStatement.not_private("random_trees"))
    if delta == 0:
        raise ValueError(
            "random_trees offers no pure differential privacy, for its noise is Gaussian: give "
            "delta > 0"
        )
    found = calibrate((Cost(GAUSSIAN_KIND, 1.0, n_trees),), epsilon, delta)
    bound = residual_sums_l2(n_classes)
    scale = bound / found.scale
    ledger = []
    for start in range(0, n_trees, batch):
        n_batch = min(batch, n_trees - start)
        ledger.append(
            LedgerEntry(
                GAUSSIAN,
                f"leaves of the trees {start + 1} to {start + n_batch}",
                1 / scale,
                bound * math.sqrt(n_batch),
                math.inf,
                source="docs/proofs.md, distributed trees (clipped residuals)",
                calls=1,
            )
        )
    return LeafNoise(
        scale,
        holders_statement(
            "random_trees", epsilon, delta, found.accountant, ledger, trust, n_colluding
        ),
    )
