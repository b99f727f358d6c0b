"""How loops are compiled: by Numba, once a machine, and kept on disk for every later process.

Numba numbers the files that it keeps of a function. Two processes that compile a function for
different arguments at the same time may give both the same number, and a later one then calls the
machine code of other arguments: an error at best, a wrong number at worst. Here the name of a file
follows from the arguments, the processor and the function's own code.

Two classes below are no public part of Numba, so pyproject.toml allows no version that is newer
than what is tested (`.ci/versions newest`).

What is kept is used while the function's file, those of the compiled functions that it calls, and
the numbers that it takes from elsewhere are what they were. (Numba looks at the first alone.)
"""

from __future__ import annotations

import hashlib
import pickle
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

from numba import njit
from numba.core.caching import FunctionCache, IndexDataCacheFile


class _Files(IndexDataCacheFile):
    """The files of a function, each by a name of its own."""

    def save(self, key: Any, data: Any) -> None:
        # Data of older code may refer to functions that are gone, so unpack only after comparing
        # stamps.
        self._save_data(self._name_of(key), (self._version, self._source_stamp, self._dump(data)))

    def load(self, key: Any) -> Any:
        try:
            version, stamp, packed = self._load_data(self._name_of(key))
            is_current = (version, stamp) == (self._version, self._source_stamp)
            return pickle.loads(packed) if is_current else None
        except (OSError, EOFError, ValueError, TypeError, pickle.UnpicklingError):
            return None  # there is none, or one that was cut off: it is compiled

    def _name_of(self, key: Any) -> str:
        digest = hashlib.sha256(repr(key).encode()).hexdigest()
        return self._data_name_pattern.replace("{number:d}", digest[:16])


class _Cache(FunctionCache):
    """What is kept of a function."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        stamp = self._cache_file._source_stamp, *_stamps_of(function)
        self._cache_file = _Files(self._cache_path, self._impl.filename_base, stamp)


def _stamps_of(function: Callable[..., Any]) -> list[Any]:
    """Return what is compiled into a function from other files: stamps of functions, numbers."""
    stamps: list[Any] = []
    for name in function.__code__.co_names:
        value = function.__globals__.get(name)
        if isinstance(cache := getattr(value, "_cache", None), _Cache):
            stamps.append((name, cache._cache_file._source_stamp))
        elif isinstance(value, (int, float, tuple)):
            stamps.append((name, repr(value)))
    return stamps


def jit(function: Any = None, **options: Any) -> Any:
    """Compile a function of arrays and numbers when it is first called; threads run it at once.

    Copy an array into another by a loop: ``out[:] = values`` also compiles a message about shapes
    that differ, which takes 3 s in each process that compiles.

    Parameters
    ----------
    function : callable
        As :func:`numba.njit` takes it.
    **options
        Others of Numba's, such as `error_model` and `inline`.
    """
    if function is None:
        return partial(jit, **options)
    dispatcher = njit(nogil=True, **options)(function)
    try:
        dispatcher._cache = _Cache(function)
    except RuntimeError:  # of Numba: neither the package nor the home can be written
        warnings.warn(
            "compiled loops can't be kept, so that each process compiles its own (up to a minute): "
            "set NUMBA_CACHE_DIR to a folder that can be written",
            stacklevel=1,  # of this line: once for all loops
        )
    return dispatcher
