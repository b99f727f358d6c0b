"""Test that stored numbers do not depend on processor, BLAS, C library or number of threads.

For each setting, ``everywhere.py`` runs in a new process, in which NumPy, OpenBLAS and glibc use
other instructions than by default. Settings with instructions that this processor lacks, such as
AVX-512, are left out, because the process would crash.
"""

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import everywhere
import numpy as np
import pytest
from llvmlite import binding

MAP = Path(everywhere.__file__)


def optional_features():
    """Return the optional features of this processor that NumPy uses, as one text."""
    try:
        from numpy._core import _multiarray_umath as umath
    except ImportError:  # NumPy 1
        from numpy.core import _multiarray_umath as umath
    return " ".join(name for name in umath.__cpu_dispatch__ if umath.__cpu_features__[name])


PLAIN_NUMPY = {"NPY_DISABLE_CPU_FEATURES": optional_features()}
PLAIN_LIBM = {"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA,-AVX512F"}


def blas(core, threads):
    return {"OPENBLAS_CORETYPE": core, "OPENBLAS_NUM_THREADS": str(threads)}


# Instructions that OpenBLAS uses for a kind of processor.
AVX2 = {"avx2", "fma"}
USED = {
    "Prescott": {"sse3"},
    "Nehalem": {"sse4.2"},
    "Zen": AVX2,
    "Haswell": AVX2,
    "SkylakeX": {"avx512f", "avx512bw", "avx512dq", "avx512vl"},
}
HERE = {name for name, is_here in binding.get_host_cpu_features().items() if is_here}


def can_run(setting):
    return USED.get(setting.get("OPENBLAS_CORETYPE"), set()) <= HERE


ALL = {
    "as it is": {},
    "oldest": {**blas("Prescott", 1), **PLAIN_NUMPY, **PLAIN_LIBM, "OMP_NUM_THREADS": "1"},
    "plain C library": {**blas("Nehalem", 2), **PLAIN_LIBM},
    "plain NumPy": {**blas("Zen", 1), **PLAIN_NUMPY},
    "Haswell": {**blas("Haswell", 2), "PYTHONHASHSEED": "5", "OMP_NUM_THREADS": "2"},
    "AVX-512": blas("SkylakeX", 1),
}
SETTINGS = {name: setting for name, setting in ALL.items() if can_run(setting)}
# Numba compiles all code again, for the oldest processor.
OLDEST = {"NUMBA_CPU_NAME": "x86-64", "NUMBA_CPU_FEATURES": ""}

# Largest relative difference between scores of models that other libraries fit.
TOLERANCES = {
    "gradient_boosting": 1e-9,
    "mst": 1e-9,
    "aim": 1e-9,
    "logistic_regression of three classes": 1e-3,
}


def maps(settings):
    """Return the output of ``everywhere.py`` in each setting.

    The first run compiles the code; the others run two at a time.
    """

    def run(setting):
        command, env = [sys.executable, str(MAP)], {**os.environ, **setting}
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[-2000:]
        return json.loads(done.stdout)

    first, *others = settings.values()
    with ThreadPoolExecutor(2) as pool:
        return dict(zip(settings, [run(first), *pool.map(run, others)], strict=True))


def compare(results):
    reference = results["as it is"]
    for name, own in results.items():
        exact = own["exact"]
        changed = [key for key in exact if exact[key] != reference["exact"][key]]
        assert not changed, f"{name}: {len(changed)} of {len(exact)} changed: {changed[:20]}"
        assert own["near"].keys() == TOLERANCES.keys()
        for key, scores in own["near"].items():
            largest = np.abs(reference["near"][key]).max()
            apart = np.abs(np.subtract(scores, reference["near"][key])).max()
            assert apart <= TOLERANCES[key] * largest, f"{name}: {key}: {apart} of {largest}"


@pytest.mark.slow
def test_stored_numbers_are_the_same_on_every_machine(tmp_path):
    compiled = {**OLDEST, "NUMBA_CACHE_DIR": str(tmp_path)}
    compare(maps({**SETTINGS, "oldest": {**ALL["oldest"], **compiled}}))
