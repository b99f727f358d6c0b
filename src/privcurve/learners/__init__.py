"""Export the learners: scikit-learn classifiers with a privacy statement, one file per method.

``from privcurve.learners import LazyBBClassifier`` imports only this learner.
"""

from __future__ import annotations

from typing import Any

from privcurve.learners.registry import LEARNERS, estimator_class

_NAMES = {entry.path.partition(":")[2]: name for name, entry in LEARNERS.items()}
# A star import does not export learners of other libraries, which may not be installed.
__all__ = [path for path, name in _NAMES.items() if not LEARNERS[name].requires]


def __getattr__(name: str) -> Any:
    if name not in _NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return estimator_class(_NAMES[name])


def __dir__() -> list[str]:
    return __all__
