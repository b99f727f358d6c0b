"""Packages that the library does without, and which extra of privcurve brings each."""

from __future__ import annotations

import importlib.util

# What is imported, what that is called where it is installed, and the extra.
EXTRAS = {
    "diffprivlib": ("diffprivlib", "peers"),
    "distributed": ("distributed", "dask"),
    "interpret": ("interpret-core", "peers"),
    "matplotlib": ("matplotlib", "workflow"),
    "seaborn": ("seaborn", "workflow"),
    "snakemake": ("snakemake", "workflow"),
}


class MissingPackageError(ImportError):
    """A package that is not installed; the message names what needs it, and how to get it."""


def explain_missing(module: str, user: str) -> str | None:
    """Say what is not installed, and how to get it; None if it is there.

    `module` is as it is imported; the message begins with `user`, what needs it.
    """
    if importlib.util.find_spec(module) is not None:
        return None
    package, extra = EXTRAS[module]
    return f"{user} needs the package {package}: pip install 'privcurve[{extra}]'"


def check(module: str, user: str) -> None:
    """Raise `MissingPackageError` if a package is not installed; import nothing."""
    if fault := explain_missing(module, user):
        raise MissingPackageError(fault)
