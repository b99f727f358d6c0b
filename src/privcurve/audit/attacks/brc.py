"""Boosting of half-spaces: exact densities of BRC's noisy errors, and real fits.

BRC's half-spaces are drawn without looking at the data, so two neighbours have the same ones;
what differs is the errors. Their density is that of the learner's own noise at its own weights.
All else that is released must follow from these errors and from what is public: where it does
not, the two sides can't release the same, and one look tells them apart.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privcurve.audit.attacks.any_learner import BOTH, whole_state
from privcurve.audit.attacks.hidden import (
    flipped_label,
    hidden_states,
    right_beside,
    right_sides,
)
from privcurve.audit.claim import Attack, Claim
from privcurve.audit.fits import untrained
from privcurve.audit.pairs import Pair, Records, Target
from privcurve.audit.states import sample_states
from privcurve.learners.brc import BRCClassifier
from privcurve.learners.brc_weights import PrivateWeights
from privcurve.learners.half_spaces import HalfSpace, Rounds
from privcurve.learners.roles import Roles
from privcurve.privacy.budget import PRIVATE_COLUMNS, REPLACE_ONE
from privcurve.privacy.calibration.brc import BRCNoise

# Released errors that the density is compared at: beyond both ends, and between.
ERRORS = (-2.0, 0.2, 0.5, 0.8, 3.0)

PARTIAL = {"public_columns": (1,)}


@dataclass(frozen=True)
class Given(BRCNoise):
    """The learner's noise, whose releases are given; it keeps their log density.

    Attributes
    ----------
    errors : tuple of float
    logs : list of float
    """

    errors: tuple[float, ...] = ()
    logs: list[float] = field(default_factory=list)

    def release(self, exact: float, alphas: Sequence[float], rng: np.random.Generator) -> float:
        """Give the error of this round, and note how likely it is."""
        error = self.errors[len(self.logs)]
        self.logs.append(-abs(error - exact) / self.scale(alphas))
        return error


@dataclass(frozen=True)
class Fixed:
    """Half-spaces of one column of two codes: what they call positive is the code 1, or 0."""

    codes: NDArray[np.int64]
    upward: tuple[bool, ...]

    def propose(self, t: int, alphas: Sequence[float], weights: PrivateWeights) -> HalfSpace:
        """Give the half-space of round t."""
        slope = 1.0 if self.upward[t] else -1.0
        return HalfSpace(np.array([slope]), 0.0, (self.codes == 1) == self.upward[t])


@dataclass(frozen=True)
class Played:
    """One transcript of the learner's own rounds.

    Attributes
    ----------
    log_density : float
        Of its errors.
    released : tuple
        Errors as they were released, votes, and the α's.
    """

    log_density: float
    released: tuple[Any, ...]


def play(
    learner: BRCClassifier, side: Records, upward: tuple[bool, ...], errors: tuple[float, ...]
) -> Played:
    """Run the learner's own rounds on given half-spaces, with given errors.

    The learner is that of :func:`~privcurve.audit.fits.untrained`.
    """
    known = learner._noise(side.n)
    noise = Given(**{f.name: getattr(known, f.name) for f in fields(known)}, errors=errors)
    proposer = Fixed(side.codes[:, 0].astype(np.int64), upward)
    rounds = Rounds(noise, proposer, side.signs > 0, side.counts, np.random.default_rng(0))
    learner._roles = Roles.of(learner._learner, learner.public_columns, side.codes.shape[1])
    learner._boost(rounds, side.codes, side.signs, side.counts)
    released = tuple(rounds.estimates), tuple(rounds.votes), tuple(rounds.alphas)
    return Played(sum(noise.logs), released)


def error_densities(
    learner: BRCClassifier, pair: Pair
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Give the log densities of errors on a grid, for all half-spaces, on either side.

    Parameters
    ----------
    learner : BRCClassifier
        Not fitted.
    pair : Pair
        Column 0 is private, of two codes; others are public.

    Returns
    -------
    left, right : ndarray
        Of what the left side releases. The right is −∞ where equal errors lead to another
        release there: an exact error, or a public part that is not a function of what is public.
    """
    left, right = [], []
    sides = [(untrained(learner, side), side) for side in (pair.left, pair.right)]
    rounds = int(learner.n_rounds)
    for upward in itertools.product((True, False), repeat=rounds):
        for errors in itertools.product(ERRORS, repeat=rounds):
            one, other = (play(blank, side, upward, errors) for blank, side in sides)
            same = one.released == other.released
            left.append(one.log_density)
            right.append(other.log_density if same else -np.inf)
    return np.array(left), np.array(right)


def replaced(c: Claim, target: Target) -> Iterator[Pair]:
    """Give the worst pairs of a weighted error as pairs of replaced records."""
    for pair in right_sides(c, target):
        yield Pair(pair.dataset, pair.name, pair.left, pair.right)


def beyond(learner: str, n: int) -> Claim:
    """Audit a partially private learner beyond its statement, by a flipped label."""
    return Claim(
        learner,
        "certified",
        1.0,
        flipped_label,
        0.0,
        {"n_rounds": 3, **PARTIAL},
        sample=sample_states,
        n_trainings=n,
        neighbours=REPLACE_ONE,
        stated=PRIVATE_COLUMNS,
    )


def _brc() -> Iterator[Claim]:
    for calibration, rounds in itertools.product(BOTH, (1, 2, 3)):
        setting = {"n_rounds": rounds}
        yield Claim("brc", calibration, 1.0, replaced, 0.0, setting, densities=error_densities)
        yield Claim(
            "brc",
            calibration,
            1.0,
            right_sides,
            0.0,
            {**setting, "public_columns": ()},
            densities=error_densities,
            neighbours=PRIVATE_COLUMNS,
        )
    for calibration in BOTH:
        yield Claim(
            "brc",
            calibration,
            1.0,
            right_beside,
            0.0,
            {"n_rounds": 2, **PARTIAL},
            densities=error_densities,
            neighbours=PRIVATE_COLUMNS,
        )
        yield whole_state("brc", calibration, {"n_rounds": 3}, 200)
        yield hidden_states("brc", calibration, {"n_rounds": 3, **PARTIAL}, 200)
    yield whole_state("brc", "certified", {"n_rounds": 3}, 200, delta=1e-2)
    yield beyond("brc", 800)


def _boosting_for_people() -> Iterator[Claim]:
    for calibration in BOTH:
        yield whole_state("boosting_for_people", calibration, {"n_rounds": 2}, 200)
        yield hidden_states("boosting_for_people", calibration, {"n_rounds": 2, **PARTIAL}, 200)


RELEASED = {
    "votes_": "half-spaces drawn blindly or with noise, α of noisy errors, and public classifiers",
    "estimates_": "errors with noise",
    "_roles": "which columns are public, a parameter",
}

ATTACKS = (
    Attack("brc", tuple(_brc()), RELEASED),
    Attack("boosting_for_people", tuple(_boosting_for_people()), RELEASED),
)
