"""Define the privacy claims that an audit tests, each with the method of its attack."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privcurve.audit.canaries import Guesses
from privcurve.audit.pairs import Pair, Target
from privcurve.audit.states import States
from privcurve.coding import Floats, Ints, Records
from privcurve.learners.base import BUDGET, CodedClassifier
from privcurve.learners.entry import Facts
from privcurve.learners.registry import make
from privcurve.privacy import seeds
from privcurve.privacy.budget import PRIVATE_COLUMNS, REPLACE_ONE
from privcurve.privacy.curator import Curator
from privcurve.privacy.ledger import PrivacyStatement
from privcurve.privacy.seeds import Seed
from privcurve.stored import stored

EXACT = "exact"
DENSITY = "density"
SAMPLED = "sampled"
CANARIES = "canaries"
# Methods that estimate bounds from random fits, so that a bound may be wrong by chance.
RANDOM = (SAMPLED, CANARIES)

# The keys of `Claim.setting` that are public facts; all other keys are hyperparameters.
PUBLIC_COLUMNS = "public_columns"
ORDERED = "ordered"
N_CLASSES = "n_classes"
FACTS = (PUBLIC_COLUMNS, ORDERED, N_CLASSES)

LearnerDistribution = Callable[[Any, Records], Floats]
LearnerLoss = Callable[[Any, Pair], float]
LearnerSampler = Callable[[Any, Pair, Records, int, np.random.Generator], NDArray[Any] | States]
LearnerGuesser = Callable[[Any, Pair, int, np.random.Generator], Guesses]
MakePairs = Callable[["Claim", Target], Iterable[Pair]]


@dataclass(frozen=True)
class Claim:
    """A privacy claim of a learner, the pairs of tables that test it, and the method of the attack.

    Exactly one of `distribution`, `loss`, `sample` and `guess` must be given: it is the attack.
    """

    learner: str
    calibration: str
    epsilon: float
    # `pairs(claim, target)` returns the pairs of tables: tiny ones, or the real dataset `target`
    # with a canary.
    pairs: MakePairs
    delta: float = 0.0
    # Hyperparameters, and public facts: `public_columns` (if given, the label is public, too),
    # `ordered` (default: all columns) and `n_classes` (default 2).
    setting: Mapping[str, Any] = field(default_factory=dict)
    # `distribution(estimator, records)` returns the probability of each possible output of a fit.
    distribution: LearnerDistribution | None = None
    # `loss(estimator, pair)` returns the largest privacy loss of a fit's output that the attack can
    # show. A loss above ε refutes a claim with δ = 0.
    loss: LearnerLoss | None = None
    # `sample(estimator, pair, records, n, rng)` trains n times on `records`, one of the tables of
    # `pair`, and returns the outputs.
    sample: LearnerSampler | None = None
    # `guess(estimator, pair, n, rng)` trains n times on tables of canaries; it guesses their coins.
    guess: LearnerGuesser | None = None
    # number of fits on each table of each pair; for an attack by canaries, number of all fits
    n_trainings: int = 0
    n_pairs: int = 1  # number of pairs that `pairs` returns; only used with `sample`
    neighbours: str = REPLACE_ONE  # the relation of all pairs
    # The relation in the learner's own statement; by default `neighbours`. If the two relations
    # differ, the attack tests a stronger guarantee than the learner claims, and a violation does
    # not refute the claim.
    stated: str = ""

    def __post_init__(self) -> None:
        ways = (self.distribution, self.loss, self.sample, self.guess)
        if sum(how is not None for how in ways) != 1:
            raise ValueError(f"{self.name}: give one of distribution, loss, sample and guess")
        if self.sample is not None and self.n_trainings < 2:
            raise ValueError(f"{self.name}: n_trainings must be at least 2; got {self.n_trainings}")
        if self.loss is not None and self.delta > 0:
            raise ValueError(f"{self.name}: delta must be 0 for a loss; got {self.delta:g}")
        object.__setattr__(self, "stated", self.stated or self.neighbours)

    @property
    def method(self) -> str:
        """The method of the attack: ``exact``, ``density``, ``sampled`` or ``canaries``."""
        if self.guess is not None:
            return CANARIES
        if self.sample is not None:
            return SAMPLED
        return EXACT if self.distribution is not None else DENSITY

    @property
    def name(self) -> str:
        """A text that identifies this claim, and determines its random stream."""
        how = self.distribution or self.loss or self.sample or self.guess
        parts = [
            self.learner,
            stored(self.calibration),
            self.epsilon,
            self.delta,
            dict(self.setting),
        ]
        parts += [_name(self.pairs), _name(how), self.n_trainings, self.neighbours]
        return json.dumps(parts, sort_keys=True)

    def estimator(self, n_bins: Ints) -> CodedClassifier:
        """Return the unfitted learner for columns with these numbers of bins."""
        claimed = {name: getattr(self, name) for name in BUDGET}
        own = {name: value for name, value in self.setting.items() if name not in FACTS}
        public = self.setting.get(PUBLIC_COLUMNS)
        ordered = self.setting.get(ORDERED, (True,) * len(n_bins))
        n_classes, is_public = self.setting.get(N_CLASSES, 2), public is not None
        facts = Facts(n_bins, ordered, n_classes, public, is_public)
        relation = PRIVATE_COLUMNS if is_public else REPLACE_ONE
        learner: CodedClassifier = make(self.learner, facts, {**claimed, **own}, relation)
        return learner

    def statement(self, side: Records) -> PrivacyStatement:
        """Fit the learner to `side`, and return the fit's privacy statement.

        Raises ValueError if the statement's ε, δ or neighbouring relation differs from the claim's.
        """
        rng = generator(self.name, 0)
        learner = self.estimator(side.n_bins)
        (fitted,) = learner.fit_records(side, [{}], [Curator(rng)])
        own: PrivacyStatement = fitted.privacy_
        if (own.epsilon, own.delta, own.neighbours) != (self.epsilon, self.delta, self.stated):
            raise ValueError(
                f"{self.name}: the learner claims ε = {own.epsilon:g}, δ = {own.delta:g} for "
                f"{own.neighbours} neighbours; the audit's claim must be the same, but has "
                f"ε = {self.epsilon:g}, δ = {self.delta:g} for {self.stated} neighbours"
            )
        return own


def _name(function: object) -> str:
    if isinstance(function, partial):
        arguments = json.dumps([function.args, function.keywords], sort_keys=True)
        return f"{_name(function.func)}{arguments}"
    return str(getattr(function, "__qualname__", function))


def generator(name: str, seed: Seed) -> np.random.Generator:
    """Return the random stream of the claim `name` in an audit with the base seed `seed`."""
    digest = hashlib.sha256(json.dumps([name, seeds.public_name(seed)]).encode()).hexdigest()
    return seeds.generator(seed, digest)
