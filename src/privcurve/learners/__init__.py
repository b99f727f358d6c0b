"""The learners: scikit-learn classifiers with a privacy statement, one file a method.

``from privcurve.learners import LazyBBClassifier`` imports that learner alone.
"""

from __future__ import annotations

from typing import Any

from privcurve.learners.registry import LEARNERS, estimator_class

_NAMES = {entry.path.partition(":")[2]: name for name, entry in LEARNERS.items()}
# Learners of other libraries, which may not be installed, are not exported by a star import.
__all__ = [path for path, name in _NAMES.items() if not LEARNERS[name].requires]


def __getattr__(name: str) -> Any:
    if name not in _NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return estimator_class(_NAMES[name])


def __dir__() -> list[str]:
    return __all__
