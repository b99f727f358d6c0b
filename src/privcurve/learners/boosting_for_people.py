"""Boosting for People: boosting of half-spaces that are learned with noise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privcurve.coding import Records
from privcurve.kernels.newton import minimise_logistic
from privcurve.learners.brc_weights import PrivateWeights
from privcurve.learners.checks import RandomState
from privcurve.learners.half_spaces import HalfSpace, HalfSpaceVoteClassifier, Rounds
from privcurve.learners.roles import Roles
from privcurve.learners.threads import one_thread
from privcurve.privacy.budget import CERTIFIED
from privcurve.privacy.calibration.boosting_for_people import PeopleNoise, people_noise
from privcurve.privacy.curator import Curator
from privcurve.privacy.ledger import PrivacyStatement
from privcurve.privacy.mechanisms import LAPLACE, MECHANISMS


class BoostingForPeopleClassifier(HalfSpaceVoteClassifier):
    """BRC's rounds with a learned classifier in place of a random one.

    Each round fits a logistic regression to the weighted private columns by objective
    perturbation, then estimates its weighted error with noise. Dwork, Rothblum and Vadhan's
    boosting (2010), which Shen et al. compare with, prints no constants; the combiner here is
    BRC's. Theirs draws rows by weight, moves exponents by ±1 and takes a majority; it is
    not built.

    Parameters
    ----------
    n_rounds : int
        T.
    largest, smallest : float
        Caps of a weight, c₂ ≥ 1 and 1/c₁ ≤ 1.
    public_columns : sequence of int or None
        Positions of public columns; the label is public then. None: nothing is.
    epsilon : float
        ε, above 0; infinite: no noise.
    delta : float
        Must be 0.
    calibration : str
        ``certified`` or ``published``, see
        :class:`~privcurve.privacy.calibration.boosting_for_people.PeopleNoise`.
    n_bins, bounds, classes, random_state
        See :class:`~privcurve.learners.base.CodedClassifier`.

    Attributes
    ----------
    votes_, estimates_, n_features_used_, n_records_
        See :class:`~privcurve.learners.half_spaces.HalfSpaceVoteClassifier`.
    """

    _learner = "boosting_for_people"

    def __init__(
        self,
        n_rounds: int = 25,
        largest: float = 2**0.5,
        smallest: float = 0.5**0.5,
        public_columns: Sequence[int] | None = None,
        epsilon: float = 1.0,
        delta: float = 0.0,
        calibration: str = CERTIFIED,
        n_bins: int | Sequence[int] | None = None,
        bounds: tuple[ArrayLike, ArrayLike] | None = None,
        classes: Sequence[Any] | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.n_rounds = n_rounds
        self.largest = largest
        self.smallest = smallest
        self.public_columns = public_columns
        self.epsilon = epsilon
        self.delta = delta
        self.calibration = calibration
        self.n_bins = n_bins
        self.bounds = bounds
        self.classes = classes
        self.random_state = random_state

    def _fit_one(self, records: Records, curator: Curator) -> PrivacyStatement:
        codes, signs, counts, _ = records
        rng = curator.coins
        self._roles = self._roles_read()
        n = int(counts.sum())
        noise = people_noise(
            n=n,
            n_columns=len(self._roles.private),
            n_rounds=int(self.n_rounds),
            smallest=float(self.smallest),
            largest=float(self.largest),
            epsilon=float(self.epsilon),
            calibration=self.calibration,
        )
        learned = _LearnedHalfSpaces(noise, self._points(codes, public=False), signs, counts, rng)
        rounds = Rounds(noise.error, learned, signs > 0, counts, rng)
        with one_thread():
            self._boost(rounds, codes, signs, counts)
        self._adopt(rounds.votes, rounds.estimates, n)
        return noise.statement(rounds.alphas, self._roles.public)

    def _roles_read(self) -> Roles:
        return Roles.of(self._learner, self.public_columns, self.n_features_in_)


class _LearnedHalfSpaces:
    """A logistic regression by objective perturbation in each round."""

    def __init__(
        self,
        noise: PeopleNoise,
        points: NDArray[np.float64],
        signs: NDArray[np.int8],
        counts: NDArray[np.int64],
        rng: np.random.Generator,
    ) -> None:
        self._noise = noise
        self._rows = np.column_stack([points.T, np.ones(len(signs))])
        self._signs = signs
        self._counts = counts
        self._rng = rng
        self._penalty = np.full(self._rows.shape[1], noise.classifier.penalty)

    def propose(self, t: int, alphas: Sequence[float], weights: PrivateWeights) -> HalfSpace:
        found = minimise_logistic(
            self._rows,
            self._signs,
            self._given(weights.each),
            self._penalty,
            tilt=self._noise.classifier.tilt(self._rows.shape[1], self._rng),
        )
        return HalfSpace(found[:-1], float(found[-1]), self._rows @ found > 0)

    def _given(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Give the total weight of each row, its records' weights with noise if published."""
        scale = self._noise.weight_scale
        if scale == 0:
            return weights * self._counts
        each = np.repeat(weights, self._counts)
        each += MECHANISMS[LAPLACE].draw(self._rng, len(each), scale)
        caps = self._noise.error.smallest, self._noise.error.largest
        starts = np.cumsum(self._counts) - self._counts
        return np.asarray(np.add.reduceat(np.clip(each, *caps), starts))
