"""MST: records drawn from a tree of noisy counts of pairs, and gradient boosting of these."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from sklearn.ensemble import HistGradientBoostingClassifier

from privcurve.coding import Codes, Floats, Ints, Records, bin_starts
from privcurve.kernels.trees.form import Trees, add_trees, bin_codes
from privcurve.learners.shared.chances import CERTAIN, only_label
from privcurve.learners.shared.checks import all_between, require
from privcurve.learners.shared.grouped import GroupedClassifier
from privcurve.learners.shared.threads import one_thread
from privcurve.privacy.budget import ADD_REMOVE
from privcurve.privacy.curator import Curator
from privcurve.privacy.mechanisms import score_range
from privcurve.privacy.noise import Announced
from privcurve.privacy.sensitivity.counts import feature_histograms_l2, histogram_l1

COUNTS = "counts of each column by code, and of the labels"
CHOICE = "choice of pair {}"
PAIRS = "counts of the chosen pairs of columns by both codes"

SOURCE = "docs/proofs.md, MST"

# A code is rare if its count is below so many deviations of its noise.
RARE = 3.0
# How far sums of the fitted tables may be from each other, as a part of all records.
TOLERANCE = 1e-6

Pair = tuple[int, int]


@dataclass(kw_only=True, eq=False, repr=False)
class MSTClassifier(GroupedClassifier):
    r"""Gradient boosting of synthetic records, which are drawn from a private tree of columns.

    After McKenna, Miklau and Sheldon, *Winning the NIST contest: a scalable and general approach to
    differentially private synthetic data*, Journal of Privacy and Confidentiality 11(3), 2021, with
    their budget and their code's steps: Gaussian noise on the counts of each column, the label
    among them; rare codes of a column put together; a spanning tree of the columns, edge by edge by
    the exponential mechanism, whose score of a pair is the L1 distance between its counts and those
    that columns alone would give; Gaussian noise on the counts of these pairs; and the distribution
    of largest entropy that comes nearest to all of these counts. Of a tree that is the one with the
    nearest tables that agree (least squares, none negative), which are found here by their dual.
    What the paper leaves to whoever has the records is then scikit-learn's
    `HistGradientBoostingClassifier`. In a tree only the columns that are tied to the label tell of
    it: boosting can learn no more than naive Bayes on these. Proof: docs/proofs.md.

    Parameters
    ----------
    n_rounds : int
        Of boosting; scikit-learn's defaults else, without early stopping.
    most_records : int
        As many records are drawn as there are, or as were estimated, but no more than this.
    neighbours : str
        ``replace-one``; or ``add-remove``, as in the paper: then the number of records is not
        public, and estimated from the first counts.
    n_groups, ordered, epsilon, delta, calibration
        See :class:`~privcurve.learners.shared.grouped.GroupedClassifier`.
    n_bins, bounds, classes, random_state
        See :class:`~privcurve.learners.base.CodedClassifier`.

    Attributes
    ----------
    edges_ : ndarray of shape (n_columns, 2)
        The pairs of the tree, in the order of their choice; the label comes after the columns.
    trees_ : Trees
    values_ : ndarray of shape (n_trees, n_nodes, 1)
    start_ : float
        The score is this, and the values of a row's leaves.
    n_features_used_ : int
        Columns that trees ask for.
    """

    _learner = "mst"
    _released: ClassVar[Mapping[str, Any]] = {
        "edges_": Ints,
        "trees_": Trees,
        "values_": Floats,
        "start_": float,
    }

    n_rounds: int = 100
    most_records: int = 20_000

    def _calls(self, n: int) -> Sequence[Announced]:
        d, third = len(self.n_bins_), 1 / 3
        columns, pairs = (feature_histograms_l2(m, self.neighbours) for m in (d + 1, d))
        # A pair's distance is 1-Lipschitz in its counts.
        distances = score_range(histogram_l1(self.neighbours), self.neighbours)
        return [
            Announced(COUNTS, share=third, l2=columns, source=SOURCE),
            Announced(CHOICE, share=third, times=d, score_range=distances, source=SOURCE),
            Announced(PAIRS, share=third, l2=pairs, source=SOURCE),
        ]

    def _release(self, records: Records, curator: Curator) -> None:
        codes, signs, counts, _ = records
        d, groups = len(self.n_bins_), self._groups()
        merged = [group[codes[:, j]] for j, group in enumerate(groups)] + [
            (signs > 0).astype(np.int64)
        ]
        widths = [int(group[-1]) + 1 for group in groups] + [2]

        call = curator.call(COUNTS)
        exact = [table_of(code, counts, k) for code, k in zip(merged, widths, strict=True)]
        released = curator.numbers(call, np.concatenate(exact))
        noisy = np.split(released, np.cumsum(widths)[:-1])
        columns = [Column.of(table, RARE * call.scale) for table in noisy]
        total = self._total(records.n, noisy)

        places = [column.places[code] for column, code in zip(columns, merged, strict=True)]
        tables = {
            (a, b): table_of(
                places[a] * columns[b].width + places[b], counts, columns[a].width, columns[b].width
            )
            for a, b in itertools.combinations(range(d + 1), 2)
        }
        edges = spanning_tree(columns, tables, total, curator)
        shapes = [tables[edge].shape for edge in edges]
        exact = [tables[edge].ravel() for edge in edges]
        released = curator.numbers(PAIRS, np.concatenate(exact))
        parts = np.split(released, np.cumsum([len(part) for part in exact])[:-1])
        measured = [part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)]
        self.edges_: Ints = np.array(edges, dtype=np.int64)

        with one_thread():
            singles, crossed = agreeing(columns, measured, edges, total)
            n = min(max(round(total), 1), int(self.most_records))
            drawn = draw(singles, crossed, edges, n, curator.coins)
            drawn = [c.codes(own, curator.coins) for c, own in zip(columns, drawn, strict=True)]
            self._boost(np.column_stack(drawn[:-1]), drawn[-1], groups)

    def _total(self, n: int, noisy: Sequence[Floats]) -> float:
        """Return the number of records, estimated where it is not public."""
        if self.neighbours != ADD_REMOVE:
            return float(n)
        # Every column tells it; the variance of a sum is that of so many numbers.
        weights = np.array([1 / len(table) for table in noisy])
        sums = np.array([table.sum() for table in noisy])
        return max(float(weights @ sums / weights.sum()), 1.0)

    def _boost(self, codes: Ints, labels: Ints, groups: Sequence[Codes]) -> None:
        signs = (2 * labels - 1).astype(np.int8)
        if only := only_label(signs):
            # scikit-learn refuses to fit one label.
            none = np.zeros((1, 1), dtype=np.int64)
            self.trees_, self.values_ = Trees(none, none, none, none, 0), np.zeros((1, 1, 1))
            self.start_, self.n_features_used_ = CERTAIN * only, 0
            return
        # What it may draw, a sample to cut bins by, follows from a public number.
        model = HistGradientBoostingClassifier(
            max_iter=int(self.n_rounds), early_stopping=False, random_state=0
        ).fit(codes, signs)
        self.start_ = float(model._baseline_prediction[0, 0])
        self.trees_, self.values_ = trees_of(model, groups, self.n_bins_)
        self.n_features_used_ = len(np.unique(self.trees_.column[self.trees_.child > 0]))

    def _restore(self) -> None:
        d, trees = len(self.n_bins_), self.trees_
        tied = self.edges_.shape == (d, 2) and all_between(self.edges_, 0, d + 1)
        require(tied, "its tree is of other columns")
        shape = trees.column.shape
        alike = len(shape) == 2 and {part.shape for part in trees[:4]} == {shape}
        inside = alike and trees.yes == 0 and all_between(trees.column, 0, d)
        require(inside, "its trees are of other columns")
        # Whoever goes down a tree comes to nodes that are further on.
        on = (trees.child > np.arange(shape[1])) & (trees.child < shape[1] - 1)
        require((on | (trees.child == 0)).all(), "its trees have no end")
        require(self.values_.shape == (*shape, 1), "it has not one value a node")

    def _scores(self, codes: Codes) -> Floats:
        scores = np.full((len(codes), 1), self.start_)
        add_trees(bin_codes(codes, self.n_bins_), self.trees_, self.values_, scores)
        return scores[:, 0]


class Column(NamedTuple):
    """A column as the tree sees it: its rare codes share the last place."""

    places: Ints  # the place of each code
    counts: Floats  # of each place, with noise
    variances: Floats  # of the noise of each, in units of that of one code

    @classmethod
    def of(cls, noisy: Floats, least: float) -> Column:
        """Put together the codes with noisy counts below `least`."""
        rare = noisy < least
        places = np.where(rare, np.count_nonzero(~rare), np.cumsum(~rare) - 1)
        sums, sizes = np.bincount(places, noisy), np.bincount(places).astype(float)
        return cls(places, np.asarray(sums), sizes)

    @property
    def width(self) -> int:
        """How many places there are."""
        return len(self.counts)

    def nearest(self, total: float) -> Floats:
        """Return the counts nearest to the noisy ones that are not negative and have a sum."""
        # The larger they are, the longer they stay above 0 as all are lowered.
        order = np.argsort(-self.counts / self.variances, kind="stable")
        sums, weights = np.cumsum(self.counts[order]), np.cumsum(self.variances[order])
        levels = (total - sums) / weights
        last = np.flatnonzero(self.counts[order] + self.variances[order] * levels > 0)[-1]
        return np.maximum(self.counts + self.variances * levels[last], 0.0)

    def codes(self, places: Ints, coins: np.random.Generator) -> Ints:
        """Return codes for places; of several in one place all are as likely."""
        order = np.argsort(self.places, kind="stable")
        sizes = np.bincount(self.places)
        offsets = (coins.random(len(places)) * sizes[places]).astype(np.int64)
        return np.asarray(order[bin_starts(sizes)[places] + offsets])


def table_of(cells: NDArray[Any], counts: Ints, *shape: int) -> Floats:
    """Count records by cell."""
    counted = np.bincount(cells.astype(np.int64), weights=counts, minlength=math.prod(shape))
    return np.asarray(counted, dtype=np.float64).reshape(shape)


def spanning_tree(
    columns: Sequence[Column], tables: Mapping[Pair, Floats], total: float, curator: Curator
) -> list[Pair]:
    """Choose pairs that join all columns, by how far they are from what columns alone say."""
    alone = [column.nearest(total) for column in columns]
    scores = {
        (a, b): float(np.abs(table - np.outer(alone[a], alone[b]) / total).sum())
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


def agreeing(
    columns: Sequence[Column], measured: Sequence[Floats], edges: Sequence[Pair], total: float
) -> tuple[list[Floats], list[Floats]]:
    """Return the tables of columns and of the edges of a tree that are nearest to noisy ones.

    Nearest in least squares, weighted by the variances of the noise, of all tables without negative
    counts that agree: rows and columns of an edge's table add up to those of its columns, all to
    `total`. Such tables are those of one distribution, as edges form a tree. In the dual each
    demand has a multiplier, and a table is max(0, noisy + variance · its multipliers); what is
    minimised is convex and smooth.
    """
    ends = [column for edge in edges for column in edge]
    cuts = np.cumsum([columns[column].width for column in ends])
    # The noise of pairs, of one column less, has so much of the variance of the columns'.
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
            float((single**2 / column.variances).sum())
            for single, column in zip(singles, columns, strict=True)
        )
        squares += sum(float((table**2).sum()) for table in crossed) / variance
        gaps = []
        for (a, b), table in zip(edges, crossed, strict=True):
            gaps += [table.sum(axis=1) - singles[a], table.sum(axis=0) - singles[b]]
        slope = np.concatenate([*gaps, [singles[0].sum() - 1]])
        return squares / 2 - float(multipliers[-1]), slope

    options = {"maxiter": 2000, "maxfun": 4000, "gtol": TOLERANCE, "ftol": 0.0}
    start = np.zeros(cuts[-1] + 1)
    best = minimize(dual, start, jac=True, method="L-BFGS-B", options=options)
    return tables(best.x)


def draw(
    singles: Sequence[Floats],
    crossed: Sequence[Floats],
    edges: Sequence[Pair],
    n: int,
    coins: np.random.Generator,
) -> list[Ints]:
    """Draw records from the tables of a tree, column by column: the places of each column.

    Their counts are those of the tables but for rounding, which coins decide (as the authors do).
    """
    drawn = {0: spread(singles[0], n, coins)}
    while len(drawn) < len(singles):
        for (a, b), table in zip(edges, crossed, strict=True):
            if (a in drawn) == (b in drawn):
                continue
            start, end, rows = (a, b, table) if a in drawn else (b, a, table.T)
            drawn[end] = np.zeros(n, dtype=np.int64)
            for place, row in enumerate(rows):
                here = np.flatnonzero(drawn[start] == place)
                # A place without any counts has those of the column.
                weights = row if row.sum() > 0 else singles[end]
                drawn[end][here] = spread(weights, len(here), coins)
    return [drawn[column] for column in range(len(singles))]


def spread(weights: Floats, n: int, coins: np.random.Generator) -> Ints:
    """Return n places in random order, each as often as its weight says, up to one."""
    # Where noise leaves no count above 0, all places are as likely.
    weights = weights if weights.sum() > 0 else np.ones_like(weights)
    shares = n * weights / weights.sum()
    times = np.floor(shares).astype(np.int64)
    if left := n - int(times.sum()):
        parts = shares - times
        times[coins.choice(len(times), left, replace=False, p=parts / parts.sum())] += 1
    return coins.permutation(np.repeat(np.arange(len(times)), times))


def trees_of(
    model: HistGradientBoostingClassifier, groups: Sequence[Codes], n_bins: Ints
) -> tuple[Trees, Floats]:
    """Return the trees of scikit-learn's model of groups as questions about codes.

    A node's two children stand together, and after it; the first is of those who say yes.
    """
    grown = [tree.nodes for (tree,) in model._predictors]
    shape = len(grown), max(len(nodes) for nodes in grown)
    column, low, high, child = (np.zeros(shape, dtype=np.int64) for _ in range(4))
    values = np.zeros((*shape, 1))
    starts = bin_starts(n_bins)
    for t, nodes in enumerate(grown):
        order = [0]
        for place in range(len(nodes)):
            node = nodes[order[place]]
            values[t, place] = node["value"]
            if not node["is_leaf"]:
                j = int(node["feature_idx"])
                last = np.searchsorted(groups[j], math.floor(node["num_threshold"]), side="right")
                column[t, place], child[t, place] = j, len(order)
                low[t, place], high[t, place] = starts[j], starts[j] + last - 1
                order += [int(node["left"]), int(node["right"])]
    return Trees(column, low, high, child, 0), values
