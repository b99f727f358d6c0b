"""Search for the noise rates that a budget (ε, δ) allows."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

from privcurve.lazy import arithmetic
from privcurve.privacy.accountants.compose import (
    ACCOUNTANTS,
    BASIC,
    ZCDP_CKS,
    Accountant,
    accountant,
)
from privcurve.privacy.accountants.cost import Cost, scale_costs, solve, total_rho
from privcurve.privacy.budget import check_budget

# The accountants that the search tries, in this order. If several are equally good, it takes the
# first of them.
BEST_OF = tuple(one.name for one in ACCOUNTANTS if one.best)


class Calibration(NamedTuple):
    """The largest factor on the amounts of costs that a budget allows, and the accountant used."""

    scale: float
    accountant: str


@lru_cache(maxsize=4096)
def calibrate(
    costs: tuple[Cost, ...], epsilon: float, delta: float, accountants: tuple[str, ...] = BEST_OF
) -> Calibration:
    """Find the largest factor on the amounts of `costs` that any accountant allows for a budget.

    The amounts of `costs` fix the proportions of the noise rates, and the factor is the same for
    all. Accountants that do not support these costs or δ are skipped. All arguments are public, so
    the choice of the best accountant costs no privacy. Raises ValueError if ε is infinite, or if no
    accountant remains (e.g. for Gaussian noise with δ = 0).
    """
    check_budget(epsilon, delta)
    if math.isinf(epsilon):
        raise ValueError("epsilon must be finite to calibrate noise; got inf, which needs none")
    best: Calibration | None = None
    for name in accountants:
        candidate = accountant(name)
        if candidate.admits(costs, delta):
            scale = _largest_scale(candidate, costs, epsilon, delta)
            if best is None or scale > best.scale:
                best = Calibration(scale, name)
    if best is None:
        raise ValueError(
            f"an accountant of {accountants} must fit delta = {delta} and {costs}; none does"
        )
    return best


def _largest_scale(
    chosen: Accountant, costs: tuple[Cost, ...], epsilon: float, delta: float
) -> float:
    if not chosen.needs_delta:
        return epsilon / chosen.compose(costs, delta)
    # The first guess assumes that ρ grows like scale², and that ε = ρ + 2√(ρ ln 1/δ).
    root = math.sqrt(arithmetic.log(1 / delta))
    guess = (math.sqrt(root * root + epsilon) - root) / math.sqrt(total_rho(costs))
    first_step = 0.1
    if chosen.slow:
        guess = calibrate(costs, epsilon, delta, (BASIC, ZCDP_CKS)).scale
        first_step = 0.02

    def excess(scale: float) -> float:
        return chosen.excess(scale_costs(costs, scale), epsilon, delta)

    return solve(excess, guess, first_step) * chosen.safety
