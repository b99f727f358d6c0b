"""What the Snakefile needs from Snakemake beside rules.

One private method of its scheduler is replaced, if it has the known form (:func:`keep_one_timer`).
In Snakemake 9.27 each pass of the scheduler starts a timer that starts another pass a second later,
and so does the pass that follows the end of a job. Timers only become more: after 200 jobs there
are 200 passes and threads a second, after 2,000 the scheduler takes a core of its own
(snakemake/snakemake#3804 shows the threads running out). With 600 jobs of 0.3 s on two cores it
takes 20.8 s of CPU time, and with one waiting timer 6.0 s.
"""

from __future__ import annotations

import inspect
import logging
import os
import shlex
import shutil
import sys
import threading
import time
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from privcurve.home import home

logger = logging.getLogger(__name__)

# Keys of the configuration that say how jobs run, and change no result: profiles set them.
OF_JOBS = ("seconds_per_job", "local_jobs", "data_mirror")


class _OneTimer:
    """Starts another pass after a delay, unless one is due before."""

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
        timer = threading.Timer(delay, self._start, (due,))
        timer.daemon = True  # a run that has ended need not wait for it
        timer.start()

    def _start(self, due: float) -> None:
        with self._lock:
            if self._due == due:
                self._due = None
        self._start_pass()


def keep_one_timer() -> None:
    """Make Snakemake's scheduler start one timer at a time, if it has the known form."""
    try:
        owner: Any = import_module("snakemake.scheduling.job_scheduler").JobScheduler
        method = owner._schedule_reevalutation
    except (ImportError, AttributeError):
        method = None
    if not callable(method) or [*inspect.signature(method).parameters] != ["self", "delay"]:
        logger.info("the timers of this Snakemake's scheduler are left as they are")
        return

    def schedule(self: Any, delay: float) -> None:
        timer = self.__dict__.setdefault("_one_timer", _OneTimer(self._open_jobs.release))
        timer.schedule(delay)

    owner._schedule_reevalutation = schedule


def use_this_python() -> None:
    """Let rules that call ``python -m …`` use the Python that runs Snakemake.

    It may be called python3 alone, as Debian's is: then ``python`` would be another one, if any.
    """
    folder = str(Path(sys.executable).parent)
    os.environ["PATH"] = os.pathsep.join([folder, *os.get_exec_path()])
    if shutil.which("python", path=folder) is None:
        from snakemake.shell import shell

        function = f'python() {{{{ {shlex.quote(sys.executable)} "$@"; }}}}; '
        shell.prefix("set -euo pipefail; " + function)  # Snakemake's own, which ours replaces


def home_of(rules: object) -> Path:
    """Return the folder of our workflow, by the place of its rules.

    Rules from a web address have no schemas beside them: then the installed package has the folder.
    """
    folder = Path(str(rules)).parents[1]
    return folder if (folder / "workflow/schemas").is_dir() else home()


def add_overrides(configuration: dict[str, Any], workflow: Any) -> list[str]:
    """Add keys of a profile or a command line to the configuration of an imported module.

    Snakemake gives a module only what `config:` of its importer says. The importer may use other
    keys for itself: return a note on each that differs.
    """
    overrides: Mapping[str, Any] = workflow.config_settings.overwrite_config
    configuration.update({key: overrides[key] for key in OF_JOBS if key in overrides})
    return [
        f"{key}: privcurve takes {value!r}, of config: in the module statement, and not "
        f"{overrides[key]!r} of the command line; change config: if that is meant"
        for key, value in configuration.items()
        if key in overrides and overrides[key] != value
    ]


def jobs_at_once(workflow: Any) -> int:
    """Return how many jobs may run at once: on a cluster more than this machine has cores."""
    in_queue = workflow.nodes or sys.maxsize
    return int(workflow.cores or 1) if in_queue == sys.maxsize else int(in_queue)


def check_shared_files(workflow: Any) -> None:
    """Refuse to run if jobs do not share the working folder.

    They read and write files there that no rule declares, such as the store: Snakemake would not
    transfer them.
    """
    if "INPUT_OUTPUT" not in {usage.name for usage in workflow.storage_settings.shared_fs_usage}:
        from snakemake.exceptions import WorkflowError

        raise WorkflowError(
            "privcurve needs a file system that all jobs see, and this executor (or "
            "--shared-fs-usage) goes without one: take another executor, such as slurm "
            "(docs/clusters.md)"
        )


def check_folder() -> None:
    """Refuse to run if Snakemake can't write its own folder: its own message is a traceback."""
    folder = Path(".snakemake").resolve()
    if folder.exists() and not os.access(folder, os.W_OK):
        from snakemake.exceptions import WorkflowError

        raise WorkflowError(
            f"{folder}, where Snakemake keeps what it has done, can't be written: give yourself "
            "the right to, or remove it. What is trained is kept."
        )


def files_or_refusal(
    refusals: Mapping[str, str], target: str, files: list[str]
) -> Callable[[Any], list[str]]:
    """Return an input function: the files of a target, or an error that says why there are none."""

    def files_or_error(wildcards: Any) -> list[str]:
        if target in refusals:
            from snakemake.exceptions import WorkflowError

            raise WorkflowError(refusals[target])
        return files

    return files_or_error


def grow_by_attempt(amount: int | Callable[[Any], int]) -> Callable[[Any, int], int]:
    """Return a resource that grows with the attempts at a job."""

    def amount_of_attempt(wildcards: Any, attempt: int) -> int:
        return attempt * (amount(wildcards) if callable(amount) else amount)

    return amount_of_attempt
