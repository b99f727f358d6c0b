"""A job: portions of curves of one study that one process trains, and the one file it writes.

There is one kind. Small curves come together, whole: their grids, what is selected in them, and
the fresh trainings of that. A part of a large grid is a job of its own, and so is the selection
from such a grid, which reads the files of the parts.

The file is named by a digest of all that the job is asked for. So a file that is there was made
for what is asked for now, whatever has happened meanwhile, but for the data and for trainings that
failed: these it says itself (`is_done`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from privcurve.datasets import describe
from privcurve.experiments import canonical, results
from privcurve.experiments.curves import About, Curve, Portion, coded_checksum, curves
from privcurve.experiments.results import IncompleteError
from privcurve.experiments.study import Study
from privcurve.privacy.seeds import Seed

if TYPE_CHECKING:
    import pandas as pd

CELLS = Path("results/cells")
# A shell command has room for 128 KiB, and names each curve twice in at most 255 letters.
MOST_CURVES = 250
# Digits of a digest in the name of a file.
DIGITS = 16


@dataclass(frozen=True)
class Job:
    """Portions of curves of one study that one process trains."""

    portions: tuple[Portion, ...]

    @property
    def study(self) -> str:
        """The name of the study."""
        return self.portions[0].curve.study.name

    @cached_property
    def name(self) -> str:
        """A digest of all that it is asked for, but the data."""
        return canonical.digest([[one.name, one.digest] for one in self.portions])[:DIGITS]

    @cached_property
    def file(self) -> Path:
        """The file that it writes: a row a run."""
        return CELLS / self.study / f"{self.name}.parquet"

    @property
    def benchmark(self) -> Path:
        """Snakemake's benchmark file."""
        return Path("benchmarks/train", self.study, f"{self.name}.tsv")

    @property
    def title(self) -> str:
        """What it trains, for people."""
        first = f"{self.portions[0].name} of {self.study}"
        n_more = len(self.portions) - 1
        return f"{first} and {n_more} more portions" if n_more else first

    @property
    def datasets(self) -> list[str]:
        """The datasets that it trains on."""
        return list(dict.fromkeys(one.curve.dataset.name for one in self.portions))

    @property
    def reads(self) -> list[Path]:
        """The files that its selections read: of grids that other jobs train."""
        mine = {one.name for one in self.portions}
        grids = [part for one in self.portions if one.is_best for part in one.curve.grid]
        return [Job((part,)).file for part in grids if part.name not in mine]

    @property
    def seconds(self) -> float:
        """An estimate of the time that it trains."""
        return sum(one.seconds for one in self.portions)

    @property
    def facts(self) -> list[dict[str, Any]] | None:
        """What its file says of each of its portions; None if it is not there or of others."""
        facts = results.read_facts(self.file)
        names = [[one.name, one.digest] for one in self.portions]
        if facts is None or [[one.get("name"), one.get("digest")] for one in facts] != names:
            return None
        return facts

    @property
    def is_done(self) -> bool:
        """Whether its file is of the data as they are coded now, and no training failed.

        Nor one of the grid that was selected from: the grid is trained again, and a job of an
        earlier run may write its selection after that. Data that are not coded, or are going to
        be coded anew, speak against no file.
        """
        facts = self.facts
        if facts is None:
            return False
        checksums = {name: coded_checksum(name) for name in self.datasets}
        return all(
            checksums[portion.curve.dataset.name] in (None, one["checksum"])
            and not one["failed"]
            and not one.get("left_out")
            for portion, one in zip(self.portions, facts, strict=True)
        )

    def read(self, portion: Portion, columns: list[str], checksum: str | None) -> pd.DataFrame:
        """Read the rows of a portion, if they are of the data with this checksum.

        Raises IncompleteError if the file is missing, damaged, or of other data; or has other runs
        than it must.
        """
        self.check(portion, checksum)
        place = next(k for k, one in enumerate(self.portions) if one.name == portion.name)
        if portion.is_best:
            return results.read_portion(self.file, place, columns)
        keys = [name for name in results.KEY_COLUMNS if name not in columns]
        frame = results.read_portion(self.file, place, [*columns, *keys])
        results.check_complete(frame, results.expected_keys(portion.tasks), str(self.file))
        return frame

    def check(self, portion: Portion, checksum: str | None) -> dict[str, Any]:
        """Return what the file says of a portion; refuse it if it is not of these data."""
        facts = self.facts
        if facts is None:
            raise results.unusable(self.file)
        (one,) = (one for one in facts if one["name"] == portion.name)
        if checksum not in (None, one["checksum"]):
            raise IncompleteError(
                f"{self.file}: {portion.name} was made of other data than are coded now; "
                f"{results.ANEW}"
            )
        return one


class StudyJobs:
    """The jobs of a study, and the one way to read what they have written.

    `about` returns the description of a dataset by its name.
    """

    def __init__(
        self,
        study: Study,
        seed: Seed,
        seconds_per_job: float,
        about: Callable[[str], About] = describe,
    ) -> None:
        all_curves = curves(study, seed, seconds_per_job, about)
        # By dataset and method, in the study's order.
        self.curves = {(one.dataset.name, one.arm.name): one for one in all_curves}
        self._seconds = seconds_per_job

    @cached_property
    def jobs(self) -> dict[str, Job]:
        """All jobs, by name."""
        return {job.name: job for job in together(self.curves.values(), self._seconds)}

    def of(self, portion: Portion) -> Job:
        """Return the job that trains a portion."""
        return self._job_of[portion.name]

    @cached_property
    def _job_of(self) -> dict[str, Job]:
        return {one.name: job for job in self.jobs.values() for one in job.portions}

    def files(self, portions: Iterable[Portion]) -> list[Path]:
        """Return the files that some portions are in."""
        return list(dict.fromkeys(self.of(one).file for one in portions))

    def grid(self, curve: Curve, columns: list[str]) -> Iterator[pd.DataFrame]:
        """Read the grid of a curve a part at a time: memory does not grow with the study.

        Raises IncompleteError if a file is missing, damaged, of other data, or has other runs than
        it must.
        """
        return self._read(curve, curve.grid, columns)

    def results(self, curve: Curve, columns: list[str] | None = None) -> Iterator[pd.DataFrame]:
        """Read the runs that are a curve's results: fresh trainings, or all, a part at a time.

        Raises IncompleteError as of :meth:`grid`.
        """
        return self._read(curve, curve.results, columns or results.SCHEMA.names)

    def selected(self, curve: Curve) -> str:
        """Return the selected settings of a curve, the text of a CSV file.

        Raises IncompleteError if the file is missing, damaged, or of other data.
        """
        return str(self.of(curve.best).check(curve.best, curve.checksum)["selected"])

    def _read(
        self, curve: Curve, portions: list[Portion], columns: list[str]
    ) -> Iterator[pd.DataFrame]:
        checksum = curve.checksum
        for portion in portions:
            yield self.of(portion).read(portion, columns, checksum)


def together(curves: Iterable[Curve], seconds_per_job: float) -> Iterator[Job]:
    """Put curves that are not cut together, in their order, until they take `seconds_per_job`.

    So few jobs read the same data. What is left over at the end joins the job before it.
    """
    groups: list[list[Curve]] = []
    seconds = seconds_per_job
    for curve in curves:
        if curve.n_parts > 1:
            yield from (Job((portion,)) for portion in curve.portions)
            continue
        if seconds >= seconds_per_job or len(groups[-1]) == MOST_CURVES:
            groups.append([])
            seconds = 0.0
        groups[-1].append(curve)
        seconds += curve.seconds
    is_small = len(groups) > 1 and seconds < seconds_per_job
    if is_small and len(groups[-2]) + len(groups[-1]) <= MOST_CURVES:
        groups[-2:] = [groups[-2] + groups[-1]]
    for group in groups:
        yield Job(tuple(portion for curve in group for portion in curve.portions))


def begun(study: str) -> bool:
    """Whether something of a study was trained below the working directory."""
    return (CELLS / study).is_dir()
