"""Define the grid of released numbers: exact numbers and noise are multiples of its unit.

Floating-point noise can reveal what it should hide: many answers are possible for only one of two
neighbouring exact numbers (Mironov, "On significance of the least significant bits for differential
privacy", CCS 2012). Here the unit is derived from the scale of the noise alone, so every multiple
of it is a possible answer for every exact number. Proof: docs/proofs.md, 'Floating point', F1.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from privcurve.privacy.mechanisms import GAUSSIAN, LARGEST_SCALE

# A unit is a power of two; the scale of noise is at least 2^(BITS - 1) and below 2^BITS units.
BITS = 40
# Each noise scale is increased by this share, as the computation of exact numbers may have
# floating-point errors, which increase their sensitivity.
SLACK = 2.0**-20
# Half of SLACK covers these errors if the absolute values of the exact numbers add up to at most
# LARGEST times the sensitivity.
LARGEST = 2.0**30


class Grid(NamedTuple):
    """The grid of one call, which follows from public facts."""

    unit: float  # a power of two: released numbers are its multiples
    scale: int  # the noise scale, in units


def unit_of(scale: float) -> float:
    """Return the unit of numbers with a given noise scale; for the scale 0 it has no meaning."""
    return 2.0 ** (math.frexp(scale)[1] - BITS)


def grid_of(mechanism: str, scale: float, loss: float, size: int) -> Grid:
    """Return the grid of a call.

    Parameters
    ----------
    mechanism : str
        Laplace or Gaussian.
    scale : float
        The noise scale that exact numbers would need without rounding.
    loss : float
        Sensitivity divided by scale. Rounding increases the sensitivity, so the scale must grow in
        proportion. Infinite if no sensitivity is claimed.
    size : int
        The number of exact numbers.

    Raises
    ------
    ValueError
        If ε is so small that the exact samplers cannot represent the noise.
    """
    unit = unit_of(scale)
    rounding = (math.sqrt(size) if mechanism == GAUSSIAN else size) / loss
    units = math.ceil(scale / unit * (1 + SLACK) + rounding)
    if units > LARGEST_SCALE:
        raise ValueError(
            f"epsilon must be larger: {mechanism} noise of scale {scale:g} on {size} numbers "
            "does not fit in 64 bits"
        )
    return Grid(unit, units)
