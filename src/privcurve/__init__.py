"""Privacy-accuracy curves of differentially private classifiers.

``privcurve.learners`` has the classifiers and ``privcurve.datasets`` the coded data. `save` and
`load`, of ``privcurve.models``, write and read a fitted model (docs/model_file.md). The rest is
asked for by commands: ``privcurve`` and ``snakemake`` (README.md).
"""

from __future__ import annotations

from typing import Any

__version__ = "0.1.0"

_OF_MODELS = ("load", "save")


def __getattr__(name: str) -> Any:
    if name not in _OF_MODELS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from privcurve import models

    return getattr(models, name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_OF_MODELS])
