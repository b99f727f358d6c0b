"""A finished release: its guarantee, price, quality and files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from privcurve.datasets import Description, Domain
from privcurve.privacy.budget import explain_delta, is_large_delta
from privcurve.privacy.ledger import PrivacyStatement
from privcurve.privacy.seeds import Seed
from privcurve.releases.budget_ledger import Budget, Price, Release, totals
from privcurve.releases.judgement import Judgement
from privcurve.releases.request import Request, public_number

MODEL, CARD, PAGE = "model.json", "card.md", "card.html"


@dataclass(frozen=True)
class Accuracy:
    """The share of right answers on the test records of a public benchmark."""

    value: float
    error: float  # standard error, if the test records are a random sample


@dataclass(frozen=True)
class Released:
    """A finished release."""

    request: Request
    description: Description
    domain: Domain
    release: Release  # the entry of this release in the budget ledger
    other_prices: tuple[Price, ...]  # prices of the other releases of these records
    budget: Budget
    learner: Any  # a fitted learner
    statement: PrivacyStatement  # the guarantee of the released model
    seed: Seed
    accuracy: Accuracy | None  # on the test records of a public benchmark
    judgement: Judgement | None  # measures on the hold-out; None without a hold-out
    n_train: int  # number of training records; secret for add-remove neighbours
    n_held: int  # number of held-out records; secret for add-remove neighbours
    folder: Path  # the folder of model and card
    ledger: Path  # the file of the budget ledger

    @property
    def learner_name(self) -> str:
        """The name of the model's learner; after a private choice, of the chosen learner."""
        return getattr(self.learner, "learner_", self.request.learner)

    @property
    def setting(self) -> Mapping[str, Any]:
        """The hyperparameters of the model; after a private choice, the chosen ones."""
        return getattr(self.learner, "setting_", self.request.parameters)

    @property
    def fit_statement(self) -> PrivacyStatement:
        """The statement of the fit, which assumes a secret seed."""
        stated: PrivacyStatement = self.learner.privacy_
        return stated.of_persons(self.request.at_most)

    @property
    def price(self) -> Price:
        """The price of the release, with the charged δ; ε is infinite if the seed is public."""
        return self.release.price

    @property
    def prices(self) -> tuple[Price, ...]:
        """The prices of all releases of the records, including this one."""
        return (*self.other_prices, self.price)

    @property
    def totals(self) -> list[Price]:
        """The total price of all releases of the records, for each relation of neighbours."""
        return totals(self.prices, self.budget)

    def path(self, name: str) -> Path:
        """Return the path of a file of the release."""
        return self.folder / name

    def delta_remarks(self) -> list[tuple[str, bool]]:
        """Return pairs: a remark that explains δ, and whether δ is so large that a warning is due.

        The first remark explains the δ of this release, unless it is 0; the second one explains the
        δ of all releases together, if it is larger. The list is empty if the seed is public.
        """
        if not self.statement.private:
            return []
        n = public_number(self.request, self.description)
        price = self.price
        (together,) = [sums for sums in self.totals if sums.neighbours == price.neighbours]
        remarks = []
        for who, delta in (("", price.delta), ("All releases together have ", together.delta)):
            if delta > (price.delta if who else 0):
                meaning = explain_delta(delta, n, price.neighbours, self.request.person)
                sentence = f"{who}{meaning}."
                large = is_large_delta(delta, n)
                remarks.append((sentence[0].upper() + sentence[1:], large))
        return remarks
