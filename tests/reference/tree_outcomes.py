"""Every sequence of DP-TopDown trees that a learner could grow, with its probability."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from tree_scores import NodeScores, says_yes, score_node, weigh

from privcurve.coding import Records
from privcurve.kernels.lazybb_trees import BinnedRows, bin_rows
from privcurve.learners.trees import TreePlan
from privcurve.privacy.mechanisms import MECHANISMS


class _Planned(Protocol):
    def _plan(self, n: int) -> TreePlan: ...


class Outcomes(NamedTuple):
    """Everything that can happen, in an order that does not depend on the records.

    Of each outcome its probability, and the sum of the votes of the trees for each row.
    """

    chances: NDArray[np.float64]
    votes: NDArray[np.int64]


def tree_outcomes(learner: _Planned, side: Records) -> Outcomes:
    """Return every sequence of trees that a learner could grow.

    The scores come from the learner's own kernel; shape, rates and mechanism from its own
    plan; only the choices are made exact. For a learner that is not fitted, at a finite ε, and
    tiny domains and trees: with q questions a tree of depth 2 has 16·q³ outcomes.
    """
    plan = learner._plan(side.n)
    rows = bin_rows(side.codes, side.n_bins, side.labels, side.counts)
    known: dict[bytes, Outcomes] = {}
    found = Outcomes(np.ones(1), np.zeros((1, len(side.labels)), dtype=np.int64))
    for t in range(len(plan.noise.rates)):
        parts = []
        for chance, so_far in zip(*found, strict=True):
            key = bytes([t]) + so_far.tobytes()
            if key not in known:
                known[key] = _Round(plan, rows, t, so_far).outcomes()
            parts.append(Outcomes(chance * known[key].chances, so_far + known[key].votes))
        found = _either(parts)
    return found


class _Round:
    """One round: a tree on weighted rows."""

    def __init__(self, plan: TreePlan, rows: BinnedRows, t: int, votes: NDArray[np.int64]) -> None:
        self.plan, self.rows = plan, rows
        self.rate = float(plan.noise.rates[t])
        self.label_rate = float(plan.noise.label_rates[t])
        self.mass, self.total = weigh(
            rows, votes, t, plan.density, plan.learning_rate, plan.noise.normalise
        )
        self.choose = MECHANISMS[plan.noise.mechanism].probabilities
        self.label = MECHANISMS[plan.noise.label_noise].probabilities

    def outcomes(self) -> Outcomes:
        everything = np.ones(len(self.rows.counts), dtype=np.bool_)
        if self.plan.depth:
            return self._by_levels(everything, self.plan.depth)
        return self._best_first((everything,), self.plan.n_splits)

    def _score(self, members: NDArray[np.bool_]) -> NodeScores:
        return score_node(
            self.rows, self.mass, self.total, members, self.plan.thresholds, self.plan.criterion
        )

    def _by_levels(self, members: NDArray[np.bool_], levels: int) -> Outcomes:
        if levels == 0:
            return self._labels(members)
        scores = self._score(members)
        if levels == 1 and self.plan.noise.rules:
            return self._rules(members, scores.errors)
        parts = []
        for question, chance in enumerate(self.choose(-scores.values, self.rate)):
            yes = says_yes(self.rows, question)
            both = _join(
                self._by_levels(members & ~yes, levels - 1),
                self._by_levels(members & yes, levels - 1),
            )
            parts.append(Outcomes(chance * both.chances, both.votes))
        return _either(parts)

    def _best_first(self, leaves: tuple[NDArray[np.bool_], ...], n_splits: int) -> Outcomes:
        if n_splits == 0:
            both = self._labels(leaves[0])
            for leaf in leaves[1:]:
                both = _join(both, self._labels(leaf))
            return both
        gains = np.stack([self._score(leaf).gains for leaf in leaves])
        chances = self.choose(gains.ravel(), self.rate).reshape(gains.shape)
        parts = []
        for k, leaf in enumerate(leaves):
            for question in range(gains.shape[1]):
                yes = says_yes(self.rows, question)
                grown = (*leaves[:k], *leaves[k + 1 :], leaf & ~yes, leaf & yes)
                below = self._best_first(grown, n_splits - 1)
                parts.append(Outcomes(chances[k, question] * below.chances, below.votes))
        return _either(parts)

    def _rules(self, members: NDArray[np.bool_], errors: NDArray[np.float64]) -> Outcomes:
        chances = self.choose(-errors, self.label_rate)
        votes = []
        for rule in range(len(errors)):
            question, sign = rule >> 1, 1 - 2 * (rule & 1)
            yes = members if 2 * question + 2 == len(errors) else says_yes(self.rows, question)
            votes.append(np.where(members, np.where(yes, sign, -sign), 0))
        return Outcomes(chances, np.stack(votes))

    def _labels(self, members: NDArray[np.bool_]) -> Outcomes:
        margin = float(self._score(members).margin)
        # The chance of − is that of + for the opposite margin: no digits of a rare one are lost.
        chances = self.label(np.array([-margin, margin]), self.label_rate)
        inside = members.astype(np.int64)
        return Outcomes(chances, np.stack([-inside, inside]))


def _join(one: Outcomes, other: Outcomes) -> Outcomes:
    """Independent outcomes on two sets of rows, both together."""
    chances = np.multiply.outer(one.chances, other.chances).ravel()
    votes = one.votes[:, None, :] + other.votes[None, :, :]
    return Outcomes(chances, votes.reshape(len(chances), -1))


def _either(parts: list[Outcomes]) -> Outcomes:
    return Outcomes(
        np.concatenate([p.chances for p in parts]), np.concatenate([p.votes for p in parts])
    )
