"""What is audited, as data; and the run that makes a row of each."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from privcurve.audit.pairs import Pair, Records, Target
from privcurve.audit.search import Found, search_exact, search_sampled
from privcurve.learners.base import CodedClassifier
from privcurve.learners.entry import Facts
from privcurve.learners.registry import entry, make
from privcurve.privacy.budget import PUBLISHED
from privcurve.privacy.ledger import REPLACE_ONE, PrivacyStatement

EXACT = "exact"
SAMPLED = "sampled"

STANDS = "stands"
VIOLATED = "violated"
FOUND_NOTHING = "found nothing"

COLUMNS = (
    "learner",
    "calibration",
    "mechanism",
    "neighbours",
    "setting",
    "method",
    "dataset",
    "n_records",
    "n_pairs",
    "pair",
    "n_trainings",
    "epsilon",
    "delta",
    "found_epsilon",
    "found_delta",
    "verdict",
    "not_covered",
    "event",
)

LearnerDistribution = Callable[[Any, Records], NDArray[np.float64]]
LearnerSampler = Callable[[Any, Pair, Records, int, np.random.Generator], NDArray[Any]]
MakePairs = Callable[["Configuration", Target], Iterable[Pair]]


@dataclass(frozen=True)
class Configuration:
    """One claim, the pairs it is tried on, and how.

    Either `distribution` or `sample` is given, and the method follows from it.

    Attributes
    ----------
    learner : str
        Its name in the registry.
    calibration : str
    epsilon, delta : float
        The claim.
    setting : mapping
        Hyperparameters.
    pairs : callable
        ``pairs(configuration, target)``: neighbours, tiny ones or canaries in the target.
    distribution : callable, optional
        ``distribution(estimator, records)``: the probability of each transcript.
    sample : callable, optional
        ``sample(estimator, pair, records, n, rng)``: outputs of n trainings.
    n_trainings : int
        On each side of each pair.
    n_pairs : int
        How many pairs a sampled configuration has.
    """

    learner: str
    calibration: str
    epsilon: float
    pairs: MakePairs
    delta: float = 0.0
    setting: Mapping[str, Any] = field(default_factory=dict)
    distribution: LearnerDistribution | None = None
    sample: LearnerSampler | None = None
    n_trainings: int = 0
    n_pairs: int = 1

    def __post_init__(self) -> None:
        if (self.distribution is None) == (self.sample is None):
            raise ValueError(f"{self.name}: give either distribution= or sample=")
        if self.sample is not None and self.n_trainings < 2:
            raise ValueError(f"{self.name}: sampled, so n_trainings must be at least 2")

    @property
    def method(self) -> str:
        """``exact`` or ``sampled``."""
        return SAMPLED if self.distribution is None else EXACT

    @property
    def name(self) -> str:
        """What tells this configuration from the others of its learner, and seeds it."""
        parts = [self.learner, self.calibration, self.epsilon, self.delta, dict(self.setting)]
        parts += [_name(self.pairs), _name(self.distribution or self.sample), self.n_trainings]
        return json.dumps(parts, sort_keys=True)

    def estimator(self, n_bins: NDArray[np.int64]) -> CodedClassifier:
        """Give the learner that is audited, not fitted."""
        claimed = {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "calibration": self.calibration,
        }
        made = make(self.learner, Facts(n_bins), {**claimed, **self.setting})
        assert isinstance(made, CodedClassifier)
        return made


def _name(function: Any) -> str:
    if isinstance(function, partial):
        arguments = json.dumps([function.args, function.keywords], sort_keys=True)
        return f"{_name(function.func)}{arguments}"
    return str(getattr(function, "__qualname__", function))


def generator(name: str, seed: int) -> np.random.Generator:
    """Give the random stream of a configuration.

    Parameters
    ----------
    name : str
    seed : int
        Base seed of the run.
    """
    digest = hashlib.sha256(json.dumps([name, seed]).encode()).hexdigest()
    return np.random.default_rng(np.random.SeedSequence(int(digest, 16)))


def n_comparisons(configurations: Iterable[Configuration]) -> int:
    """Count the sampled pairs, over which a verdict's error is shared out."""
    return sum(c.n_pairs for c in configurations if c.method == SAMPLED)


def run(
    configurations: Sequence[Configuration], target: Target, seed: int, comparisons: int
) -> pd.DataFrame:
    """Audit.

    Parameters
    ----------
    configurations : sequence of Configuration
    target : Target
        The dataset that canaries are put into.
    seed : int
        Base seed of the run.
    comparisons : int
        Sampled pairs of the whole run, all learners together; see :func:`n_comparisons`.

    Returns
    -------
    DataFrame
        One row a configuration, with the columns `COLUMNS`. `epsilon` and `delta` are
        claimed; `found_epsilon` is exact, or a lower bound at 95 % over the row's pairs;
        `found_delta` is the exact δ at the claimed ε.
    """
    rows = [_row(c, _search(c, target, seed, comparisons)) for c in configurations]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _search(c: Configuration, target: Target, seed: int, comparisons: int) -> Found:
    pairs = c.pairs(c, target)
    if c.distribution is not None:
        distribution = c.distribution
        return search_exact(
            pairs, lambda side: distribution(c.estimator(side.n_bins), side), c.epsilon, c.delta
        )
    assert c.sample is not None
    sample = c.sample
    return search_sampled(
        pairs,
        lambda pair, side, n, rng: sample(c.estimator(side.n_bins), pair, side, n, rng),
        c.n_trainings,
        c.epsilon,
        c.delta,
        generator(c.name, seed),
        comparisons,
    )


def _row(c: Configuration, found: Found) -> dict[str, Any]:
    said = statement(c, found.pair.left)
    setting = {key: value for key, value in c.setting.items() if key != "mechanism"}
    return {
        "learner": c.learner,
        "calibration": c.calibration,
        "mechanism": ", ".join(dict.fromkeys(call.mechanism for call in said.ledger)),
        "neighbours": said.neighbours,
        "setting": json.dumps(setting, sort_keys=True),
        "method": c.method,
        "dataset": found.pair.dataset,
        "n_records": found.pair.left.n,
        "n_pairs": found.n_pairs,
        "pair": found.pair.name,
        "n_trainings": c.n_trainings,
        "epsilon": c.epsilon,
        "delta": c.delta,
        "found_epsilon": found.epsilon,
        "found_delta": found.delta,
        "verdict": verdict(found),
        "not_covered": not_covered(said),
        "event": found.event,
    }


def statement(c: Configuration, side: Records) -> PrivacyStatement:
    """Give what the learner says of itself after a fit.

    Raises
    ------
    ValueError
        If that is not the claim that is audited.
    """
    learner = c.estimator(side.n_bins)
    rng = generator(c.name, 0)
    fitted = learner.fit_many(side.codes, side.signs, [{}], [rng], side.counts)[0]
    said: PrivacyStatement = fitted.privacy_
    if (said.epsilon, said.delta, said.neighbours) != (c.epsilon, c.delta, REPLACE_ONE):
        raise ValueError(
            f"{c.name}: the learner claims ε = {said.epsilon:g}, δ = {said.delta:g} for "
            f"{said.neighbours} neighbours; the audit tries ε = {c.epsilon:g}, "
            f"δ = {c.delta:g} on {REPLACE_ONE} ones"
        )
    return said


def not_covered(said: PrivacyStatement) -> str:
    """Give what a published statement excludes beyond what all statements do.

    A published calibration whose claim is not proved says so there: a refutation of it is
    what its own statement warns of. Nothing excuses the refutation of a certified one.
    """
    if said.calibration != PUBLISHED:
        return ""
    return "; ".join(said.reservations)


def verdict(found: Found) -> str:
    """Say what was found: ``stands``, ``violated``, or ``found nothing``."""
    if found.violated:
        return VIOLATED
    return STANDS if found.epsilon > 0 else FOUND_NOTHING


def missing(learner: str) -> str:
    """Give the message for a learner that is not audited."""
    return (
        f"the learner {learner!r} has no audit configuration: add one to CONFIGURATIONS in "
        "src/privcurve/audit/configurations.py"
    )


def check_configurations(
    audited: Mapping[str, Sequence[Configuration]], learners: Iterable[str]
) -> list[str]:
    """Say what an audit leaves out.

    Parameters
    ----------
    audited : mapping of str to sequence of Configuration
    learners : iterable of str
        Names in the registry. Those without privacy need no configuration, and peers
        (other people's programs, whose claims are for neighbours of their own) neither.

    Returns
    -------
    list of str
        One sentence a problem; empty if every private learner has a configuration for each
        calibration that it offers, and one with δ > 0 if it offers that.
    """
    problems = []
    for name in learners:
        if not entry(name).private or entry(name).peer:
            continue
        if not audited.get(name):
            problems.append(missing(name))
            continue
        covered = {c.calibration for c in audited[name]}
        problems += [
            f"{name}: no audit configuration has the calibration {calibration!r}"
            for calibration in entry(name).calibrations
            if calibration not in covered
        ]
        if entry(name).approximate and not any(c.delta > 0 for c in audited[name]):
            problems.append(f"{name} offers δ > 0, but no audit configuration has it")
    return problems
