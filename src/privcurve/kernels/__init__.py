"""The few compiled loops: plain arrays in, plain arrays out (Numba).

Compiled code is kept on disk, next to the source or in ``NUMBA_CACHE_DIR``. Numba sees a
change in the file of the function that was called, not in the file of a function which
that one calls: after an edit of ``projection.py``, delete ``__pycache__`` or touch the
files that import from it.
"""
