"""Run linear algebra in one thread, so that results do not depend on the number of cores.

For short vectors one thread is also faster.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache
from typing import Any

# threadpoolctl limits only libraries that are already loaded: load BLAS and scikit-learn's OpenMP.
import scipy.linalg  # noqa: F401
import sklearn.utils._openmp_helpers  # noqa: F401
from threadpoolctl import ThreadpoolController

# Cache the controller: its construction searches all libraries of the process, which takes longer
# than many fits.
_load_controller = cache(ThreadpoolController)


def one_thread() -> AbstractContextManager[Any]:
    """Return a context manager that limits linear algebra to one thread."""
    return _load_controller().limit(limits=1)
