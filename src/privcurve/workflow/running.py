"""Run a study with one line of progress, by Snakemake or without it; details go to a log."""

from __future__ import annotations

import itertools
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any

from privcurve import extras
from privcurve.datasets import is_current
from privcurve.errors import ExpectedError
from privcurve.experiments.curves import CODED
from privcurve.experiments.provenance import FRESH
from privcurve.progress import Progress
from privcurve.workflow import failures, other_code
from privcurve.workflow.plan import Plan

LOGS = Path("logs")
_DONE = re.compile(r"(\d+) of (\d+) steps \(\d+%\) done")
_MOST_LINES = 15
# Options of processes: all their output comes in one stream of text.
_PIPED: Any = {
    "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True, "errors": "replace"
}  # fmt: skip


class RunError(ExpectedError, RuntimeError):
    """A run that has failed; the message says why, and where all of its log is."""


def run(
    arguments: Sequence[str],
    log: Path,
    *,
    verbose: bool = False,
    quiet: bool = False,
    printed: Collection[str] = (),
) -> None:
    """Run Snakemake in the working folder, with the arguments of its command line.

    Its output goes to `log`; with `verbose` it is shown too, in place of the line of progress on
    standard error; with `quiet` there is no such line. Remarks in `printed` are not
    repeated at the end. Raises `RunError` if it fails.
    """
    extras.check("snakemake", "a study")
    command = [sys.executable, "-P", "-m", "snakemake", *arguments]
    progress, remarks = Progress(), []
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("w", encoding="utf-8") as file, subprocess.Popen(command, **_PIPED) as process:
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
    # Snakemake may say one at its start and at its end.
    new = [line for line in dict.fromkeys(remarks) if line.rstrip("\n") not in printed]
    print(*new, sep="", end="", file=sys.stderr)


def run_jobs(
    plan: Plan, study: str, cores: int, log: Path, *, verbose: bool = False, quiet: bool = False
) -> None:
    """Run the jobs of one study without Snakemake, where it is not installed.

    Jobs run in the order of the rules, up to `cores` at a time. Files that are current are kept.
    The other arguments, and `RunError`, are those of `run`.
    """
    started, progress = time.time(), Progress()
    n_steps = n_done = 0
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("w", encoding="utf-8") as file, ThreadPoolExecutor(cores) as pool:
        for place, phase in enumerate(_plan_phases(plan, study)):
            # Counted again when data have been coded: if anew, more is due.
            n_left = sum(map(len, _plan_phases(plan, study))) if place < 2 else len(phase)
            n_steps = max(n_steps, n_done + n_left)
            for step in pool.map(partial(_run_step, fresh=plan.is_fresh), phase):
                file.write(step.stdout)
                file.flush()
                if step.returncode:
                    pool.shutdown(cancel_futures=True)
                    progress.end()
                    raise RunError(_explain_failure(log))
                n_done += 1
                if verbose:
                    print(step.stdout, end="", flush=True)
                elif not quiet:
                    progress.tell(n_done / n_steps, f"{n_done} of {n_steps} steps")
    progress.end()
    for line in plan.remarks(started):
        print(line, file=sys.stderr)
    plan.code.adopt()


def _plan_phases(plan: Plan, study: str) -> Iterator[list[tuple[str, Mapping[str, Any]]]]:
    """Yield lists of jobs, with arguments, that can run at once after the jobs before."""
    folders = {name: CODED / name for name in plan.studies[study].datasets}
    yield [
        ("prepare", {"dataset": name}) for name, folder in folders.items() if not is_current(folder)
    ]
    yield [("ready", {"study": str(plan.files[study])})]
    for stage in range(3):
        jobs = [job for job in plan.jobs(study).jobs.values() if job.stage == stage]
        # Asked when data have been coded, of which a file may be no longer.
        due = [job for job in jobs if not plan.is_done(job)]
        yield [("train", plan.job_terms(job)) for job in due]
    outputs = {request.key: request for request in plan.study_outputs(study)}
    reads = {
        key: [other.key for other in plan.context(request).others.values()]
        for key, request in outputs.items()
    }
    for request in map(outputs.__getitem__, TopologicalSorter(reads).static_order()):
        if not plan.is_current(request):
            yield [("output", plan.output_terms(request))]


def _run_step(step: tuple[str, Mapping[str, Any]], fresh: bool) -> subprocess.CompletedProcess[str]:
    """Run a job in a process of its own, and return its output."""
    what, terms = step
    command = [sys.executable, "-m", "privcurve.workflow.job", what, json.dumps(terms)]
    environment = {**os.environ, **({FRESH: "1"} if fresh else {})}
    return subprocess.run(command, check=False, env=environment, **_PIPED)


def _explain_failure(log: Path) -> str:
    """Return the errors of jobs from the log, or its last lines."""
    lines = log.read_text("utf-8").splitlines()
    if any("cannot be locked" in line or "LockException" in line for line in lines):
        return (
            "this folder is locked, by another run that makes some of the same files. Wait until "
            "it has ended, and give the same command again. If no other run works here (one was "
            "killed, or the power failed), unlock it: remove the files in .snakemake/locks. What "
            "is trained is kept."
        )
    # An error may have indented lines below it.
    of_error = [False]
    for line in lines:
        of_error.append(line.startswith("error: ") or (of_error[-1] and line.startswith("  ")))
    errors = list(dict.fromkeys(itertools.compress(lines, of_error[1:])))
    tail = errors[-_MOST_LINES:] or [line for line in lines if line.strip()][-_MOST_LINES:]
    return "\n".join(["the run has failed.", *tail, f"All that it said: {log}"])
