"""Boosted ensembles of weighted records: errors, margins, and the bound of the weights (§f)."""

from __future__ import annotations

import math


def released_error(weight_bound: float) -> float:
    """Sensitivity w̄ of a tree's error Σ min(A, B) over its leaves.

    min has slopes in [0, 1], so a record adds between 0 and its weight. Replace-one. Source:
    §f3 (proved).
    """
    return weight_bound


def margins_l2(weight_bound: float = 1.0) -> float:
    """L2 sensitivity 2w̄ of the margins A − B of all leaves of one tree together.

    A replaced record of another label in the same leaf changes one margin by 2w̄; in two
    leaves it is √2·w̄ alone. Replace-one. Source: docs/privacy.md, boosted ensembles (proved).
    """
    return 2 * weight_bound


def ensemble_weight_bound(reach: float, alpha: float) -> float:
    """Largest weight w̄ = ψ⁻¹(reach) of any record, seen or not.

    The weight of a record is ψ⁻¹(−y·H(x)), ψ⁻¹ rises, and |H| ≤ `reach`, which follows from
    what is released. ½ as long as reach ≤ 2(1 − α). Source: §f1 (proved).

    Parameters
    ----------
    reach : float
        Σ |β_s| · max |h_s| of the earlier rounds.
    alpha : float
        α of the weights, above 0.
    """
    beyond = max(reach / 2 - (1 - alpha), 0.0)
    return 0.5 * (1 + beyond / math.hypot(alpha, beyond))
