"""Jobs: what one process trains, namely curves or parts of curves on one dataset, and its file.

Several short curves form one job. A longer curve is one job or several, each for some of its ε or
for a part of the runs at one ε.

The name of a job's file contains the method, ε, and a digest of all that determines the results,
except the data. A file with the name of a job of the present study is therefore valid, unless the
data have changed or trainings have failed. The file's metadata show whether this has happened
(`is_done`); if so, the job runs again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from privcurve.datasets import describe
from privcurve.experiments import canonical, provenance, results
from privcurve.experiments.curves import Curve, CurveData, coded_facts, curves_of, fill
from privcurve.experiments.provenance import Trained
from privcurve.experiments.results import IncompleteError
from privcurve.experiments.study import Study
from privcurve.lazy import pd
from privcurve.privacy.seeds import Seed
from privcurve.stored import spoken, stored

CELLS = Path("results/cells")
# In place of the method's name, for a job of several short curves.
SMALL = "small"
# A curve is short if its estimated seconds are less than this share of the limit of a job.
SHORT = 0.05
# Number of digits of the digest in a file's name.
DIGITS = 8
# Longest method name in a file name (file systems allow 255 bytes).
MOST_LETTERS = 150


@dataclass(frozen=True)
class Job:
    """Curves of one study on one dataset, or parts of them, that one process trains."""

    curves: tuple[Curve, ...]

    @property
    def study(self) -> str:
        """The name of the study."""
        return self.curves[0].study.name

    @property
    def dataset(self) -> str:
        """The name of the dataset."""
        return self.curves[0].dataset.name

    @property
    def methods(self) -> list[str]:
        """The names of the methods that the job trains."""
        return [curve.method.name for curve in self.curves]

    @property
    def runs(self) -> list[tuple[Curve, str]]:
        """Pairs of a curve and the name of its grid or fresh trainings, in the file's order."""
        return [(curve, name) for curve in self.curves for name in curve.names]

    @cached_property
    def digests(self) -> dict[str, str]:
        """By name (`Curve.names`), a digest of everything but the data that determines the runs."""
        return {name: digest for curve in self.curves for name, digest in curve.digests.items()}

    @cached_property
    def part(self) -> str:
        """The job's name within its dataset: `words` and a digest of its runs."""
        digest = canonical.digest([*map(list, self.digests.items())])
        return f"{self.words}~{digest[:DIGITS]}"

    @property
    def words(self) -> str:
        """The readable part of the job's name: method, ε and part, or `SMALL`."""
        if len(self.curves) > 1:
            return SMALL
        (curve,) = self.curves
        method = stored(curve.method.name)[:MOST_LETTERS]
        return "~".join(filter(None, (method, curve.epsilon_text, curve.part)))

    @property
    def stage(self) -> int:
        """0, 1 or 2: a job reads only jobs of lower stages.

        Stage 0 reads no other job, stage 1 selects settings by grids that other jobs trained, and
        stage 2 uses the selection of another job.
        """
        if not self.reads:
            return 0
        return 1 if self.curves[0].chooses else 2

    @property
    def name(self) -> str:
        """The job's name within the study."""
        return f"{self.dataset}/{self.part}"

    @property
    def file(self) -> Path:
        """The file that the job writes, with one row per run."""
        return CELLS / self.study / f"{self.name}.parquet"

    @property
    def benchmark(self) -> Path:
        """Snakemake's benchmark file of the job."""
        return Path("benchmarks/train") / self.file.relative_to(CELLS).with_suffix(".tsv")

    @property
    def title(self) -> str:
        """The job's title for users: ``privgam~proved on adult, ε = 0.05 … 3 (which_one)``."""
        methods = ", ".join(self.methods[:2])
        n_more = len(self.methods) - 2
        if n_more > 0:
            methods += f" and {n_more} more"
        epsilons = sorted({e for c in self.curves for e in c.epsilons if e < math.inf})
        ends = dict.fromkeys(map(canonical.number, (epsilons[:1] + epsilons[-1:])))
        at = f", ε = {' … '.join(ends)}" if ends else ""
        part = f", {word.replace('~', ' ')}" if (word := self.curves[0].part) else ""
        return f"{methods} on {self.dataset}{at}{part} ({self.study})"

    @property
    def reads(self) -> list[Job]:
        """The jobs whose grid or selection this job reads."""
        return [Job((source,)) for curve in self.curves for source in curve.reads]

    @property
    def seconds(self) -> float:
        """Estimated seconds of the job's trainings."""
        return sum(curve.seconds for curve in self.curves)

    @property
    def facts(self) -> dict[str, dict[str, Any]]:
        """What the metadata of the job's file contain on its runs, indexed by `Curve.names`.

        Empty if the file is missing, damaged or was made for other runs.
        """
        facts = {str(fact.get("name")): fact for fact in results.read_facts(self.file) or ()}
        digests = {name: fact.get("digest") for name, fact in facts.items()}
        return facts if [*digests.items()] == [*self.digests.items()] else {}

    @property
    def trained(self) -> Trained:
        """Which code trained the job's runs, and the runs by which settings were selected."""
        facts = self.facts
        runs = self.runs if facts else ()
        return provenance.add_up(curve.trained(name, facts[name]) for curve, name in runs)

    @property
    def is_done(self) -> bool:
        """Whether the job's file is of the present encoded data, and no training has failed.

        Failed trainings of the grid count, too, in a job that selected from it (``left_out``): the
        grid is trained again, and then the selection must be. The data are not compared if they
        have no encoding, or an outdated one.
        """
        checksum = coded_facts(self.dataset).get("checksum")
        facts = self.facts.values()
        return bool(facts) and all(
            checksum in (None, fact["checksum"]) and not fact["failed"] and not fact.get("left_out")
            for fact in facts
        )

    def read_grid(self, curve: Curve, columns: list[str], checksum: str | None) -> pd.DataFrame:
        """Return the runs of a curve's grid; `checksum` is of the present encoded data.

        Raises IncompleteError if the file is missing or damaged, or if its runs were trained on
        other data or are not the runs of this grid. With the checksum None, the data are not
        compared.
        """
        keys = [name for name in results.KEY_COLUMNS if name not in columns]
        frame = self._read(curve.grid_name, [*columns, *keys], checksum)
        due = [(canonical.number(p.epsilon), p.text, s.fold, s.repeat) for p, s in curve.tasks]
        results.check_complete(frame, due, str(self.file))
        return frame

    def read_fresh(self, curve: Curve, columns: list[str], checksum: str | None) -> pd.DataFrame:
        """Return the fresh trainings of a curve; arguments and errors as in :meth:`read_grid`."""
        return self._read(curve.fresh_name, columns, checksum)

    def _read(self, name: str, columns: list[str], checksum: str | None) -> pd.DataFrame:
        self.check(name, checksum)
        return results.read_rows(self.file, list(self.digests).index(name), columns)

    def check(self, name: str, checksum: str | None) -> dict[str, Any]:
        """Return what the file's metadata contain on the runs called `name` (`facts`).

        Raises IncompleteError if the file has no such metadata, or if the runs are of other data.
        """
        fact = self.facts.get(name)
        if fact is None:
            raise results.unusable_file(self.file)
        if checksum not in (None, fact["checksum"]):
            raise IncompleteError(
                f"{self.file}: {spoken(name)} was made from other data than the present encoded "
                f"data; {results.ANEW}"
            )
        return fact


def find_job(
    study: Study, dataset: str, part: str, seed: Seed, seconds_per_job: float
) -> Job | None:
    """Return the job of a study on a dataset that is called `part`, or None."""
    of_dataset = replace(study, datasets=(dataset,))
    jobs = group_jobs(curves_of(of_dataset, seed, seconds_per_job, describe))
    # Only jobs with the same words are compared, as the digests of all jobs may take seconds.
    named = (job for job in jobs if part.startswith(f"{job.words}~"))
    return next((job for job in named if job.part == part), None)


class StudyJobs:
    """The jobs of a study. All code reads the results of jobs through this class.

    `about` returns the description of a dataset by its name.
    """

    def __init__(
        self,
        study: Study,
        seed: Seed,
        seconds_per_job: float,
        about: Callable[[str], CurveData] = describe,
    ) -> None:
        all_curves = curves_of(study, seed, seconds_per_job, about)
        # Keyed by dataset and method, in the study's order.
        self.curves = {(curve.dataset.name, curve.method.name): curve for curve in all_curves}

    @cached_property
    def jobs(self) -> dict[str, Job]:
        """All jobs, by name."""
        by_dataset: dict[str, list[Curve]] = {}
        for curve in self.curves.values():
            by_dataset.setdefault(curve.dataset.name, []).append(curve)
        return {job.name: job for curves in by_dataset.values() for job in group_jobs(curves)}

    def job_of(self, part: Curve) -> Job:
        """Return the job that trains a part of a curve."""
        return self._job_by_name[part.names[0]]

    @cached_property
    def _job_by_name(self) -> dict[str, Job]:
        return {name: job for job in self.jobs.values() for _, name in job.runs}

    def jobs_of(self, curves: Iterable[Curve], *, grids: bool = True) -> list[Job]:
        """Return the jobs of curves; without `grids`, only jobs that train results."""
        parts = [part for curve in curves for part in curve.parts]
        wanted = [part for part in parts if grids or part.fresh or not part.selects]
        return list({job.name: job for job in map(self.job_of, wanted)}.values())

    def grid(self, curve: Curve, columns: list[str]) -> Iterator[pd.DataFrame]:
        """Yield the runs of a curve's grid, job by job, which limits the memory that is needed.

        Raises IncompleteError if a file is missing or damaged, or if its runs were trained on other
        data or are not the runs of this grid.
        """
        checksum = curve.checksum
        for part in (part for part in curve.parts if part.grid):
            yield self.job_of(part).read_grid(part, columns, checksum)

    def results(self, curve: Curve, columns: list[str] | None = None) -> Iterator[pd.DataFrame]:
        """Yield the results of a curve, job by job.

        They are the fresh trainings or, without selection, all runs. Raises IncompleteError as
        :meth:`grid` does.
        """
        columns = columns or results.SCHEMA.names
        if not curve.selects:
            yield from self.grid(curve, columns)
        checksum = curve.checksum
        for part in (part for part in curve.parts if part.fresh):
            yield self.job_of(part).read_fresh(part, columns, checksum)

    def read_selected(self, curve: Curve) -> list[str]:
        """Return the selected settings of a curve as CSV texts, one per job, by increasing ε.

        Raises IncompleteError if a file is missing or damaged, or has runs of other data.
        """
        first, checksum = [part for part in curve.parts if part.begins], curve.checksum
        facts = [self.job_of(part).check(part.fresh_name, checksum) for part in first]
        return [str(fact["selected"]) for fact in facts]


def group_jobs(curves: Sequence[Curve]) -> Iterator[Job]:
    """Yield the jobs of curves on one dataset: short curves share jobs, others have their own."""
    short = [curve for curve in curves if curve.seconds < SHORT * curve.most]
    for curve in curves:
        if curve.seconds >= SHORT * curve.most:
            yield from (Job((part,)) for part in curve.parts)
    for group in fill(short, lambda curve: curve.seconds, short[0].most if short else 0):
        yield Job(tuple(part for curve in group for part in curve.parts))
