"""The grid of released numbers: rounded to whole units, with exact whole noise.

Floating-point noise can reveal what it should hide: often only one of two neighbouring exact
numbers can give an answer (Mironov, "On significance of the least significant bits for differential
privacy", CCS 2012). Here the unit is derived from the scale of the noise alone, so every multiple
of it is a possible answer for every exact number. Proof: docs/proofs.md, 'Floating point', F1.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from privcurve.privacy.mechanisms import GAUSSIAN, LARGEST_SCALE

# A unit is a power of two; the scale of noise is at least 2^(BITS - 1) and below 2^BITS units.
BITS = 40
# The share of the scale that is added because exact numbers are computed in floating point, and the
# maximum sum of these numbers in sensitivities, for which half of that share suffices.
SLACK = 2.0**-20
LARGEST = 2.0**30


class Grid(NamedTuple):
    """The grid of one call, from public facts: its unit, and the scale of whole noise in units."""

    unit: float
    scale: int


def unit_of(scale: float) -> float:
    """Return the unit of numbers with noise of a scale; without noise it has no meaning."""
    return 2.0 ** (math.frexp(scale)[1] - BITS)


def grid_of(mechanism: str, scale: float, loss: float, size: int) -> Grid:
    """Return the grid of a call.

    Parameters
    ----------
    mechanism : str
        Laplace or Gaussian.
    scale : float
        The scale of the noise for exact numbers that are not rounded.
    loss : float
        The sensitivity over the scale: rounding adds to the sensitivity, and so to the scale.
        Infinite if nothing is claimed.
    size : int
        How many numbers there are.

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
