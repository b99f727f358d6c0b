"""Which rows train and which score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from privcurve.datasets import Dataset, distinct, stratified_folds
from privcurve.experiments import canonical

TEST = "test"


@dataclass(frozen=True)
class Split:
    """Which rows train and which score.

    Attributes
    ----------
    fold : str
        ``"k/n"`` (fold k of n, from 1), or ``"test"``: the dataset's own test part.
    repeat : int
        0 in the cross-validation that selects; 1, 2, … for fresh trainings; −1, −2, … for
        the finalists of a selection.
    """

    fold: str
    repeat: int

    @property
    def n_folds(self) -> int:
        """Number of folds of the partition."""
        return int(self.fold.partition("/")[2])

    @property
    def fold_number(self) -> int:
        """The fold that scores, from 0."""
        return int(self.fold.partition("/")[0]) - 1

    @property
    def partition(self) -> int:
        """The number of the partition into folds: 0 selects, later ones are fresh."""
        return 0 if self.repeat <= 0 else 1 + (self.repeat - 1) // self.n_folds


def selection_splits(n_folds: int) -> list[Split]:
    """Give the splits of the cross-validation that selects settings."""
    return [Split(f"{k}/{n_folds}", 0) for k in range(1, n_folds + 1)]


def final_splits(n_folds: int, draws: int) -> list[Split]:
    """Give the splits of the finalists: the folds of the selection, once a draw of noise."""
    return [
        Split(split.fold, -draw)
        for draw in range(1, draws + 1)
        for split in selection_splits(n_folds)
    ]


def fresh_splits(n_folds: int, repeats: int, has_test: bool) -> list[Split]:
    """Give the splits of the fresh trainings.

    On a dataset with a test part each repeat trains on all of the training part. On the
    others, repeat r scores one fold of a fresh partition: the first `n_folds` repeats are
    the folds of one new partition, the next ones of another.
    """
    if has_test:
        return [Split(TEST, repeat) for repeat in range(1, repeats + 1)]
    return [
        Split(f"{(repeat - 1) % n_folds + 1}/{n_folds}", repeat) for repeat in range(1, repeats + 1)
    ]


def partition_generator(
    dataset: str, checksum: str, n_folds: int, partition: int, seed: int
) -> np.random.Generator:
    """Give the stream that draws a partition of a dataset into folds."""
    key = {
        "dataset": dataset,
        "checksum": checksum,
        "folds": n_folds,
        "partition": partition,
        "seed": seed,
    }
    return np.random.default_rng(np.random.SeedSequence(int(canonical.digest(key), 16)))


@dataclass(frozen=True)
class Part:
    """Distinct coded rows, their signs, and how many records each stands for."""

    X: Any
    y: Any
    counts: Any


class Splitter:
    """Cuts a dataset into training and scoring parts, remembering partitions.

    Parameters
    ----------
    dataset : Dataset
    seed : int
        Base seed.
    """

    def __init__(self, dataset: Dataset, seed: int) -> None:
        self._dataset = dataset
        self._seed = seed
        self._folds: dict[tuple[int, int], Any] = {}

    def parts(self, split: Split) -> tuple[Part, Part]:
        """Give the training and the scoring part of a split."""
        data = self._dataset
        if split.fold == TEST:
            if data.X_test is None or data.y_test is None:
                raise ValueError(f"{data.name} has no test part")
            return Part(*distinct(data.X, data.y)), Part(*distinct(data.X_test, data.y_test))
        key = (split.n_folds, split.partition)
        if key not in self._folds:
            rng = partition_generator(data.name, data.checksum, *key, self._seed)
            self._folds[key] = stratified_folds(data.y, split.n_folds, rng)
        scored = self._folds[key] == split.fold_number
        return (
            Part(*distinct(data.X[~scored], data.y[~scored])),
            Part(*distinct(data.X[scored], data.y[scored])),
        )
