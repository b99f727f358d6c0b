"""Grow the tree of the proved protocols on the server, level by level, from noisy messages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from privcurve.coding import Floats
from privcurve.kernels.arithmetic import times
from privcurve.kernels.arithmetic import total as sum_of
from privcurve.kernels.holder_counts import Questions, places_of, split_values, weighted_impurity
from privcurve.kernels.trees.choice import CRITERIA
from privcurve.kernels.trees.form import answers
from privcurve.learners.holders.holder import Ballot, Holder
from privcurve.learners.holders.sums import MessageNoise, Sums
from privcurve.learners.holders.transcript import Transcript
from privcurve.privacy.mechanisms import EXPONENTIAL, LAPLACE

from .noise import LevelNoise
from .tree import GrownTree

# A split needs at least this number of records on each side, in units of the standard deviation of
# a noisy count: noise alone could produce a smaller side.
LEAST_SIDE = 3.0

ZERO_ONE = "zero_one"


class LevelsPlan(NamedTuple):
    """The public facts that determine how the server grows a tree with `depth` levels of splits."""

    questions: Questions
    n_classes: int
    n: int
    criterion: str
    depth: int
    noise: LevelNoise


class Estimate(NamedTuple):
    """Estimated numbers of a node's records by class, and the variance of each number."""

    counts: Floats
    variance: float


def grow_by_levels(
    holders: Sequence[Holder], plan: LevelsPlan, sums: Sums, transcript: Transcript
) -> GrownTree:
    """Grow a tree level by level from noisy messages of the parties.

    On each level the parties send noisy histograms of all columns. With votes, each party first
    votes for a question at each node, and all parties then send histograms of the columns of these
    questions. Splits of the last level minimise the zero-one error; leaves get the label with the
    largest estimated count. The server sends requests to the parties always in the same order.
    """
    return _Coordinator(holders, plan, sums, transcript).grow()


class _Coordinator:
    def __init__(
        self, holders: Sequence[Holder], plan: LevelsPlan, sums: Sums, transcript: Transcript
    ) -> None:
        self.holders, self.plan = holders, plan
        self.sums, self.transcript = sums, transcript
        questions = plan.questions
        self.widths = np.diff(questions.starts)
        # For each question, the share of its column's bins for which the answer is yes.
        self.shares = (questions.high - questions.low + 1) / np.maximum(
            self.widths[questions.columns], 1
        )

    def grow(self) -> GrownTree:
        plan, tree = self.plan, GrownTree()
        estimates: dict[int, Estimate] = {}
        nodes = [0]
        # If the noise is too small for the number format of messages, raise the error now, before
        # any party has sent an answer. The noise is smallest if the fewest columns are counted:
        # with votes one column, else all columns.
        self._make_release(0, 1 if plan.noise.votes else len(self.widths))
        for level in range(plan.depth):
            if not nodes:
                break
            columns = self._choose_columns(level, nodes)
            self.transcript.begin_round()
            children = []
            for node in nodes:
                table, variance = self._collect_counts(level, node, columns[node])
                estimates[node] = self._combine(table, columns[node], variance, estimates.get(node))
                split = self._choose(level, table, columns[node], variance, estimates[node])
                if split is None:
                    continue
                question, no, yes = split
                left = tree.split(node, question)
                estimates[left], estimates[left + 1] = no, yes
                children += [left, left + 1]
                # Nobody asks about the children of the last level, so the parties need not split
                # their records.
                if level < plan.depth - 1:
                    for holder in self.holders:
                        holder.split(node, question, left)
                    self.transcript.tell(2)
            nodes = children
        for node in tree.leaves:
            tree.label(node, int(np.argmax(estimates[node].counts)))
        return tree

    def _choose_columns(self, level: int, nodes: list[int]) -> dict[int, list[int]]:
        """Return the columns to count at each node: all or, with votes, the voted columns."""
        questions, noise = self.plan.questions, self.plan.noise
        all_columns = list(range(len(self.widths)))
        if not noise.votes or len(questions.columns) == 0:
            return dict.fromkeys(nodes, all_columns)
        criterion = ZERO_ONE if level == self.plan.depth - 1 else self.plan.criterion
        self.transcript.begin_round()
        columns = {}
        for node in nodes:
            voted = set()
            for i, holder in enumerate(self.holders):
                rate = noise.vote_rate(level, holder.size, criterion)
                vote = holder.vote(
                    node, Ballot(EXPONENTIAL, criterion, rate, noise.vote_what(level))
                )
                self.transcript.send(i, vote)
                voted.add(int(questions.columns[vote[0]]))
            columns[node] = sorted(voted)
            self.transcript.tell(len(voted))
        return columns

    def _collect_counts(self, level: int, node: int, columns: list[int]) -> tuple[Floats, float]:
        """Return the noisy counts of a node by class and bin, and the variance of the noise.

        The bins of columns that are not counted have the count 0.
        """
        plan, release = self.plan, self._make_release(level, len(columns))
        messages = (holder.counts(node, columns, release) for holder in self.holders)
        total = self.transcript.collect(messages, self.sums, release)
        starts = plan.questions.starts
        table = np.zeros((plan.n_classes, int(starts[-1])))
        table[:, places_of(columns, starts)] = total
        factor = 2.0 if plan.noise.mechanism == LAPLACE else 1.0
        return table, factor * (release.scale * release.scale) * self.sums.excess

    def _make_release(self, level: int, n_columns: int) -> MessageNoise:
        """Return noise and number format of a message with counts of `n_columns` columns."""
        noise = self.plan.noise
        scale = noise.counts_scale(level, n_columns)
        what = noise.counts_what(level)
        return self.sums.release(noise.mechanism, scale, self.plan.n, 1.0, what)

    def _combine(
        self, table: Floats, columns: list[int], variance: float, earlier: Estimate | None
    ) -> Estimate:
        """Estimate the number of a node's records in each class.

        Each counted column gives one estimate (the sum over its bins), and the split of the parent
        gives the estimate `earlier`. The result is the mean weighted by inverse variances.
        """
        sums = np.add.reduceat(table, self.plan.questions.starts[:-1], axis=1)[:, columns]
        if variance == 0:
            return Estimate(sums[:, 0], 0.0)
        weights = 1 / (variance * self.widths[columns])
        total, weight = times(np.ascontiguousarray(sums), weights), float(sum_of(weights))
        if earlier is not None:
            total, weight = total + earlier.counts / earlier.variance, weight + 1 / earlier.variance
        return Estimate(total / weight, 1 / weight)

    def _choose(
        self, level: int, table: Floats, columns: list[int], variance: float, node: Estimate
    ) -> tuple[int, Estimate, Estimate] | None:
        """Return the best question of a node, and the estimated counts of its no side and yes side.

        The result is None if the node must remain a leaf.
        """
        plan, questions = self.plan, self.plan.questions
        places = np.flatnonzero(np.isin(questions.columns, columns))
        if len(places) == 0:
            return None
        yes = answers(table, questions.low[places], questions.high[places])
        sums = np.add.reduceat(table, questions.starts[:-1], axis=1).T[questions.columns[places]]
        share = self.shares[places]
        # Add the same number to the count of each bin of a column, so that the counts of the column
        # add up to the node's estimated counts. A question's yes side has a `share` of the bins.
        yes += (node.counts - sums) * share[:, None]
        no = node.counts - yes
        last = level == plan.depth - 1
        criterion = CRITERIA.index(ZERO_ONE if last else plan.criterion)
        impurity = weighted_impurity(np.maximum(node.counts, 0.0), criterion)
        values = split_values(no, yes, criterion)
        smaller = np.minimum(no.sum(axis=1), yes.sum(axis=1))
        values[(smaller < LEAST_SIDE * np.sqrt(variance)) | (smaller <= 0)] = np.inf
        best = int(np.argmin(values))
        # The node remains a leaf if each question leaves too few records on a side, if the node has
        # only one class, or if, on the last level, no question reduces the error.
        if np.isinf(values[best]) or impurity == 0 or (last and values[best] >= impurity):
            return None
        width = self.widths[questions.columns[places[best]]]
        part = share[best]
        rest = 1 - part
        spread = variance * width * part * rest
        sides = (
            Estimate(no[best], spread + rest * rest * node.variance),
            Estimate(yes[best], spread + part * part * node.variance),
        )
        return int(places[best]), *sides
