"""Privacy-accuracy curves of differentially private classifiers.

``privcurve.learners`` has the classifiers, and ``privcurve.datasets`` the encoded data. `save`,
`load` and `explain` from ``privcurve.models`` write, read and explain a fitted model
(docs/model_file.md). The commands ``privcurve`` and ``snakemake`` do everything else (README.md).
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

# For each public name, its module, which is imported when the name is first used.
_FROM = {
    "explain": "privcurve.models.explain",
    "load": "privcurve.models",
    "save": "privcurve.models",
    "Schema": "privcurve.datasets.public_schema",
    "PrivGAMClassifier": "privcurve.learners",
    "LazyBBClassifier": "privcurve.learners",
    "NoisyBayesClassifier": "privcurve.learners",
    "RandomTreesClassifier": "privcurve.learners",
}
__all__ = [*_FROM]


def __getattr__(name: str) -> Any:
    if name not in _FROM:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_FROM[name]), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
