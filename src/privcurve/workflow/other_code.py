"""Write messages about stored runs that other code than the present code has trained."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress

from privcurve.experiments.jobs import Job
from privcurve.experiments.provenance import SELECTION, Stamps, Trained, add_up
from privcurve.files import WriteError

# Prefix that marks these messages in a log, so that :mod:`.running` finds them.
MARK = "code: "
REMEDY = (
    "tables and figures note it. --config fresh=true trains these runs again (privcurve compare: "
    "--fresh). If code was only moved or renamed, snakemake stamp accepts them: it trains a sample "
    "again and compares the bits"
)
OTHER = "other code than the present, under the same version"
NOT_STORED = (
    "code that an earlier privcurve did not store; from now on they count as runs of the present "
    "code"
)
# Page of the documentation that notes of tables and figures refer to.
PAGE = "docs/faults.md"


class OtherCode:
    """Finds runs of other code, and writes messages about them for the log, tables and figures."""

    def __init__(self, stamps: Stamps) -> None:
        self._stamps = stamps
        self._said: set[str] = set()
        self._unknown: set[str] = set()

    def is_in(self, trained: Trained) -> bool:
        """Return whether other code than the present code made some of the runs in `trained`."""
        return bool(self._stamps.count_others(trained))

    def lines(
        self, jobs: Mapping[str, Iterable[Job]], audits: Iterable[Trained] = ()
    ) -> Iterator[str]:
        """Yield a line for each learner whose runs or audit come from other code.

        A learner with runs of earlier versions, whose code is unknown, gets a line, too. Lines that
        an earlier call has yielded are omitted. `jobs` has the jobs by study; `audits` has the code
        that audits attacked.
        """
        trained = {name: add_up(job.trained for job in jobs[name]) for name in jobs}
        stale_audits = self._stamps.count_others(add_up(audits))
        lines = [
            *self._lines_on_runs(trained),
            *(f"the audit of {learners} comes from {OTHER}" for learners in stale_audits),
        ]
        if lines:
            lines.append(REMEDY)
        unknown = self._stamps.count_unknown(add_up(trained.values()))
        self._unknown |= {*unknown}
        lines += [f"{n:,} {_name(one)} come from {NOT_STORED}" for one, n in unknown.items()]
        for line in lines:
            if line not in self._said:
                self._said.add(line)
                yield MARK + line

    def _lines_on_runs(self, trained: Mapping[str, Trained]) -> Iterator[str]:
        others = {name: self._stamps.count_others(runs) for name, runs in trained.items()}
        for learners in sorted({one for counts in others.values() for one in counts}):
            places = [
                f"{_describe(learners, *counts[learners])} in {name}"
                for name, counts in others.items()
                if learners in counts
            ]
            yield f"{', '.join(places)} come from {OTHER}"

    def adopt(self) -> None:
        """Record that runs of unknown code count as runs of the present code from now on.

        This concerns only runs of learners that :meth:`lines` has named. If the store cannot be
        written, the next run names the learners again.
        """
        if self._unknown:
            with suppress(WriteError):
                self._stamps.adopt(self._unknown)
            self._unknown.clear()

    def notes(self, jobs: Iterable[Job], audited: Iterable[Trained]) -> tuple[str, ...]:
        """Return notes for a table or figure on its runs and audits of other code.

        The table or figure shows runs of `jobs`, and audits of the code in `audited`.
        """
        runs = self._stamps.count_others(add_up(job.trained for job in jobs))
        audits = self._stamps.count_others(add_up(audited))
        than = "other code than the code that made this file, under the same version"
        of_runs = [
            f"Other code: {_describe(learners, n, n_all)} come from {than}: curves may mix both "
            f"({PAGE})."
            for learners, (n, n_all) in runs.items()
        ]
        of_audits = [
            f"Other code: the audit of {one} comes from {than} ({PAGE})." for one in audits
        ]
        return (*of_runs, *of_audits)


def _name(learners: str) -> str:
    return "selections of settings" if learners == SELECTION else f"runs of {learners}"


def _describe(learners: str, n_others: int, n_runs: int) -> str:
    """Return a phrase on runs of other code, such as "3 of 20 runs of lazybb".

    `n_others` of all `n_runs` runs come from other code. `n_others` is 0 if the runs of other code
    only selected settings and are not shown themselves.
    """
    if not n_others:
        return f"runs of {learners} that selected settings"
    return f"{n_others:,} of {n_runs:,} {_name(learners)}"
