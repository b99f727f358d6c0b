"""Stored runs that other code than the present has trained: lines of a run, notes in files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from privcurve.experiments.jobs import Job
from privcurve.experiments.provenance import Stamps, Trained, add_up

# Prefix that tells the lines from others of a log.
MARK = "code: "
REMEDY = (
    "tables and figures note it. --config fresh=true trains these runs again (privcurve compare: "
    "--fresh). If code was only moved or renamed, snakemake stamp accepts them: it trains a sample "
    "again and compares the bits"
)
# What tables and figures refer to.
PAGE = "docs/faults.md"


class OtherCode:
    """What a plan says of runs that other code has trained."""

    def __init__(self, stamps: Stamps) -> None:
        self._stamps = stamps
        self._said: set[str] = set()
        self._unknown: set[str] = set()

    def is_in(self, trained: Trained) -> bool:
        """Return whether other code has trained any of some runs."""
        return bool(self._stamps.count_others(trained))

    def lines(self, jobs: Mapping[str, Iterable[Job]]) -> Iterator[str]:
        """Yield a line for each learner of which studies have runs of other code; each line once.

        A learner with runs whose code is unknown, as an earlier version stored them, has a line
        too. `jobs` are those of each study.
        """
        trained = {name: add_up(job.trained for job in jobs[name]) for name in jobs}
        unknown = self._stamps.count_unknown(add_up(trained.values()))
        self._unknown |= {*unknown}
        lines = [*self._lines_on_others(trained)]
        for learners, n in unknown.items():
            lines.append(
                f"{learners}: {n:,} stored runs do not say which code trained them, as an earlier "
                "privcurve stored them; from now on they count as runs of the present code"
            )
        for line in lines:
            if line not in self._said:
                self._said.add(line)
                yield MARK + line

    def _lines_on_others(self, trained: Mapping[str, Trained]) -> Iterator[str]:
        others = {name: self._stamps.count_others(runs) for name, runs in trained.items()}
        stale = sorted({learners for counts in others.values() for learners in counts})
        for learners in stale:
            places = [
                "{:,} of {:,} stored runs in {}".format(*counts[learners], name)
                for name, counts in others.items()
                if learners in counts
            ]
            why = "were trained by code that has changed since, though the version has not"
            yield f"{learners}: {', '.join(places)} {why}"
        if stale:
            yield REMEDY

    def adopt(self) -> None:
        """Let runs whose code is unknown, as a line has said, count as trained by the present."""
        if self._unknown:
            self._stamps.adopt(self._unknown)
            self._unknown.clear()

    def notes(self, jobs: Iterable[Job], audited: Iterable[Trained]) -> tuple[str, ...]:
        """Return the notes of a file that is made of jobs and of audits."""
        runs = self._stamps.count_others(add_up(job.trained for job in jobs))
        audits = self._stamps.count_others(add_up(audited))
        of_runs = [
            f"Other code: {n:,} of {n_all:,} runs of {learners} were trained by code that has "
            f"changed since, though the version has not: curves may mix both ({PAGE})."
            for learners, (n, n_all) in runs.items()
        ]
        of_audits = [
            f"Other code: {learners} was audited as it was before its code changed ({PAGE})."
            for learners in audits
        ]
        return (*of_runs, *of_audits)
