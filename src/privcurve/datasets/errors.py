"""The one error that this package raises when a dataset can't be had or read."""

from __future__ import annotations


class DatasetError(RuntimeError):
    """A dataset, its description or its file is not as it must be.

    The message names the culprit (dataset, file, line, column) and the way out.
    """
