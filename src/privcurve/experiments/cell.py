"""A cell: one trained and scored model, its id, and the randomness derived from it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from privcurve.experiments import canonical
from privcurve.experiments.study import Arm, Point, Study
from privcurve.learners import registry

TEST = "test"


@dataclass(frozen=True)
class Split:
    """Which rows train and which score.

    Attributes
    ----------
    fold : str
        ``"k/n"`` (fold k of n, from 1), or ``"test"``: the dataset's own test part.
    repeat : int
        0 in the cross-validation that selects; 1, 2, … for fresh trainings.
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
        return 0 if self.repeat == 0 else 1 + (self.repeat - 1) // self.n_folds


def selection_splits(n_folds: int) -> list[Split]:
    """Give the splits of the cross-validation that selects settings."""
    return [Split(f"{k}/{n_folds}", 0) for k in range(1, n_folds + 1)]


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


@dataclass(frozen=True)
class Cell:
    """One point of an arm on one split of one dataset."""

    point: Point
    split: Split
    id: str


class CellIds:
    """Makes the cells of one arm on one dataset.

    Parameters
    ----------
    dataset : str
    checksum : str
        Of the coded dataset.
    arm : Arm
    seed : int
        Base seed of the run.
    """

    def __init__(self, dataset: str, checksum: str, arm: Arm, seed: int) -> None:
        self._common = {
            "dataset": dataset,
            "checksum": checksum,
            "learner": arm.learner,
            "version": registry.entry(arm.learner).version,
            "calibration": arm.calibration,
            "delta": arm.delta,
            "seed": seed,
        }

    def cell(self, point: Point, split: Split) -> Cell:
        """Give the cell of a point on a split."""
        key = {
            **self._common,
            "epsilon": point.epsilon,
            "setting": point.text,
            "fold": split.fold,
            "repeat": split.repeat,
        }
        return Cell(point, split, canonical.digest(key))


def generator(cell: Cell) -> np.random.Generator:
    """Give the random stream of a cell."""
    return np.random.default_rng(np.random.SeedSequence(int(cell.id, 16)))


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


def shard_of(arm: Arm, point: Point, n_shards: int) -> int:
    """Give the shard of a point: by hash, so that a grown grid moves no point.

    Points that share costly work (see ``LearnerEntry.shared``) go to the same shard.
    """
    shared = registry.entry(arm.learner).shared
    setting = {name: point.setting.get(name) for name in shared} if shared else point.text
    key = canonical.digest([point.epsilon, setting])
    return int(key[:16], 16) % n_shards


def shard_points(arm: Arm, shard: int, n_shards: int) -> list[Point]:
    """Give the points of an arm that one shard trains."""
    return _shards(arm, n_shards)[shard]


@cache
def _shards(arm: Arm, n_shards: int) -> list[list[Point]]:
    shards: list[list[Point]] = [[] for _ in range(n_shards)]
    for point in arm.points:
        shards[shard_of(arm, point, n_shards)].append(point)
    return shards


def shard_digest(study: Study, arm: Arm, shard: int, n_shards: int, seed: int) -> str:
    """Give a digest of all that a shard is asked for: the job reruns when it changes."""
    points = shard_points(arm, shard, n_shards)
    return canonical.digest(
        [
            sorted((canonical.number(point.epsilon), point.text) for point in points),
            arm.learner,
            arm.calibration,
            arm.delta,
            study.folds,
            seed,
            registry.entry(arm.learner).version,
        ]
    )


def n_shards(arm: Arm, folds: int, n_rows: int, n_columns: int, seconds_per_job: float) -> int:
    """Give the number of shards of an arm on a dataset: a power of two.

    Follows from the registry's estimate of cost, so that one job trains for about
    `seconds_per_job`. A power of two seldom changes when a grid grows a little.
    """
    cost = registry.entry(arm.learner).cost
    total = sum(cost(setting, n_rows, n_columns) for setting in arm.settings)
    total *= len(arm.epsilons) * folds
    shards = 1
    while shards * seconds_per_job < total and shards < len(arm.points):
        shards *= 2
    return shards
