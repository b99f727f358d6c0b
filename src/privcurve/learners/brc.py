"""BRC: boosting random classifiers, with public columns and without (Shen et al.)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privcurve.coding import Codes, scaled
from privcurve.kernels.brc import project_rows
from privcurve.learners.brc_weights import PrivateWeights
from privcurve.learners.checks import RandomState
from privcurve.learners.public_part import LinearScore, PublicClassifier
from privcurve.learners.roles import PublicRows, Roles
from privcurve.learners.staged import StagedClassifier
from privcurve.privacy.budget import CERTIFIED, is_private
from privcurve.privacy.calibration.brc import BRCNoise
from privcurve.privacy.ledger import PrivacyStatement
from privcurve.privacy.mechanisms import draw_piece

# Algorithm 1's error, kept where its logarithm is finite.
SMALLEST_ERROR = 1e-9


class Vote(NamedTuple):
    """The classifier of one round: the sign of coefficients·x + intercept, scaled columns.

    Attributes
    ----------
    alpha : float
        What the vote weighs.
    public : bool
        Whether it reads public columns alone; otherwise private ones alone.
    coefficients : tuple of float
        For those columns, in their order.
    intercept : float
    """

    alpha: float
    public: bool
    coefficients: tuple[float, ...]
    intercept: float


class BRCClassifier(StagedClassifier):
    r"""Boosting random classifiers: half-spaces drawn blindly, weighted by noisy errors.

    Columns are scaled to [−1, 1]. Each round draws a half-space without looking at the
    data, estimates its weighted error with noise, and lets it vote with
    :math:`\alpha_t = \frac12 - \mathrm{err}_t`; weights of records it gets wrong grow by
    :math:`e^{\alpha_t}` where they stay between `smallest` and `largest`.

    With public columns (Algorithm 2) half-spaces are of private columns; beside each stands
    a logistic regression on public columns, and whichever has the larger \|α\| votes. The
    guarantee is then about a record's private columns. Without (Algorithm 3), it's about
    replacing a record.

    Parameters
    ----------
    n_rounds : int
        T.
    largest, smallest : float
        Caps of a weight, c₂ ≥ 1 and 1/c₁ ≤ 1.
    intercept : str
        ``uniform`` on [−1, 1]; ``zero``; ``threshold``: of one column, drawn blindly too,
        uniform between its bounds (the paper's toy); ``em``: by the exponential mechanism
        on [−R, R], R the sum of the coefficients' sizes (certified only).
    intercept_share : float
        Part of the budget that ``em`` gets.
    estimate : str
        ``error``, as in the paper; ``edge``: the mean of w(½ − [wrong]), certified only,
        whose noise is smaller while weights are (PRIVACY.md §d).
    weights : str
        ``clipped``; ``adaboost``: Algorithm 1 with random classifiers of all columns, at
        ε = ∞ alone.
    algorithm : str
        ``auto``: Algorithm 2 where public columns are given, else Algorithm 3; ``private``:
        Algorithm 3 with all columns, whatever is public.
    n_kept : int or None
        Rounds of the prefix that votes; noise is for all of them. None: all.
    public_columns : sequence of int or None
        Positions of public columns; the label is public then. None: nothing is.
    epsilon : float
        ε, above 0; infinite: no noise (classifiers are random still).
    delta : float
        0: Laplace noise. Above 0: Gaussian noise, if certified.
    calibration : str
        ``certified`` or ``published`` (see :class:`~privcurve.privacy.calibration.brc.BRCNoise`).
    n_bins, bounds, classes, random_state
        See :class:`~privcurve.learners.base.CodedClassifier`.

    Attributes
    ----------
    votes_ : tuple of Vote
        One a round.
    estimates_ : ndarray of shape (n_rounds,)
        The noisy error (or edge) of each private classifier, as released.
    n_features_used_ : int
        Columns that the kept votes read.
    n_records_ : int
        Records trained on: the sum of the counts.
    """

    _learner = "brc"

    def __init__(
        self,
        n_rounds: int = 25,
        largest: float = 2**0.5,
        smallest: float = 0.5**0.5,
        intercept: str = "uniform",
        intercept_share: float = 0.5,
        estimate: str = "error",
        weights: str = "clipped",
        algorithm: str = "auto",
        n_kept: int | None = None,
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
        self.intercept = intercept
        self.intercept_share = intercept_share
        self.estimate = estimate
        self.weights = weights
        self.algorithm = algorithm
        self.n_kept = n_kept
        self.public_columns = public_columns
        self.epsilon = epsilon
        self.delta = delta
        self.calibration = calibration
        self.n_bins = n_bins
        self.bounds = bounds
        self.classes = classes
        self.random_state = random_state

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.n_kept is not None and self.n_kept > self.n_rounds:
            raise ValueError(f"brc: n_kept = {self.n_kept} is more than n_rounds = {self.n_rounds}")
        if self.weights == "adaboost" and is_private(self.epsilon):
            raise ValueError(
                "brc: weights = 'adaboost' has no noise; take epsilon = inf, or 'clipped'"
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

    def _roles(self) -> Roles:
        ignored = self.algorithm == "private" or self.weights == "adaboost"
        return Roles.of(
            self._learner, None if ignored else self.public_columns, self.n_features_in_
        )

    def _fit_one(
        self,
        codes: Codes,
        signs: NDArray[np.int8],
        counts: NDArray[np.int64],
        rng: np.random.Generator,
    ) -> PrivacyStatement:
        roles = self._roles()
        n = int(counts.sum())
        columns = list(roles.private)
        points = np.ascontiguousarray(scaled(codes[:, columns], self.n_bins_[columns]).T)
        rounds = _Rounds(self, self._noise(n), points, signs > 0, counts, rng)
        if self.weights == "adaboost":
            votes, alphas = rounds.adaboost()
        elif roles.public is None:
            votes, alphas = rounds.private()
        else:
            rows = PublicRows.of(codes, signs, counts, roles.public, self.n_bins_)
            known = PublicClassifier(rows, self.n_bins_[list(roles.public)])
            votes, alphas = rounds.partial(known, rows)
        self.votes_ = tuple(votes)
        self.estimates_ = np.array(rounds.estimates)
        self.n_records_ = n
        self._fitted_roles = roles
        used = {vote.public for vote in self.votes_[: self._kept()]}
        self.n_features_used_ = sum(len(self._columns(public)) for public in used)
        return rounds.noise.statement(alphas, roles.public)

    def _kept(self) -> int:
        return int(self.n_rounds if self.n_kept is None else self.n_kept)

    def _stages(self, codes: Codes) -> Iterator[NDArray[np.float64]]:
        yield from self._staged(codes)

    def _scores(self, codes: Codes) -> NDArray[np.float64]:
        return np.asarray(self._staged(codes)[-1])

    def _staged(self, codes: Codes) -> NDArray[np.float64]:
        """Give the scores after each kept round, a row each."""
        votes = self.votes_[: self._kept()]
        sides = np.empty((len(votes), len(codes)))
        for public in (False, True):
            mine = [t for t, vote in enumerate(votes) if vote.public == public]
            if mine:
                columns = list(self._columns(public))
                points = np.ascontiguousarray(scaled(codes[:, columns], self.n_bins_[columns]).T)
                coefficients = np.array([votes[t].coefficients for t in mine])
                intercepts = np.array([[votes[t].intercept] for t in mine])
                sums = project_rows(points, coefficients.reshape(len(mine), len(columns)))
                sides[mine] = np.where(sums + intercepts > 0, 1.0, -1.0)
        alphas = np.array([[vote.alpha] for vote in votes])
        return np.asarray(np.cumsum(alphas * sides, axis=0))

    def _columns(self, public: bool) -> tuple[int, ...]:
        roles = self._fitted_roles
        return (roles.public or ()) if public else roles.private

    def _measures(self) -> dict[str, float]:
        kept = self.votes_[: self._kept()]
        return {"rounds": len(kept), "public_rounds": sum(vote.public for vote in kept)}


class _Rounds:
    """The rounds of one fit: random half-spaces, noise, weights of records."""

    def __init__(
        self,
        learner: BRCClassifier,
        noise: BRCNoise,
        points: NDArray[np.float64],
        positive: NDArray[np.bool_],
        counts: NDArray[np.int64],
        rng: np.random.Generator,
    ) -> None:
        self.noise = noise
        self.estimates: list[float] = []
        self._points = points
        self._positive = positive
        self._counts = counts
        self._rng = rng
        self._chooses = learner.intercept == "em"
        n_columns = len(points)
        rounds = noise.n_rounds
        if learner.intercept == "threshold":
            self._coefficients = np.eye(n_columns)[rng.integers(n_columns, size=rounds)]
        else:
            self._coefficients = rng.uniform(-1, 1, (rounds, n_columns))
        drawn = learner.intercept in ("uniform", "threshold")
        self._intercepts = rng.uniform(-1, 1, rounds) if drawn else np.zeros(rounds)
        self._sums = project_rows(points, self._coefficients)
        self._weights = PrivateWeights(counts, noise)

    def private(self) -> tuple[list[Vote], list[float]]:
        """Algorithm 3."""
        votes: list[Vote] = []
        alphas: list[float] = []
        for t in range(self.noise.n_rounds):
            alpha, wrong = self._private_round(t, alphas)
            self._weights.follow(alpha, wrong)
            votes.append(self._vote(t, alpha))
            alphas.append(alpha)
        return votes, alphas

    def partial(self, known: PublicClassifier, rows: PublicRows) -> tuple[list[Vote], list[float]]:
        """Algorithm 2."""
        votes: list[Vote] = []
        alphas: list[float] = []
        weights = np.ones(len(rows.signs))
        score: LinearScore | None = None
        for t in range(self.noise.n_rounds):
            if score is None:
                score = known.fit(weights)
                missed = known.wrong(score)
            alpha, wrong = self._private_round(t, alphas)
            mass = rows.counts * weights
            public_alpha = 0.5 - float(mass[missed].sum() / mass.sum())
            if abs(public_alpha) > abs(alpha):
                weights = np.where(missed, weights * math.exp(public_alpha), weights)
                slopes = tuple(score.coefficients.tolist())
                votes.append(Vote(public_alpha, True, slopes, score.intercept))
                alphas.append(0.0)
                score = None
            else:
                self._weights.follow(alpha, wrong)
                votes.append(self._vote(t, alpha))
                alphas.append(alpha)
        return votes, alphas

    def adaboost(self) -> tuple[list[Vote], list[float]]:
        """Algorithm 1 over random classifiers; no noise, no caps."""
        votes = []
        weights = np.ones(len(self._counts))
        for t in range(self.noise.n_rounds):
            wrong = (self._sums[t] + self._intercepts[t] > 0) != self._positive
            mass = weights * self._counts
            error = float(mass[wrong].sum() / mass.sum())
            error = min(max(error, SMALLEST_ERROR), 1 - SMALLEST_ERROR)
            alpha = math.log((1 - error) / error)
            weights = np.where(wrong, weights * math.exp(alpha), weights)
            # Votes do not change when all weights do by one factor: none overflows.
            weights /= weights.max()
            self.estimates.append(error)
            votes.append(self._vote(t, alpha))
        return votes, []

    def _vote(self, t: int, alpha: float) -> Vote:
        slopes = tuple(self._coefficients[t].tolist())
        return Vote(alpha, False, slopes, float(self._intercepts[t]))

    def _private_round(self, t: int, alphas: list[float]) -> tuple[float, NDArray[np.bool_]]:
        """Release the α of round t's half-space; give the records that it gets wrong."""
        noise = self.noise
        if self._chooses:
            self._intercepts[t] = -self._choose(t, noise.choice_rate(alphas))
        wrong = (self._sums[t] + self._intercepts[t] > 0) != self._positive
        released = noise.release(self._weights.estimate(wrong), alphas, self._rng)
        self.estimates.append(released)
        return noise.alpha(released, alphas), wrong

    def _choose(self, t: int, rate: float) -> float:
        """Draw a threshold on [−R, R] with density ∝ e^{η|½ − error|}."""
        reach = float(np.abs(self._coefficients[t]).sum())
        sums = self._sums[t]
        order = np.argsort(sums, kind="stable")
        mass = self._weights.mass[order]
        # As the threshold passes a row, the row's side turns negative.
        turned = np.where(self._positive[order], mass, -mass)
        missed = np.concatenate([[0], np.cumsum(turned)]) + mass[~self._positive[order]].sum()
        ends = np.concatenate([[-reach], np.clip(sums[order], -reach, reach), [reach]])
        return draw_piece(ends, np.abs(0.5 - missed / mass.sum()), rate, self._rng)
