"""What is asked of a release, and what it gives."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from privcurve.datasets import Description, Domain
from privcurve.learners import registry
from privcurve.privacy import budget as words
from privcurve.privacy.ledger import PrivacyStatement
from privcurve.privacy.noise import right_answers
from privcurve.privacy.seeds import Seed
from privcurve.releases.accuracy import Accuracy
from privcurve.releases.book import Release
from privcurve.releases.errors import ReleaseError
from privcurve.releases.prices import Budget, Price, totals

# From the working folder; kept out of git.
RELEASES = Path("releases")

DEFAULT_LEARNER = "privgam"

MODEL, CARD, PAGE = "model.json", "card.md", "card.html"


@dataclass(frozen=True)
class Asked:
    """What is to be released.

    Attributes
    ----------
    dataset : str
    epsilon, delta : float
    learner : str
        Its name in the registry, or ``choose`` (:mod:`privcurve.releases.choice`).
    parameters : mapping
        Hyperparameters; the others are at their defaults.
    neighbours : str
        Whom the guarantee is for, a word of ``privacy.budget``; empty for the learner's first.
    accuracy : float
        The ε, on top, of a noisy accuracy on the test part; 0 for none.
    """

    dataset: str
    epsilon: float
    delta: float = 0.0
    learner: str = DEFAULT_LEARNER
    parameters: Mapping[str, Any] = field(default_factory=dict)
    neighbours: str = ""
    accuracy: float = 0.0

    @property
    def relation(self) -> str:
        """The neighbours of the guarantee."""
        return self.neighbours or registry.entry(self.learner).neighbours[0]

    def price(self, secret: bool) -> Price:
        """Return what it costs; ε is infinite if the seed is not secret."""
        epsilon = self.epsilon + self.accuracy if secret else math.inf
        return Price(epsilon, self.delta, self.relation)

    @property
    def estimator_parameters(self) -> dict[str, Any]:
        """Of the estimator."""
        level = {"epsilon": self.epsilon, "delta": self.delta, "calibration": words.CERTIFIED}
        return {**self.parameters, **level}


def check_sample(asked: Asked, description: Description) -> None:
    """Refuse records that were taken by what is private: one record decides on others there."""
    if description.public_benchmark:
        return
    known = asked.relation == words.PRIVATE_COLUMNS and description.domain.public_label
    if description.records.balance and not known:
        raise ReleaseError(
            f"records: balance of {description.name} takes records by their labels, which are "
            "private: one label decides how many others train, and the guarantee would not be true "
            "of the records in the file. Leave it out, and take a learner that is right for a rare "
            "label (docs/compare.md)."
        )
    if description.records.first and asked.relation == words.ADD_REMOVE:
        raise ReleaseError(
            f"records: first of {description.name} lets a record that is added push another one "
            f"out: take neighbours = {words.REPLACE_ONE!r}, or leave it out"
        )


def check_accuracy(asked: Asked, description: Description) -> None:
    """Refuse an accuracy that can't be paid for, or need not be."""
    if not asked.accuracy:
        return
    if not 0 < asked.accuracy < math.inf:
        raise ReleaseError(f"accuracy = {asked.accuracy!r} is not a finite epsilon above 0")
    if description.public_benchmark:
        raise ReleaseError(
            f"the records of {description.name} are public: an accuracy costs nothing, and is on "
            "the card if there is a test part"
        )
    if not description.n_test:
        raise ReleaseError(
            f"{description.name} has no test part that an accuracy could be paid for: on records "
            "that train the model it would not be that of new ones. Give it one (files: test:)."
        )
    if asked.relation != words.REPLACE_ONE:
        raise ReleaseError(f"an accuracy is paid for with neighbours: {words.REPLACE_ONE} alone")
    try:
        right_answers(asked.accuracy)
    except ValueError as error:
        raise ReleaseError(f"accuracy: {error}") from None


@dataclass(frozen=True)
class Released:
    """What a release gives.

    Attributes
    ----------
    asked : Asked
    description : Description
    domain : Domain
    release : Release
        As it stands in the ledger.
    before : tuple of Price
        Of the earlier releases of the records.
    budget : Budget
    learner : fitted learner
    statement : PrivacyStatement
        What holds for the model as it leaves.
    seed : Seed
    accuracy : Accuracy or None
        On the test part of a public benchmark, or what was paid for; None otherwise.
    folder : Path
        Where its files are.
    ledger : Path
        Where it is written down.
    """

    asked: Asked
    description: Description
    domain: Domain
    release: Release
    before: tuple[Price, ...]
    budget: Budget
    learner: Any
    statement: PrivacyStatement
    seed: Seed
    accuracy: Accuracy | None
    folder: Path
    ledger: Path

    @property
    def learner_name(self) -> str:
        """Whose model it is: of a choice, of the one that was kept."""
        name: str = getattr(self.learner, "learner_", self.asked.learner)
        return name

    @property
    def setting(self) -> Mapping[str, Any]:
        """Its hyperparameters, of a choice those of the one that was kept."""
        given: Mapping[str, Any] = getattr(self.learner, "setting_", self.asked.parameters)
        return given

    @property
    def price(self) -> Price:
        """What it has cost; infinite ε if the seed is public."""
        return self.release.price

    @property
    def prices(self) -> tuple[Price, ...]:
        """What all releases of the records have cost, this one too."""
        return (*self.before, self.price)

    @property
    def together(self) -> list[Price]:
        """What all releases of the records guarantee together, a total a relation."""
        return totals(self.prices, self.budget)

    def path(self, name: str) -> Path:
        """Return one of its files."""
        return self.folder / name


def plain(value: Any) -> str:
    """Write a parameter for a reader."""
    if value is None:
        return "none"
    return value if isinstance(value, str) else json.dumps(value)
