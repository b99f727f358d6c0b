"""Private-PGM: fit the distribution with the largest entropy among those nearest to noisy tables.

After McKenna, Sheldon and Miklau, *Graphical-model based estimation and inference for differential
privacy*, ICML 2019.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from privcurve.coding import Bools, Floats, Ints, bin_starts
from privcurve.kernels.graphical import (
    CliqueCells,
    Index,
    TableCells,
    carry,
    descend,
    triangulate,
    triangulated_sizes,
)
from privcurve.learners.boosting.synthetic import deal_places

# The descent stops at the first step that reduces the loss by less than this share of the loss.
TOLERANCE = 1e-7

# The positions of some columns, in increasing order.
Columns = tuple[int, ...]


class Measured(NamedTuple):
    """The measured joint table of some columns, and the model's parameters for it."""

    table: Floats  # the weighted mean of all measurements, each divided by the number of records
    weights: Floats  # 1 divided by the noise variance of each cell
    theta: Floats  # the model's parameters: for each cell, the logarithm of a factor


class Tree(NamedTuple):
    """A junction tree. Its cliques are listed with the root first and parents before children."""

    cliques: list[Columns]
    parents: Ints  # the position of each clique's parent; −1 for the root
    adjacent: Bools  # (n_columns, n_columns): the edges of the triangulated graph
    beliefs: list[Floats]  # the model's joint table of each clique, flat


class GraphicalModel:
    """A distribution over all columns, fitted to noisy joint tables of some of them.

    The probability of a record is proportional to a product of positive factors: each measured
    table has one factor, which depends only on the table's columns. The last column is the label.

    Parameters
    ----------
    widths : sequence of int
        The number of values of each column.
    """

    def __init__(self, widths: Sequence[int]) -> None:
        self.widths = tuple(int(width) for width in widths)
        self._sizes = np.array(self.widths, dtype=np.float64)
        self.measured: dict[Columns, Measured] = {}
        self._step = 1.0
        # Cache of `index_of`. A key has the columns of a clique, perhaps with the label, and some
        # of these columns.
        self._indices: dict[tuple[Columns, Columns], Index] = {}
        self.loss = 0.0

    def shape(self, columns: Columns) -> tuple[int, ...]:
        """Return the shape of the joint table of the given columns."""
        return tuple(self.widths[column] for column in columns)

    def measure(self, columns: Columns, table: Floats, variance: Floats | float) -> None:
        """Store a noisy table, divided by the number of records, for the next `fit`.

        `variance` is the variance of the noise of the table's cells. Several tables of the same
        columns are averaged, weighted by their precision.
        """
        weights = np.broadcast_to(1 / np.asarray(variance, dtype=np.float64), table.shape)
        former = self.measured.get(columns)
        if former is None:
            self.measured[columns] = Measured(table, weights.copy(), np.zeros(table.shape))
            return
        both = former.weights + weights
        mean = (former.weights * former.table + weights * table) / both
        self.measured[columns] = Measured(mean, both, former.theta)

    def fit(self, n_steps: int) -> None:
        """Improve the fit to the measured tables by up to `n_steps` descent steps."""
        tree = self.tree = self._junction_tree()
        label = (len(self.widths) - 1,)
        there = {*tree.cliques, *(clique + label for clique in tree.cliques)}
        self._indices = {key: index for key, index in self._indices.items() if key[0] in there}
        names, tables = list(self.measured), list(self.measured.values())
        # Compare each measured table with a clique that contains its columns. All such cliques have
        # the same table of these columns; the smallest clique is the fastest.
        items = [self._clique_of(name) for name in names]
        index = [self._index(tree.cliques[k], name) for k, name in zip(items, names, strict=True)]
        firsts = bin_starts([measured.table.size for measured in tables])
        aims, weights, theta = (
            np.concatenate([part.ravel() for part in parts]) for parts in zip(*tables, strict=True)
        )
        cells, starts = self._cells_of(tree), bin_starts([*map(len, index)])
        beliefs = np.zeros(cells.starts[-1])
        self._step, self.loss = descend(
            cells,
            TableCells(np.array(items), starts, _join_indices(index, firsts)),
            aims,
            # Scaled weights make a step size of about 1 suitable, whatever the noise.
            weights / weights.max(),
            theta,
            beliefs,
            self._step,
            n_steps,
            TOLERANCE,
        )
        for name, table, values in zip(names, tables, np.split(theta, firsts[1:-1]), strict=True):
            self.measured[name] = table._replace(theta=values.reshape(table.table.shape))
        tree.beliefs[:] = np.split(beliefs, cells.starts[1:-1])

    def _cells_of(self, tree: Tree) -> CliqueCells:
        """Convert the tree to the arrays that the descent kernel reads."""
        parts = self._separators(tree)
        below = [
            self._index(clique, part) for clique, part in zip(tree.cliques, parts, strict=True)
        ]
        above = [
            self._index(tree.cliques[parent], part)
            for parent, part in zip(tree.parents[1:], parts[1:], strict=True)
        ]
        separated = bin_starts([math.prod(self.shape(part)) for part in parts])
        return CliqueCells(
            bin_starts([*map(len, below)]),
            _join_indices(below, separated),
            separated,
            tree.parents,
            bin_starts([0, *map(len, above)]),
            _join_indices(above, separated[1:]),
        )

    def _index(self, columns: Columns, some: Columns) -> Index:
        """Return `index_of(columns, some)` from the cache."""
        key = columns, some
        if key not in self._indices:
            self._indices[key] = index_of(columns, some, self.widths)
        return self._indices[key]

    def _junction_tree(self) -> Tree:
        """Return a junction tree whose cliques contain all measured tables, without beliefs.

        It comes from a greedy triangulation of a graph: columns are adjacent if they share a table.
        """
        n = len(self.widths)
        adjacent = np.zeros((n, n), dtype=bool)
        for columns in self.measured:
            adjacent[np.ix_(columns, columns)] = True
        cliques = np.zeros((n, n), dtype=bool)
        kept = triangulate(adjacent, self._sizes, math.inf, cliques)[1]
        left = [tuple(np.flatnonzero(row).tolist()) for row in cliques[kept]]
        # Prim's algorithm: the root contains the label; each next clique shares as many columns as
        # possible with an earlier clique, its parent.
        root = next(clique for clique in left if n - 1 in clique)
        left.remove(root)
        order, parents = [root], [-1]
        shared = {clique: (len({*clique} & {*root}), 0) for clique in left}
        while shared:
            clique = max(shared, key=lambda candidate: shared[candidate][0])
            parents.append(shared.pop(clique)[1])
            order.append(clique)
            for other, (most, _) in shared.items():
                if (size := len({*other} & {*clique})) > most:
                    shared[other] = size, len(order) - 1
        return Tree(order, np.array(parents), adjacent, [])

    def _separators(self, tree: Tree) -> list[Columns]:
        """Return the columns that each clique shares with its parent; the root has none."""
        return [
            () if parent < 0 else _common_columns(clique, tree.cliques[parent])
            for clique, parent in zip(tree.cliques, tree.parents.tolist(), strict=True)
        ]

    def candidates_within(self, candidates: Sequence[Columns], most: float) -> list[int]:
        """Return the positions of the candidates that keep the junction tree small enough.

        If such a candidate is measured, the tree has at most `most` cells. A candidate inside a
        clique adds no cells and is always allowed.
        """
        beyond = np.array([self._clique_of(columns) < 0 for columns in candidates])
        others = np.full((len(candidates), max(map(len, candidates))), -1, dtype=np.int64)
        for row, columns in zip(others, candidates, strict=True):
            row[: len(columns)] = columns
        sizes = np.zeros(len(candidates))
        sizes[beyond] = triangulated_sizes(self.tree.adjacent, self._sizes, most, others[beyond])
        return np.flatnonzero(sizes <= most).tolist()

    def _clique_of(self, columns: Columns) -> int:
        """Return the position of the smallest clique that contains the columns; −1 if none does."""
        wanted = {*columns}
        having = [k for k, clique in enumerate(self.tree.cliques) if wanted <= {*clique}]
        cliques = self.tree.cliques
        return min(having, key=lambda k: math.prod(self.shape(cliques[k])), default=-1)

    def table(self, columns: Columns) -> Floats:
        """Return the model's joint table of columns; ValueError if no clique contains them all."""
        k = self._clique_of(columns)
        if k < 0:
            raise ValueError(f"columns {columns} are in no clique together")
        index = self._index(self.tree.cliques[k], columns)
        return self._sum_cells(self.tree.beliefs[k], index, columns)

    def _sum_cells(self, cells: Floats, index: Index, columns: Columns) -> Floats:
        shape = self.shape(columns)
        summed = np.bincount(index, cells, math.prod(shape))
        return np.asarray(summed, dtype=np.float64).reshape(shape)

    def tables_with_label(self) -> dict[Columns, Floats]:
        """Return the model's tables of each column, and each pair of columns, with the label."""
        label = len(self.widths) - 1
        cliques, cells = self._add_label()
        tables: dict[Columns, Floats] = {}
        for clique, own in zip(cliques, cells, strict=True):
            for size in (1, 2):
                for some in itertools.combinations(clique[:-1], size):
                    name = (*some, label)
                    if name not in tables:
                        tables[name] = self._sum_cells(own, self._index(clique, name), name)
        neighbours: list[list[int]] = [[] for _ in cliques]
        for k, parent in enumerate(self.tree.parents.tolist()):
            if parent >= 0:
                neighbours[k].append(parent)
                neighbours[parent].append(k)
        for a in range(label):
            self._carry(a, cliques, cells, neighbours, tables)
        return tables

    def _carry(
        self,
        a: int,
        cliques: Sequence[Columns],
        cells: Sequence[Floats],
        neighbours: Sequence[Sequence[int]],
        tables: dict[Columns, Floats],
    ) -> None:
        """Add to `tables` the tables of column `a` with each column that shares no clique with `a`.

        The function starts at the cliques that contain `a`, and goes from each clique to its
        neighbours. Given the columns that a clique shares with the clique before, `a` is
        independent of all other columns of the clique. So the joint table of `a` with the shared
        columns determines the joint table of `a` with the entire clique.
        """
        label, width = len(self.widths) - 1, self.widths[a]
        ways: list[tuple[int, int, Floats]] = []
        for k, clique in enumerate(cliques):
            for following in neighbours[k]:
                if a in clique and a not in cliques[following]:
                    common = _common_columns(clique, cliques[following])
                    index = self._index(clique, (*common, a))
                    joint = self._sum_cells(cells[k], index, (*common, a)).reshape(-1, width)
                    ways.append((k, following, joint))
        while ways:
            before, k, joint = ways.pop()
            clique = cliques[k]
            below = joint.sum(axis=1, keepdims=True)
            ratios = np.divide(joint, below, out=np.zeros_like(joint), where=below > 0)
            start = self._index(clique, _common_columns(clique, cliques[before]))

            for b in clique[:-1]:
                name = (a, b, label)
                if a < b and name not in tables:
                    table = self._carry_table(ratios, cells[k], start, clique, (b, label))
                    tables[name] = table.T.reshape(self.shape(name))
            for following in neighbours[k]:
                if following != before:
                    common = _common_columns(clique, cliques[following])
                    table = self._carry_table(ratios, cells[k], start, clique, common)
                    ways.append((k, following, table))

    def _carry_table(
        self, ratios: Floats, cells: Floats, start: Index, clique: Columns, some: Columns
    ) -> Floats:
        table = np.zeros((math.prod(self.shape(some)), ratios.shape[1]))
        carry(ratios, cells, start, self._index(clique, some), table)
        return table

    def _add_label(self) -> tuple[list[Columns], list[Floats]]:
        """Return the cliques, each extended by the label, and their joint tables."""
        label = len(self.widths) - 1
        cliques: list[Columns] = []
        cells: list[Floats] = []
        parts = self._separators(self.tree)
        for k, (clique, own) in enumerate(zip(self.tree.cliques, self.tree.beliefs, strict=True)):
            if label in clique:
                cliques.append(clique)
                cells.append(own)
                continue
            # Given the separator, the label is independent of the rest of the clique.
            # So multiply the clique's table by the label's distribution given the separator.
            parent, wanted = int(self.tree.parents[k]), (*parts[k], label)
            joint = self._sum_cells(cells[parent], self._index(cliques[parent], wanted), wanted)
            joint = joint.reshape(-1, self.widths[label])
            below = joint.sum(axis=1, keepdims=True)
            chances = np.divide(joint, below, out=np.zeros_like(joint), where=below > 0)
            rows = self._index(clique, parts[k])
            cliques.append((*clique, label))
            cells.append((own[:, None] * chances[rows]).ravel())
        return cliques, cells

    def draw(self, n: int, coins: np.random.Generator) -> list[Ints]:
        """Draw `n` records; return for each column the values of the records, as positions 0, 1, ….

        The records are drawn clique by clique. Their counts follow the cliques' tables as closely
        as whole numbers can; `coins` decides the rounding.
        """
        drawn: dict[int, Ints] = {}
        tree = self.tree
        for clique, part, cells in zip(
            tree.cliques, self._separators(tree), tree.beliefs, strict=True
        ):
            others = tuple(column for column in clique if column not in part)
            shape = self.shape((*part, *others))
            axes = [clique.index(column) for column in (*part, *others)]
            table = cells.reshape(self.shape(clique)).transpose(axes)
            rows = table.reshape(math.prod(shape[: len(part)]), -1)
            start = np.zeros(n, dtype=np.int64)
            for column in part:
                start = start * self.widths[column] + drawn[column]
            places = np.zeros(n, dtype=np.int64)
            order = np.argsort(start, kind="stable")
            sizes = np.bincount(start, minlength=len(rows))
            firsts = bin_starts(sizes)
            for row in np.flatnonzero(sizes):
                some = order[firsts[row] : firsts[row] + sizes[row]]
                places[some] = deal_places(rows[row], int(sizes[row]), coins)
            for column in reversed(others):
                drawn[column] = places % self.widths[column]
                places = places // self.widths[column]
        return [drawn[column] for column in range(len(self.widths))]


def _common_columns(one: Columns, other: Columns) -> Columns:
    return tuple(column for column in one if column in other)


def _join_indices(parts: Sequence[Index], firsts: Ints) -> Index:
    """Concatenate the indices in `parts`, after adding ``firsts[k]`` to all entries of part k."""
    shifted = [part + np.int32(first) for part, first in zip(parts, firsts, strict=False)]
    return np.concatenate([np.zeros(0, dtype=np.int32), *shifted])


def index_of(columns: Columns, some: Columns, widths: tuple[int, ...]) -> Index:
    """Map each cell of the joint table of `columns` to its cell in the table of `some` of them.

    Both tables are flat; summing by this index gives the smaller table.
    """
    index = np.zeros((1,) * len(columns), dtype=np.int32)
    stride = 1
    for column in reversed(some):
        axis = [1] * len(columns)
        axis[columns.index(column)] = widths[column]
        index = index + stride * np.arange(widths[column], dtype=np.int32).reshape(axis)
        stride *= widths[column]
    cells = np.broadcast_to(index, [widths[column] for column in columns])
    return np.ascontiguousarray(cells).reshape(-1)
