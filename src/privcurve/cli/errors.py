"""The one error that a command ends with."""

from __future__ import annotations


class CommandError(RuntimeError):
    """A command that can't be done.

    The message names the culprit and the way out; it is all that is shown.
    """
