"""Train Boosting for People: boosting of half-spaces that are learned privately in each round."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from privcurve.coding import Bools, Floats, Ints, Records, Signs
from privcurve.kernels.rows import times
from privcurve.learners.base import PrivateClassifier
from privcurve.learners.shared.log_odds import perturbed_logistic
from privcurve.privacy.curator import Curator
from privcurve.privacy.ledger import PrivacyStatement
from privcurve.privacy.sealed import kernel

from .._half_spaces import HalfSpace, HalfSpaceVoteClassifier, PrivateWeights
from .noise import PeopleNoise, people_noise


@kernel(rows=0)
def append_ones(points: Floats) -> Floats:
    """Transpose `points` from shape (n_columns, n_rows), and append a 1 to each row."""
    return np.ascontiguousarray(np.column_stack([points.T, np.ones(points.shape[1])]))


@kernel(rows=0)
def positive_scores(rows: Floats, coefficients: Floats) -> Bools:
    """Return which rows have a positive linear score."""
    return times(rows, coefficients) > 0


@dataclass(kw_only=True, eq=False, repr=False)
class BoostingForPeopleClassifier(HalfSpaceVoteClassifier, PrivateClassifier):
    """A vote of half-spaces as in BRC, but the half-spaces are learned instead of random.

    Each round fits a logistic regression to the weighted private columns by objective perturbation,
    and then estimates its weighted error with noise. The votes are combined as in BRC. Shen et al.
    also compare with the combination of Dwork, Rothblum and Vadhan (2010). It is not implemented,
    because the paper does not give its constants (papers/partial/README.md, C7).

    Parameters
    ----------
    n_rounds, largest, smallest, public_columns, epsilon, n_bins, bounds, classes, random_state
        See :class:`~privcurve.papers.partial.learners.brc.classifier.BRCClassifier`.
    delta : float
        Must be 0.
    calibration : str
        ``proved`` or ``published``: see :class:`~.noise.PeopleNoise`.

    Attributes
    ----------
    votes_, n_features_used_, n_records_
        See :class:`~.._half_spaces.HalfSpaceVoteClassifier`.
    """

    _learner = "boosting_for_people"

    def _fit_one(self, records: Records, curator: Curator) -> PrivacyStatement:
        codes, signs, counts, _ = records
        self._roles = self._read_roles()
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
        rounds = self._boost(noise.error, learned, records, curator)
        return noise.statement(rounds.alphas, self._roles.public)


class _LearnedHalfSpaces:
    """Proposer that fits a logistic regression in each round, by objective perturbation."""

    def __init__(
        self, noise: PeopleNoise, points: Floats, signs: Signs, counts: Ints, curator: Curator
    ) -> None:
        self._noise = noise
        self._rows = append_ones(points)
        self._signs = signs
        self._counts = counts
        self._curator = curator
        self._penalty = np.full(self._rows.shape[1], noise.classifier.penalty)

    def propose(self, t: int, alphas: Sequence[float], weights: PrivateWeights) -> HalfSpace:
        released = self._weigh_rows(t, weights.each)
        coefficients = perturbed_logistic(
            curator=self._curator,
            call=self._noise.classifier_call(t),
            rows=self._rows,
            signs=self._signs,
            weights=released,
            penalty=self._penalty,
        )
        positive = positive_scores(self._rows, coefficients)
        return HalfSpace(coefficients[:-1], float(coefficients[-1]), positive)

    def _weigh_rows(self, t: int, weights: Floats) -> Floats:
        """Return the total weight of each row's records in round `t`.

        `weights` has the weight of one record of each row. With ``published``, the weight of each
        record first gets noise and is clipped to the caps.
        """
        if self._noise.weight_scale == 0:
            return weights * self._counts
        call = self._noise.weights_call(t)
        noisy = self._curator.numbers(call, np.repeat(weights, self._counts))
        caps = self._noise.error.smallest, self._noise.error.largest
        starts = np.cumsum(self._counts) - self._counts
        return np.asarray(np.add.reduceat(np.clip(noisy, *caps), starts))
