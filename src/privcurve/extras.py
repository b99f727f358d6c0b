"""Check whether an optional package is installed, and say which extra of privcurve installs it."""

from __future__ import annotations

import importlib.util

from privcurve.errors import ExpectedError

# For each module, the package that contains it, and the extra of privcurve that installs the
# package.
EXTRAS = {
    "diffprivlib": ("diffprivlib", "peers"),
    "distributed": ("distributed", "dask"),
    "interpret": ("interpret-core", "peers"),
    "matplotlib": ("matplotlib", "workflow"),
    "seaborn": ("seaborn", "workflow"),
    "snakemake": ("snakemake", "workflow"),
}


class MissingPackageError(ExpectedError, ImportError):
    """A package is not installed; the message names the feature that needs it, and the remedy."""


def explain_missing(module: str, user: str) -> str | None:
    """Return a message with a remedy if the package of a module is not installed, else None.

    The message begins with `user`, the feature that needs the module.
    """
    if importlib.util.find_spec(module) is not None:
        return None
    package, extra = EXTRAS[module]
    return f"{user} needs the package {package}: pip install 'privcurve[{extra}]'"


def check(module: str, user: str) -> None:
    """Raise `MissingPackageError` if the package of a module is not installed; do not import it."""
    if fault := explain_missing(module, user):
        raise MissingPackageError(fault)
