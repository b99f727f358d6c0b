"""The error that ends a private fit if a learner accesses exact values; it names the line."""

from __future__ import annotations

import linecache
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from weakref import ReferenceType, ref

import numpy as np

REMEDY = (
    "ask the curator (numbers, choose, signs), or compute with it in a kernel "
    "(privcurve.privacy.sealed.kernel)"
)

# Files of NumPy and of the code that seals arrays. An error names the innermost line outside of
# these files, which is a line of the learner.
_NOT_A_LEARNER = (
    __file__, str(Path(__file__).with_name("sealed.py")), str(Path(np.__file__).parent)
)  # fmt: skip


class SealedError(RuntimeError):
    """A learner accessed exact values; the message names the access, the line and the remedy."""

    def __init__(self, learner: str, what: str, remedy: str = REMEDY, place: str = "") -> None:
        place = place or _line()
        super().__init__(f"{learner}: {place}: {what}: exact values are sealed; {remedy}")
        if isinstance(learner, FitName):
            learner.refused = learner.refused or self


class FitName(str):
    """The name of a learner. Each fit has its own object, to which its sealed values refer."""

    # The first error of the fit, which ends the fit even if the learner catches it.
    refused: RuntimeError | None = None


# A weak reference to the private fit that runs in this thread. Callbacks that an event loop
# registers during the fit keep a copy of this context, and the copies outlive the fit. A strong
# reference in them would look like a sealed value that the fit left behind.
_FIT: ContextVar[ReferenceType[FitName] | None] = ContextVar("fit", default=None)


@contextmanager
def fit_named(name: FitName) -> Iterator[None]:
    """Store `name` as the private fit of this thread, so that :func:`end_fit` can end the fit."""
    token = _FIT.set(ref(name))
    try:
        yield
    finally:
        _FIT.reset(token)


def end_fit(error: RuntimeError) -> None:
    """End the private fit of this thread with an error, even if its learner catches it."""
    running = _FIT.get()
    if running is not None and (fit := running()) is not None:
        fit.refused = fit.refused or error


def _line() -> str:
    """Return the line of the learner that accesses exact values."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_NOT_A_LEARNER):
        frame = frame.f_back
    return name_line(frame.f_code.co_filename, frame.f_lineno)


def name_line(path: str, number: int) -> str:
    """Return the words that name a line of a file in an error: folder, file, number and text."""
    place = "/".join(Path(path).parts[-2:])
    return f"{place}, line {number} ({linecache.getline(path, number).strip()})"
