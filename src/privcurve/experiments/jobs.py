"""How the workflow cuts a study into jobs, and where their files are."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from privcurve.datasets import Domain, check_current, facts
from privcurve.experiments import canonical, results
from privcurve.experiments.arms import Arm, Point
from privcurve.experiments.shards import fit_seconds, n_shards, shard_points, shard_seconds
from privcurve.experiments.splits import Split
from privcurve.experiments.study import ALL, BEST, DEFAULT_METRIC, Finalists, Study
from privcurve.privacy import seeds
from privcurve.privacy.seeds import Seed

if TYPE_CHECKING:
    import pandas as pd

# Where things are, from the working directory.
CODED = Path("results/data")
STORE = Path("results/store")
FAILURES = Path("results/failures")


def coded_checksum(dataset: str) -> str | None:
    """Return the checksum of a coded dataset; None if there is none that can be read.

    None too where it was coded from another description: it is going to be coded anew.
    """
    try:
        found = facts(CODED / dataset)
    except ValueError:
        return None
    return None if found is None else str(found["checksum"])


def raw_checksums(dataset: str) -> dict[str, str] | None:
    """Return the checksums of the raw files that a dataset was coded from; None as above."""
    try:
        found = facts(CODED / dataset)
    except ValueError:
        return None
    return None if found is None else dict(found["sources"])


def _digest(study: Study, arm: Arm, seed: Seed, shard: int = 0, shards: int = 1) -> str:
    """Return a digest of what a shard is asked for; on each dataset it is the same.

    What a study need not say stands in it only where it says something else.
    """
    runs = study.repeats if study.select == ALL and not study.holdout else None
    holdouts = (study.holdout, study.repeats) if study.holdout else None
    return _digest_of(arm, study.folds, holdouts, runs, seeds.named(seed), shard, shards)


@cache
def _digest_of(
    arm: Arm,
    folds: int,
    holdouts: tuple[float, int] | None,
    runs: int | None,
    seed: int | str,
    shard: int,
    shards: int,
) -> str:
    points = shard_points(arm, shard, shards)
    epsilons = {epsilon: canonical.number(epsilon) for epsilon in arm.epsilons}
    more = {
        "neighbours": arm.neighbours,
        "train_share": None if arm.train_share == 1 else arm.train_share,
        "holdouts": holdouts,
        "runs": runs,
    }
    more = {word: value for word, value in more.items() if value is not None}
    return canonical.digest_of_texts(
        sorted((epsilons[point.epsilon], point.text) for point in points),
        arm.learner,
        arm.calibration,
        arm.delta,
        folds,
        seed,
        arm.version,
        *([more] if more else []),
    )


class About(Protocol):
    """What a curve knows of its dataset: a description, or facts of the coded data."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def domain(self) -> Domain:
        """What is public."""

    @property
    def n_rows(self) -> int:
        """Training records."""

    @property
    def n_test(self) -> int:
        """Records of the test part."""


@dataclass(frozen=True)
class Curve:
    """An arm of a study on a dataset: some jobs that train shards, and one that refits.

    All that is known of them without a look at their results, and the one way to read these.
    Where all settings are results there is no refit; where a lone setting need not be
    selected there are no shards.

    Attributes
    ----------
    study : Study
    dataset : About
    arm : Arm
    shards : int
    seed : Seed
        Base seed of the run.
    bundle : str
        The job that a small one shares with others, ``bundle~k``; empty where its jobs are
        its own.
    """

    study: Study
    dataset: About
    arm: Arm
    shards: int
    seed: Seed
    bundle: str = ""

    @cached_property
    def name(self) -> Path:
        """What its folders are called, under any root."""
        return Path(self.study.name, self.dataset.name, self.arm.name)

    # Files

    @property
    def data(self) -> Path:
        """The folder of its coded dataset."""
        return CODED / self.dataset.name

    @cached_property
    def folder(self) -> Path:
        """The folder of its cross-validation."""
        return "results/cells" / self.name

    def shard(self, shard: int) -> Path:
        """Return the file of one shard."""
        return results.shard_path(self.folder, shard, self.shards)

    @property
    def selects(self) -> bool:
        """Whether a setting is selected and trained afresh; else every setting is a result."""
        return self.study.select == BEST

    @property
    def files(self) -> list[Path]:
        """The files of cells that its jobs write."""
        return [*map(self.shard, self.shard_numbers), *([self.refit] if self.selects else [])]

    @property
    def runs(self) -> list[Path]:
        """Those of them whose rows are its results: fresh trainings, or all."""
        return [self.refit] if self.selects else self.files

    @cached_property
    def refit(self) -> Path:
        """The file of its fresh trainings, if it selects."""
        return "results/refits" / self.name / "cells.parquet"

    @property
    def selected(self) -> Path:
        """The file of its selected settings, if it selects."""
        return self.refit.with_name("selected.csv")

    def failures(self, shard: int | None = None) -> Path:
        """Return the file that counts the failed attempts at a shard; by default, at the refit."""
        ending = "" if shard is None else f"~{self.shard(shard).stem}"
        name = f"{self.arm.name}{ending}.json"
        return FAILURES / self.study.name / self.dataset.name / name

    @property
    def benchmarks(self) -> dict[str, list[Path]]:
        """Snakemake's benchmark files of its jobs, by rule; those of a bundle are all of it."""
        if self.bundle:
            return {"train": [Path("benchmarks/train", self.study.name, f"{self.bundle}.tsv")]}
        train = Path("benchmarks/train", self.name)
        return {
            "train": [train / f"{self.shard(k).stem}.tsv" for k in self.shard_numbers],
            "refit": [Path(f"benchmarks/refit/{self.name}.tsv")] if self.selects else [],
        }

    # What is asked for

    def points(self, shard: int) -> list[Point]:
        """Return the points that a shard trains."""
        return shard_points(self.arm, shard, self.shards)

    @cached_property
    def shard_numbers(self) -> list[int]:
        """The shards that train something: of few points a hash may leave one empty."""
        return [shard for shard in range(self.shards) if self.points(shard)]

    @property
    def splits(self) -> list[Split]:
        """The splits that each point of a shard is trained on."""
        if self.selects:
            return self.study.selection_splits
        return self.study.fresh_splits(self.dataset.n_test > 0)

    def tasks(self, shard: int) -> list[tuple[Point, Split]]:
        """Return the cells that a shard trains, as points and splits."""
        return list(itertools.product(self.points(shard), self.splits))

    @property
    def finalists(self) -> Finalists | None:
        """The second round of its selection; a learner without noise needs none."""
        return self.study.finalists if self.arm.calibration and len(self.arm.settings) > 1 else None

    @property
    def final_splits(self) -> list[Split]:
        """The splits of the second round; none without one."""
        second = self.finalists
        return self.study.final_splits(second.draws) if second else []

    def fresh_splits(self, has_test: bool) -> list[Split]:
        """Return the splits of the fresh trainings."""
        return self.study.fresh_splits(has_test)

    @property
    def n_refits(self) -> int:
        """How many cells follow the cross-validation at each ε: finalists and fresh ones."""
        if not self.selects:
            return 0
        second = self.finalists
        n_finalists = min(second.settings, len(self.arm.settings)) if second else 0
        return self.study.repeats + n_finalists * len(self.final_splits)

    def shard_digest(self, shard: int) -> str:
        """Return a digest of all that a shard is asked for: the job reruns when it changes."""
        return _digest(self.study, self.arm, self.seed, shard, self.shards)

    @cached_property
    def refit_digest(self) -> str:
        """A digest of what the selection and the fresh trainings depend on."""
        study, second = self.study, self.finalists
        final = f"{second.settings} of {second.draws} " if second else ""
        metric = "" if study.metric == DEFAULT_METRIC else f"by {study.metric} "
        whole = _digest(study, self.arm, self.seed)
        return f"{study.repeats} {final}{metric}{whole}"

    @property
    def shape(self) -> tuple[int, int, int]:
        """About how many rows a fit takes, how many columns and classes: for estimates of cost."""
        rows = round(self.dataset.n_rows * self.arm.train_share)
        domain = self.dataset.domain
        return max(1, rows), len(domain.columns), domain.n_classes

    def seconds(self, shard: int) -> float:
        """Return an estimate of the time that one shard takes."""
        return shard_seconds(self.arm, len(self.splits), shard, self.shards, *self.shape)

    @cached_property
    def work(self) -> float:
        """An estimate of the seconds that all of its jobs train."""
        each = fit_seconds(self.arm, *self.shape)
        selection = sum(each) * len(self.splits) if self.shards else 0.0
        return len(self.arm.epsilons) * (selection + self.n_refits * sum(each) / len(each))

    # Results
    @property
    def checksum(self) -> str | None:
        """Of the coded dataset as it is now; None if there is none.

        Raises
        ------
        DatasetError
            If it was coded from another description than there is now.
        """
        check_current(self.data)
        found = facts(self.data)
        return None if found is None else found["checksum"]

    def selection(self, columns: list[str]) -> Iterator[pd.DataFrame]:
        """Read the cross-validation, as it is asked for now.

        Parameters
        ----------
        columns : list of str
            Those to read.

        Yields
        ------
        DataFrame
            One a shard: memory does not grow with the study.

        Raises
        ------
        IncompleteError
            If a shard was made for something else, is damaged, or has other cells than it must.
        """
        return results.read_shards(
            self.shard,
            self.shard_numbers,
            columns,
            self.shard_digest,
            self.checksum,
            lambda shard: results.expected_keys(self.tasks(shard)),
        )

    def check_results(self) -> None:
        """Refuse results that are not of what is asked for now, or are not complete.

        Raises
        ------
        IncompleteError
            Naming the file.
        """
        if self.selects:
            results.check_current(self.refit, self.refit_digest, self.checksum)
            return
        for _ in self.selection([]):
            pass

    def results(self, columns: list[str] | None = None) -> Iterator[pd.DataFrame]:
        """Read the runs that are its results, as they are asked for now.

        Parameters
        ----------
        columns : list of str, optional
            Those to read; all by default.

        Yields
        ------
        DataFrame
            The fresh trainings of what was selected; or, one a shard, all runs.

        Raises
        ------
        IncompleteError
            If a file was made for something else, is damaged, or has other cells than it must.
        """
        if self.selects:
            yield read_results([self], columns)
        else:
            yield from self.selection(columns or results.SCHEMA.names)


def read_results(curves: Sequence[Curve], columns: list[str] | None = None) -> pd.DataFrame:
    """Read the runs that are the results of some curves, as they are asked for now.

    Parameters
    ----------
    curves : sequence of Curve
    columns : list of str, optional
        Those to read; all by default.

    Returns
    -------
    DataFrame
        In the order of `curves`: fresh trainings of what was selected, or all runs.

    Raises
    ------
    IncompleteError
        If a file was made for something else, or is damaged.
    """
    for curve in curves:
        curve.check_results()
    frame: pd.DataFrame = results.read_cells([p for one in curves for p in one.runs], columns)
    return frame


def begun(study: str) -> bool:
    """Whether something of a study was trained below the working directory."""
    return any(Path("results", part, study).is_dir() for part in ("cells", "refits"))


def curve(study: Study, dataset: About, arm: Arm, seed: Seed, seconds_per_job: float) -> Curve:
    """Cut an arm on a dataset into jobs of about `seconds_per_job`."""
    whole = Curve(study, dataset, arm, 1, seed)
    if is_lone(study, arm):
        return replace(whole, shards=0)
    shards = n_shards(arm, len(whole.splits), *whole.shape, seconds_per_job=seconds_per_job)
    return replace(whole, shards=shards)


def is_lone(study: Study, arm: Arm) -> bool:
    """Whether an arm has one setting that is taken as selected: hold-outs say so.

    A study with folds has its cross-validated accuracy in its tables, of lone settings too.
    """
    return study.select == BEST and bool(study.holdout) and len(arm.settings) == 1
