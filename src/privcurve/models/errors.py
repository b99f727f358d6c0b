"""The error of models."""

from privcurve.errors import ExpectedError


class ModelError(ExpectedError, RuntimeError):
    """A model can't be saved, or a file contains no usable model.

    The message names the file, the fault and the remedy.
    """
