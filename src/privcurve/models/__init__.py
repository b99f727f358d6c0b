"""A fitted model as a file: saved, loaded, and used to predict."""

from privcurve.models.document import save
from privcurve.models.errors import ModelError
from privcurve.models.model import Model, load

__all__ = ["Model", "ModelError", "load", "save"]
