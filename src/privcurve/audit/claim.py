"""The claims that an audit tests, and the method for each."""

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
# Methods whose bounds hold with a certain confidence.
RANDOM = (SAMPLED, CANARIES)

# Keys of `Claim.setting` for public facts; all other keys are hyperparameters.
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
    """One claim, the pairs of tables that test it, and the method.

    Exactly one of `distribution`, `loss`, `sample` and `guess` is given, and decides the method.
    """

    learner: str
    calibration: str
    epsilon: float
    # `pairs(claim, target)`: the pairs of neighbours, either tiny tables or the target with a
    # canary.
    pairs: MakePairs
    delta: float = 0.0
    # Hyperparameters, and public facts: `public_columns` (if given, the label is public, too),
    # `ordered` (default: all columns) and `n_classes` (default 2).
    setting: Mapping[str, Any] = field(default_factory=dict)
    # `distribution(estimator, records)`: the probability of each transcript.
    distribution: LearnerDistribution | None = None
    # `loss(estimator, pair)`: the largest privacy loss that the attack can show for an output of a
    # fit. For δ = 0, a loss above ε refutes the claim.
    loss: LearnerLoss | None = None
    # `sample(estimator, pair, records, n, rng)`: the outputs of n trainings on one side.
    sample: LearnerSampler | None = None
    # `guess(estimator, pair, n, rng)`: guesses of canaries' coins after n trainings.
    guess: LearnerGuesser | None = None
    n_trainings: int = 0  # number of fits on each table of each pair; for canaries, in total
    n_pairs: int = 1  # number of pairs of a sampled claim
    neighbours: str = REPLACE_ONE  # the relation of all pairs
    # The relation in the learner's own statement; by default `neighbours`. If the two differ, the
    # audit tries more than the learner claims, and a violation refutes nothing.
    stated: str = ""

    def __post_init__(self) -> None:
        ways = (self.distribution, self.loss, self.sample, self.guess)
        if sum(how is not None for how in ways) != 1:
            raise ValueError(f"{self.name}: give one of distribution, loss, sample and guess")
        if self.sample is not None and self.n_trainings < 2:
            raise ValueError(f"{self.name}: sampled, so n_trainings must be at least 2")
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
        """Return the audited learner, unfitted."""
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
        """Return the statement of a fit; raise ValueError if it differs from the claim."""
        rng = generator(self.name, 0)
        learner = self.estimator(side.n_bins)
        (fitted,) = learner.fit_records(side, [{}], [Curator(rng)])
        own: PrivacyStatement = fitted.privacy_
        if (own.epsilon, own.delta, own.neighbours) != (self.epsilon, self.delta, self.stated):
            raise ValueError(
                f"{self.name}: the learner claims ε = {own.epsilon:g}, δ = {own.delta:g} for "
                f"{own.neighbours} neighbours; the audit has ε = {self.epsilon:g}, "
                f"δ = {self.delta:g} and {self.stated} ones"
            )
        return own


def _name(function: object) -> str:
    if isinstance(function, partial):
        arguments = json.dumps([function.args, function.keywords], sort_keys=True)
        return f"{_name(function.func)}{arguments}"
    return str(getattr(function, "__qualname__", function))


def generator(name: str, seed: Seed) -> np.random.Generator:
    """Return the random stream of the claim with the name `name`, in a run with a base seed."""
    digest = hashlib.sha256(json.dumps([name, seeds.public_name(seed)]).encode()).hexdigest()
    return seeds.generator(seed, digest)
