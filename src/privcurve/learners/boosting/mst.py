"""MST: gradient boosting of synthetic records, drawn from a tree of noisy tables of pairs."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from privcurve.coding import Floats, Ints, Records
from privcurve.kernels.descent import find_lowest
from privcurve.learners.boosting.synthetic import (
    Column,
    SyntheticClassifier,
    deal_places,
    joint_counts,
)
from privcurve.learners.shared.checks import all_between, require
from privcurve.learners.shared.threads import one_thread
from privcurve.privacy.curator import Curator
from privcurve.privacy.noise import Announced
from privcurve.privacy.sensitivity.counts import feature_histograms_l2, histogram_l1

COUNTS = "counts of each column by code, and of the labels"
CHOICE = "choice of pair {}"
PAIRS = "counts of the chosen pairs of columns by both codes"

SOURCE = "docs/proofs.md, 'MST'"

# Bins whose noisy count is below this many standard deviations of the noise are merged, as in the
# authors' code: their counts are mostly noise.
RARE = 3.0
# The solver stops when the tables agree with each other: sums of two tables that should be equal
# differ by at most this share of the records.
TOLERANCE = 1e-6
MOST_STEPS = 2_000

Pair = tuple[int, int]


@dataclass(kw_only=True, eq=False, repr=False)
class MSTClassifier(SyntheticClassifier):
    r"""Gradient boosting of synthetic records, which are drawn from a private tree of columns.

    The method is by McKenna, Miklau and Sheldon, *Winning the NIST contest: a scalable and general
    approach to differentially private synthetic data*, Journal of Privacy and Confidentiality
    11(3), 2021. The steps and their shares of the budget are as in the authors' code:

    1. Release the counts of each column, including the label, with Gaussian noise, and merge the
       rare bins of each column.
    2. Choose a spanning tree of the columns, edge by edge, by the exponential mechanism. The score
       of a pair is the L1 distance between its counts and the counts if both were independent.
    3. Release the counts of the chosen pairs with Gaussian noise.
    4. Find the distribution nearest to all these counts that has the largest entropy. For a tree it
       is given by the nearest nonnegative tables (in least squares) that agree with each other; the
       class finds these tables by the dual problem.
    5. Draw records from this distribution, and train scikit-learn's
       `HistGradientBoostingClassifier` on them (the paper leaves the use of the records open).

    In a tree, the label depends only on the columns that are adjacent to it, so boosting can learn
    no more than naive Bayes on these columns. Proof: docs/proofs.md, 'MST'.

    Parameters
    ----------
    neighbours, n_rounds, most_records, n_groups, ordered, epsilon, delta, calibration
        See :class:`~privcurve.learners.boosting.synthetic.SyntheticClassifier`.
    n_bins, bounds, classes, random_state
        See :class:`~privcurve.learners.base.CodedClassifier`.

    Attributes
    ----------
    edges_ : ndarray of shape (n_columns, 2)
        The pairs of columns of the tree, in the order of the choices. The label has the position
        after the last column.
    trees_, values_, start_, n_features_used_
        See :class:`~privcurve.learners.boosting.synthetic.SyntheticClassifier`.
    """

    _learner = "mst"
    _released: ClassVar[Mapping[str, Any]] = {"edges_": Ints, **SyntheticClassifier._released}

    def _calls(self, n: int) -> Sequence[Announced]:
        d, third = len(self.n_bins_), 1 / 3
        columns, pairs = (feature_histograms_l2(m, self.neighbours) for m in (d + 1, d))
        # A score moves by at most as much as the pair's counts (L1): it has at most the sensitivity
        # of the counts. The range of the scores' change is at most twice this sensitivity.
        distances = 2 * histogram_l1(self.neighbours)
        return [
            Announced(COUNTS, share=third, l2=columns, source=SOURCE),
            Announced(CHOICE, share=third, times=d, score_range=distances, source=SOURCE),
            Announced(PAIRS, share=third, l2=pairs, source=SOURCE),
        ]

    def _release(self, records: Records, curator: Curator) -> None:
        call = curator.call(COUNTS)
        columns, places, total = self._columns(records, call, curator, RARE * call.scale)
        tables = {
            pair: joint_counts(columns, places, records.counts, pair)
            for pair in itertools.combinations(range(len(columns)), 2)
        }
        edges = spanning_tree(columns, tables, total, curator)
        exact = [tables[edge].ravel() for edge in edges]
        released = curator.numbers(PAIRS, np.concatenate(exact))
        parts = np.split(released, np.cumsum([len(part) for part in exact])[:-1])
        measured = [p.reshape(tables[edge].shape) for p, edge in zip(parts, edges, strict=True)]
        self.edges_: Ints = np.array(edges, dtype=np.int64)

        with one_thread():
            singles, crossed = nearest_tables(columns, measured, edges, total)
            drawn = draw_records(singles, crossed, edges, self._count_drawn(total), curator.coins)
            self._boost_drawn(columns, drawn, curator.coins)

    def _restore(self) -> None:
        d = len(self.n_bins_)
        tied = self.edges_.shape == (d, 2) and all_between(self.edges_, 0, d + 1)
        require(tied, "its tree is of other columns")
        super()._restore()


def spanning_tree(
    columns: Sequence[Column], tables: Mapping[Pair, Floats], total: float, curator: Curator
) -> list[Pair]:
    """Choose privately the edges of a spanning tree of the columns.

    The score of a pair is the L1 distance between the pair's counts (`tables`) and the counts that
    follow from the noisy counts of both columns if the columns are independent.
    """
    alone = [column.nearest(total) for column in columns]
    scores = {
        (a, b): np.abs(table - np.outer(alone[a], alone[b]) / total).sum()
        for (a, b), table in tables.items()
    }
    part = np.arange(len(columns))
    edges: list[Pair] = []
    for k in range(1, len(columns)):
        apart = [(a, b) for a, b in scores if part[a] != part[b]]
        a, b = apart[curator.choose(CHOICE.format(k), [scores[pair] for pair in apart])]
        edges.append((a, b))
        part[part == part[b]] = part[a]
    return edges


def nearest_tables(
    columns: Sequence[Column], measured: Sequence[Floats], edges: Sequence[Pair], total: float
) -> tuple[list[Floats], list[Floats]]:
    """Fit consistent tables of the columns and of the tree's edges to the noisy tables.

    The tables (divided by `total`) minimise the squared distance to the noisy tables, weighted by
    the inverse variances of the noise. They must be nonnegative, add up to 1, and agree: the
    margins of an edge's table are the tables of its columns. As the edges form a tree, such tables
    are the margins of one distribution. The dual problem, which is convex and smooth, has a
    multiplier for each of the equations that say that tables agree and add up to 1. A cell of a
    table is max(0, its noisy number + its variance · the signed sum of its equations' multipliers).

    Returns
    -------
    tuple of lists of ndarray
        The table of each column, and of each edge, as shares of the records.
    """
    ends = [column for edge in edges for column in edge]
    cuts = np.cumsum([columns[column].width for column in ends])
    # Noise variance of the pairs' counts, divided by the noise variance of the columns' counts.
    # Both get equal budgets, so this is the number of pairs divided by the number of columns.
    variance = len(edges) / len(columns)

    def tables(multipliers: Floats) -> tuple[list[Floats], list[Floats]]:
        pulls = np.split(multipliers[:-1], cuts[:-1])
        own = [np.zeros(column.width) for column in columns]
        for column, pull in zip(ends, pulls, strict=True):
            own[column] -= pull
        own[0] += multipliers[-1]
        singles = [
            np.maximum(column.counts / total + column.variances * pull, 0.0)
            for column, pull in zip(columns, own, strict=True)
        ]
        crossed = [
            np.maximum(table / total + variance * (rows[:, None] + across), 0.0)
            for table, rows, across in zip(measured, pulls[::2], pulls[1::2], strict=True)
        ]
        return singles, crossed

    def dual(multipliers: Floats) -> tuple[float, Floats]:
        singles, crossed = tables(multipliers)
        squares = sum(
            float(((single * single) / column.variances).sum())
            for single, column in zip(singles, columns, strict=True)
        )
        squares += sum(float((table * table).sum()) for table in crossed) / variance
        gaps = []
        for (a, b), table in zip(edges, crossed, strict=True):
            gaps += [table.sum(axis=1) - singles[a], table.sum(axis=0) - singles[b]]
        slope = np.concatenate([*gaps, [singles[0].sum() - 1]])
        return squares / 2 - float(multipliers[-1]), slope

    return tables(find_lowest(dual, np.zeros(cuts[-1] + 1), TOLERANCE, MOST_STEPS)[0])


def draw_records(
    singles: Sequence[Floats],
    crossed: Sequence[Floats],
    edges: Sequence[Pair],
    n: int,
    coins: np.random.Generator,
) -> list[Ints]:
    """Draw `n` records from the tables of a tree; return each column's merged bins of the records.

    The counts of the records follow the tables as closely as whole numbers can; `coins` decides the
    rounding (as in the authors' code).
    """
    drawn = {0: deal_places(singles[0], n, coins)}
    while len(drawn) < len(singles):
        for (a, b), table in zip(edges, crossed, strict=True):
            if (a in drawn) == (b in drawn):
                continue
            start, end, rows = (a, b, table) if a in drawn else (b, a, table.T)
            drawn[end] = np.zeros(n, dtype=np.int64)
            for place, row in enumerate(rows):
                matches = np.flatnonzero(drawn[start] == place)
                # If the edge's table is empty for this merged bin, draw from the column's own
                # table.
                weights = row if row.sum() > 0 else singles[end]
                drawn[end][matches] = deal_places(weights, len(matches), coins)
    return [drawn[column] for column in range(len(singles))]
