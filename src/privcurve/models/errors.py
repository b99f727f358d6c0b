"""The one error of this room."""

from privcurve.errors import ExpectedError


class ModelError(ExpectedError, RuntimeError):
    """A model can't be saved, or a file holds none that can be used.

    The message names the file, what is wrong and the way out.
    """
