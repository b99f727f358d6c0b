"""A job: parts of a study's curves on one dataset that one process trains, and its one file.

Several short curves make one job: their grids, selections and fresh trainings. A longer curve is a
job of its own, or several: one for some of its ε, or for a part of the runs at one ε.

The file's name has method, ε, and a digest of all that the job depends on, except the data. So a
file that is there fits the study as it is now, unless data have changed or trainings have failed:
the file says so itself (`is_done`), and is then made anew under its second name.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from privcurve.datasets import describe
from privcurve.experiments import canonical, provenance, results
from privcurve.experiments.curves import Curve, CurveData, JobPart, coded_facts, curves_of, fill
from privcurve.experiments.provenance import Trained
from privcurve.experiments.results import IncompleteError
from privcurve.experiments.study import Study
from privcurve.lazy import pd
from privcurve.privacy.seeds import Seed
from privcurve.stored import spoken, stored

CELLS = Path("results/cells")
# Several short curves together.
SMALL = "small"
# A curve that takes less than this share of the longest job is short.
SHORT = 0.05
# Suffix of a file's second name.
AGAIN = "~again"
# Digits of the digest in a file's name.
DIGITS = 8
# Most letters of a method in a file's name, which may have 255.
MOST_LETTERS = 150


@dataclass(frozen=True)
class Job:
    """Parts of curves of one study on one dataset that one process trains."""

    job_parts: tuple[JobPart, ...]

    @property
    def study(self) -> str:
        """The name of the study."""
        return self.job_parts[0].curve.study.name

    @property
    def dataset(self) -> str:
        """The dataset that it trains on."""
        return self.job_parts[0].curve.dataset.name

    @cached_property
    def methods(self) -> list[str]:
        """The methods that it trains."""
        return list(dict.fromkeys(part.curve.method.name for part in self.job_parts))

    @cached_property
    def part(self) -> str:
        """Its name on its dataset: method, ε and part, or `SMALL`; and a digest of its parts."""
        digest = canonical.digest([[part.name, part.digest] for part in self.job_parts])
        return "~".join((*self._words, digest[:DIGITS]))

    @property
    def _words(self) -> list[str]:
        if len(self.methods) > 1:
            return [SMALL]
        first = self.job_parts[0]
        part = first.part if self._is_part else ""
        return [stored(self.methods[0])[:MOST_LETTERS], *filter(None, (first.epsilon_text, part))]

    @property
    def _is_part(self) -> bool:
        """Whether it has only a part of the runs at its ε."""
        first = self.job_parts[0]
        n_parts = len(first.curve.parts_at(first.epsilons))
        return len(self.methods) == 1 and len(self.job_parts) < n_parts

    @property
    def stage(self) -> int:
        """0 if it reads no other job, 1 if it selects from a grid, 2 if it uses a selection."""
        if not self.reads:
            return 0
        return 1 if self.job_parts[0].selects else 2

    @property
    def terms(self) -> dict[str, Any]:
        """What a process needs to find it (:func:`find_job`), beside study and seed: plain JSON."""
        first = self.job_parts[0]
        about = first.curve.dataset
        terms: dict[str, Any] = {"dataset": self.dataset, "methods": self.methods, "job": self.part}
        if len(self.methods) == 1:
            terms["epsilons"] = list(map(canonical.number, first.epsilons))
        if self._is_part:
            terms |= {"part": first.part, "most": first.curve.most}
            terms["records"] = [about.n_rows, about.n_test]
        return terms

    @property
    def name(self) -> str:
        """Its name in the study."""
        return f"{self.dataset}/{self.part}"

    @property
    def file(self) -> Path:
        """The file that it has written, or is to write, with a row per run."""
        names = [name for name in (self.first_file, other_name(self.first_file)) if name.exists()]
        return max(names, key=lambda name: name.stat().st_mtime_ns, default=self.first_file)

    @property
    def first_file(self) -> Path:
        """The first of the two names of its file (:func:`other_name`)."""
        return CELLS / self.study / f"{self.name}.parquet"

    @property
    def benchmark(self) -> Path:
        """Snakemake's benchmark file of the run that wrote its file."""
        return Path("benchmarks/train") / self.file.relative_to(CELLS).with_suffix(".tsv")

    @property
    def title(self) -> str:
        """What it trains, for people: ``privgam~proved on adult, ε = 0.05 … 3 (which_one)``."""
        methods = ", ".join(self.methods[:2])
        n_more = len(self.methods) - 2
        if n_more > 0:
            methods += f" and {n_more} more"
        epsilons = sorted({e for p in self.job_parts for e in p.epsilons if e < math.inf})
        ends = dict.fromkeys(map(canonical.number, (epsilons[:1] + epsilons[-1:])))
        at = f", ε = {' … '.join(ends)}" if ends else ""
        part = f", {self._words[-1].replace('~', ' ')}" if self._is_part else ""
        return f"{methods} on {self.dataset}{at}{part} ({self.study})"

    @property
    def reads(self) -> list[Job]:
        """The jobs whose grid or selection it reads."""
        names = {part.name for part in self.job_parts}
        sources = [source for part in self.job_parts for source in part.reads]
        return [Job((source,)) for source in sources if source.name not in names]

    @property
    def seconds(self) -> float:
        """An estimate of the time that it trains."""
        return sum(part.seconds for part in self.job_parts)

    @property
    def facts(self) -> list[dict[str, Any]] | None:
        """The facts of its file about each of its parts; None if the file does not fit."""
        facts = results.read_facts(self.file)
        names = [[part.name, part.digest] for part in self.job_parts]
        if facts is None or [[fact.get("name"), fact.get("digest")] for fact in facts] != names:
            return None
        return facts

    @property
    def trained(self) -> Trained:
        """Which code has trained the runs of its file, and those that it has selected from."""
        pairs = zip(self.job_parts, self.facts or (), strict=False)
        return provenance.add_up(job_part.trained(fact) for job_part, fact in pairs)

    @property
    def is_done(self) -> bool:
        """Whether its file is of the data as they are coded now, and no training has failed.

        This includes trainings of the grid that was selected from: the grid is trained again, and a
        job of an earlier run may write its selection after that. Data that are not coded, or are
        going to be coded anew, do not matter.
        """
        facts = self.facts
        if facts is None:
            return False
        checksum = coded_facts(self.dataset).get("checksum")
        return all(
            checksum in (None, fact["checksum"]) and not fact["failed"] and not fact.get("left_out")
            for fact in facts
        )

    def read(self, job_part: JobPart, columns: list[str], checksum: str | None) -> pd.DataFrame:
        """Read the rows of a part, if they are of the data with this checksum.

        Raises IncompleteError if the file is missing, damaged, or has other data or runs.
        """
        self.check(job_part, checksum)
        place = next(k for k, part in enumerate(self.job_parts) if part.name == job_part.name)
        if job_part.is_best:
            return results.read_job_part(self.file, place, columns)
        keys = [name for name in results.KEY_COLUMNS if name not in columns]
        frame = results.read_job_part(self.file, place, [*columns, *keys])
        due = [(canonical.number(p.epsilon), p.text, s.fold, s.repeat) for p, s in job_part.tasks]
        results.check_complete(frame, due, str(self.file))
        return frame

    def check(self, job_part: JobPart, checksum: str | None) -> dict[str, Any]:
        """Return the file's facts about a part; refuse them if they are of other data."""
        facts = self.facts
        if facts is None:
            raise results.unusable_file(self.file)
        (fact,) = (fact for fact in facts if fact["name"] == job_part.name)
        if checksum not in (None, fact["checksum"]):
            raise IncompleteError(
                f"{self.file}: {spoken(job_part.name)} was made of other data than are coded now; "
                f"{results.ANEW}"
            )
        return fact


def find_job(
    study: Study,
    about: CurveData,
    seed: Seed,
    methods: Sequence[str],
    epsilons: Sequence[str] = (),
    part: str = "",
    most: float = math.inf,
) -> Job | None:
    """Return the job that these `Job.terms` describe; None if there is no such part."""
    curves = [Curve(study, about, study.methods[name], seed, most) for name in methods]
    at = tuple(map(float, epsilons))
    parts_of = [curve.parts_at(at or tuple(sorted(curve.method.epsilons))) for curve in curves]
    job_parts = [p for parts in parts_of for p in parts if part in ("", p.part)]
    return Job(tuple(job_parts)) if job_parts else None


class StudyJobs:
    """The jobs of a study, and the one way to read what they have written.

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

    def job_of(self, job_part: JobPart) -> Job:
        """Return the job that trains a part."""
        return self._job_by_part[job_part.name]

    @cached_property
    def _job_by_part(self) -> dict[str, Job]:
        return {part.name: job for job in self.jobs.values() for part in job.job_parts}

    def jobs_of(self, job_parts: Iterable[JobPart]) -> list[Job]:
        """Return the jobs that train some parts."""
        return list({job.name: job for job in map(self.job_of, job_parts)}.values())

    def grid(self, curve: Curve, columns: list[str]) -> Iterator[pd.DataFrame]:
        """Read the grid of a curve a part at a time: memory does not grow with the study.

        Raises IncompleteError if a file is missing, damaged, or has other data or runs.
        """
        return self._read(curve, curve.grid, columns)

    def results(self, curve: Curve, columns: list[str] | None = None) -> Iterator[pd.DataFrame]:
        """Read the runs that are a curve's results: fresh trainings, or all, a part at a time.

        Raises IncompleteError as of :meth:`grid`.
        """
        return self._read(curve, curve.results, columns or results.SCHEMA.names)

    def read_selected(self, curve: Curve) -> list[str]:
        """Return the selected settings of a curve: CSV files, the smaller ε first.

        Raises IncompleteError if the file is missing, damaged, or of other data.
        """
        first = [part for part in curve.best if part.place == 0]
        return [str(self.job_of(part).check(part, curve.checksum)["selected"]) for part in first]

    def _read(
        self, curve: Curve, job_parts: list[JobPart], columns: list[str]
    ) -> Iterator[pd.DataFrame]:
        checksum = curve.checksum
        for job_part in job_parts:
            yield self.job_of(job_part).read(job_part, columns, checksum)


def group_jobs(curves: Sequence[Curve]) -> Iterator[Job]:
    """Yield the jobs of curves on one dataset: short curves share one, longer ones do not."""
    short = [curve for curve in curves if curve.seconds < SHORT * curve.most]
    for curve in curves:
        for chunk in curve.chunks if curve not in short else ():
            if sum(part.seconds for part in chunk) <= curve.most:
                yield Job(tuple(chunk))
            else:
                yield from (Job((part,)) for part in chunk)
    for group in fill(short, lambda curve: curve.seconds, short[0].most if short else 0):
        yield Job(tuple(job_part for curve in group for job_part in curve.job_parts))


def other_name(path: Path) -> Path:
    """Return the other one of the two names of a job's file.

    A file that does not fit is made anew under its other name: Snakemake goes by names, so it sees
    a missing file.
    """
    stem = path.stem.removesuffix(AGAIN)
    return path.with_name((stem if stem != path.stem else stem + AGAIN) + path.suffix)
