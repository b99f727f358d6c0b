"""Run Snakemake with one line of progress; what it says itself goes to a log."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

from privcurve.workflow import failed

LOGS = Path("logs")
_DONE = re.compile(r"(\d+) of (\d+) steps \((\d+)%\) done")
_MOST_LINES = 15
# Without a terminal a line is written whenever so much more is done, in per cent.
_STEP = 20


class RunError(RuntimeError):
    """A run that has failed; the message says why, and where all of its log is."""


def run(
    arguments: Sequence[str], log: Path, *, verbose: bool = False, show: TextIO | None = None
) -> None:
    """Run Snakemake in the working folder, with the arguments of its command line.

    `log` takes all that it says; `verbose` shows that too, in place of the line of progress, which
    goes to `show`, by default standard error. Raises `RunError` if it fails.
    """
    command = [sys.executable, "-m", "snakemake", *arguments]
    show = show or sys.stderr
    progress = _Progress(show)
    remarks = []
    log.parent.mkdir(parents=True, exist_ok=True)
    with (
        log.open("w", encoding="utf-8") as file,
        subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
        ) as process,
    ):
        assert process.stdout is not None
        for line in process.stdout:
            file.write(line)
            file.flush()
            if verbose:
                print(line, end="", flush=True)
            elif steps := _DONE.search(line):
                progress.tell(*map(int, steps.groups()))
            elif line.startswith(failed.MARK):
                remarks.append(line)
        progress.end()
    if process.returncode:
        raise RunError(_why(log))
    print(*remarks, sep="", end="", file=show)


class _Progress:
    """One line that is written over, on a terminal; elsewhere a line now and then."""

    def __init__(self, show: TextIO) -> None:
        self._show = show
        self._last = 0
        self._open = False

    def tell(self, done: int, steps: int, percent: int) -> None:
        text = f"{percent} % done ({done} of {steps} steps)"
        if self._show.isatty():
            print(f"\r{text}", end="", file=self._show, flush=True)
            self._open = True
        elif percent >= self._last + _STEP or (percent == 100 and self._last < 100):
            print(text, file=self._show, flush=True)
            self._last = percent

    def end(self) -> None:
        if self._open:
            print(file=self._show)


def _why(log: Path) -> str:
    """Return what jobs said of their failures, or how the log ends."""
    lines = log.read_text("utf-8").splitlines()
    if any("cannot be locked" in line or "LockException" in line for line in lines):
        return (
            "this folder is locked. If no other run works here (one was killed, or the power "
            "failed), unlock it: remove the files in .snakemake/locks. What is trained is kept."
        )
    said = list(dict.fromkeys(line for line in lines if line.startswith("error: ")))
    tail = said[-_MOST_LINES:] or [line for line in lines if line.strip()][-_MOST_LINES:]
    return "\n".join(["the run has failed.", *tail, f"All that it said: {log}"])
