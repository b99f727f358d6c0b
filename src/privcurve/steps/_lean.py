"""Import scikit-learn without what it loads and a fit of ours does not need.

``import sklearn.base`` takes longer than all else that a training job does before its first fit,
mostly for modules of other packages that scikit-learn names at its top, and uses in functions
that are never called here. While it is imported, stand-ins take their places. Afterwards these
are gone from ``sys.modules``: whoever imports such a module then gets it, and a stand-in that
scikit-learn has kept gives the attributes of the true module, which it imports when it is first
asked. So nothing differs but the time.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

# The first three for `sklearn.utils.fixes`; the others because SciPy writes `from numpy import *`.
PUT_OFF = ("pandas", "scipy.optimize", "scipy.stats", "numpy.f2py", "numpy.testing")


class _StandIn(ModuleType):
    """Has the attributes of the module of its name, which it imports when one is asked for."""

    def __getattr__(self, name: str) -> Any:
        _forget(self)
        return getattr(importlib.import_module(self.__name__), name)


def _forget(stand_in: ModuleType) -> None:
    """Let the next import of a stand-in's name give the true module."""
    name = stand_in.__name__
    if sys.modules.get(name) is stand_in:
        del sys.modules[name]
        parent, _, child = name.rpartition(".")
        if parent:
            vars(sys.modules[parent]).pop(child, None)


class _Finder(MetaPathFinder, Loader):
    """Returns each name a stand-in once: who asks again, needs the true module."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = set(names)
        self.made: list[ModuleType] = []

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname not in self._names:
            return None
        self._names.remove(fullname)
        return ModuleSpec(fullname, self)

    def create_module(self, spec: ModuleSpec) -> None:
        """Leave it to the import system, which must not ask a stand-in for attributes yet."""

    def exec_module(self, module: ModuleType) -> None:
        module.__class__ = _StandIn
        self.made.append(module)


@contextmanager
def put_off(names: Iterable[str]) -> Iterator[None]:
    """Put off the import of modules that are imported in this context till they are used."""
    finder = _Finder(names)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        for stand_in in finder.made:
            _forget(stand_in)


def import_sklearn() -> None:
    """Import what all learners take from scikit-learn, and nothing heavy that it does not use."""
    with put_off(PUT_OFF):
        import sklearn.base
        import sklearn.utils.multiclass
        import sklearn.utils.validation  # noqa: F401
