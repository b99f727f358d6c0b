"""How the workflow cuts a study into jobs, and where their files are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from privcurve.datasets import Description, describe
from privcurve.experiments import cell
from privcurve.experiments.results import shard_path
from privcurve.experiments.study import Arm, Study

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
        return cell.shard_seconds(self.arm, self.study.folds, shard, self.shards, rows, columns)

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
    return Curve(
        study, dataset, arm, cell.n_shards(arm, study.folds, rows, columns, seconds_per_job)
    )


def curves(study: Study, seconds_per_job: float) -> Iterator[Curve]:
    """Give all curves of a study, dataset by dataset."""
    for name in study.datasets:
        dataset = describe(name)
        for arm in study.arms.values():
            yield curve(study, dataset, arm, seconds_per_job)
