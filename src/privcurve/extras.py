"""Optional packages: which extra of privcurve installs a package, and whether it is installed."""

from __future__ import annotations

import importlib.util

from privcurve.errors import ExpectedError

# For each module: the name of the package that has it, and the extra of privcurve that installs it.
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
    """Return a message that a package is not installed, with the remedy; None if it is installed.

    `module` is the name to import; the message begins with `user`, the feature that needs it.
    """
    if importlib.util.find_spec(module) is not None:
        return None
    package, extra = EXTRAS[module]
    return f"{user} needs the package {package}: pip install 'privcurve[{extra}]'"


def check(module: str, user: str) -> None:
    """Raise `MissingPackageError` if a package is not installed; the package is not imported."""
    if fault := explain_missing(module, user):
        raise MissingPackageError(fault)
