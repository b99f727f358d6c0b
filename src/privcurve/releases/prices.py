"""What releases cost, one by one and together, for each relation of neighbours.

Costs add up by basic composition, the sum of the epsilons and that of the deltas. Before that,
every release is converted to the relation that the sum is for: a guarantee for ``add-remove``
neighbours counts twice its ε for ``replace-one`` ones, since to replace a record is to leave one
out and to add one. The other way round nothing is guaranteed: a release for ``replace-one``
neighbours may show the number of records, by which two ``add-remove`` neighbours differ.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from privcurve.privacy.budget import ADD_REMOVE, NEIGHBOURS, REPLACE_ONE, implies, of_replacing
from privcurve.releases.errors import BookError

# Sums of decimal numbers: 0.1 + 0.2 is not more than 0.3.
TOLERANCE = 1e-9


@dataclass(frozen=True)
class Price:
    """What a release costs.

    Attributes
    ----------
    epsilon, delta : float
    neighbours : str
        A word of ``privacy.budget``.
    """

    epsilon: float
    delta: float
    neighbours: str

    @property
    def vacuous(self) -> bool:
        """Whether a guarantee of this level says nothing."""
        return math.isinf(self.epsilon) or self.delta >= 1

    def converted(self, wanted: str) -> Price | None:
        """Return the price for another relation; None if the guarantee says nothing for it."""
        if implies(self.neighbours, wanted):
            return Price(self.epsilon, self.delta, wanted)
        if self.neighbours == ADD_REMOVE and implies(REPLACE_ONE, wanted):
            return Price(*of_replacing(self.epsilon, self.delta), wanted)
        return None

    def for_neighbours(self, wanted: str) -> Price:
        """Return the price for another relation of neighbours."""
        price = self.converted(wanted)
        if price is None:
            raise BookError(
                f"a guarantee for neighbours = {self.neighbours!r} says nothing for {wanted!r}, "
                "which the budget is for. Choose another learner, or a budget: neighbours that it "
                "offers."
            )
        return price


@dataclass(frozen=True)
class Budget:
    """What all releases of a dataset may cost together; infinite where there is no limit."""

    epsilon: float = math.inf
    delta: float = 1.0
    neighbours: str = REPLACE_ONE

    @classmethod
    def of(cls, said: Mapping[str, Any]) -> Budget:
        """Return the budget that a description says; empty for none."""
        if not said:
            return cls()
        return cls(
            float(said["epsilon"]),
            float(said.get("delta", 0.0)),
            said.get("neighbours", REPLACE_ONE),
        )

    @property
    def limited(self) -> bool:
        """Whether there is a limit."""
        return math.isfinite(self.epsilon)

    def total(self, prices: Iterable[Price]) -> Price:
        """Add prices up, for the neighbours of the budget.

        Raises
        ------
        BookError
            If a price is for other neighbours, and says nothing for those of the budget.
        """
        return total([one.for_neighbours(self.neighbours) for one in prices], self.neighbours)

    def admits(self, price: Price) -> bool:
        """Whether a total is within the budget."""
        slack = 1 + TOLERANCE
        return price.epsilon <= self.epsilon * slack and price.delta <= self.delta * slack


def total(prices: Iterable[Price], neighbours: str) -> Price:
    """Add up what releases cost together for one relation of neighbours.

    Parameters
    ----------
    prices : iterable of Price
        Each for a relation of its own.
    neighbours : str
        What the sum is for.

    Returns
    -------
    Price
        With an infinite ε if one of them says nothing for these neighbours.
    """
    converted = [one.converted(neighbours) for one in prices]
    said = [one for one in converted if one is not None]
    if len(said) < len(converted):
        return Price(math.inf, 0.0, neighbours)
    # Whatever is done is (0, 1)-DP.
    delta = min(1.0, math.fsum(one.delta for one in said))
    return Price(math.fsum(one.epsilon for one in said), delta, neighbours)


def totals(prices: Sequence[Price], budget: Budget) -> list[Price]:
    """Add up what releases cost together, for each relation that one of them or a budget is for.

    The one total that card, terminal and ledger state.

    Parameters
    ----------
    prices : sequence of Price
    budget : Budget
        Of all releases. Without a limit it is for ``replace-one`` neighbours.

    Returns
    -------
    list of Price
        One a relation, in the order of ``privacy.budget.NEIGHBOURS``.
    """
    relations = {budget.neighbours, *(one.neighbours for one in prices)}
    return [total(prices, one.name) for one in NEIGHBOURS if one.name in relations]


def level(price: Price) -> str:
    """Write a price in words."""
    return f"epsilon = {price.epsilon:.6g}" + (
        f", delta = {price.delta:.6g}" if price.delta else ""
    )


def claim(price: Price) -> str:
    """Write in words what releases guarantee together."""
    return f"{level(price)}: nothing is guaranteed" if price.vacuous else level(price)
