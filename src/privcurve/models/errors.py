"""The one error of this room."""

from __future__ import annotations


class ModelError(RuntimeError):
    """A model can't be saved, or a file holds none that can be used.

    The message names the file, what is wrong and the way out.
    """
