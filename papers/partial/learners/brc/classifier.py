"""BRC: boosting of random half-spaces (Shen et al.)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from privcurve.coding import Bools, Floats, Ints, Records
from privcurve.kernels.arithmetic import exp, log, total
from privcurve.learners.base import PrivateClassifier
from privcurve.learners.shared.roles import Roles
from privcurve.privacy.budget import is_private
from privcurve.privacy.curator import Call, Curator
from privcurve.privacy.ledger import PrivacyStatement
from privcurve.privacy.sealed import kernel

from .._half_spaces import (
    HalfSpace,
    HalfSpaceVoteClassifier,
    PrivateWeights,
    Vote,
    private_vote,
    sides,
)
from .._half_spaces_noise import BRCNoise
from .._kernel import project_rows
from . import Parameters

# The smallest error in Algorithm 1, so that its logarithm is finite.
SMALLEST_ERROR = 1e-9

project_kernel = kernel(project_rows, rows=1)


@kernel(rows=0)
def positive_side(sums: Floats, t: int, intercept: float) -> Bools:
    """Return which rows are on the positive side of half-space t."""
    return sums[t] + intercept > 0


@dataclass(kw_only=True, eq=False, repr=False)
class BRCClassifier(HalfSpaceVoteClassifier, PrivateClassifier, Parameters):
    r"""Boosting random classifiers: half-spaces drawn blindly, weighted by noisy errors.

    Columns are scaled to [−1, 1]. Each round draws a half-space without looking at the
    data, estimates its weighted error with noise, and lets it vote with
    :math:`\alpha_t = \frac12 - \mathrm{err}_t`; weights of records it gets wrong grow by
    :math:`e^{\alpha_t}` where they stay between `smallest` and `largest`.

    With public columns (Algorithm 2) half-spaces are of private columns. Each round also fits a
    logistic regression on the public columns, and the classifier with the larger \|α\| votes; the
    guarantee is then about a record's private columns. Without public columns (Algorithm 3), the
    guarantee is about replacing a record.

    Parameters
    ----------
    n_rounds : int
        T.
    largest, smallest : float
        Caps of a weight, c₂ ≥ 1 and 1/c₁ ≤ 1.
    intercept : str
        ``uniform`` on [−1, 1]; ``zero``; ``threshold``: a threshold on one random column, uniform
        between its bounds (the paper's toy example); ``em``: by the exponential mechanism on
        [−R, R], R the sum of the absolute coefficients (proved only).
    intercept_share : float
        Share of the budget for ``em``.
    estimate : str
        ``error``, as in the paper; ``edge``: the mean of w(½ − [wrong]), proved only, with smaller
        noise while weights are small (papers/partial/proofs.md, 'Edge').
    weights : str
        ``clipped``; ``adaboost``: Algorithm 1 with random classifiers of all columns, only at
        ε = ∞.
    algorithm : str
        ``auto``: Algorithm 2 where public columns are given, else Algorithm 3; ``private``:
        Algorithm 3 with all columns, whatever is public.
    n_kept : int or None
        Number of first rounds that vote; the noise is for all rounds. None: all.
    public_columns : sequence of int or None
        Positions of public columns; the label is public then. None: nothing is.
    epsilon : float
        ε, above 0; infinite: no noise (classifiers are still random).
    delta : float
        0: Laplace noise. Above 0: Gaussian noise, if proved.
    calibration : str
        ``proved`` or ``published`` (see :class:`~._noise.BRCNoise`).
    n_bins, bounds, classes, random_state
        See :class:`~privcurve.learners.base.CodedClassifier`.

    Attributes
    ----------
    votes_, n_features_used_, n_records_
        See :class:`~._half_spaces.HalfSpaceVoteClassifier`.
    """

    _learner = "brc"

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.n_kept is not None and self.n_kept > self.n_rounds:
            raise ValueError(
                f"brc: n_kept must be at most n_rounds = {self.n_rounds}; got {self.n_kept}"
            )
        if self.weights == "adaboost" and is_private(self.epsilon):
            raise ValueError(
                "brc: weights must be 'clipped' unless epsilon = inf; got 'adaboost', which has "
                "no noise"
            )
        self._noise(1)

    def _noise(self, n: int) -> BRCNoise:
        return BRCNoise(
            learner=self._learner,
            n=n,
            n_rounds=int(self.n_rounds),
            smallest=float(self.smallest),
            largest=float(self.largest),
            epsilon=float(self.epsilon),
            delta=float(self.delta),
            calibration=self.calibration,
            estimate=self.estimate,
            choice_share=float(self.intercept_share) if self.intercept == "em" else 0.0,
        )

    def _fit_one(self, records: Records, curator: Curator) -> PrivacyStatement:
        codes, signs, counts, _ = records
        self._roles = self._read_roles()
        n = records.n
        noise = self._noise(n)
        points = self._points(codes, public=False)
        spaces = _RandomHalfSpaces(self, noise, points, signs > 0, curator)
        if self.weights == "adaboost":
            self._adopt(_run_adaboost(spaces, noise.n_rounds, signs > 0, counts), n)
            return noise.statement([], None)
        rounds = self._boost(noise, spaces, records, curator)
        return noise.statement(rounds.alphas, self._roles.public)

    def _read_roles(self) -> Roles:
        ignored = self.algorithm == "private" or self.weights == "adaboost"
        public = None if ignored else self.public_columns
        return Roles.from_positions(self._learner, public, self.n_features_in_)

    def _n_voting(self) -> int:
        return int(self.n_rounds if self.n_kept is None else self.n_kept)


class _RandomHalfSpaces:
    """Half-spaces of all rounds, drawn before the data are read (except with ``em``)."""

    def __init__(
        self,
        learner: BRCClassifier,
        noise: BRCNoise,
        points: Floats,
        positive: Bools,
        curator: Curator,
    ) -> None:
        self._noise = noise
        self._positive = positive
        self._curator = curator
        coins = curator.coins
        self._chooses = learner.intercept == "em"
        shape = noise.n_rounds, len(points)
        if learner.intercept == "threshold":
            self._coefficients = np.eye(shape[1])[coins.integers(shape[1], size=shape[0])]
        else:
            self._coefficients = coins.uniform(-1, 1, shape)
        drawn = learner.intercept in ("uniform", "threshold")
        self._intercepts = coins.uniform(-1, 1, shape[0]) if drawn else np.zeros(shape[0])
        if self._chooses:
            self._sums = project_kernel(points, self._coefficients)
        else:
            self._sides = sides(points, self._coefficients, self._intercepts)

    def propose(self, t: int, alphas: Sequence[float], weights: PrivateWeights) -> HalfSpace:
        if self._chooses:
            call = self._noise.choice_call(alphas)
            self._intercepts[t] = -self._choose(t, call, weights)
        return self.half_space(t)

    def half_space(self, t: int) -> HalfSpace:
        """Return the half-space of round t."""
        intercept = float(self._intercepts[t])
        chosen = self._chooses
        positive = positive_side(self._sums, t, intercept) if chosen else self._sides[t]
        return HalfSpace(self._coefficients[t], intercept, positive)

    def _choose(self, t: int, call: Call, weights: PrivateWeights) -> float:
        """Draw a threshold on [−R, R] with density ∝ e^{η·utility}."""
        reach = float(np.abs(self._coefficients[t]).sum())
        pieces = weights.utility(self._sums[t], self._positive, reach)
        return self._curator.threshold(call, *pieces)


def _run_adaboost(
    spaces: _RandomHalfSpaces, n_rounds: int, positive: Bools, counts: Ints
) -> list[Vote]:
    """Run Algorithm 1 over random half-spaces, without noise and caps; return the votes."""
    votes = []
    weights = np.ones(len(counts))
    for t in range(n_rounds):
        space = spaces.half_space(t)
        wrong = space.positive != positive
        mass = weights * counts
        error = float(total(mass[wrong]) / total(mass))
        error = min(max(error, SMALLEST_ERROR), 1 - SMALLEST_ERROR)
        alpha = log((1 - error) / error)
        weights = np.where(wrong, weights * exp(alpha), weights)
        # Scale the weights, which changes no vote, so that none overflows.
        weights /= weights.max()
        votes.append(private_vote(space, alpha))
    return votes
