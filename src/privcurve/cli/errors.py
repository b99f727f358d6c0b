"""The one error that a command ends with."""

from __future__ import annotations


class CommandError(RuntimeError):
    """What was asked for can't be done.

    The message names the culprit and the way out; it is all that is shown.
    """
