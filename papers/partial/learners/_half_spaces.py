"""Boost half-spaces to a weighted vote, with or without a public classifier (BRC)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from privcurve.coding import Bools, Codes, Floats, Ints, Records, scale_codes
from privcurve.kernels.arithmetic import exp, total
from privcurve.learners.shared.chances import LinkedClassifier
from privcurve.learners.shared.checks import require
from privcurve.learners.shared.public_part import LinearScore, PublicClassifier
from privcurve.learners.shared.roles import PublicRows, Roles
from privcurve.learners.shared.staged import StagedClassifier
from privcurve.privacy.curator import Curator
from privcurve.privacy.sealed import kernel

from ._half_spaces_noise import EDGE, BRCNoise
from ._kernel import positive_rows, reweight, weight_bits, weighted_sums
from .brc import HalfSpaceParameters


class PrivateWeights:
    """The boosting weights of the records in one fit; each weight is 1 at first.

    For given released α and classifiers, the weight of a record depends only on the record itself.
    `noise` has the caps of weights, and says whether errors or edges of classifiers are estimated.
    The edge is the mean of w/2 over right records and −w/2 over wrong records with weights w.
    """

    def __init__(self, counts: Ints, noise: BRCNoise) -> None:
        self._counts = counts
        self._unit = 1 << weight_bits(noise.n, noise.largest)
        self._caps = math.ceil(noise.smallest * self._unit), math.floor(noise.largest * self._unit)
        self._each: Ints = np.full_like(counts, self._unit)
        # A pair: whether to estimate the edge; and the divisor that converts the weight of right
        # minus wrong records to the edge.
        self._kind = noise.estimate == EDGE, 2 * self._unit * noise.n

    @property
    def each(self) -> Floats:
        """For each row, the weight of one of the row's records."""
        return self._each / self._unit

    def estimate(self, wrong: Bools) -> float:
        """Return the exact, sealed, weighted error or edge of a classifier.

        `wrong` says which rows the classifier predicts wrongly.
        """
        return _compute_error(self._each, self._counts, wrong, *self._kind)

    def utility(self, sums: Floats, positive: Bools, reach: float) -> tuple[Floats, Floats]:
        """Return the utility of all thresholds in [−R, R], as a step function; R is `reach`.

        `sums` are the rows' projections on the normal of the half-space. The utility of a threshold
        is |½ − error|, or |edge|; it is constant between two neighbouring projections. The
        sensitivity of the utility equals the sensitivity of the error or edge.

        Returns
        -------
        ends : ndarray of shape (n_rows + 2,)
            The ends of the steps, in increasing order.
        utilities : ndarray of shape (n_rows + 1,)
            The utility on each step.
        """
        return _compute_utility(self._each, self._counts, sums, positive, reach, *self._kind)

    def follow(self, alpha: float, wrong: Bools) -> None:
        """Multiply the weights of wrong records by e^α.

        If the product is beyond a cap, the weight does not change.
        """
        # The limit 700 avoids overflow of e^α. It changes no weight, because a product with e^700
        # is beyond the cap.
        _reweight(self._each, wrong, exp(min(alpha, 700.0)), *self._caps)


_reweight = kernel(reweight)
sides = kernel(positive_rows, rows=1)


@kernel
def _compute_error(weights: Ints, counts: Ints, wrong: Bools, edge: bool, unit: int) -> float:
    missed, total = (int(part) for part in weighted_sums(weights, counts, wrong))
    return (total - 2 * missed) / unit if edge else missed / total


@kernel(rows=(0, 0))
def _compute_utility(
    weights: Ints, counts: Ints, sums: Floats, positive: Bools, reach: float, edge: bool, unit: int
) -> tuple[Floats, Floats]:
    order = np.argsort(sums, kind="stable")
    mass, positive = (weights * counts)[order], positive[order]
    # A threshold classifies rows with smaller sums as negative, and rows with larger sums as
    # positive. If the threshold moves past a row, a positive row becomes wrong and a negative row
    # becomes right.
    turned = np.cumsum(np.where(positive, mass, -mass))
    missed = np.concatenate([[0], turned]) + mass[~positive].sum()
    ends = np.concatenate([[-reach], np.clip(sums[order], -reach, reach), [reach]])
    total = int(mass.sum())
    better = (total - 2 * missed) / unit if edge else 0.5 - missed / total
    return ends, np.abs(better)


@kernel(rows=1)
def places(codes: Codes, n_bins: Ints) -> Floats:
    """Return scaled columns, of shape (n_columns, n_rows), in the memory layout of the kernels."""
    return np.ascontiguousarray(scale_codes(codes, n_bins, order="F").T)


class Vote(NamedTuple):
    """The classifier of one round, and the weight `alpha` of its vote.

    Its vote is the sign of coefficients·x + intercept, where x are scaled columns: all public
    columns if `public`, else all private columns.
    """

    alpha: float
    public: bool
    coefficients: tuple[float, ...]
    intercept: float


class HalfSpace(NamedTuple):
    """A proposed half-space in the private columns; `positive` says which rows are inside."""

    coefficients: Floats
    intercept: float
    positive: Bools


class Proposer(Protocol):
    """Interface of an object that proposes the private classifier of each round."""

    def propose(self, t: int, alphas: Sequence[float], weights: PrivateWeights) -> HalfSpace:
        """Return the half-space of round `t`.

        The half-space may depend on the records only through released numbers: the `alphas` of the
        earlier rounds, and noisy answers for which the proposer asks the curator.
        """


class Rounds:
    """The boosting rounds of one fit.

    Attributes
    ----------
    votes : list of Vote
        One vote per round.
    alphas : list of float
        For each round, the number α by which :meth:`PrivateWeights.follow` changed the weights of
        records. It is 0 if the public classifier voted, because the weights then do not change.
    """

    def __init__(
        self, noise: BRCNoise, proposer: Proposer, positive: Bools, counts: Ints, curator: Curator
    ) -> None:
        self.votes: list[Vote] = []
        self.alphas: list[float] = []
        self._noise = noise
        self._proposer = proposer
        self._positive = positive
        self._weights = PrivateWeights(counts, noise)
        self._curator = curator

    def run_private(self) -> None:
        """Run Algorithm 3 of Shen et al., with private classifiers only."""
        for t in range(self._noise.n_rounds):
            self._take(*self._private_round(t))

    def run_partial(self, public: PublicClassifier, rows: PublicRows) -> None:
        """Run Algorithm 2 of Shen et al.: in each round the classifier with the larger |α| votes.

        The public classifier is a function of public columns, labels, and released estimates.
        """
        weights = np.ones(len(rows.signs))
        score: LinearScore | None = None
        for t in range(self._noise.n_rounds):
            if score is None:
                score = public.fit(weights)
                missed = public.wrong(score)
                mass = rows.counts * weights
                public_alpha = 0.5 - float(total(mass[missed]) / total(mass))
            space, alpha, wrong = self._private_round(t)
            if abs(public_alpha) > abs(alpha):
                weights = np.where(missed, weights * exp(public_alpha), weights)
                slopes = tuple(score.coefficients.tolist())
                self.votes.append(Vote(public_alpha, True, slopes, score.intercept))
                self.alphas.append(0.0)
                score = None
            else:
                self._take(space, alpha, wrong)

    def _private_round(self, t: int) -> tuple[HalfSpace, float, Bools]:
        space = self._proposer.propose(t, self.alphas, self._weights)
        wrong = space.positive != self._positive
        exact = self._weights.estimate(wrong)
        call = self._noise.estimate_call(self.alphas)
        released = self._curator.number(call, exact)
        return space, self._noise.alpha(released, self.alphas), wrong

    def _take(self, space: HalfSpace, alpha: float, wrong: Bools) -> None:
        self._weights.follow(alpha, wrong)
        self.alphas.append(alpha)
        self.votes.append(private_vote(space, alpha))


def private_vote(space: HalfSpace, alpha: float) -> Vote:
    """Return the vote for a half-space of private columns, with the weight `alpha`."""
    return Vote(alpha, False, tuple(space.coefficients.tolist()), float(space.intercept))


@dataclass(kw_only=True, eq=False, repr=False)
class HalfSpaceVoteClassifier(LinkedClassifier, StagedClassifier, HalfSpaceParameters):
    """Base of learners whose score is a weighted vote of half-spaces.

    Each half-space is in the public or in the private columns.

    Parameters
    ----------
    n_rounds : int
        T, the number of rounds.
    largest, smallest : float
        The upper and lower cap of a record's weight: c₂ ≥ 1 and 1/c₁ ≤ 1.
    public_columns : sequence of int or None
        Positions of public columns. With a sequence, even an empty one, the label is public, too;
        with None nothing is public.

    Attributes
    ----------
    votes_ : tuple of Vote
        One vote per round.
    n_features_used_ : int
        Number of columns on which the votes depend.
    n_records_ : int
        Number of training records.
    """

    _released: ClassVar[Mapping[str, Any]] = {"votes_": tuple[Vote, ...]}

    public_columns: Sequence[int] | None = None
    _roles: Roles = field(init=False)

    def _read_roles(self) -> Roles:
        """Return which columns are public and which are private, according to the parameters."""
        return Roles.from_positions(self._learner, self.public_columns, self.n_features_in_)

    def _restore(self) -> None:
        self._roles = self._read_roles()
        require(0 < self._n_voting() <= len(self.votes_), "it has fewer votes than rounds")
        widths = [len(vote.coefficients) == len(self._columns(vote.public)) for vote in self.votes_]
        require(all(widths), "its half-spaces are of other columns")

    def _n_voting(self) -> int:
        """Return how many of the first rounds vote; in this class all rounds vote."""
        return len(self.votes_)

    def _boost(
        self, noise: BRCNoise, proposer: Proposer, records: Records, curator: Curator
    ) -> Rounds:
        """Run all rounds, with a public classifier if there are public columns; set `votes_`."""
        rounds = Rounds(noise, proposer, records.labels > 0, records.counts, curator)
        public = self._roles.public
        if public is None:
            rounds.run_private()
        else:
            rows = curator.public(public, PublicRows.gather, records)
            rounds.run_partial(PublicClassifier(rows, self.n_bins_[list(public)]), rows)
        self._adopt(rounds.votes, records.n)
        return rounds

    def _adopt(self, votes: Sequence[Vote], n: int) -> None:
        self.votes_ = tuple(votes)
        self.n_records_ = n
        used = {vote.public for vote in self.votes_[: self._n_voting()]}
        self.n_features_used_ = sum(len(self._columns(public)) for public in used)

    @property
    def joins_columns(self) -> bool:
        """True: a half-space may combine columns, so the score may not be a sum over columns."""
        return True

    def _points(self, codes: Codes, public: bool) -> Floats:
        """Return the scaled public or private columns, of shape (n_columns, n_rows)."""
        columns = list(self._columns(public))
        return places(codes[:, columns], self.n_bins_[columns])

    def _columns(self, public: bool) -> tuple[int, ...]:
        return (self._roles.public or ()) if public else self._roles.private

    def _stages(self, codes: Codes) -> Iterator[Floats]:
        yield from self._stage_scores(codes)

    def _scores(self, codes: Codes) -> Floats:
        return np.asarray(self._stage_scores(codes)[-1])

    def _stage_scores(self, codes: Codes) -> Floats:
        """Return the score of each row after each voting round, of shape (n_rounds, n_rows)."""
        votes = self.votes_[: self._n_voting()]
        sides = np.empty((len(votes), len(codes)))
        for public in (False, True):
            rounds = [t for t, vote in enumerate(votes) if vote.public == public]
            if rounds:
                points = self._points(codes, public)
                coefficients = np.array([votes[t].coefficients for t in rounds])
                intercepts = np.array([votes[t].intercept for t in rounds])
                shape = len(rounds), len(points)
                positive = positive_rows(points, coefficients.reshape(shape), intercepts)
                sides[rounds] = np.where(positive, 1.0, -1.0)
        alphas = np.array([[vote.alpha] for vote in votes])
        return np.asarray(np.cumsum(alphas * sides, axis=0))

    def _measures(self) -> dict[str, float]:
        kept = self.votes_[: self._n_voting()]
        return {"rounds": len(kept), "public_rounds": sum(vote.public for vote in kept)}
