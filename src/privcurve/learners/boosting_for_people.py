"""Boosting for People: boosting of half-spaces that are learned with noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from privcurve.coding import Floats, Ints, Records, Signs
from privcurve.learners.base import PrivateClassifier
from privcurve.learners.half_spaces import HalfSpace, HalfSpaceVoteClassifier, PrivateWeights
from privcurve.learners.log_odds import perturbed_logistic
from privcurve.learners.threads import one_thread
from privcurve.privacy.calibration.brc import PeopleNoise, people_noise
from privcurve.privacy.curator import Curator
from privcurve.privacy.ledger import PrivacyStatement


@dataclass(kw_only=True, eq=False, repr=False)
class BoostingForPeopleClassifier(HalfSpaceVoteClassifier, PrivateClassifier):
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
        :class:`~privcurve.privacy.calibration.brc.PeopleNoise`.
    n_bins, bounds, classes, random_state
        See :class:`~privcurve.learners.base.CodedClassifier`.

    Attributes
    ----------
    votes_, n_features_used_, n_records_
        See :class:`~privcurve.learners.half_spaces.HalfSpaceVoteClassifier`.
    """

    _learner = "boosting_for_people"

    def _fit_one(self, records: Records, curator: Curator) -> PrivacyStatement:
        codes, signs, counts, _ = records
        self._roles = self._roles_read()
        noise = people_noise(
            n=records.n,
            n_columns=len(self._roles.private),
            n_rounds=int(self.n_rounds),
            smallest=float(self.smallest),
            largest=float(self.largest),
            epsilon=float(self.epsilon),
            calibration=self.calibration,
        )
        points = self._points(codes, public=False)
        learned = _LearnedHalfSpaces(noise, points, signs, counts, curator)
        with one_thread():
            rounds = self._boost(noise.error, learned, records, curator)
        return noise.statement(rounds.alphas, self._roles.public)


class _LearnedHalfSpaces:
    """A logistic regression by objective perturbation in each round."""

    def __init__(
        self, noise: PeopleNoise, points: Floats, signs: Signs, counts: Ints, curator: Curator
    ) -> None:
        self._noise = noise
        self._rows = np.column_stack([points.T, np.ones(len(signs))])
        self._signs = signs
        self._counts = counts
        self._curator = curator
        self._penalty = np.full(self._rows.shape[1], noise.classifier.penalty)

    def propose(self, t: int, alphas: Sequence[float], weights: PrivateWeights) -> HalfSpace:
        given = self._given(t, weights.each)
        call = self._noise.of_classifier(t)
        found = perturbed_logistic(
            curator=self._curator,
            call=call,
            rows=self._rows,
            signs=self._signs,
            weights=given,
            penalty=self._penalty,
        )
        return HalfSpace(found[:-1], float(found[-1]), self._rows @ found > 0)

    def _given(self, t: int, weights: Floats) -> Floats:
        """Return the total weight of each row, its records' weights with noise if published."""
        if self._noise.weight_scale == 0:
            return weights * self._counts
        call = self._noise.of_weights(t)
        each = self._curator.numbers(call, np.repeat(weights, self._counts))
        caps = self._noise.error.smallest, self._noise.error.largest
        starts = np.cumsum(self._counts) - self._counts
        return np.asarray(np.add.reduceat(np.clip(each, *caps), starts))
