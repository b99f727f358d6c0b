"""Run a study with one line of progress, with or without Snakemake; details go to a log."""

from __future__ import annotations

import itertools
import logging
import re
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Collection, Sequence
from contextlib import ExitStack, redirect_stderr, redirect_stdout
from functools import partial
from graphlib import TopologicalSorter
from operator import attrgetter
from pathlib import Path
from typing import Any

from privcurve import extras
from privcurve.datasets import is_current
from privcurve.errors import ExpectedError
from privcurve.experiments.curves import CODED
from privcurve.home import home
from privcurve.progress import Progress
from privcurve.workflow import failures, job, other_code
from privcurve.workflow.plan import Plan

LOGS = Path("logs")
_DONE = re.compile(r"(\d+) of (\d+) steps \(\d+%\) done")
_MOST_LINES = 15


class RunError(ExpectedError, RuntimeError):
    """A run has failed; the message contains the reason and the path of the log."""


def run(
    arguments: Sequence[str],
    log: Path,
    *,
    verbose: bool = False,
    quiet: bool = False,
    printed: Collection[str] = (),
) -> None:
    """Run Snakemake in the working directory with the command-line `arguments`.

    Snakemake's output goes to `log`. The terminal shows one line of progress; with `verbose` it
    shows Snakemake's output instead, and with `quiet` no progress. At the end, remarks on failed
    trainings and on other code are printed, except remarks in `printed`. Raises RunError if
    Snakemake fails.
    """
    extras.check("snakemake", "a study")
    command = [sys.executable, "-P", "-m", "snakemake", *arguments]
    progress, remarks = Progress(), []
    log.parent.mkdir(parents=True, exist_ok=True)
    one_stream: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    with (
        log.open("w", encoding="utf-8") as file,
        subprocess.Popen(command, **one_stream, errors="replace") as process,
    ):
        assert process.stdout is not None
        for line in process.stdout:
            file.write(line)
            file.flush()
            if verbose:
                print(line, end="", flush=True)
            elif steps := _DONE.search(line):
                if not quiet:
                    done, n_steps = map(int, steps.groups())
                    progress.tell(done / n_steps, f"{done} of {n_steps} steps")
            elif line.startswith((failures.MARK, other_code.MARK)):
                remarks.append(line)
        progress.end()
    if process.returncode:
        raise RunError(_explain_failure(log))
    # A remark may occur both at the start and at the end of Snakemake's output, but is printed
    # once.
    new = [line for line in dict.fromkeys(remarks) if line.rstrip("\n") not in printed]
    print(*new, sep="", end="", file=sys.stderr)


def run_here(
    plan: Plan, study: str, log: Path, *, verbose: bool = False, quiet: bool = False
) -> None:
    """Run a study in this process, one job after another, without Snakemake.

    Jobs whose files are current are skipped. `log`, `verbose` and `quiet` are as in :func:`run`. An
    exception of a job is raised as RunError.
    """
    started, progress = time.time(), Progress()
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("w+", encoding="utf-8") as file, ExitStack() as stack:
        handler, logger = logging.StreamHandler(file), logging.getLogger("privcurve")
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
        stack.callback(logger.removeHandler, handler)
        steps = _list_steps(plan, study)
        for place, (is_done, do) in enumerate(steps, 1):
            begun = file.tell()
            try:
                with redirect_stdout(file), redirect_stderr(file):
                    # Each step is checked when its turn comes, as earlier steps may change its
                    # inputs.
                    if not is_done():
                        do()
            except Exception as error:
                expected = isinstance(error, (ExpectedError, OSError))
                file.write(f"{job.explain(error)}\n" if expected else traceback.format_exc())
                file.flush()
                progress.end()
                raise RunError(_explain_failure(log)) from error
            if verbose:
                file.seek(begun)
                print(file.read(), end="", flush=True)
            elif not quiet:
                progress.tell(place / len(steps), f"{place} of {len(steps)} steps")
    progress.end()
    for line in plan.remarks(started):
        print(line, file=sys.stderr)
    plan.code.adopt()


def _list_steps(plan: Plan, study: str) -> list[tuple[Callable[[], bool], Callable[[], None]]]:
    """Return the steps of a study: each step comes after the steps on which it depends.

    A step is a pair of functions: the first returns whether the step is done, the second does it.
    """
    from privcurve.experiments.work import work

    jobs = sorted(plan.jobs(study).jobs.values(), key=attrgetter("stage"))
    outputs = {request.key: request for request in plan.study_outputs(study)}
    reads = {
        key: [other.key for other in plan.context(request).others.values()]
        for key, request in outputs.items()
    }
    in_order = [outputs[key] for key in TopologicalSorter(reads).static_order()]
    run = job.Run(plan.configuration, home())
    names = plan.studies[study].datasets
    return [
        *((partial(is_current, CODED / name), partial(job.prepare, name)) for name in names),
        (bool, partial(job.ready, run, study)),
        *((partial(plan.is_done, one), partial(work, one, fresh=plan.is_fresh)) for one in jobs),
        *((partial(plan.is_current, one), partial(job.make, plan, one)) for one in in_order),
    ]


def _explain_failure(log: Path) -> str:
    """Return a message on a failed run: the errors in the log or, without any, its last lines."""
    lines = log.read_text("utf-8").splitlines()
    if any("cannot be locked" in line or "LockException" in line for line in lines):
        return (
            "this folder is locked, by another run that makes some of the same files. Wait until "
            "it has ended, and give the same command again. If no other run works here (one was "
            "killed, or the power failed), unlock it: remove the files in .snakemake/locks. "
            "Finished trainings are stored."
        )
    # For each line, whether it belongs to an error message, which may continue on indented lines.
    of_error = [False]
    for line in lines:
        of_error.append(line.startswith("error: ") or (of_error[-1] and line.startswith("  ")))
    errors = list(dict.fromkeys(itertools.compress(lines, of_error[1:])))
    tail = errors[-_MOST_LINES:] or [line for line in lines if line.strip()][-_MOST_LINES:]
    return "\n".join(["the run has failed.", *tail, f"Complete log: {log}"])
