"""Every touch of Snakemake's insides, in one file.

Its scheduler wakes more often with each job that ends (:func:`one_timer`). Seen in Snakemake 9.27:
each pass of the scheduler starts a timer that starts another pass a second later, and so does
the pass that follows the end of a job. Timers only become more: after 200 jobs there are 200
passes and threads a second, after 2,000 the scheduler takes a core of its own
(snakemake/snakemake#3804 shows the threads running out). One waiting timer is enough.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any


class _OneTimer:
    """Starts another pass after a delay, unless one is due by then."""

    def __init__(self, start_pass: Any) -> None:
        self._start_pass = start_pass
        self._lock = threading.Lock()
        self._due: float | None = None

    def schedule(self, delay: float) -> None:
        with self._lock:
            due = time.monotonic() + delay
            if self._due is not None and self._due <= due:
                return
            self._due = due
        timer = threading.Timer(delay, self._fire, (due,))
        timer.daemon = True  # a run that has ended need not wait for it
        timer.start()

    def _fire(self, due: float) -> None:
        with self._lock:
            if self._due == due:
                self._due = None
        self._start_pass()


def one_timer() -> None:
    """Give Snakemake's scheduler one timer; does nothing where Snakemake has no such method."""
    from snakemake.scheduling.job_scheduler import JobScheduler

    if not hasattr(JobScheduler, "_schedule_reevalutation"):
        return

    def schedule(self: Any, delay: float) -> None:
        timer = self.__dict__.setdefault("_one_timer", _OneTimer(self._open_jobs.release))
        timer.schedule(delay)

    JobScheduler._schedule_reevalutation = schedule


def same_python() -> None:
    """Let rules that call ``python -m privcurve.steps.…`` use the Python that runs Snakemake."""
    folder = str(Path(sys.executable).parent)
    os.environ["PATH"] = os.pathsep.join([folder, *os.get_exec_path()])


def before_dag(workflow: Any, check: Callable[[list[str]], None]) -> None:
    """Call a check with the targets of the command line before Snakemake looks at them.

    When the Snakefile is read they are not known yet. Nothing is checked where a job asks on
    behalf of another run.

    Parameters
    ----------
    workflow : snakemake.workflow.Workflow
    check : callable
    """
    prepare = workflow._prepare_dag

    def checked(*arguments: Any, **options: Any) -> Any:
        if workflow.is_main_process and not workflow.dag_settings.target_jobs:
            check(sorted(map(str, workflow.dag_settings.targets or ())))
        return prepare(*arguments, **options)

    workflow._prepare_dag = checked


def jobs_at_once(workflow: Any) -> int:
    """Give how many jobs may run at once: on a cluster more than this machine has cores."""
    in_queue = workflow.nodes or sys.maxsize
    return int(workflow.cores or 1) if in_queue == sys.maxsize else int(in_queue)


def growing(amount: int) -> Callable[[Any, int], int]:
    """Give a resource that grows with the attempts at a job: what ran out, gets more."""
    return lambda wildcards, attempt: attempt * amount


# Snakemake asks input functions before it decides what is to be run. The next two name no file;
# they see to it that a file is made again of which Snakemake's own record would not tell that
# it must be. There is no record where .snakemake was deleted, where results were copied without
# it, and on a cluster of jobs that went on when Snakemake was killed.
# Nothing may be raised there: where an input function fails and the file exists, Snakemake (seen
# in 9.27) takes the file as it is, and has nothing to do. So what can't be judged is made again,
# and its job says what is wrong.


def unless(
    workflow: Any, pattern: str, is_current: Callable[[Path, Any], bool]
) -> Callable[[Any], list[str]]:
    """Give an input function: a file that is there and not current is made again.

    Parameters
    ----------
    workflow : snakemake.workflow.Workflow
    pattern : str
        The file, with wildcards.
    is_current : callable
        Given the file and the wildcards.
    """

    def none(wildcards: Any) -> list[str]:
        path = Path(pattern.format(**dict(wildcards.items())))
        if path.exists() and not _sure(is_current, path, wildcards):
            workflow.dag.forcefiles.add(str(path))
        return []

    return none


def unless_all(
    workflow: Any, paths: Sequence[Path], is_current: Callable[[Path], bool]
) -> Callable[[Any], list[str]]:
    """Give one input function for many files: each that is there and not current is made again.

    Snakemake takes its time over each input of each rule, asked for or not.

    Parameters
    ----------
    workflow : snakemake.workflow.Workflow
    paths : sequence of Path
    is_current : callable
        Given a file.
    """

    def none(wildcards: Any) -> list[str]:
        for path in paths:
            if path.exists() and not _sure(is_current, path):
                workflow.dag.forcefiles.add(str(path))
        return []

    return none


def unless_any(
    workflow: Any, paths: Sequence[Path], is_current: Callable[[], bool]
) -> Callable[[Any], list[str]]:
    """Give one input function for files of one job: if one is there, all of them must be current.

    Parameters
    ----------
    workflow : snakemake.workflow.Workflow
    paths : sequence of Path
    is_current : callable
        Of all of them.
    """

    def none(wildcards: Any) -> list[str]:
        if any(path.exists() for path in paths) and not _sure(is_current):
            workflow.dag.forcefiles.update(map(str, paths))
        return []

    return none


def _sure(is_current: Callable[..., bool], *arguments: Any) -> bool:
    try:
        return is_current(*arguments)
    except Exception:
        logging.getLogger(__name__).debug("made again: %s", arguments, exc_info=True)
        return False


def has_record(workflow: Any, path: Path) -> bool:
    """Whether Snakemake knows what a file was made with."""
    from snakemake.io import IOFile

    return bool(workflow.persistence.metadata(IOFile(str(path))))


def report_what_is_there() -> None:
    """Let a report of a run that has failed in part show what was built, and name the rest.

    Seen in Snakemake 9.27: one missing file that is marked for the report ends it.
    """
    from snakemake import report
    from snakemake.logging import logger

    whole = report.auto_report

    async def of_what_is_there(dag: Any, *arguments: Any, **options: Any) -> Any:
        absent = []
        for job in dag.jobs:
            for path in (*job.output, *job.input):
                if path.flags.get("report") and not Path(path).exists():
                    path.flags.pop("report")
                    absent.append(str(path))
        if absent:
            names = ", ".join(sorted(set(absent)))
            logger.warning(f"Not in the report, for it was not built: {names}")
        return await whole(dag, *arguments, **options)

    report.auto_report = of_what_is_there
