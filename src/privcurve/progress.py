"""Show the progress of long work in one line, with an estimate of the remaining time."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from typing import TextIO

# If the output is not a terminal, a line is written after each _STEP per cent of the work.
_STEP = 20
# Seconds before the remaining time is shown: earlier estimates are too rough.
SHORT = 5


class Progress:
    """Shows progress: on a terminal in one line that changes, elsewhere in several lines.

    Lines are written to `show`, by default standard error. `what` follows the percentage, as in "60
    % done". Nothing is written in the first `after` seconds, which `clock` measures.
    """

    def __init__(
        self,
        what: str = "done",
        show: TextIO | None = None,
        after: float = 0.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._what, self._show, self._after = what, show or sys.stderr, after
        self._clock, self._start = clock, clock()
        self._last = 0
        self._width = 0
        self._open = False

    def tell(self, share: float, more: str = "") -> None:
        """Show the finished share of the work, from 0 to 1, with the remark `more`."""
        taken = self._clock() - self._start
        if taken < self._after:
            return
        percent = int(100 * share)
        remarks = "; ".join(filter(None, (more, _time_left(taken, share))))
        text = f"{percent} % {self._what}" + (f" ({remarks})" if remarks else "")
        if self._show.isatty():
            # Pad the line with spaces: it must cover the previous line, which may be longer.
            print(f"\r{text:<{self._width}}", end="", file=self._show, flush=True)
            self._width = len(text)
            self._open = True
        elif percent >= self._last + _STEP or (percent == 100 and self._last < 100):
            print(text, file=self._show, flush=True)
            self._last = percent

    def end(self) -> None:
        """End the line on a terminal."""
        if self._open:
            print(file=self._show)
            self._open = False


def _time_left(taken: float, share: float) -> str:
    """Return the estimated remaining time as text, or an empty text if it is too early for that."""
    if taken < SHORT or not 0 < share < 1:
        return ""
    seconds = math.ceil(taken * (1 - share) / share)
    minutes, rest = divmod(seconds, 60)
    hours, minutes_left = divmod(round(seconds / 60), 60)
    if hours:
        return f"about {hours} h {minutes_left} min left"
    return f"about {round(seconds / 60)} min left" if minutes else f"about {rest} s left"
