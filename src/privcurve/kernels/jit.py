"""Compile loops with Numba once on each machine, and cache them on disk for later processes.

This module changes Numba's cache in two ways:

- Numba numbers the cache files of a function. Two processes that compile a function for different
  argument types at the same time may choose the same number; a later process then calls machine
  code for other types, which ends in an error or a wrong result. Here the name of a file is a hash
  of argument types, processor and the function's code.
- Numba takes a cache file as valid as long as the function's own file is unchanged. Here the files
  of the compiled functions that it calls, and the global numbers that it uses, must be unchanged
  too.

Two base classes are not public in Numba, so pyproject.toml allows no newer Numba version than the
tested one (`.ci/versions newest`).
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
    """The cache files of a function, named by a hash of types, processor and code."""

    def save(self, key: object, data: object) -> None:
        # Store the code as bytes, next to the stamps: code of an older version may refer to
        # functions that no longer exist, so `load` checks the stamps before it unpickles the code.
        self._save_data(self._name_of(key), (self._version, self._source_stamp, self._dump(data)))

    def load(self, key: object) -> Any:
        try:
            version, stamp, packed = self._load_data(self._name_of(key))
            is_current = (version, stamp) == (self._version, self._source_stamp)
            return pickle.loads(packed) if is_current else None
        except (OSError, EOFError, ValueError, TypeError, pickle.UnpicklingError):
            # The file is missing or incomplete. If the result is None, Numba compiles the function.
            return None

    def _name_of(self, key: object) -> str:
        digest = hashlib.sha256(repr(key).encode()).hexdigest()
        return self._data_name_pattern.replace("{number:d}", digest[:16])


class _Cache(FunctionCache):
    """The cache of a compiled function."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        stamp = self._cache_file._source_stamp, *_stamps_of(function)
        self._cache_file = _Files(self._cache_path, self._impl.filename_base, stamp)


def _stamps_of(function: Callable[..., Any]) -> list[Any]:
    """Return the state of all that a function's compiled code depends on outside of its own file.

    The state consists of the stamps of the files of compiled functions that the function names, and
    the values of the global numbers and tuples that it uses.
    """
    stamps: list[Any] = []
    for name in function.__code__.co_names:
        value = function.__globals__.get(name)
        if isinstance(cache := getattr(value, "_cache", None), _Cache):
            stamps.append((name, cache._cache_file._source_stamp))
        elif isinstance(value, (int, float, tuple)):
            stamps.append((name, repr(value)))
    return stamps


def jit(function: Any = None, **options: Any) -> Any:
    """Decorate a function of arrays and numbers, so that its first call compiles it.

    The compiled function releases the GIL.

    In such a function, copy an array into another by a loop: ``out[:] = values`` also compiles a
    message about unequal shapes, which takes 3 s in each process that compiles.

    Parameters
    ----------
    function : callable
        Python code that :func:`numba.njit` can compile.
    **options
        Other options of Numba, such as `error_model` and `inline`.
    """
    if function is None:
        return partial(jit, **options)
    dispatcher = njit(nogil=True, **options)(function)
    try:
        dispatcher._cache = _Cache(function)
    except RuntimeError:  # raised if Numba can write neither to the package nor to the home folder
        warnings.warn(
            "compiled loops can't be cached, so each process compiles its own (up to a minute): "
            "set NUMBA_CACHE_DIR to a folder that can be written",
            stacklevel=1,  # the warning names this line, so that Python warns once for all loops
        )
    return dispatcher
