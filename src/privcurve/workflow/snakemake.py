"""Every touch of Snakemake's insides, in one file.

What is no public interface may change with any version, and a change might not fail but leave a
stale file. So each part is looked at before it is used (:func:`_inside`), and the versions that
are allowed (`TESTED`) are those that the tests have run with.

Its scheduler wakes more often with each job that ends (:func:`one_timer`). Seen in Snakemake 9.27:
each pass of the scheduler starts a timer that starts another pass a second later, and so does
the pass that follows the end of a job. Timers only become more: after 200 jobs there are 200
passes and threads a second, after 2,000 the scheduler takes a core of its own
(snakemake/snakemake#3804 shows the threads running out). One waiting timer is enough.
"""

from __future__ import annotations

import inspect
import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import Any

from privcurve.home import home

# As in pyproject.toml, environment.yml and the Snakefile.
TESTED = "snakemake>=9.27.1,<9.28"


def _inside(owner: Any, name: str, fits: Callable[[Any], bool] = callable) -> Any:
    """Return a part of Snakemake's insides, which must be what the tests have seen."""
    part = getattr(owner, name, None)
    if not fits(part):
        from snakemake.exceptions import WorkflowError

        place = owner.__name__ if isinstance(owner, type | ModuleType) else type(owner).__name__
        raise WorkflowError(
            f"Snakemake {metadata.version('snakemake')} has no {place}.{name} of the kind that "
            f"privcurve was tested with. Install a version that it was: pip install '{TESTED}'"
        )
    return part


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
    """Let Snakemake's scheduler start one timer at a time."""
    from snakemake.scheduling.job_scheduler import JobScheduler

    _inside(JobScheduler, "_schedule_reevalutation", _takes("self", "delay"))

    def schedule(self: Any, delay: float) -> None:
        timer = self.__dict__.setdefault("_one_timer", _OneTimer(self._open_jobs.release))
        timer.schedule(delay)

    JobScheduler._schedule_reevalutation = schedule


def _takes(*names: str) -> Callable[[Any], bool]:
    """Return a test: whether something is a function of these parameters."""
    return lambda part: callable(part) and tuple(inspect.signature(part).parameters) == names


def same_python() -> None:
    """Let rules that call ``python -m …`` use the Python that runs Snakemake."""
    folder = str(Path(sys.executable).parent)
    os.environ["PATH"] = os.pathsep.join([folder, *os.get_exec_path()])


def home_of(rules: Any) -> Path:
    """Return the folder of our Snakefile, whoever includes it or imports it as a module.

    `rules` is the folder of a file of ours that is being read. One that Snakemake reads from a web
    address has no schemas beside it: those of the installed package are taken.
    """
    folder = Path(rules.get_path_or_uri(secret_free=True)).parents[1]
    return folder if (folder / "workflow/schemas").is_dir() else home()


def is_main(workflow: Any) -> bool:
    """Return whether the Snakefile that is being read is that of the run, and no module of it."""
    return bool(_inside(workflow.modifier, "is_main_snakefile")())


def before_dag(
    workflow: Any, check: Callable[[list[str]], None], names: Callable[[], Iterable[str]]
) -> None:
    """Call a check with the targets of the command line before Snakemake looks at them.

    When the Snakefile is read they are not known yet. Nothing is checked where a job asks on behalf
    of another run. Who imports this workflow as a module has targets of his own, and other names
    for ours: of these, the check is given ours under our names, those of `names`.
    """
    prepare = _inside(workflow, "_prepare_dag")
    main, named = is_main(workflow), _inside(workflow.modifier, "modify_rulename")

    def checked(*arguments: Any, **options: Any) -> None:
        _refuse_without_shared_files(workflow)
        if workflow.is_main_process and not workflow.dag_settings.target_jobs:
            targets = sorted(map(str, workflow.dag_settings.targets or ()))
            mine = {named(name): name for name in names()}
            ours = [mine.get(t, t) for t in targets if main or t in mine or "/" in t]
            if ours or not targets:
                check(ours)
        prepare(*arguments, **options)
        # Asked in input functions, where an error would be passed over (see `unless`).
        _inside(workflow.dag, "forcefiles", lambda part: isinstance(part, set))

    workflow._prepare_dag = checked


def _refuse_without_shared_files(workflow: Any) -> None:
    """Refuse to run where jobs do not see the working folder.

    They read and write files there that no rule declares, such as the store: Snakemake would not
    bring them. An executor that goes without says so after the Snakefile was read.
    """
    from snakemake.exceptions import WorkflowError

    usage = {one.name for one in _inside(workflow, "storage_settings", bool).shared_fs_usage}
    if "INPUT_OUTPUT" not in usage:
        raise WorkflowError(
            "privcurve needs a file system that all jobs see, and this executor (or "
            "--shared-fs-usage) goes without one: take another executor, such as slurm "
            "(docs/clusters.md)"
        )


def jobs_at_once(workflow: Any) -> int:
    """Return how many jobs may run at once: on a cluster more than this machine has cores."""
    in_queue = workflow.nodes or sys.maxsize
    return int(workflow.cores or 1) if in_queue == sys.maxsize else int(in_queue)


def growing(amount: int | Callable[[Any], int]) -> Callable[[Any, int], int]:
    """Return a resource that grows with the attempts at a job: what ran out, gets more."""

    def of_attempt(wildcards: Any, attempt: int) -> int:
        return attempt * (amount(wildcards) if callable(amount) else amount)

    return of_attempt


# Snakemake asks input functions before it decides what is to be run. This one returns no files: it
# forces outputs that are stale although Snakemake's own record does not say so, or is lost with
# .snakemake, or was not copied with the results.
# Nothing may be raised there: where an input function fails and the file exists, Snakemake (seen
# in 9.27) takes the file as it is, and has nothing to do. So what can't be judged is made again,
# and its job says what is wrong.


def unless(
    workflow: Any, patterns: Sequence[str], is_current: Callable[[Any], bool]
) -> Callable[[Any], list[str]]:
    """Return an input function: outputs of a job that are there and not current are made again.

    `patterns` are the outputs, with wildcards; given these, `is_current` judges all of them.
    """

    def none(wildcards: Any) -> list[str]:
        named = dict(wildcards.items())
        paths = [pattern.format(**named) for pattern in patterns]
        if any(Path(path).exists() for path in paths) and not _sure(is_current, wildcards):
            workflow.dag.forcefiles.update(paths)
        return []

    return none


def _sure(is_current: Callable[[Any], bool], wildcards: Any) -> bool:
    try:
        return is_current(wildcards)
    except Exception:
        logging.getLogger(__name__).debug("made again: %s", wildcards, exc_info=True)
        return False


def report_what_is_there() -> None:
    """Let a report of a run that has failed in part show what was built, and name the rest.

    Seen in Snakemake 9.27: one missing file that is marked for the report ends it.
    """
    from snakemake import report
    from snakemake.logging import logger

    auto_report = _inside(report, "auto_report", inspect.iscoroutinefunction)

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
        return await auto_report(dag, *arguments, **options)

    report.auto_report = of_what_is_there
