"""The one error that this package raises when a dataset can't be had or read."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class DatasetError(RuntimeError):
    """A dataset, its description or its file is not as it must be.

    The message names the culprit (dataset, file, line, column) and the way out.
    """


def nearest(word: str, known: Iterable[str]) -> str:
    """Give the end of a sentence: ``"; did you mean 'x'?"``, or ``"."`` if nothing is near.

    Parameters
    ----------
    word : str
        What was written.
    known : iterable of str
        What could have been meant.
    """
    near = difflib.get_close_matches(word, list(known), n=1)
    return f"; did you mean {near[0]!r}?" if near else "."
