"""Shared code of learners that draw synthetic records and train boosted trees on them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier

from privcurve.coding import Codes, Floats, Ints, Records, bin_starts
from privcurve.kernels.arithmetic import dot, total
from privcurve.kernels.trees.form import Trees, add_trees, ask_two_columns, bin_codes
from privcurve.learners.entries.parameters import SyntheticParameters
from privcurve.learners.shared.chances import CERTAIN, only_label
from privcurve.learners.shared.checks import all_between, require
from privcurve.learners.shared.grouped import GroupedClassifier
from privcurve.privacy.budget import ADD_REMOVE
from privcurve.privacy.curator import Call, Curator
from privcurve.privacy.sealed import kernel, take


@dataclass(kw_only=True, eq=False, repr=False)
class SyntheticClassifier(GroupedClassifier, SyntheticParameters):
    """Base of learners that draw synthetic records from noisy counts and boost trees on them.

    The counts treat the label as one more column, the last.

    Parameters
    ----------
    n_rounds : int
        Number of boosting rounds. Other settings are scikit-learn's defaults, without early
        stopping.
    most_records : int
        Maximum number of synthetic records. The number of synthetic records is the number of
        training records (or its estimate, if it is not public), but at most this.
    neighbours : str
        ``replace-one``; or ``add-remove``, as in the papers: the number of records is then not
        public, and is estimated from the first counts.
    n_groups, ordered, epsilon, delta, calibration
        See :class:`~privcurve.learners.shared.grouped.GroupedClassifier`.
    n_bins, bounds, classes, random_state
        See :class:`~privcurve.learners.base.CodedClassifier`.

    Attributes
    ----------
    trees_ : Trees
        The condition that each node of the trees tests.
    values_ : ndarray of shape (n_trees, n_nodes, 1)
        The value of each leaf.
    start_ : float
        The score of a row is `start_` plus the values of its leaves.
    n_features_used_ : int
        Number of columns that the trees test.
    """

    _released: ClassVar[Mapping[str, Any]] = {"trees_": Trees, "values_": Floats, "start_": float}

    def _columns(
        self, records: Records, call: Call, curator: Curator, least: float
    ) -> tuple[list[Column], list[Ints], float]:
        """Release the counts of each column and the label with noise.

        Parameters
        ----------
        records : Records
        call : Call
            The mechanism call of the release.
        curator : Curator
        least : float
            The bins of a column whose noisy counts are below `least` are merged into one.

        Returns
        -------
        columns : list of Column
        places : list of ndarray
            For each column, the merged bin of each record.
        total : float
            The number of records, or an estimate if it is not public.
        """
        codes, signs, counts, _ = records
        groups = self._groups()
        merged = [take(group, codes[:, j]) for j, group in enumerate(groups)]
        merged.append((signs > 0).astype(np.int64))
        widths = [*(int(group[-1]) + 1 for group in groups), 2]
        exact = [table_of(code, counts, k) for code, k in zip(merged, widths, strict=True)]
        released = curator.numbers(call, np.concatenate(exact))
        noisy = np.split(released, np.cumsum(widths)[:-1])
        columns = [Column.merge_rare(table, least) for table in noisy]
        places = [take(column.places, code) for column, code in zip(columns, merged, strict=True)]
        return columns, places, self._total(records, noisy)

    def _total(self, records: Records, noisy: Sequence[Floats]) -> float:
        """Return the number of records, or an estimate if it is not public."""
        if self.neighbours != ADD_REMOVE:
            return float(records.n)
        # The sum of a column's noisy counts estimates the number of records, with a variance in
        # proportion to the number of bins. Average these estimates, weighted by their precision.
        weights = np.array([1 / len(table) for table in noisy])
        sums = np.array([table.sum() for table in noisy])
        return max(dot(weights, sums) / total(weights), 1.0)

    def _boost_drawn(
        self, columns: Sequence[Column], places: Sequence[Ints], coins: np.random.Generator
    ) -> None:
        """Boost trees on drawn records; `places` has their merged bins, one array per column."""
        drawn = [column.codes(place, coins) for column, place in zip(columns, places, strict=True)]
        self._boost(np.column_stack(drawn[:-1]), drawn[-1], self._groups())

    def _count_drawn(self, total: float) -> int:
        """Return the number of records to draw."""
        return min(max(round(total), 1), int(self.most_records))

    def _boost(self, codes: Ints, labels: Ints, groups: Sequence[Codes]) -> None:
        signs = (2 * labels - 1).astype(np.int8)
        if only := only_label(signs):
            # scikit-learn refuses records that all have the same label; the score is then a
            # constant.
            none = np.zeros((1, 1), dtype=np.int64)
            self.trees_, self.values_ = Trees(none, none, none, none, 0), np.zeros((1, 1, 1))
            self.start_, self.n_features_used_ = CERTAIN * only, 0
            return
        # scikit-learn may draw a random sample of the records to compute bins. The records are
        # synthetic, so the seed need not be secret.
        model = HistGradientBoostingClassifier(
            max_iter=int(self.n_rounds), early_stopping=False, random_state=0
        ).fit(codes, signs)
        self.start_ = float(model._baseline_prediction[0, 0])
        self.trees_, self.values_ = trees_of(model, groups, self.n_bins_)
        self.n_features_used_ = len(np.unique(self.trees_.column[self.trees_.child > 0]))

    @property
    def joins_columns(self) -> bool:
        """Whether some path of a tree tests more than one column."""
        return ask_two_columns(self.trees_)

    def _restore(self) -> None:
        d, trees = len(self.n_bins_), self.trees_
        shape = trees.column.shape
        alike = len(shape) == 2 and {part.shape for part in trees[:4]} == {shape}
        inside = alike and trees.yes == 0 and all_between(trees.column, 0, d)
        require(inside, "its trees are of other columns")
        # A model file could have a cycle. If each child has a higher number than its parent, every
        # path ends.
        on = (trees.child > np.arange(shape[1])) & (trees.child < shape[1] - 1)
        require((on | (trees.child == 0)).all(), "its trees have no end")
        require(self.values_.shape == (*shape, 1), "it has not one value a node")

    def _scores(self, codes: Codes) -> Floats:
        scores = np.full((len(codes), 1), self.start_)
        add_trees(bin_codes(codes, self.n_bins_), self.trees_, self.values_, scores)
        return scores[:, 0]


class Column(NamedTuple):
    """A column whose rare bins are merged into one, the last; a *place* is a bin after merging."""

    places: Ints  # (n_bins,): the place (merged bin) of each bin
    counts: Floats  # (n_places,): the noisy count of each place
    variances: Floats  # noise variance of each count, relative to a single bin's count

    @classmethod
    def merge_rare(cls, noisy: Floats, least: float) -> Column:
        """Return a column in which bins with a noisy count below `least` are merged into one."""
        rare = noisy < least
        places = np.where(rare, np.count_nonzero(~rare), np.cumsum(~rare) - 1)
        sums, sizes = np.bincount(places, noisy), np.bincount(places).astype(float)
        return cls(places, np.asarray(sums), sizes)

    @property
    def width(self) -> int:
        """The number of places (merged bins)."""
        return len(self.counts)

    def nearest(self, total: float) -> Floats:
        """Return the nonnegative counts that add up to `total` and are nearest to the noisy counts.

        The squared distance is weighted by the inverse variances.
        """
        # The solution is max(0, count + variance · level), with the same level for all counts. If
        # the level falls, the counts reach 0 in increasing order of count/variance.
        order = np.argsort(-self.counts / self.variances, kind="stable")
        sums, weights = np.cumsum(self.counts[order]), np.cumsum(self.variances[order])
        levels = (total - sums) / weights
        last = np.flatnonzero(self.counts[order] + self.variances[order] * levels > 0)[-1]
        return np.maximum(self.counts + self.variances * levels[last], 0.0)

    def codes(self, places: Ints, coins: np.random.Generator) -> Ints:
        """Draw a bin for each given place (merged bin): each of its bins is equally likely."""
        order = np.argsort(self.places, kind="stable")
        sizes = np.bincount(self.places)
        offsets = (coins.random(len(places)) * sizes[places]).astype(np.int64)
        return np.asarray(order[bin_starts(sizes)[places] + offsets])


@kernel
def table_of(cells: NDArray[Any], counts: Ints, *shape: int) -> Floats:
    """Return the number of records in each cell, as an array of the given shape.

    `cells` are flat positions in the array; `counts` has the number of records of each row.
    """
    counted = np.bincount(cells.astype(np.int64), weights=counts, minlength=math.prod(shape))
    return np.asarray(counted, dtype=np.float64).reshape(shape)


@kernel
def joint_counts(
    columns: Sequence[Column], places: Sequence[Ints], counts: Ints, some: Sequence[int]
) -> Floats:
    """Count the records by their places in `some` columns; the result has an axis per column."""
    cells = np.zeros(len(counts), dtype=np.int64)
    for column in some:
        cells = cells * columns[column].width + places[column]
    return table_of(cells, counts, *(columns[column].width for column in some))


def deal_places(weights: Floats, n: int, coins: np.random.Generator) -> Ints:
    """Return `n` places in random order, in numbers proportional to `weights` up to rounding."""
    # If no noisy count is above 0, all places are equally likely.
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
    """Convert the trees of a scikit-learn model that was fitted on groups of bins.

    Returns the trees, and the value of each node. A node tests whether the bin of a column is in a
    range. The two children of a node are adjacent and come after the node; the first child is for
    bins in the range.
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
