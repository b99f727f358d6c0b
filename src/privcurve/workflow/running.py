"""Run Snakemake with one line of progress; what it says itself goes to a log."""

from __future__ import annotations

import math
import re
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TextIO

from privcurve.workflow import failed

LOGS = Path("logs")
_DONE = re.compile(r"(\d+) of (\d+) steps \((\d+)%\) done")
_MOST_LINES = 15
# Without a terminal a line is written whenever so much more is done, in per cent.
_STEP = 20
# In seconds: of what takes no longer nobody asks how long it takes.
_SHORT = 5


class RunError(RuntimeError):
    """A run that has failed; the message says why, and where all of its log is."""


def run(
    arguments: Sequence[str],
    log: Path,
    *,
    verbose: bool = False,
    quiet: bool = False,
    show: TextIO | None = None,
) -> None:
    """Run Snakemake in the working folder, with the arguments of its command line.

    `log` takes all that it says; `verbose` shows that too, in place of the line of progress, which
    goes to `show`, by default standard error; `quiet` leaves it out. Raises `RunError` if it fails.
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
                if not quiet:
                    progress.tell(*map(int, steps.groups()))
            elif line.startswith(failed.MARK):
                remarks.append(line)
        progress.end()
    if process.returncode:
        raise RunError(_why(log))
    print(*remarks, sep="", end="", file=show)


class _Progress:
    """One line that is written over, on a terminal; elsewhere a line now and then."""

    def __init__(self, show: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._show, self._clock = show, clock
        self._start = clock()
        self._last = 0
        self._width = 0
        self._open = False

    def tell(self, done: int, steps: int, percent: int) -> None:
        text = f"{percent} % done ({done} of {steps} steps{self._left(done, steps)})"
        if self._show.isatty():
            # What stood there may have been longer.
            print(f"\r{text:<{self._width}}", end="", file=self._show, flush=True)
            self._width = len(text)
            self._open = True
        elif percent >= self._last + _STEP or (percent == 100 and self._last < 100):
            print(text, file=self._show, flush=True)
            self._last = percent

    def _left(self, done: int, steps: int) -> str:
        """Say how long it may take still, as far as it goes on as it went until now."""
        taken = self._clock() - self._start
        if taken < _SHORT or not 0 < done < steps:
            return ""
        seconds = math.ceil(taken * (steps - done) / done)
        minutes, rest = divmod(seconds, 60)
        hours, minutes_left = divmod(round(seconds / 60), 60)
        if hours:
            return f"; about {hours} h {minutes_left} min left"
        return f"; about {round(seconds / 60)} min left" if minutes else f"; about {rest} s left"

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
