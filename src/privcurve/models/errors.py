"""Define the error that saving, loading and explaining a model can raise."""

from privcurve.errors import ExpectedError


class ModelError(ExpectedError, RuntimeError):
    """A model can't be saved, or a file contains no usable model.

    The message names the file, the fault and the remedy.
    """
