"""The cache of compiled loops: one file per variant, and no file of older code."""

import importlib
import os
import pickle
import sys
from pathlib import Path

import numpy as np
import pytest
from numba.core.caching import FunctionCache

CALLEE = """
from privcurve.kernels.jit import jit

@jit
def weight(x):
    return {weight} * x
"""
CALLER = """
from privcurve.kernels.jit import jit
from {callee} import weight

@jit
def total(values):
    s = 0.0
    for value in values:
        s += weight(value)
    return s
"""


@pytest.fixture
def load(tmp_path, monkeypatch):
    """Return a function that imports the caller, as a new process does."""
    monkeypatch.syspath_prepend(str(tmp_path))
    callee, caller = (tmp_path / f"{tmp_path.name}_{name}.py" for name in ("callee", "caller"))

    def import_anew(weight=2.0):
        if not callee.exists() or callee.read_text() != CALLEE.format(weight=weight):
            callee.write_text(CALLEE.format(weight=weight))
            os.utime(callee, (weight, weight))
        if not caller.exists():
            caller.write_text(CALLER.format(callee=callee.stem))
        importlib.invalidate_caches()
        for file in (callee, caller):
            sys.modules.pop(file.stem, None)
        return importlib.import_module(caller.stem).total

    yield import_anew
    for file in (callee, caller):
        sys.modules.pop(file.stem, None)


def kept(total):
    return sorted(Path(total._cache.cache_path).glob("*total*.nbc"))


def test_processes_that_compile_at_once_do_not_take_each_others_files(load, monkeypatch):
    """Both read the cache before one of them writes: Numba would number both files 1."""
    values = np.arange(4.0)
    first, second = load(), load()
    for total in first, second:
        monkeypatch.setattr(total._cache._cache_file, "_load_index", dict)
    assert (first(values), second(values[::2])) == (12.0, 4.0)
    assert len(kept(first)) == 2
    total = load()
    assert (total(values), total(values[::2])) == (12.0, 4.0)
    assert (sum(total.stats.cache_hits.values()), sum(total.stats.cache_misses.values())) == (2, 0)


def test_a_changed_callee_and_a_file_cut_off_are_compiled_anew(load):
    values = np.arange(4.0)
    assert load()(values) == 12.0
    total = load(weight=5.0)
    assert (total(values), sum(total.stats.cache_misses.values())) == (30.0, 1)
    (file,) = kept(total)
    file.write_bytes(file.read_bytes()[:100])
    total = load(weight=5.0)
    assert (total(values), sum(total.stats.cache_misses.values())) == (30.0, 1)


def test_cached_code_of_older_versions_is_compiled_again(load):
    """Unpickling it could fail: it may name a class that no longer exists."""
    values = np.arange(4.0)
    total = load()
    assert total(values) == 12.0
    (file,) = kept(total)
    version, _, packed = pickle.loads(file.read_bytes())
    file.write_bytes(pickle.dumps((version, "of older code", packed[:9])))
    total = load()
    assert (total(values), sum(total.stats.cache_misses.values())) == (12.0, 1)


def test_without_a_writable_cache_it_compiles_and_warns(load, monkeypatch):
    """In a container neither the package nor the home can be written."""
    monkeypatch.setattr(FunctionCache._impl_class, "_locator_classes", [])
    with pytest.warns(UserWarning, match="set NUMBA_CACHE_DIR to a folder") as caught:
        total = load()
    assert {(one.filename, one.lineno) for one in caught} == {
        (caught[0].filename, caught[0].lineno)
    }
    assert total(np.arange(4.0)) == 12.0
