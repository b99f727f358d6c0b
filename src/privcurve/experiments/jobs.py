"""How the workflow cuts a study into jobs, and where their files are."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from privcurve.datasets import Description, describe
from privcurve.experiments import canonical
from privcurve.experiments.results import Key, read_shards, shard_path
from privcurve.experiments.splits import Split, selection_splits
from privcurve.experiments.study import Arm, Finalists, Point, Study
from privcurve.learners import registry


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
    `seconds_per_job`: once to twice of it, since each start costs a second. A power of two
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


CODED = Path("results/data")


STORE = Path("results/store")


@dataclass(frozen=True)
class Curve:
    """An arm of a study on a dataset: some jobs that train shards, and one that refits.

    Attributes
    ----------
    study : Study
    dataset : Description
    arm : Arm
    shards : int
    """

    study: Study
    dataset: Description
    arm: Arm
    shards: int

    @property
    def name(self) -> Path:
        """What its folders are called, under any root."""
        return Path(self.study.name, self.dataset.name, self.arm.name)

    @property
    def folder(self) -> Path:
        """The folder of its cross-validation."""
        return "results/cells" / self.name

    def shard(self, shard: int) -> Path:
        """Give the file of one shard."""
        return shard_path(self.folder, shard, self.shards)

    def seconds(self, shard: int) -> float:
        """Give an estimate of the time that one shard takes."""
        rows, columns = self.dataset.n_rows, len(self.dataset.domain.columns)
        return shard_seconds(self.arm, self.study.folds, shard, self.shards, rows, columns)

    @property
    def refit(self) -> Path:
        """The file of its fresh trainings."""
        return "results/refits" / self.name / "cells.parquet"

    @property
    def benchmarks(self) -> dict[str, list[Path]]:
        """Snakemake's benchmark files of its jobs, by rule."""
        train, refit = Path("benchmarks/train", self.name), Path("benchmarks/refit", self.name)
        shards = [self.shard(shard).stem for shard in range(self.shards)]
        return {
            "train": [train / f"{shard}.tsv" for shard in shards],
            "refit": [refit.with_name(f"{refit.name}.tsv")],
        }


def begun(study: str) -> bool:
    """Whether something of a study was trained below the working directory."""
    return Path("results/cells", study).is_dir()


def curve(study: Study, dataset: Description, arm: Arm, seconds_per_job: float) -> Curve:
    """Cut an arm on a dataset into jobs of about `seconds_per_job`."""
    rows, columns = dataset.n_rows, len(dataset.domain.columns)
    return Curve(study, dataset, arm, n_shards(arm, study.folds, rows, columns, seconds_per_job))


def curves(study: Study, seconds_per_job: float) -> Iterator[Curve]:
    """Give all curves of a study, dataset by dataset."""
    for name in study.datasets:
        dataset = describe(name)
        for arm in study.arms.values():
            yield curve(study, dataset, arm, seconds_per_job)


def expected_keys(tasks: Iterable[tuple[Point, Split]]) -> list[Key]:
    """Give the keys that the rows of some tasks must have."""
    return [
        (canonical.number(point.epsilon), point.text, split.fold, split.repeat)
        for point, split in tasks
    ]


def read_selection(
    asked: tuple[Study, Arm, int],
    checksum: str | None,
    folder: Path,
    shards: int,
    columns: list[str],
) -> Iterator[Any]:
    """Read the cross-validation of an arm on a dataset, as it is asked for now.

    Parameters
    ----------
    asked : (Study, Arm, base seed)
    checksum : str or None
        Of the coded dataset.
    folder : Path
        Of the shards.
    shards : int
        How many there are.
    columns : list of str
        Those to read.

    Yields
    ------
    pandas.DataFrame
        One a shard.

    Raises
    ------
    IncompleteError
        If a shard was made for something else, is damaged, or has other cells than it must.
    """
    study, arm, seed = asked
    splits = selection_splits(study.folds)

    def digest(shard: int) -> str:
        return shard_digest(study, arm, shard, shards, seed)

    def keys(shard: int) -> list[Key]:
        return expected_keys(itertools.product(shard_points(arm, shard, shards), splits))

    return read_shards(folder, shards, columns, digest, checksum, keys)
