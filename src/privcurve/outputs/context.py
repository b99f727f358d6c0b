"""What an output has at hand when it is made: the one way to what it reads and writes."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from privcurve import datasets
from privcurve.analysis import sweep
from privcurve.analysis.keys import method_of
from privcurve.experiments.curves import CODED, Curve
from privcurve.experiments.jobs import StudyJobs
from privcurve.experiments.study import Study
from privcurve.figures import style
from privcurve.lazy import Figure, pd
from privcurve.outputs.base import OutputRequest, rule_notes
from privcurve.privacy import seeds
from privcurve.privacy.seeds import Seed
from privcurve.tables.table import Table, read_table


@dataclass(frozen=True)
class Context:
    """What an output has at hand when it is made.

    Attributes
    ----------
    request : Asked
    jobs : StudyJobs
        Of its study.
    others : mapping of str to Asked
        The outputs that it reads, by their words or names; those of other studies with the
        study's name and a slash before.
    seed : Seed
        Base seed.
    """

    request: OutputRequest
    jobs: StudyJobs
    others: Mapping[str, OutputRequest]
    seed: Seed

    @property
    def shuffles(self) -> int:
        """The seed of what is random but no noise; a public one is that of the run."""
        return self.seed if isinstance(self.seed, int) else seeds.number(self.seed, "")

    @property
    def study(self) -> Study:
        """The study."""
        return self.request.study

    @property
    def options(self) -> Mapping[str, Any]:
        """The options, with defaults."""
        return self.request.options

    @property
    def curves(self) -> tuple[Curve, ...]:
        """The curves that it reads, in this order."""
        return tuple(self.jobs.curves[pair] for pair in self.request.reads.curves)

    @property
    def is_complete(self) -> bool:
        """Whether no training that it may read has failed."""
        portions = [portion for curve in self.curves for portion in curve.portions]
        jobs = {job.name: job for job in map(self.jobs.of, portions)}
        return all(job.is_done for job in jobs.values())

    def results(self, columns: list[str] | None = None) -> Iterator[pd.DataFrame]:
        """Read the results of the curves, a part at a time; refuses those of something else."""
        for curve in self.curves:
            yield from self.jobs.results(curve, columns)

    def runs(self) -> pd.DataFrame:
        """Read the runs that are results: fresh trainings or, if nothing is selected, all."""
        return pd.concat(list(self.results()), ignore_index=True)

    def described_runs(self) -> pd.DataFrame:
        """Return the runs with a column for whatever tells them apart, and what was measured."""
        return sweep.described(self.runs(), self.arms())

    def arms(self) -> dict[str, dict[str, Any]]:
        """Return of each arm its method, and what tells it from others of that method."""
        return {
            curve.arm.name: {"method": method_of(curve.arm.base), **curve.arm.varied}
            for curve in self.curves
        }

    def selected(self) -> pd.DataFrame:
        """Read the selected settings of the curves; refuses those of something else."""
        return read_table(*(io.StringIO(self.jobs.selected(curve)) for curve in self.curves))

    def cells(self, columns: list[str]) -> Iterator[pd.DataFrame]:
        """Read the grids of the curves, a part at a time."""
        for curve in self.curves:
            yield from self.jobs.grid(curve, columns)

    def data(self, dataset: str) -> datasets.Dataset:
        """Read a coded dataset."""
        return datasets.read(CODED / dataset)

    def data_notes(self) -> tuple[str, ...]:
        """Return what readers must know of the datasets.

        What bounds have cut off, and on which of them a rule's constants were set.
        """
        facts = [datasets.facts(CODED / name) for name in self.request.reads.data]
        notes = [note for one in facts if one for note in datasets.clipping_notes(one)]
        return (*notes, *rule_notes(self.study))

    def table_of(self, word: str) -> pd.DataFrame:
        """Read the table of another output that is read, or what its figure shows."""
        return read_table(self.others[word].files.frames[0])

    def write(self, table: Table) -> None:
        """Write the output's table."""
        table.write(self.request.files.tables[0])

    def draw(self, figure: Figure, frame: pd.DataFrame) -> None:
        """Save the output's figure, with the frame that it was drawn from."""
        style.save(figure, frame, self.request.files.figures[0])
