"""Private bins: what their histograms cost, and what they leave to a learner."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from privcurve.privacy.accountants.compose import BASIC, GAUSSIAN, ZCDP_CKS
from privcurve.privacy.accountants.cost import GAUSSIAN_KIND, ZCDP_KIND, Cost
from privcurve.privacy.budget import is_private
from privcurve.privacy.calibration.search import calibrate
from privcurve.privacy.curator import EXACT, Call
from privcurve.privacy.ledger import LedgerEntry, PrivacyStatement, rho_of_ledger
from privcurve.privacy.mechanisms import GAUSSIAN as GAUSSIAN_NOISE
from privcurve.privacy.mechanisms import LARGEST_SCALE
from privcurve.privacy.noise import PARTS, Announced
from privcurve.privacy.selection import epsilon_that_spends
from privcurve.privacy.sensitivity.counts import feature_histograms_l1, feature_histograms_l2

WHAT = "histograms of the columns with private bins"
SOURCE = "docs/proofs.md, bins that are paid for"

# What is left to a learner is a little less, for what its noise is rounded by.
_ROUNDING = 1e-6


def price(n_histograms: int, epsilon: float, delta: float, share: float, neighbours: str) -> Call:
    """Return the call that releases histograms, for a share of the budget: of ε, or of ρ if δ > 0.

    A record is in one place at most in each of `n_histograms`; ε and δ are the budget of a fit,
    these included. Counts are in parts of a record (``noise.PARTS``). Raises ValueError if ε is so
    small that the noise has no room.
    """
    if not is_private(epsilon) or not n_histograms:
        return EXACT
    pure, amount = delta == 0, share * epsilon
    if not pure:
        amount = math.sqrt(share) * _amount(ZCDP_KIND, ZCDP_CKS, epsilon, delta)
    numbers = Announced(
        WHAT,
        l1=feature_histograms_l1(n_histograms, neighbours),
        l2=feature_histograms_l2(n_histograms, neighbours),
        source=SOURCE,
    )
    bound = numbers.bound(pure)
    scale = math.ceil(PARTS * bound / amount)
    if scale > LARGEST_SCALE:
        raise ValueError(
            f"epsilon = {epsilon:g} is so small that the noise of private bins has no room in 64 "
            "bits: give a larger one"
        )
    (entry,) = numbers.entries(PARTS * bound / scale, pure)
    return Call(entry.mechanism, float(scale), entry)


def left(
    call: Call, epsilon: float, delta: float, statement_at: Callable[[float], PrivacyStatement]
) -> float:
    """Return the ε that a learner is given beside the histograms, for the same δ.

    `epsilon` and `delta` are those of both together; `statement_at` returns the learner's own
    statement at an ε: by public facts, and what was released.
    """
    if call.entry is None:
        return epsilon
    if delta == 0:
        return epsilon - call.entry.epsilon
    rho = rho_of_ledger((call.entry,))

    def spent(part: float) -> float:
        """Return the share of what is left of ρ that a fit spends."""
        ledger = statement_at(part).ledger
        kinds = (GAUSSIAN_KIND, GAUSSIAN) if _all_gaussian(ledger) else (ZCDP_KIND, ZCDP_CKS)
        return rho_of_ledger(ledger) / (_amount(*kinds, epsilon, delta) ** 2 / 2 - rho)

    return epsilon_that_spends(1 - _ROUNDING, spent, epsilon)


def together(own: PrivacyStatement, call: Call, epsilon: float, delta: float) -> PrivacyStatement:
    """Return the statement of histograms and fit.

    Their ε's add up at δ = 0, else what their calls cost: by the exact composition of Gaussian
    mechanisms, or where there are others by zCDP.
    """
    if call.entry is None:
        return own
    # The ledger of a learner that spends as it goes has them already.
    ledger = own.ledger if call.entry in own.ledger else (call.entry, *own.ledger)
    composition = BASIC
    if delta > 0:
        composition = GAUSSIAN if _all_gaussian(ledger) else ZCDP_CKS
    elif own.composition != BASIC:
        raise ValueError(f"{own.learner}: its costs do not add up with those of private bins")
    return replace(own, epsilon=epsilon, delta=delta, composition=composition, ledger=ledger)


def _all_gaussian(ledger: Sequence[LedgerEntry]) -> bool:
    return all(entry.mechanism == GAUSSIAN_NOISE for entry in ledger)


def _amount(kind: str, accountant: str, epsilon: float, delta: float) -> float:
    """Return √(2ρ) of a whole budget, as an accountant has it."""
    return calibrate((Cost(kind, 1.0),), epsilon, delta, (accountant,)).scale
