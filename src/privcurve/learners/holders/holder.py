"""Define the interface of a party to a server, and implement it for a party in this process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from privcurve.coding import Floats, Ints
from privcurve.kernels.holder_counts import (
    Questions,
    family_counts,
    family_gains,
    part_node,
    places_of,
    risks,
)
from privcurve.kernels.random_trees import DrawnTrees, residuals, sum_leaves
from privcurve.kernels.trees.choice import CRITERIA
from privcurve.kernels.trees.form import add_leaves, answers, count_rows, find_leaves
from privcurve.learners.holders.sums import MessageNoise
from privcurve.privacy.curator import Call, Curator, party_of
from privcurve.privacy.mechanisms import LAPLACE
from privcurve.privacy.sealed import kernel, open_values, seal
from privcurve.privacy.seeds import Start
from privcurve.privacy.sensitivity.counts import residual_norm
from privcurve.privacy.sensitivity.impurity import distributed_split_published

# Number of nodes whose counts a party caches: two suffice, for the two children of the last split.
KEPT = 2

# The answer of `best` in place of a question, if a node has fewer than two records.
NONE = -1


class Ballot(NamedTuple):
    """How a party chooses the question for which it votes, by noisy scores."""

    # `exponential` (proved): the score of a question is −F, where F is the sum of
    # :func:`weighted_impurity` over both sides of its split, and the probability of a question is
    # proportional to e^(rate · score). `laplace` (published): the score is the purity gain by
    # :func:`family_gains`, and the question with the largest sum of score and noise is chosen;
    # :func:`published_scale` is the noise scale.
    mechanism: str
    criterion: str  # name of an impurity in `CRITERIA`
    rate: float  # the larger, the less noise (see `mechanism`); infinite means no noise
    what: str = ""  # name of the vote's ledger entry


class Holder(Protocol):
    """Interface of a party to a server. Every answer is a message, and noise is already added."""

    @property
    def size(self) -> int:
        """Return the party's number of records, which is public."""

    def split(self, node: int, question: int, left: int) -> None:
        """Split a node: records that answer no go to node `left`, the others to `left + 1`."""

    def vote(self, node: int, ballot: Ballot) -> NDArray[Any]:
        """Return the question for which the party votes, encoded by :func:`encode_vote`."""

    def best(self, node: int, criterion: str, rate: float) -> Floats:
        """Return the position and the noisy gain of the question with the largest noisy gain."""

    def counts(self, node: int, columns: Sequence[int], release: MessageNoise) -> NDArray[Any]:
        """Count a node's records by class and bin: shape (n_classes, total bins of `columns`)."""

    def families(
        self, nodes: Sequence[int], questions: Sequence[Sequence[int]], release: MessageNoise
    ) -> NDArray[Any]:
        """Count each node's records by answer and class, for each of the node's `questions`.

        The shape is (n_nodes, n_questions, 3 · n_classes + 2); :func:`family_counts` explains the
        last axis.
        """

    def weights(self, nodes: Sequence[int], release: MessageNoise) -> NDArray[Any]:
        """Count the records in each node: shape (n_nodes,)."""

    def labels(self, nodes: Sequence[int], release: MessageNoise) -> NDArray[Any]:
        """Count the records in each node by class: shape (n_nodes, n_classes)."""

    def leaves(self, trees: DrawnTrees, release: MessageNoise) -> NDArray[Any]:
        """Add up residuals and their norms by leaf: shape (n_trees, n_leaves, n_outputs + 1)."""

    def move(self, values: Floats) -> None:
        """Add to each record's score the values of its leaves in the trees of the last round."""


class HolderRows(NamedTuple):
    """Rows of a party with their classes and numbers of records."""

    bins: NDArray[Any]  # (n_rows, n_columns): bins, numbered consecutively over all columns
    classes: Ints  # (n_rows,): the position of each row's class in the list of classes
    counts: Ints  # (n_rows,): the number of records that are equal to each row


def encode_vote(question: int, questions: Questions) -> NDArray[Any]:
    """Encode the position of the chosen question as an array with one integer.

    The integer has two bytes, or four if there are more than 2^16 questions.
    """
    return np.array([question], np.uint16 if len(questions.columns) <= 2**16 else np.uint32)


def published_scale(size: int, criterion: str, rate: float) -> float:
    """Return 2Δ(m)/rate, the published noise scale of a gain; it is 0 at an infinite rate.

    Δ(m) is the published sensitivity of a gain at a node with m records. m is `size`, but at least
    2: with fewer records all questions have the same gain, so the noise scale does not matter.
    """
    return 2 * distributed_split_published(max(size, 2), criterion) / rate


def leaf_sums(
    rows: HolderRows, scores: Floats, trees: DrawnTrees, n_classes: int
) -> tuple[Ints, Ints]:
    """Return the leaf of each row in each tree, and the sums of clipped residuals by leaf.

    The leaves have the shape (n_trees, n_rows), the sums (n_trees, n_leaves, n_outputs + 1), where
    the last entry is the sum of the residuals' norms. Sums are integers, in units of `trees.unit`.
    """
    n_inner = trees.columns.shape[1]
    leaves = find_leaves(rows.bins, trees.trees())
    leaves -= n_inner
    of_rows = residuals(scores, rows.classes, trees.unit, residual_norm(n_classes))
    return leaves, sum_leaves(leaves, of_rows, rows.counts, n_inner + 1)


@kernel(rows=(1, None))
def _leaf_answers(
    rows: HolderRows,
    scores: Floats,
    leaves: Ints | None,
    values: Floats | None,
    trees: DrawnTrees,
    n_classes: int,
) -> tuple[Ints, Floats]:
    """Update the scores of rows, and return the rows' leaves in `trees` and sums of residuals.

    The update adds `values` of the rows' `leaves` in the previous trees to `scores`; both are None
    before the first trees. The sums by leaf are as in :func:`leaf_sums`, but floats.
    """
    if leaves is not None and values is not None:
        add_leaves(leaves, values, scores)
    leaves, sums = leaf_sums(rows, scores, trees, n_classes)
    return leaves, np.multiply(sums, trees.unit, dtype=np.float64)


_part_kernel = kernel(part_node, rows=(0, 0))
_risks_kernel = kernel(risks)


@kernel(rows=0)
def _places(counts: Ints) -> Ints:
    return np.arange(len(counts))


@kernel(rows=0)
def _zeros(counts: Ints, n_outputs: int) -> Floats:
    return np.zeros((len(counts), n_outputs))


class _Counts(NamedTuple):
    """Exact numbers of the records in one node."""

    # (n_classes, n_bins): records by class and bin; bins are numbered through all columns
    table: Ints
    totals: Floats  # (n_classes,): records by class
    yes: Floats  # (n_questions, n_classes): records that answer yes, by question and class


def _table(rows: HolderRows, node: Ints, n_classes: int, width: int) -> Ints:
    table = np.empty((n_classes, width), dtype=np.int64)
    count_rows(*rows, node, table)
    return table


@kernel
def _count_node(
    rows: HolderRows, node: Ints, n_classes: int, starts: Ints, low: Ints, high: Ints
) -> _Counts:
    table = _table(rows, node, n_classes, int(starts[-1]))
    exact = table.astype(np.float64)
    return _Counts(table, exact[:, : starts[1]].sum(axis=1), answers(exact, low, high))


_table_kernel = kernel(_table)


class LocalHolder:
    """A party in this process; :class:`Holder` describes its methods.

    `door` is the curator that draws the party's noise, or the seed of a new curator.
    """

    def __init__(
        self, rows: HolderRows, questions: Questions, n_classes: int, door: Start | Curator
    ) -> None:
        self.rows = rows
        self.questions = questions
        self.n_classes = n_classes
        self.curator = door if isinstance(door, Curator) else party_of(door)
        # A sealed value may be opened here, because each party's number of records is public.
        self._size = int(open_values(rows.counts).sum())
        if learner := self.curator.sealed_for:
            self.rows = HolderRows(*seal(tuple(rows), learner, 0))
        self._nodes: dict[int, Ints] = {0: _places(self.rows.counts)}
        self._kept: dict[int, _Counts] = {}
        self._scores: Floats | None = None
        self._leaves: Ints | None = None
        self._values: Floats | None = None

    @property
    def size(self) -> int:
        """Return the party's number of records."""
        return self._size

    def split(self, node: int, question: int, left: int) -> None:
        """Split a node's records into nodes `left` (answer no) and `left + 1` (answer yes)."""
        column, low, high = (part[question] for part in self.questions[:3])
        parts = _part_kernel(self.rows.bins, self._nodes.pop(node), column, low, high)
        self._nodes[left], self._nodes[left + 1] = parts

    def vote(self, node: int, ballot: Ballot) -> NDArray[Any]:
        """Return the question for which the party votes, encoded by :func:`encode_vote`."""
        _, totals, yes = self._count(node)
        place = CRITERIA.index(ballot.criterion)
        if ballot.mechanism == LAPLACE:
            scores = family_gains(family_counts(yes, totals), place)
            scale = published_scale(int(totals.sum()), ballot.criterion, ballot.rate)
        else:
            scores = _risks_kernel(totals, yes, place)
            # A rate of 0 means that no record can change a score: all questions are equally likely.
            scale = 1 / ballot.rate if ballot.rate else np.inf
        call = Call(ballot.mechanism, scale, what=ballot.what)
        return encode_vote(self.curator.choose(call, scores), self.questions)

    def best(self, node: int, criterion: str, rate: float) -> Floats:
        """Return the position and the noisy gain of the question with the largest noisy gain.

        The position is `NONE` if the node has fewer than two records.
        """
        _, totals, yes = self._count(node)
        size = int(totals.sum())
        if size < 2:
            return np.array([NONE, 0.0])
        scores = family_gains(family_counts(yes, totals), CRITERIA.index(criterion))
        scale = published_scale(size, criterion, rate)
        noisy = self.curator.numbers(Call(LAPLACE, scale), scores)
        chosen = int(np.argmax(noisy))
        return np.array([chosen, noisy[chosen]])

    def counts(self, node: int, columns: Sequence[int], release: MessageNoise) -> NDArray[Any]:
        """Count the records of a node by class, and by bin of the given columns, with noise."""
        starts = self.questions.starts
        if node in self._kept:
            table = self._kept[node].table
        else:
            table = _table_kernel(self.rows, self._nodes[node], self.n_classes, int(starts[-1]))
        if len(columns) < len(starts) - 1:
            table = table[:, places_of(columns, starts)]
        return release.message(table, self.curator)

    def families(
        self, nodes: Sequence[int], questions: Sequence[Sequence[int]], release: MessageNoise
    ) -> NDArray[Any]:
        """Return the counts of :func:`family_counts` for each node's `questions`, with noise."""
        exact = []
        for node, of_node in zip(nodes, questions, strict=True):
            _, totals, yes = self._count(node)
            if len(of_node) < len(yes):
                yes = yes[np.asarray(of_node, dtype=np.int64)]
            exact.append(family_counts(yes, totals))
        return release.messages(np.array(exact), self.curator)

    def weights(self, nodes: Sequence[int], release: MessageNoise) -> NDArray[Any]:
        """Count the records in each node, with noise."""
        exact = [self.rows.counts[self._nodes[node]].sum() for node in nodes]
        return release.messages(np.array(exact), self.curator)

    def labels(self, nodes: Sequence[int], release: MessageNoise) -> NDArray[Any]:
        """Count the records in each node by class, with noise."""
        classes, counts = self.rows.classes, self.rows.counts
        of_nodes = [self._nodes[node] for node in nodes]
        exact = [np.bincount(classes[rows], counts[rows], self.n_classes) for rows in of_nodes]
        return release.messages(np.array(exact), self.curator)

    def leaves(self, trees: DrawnTrees, release: MessageNoise) -> NDArray[Any]:
        """Add up residuals and their norms by leaf, with noise."""
        rows = self.rows
        n_outputs = trees.n_outputs(self.n_classes)
        if self._scores is None:
            self._scores = _zeros(rows.counts, n_outputs)
        self._leaves, exact = _leaf_answers(
            rows, self._scores, self._leaves, self._values, trees, self.n_classes
        )
        return release.message(exact, self.curator)

    def move(self, values: Floats) -> None:
        """Store the values of the last trees' leaves, which the next `leaves` adds to scores."""
        self._values = values

    def _count(self, node: int) -> _Counts:
        if node not in self._kept:
            questions = self.questions
            while len(self._kept) >= KEPT:
                del self._kept[next(iter(self._kept))]
            self._kept[node] = _count_node(
                self.rows, self._nodes[node], self.n_classes,
                questions.starts, questions.low, questions.high,
            )  # fmt: skip
        return self._kept[node]
