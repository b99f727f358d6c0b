"""A single thread for linear algebra on short vectors: equal bits on any machine, and faster."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache
from typing import Any

# Import the linear algebra, and scikit-learn's threads, so that they can be limited.
import scipy.linalg  # noqa: F401
import sklearn.utils._openmp_helpers  # noqa: F401
from threadpoolctl import ThreadpoolController

# Cached: the controller looks through all libraries of the process, which is slower than many fits.
_load_controller = cache(ThreadpoolController)


def one_thread() -> AbstractContextManager[Any]:
    """Return a context that limits linear algebra to one thread."""
    return _load_controller().limit(limits=1)
