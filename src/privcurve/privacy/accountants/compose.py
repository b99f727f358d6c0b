"""How the costs of several mechanism calls add up: one function an accountant.

Every call's mechanism may depend on all earlier outputs, unless a docstring says
otherwise. Sections are those of PRIVACY.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from privcurve.privacy.accountants import bounded_range as adaptive
from privcurve.privacy.accountants.cost import (
    BOUNDED_RANGE_KIND,
    GAUSSIAN_KIND,
    LAPLACE_KIND,
    Costs,
    log_ratio,
    only,
    solve,
)
from privcurve.privacy.accountants.gaussian import gaussian_delta
from privcurve.privacy.accountants.pld import pld_delta
from privcurve.privacy.accountants.pure import advanced, basic, kov_delta
from privcurve.privacy.accountants.zcdp import total_rho, zcdp_delta, zcdp_simple
from privcurve.privacy.budget import relation

if TYPE_CHECKING:
    pass

NONE = "none"
BASIC = "basic"
ADVANCED = "advanced"
KOV = "optimal pure"
ZCDP_SIMPLE = "zCDP, simple conversion"
ZCDP_CKS = "zCDP, CKS conversion"
ADAPTIVE = "bounded range, optimal adaptive"
GAUSSIAN = "Gaussian, exact"
PLD = "privacy loss distribution"

DESCRIPTIONS = {
    NONE: "nothing",
    BASIC: "basic composition (the sum of the epsilons)",
    ADVANCED: "advanced composition, as the thesis states it (Theorem 2.5.3)",
    KOV: "the optimal composition of pure guarantees (Kairouz, Oh and Viswanath)",
    ZCDP_SIMPLE: "zero-concentrated differential privacy, with the simple conversion",
    ZCDP_CKS: (
        "zero-concentrated differential privacy, with the conversion of Canonne, Kamath and Steinke"
    ),
    ADAPTIVE: "the optimal adaptive composition of bounded-range mechanisms (upper bound)",
    GAUSSIAN: "the exact composition of Gaussian mechanisms",
    PLD: "the privacy loss distribution of dp-accounting (pessimistic estimate)",
}


def parallel(epsilons: Sequence[float], neighbours: str) -> float:
    """Compose mechanisms, each run on its own part of a partition of the record space.

    Each must be ε_i-DP under add/remove. Add/remove: max ε_i. Replace-one: the record
    may leave one part and enter another, which costs up to 2 max ε_i (§0, L4: proved,
    attained). Parts by record *index* are different: a replaced record stays in its part
    and the cost is the max of the replace-one ε's.

    Parameters
    ----------
    epsilons : sequence of float
    neighbours : str
        One of ``budget.NEIGHBOURS``.

    Returns
    -------
    float
    """
    return relation(neighbours).touched * max(epsilons)


def admits(accountant: str, costs: Costs, delta: float) -> bool:
    """Whether an accountant can compose these costs at this δ."""
    one = only(costs)
    kinds = {cost.kind for cost in costs}
    if accountant == BASIC:
        return math.isfinite(basic(costs))
    if delta == 0:
        return False
    if accountant in (ADVANCED, KOV):
        return one is not None and math.isfinite(one.epsilon)
    if accountant == ADAPTIVE:
        return (
            one is not None and one.kind == BOUNDED_RANGE_KIND and one.count <= adaptive.MAX_CALLS
        )
    if accountant == GAUSSIAN:
        return kinds == {GAUSSIAN_KIND}
    if accountant == PLD:
        return kinds <= {LAPLACE_KIND, GAUSSIAN_KIND}
    return accountant in (ZCDP_SIMPLE, ZCDP_CKS)


def delta_of(accountant: str, costs: Costs, epsilon: float) -> float:
    """Give δ(ε) under an accountant that is defined by its δ: KOV, CKS, adaptive, Gaussian, PLD.

    Returns
    -------
    float
    """
    one = costs[0]
    if accountant == KOV:
        return kov_delta(one.epsilon, one.count, epsilon)
    if accountant == ZCDP_CKS:
        return zcdp_delta(total_rho(costs), epsilon)
    if accountant == ADAPTIVE:
        return adaptive.bounded_range_delta(one.amount, one.count, epsilon)
    if accountant == GAUSSIAN:
        return gaussian_delta(math.sqrt(math.fsum(c.count * c.amount**2 for c in costs)), epsilon)
    if accountant == PLD:
        return pld_delta(costs, epsilon)
    raise ValueError(f"{accountant!r} has no δ(ε)")


def compose(accountant: str, costs: Costs, delta: float, near: float | None = None) -> float:
    """Give ε of composed calls.

    Parameters
    ----------
    accountant : str
        A key of `DESCRIPTIONS`.
    costs : sequence of Cost
    delta : float
    near : float, optional
        A guess of the answer, which saves time.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        If the accountant does not fit the costs or δ.
    """
    if accountant not in DESCRIPTIONS:
        raise ValueError(f"unknown accountant {accountant!r}. There are: {', '.join(DESCRIPTIONS)}")
    if accountant == NONE:
        return math.inf
    if not costs:
        return 0.0
    if not admits(accountant, costs, delta):
        raise ValueError(f"the accountant {accountant!r} does not fit delta = {delta} and {costs}")
    if accountant == BASIC:
        return basic(costs)
    if accountant == ADVANCED:
        return advanced(costs[0].epsilon, costs[0].count, delta)
    if accountant == ZCDP_SIMPLE:
        return zcdp_simple(total_rho(costs), delta)
    if delta_of(accountant, costs, 0.0) <= delta:
        return 0.0
    ceiling = min(basic(costs), zcdp_simple(total_rho(costs), delta))
    return solve(
        lambda epsilon: -log_ratio(delta_of(accountant, costs, epsilon), delta),
        near if near is not None and near > 0 else ceiling,
        first_step=1e-9 if near is not None else 0.1,
    )
