"""Keep Snakemake's scheduler from waking more often with each job that ends.

Seen in Snakemake 9.27: each pass of the scheduler starts a timer that starts another pass a
second later, and so does the pass that follows the end of a job. Timers only become more: after
200 jobs there are 200 passes and threads a second, after 2,000 the scheduler takes a core of its
own (snakemake/snakemake#3804 shows the threads running out). One waiting timer is enough.
"""

from __future__ import annotations

import threading
import time
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
