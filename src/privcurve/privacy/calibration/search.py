"""From a budget (ε, δ) to the noise of a learner."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

from privcurve.privacy.accountants import compose as composition
from privcurve.privacy.accountants.compose import (
    ADAPTIVE,
    ADVANCED,
    BASIC,
    GAUSSIAN,
    KOV,
    PLD,
    ZCDP_CKS,
    ZCDP_SIMPLE,
)
from privcurve.privacy.accountants.cost import (
    Cost,
    log_ratio,
    scaled,
    solve,
)
from privcurve.privacy.accountants.pure import basic
from privcurve.privacy.accountants.zcdp import total_rho
from privcurve.privacy.budget import check_budget

# Tried in this order; the first of equals is named. Not in it: the advanced composition
# and the simple conversion, which are never better than KOV and CKS.
_BEST_OF = (BASIC, KOV, ZCDP_CKS, ADAPTIVE, GAUSSIAN, PLD)

# `composition.solve` is right to 1e-11; stay on the side that keeps δ.
_SAFETY = 1 - 3e-11


@dataclass(frozen=True)
class Calibration:
    """Result of :func:`calibrate`.

    Attributes
    ----------
    scale : float
        By which every amount (and so every noise rate) may be multiplied.
    accountant : str
        The accountant that allows it.
    """

    scale: float
    accountant: str


@lru_cache(maxsize=4096)
def calibrate(
    costs: tuple[Cost, ...],
    epsilon: float,
    delta: float,
    accountants: tuple[str, ...] = _BEST_OF,
) -> Calibration:
    """Find the largest noise rates that a budget allows, under the best valid accountant.

    All that enters is public, so choosing the best accountant costs nothing (PRIVACY.md
    §g).

    Parameters
    ----------
    costs : tuple of Cost
        The calls, with amounts in the wanted proportion, e.g. ``(Cost("bounded_range", 1.0,
        39),)``.
    epsilon : float
        Finite.
    delta : float
    accountants : tuple of str
        Candidates; those that do not fit the costs or δ are passed over.

    Returns
    -------
    Calibration

    Raises
    ------
    ValueError
        If ε is infinite, or no accountant fits (pure privacy of Gaussian noise).
    """
    check_budget(epsilon, delta)
    if math.isinf(epsilon):
        raise ValueError("epsilon = inf needs no noise: there is nothing to calibrate")
    best: Calibration | None = None
    for accountant in accountants:
        if composition.admits(accountant, costs, delta):
            scale = _largest_scale(accountant, costs, epsilon, delta)
            if best is None or scale > best.scale:
                best = Calibration(scale, accountant)
    if best is None:
        raise ValueError(f"no accountant of {accountants} fits delta = {delta} and {costs}")
    return best


def _largest_scale(accountant: str, costs: tuple[Cost, ...], epsilon: float, delta: float) -> float:
    if accountant == BASIC:
        return epsilon / basic(costs)

    def excess(scale: float) -> float:
        grown = scaled(costs, scale)
        if accountant in (ADVANCED, ZCDP_SIMPLE):
            return composition.compose(accountant, grown, delta) - epsilon
        return log_ratio(composition.delta_of(accountant, grown, epsilon), delta)

    # With ρ at scale 1 taken as growing like scale²: only a first guess.
    root = math.sqrt(math.log(1 / delta))
    guess = (math.sqrt(root**2 + epsilon) - root) / math.sqrt(total_rho(costs))
    first_step = 0.1
    if accountant == ADAPTIVE:
        # One evaluation is some 10 ms: start where the other accountants end.
        guess = calibrate(costs, epsilon, delta, (BASIC, ZCDP_CKS)).scale
        first_step = 0.02
    return solve(excess, guess, first_step) * _SAFETY
