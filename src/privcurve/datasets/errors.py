"""The one error that this package raises when a dataset can't be had or read."""

from __future__ import annotations

from collections.abc import Sequence


class DatasetError(RuntimeError):
    """A dataset, its description or its file is not as it must be.

    The message names the culprit (dataset, file, line, column) and the way out.

    Attributes
    ----------
    faults : tuple of str
        Each fault by itself, where the message tells of several.
    """

    def __init__(self, message: str, faults: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.faults = tuple(faults) or (message,)
