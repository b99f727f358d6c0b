"""From a budget (ε, δ) to the noise of a learner."""

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

# The accountants in the order in which they are tried; the first of equally good ones is named.
BEST_OF = tuple(one.name for one in ACCOUNTANTS if one.best)


class Calibration(NamedTuple):
    """The factor by which all amounts (and noise rates) may be multiplied, and the accountant."""

    scale: float
    accountant: str


@lru_cache(maxsize=4096)
def calibrate(
    costs: tuple[Cost, ...], epsilon: float, delta: float, accountants: tuple[str, ...] = BEST_OF
) -> Calibration:
    """Find the largest noise rates that a budget allows, under the best valid accountant.

    The amounts of `costs` are in the wanted proportion; accountants that do not fit them or δ are
    skipped. All arguments are public, so the choice of the best accountant costs nothing.
    Raises ValueError if ε is infinite, or no accountant fits (pure privacy of
    Gaussian noise).
    """
    check_budget(epsilon, delta)
    if math.isinf(epsilon):
        raise ValueError("epsilon = inf needs no noise: there is nothing to calibrate")
    best: Calibration | None = None
    for name in accountants:
        candidate = accountant(name)
        if candidate.admits(costs, delta):
            scale = _largest_scale(candidate, costs, epsilon, delta)
            if best is None or scale > best.scale:
                best = Calibration(scale, name)
    if best is None:
        raise ValueError(f"no accountant of {accountants} fits delta = {delta} and {costs}")
    return best


def _largest_scale(
    chosen: Accountant, costs: tuple[Cost, ...], epsilon: float, delta: float
) -> float:
    if not chosen.needs_delta:
        return epsilon / chosen.compose(costs, delta)
    # With ρ at scale 1 taken as growing like scale²: only a first guess.
    root = math.sqrt(arithmetic.log(1 / delta))
    guess = (math.sqrt(root * root + epsilon) - root) / math.sqrt(total_rho(costs))
    first_step = 0.1
    if chosen.slow:
        guess = calibrate(costs, epsilon, delta, (BASIC, ZCDP_CKS)).scale
        first_step = 0.02

    def excess(scale: float) -> float:
        return chosen.excess(scale_costs(costs, scale), epsilon, delta)

    return solve(excess, guess, first_step) * chosen.safety
