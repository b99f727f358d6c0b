"""Draw training tasks, which are parts of public or simulated tables, in arrays of fixed shapes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import tables
from privcurve import datasets
from privcurve.learners.additive.decoder import LEAST_SCALE, MOST_SCALE
from privcurve.learners.additive.rule import BINS_PER_ROOT

# The public tables. `SET_ON` of privcurve.privacy.calibration.privgam must list their sources.
PUBLIC = (
    *("adult-fine", "bank-fine", "codrna-fine", "creditcard-fine", "eeg", "magic", "page"),
    *("winewhite", "mushroom", "banknote", "breastwisc", "transfusion", "eeg-bounds", "page-log"),
    *("magic-bounds", "winered"),
)
MOST_RECORDS = 40_000  # maximum number of records of a public table
N_QUERIES = 1024  # maximum number of records on which the loss of a task is measured
# Maximum share of the largest class among all records of a table; other labels are redrawn.
MOST_SHARE = 0.985
LEAST_RECORDS = 300  # minimum number of records that remain if some classes are made rare
# For tasks of at least this many columns, columns are added to public tables.
WIDE = 24

Task = dict[str, Any]


class Shape(NamedTuple):
    """The shape of the arrays in a training step; `weight` says how often the shape is drawn."""

    columns: int
    bins: int
    records: int
    tasks: int  # number of tasks in a step
    weight: float
    n_classes: int
    scales: tuple[float, float]  # range from which m = n·μ/d of nine of ten tasks is drawn


SHAPES: Mapping[str, Shape] = {
    "12x12": Shape(12, 12, 4096, 12, 5.0, 2, (0.02, 30)),
    "32x12": Shape(32, 12, 4096, 8, 3.5, 2, (0.02, 30)),
    "120x10": Shape(120, 10, 2048, 3, 1.5, 2, (0.02, 30)),
    "64x12": Shape(64, 12, 2048, 4, 3.0, 2, (0.02, 60)),
    "64x32": Shape(64, 32, 4096, 2, 1.5, 2, (0.5, 600)),
    "12x32": Shape(12, 32, 4096, 10, 2.5, 2, (0.05, 250)),
    "32x32": Shape(32, 32, 4096, 6, 1.0, 2, (0.05, 250)),
    "6x64": Shape(6, 64, 16384, 8, 0.6, 2, (10, 8000)),
    "16x64": Shape(16, 64, 16384, 6, 1.0, 2, (10, 8000)),
    "32x64": Shape(32, 64, 8192, 4, 0.2, 2, (10, 8000)),
    "16x12k3": Shape(16, 12, 4096, 5, 1.6, 3, (0.02, 30)),
    "16x32k4": Shape(16, 32, 4096, 3, 0.5, 4, (0.05, 250)),
    "24x16k8": Shape(24, 16, 4096, 3, 0.3, 8, (0.1, 60)),
    "12x64k3": Shape(12, 64, 8192, 4, 0.3, 3, (10, 8000)),
    "12x12k10": Shape(12, 12, 4096, 4, 0.6, 10, (0.02, 30)),
}
# A shape for tests, as JAX compiles the network for it in seconds.
TINY = Shape(3, 6, 256, 2, 1.0, 2, (0.02, 250))


class Columns(NamedTuple):
    """A table: codes, the number of bins and order of each column, and one or several labels."""

    codes: NDArray[Any]  # (n_records, n_columns)
    n_bins: NDArray[np.int64]
    ordered: NDArray[np.bool_]
    labels: NDArray[np.int64]  # (n_records, n_labels)


@cache
def public_table(name: str) -> Columns:
    """Return at most `MOST_RECORDS` random records of a public table."""
    data = datasets.load(name)
    rows = np.random.default_rng(0).permutation(len(data.y))[:MOST_RECORDS]
    labels = (data.y[rows] > 0).astype(np.int64)[:, None]
    n_bins, ordered = np.array(data.domain.n_bins), np.array(data.domain.ordered)
    return Columns(data.X[rows].astype(np.uint8), n_bins, ordered, labels)


class Source:
    """Draws tasks, from public tables with probability `real`, otherwise from simulated ones.

    `pool` is the folder of simulated tables. For tasks of `WIDE` columns or more, public tables get
    further columns.
    """

    def __init__(
        self,
        pool: Path,
        seed: int = 0,
        real: float = 0.5,
        names: Sequence[str] = PUBLIC,
        shapes: Mapping[str, Shape] = SHAPES,
    ) -> None:
        self._real, self._seed, self._names, self._shapes = real, seed, names, shapes
        self._pool = sorted(pool.glob("*[0-9].npz"), key=lambda path: int(path.stem))
        if not self._pool:
            raise ValueError(f"{pool} must have simulated tables: run decoder/tables.py first")
        self._rng = np.random.default_rng(seed)

    def shape(self, name: str) -> Shape:
        """Return the shape with this name."""
        return self._shapes[name]

    def batch(self, step: int) -> tuple[str, Task]:
        """Draw a shape and tasks for a step; return the name of the shape, and the stacked tasks.

        The number `step` and the seed of this object determine both.
        """
        self._rng = np.random.default_rng([self._seed, step])
        names = list(self._shapes)
        weights = np.array([self._shapes[name].weight for name in names])
        name = names[self._rng.choice(len(names), p=weights / weights.sum())]
        tasks = [self.task(self._shapes[name]) for _ in range(self._shapes[name].tasks)]
        return name, {key: np.stack([task[key] for task in tasks]) for key in tasks[0]}

    def task(self, shape: Shape) -> Task:
        """Draw a task: training records, other records for the loss, and public facts."""
        rng, task = self._rng, None
        while task is None:
            few = max(1, shape.columns // 3) if shape.columns > 12 else 1
            wanted = shape.columns if rng.random() < 0.5 else rng.integers(few, shape.columns + 1)
            task = self._try_task(shape, int(wanted))
        return task

    def _draw_table(self, wanted: int, n_classes: int) -> Columns:
        """Draw a table with at least a third of the `wanted` columns."""
        rng = self._rng
        while True:
            if rng.random() < self._real and self._names:
                table = public_table(self._names[int(rng.integers(len(self._names)))])
                if wanted >= WIDE:
                    table = self._widen(table, wanted)
            else:
                made = tables.read(self._pool[rng.integers(len(self._pool))])
                labels = made.labels.astype(np.int64)
                if n_classes == 2:
                    labels = labels[:, :3]
                elif made.n_classes < n_classes:
                    labels = labels[:, :0]
                elif rng.random() < 0.5:
                    labels = np.minimum(labels[:, 3:], n_classes - 1)
                else:
                    labels = (rng.permutation(made.n_classes) % n_classes)[labels[:, 3:]]
                table = Columns(made.codes, made.n_bins.astype(np.int64), made.ordered, labels)
            if table.codes.shape[1] >= max(2, wanted // 3):
                return table

    def _widen(self, table: Columns, wanted: int) -> Columns:
        """Add columns to a public table: noisy sums of its columns, cut into bins.

        The public tables have at most 22 columns; users' wide tables have correlated columns.
        """
        rng, d = self._rng, len(table.n_bins)
        places = table.codes / np.maximum(table.n_bins - 1, 1)
        columns, n_bins = [table.codes], list(table.n_bins)
        while len(n_bins) <= wanted:
            chosen = rng.choice(d, min(d, int(rng.integers(1, 5))), replace=False)
            values = places[:, chosen] @ rng.normal(size=len(chosen))
            noise = values.std() * rng.choice([0.0, 0.3, 1.0, 3.0])
            values = values + noise * rng.normal(size=len(values))
            width = int(rng.choice([4, 8, 16, 32, 64]))
            edges = np.linspace(values.min(), values.max(), width + 1)[1:-1]
            if rng.random() < 0.5:
                edges = np.quantile(values, np.arange(1, width) / width)
            columns.append(np.searchsorted(edges, values).astype(np.uint8)[:, None])
            n_bins.append(width)
        ordered = np.append(table.ordered, np.ones(len(n_bins) - d, dtype=bool))
        return Columns(np.hstack(columns), np.array(n_bins), ordered, table.labels)

    def _draw_label(self, table: Columns, n_classes: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """Draw a label: a label of the table, or a function of one column.

        Returns the label of each record, and the indices of the other columns in random order.
        """
        rng, columns = self._rng, self._rng.permutation(table.codes.shape[1])
        labels, j = table.labels, columns[0]
        if labels.size and rng.random() < 0.5:
            return labels[:, rng.integers(labels.shape[1])], columns
        codes, width, ordered = (
            table.codes[:, j].astype(np.int64),
            table.n_bins[j],
            table.ordered[j],
        )
        if n_classes == 2:
            if ordered:
                label = codes > np.quantile(codes, rng.uniform(0.05, 0.95))
            else:
                most = max(1, int(rng.integers(1, max(1, width // 2) + 1)))
                label = np.isin(codes, rng.permutation(width)[:most])
            label = label.astype(np.int64)
            return (1 - label if rng.random() < 0.5 else label), columns[1:]
        if ordered:
            places = rng.random(n_classes - 1)
            if rng.random() < 0.5:
                places = np.arange(1, n_classes) / n_classes
            return np.searchsorted(np.sort(np.quantile(codes, places)), codes), columns[1:]
        return rng.integers(0, n_classes, width)[codes], columns[1:]

    def _try_task(self, shape: Shape, wanted: int) -> Task | None:
        """Draw a task; return None if it has too few records, no column, or hardly two classes."""
        rng = self._rng
        table = self._draw_table(wanted, shape.n_classes)
        y, columns = self._draw_label(table, shape.n_classes)
        share = np.bincount(y, minlength=shape.n_classes) / len(y)
        columns = columns[:wanted]
        if share.max() > MOST_SHARE or (share > 0).sum() < 2 or not len(columns):
            return None
        if rng.random() < (0.1 if shape.n_classes == 2 else 0.4):
            kept = self._draw_kept(y, shape.n_classes)
            if len(kept) < LEAST_RECORDS:
                return None
            table, y = table._replace(codes=table.codes[kept]), y[kept]
        most = min(len(y) * 2 // 3, shape.records)
        if rng.random() < 0.7:
            n = int(np.exp(rng.uniform(np.log(min(100, most)), np.log(most + 1))))
        else:
            n = int(rng.integers(most // 2, most + 1))
        n_queries = min(len(y) - n, N_QUERIES)
        rows = rng.choice(len(y), n + n_queries, replace=False)
        codes, y = table.codes[rows][:, columns].astype(np.int64), y[rows]
        if rng.random() < 0.12:
            y = rng.permutation(y)  # columns carry no information on the label
        n_bins, ordered = table.n_bins[columns].copy(), table.ordered[columns].copy()
        if rng.random() < 0.3 and codes.shape[1] < shape.columns:
            codes, n_bins, ordered = self._copy_columns(codes, n_bins, ordered, shape.columns)
        return self._cut_to_shape(shape, codes, y, n_bins, ordered, n)

    def _draw_kept(self, y: NDArray[Any], n_classes: int) -> NDArray[Any]:
        """Draw records so that some classes become rare; return the positions of drawn records."""
        chances = np.exp(-self._rng.exponential(2.0, n_classes))
        chances /= chances[np.unique(y)].max()
        return np.flatnonzero(self._rng.random(len(y)) < chances[y])

    def _copy_columns(
        self, codes: NDArray[Any], n_bins: NDArray[Any], ordered: NDArray[Any], most: int
    ) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Add copies of columns, up to `most` columns; some copies differ in some records."""
        rng, d = self._rng, codes.shape[1]
        one = rng.integers(d) if rng.random() < 0.6 else None
        for _ in range(rng.integers(1, min(6, most - d) + 1)):
            j = rng.integers(codes.shape[1]) if one is None else one
            column = codes[:, j].copy()
            changed = rng.random(len(column)) < rng.choice([0.0, 0.02, 0.1, 0.3])
            column[changed] = rng.permutation(column)[changed]
            codes = np.c_[codes, column]
            n_bins, ordered = np.append(n_bins, n_bins[j]), np.append(ordered, ordered[j])
        return codes, n_bins, ordered

    def _cut_to_shape(
        self,
        shape: Shape,
        codes: NDArray[Any],
        y: NDArray[Any],
        n_bins: NDArray[Any],
        ordered: NDArray[Any],
        n: int,
    ) -> Task:
        """Draw a budget, merge bins as PrivGAM's public rule does, and return a task of a shape.

        The first `n` records are the training records.
        """
        rng, d = self._rng, codes.shape[1]
        ends = shape.scales if rng.random() < 0.9 else (LEAST_SCALE, MOST_SCALE)
        scale = np.exp(rng.uniform(*np.log(ends)))
        # Draw the maximum number of bins near the number of PrivGAM's public rule.
        by_rule = max(rng.choice([4, 6, 8]), BINS_PER_ROOT * np.sqrt(scale))
        by_rule *= np.exp(rng.normal() * 0.2)
        most = max(2, min(shape.bins, int(by_rule)))
        for j in range(d):
            if ordered[j] and n_bins[j] > most:
                codes[:, j] = codes[:, j] * most // n_bins[j]
                n_bins[j] = most
            elif n_bins[j] > shape.bins:
                codes[:, j] = np.minimum(codes[:, j], shape.bins - 1)
                n_bins[j] = shape.bins
            if rng.random() < 0.01:
                codes[:, j] = 0  # a column with a single value
        # In some tasks, a training record stands for several equal records.
        weight = np.exp(rng.uniform(0, 5)) if rng.random() < 0.15 else 1.0
        laplace = rng.random() < 0.3
        sigma = n * weight / (scale * np.sqrt(2.0 * d))
        if laplace and rng.random() < 0.5:
            sigma *= np.sqrt(d)
        # In some tasks, the number of records is only an estimate, as under add-remove.
        guess = np.exp(rng.normal() * 0.3) if rng.random() < 0.3 else 1.0
        return {
            **_padded("t", codes[:n], y[:n], weight, shape.records, shape.columns),
            **_padded("q", codes[n:], y[n:], 1.0, N_QUERIES, shape.columns),
            "nb": _fill(np.ones(shape.columns, np.float32), n_bins),
            "od": _fill(np.zeros(shape.columns, np.float32), ordered),
            "d": np.int32(d),
            "n": np.float32(n * weight * guess),
            "sigma": np.float32(sigma),
            "laplace": np.float32(laplace),
            "scale": np.float32(scale),
        }


def _fill(array: NDArray[Any], values: Any) -> NDArray[Any]:
    array[: len(values)] = values
    return array


def _padded(
    which: str, codes: NDArray[Any], y: NDArray[Any], weight: float, records: int, columns: int
) -> Task:
    """Return codes, labels and weights of records under the keys x, y and w plus `which`.

    The arrays are padded to `records` rows, with the weight 0, and to `columns` columns.
    """
    n, d = codes.shape
    padded = np.zeros((records, columns), np.uint8)
    padded[:n, :d] = codes
    return {
        f"x{which}": padded,
        f"y{which}": _fill(np.zeros(records, np.int32), y),
        f"w{which}": _fill(np.zeros(records, np.float32), np.full(n, weight)),
    }
