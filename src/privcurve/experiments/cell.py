"""A cell: one trained and scored model, its id, and the randomness derived from it."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from privcurve.experiments import canonical
from privcurve.experiments.study import Arm, Finalists, Point, Study
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
        facts = {
            "calibration": arm.calibration,
            "checksum": checksum,
            "dataset": dataset,
            "delta": arm.delta,
        }
        # The key is canonical JSON, put together from parts: a study may have a million cells.
        self._first = canonical.text(facts)[1:-1]
        self._learner = canonical.text({"learner": arm.learner})[1:-1]
        self._seed = canonical.text({"seed": seed})[1:-1]
        self._version = canonical.text({"version": registry.entry(arm.learner).version})[1:-1]

    def cell(self, point: Point, split: Split) -> Cell:
        """Give the cell of a point on a split."""
        (name,) = self.names(point, [split])
        return Cell(point, split, name)

    def names(self, point: Point, splits: Iterable[Split]) -> Iterator[str]:
        """Give the ids of the cells of a point."""
        epsilon, setting = canonical.text(point.epsilon), canonical.text(point.text)
        for split in splits:
            key = (
                f'{{{self._first},"epsilon":{epsilon},"fold":"{split.fold}",{self._learner},'
                f'"repeat":{split.repeat},{self._seed},"setting":{setting},{self._version}}}'
            )
            yield hashlib.sha256(key.encode()).hexdigest()


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
    return shard_key(arm, point) % n_shards


def shard_key(arm: Arm, point: Point) -> int:
    """Give the number whose remainder is the shard of a point."""
    return _key(canonical.text(point.epsilon), _shared(arm, point.setting, point.text))


def key_scheme(arm: Arm) -> str:
    """Name what :func:`shard_key` is made of: keys of different schemes mean nothing together."""
    return canonical.digest(list(registry.entry(arm.learner).shared))[:8]


def _shared(arm: Arm, setting: Mapping[str, Any], text: str) -> str:
    shared = registry.entry(arm.learner).shared
    return canonical.text({name: setting.get(name) for name in shared} if shared else text)


def _key(epsilon: str, shared: str) -> int:
    return int(hashlib.sha256(f"[{epsilon},{shared}]".encode()).hexdigest()[:16], 16)


def shard_points(arm: Arm, shard: int, n_shards: int) -> list[Point]:
    """Give the points of an arm that one shard trains."""
    return _shards(arm, n_shards)[shard]


@cache
def _shards(arm: Arm, n_shards: int) -> list[list[Point]]:
    shards: list[list[Point]] = [[] for _ in range(n_shards)]
    # As shard_of, but each ε and each setting is written once.
    epsilons = [canonical.text(epsilon) for epsilon in arm.epsilons]
    settings = [_shared(arm, p.setting, p.text) for p in arm.points[: len(arm.settings)]]
    for point, parts in zip(arm.points, itertools.product(epsilons, settings), strict=True):
        shards[_key(*parts) % n_shards].append(point)
    return shards


def shard_digest(study: Study, arm: Arm, shard: int, n_shards: int, seed: int) -> str:
    """Give a digest of all that a shard is asked for: the job reruns when it changes."""
    points = shard_points(arm, shard, n_shards)
    epsilons = {point.epsilon: canonical.number(point.epsilon) for point in points}
    return canonical.digest(
        [
            sorted((epsilons[point.epsilon], point.text) for point in points),
            arm.learner,
            arm.calibration,
            arm.delta,
            study.folds,
            seed,
            registry.entry(arm.learner).version,
        ]
    )


def second_round(study: Study, arm: Arm) -> Finalists | None:
    """Give the second round of an arm's selection; a learner without noise needs none."""
    return study.finalists if arm.calibration and len(arm.settings) > 1 else None


def refit_digest(study: Study, arm: Arm, seed: int) -> str:
    """Give a digest of what the selection and the fresh trainings of an arm depend on."""
    second = second_round(study, arm)
    final = f"{second.settings} of {second.draws} " if second else ""
    return f"{study.repeats} {final}{shard_digest(study, arm, 0, 1, seed)}"


def n_refits(study: Study, arm: Arm) -> int:
    """Give how many cells follow the cross-validation at each ε: finalists and fresh ones."""
    second = second_round(study, arm)
    if second is None:
        return study.repeats
    return study.repeats + min(second.settings, len(arm.settings)) * second.draws * study.folds


def n_shards(arm: Arm, folds: int, n_rows: int, n_columns: int, seconds_per_job: float) -> int:
    """Give the number of shards of an arm on a dataset: a power of two.

    Follows from the registry's estimate of cost, so that one job trains for about
    `seconds_per_job`: once to twice of it, since each start costs two seconds. A power of two
    seldom changes when a grid grows a little. There are never more shards than keys.
    """
    cost = registry.entry(arm.learner).cost
    total = sum(cost(setting, n_rows, n_columns) for setting in arm.settings)
    total *= len(arm.epsilons) * folds
    # Points with the same key can't be parted.
    shared = registry.entry(arm.learner).shared
    keys = {tuple(map(s.get, shared)) for s in arm.settings} if shared else arm.settings
    n_keys = len(arm.epsilons) * len(keys)
    shards = 1
    while 2 * shards * seconds_per_job <= total and 2 * shards <= n_keys:
        shards *= 2
    return shards


def shard_seconds(
    arm: Arm, folds: int, shard: int, shards: int, n_rows: int, n_columns: int
) -> float:
    """Give the registry's estimate of what one shard costs: the hash deals unevenly."""
    cost = registry.entry(arm.learner).cost
    points = shard_points(arm, shard, shards)
    return folds * sum(cost(point.setting, n_rows, n_columns) for point in points)
