"""PrivGAM: the likelihood of all that a fit releases, on either side of a pair.

A fit is a function of its released sums, its choices and public coins. So the outputs of a fit on
one side can be put to a fit on the other side, and both give the density of the same transcript.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privcurve.audit.attacks.any_learner import DELTAS, chances_of, sampled, whole_state
from privcurve.audit.attacks.pairs import (
    crossed_columns,
    eight_constant,
    in_crowds,
    nine_balanced,
)
from privcurve.audit.claim import Attack, Claim
from privcurve.audit.fits import untrained
from privcurve.audit.pairs import Pair, Records
from privcurve.learners.additive.fitting import Fit
from privcurve.learners.privgam import PrivGAMClassifier
from privcurve.privacy.budget import CERTIFIED

# Scripts that are tried on a pair: outcomes of all cells, drawn at random beyond either side.
SCRIPTS = 400


class Outcomes:
    """What a fit draws, in order: kept, and given back to another fit."""

    def __init__(self) -> None:
        self.known: list[Any] = []
        self._next = 0

    def take(self, draw: Any) -> Any:
        """Give the next outcome; draw it if it is not known."""
        if self._next == len(self.known):
            self.known.append(draw())
        self._next += 1
        return self.known[self._next - 1]

    def rewind(self) -> None:
        """Begin again."""
        self._next = 0


class Script(Outcomes):
    """Outcomes that no fit drew: sums beyond both sides, and any choice."""

    def __init__(self, seed: int, largest: float) -> None:
        super().__init__()
        self._rng = np.random.default_rng(seed)
        self._largest = largest

    def sums(self, shape: tuple[int, ...]) -> NDArray[np.float64]:
        """Draw each number below or above what it can be.

        The margin of balanced labels is at most 1/2; one far beyond it would leave later steps
        with residuals that tell nothing.
        """
        up = self._rng.random(shape) < self._rng.choice([0.1, 0.5, 0.9])
        largest = 1.0 if shape == (1, 1) else self._largest
        return np.where(up, largest, -largest)

    def choice(self, n: int) -> int:
        """Draw a choice."""
        return int(self._rng.integers(n))


class Replayed(Fit):
    """A fit whose outcomes are given, and which adds up their log density."""

    outcomes: Outcomes
    log_density: float = 0.0

    def _with_noise(
        self, exact: NDArray[np.int64], rate: float, bits: int | None
    ) -> tuple[NDArray[np.float64], float]:
        drawn: list[float] = []

        def draw() -> NDArray[np.float64]:
            values, variance = super(Replayed, self)._with_noise(exact, rate, bits)
            drawn.append(variance)
            if isinstance(self.outcomes, Script):
                return self.outcomes.sums(exact.shape)
            return values

        values = self.outcomes.take(draw)
        bits = self.budget.bits if bits is None else bits
        scale = self.budget.on_grid(rate, bits) * 2.0**-bits
        away = np.abs(values - exact * 2.0**-bits) / scale
        cost = away if self.budget.pure else away**2 / 2
        self.log_density -= float(cost.sum())
        return values, (2.0 if self.budget.pure else 1.0) * scale**2

    def choose(self, share: float, when: str) -> int:
        """Take the choice that is given; its chance is the mechanism's."""
        edges = self.records.edges()
        script = self.outcomes
        drawn = super().choose(share, when)
        j = int(
            script.take(lambda: script.choice(len(edges)) if isinstance(script, Script) else drawn)
        )
        rate = 1.0 / self.budget.on_grid(self.ledger[-1].noise_rate)
        chances = chances_of(self.budget.chosen_with)(edges, rate)
        self.log_density += float(np.log(chances[j]))
        return j

    def _in_order(self, active: list[int]) -> list[int]:
        order: list[int] = self.outcomes.take(lambda: super(Replayed, self)._in_order(active))
        return order


def log_density(
    learner: PrivGAMClassifier, side: Records, outcomes: Outcomes, rng: np.random.Generator
) -> float:
    """Give the log density of outcomes on a side; what is not known of them yet is drawn there.

    Parameters
    ----------
    learner : PrivGAMClassifier
        Not fitted.
    side : Records
    outcomes : Outcomes
    rng : numpy.random.Generator
    """
    kind = type("Given", (Replayed,), {"outcomes": outcomes})
    outcomes.rewind()
    blank = untrained(learner, side)
    fit, _ = blank._fitted(side.codes, side.signs, side.counts, rng, kind)
    return float(fit.log_density)


def script_densities(
    learner: PrivGAMClassifier, pair: Pair
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Give the log densities of scripts, whose sums lie beyond what both sides can have.

    The ratio of two Laplace densities is extreme there.

    Parameters
    ----------
    learner : PrivGAMClassifier
        Not fitted; δ = 0.
    pair : Pair
        In a domain of few bins.

    Returns
    -------
    left, right : ndarray of shape (n_scripts,)
    """
    found = np.empty((2, SCRIPTS))
    rng = np.random.default_rng(0)
    for k in range(SCRIPTS):
        script = Script(k, float(pair.left.n))
        found[:, k] = [log_density(learner, side, script, rng) for side in (pair.left, pair.right)]
    return found[0], found[1]


def sample_ratios(
    learner: PrivGAMClassifier, pair: Pair, side: Records, n: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Train n times, and give how much likelier each transcript is on the left: the best attack.

    Parameters
    ----------
    learner : PrivGAMClassifier
        Not fitted.
    pair : Pair
    side : Records
        What is trained on.
    n : int
    rng : numpy.random.Generator

    Returns
    -------
    ndarray of shape (n,)
    """
    found = np.empty(n)
    for k in range(n):
        outcomes = Outcomes()
        log_density(learner, side, outcomes, rng)
        left, right = (log_density(learner, s, outcomes, rng) for s in (pair.left, pair.right))
        found[k] = left - right
    return found


# On tiny data the rule would ask the intercept alone.
SOME: dict[str, Any] = {"n_steps": 3}
ONCE: dict[str, Any] = {"method": "cyclic", "n_rounds": 1, "linear": "no", "pairs": "no"}
ALONG: dict[str, Any] = {**SOME, "ordered": True, "linear": "yes"}
TINY_SETTINGS: tuple[dict[str, Any], ...] = ({"n_steps": 1}, SOME, ALONG)


def _privgam() -> Iterator[Claim]:
    name = "privgam"
    for setting, pairs in itertools.product(TINY_SETTINGS, (nine_balanced, crossed_columns)):
        yield Claim(name, CERTIFIED, 1.0, pairs, 0.0, setting, densities=script_densities)
    yield Claim(name, CERTIFIED, 1.0, nine_balanced, densities=script_densities)
    # Gaussian noise shows in likely outcomes when ε is large.
    twice = {"method": "cyclic", "n_rounds": 2}
    for setting, n_trainings in ((twice, 600), ({"method": "greedy", **ALONG}, 300)):
        yield Claim(
            name,
            CERTIFIED,
            2.0,
            eight_constant,
            1e-2,
            setting,
            sample=sample_ratios,
            n_trainings=n_trainings,
        )
    # From the model alone: the score of the canary, which adds up the columns' values.
    yield sampled(name, CERTIFIED, ONCE, 6_000, in_crowds, 1e-2, epsilon=2.0)
    yield sampled(name, CERTIFIED, {**ONCE, "pairs": "yes"}, 2_000, in_crowds, 1e-2, epsilon=2.0)
    yield whole_state(name, CERTIFIED, SOME, 400)
    for delta in DELTAS:
        yield whole_state(name, CERTIFIED, {"method": "cyclic", "n_rounds": 3}, 300, delta=delta)
    yield whole_state(name, CERTIFIED, ALONG, 200, delta=1e-2)


RELEASED = {
    "model_": "made of sums with noise, choices with noise and public coins",
    "method_": "by the public rule, from public facts",
}

ATTACKS = (Attack("privgam", tuple(_privgam()), RELEASED),)
