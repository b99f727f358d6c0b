"""Provide functions for the Snakefile that use Snakemake's Python interface.

:func:`keep_one_timer` replaces a private method of Snakemake's scheduler, if the method has the
known signature. In Snakemake 9.27 each pass of the scheduler starts a timer, which starts another
pass a second later; the end of a job also starts a pass. The number of timers therefore grows with
the number of finished jobs: after 200 jobs there are 200 passes and threads per second, and after
2,000 jobs the scheduler occupies a core (snakemake/snakemake#3804 shows threads running out). For
600 jobs of 0.3 s on two cores, the scheduler takes 20.8 s of CPU time; with a single timer, 6.0 s.
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

# Keys of the configuration that profiles may set: they affect how jobs run, but not their results.
OF_JOBS = ("seconds_per_job", "local_jobs", "data_mirror")


class _OneTimer:
    """Starts a pass of the scheduler after a delay, unless a pass is due earlier."""

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
        timer.daemon = True  # a daemon, so that the end of a run does not wait for the timer
        timer.start()

    def _start(self, due: float) -> None:
        with self._lock:
            if self._due == due:
                self._due = None
        self._start_pass()


def keep_one_timer() -> None:
    """Make Snakemake's scheduler keep only one timer.

    Does nothing if the scheduler's method does not have the known signature.
    """
    try:
        owner: Any = import_module("snakemake.scheduling.job_scheduler").JobScheduler
        method = owner._schedule_reevalutation
    except (ImportError, AttributeError):
        method = None
    if not callable(method) or [*inspect.signature(method).parameters] != ["self", "delay"]:
        logger.info("the timers of this Snakemake's scheduler are unchanged")
        return

    def schedule(self: Any, delay: float) -> None:
        timer = self.__dict__.setdefault("_one_timer", _OneTimer(self._open_jobs.release))
        timer.schedule(delay)

    owner._schedule_reevalutation = schedule


def use_this_python() -> None:
    """Let rules that call ``python -m …`` use the Python that runs Snakemake.

    On Debian this Python may have only the name python3; then ``python`` would be another program
    or none.
    """
    folder = str(Path(sys.executable).parent)
    os.environ["PATH"] = os.pathsep.join([folder, *os.get_exec_path()])
    if shutil.which("python", path=folder) is None:
        from snakemake.shell import shell

        function = f'python() {{{{ {shlex.quote(sys.executable)} "$@"; }}}}; '
        # The new prefix replaces the default prefix of Snakemake, so that it must set the same
        # shell options.
        shell.prefix("set -euo pipefail; " + function)


def home_of(rules: object) -> Path:
    """Return the folder of this workflow; `rules` is the path of the folder with its rules.

    If the rules come from a web address, the schemas are not next to them; the result is then the
    workflow's folder in the installed package.
    """
    folder = Path(str(rules)).parents[1]
    return folder if (folder / "workflow/schemas").is_dir() else home()


def add_overrides(configuration: dict[str, Any], workflow: Any) -> list[str]:
    """Add keys of a profile or command line to the configuration of a workflow module.

    Snakemake gives a module only the keys under `config:` in the importing workflow. Only the keys
    `OF_JOBS` are added, as other keys of the command line may be meant for the importing workflow.
    The result has a note for each other key of `configuration` that has another value on the
    command line.
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
    """Return the maximum number of jobs that run at once: cores or, on a cluster, queued jobs."""
    in_queue = workflow.nodes or sys.maxsize
    return int(workflow.cores or 1) if in_queue == sys.maxsize else int(in_queue)


def check_shared_files(workflow: Any) -> None:
    """Raise WorkflowError if jobs do not share the working directory.

    Jobs read and write files there that no rule declares, such as the store; Snakemake would not
    transfer these files.
    """
    if "INPUT_OUTPUT" not in {usage.name for usage in workflow.storage_settings.shared_fs_usage}:
        from snakemake.exceptions import WorkflowError

        raise WorkflowError(
            "privcurve needs a file system that all jobs share, and this executor (or "
            "--shared-fs-usage) has none: choose another executor, such as slurm "
            "(docs/clusters.md)"
        )


def check_folder() -> None:
    """Raise WorkflowError if Snakemake's own folder is not writable.

    Without this check, Snakemake would show a traceback.
    """
    folder = Path(".snakemake").resolve()
    if folder.exists() and not os.access(folder, os.W_OK):
        from snakemake.exceptions import WorkflowError

        raise WorkflowError(
            f"{folder}, the folder of Snakemake's records, can't be written: change its "
            "permissions, or remove it. Finished trainings are stored."
        )


def files_or_refusal(
    refusals: Mapping[str, str], target: str, files: list[str]
) -> Callable[[Any], list[str]]:
    """Return an input function for the rule of `target`.

    The function returns `files` or, if `target` is in `refusals`, raises WorkflowError with the
    reason in `refusals`.
    """

    def files_or_error(wildcards: Any) -> list[str]:
        if target in refusals:
            from snakemake.exceptions import WorkflowError

            raise WorkflowError(refusals[target])
        return files

    return files_or_error


def grow_by_attempt(amount: int | Callable[[Any], int]) -> Callable[[Any, int], int]:
    """Return a resource of a rule: `amount` times the number of the job's attempt, from 1.

    `amount` is a number, or a function of the wildcards that returns a number.
    """

    def amount_of_attempt(wildcards: Any, attempt: int) -> int:
        return attempt * (amount(wildcards) if callable(amount) else amount)

    return amount_of_attempt
