"""Packages that the library does without, and which extra of privcurve brings each."""

from __future__ import annotations

import importlib.util

from privcurve.errors import ExpectedError

# By module: the name of its package, and the extra of privcurve that brings it.
EXTRAS = {
    "diffprivlib": ("diffprivlib", "peers"),
    "distributed": ("distributed", "dask"),
    "interpret": ("interpret-core", "peers"),
    "matplotlib": ("matplotlib", "workflow"),
    "seaborn": ("seaborn", "workflow"),
    "snakemake": ("snakemake", "workflow"),
}


class MissingPackageError(ExpectedError, ImportError):
    """A package that is not installed; the message names what needs it, and how to get it."""


def explain_missing(module: str, user: str) -> str | None:
    """Say that a package is not installed, and how to get it; None if it is installed.

    `module` is the name to import; the message begins with `user`, which needs the package.
    """
    if importlib.util.find_spec(module) is not None:
        return None
    package, extra = EXTRAS[module]
    return f"{user} needs the package {package}: pip install 'privcurve[{extra}]'"


def check(module: str, user: str) -> None:
    """Raise `MissingPackageError` if a package is not installed; import nothing."""
    if fault := explain_missing(module, user):
        raise MissingPackageError(fault)
