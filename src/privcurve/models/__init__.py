"""Save a fitted model to a file, load it, and predict with it."""

from privcurve.models.document import save
from privcurve.models.errors import ModelError
from privcurve.models.model import Model, load

__all__ = ["Model", "ModelError", "load", "save"]
