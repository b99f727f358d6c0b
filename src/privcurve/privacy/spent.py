"""Compute the total cost of the calls of a ledger."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

from privcurve.privacy.accountants.compose import BASIC, compose
from privcurve.privacy.accountants.compose import accountant as accountant_of
from privcurve.privacy.accountants.cost import (
    BOUNDED_RANGE_KIND,
    GAUSSIAN_KIND,
    LAPLACE_KIND,
    PURE_KIND,
    ZCDP_KIND,
    Cost,
    on_batches,
    total_rho,
)
from privcurve.privacy.budget import REPLACE_ONE
from privcurve.privacy.mechanisms import MECHANISMS


def epsilon_of_ledger(
    accountant: str,
    ledger: Sequence[Any],
    delta: float,
    near: float | None = None,
    neighbours: str = REPLACE_ONE,
) -> float:
    """Return the ε that the calls of a ledger cost together at δ, by an accountant.

    `near` is a guess of the result, which saves time. `neighbours` matters only for calls on
    sampled batches. Accountants of pure ε use the ε of each entry. The other accountants use the
    sharpest guarantee that an entry states.
    """
    chosen = accountant_of(accountant)
    if chosen.name == BASIC:
        return math.fsum(entry.epsilon for entry in ledger)
    return compose(accountant, _costs(ledger, chosen.pure, neighbours), delta, near)


def rho_of_ledger(ledger: Sequence[Any]) -> float:
    """Return the sum of ρ (zCDP) over a ledger; infinite if a call has neither ρ nor ε.

    Calls on sampled batches count as if they were on all records.
    """
    return total_rho(_costs(ledger, pure=False))


def _costs(ledger: Sequence[Any], pure: bool, neighbours: str = REPLACE_ONE) -> list[Cost]:
    groups = Counter((*_kind_and_amount(entry, pure), entry.sampled) for entry in ledger)
    return [
        on_batches(Cost(kind, amount, count), rate, neighbours)
        for (kind, amount, rate), count in groups.items()
    ]


def _kind_and_amount(entry: Any, pure: bool) -> tuple[str, float]:
    if pure:
        return PURE_KIND, entry.epsilon
    if entry.bounded_range is not None:
        return BOUNDED_RANGE_KIND, entry.bounded_range
    kind = MECHANISMS[entry.mechanism].kind if entry.mechanism in MECHANISMS else PURE_KIND
    if kind == GAUSSIAN_KIND:
        return kind, entry.noise_rate * entry.sensitivity
    if kind == LAPLACE_KIND:
        return kind, entry.epsilon
    if entry.rho is not None:
        return ZCDP_KIND, math.sqrt(2 * entry.rho)
    return PURE_KIND, entry.epsilon
