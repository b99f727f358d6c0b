"""Grow the tree of the published protocols on the server, best node first (Algorithm 1).

Algorithm 1 is from the paper of Wang, Dick and Balcan (2020).
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from privcurve.kernels.holder_counts import Questions, family_gains
from privcurve.kernels.trees.choice import CRITERIA
from privcurve.learners.holders.holder import NONE, Ballot, Holder
from privcurve.learners.holders.sums import MessageNoise, Sums
from privcurve.learners.holders.transcript import Transcript
from privcurve.privacy.mechanisms import LAPLACE

from .noise import LOCAL_RNM, SINGLE, PublishedNoise
from .tree import GrownTree


class BestFirstPlan(NamedTuple):
    """The public facts that determine how the server grows a tree best first.

    The tree has at most `n_splits` splits and `depth` levels of splits. A node may be split if its
    noisy weight (its share of the `n` records) is at least `smallest_weight`/`n_splits`, and its
    noisy gain exceeds `smallest_gain`.
    """

    questions: Questions
    n_classes: int
    n: int
    criterion: str
    n_splits: int
    depth: int
    smallest_weight: float
    smallest_gain: float
    noise: PublishedNoise


class SplitChoice(NamedTuple):
    """The best question for a node, and the noisy gain of this question."""

    question: int
    gain: float


def grow_best_first(
    holders: Sequence[Holder], plan: BestFirstPlan, transcript: Transcript
) -> GrownTree:
    """Grow a tree from messages of parties; with protocol ``single`` the only party is the curator.

    As in the published algorithm, the server also requests answers about the children of the last
    split, although the tree does not use these answers. The server sends requests to the parties
    always in the same order.
    """
    return _Coordinator(holders, plan, transcript).grow()


class _Coordinator:
    def __init__(
        self, holders: Sequence[Holder], plan: BestFirstPlan, transcript: Transcript
    ) -> None:
        self.holders, self.plan, self.transcript = holders, plan, transcript
        self.noise = plan.noise
        self.sums = Sums(len(holders))
        self.place = CRITERIA.index(plan.criterion)

    def grow(self) -> GrownTree:
        plan, tree = self.plan, GrownTree()
        n_questions = len(plan.questions.columns)
        queue: list[tuple[float, int, int, SplitChoice]] = []
        if n_questions:
            self.transcript.begin_round()
            (root,) = self._choose([0], 1)
            if root.question != NONE:
                queue.append((0.0, 0, 1, root))
        while queue and tree.n_splits < plan.n_splits:
            _, node, level, chosen = heapq.heappop(queue)
            left = tree.split(node, chosen.question)
            for holder in self.holders:
                holder.split(node, chosen.question, left)
            self.transcript.tell(2)
            if level == plan.depth:
                continue
            self.transcript.begin_round()
            children = [left, left + 1]
            weights = self._weigh(children, level + 1)
            choices = self._choose(children, level + 1)
            for child, weight, split in zip(children, weights, choices, strict=True):
                enough = weight >= plan.smallest_weight / plan.n_splits
                if split.question != NONE and enough and split.gain > plan.smallest_gain:
                    heapq.heappush(queue, (-weight * split.gain, child, level + 1, split))
        self.transcript.begin_round()
        release = MessageNoise(LAPLACE, self.noise.label_scale)
        leaves = tree.leaves
        messages = (holder.labels(leaves, release) for holder in self.holders)
        counts = self.transcript.collect(messages, self.sums, release, len(leaves))
        for node, position in zip(leaves, counts.argmax(axis=1).tolist(), strict=True):
            tree.label(node, position)
        return tree

    def _weigh(self, nodes: list[int], level: int) -> list[float]:
        release = MessageNoise(LAPLACE, self.noise.weight_scale(level))
        messages = (holder.weights(nodes, release) for holder in self.holders)
        totals = self.transcript.collect(messages, self.sums, release, len(nodes))
        return [total / self.plan.n for total in totals.tolist()]

    def _choose(self, nodes: list[int], level: int) -> list[SplitChoice]:
        """Return each node's best question and its gain, by the paper's procedure PrivateSplit."""
        plan, budget = self.plan, self.noise.split_budget(level)
        if self.noise.protocol == SINGLE:
            return [self._best(node, budget) for node in nodes]
        candidates: list[Sequence[int]] = [range(len(plan.questions.columns))] * len(nodes)
        if self.noise.protocol == LOCAL_RNM:
            budget /= 2
            candidates = [self._vote(node, budget) for node in nodes]
            self.transcript.begin_round()
        # All nodes have the same number of candidate questions, so one noise scale holds for all
        # counts.
        release = MessageNoise(LAPLACE, self.noise.families_scale(budget, len(candidates[0])))
        messages = (holder.families(nodes, candidates, release) for holder in self.holders)
        families = self.transcript.collect(messages, self.sums, release, len(nodes))
        chosen = []
        for questions, of_node in zip(candidates, families, strict=True):
            gains = family_gains(of_node, self.place)
            best = int(np.argmax(gains))
            chosen.append(SplitChoice(int(questions[best]), float(gains[best])))
        return chosen

    def _best(self, node: int, budget: float) -> SplitChoice:
        (curator,) = self.holders
        answer = curator.best(node, self.plan.criterion, budget)
        self.transcript.send(0, answer)
        return SplitChoice(int(answer[0]), float(answer[1]))

    def _vote(self, node: int, budget: float) -> list[int]:
        """Return a list of the parties' votes, one question for each party; votes may be equal."""
        ballot = Ballot(LAPLACE, self.plan.criterion, budget)
        votes = []
        for i, holder in enumerate(self.holders):
            vote = holder.vote(node, ballot)
            self.transcript.send(i, vote)
            votes.append(int(vote[0]))
        self.transcript.tell(len(votes))
        return votes
