"""What a fit says beside its model: it is read on screens and in the log files of jobs."""

from __future__ import annotations

import io
import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout


@contextmanager
def overheard(said: list[str]) -> Iterator[None]:
    """Collect what Python code prints, warns of and logs, also in kernels of Python."""
    out, handler, root = io.StringIO(), _Collector(said), logging.getLogger()
    with warnings.catch_warnings(record=True) as warned, redirect_stdout(out), redirect_stderr(out):
        warnings.simplefilter("always")
        root.addHandler(handler)
        try:
            yield
        finally:
            root.removeHandler(handler)
            said += [str(one.message) for one in warned]
            said += [out.getvalue()] if out.getvalue() else []


class _Collector(logging.Handler):
    def __init__(self, said: list[str]) -> None:
        super().__init__()
        self._said = said

    def emit(self, record: logging.LogRecord) -> None:
        self._said.append(record.getMessage())
