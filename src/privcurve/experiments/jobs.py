"""Group the curves of a study into jobs: a job is what one process trains and writes to one file.

A job belongs to one dataset. Several short curves form one job. A longer curve is trained by one
job or by several jobs, each for some of its ε or for a part of the runs at one ε.

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
# This word replaces the method's name in the name of a job of several short curves.
SMALL = "small"
# A curve is short if it takes less than this share of a job's maximum estimated seconds. Short
# curves share a job, because each job takes seconds to start.
SHORT = 0.05
# Number of hexadecimal digits of the digest in a file's name.
DIGITS = 8
# A method's name is cut to this length in a file's name, as file systems allow 255 bytes.
MOST_LETTERS = 150


@dataclass(frozen=True)
class Job:
    """Curves of one study on one dataset, or parts of these curves, that one process trains."""

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
        """The names of the methods that the job trains, one for each of `curves`."""
        return [curve.method.name for curve in self.curves]

    @property
    def runs(self) -> list[tuple[Curve, str]]:
        """The row groups of the job's file, in order: pairs of a curve and one of its `names`."""
        return [(curve, name) for curve in self.curves for name in curve.names]

    @cached_property
    def digests(self) -> dict[str, str]:
        """`Curve.digests` of all curves of the job, in one mapping."""
        return {name: digest for curve in self.curves for name, digest in curve.digests.items()}

    @cached_property
    def part(self) -> str:
        """The job's name among the jobs of its dataset: `words` and a digest of its runs."""
        digest = canonical.digest([*map(list, self.digests.items())])
        return f"{self.words}~{digest[:DIGITS]}"

    @property
    def words(self) -> str:
        """The readable part of the job's name: method, ε and part; `SMALL` for several curves."""
        if len(self.curves) > 1:
            return SMALL
        (curve,) = self.curves
        method = stored(curve.method.name)[:MOST_LETTERS]
        return "~".join(filter(None, (method, curve.epsilon_text, curve.part)))

    @property
    def stage(self) -> int:
        """The earliest stage at which the job can run: it reads only files of jobs of lower stages.

        A job of stage 0 reads no other job's file. A job of stage 1 selects settings by grids that
        other jobs trained. A job of stage 2 uses the selection of another job.
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
        """The file that the job writes; it has one row per run."""
        return CELLS / self.study / f"{self.name}.parquet"

    @property
    def benchmark(self) -> Path:
        """Snakemake's benchmark file of the job."""
        return Path("benchmarks/train") / self.file.relative_to(CELLS).with_suffix(".tsv")

    @property
    def title(self) -> str:
        """Methods, dataset, ε and study, such as ``privgam~proved on adult, ε = 0.3 (study)``."""
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
        """The jobs whose files this job reads, for their grids or their selection of settings."""
        return [Job((source,)) for curve in self.curves for source in curve.reads]

    @property
    def seconds(self) -> float:
        """Estimated seconds of the job's trainings."""
        return sum(curve.seconds for curve in self.curves)

    @property
    def facts(self) -> dict[str, dict[str, Any]]:
        """The metadata of the runs in the job's file, by their name (`Curve.names`).

        The result is empty if the file is missing or damaged, or if its digests differ from
        `digests`.
        """
        facts = {str(fact.get("name")): fact for fact in results.read_facts(self.file) or ()}
        digests = {name: fact.get("digest") for name, fact in facts.items()}
        return facts if [*digests.items()] == [*self.digests.items()] else {}

    @property
    def trained(self) -> Trained:
        """Number of the job's runs and selections of settings, by the code that made them."""
        facts = self.facts
        runs = self.runs if facts else ()
        return provenance.add_up(curve.trained(name, facts[name]) for curve, name in runs)

    @property
    def is_done(self) -> bool:
        """Whether the job's file belongs to the present encoded data, and no training has failed.

        A job that selects settings is not done either if the selection left out settings with
        failed trainings (``left_out``): the job must repeat the selection after these trainings
        are repeated. The data are not compared if the dataset has no encoding, or if a changed
        description requires a new one.
        """
        checksum = coded_facts(self.dataset).get("checksum")
        facts = self.facts.values()
        return bool(facts) and all(
            checksum in (None, fact["checksum"]) and not fact["failed"] and not fact.get("left_out")
            for fact in facts
        )

    def read_grid(self, curve: Curve, columns: list[str], checksum: str | None) -> pd.DataFrame:
        """Return the columns `columns` and `KEY_COLUMNS` of the runs of a curve's grid.

        `checksum` is the checksum of the present encoded data; if None, the data are not compared.
        Raises IncompleteError if the file is missing or damaged, if its runs were trained on other
        data, or if they are not the runs of this grid.
        """
        keys = [name for name in results.KEY_COLUMNS if name not in columns]
        frame = self._read(curve.grid_name, [*columns, *keys], checksum)
        due = [(canonical.number(p.epsilon), p.text, s.fold, s.repeat) for p, s in curve.tasks]
        results.check_complete(frame, due, str(self.file))
        return frame

    def read_fresh(self, curve: Curve, columns: list[str], checksum: str | None) -> pd.DataFrame:
        """Return columns of the fresh trainings of a curve; parameters as in :meth:`read_grid`.

        Raises IncompleteError if the file is missing or damaged, or if its runs were trained on
        other data.
        """
        return self._read(curve.fresh_name, columns, checksum)

    def _read(self, name: str, columns: list[str], checksum: str | None) -> pd.DataFrame:
        self.check(name, checksum)
        return results.read_rows(self.file, list(self.digests).index(name), columns)

    def check(self, name: str, checksum: str | None) -> dict[str, Any]:
        """Return the metadata of the job's file about the runs called `name`: an entry of `facts`.

        Raises IncompleteError if the file has no such entry, or if the checksum of its data differs
        from `checksum`; None skips the comparison.
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
    """Return the job of a study on `dataset` with the name `part` (`Job.part`), or None."""
    of_dataset = replace(study, datasets=(dataset,))
    jobs = group_jobs(curves_of(of_dataset, seed, seconds_per_job, describe))
    # The cheap comparison of `words` goes first: computing the digests of all jobs may take
    # seconds.
    named = (job for job in jobs if part.startswith(f"{job.words}~"))
    return next((job for job in named if job.part == part), None)


class StudyJobs:
    """The jobs of a study, and the only access to the results in their files.

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
        self.curves = {(curve.dataset.name, curve.method.name): curve for curve in all_curves}

    @cached_property
    def jobs(self) -> dict[str, Job]:
        """All jobs, by name."""
        by_dataset: dict[str, list[Curve]] = {}
        for curve in self.curves.values():
            by_dataset.setdefault(curve.dataset.name, []).append(curve)
        return {job.name: job for curves in by_dataset.values() for job in group_jobs(curves)}

    def job_of(self, part: Curve) -> Job:
        """Return the job that trains `part`, a part of a curve."""
        return self._job_by_name[part.names[0]]

    @cached_property
    def _job_by_name(self) -> dict[str, Job]:
        return {name: job for job in self.jobs.values() for _, name in job.runs}

    def jobs_of(self, curves: Iterable[Curve], *, grids: bool = True) -> list[Job]:
        """Return the jobs that train `curves`; without `grids`, only jobs that train results."""
        parts = [part for curve in curves for part in curve.parts]
        wanted = [part for part in parts if grids or part.fresh or not part.selects]
        return list({job.name: job for job in map(self.job_of, wanted)}.values())

    def grid(self, curve: Curve, columns: list[str]) -> Iterator[pd.DataFrame]:
        """Yield the runs of a curve's grid: one frame per job, which limits the memory needed.

        Raises IncompleteError if a file is missing or damaged, or if its runs were trained on other
        data or are not the runs of this grid.
        """
        checksum = curve.checksum
        for part in (part for part in curve.parts if part.grid):
            yield self.job_of(part).read_grid(part, columns, checksum)

    def results(self, curve: Curve, columns: list[str] | None = None) -> Iterator[pd.DataFrame]:
        """Yield the results of a curve, one frame per job, with `columns` (default: all columns).

        The results are the fresh trainings or, if the study does not select settings, all runs.
        Raises IncompleteError as :meth:`grid` does.
        """
        columns = columns or results.SCHEMA.names
        if not curve.selects:
            yield from self.grid(curve, columns)
        checksum = curve.checksum
        for part in (part for part in curve.parts if part.fresh):
            yield self.job_of(part).read_fresh(part, columns, checksum)

    def read_selected(self, curve: Curve) -> list[str]:
        """Return the selected settings of a curve as CSV texts, one per job, by increasing ε.

        Raises IncompleteError if a file is missing or damaged, or if its runs were trained on other
        data.
        """
        first, checksum = [part for part in curve.parts if part.begins], curve.checksum
        facts = [self.job_of(part).check(part.fresh_name, checksum) for part in first]
        return [str(fact["selected"]) for fact in facts]


def group_jobs(curves: Sequence[Curve]) -> Iterator[Job]:
    """Yield the jobs of curves on one dataset: short curves share jobs, other curves do not."""
    short = [curve for curve in curves if curve.seconds < SHORT * curve.most]
    for curve in curves:
        if curve.seconds >= SHORT * curve.most:
            yield from (Job((part,)) for part in curve.parts)
    for group in fill(short, lambda curve: curve.seconds, short[0].most if short else 0):
        yield Job(tuple(part for curve in group for part in curve.parts))
