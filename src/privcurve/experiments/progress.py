"""How far a job is, for a terminal and for a log."""

from __future__ import annotations

import logging
import sys
import time
from typing import Self

logger = logging.getLogger(__name__)


class Progress:
    """Tells how far a job is: as a bar in a terminal, else in the log, every few seconds.

    Parameters
    ----------
    total : int
        Cells to train.
    every : float
        Seconds between two lines of the log.
    """

    def __init__(self, total: int, every: float = 10.0) -> None:
        self._total = total
        self._every = every
        self._done = 0
        self._started = self._last = time.monotonic()
        self._bar = None
        if total and sys.stderr.isatty():
            from tqdm import tqdm

            self._bar = tqdm(total=total, unit="cell", file=sys.stderr)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.close()

    def step(self) -> None:
        """Count one cell."""
        self._done += 1
        if self._bar is not None:
            self._bar.update()
            return
        now = time.monotonic()
        if now - self._last >= self._every and self._done < self._total:
            self._last = now
            left = (now - self._started) / self._done * (self._total - self._done)
            logger.info("%d of %d cells, about %.0f s left", self._done, self._total, left)


def start_log() -> None:
    """Send this process's log to standard error, one plain line an event."""
    logging.basicConfig(
        stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s"
    )
