"""Loops compiled by Numba, whose arguments and results are plain arrays.

Compiled code is cached on disk, next to the source or in ``NUMBA_CACHE_DIR``
(:mod:`privcurve.kernels.jit`).
"""
