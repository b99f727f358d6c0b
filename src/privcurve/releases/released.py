"""A finished release: what it guarantees and costs, how good it is, and where its files are."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from privcurve.datasets import Dataset, Description, Domain, PartedDataset
from privcurve.privacy.budget import explain_delta, is_large_delta
from privcurve.privacy.ledger import PrivacyStatement
from privcurve.privacy.seeds import Seed
from privcurve.releases.budget_ledger import Budget, Price, Release, totals
from privcurve.releases.judgement import Judgement
from privcurve.releases.request import Request, public_number

MODEL, CARD, PAGE = "model.json", "card.md", "card.html"


@dataclass(frozen=True)
class Accuracy:
    """A share of right answers on the test part of a public benchmark."""

    value: float
    error: float  # standard error, of the spread of records


def measure_accuracy(learner: Any, data: Dataset | PartedDataset) -> Accuracy:
    """Measure the accuracy on the test part of public records, exactly."""
    assert data.y_test is not None
    value = float((learner.predict(data.X_test) == data.y_test).mean())
    return Accuracy(value, math.sqrt(value * (1 - value) / len(data.y_test)))


@dataclass(frozen=True)
class Released:
    """A finished release."""

    request: Request
    description: Description
    domain: Domain
    release: Release  # as it stands in the budget ledger
    other_prices: tuple[Price, ...]  # of the other releases of the records
    budget: Budget
    learner: Any  # a fitted learner
    statement: PrivacyStatement  # what holds for the model as it is handed over
    seed: Seed
    accuracy: Accuracy | None  # on the test part of a public benchmark
    judgement: Judgement | None  # what the hold-out says, where there is one
    n_train: int  # how many records train: only where that is public
    n_held: int  # and how many are held out
    folder: Path  # where its files are
    ledger: Path  # where it is written down

    @property
    def learner_name(self) -> str:
        """The learner of the model; after a choice, the one that was kept."""
        return getattr(self.learner, "learner_", self.request.learner)

    @property
    def setting(self) -> Mapping[str, Any]:
        """Its hyperparameters, of a choice those of the one that was kept."""
        return getattr(self.learner, "setting_", self.request.parameters)

    @property
    def fit_statement(self) -> PrivacyStatement:
        """The statement of the fit, which holds while its seed is secret."""
        return self.request.statement_of(self.learner.privacy_)

    @property
    def price(self) -> Price:
        """The price of the release; ε is infinite if the seed is public."""
        return self.release.price

    @property
    def prices(self) -> tuple[Price, ...]:
        """The prices of all releases of the records, this one too."""
        return (*self.other_prices, self.price)

    @property
    def totals(self) -> list[Price]:
        """The totals of all releases of the records, one for each relation of neighbours."""
        return totals(self.prices, self.budget)

    def path(self, name: str) -> Path:
        """Return one of its files."""
        return self.folder / name

    def delta_remarks(self) -> list[tuple[str, bool]]:
        """Return what δ means, of the release alone and of all, and whether that is a warning.

        There is none if the release has no δ, or an infinite ε; that of all releases is there if
        other ones had a δ.
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
