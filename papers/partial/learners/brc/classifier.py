"""Train BRC: boosting of random half-spaces (Shen, Krishnaswamy, Kulkarni and Munagala)."""

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

# Algorithm 1 clips errors to [SMALLEST_ERROR, 1 − SMALLEST_ERROR], so that α is finite.
SMALLEST_ERROR = 1e-9

project_kernel = kernel(project_rows, rows=1)


@kernel(rows=0)
def positive_side(sums: Floats, t: int, intercept: float) -> Bools:
    """Return which rows are in half-space `t`; ``sums[t]`` has the projections on its normal."""
    return sums[t] + intercept > 0


@dataclass(kw_only=True, eq=False, repr=False)
class BRCClassifier(HalfSpaceVoteClassifier, PrivateClassifier, Parameters):
    r"""Boosting random classifiers: random half-spaces vote, weighted by their noisy errors.

    Columns are scaled to [−1, 1]. Each round draws a half-space without reading the data, estimates
    its weighted error with noise, and gives its vote the weight
    :math:`\alpha_t = \frac12 - \mathrm{err}_t`. The weights of records that the half-space
    classifies wrongly are then multiplied by :math:`e^{\alpha_t}`; a weight that would leave the
    range from `smallest` to `largest` does not change.

    With public columns (Algorithm 2), half-spaces are in the private columns. Each round also has a
    logistic regression on the public columns, and the classifier with the larger \|α\| votes. The
    guarantee is then for neighbours that differ in the private columns of one record. Without
    public columns (Algorithm 3), the guarantee is for replace-one neighbours.

    Parameters
    ----------
    n_rounds : int
        T, the number of rounds.
    largest, smallest : float
        The upper and lower cap of a record's weight: c₂ ≥ 1 and 1/c₁ ≤ 1.
    intercept : str
        The intercept of a half-space. ``uniform``: drawn uniformly from −1 to 1. ``zero``: 0.
        ``threshold``: the half-space is a threshold on one random column, drawn uniformly between
        the bounds of the column (the paper's toy example). ``em``: chosen from −R to R by the
        exponential mechanism, where R is the sum of the absolute coefficients (only with
        ``proved``).
    intercept_share : float
        Share of the budget that pays for choosing intercepts with ``em``.
    estimate : str
        The estimated quantity of a half-space. ``error``: the weighted error, as in the paper.
        ``edge``: the mean, over records with weights w, of w/2 for right and −w/2 for wrong records
        (only with ``proved``). Edges need less noise while weights are small
        (papers/partial/proofs.md, 'Edge').
    weights : str
        ``clipped``: weights are in the range from `smallest` to `largest`. ``adaboost``: weights
        follow Algorithm 1, with random half-spaces in all columns (only at ε = ∞).
    algorithm : str
        ``auto``: Algorithm 2 if public columns are given, else Algorithm 3. ``private``: Algorithm
        3 with all columns, even if some are public.
    n_kept : int or None
        Number of rounds, counted from the first, that vote; None means all rounds. All `n_rounds`
        rounds are trained and spend budget.
    public_columns : sequence of int or None
        Positions of public columns. With a sequence, even an empty one, the label is public, too;
        with None nothing is public.
    epsilon : float
        ε, above 0. At ∞ there is no noise, but half-spaces are still random.
    delta : float
        With δ = 0 the noise is Laplace noise; with δ > 0 and ``proved`` it is Gaussian noise.
    calibration : str
        ``proved`` or ``published``: see :class:`~.._half_spaces_noise.BRCNoise`.
    n_bins, bounds, classes, random_state
        See :class:`~privcurve.learners.base.CodedClassifier`.

    Attributes
    ----------
    votes_, n_features_used_, n_records_
        See :class:`~.._half_spaces.HalfSpaceVoteClassifier`.
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
    """Proposer of random half-spaces.

    It draws half-spaces without the records. Only with ``intercept="em"``, `propose` chooses the
    intercepts by the records, with the exponential mechanism.
    """

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
        """Return the half-space of round `t`; `propose` may have chosen its intercept."""
        intercept = float(self._intercepts[t])
        chosen = self._chooses
        positive = positive_side(self._sums, t, intercept) if chosen else self._sides[t]
        return HalfSpace(self._coefficients[t], intercept, positive)

    def _choose(self, t: int, call: Call, weights: PrivateWeights) -> float:
        """Draw a threshold in [−R, R] with a density proportional to e^{η·utility}.

        This is the exponential mechanism; η is the rate of `call`, and R the largest possible
        projection.
        """
        reach = float(np.abs(self._coefficients[t]).sum())
        pieces = weights.utility(self._sums[t], self._positive, reach)
        return self._curator.threshold(call, *pieces)


def _run_adaboost(
    spaces: _RandomHalfSpaces, n_rounds: int, positive: Bools, counts: Ints
) -> list[Vote]:
    """Run Algorithm 1 (AdaBoost) on random half-spaces, without noise and without caps."""
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
        # Divide all weights by the largest one, so that no weight overflows; relative errors do not
        # change.
        weights /= weights.max()
        votes.append(private_vote(space, alpha))
    return votes
