"""Bins of numbers: their edges between public bounds, and the bin of each number."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privcurve.coding import Codes, Floats, code_type
from privcurve.lazy import arithmetic

EQUAL = "equal"
LOG = "log"
LOG1P = "log1p"
MIXED = "mixed"
MIXED_HIGH = "mixed-high"
WHOLE = "whole"

# Half of the mixed bins (`edges`) divide a logarithm, down to 2^-HALVINGS of the range. So even if
# public bounds are ten thousand times too wide, some bins still distinguish the values.
HALVINGS = 14


def edges(
    low: float, high: float, n_bins: int, spacing: str = EQUAL, exact: bool = False
) -> NDArray[np.float64]:
    """Return the edges of bins between two bounds.

    Parameters
    ----------
    low, high : float
        Lowest and highest value; public.
    n_bins : int
        Number of bins.
    spacing : str
        Bins are of equal width (``equal``), of equal ratio (``log``, requires `low` > 0), or of
        equal ratio of 1 + value (``log1p``, requires `low` > -1). In ``mixed``, half of the bins
        are spread evenly over the range, and half evenly over the logarithm of the distance to
        `low`; if 0 lies between the bounds, the distance is to 0, on both sides. In
        ``mixed-high``, the distance is to `high`. In ``whole``, bins have equally many whole
        numbers, and both bounds must be whole.
    exact : bool
        If true, the edges of bins of equal width are not rounded.

    Returns
    -------
    ndarray of shape (n_bins + 1,)
        Increasing edges, from `low` to `high` (`high` + 1 for ``whole``). The edges between them
        are rounded to twelve digits unless `exact`: so they are the same on every machine, and
        equal to their printed form.

    Raises
    ------
    ValueError
        If a bin would not have a finite width > 0.
    """
    low, high = float(low), float(high)
    if not low < high:
        raise ValueError("must be [low, high] with low < high")
    shift = 1.0 if spacing == LOG1P else 0.0
    if spacing in (LOG, LOG1P) and low + shift <= 0:
        raise ValueError(f"must lie above {0 - shift:g}: spacing {spacing} takes a logarithm")
    steps = np.arange(n_bins)
    with np.errstate(over="ignore", invalid="ignore"):
        if spacing == EQUAL:
            evenly = low + (high - low) * steps / n_bins
            inner = evenly if exact else _round_edges(evenly)
        elif spacing == WHOLE:
            high += 1
            inner = np.ceil(low + (high - low) * steps / n_bins)
        elif spacing in (MIXED, MIXED_HIGH):
            inner = _lower_mixed_edges(low, high, n_bins, spacing == MIXED_HIGH)
        else:
            growth = arithmetic.log((high + shift) / (low + shift))
            ratio = (low + shift) * arithmetic.exps(growth * (steps / n_bins))
            inner = _round_edges(ratio - shift)
        ends = np.append(inner, high)
        ends[0] = low
        widths = np.diff(ends)
    if not (np.isfinite(widths) & (widths > 0)).all():
        raise ValueError(f"leave {n_bins} bins no finite width above 0")
    return ends


def spacing_towards_zero(spacing: str, low: float, high: float) -> str:
    """Replace the spacing ``mixed`` by ``mixed-high`` if both bounds are ≤ 0; return the spacing.

    So mixed bins are always narrowest near 0.
    """
    return MIXED_HIGH if spacing == MIXED and low < 0 and high <= 0 else spacing


def _lower_mixed_edges(low: float, high: float, n_bins: int, from_high: bool) -> Floats:
    """Return the lower edges of bins with the spacing mixed; mixed-high if `from_high`."""
    width = high - low
    if from_high:
        ends = high - width * _mixed_shares(n_bins)[:0:-1]
    elif low < 0 < high and n_bins > 1:
        # Divide the bins between both sides of 0: the evenly spread half in proportion to the
        # widths of the sides, the logarithmic half equally.
        below = min(max(round(n_bins * (0.5 * -low / width + 0.25)), 1), n_bins - 1)
        ends = np.concatenate(
            [low * _mixed_shares(below)[:0:-1], high * _mixed_shares(n_bins - below)[:-1]]
        )
    else:
        ends = low + width * _mixed_shares(n_bins)[:-1]
    return _round_edges(ends)


def _round_edges(ends: Floats) -> Floats:
    return np.array([float(f"{end:.12g}") for end in ends])


def _mixed_shares(n_bins: int) -> Floats:
    """Return the edges of mixed bins over [0, 1].

    Edge k is the solution u of ½u + ½max(0, 1 + log2(u)/HALVINGS) = k/n_bins, by bisection.
    """
    aims = np.arange(n_bins + 1) / n_bins
    low, high = np.zeros(n_bins + 1), np.ones(n_bins + 1)
    for _ in range(80):
        middle = 0.5 * (low + high)
        reached = 0.5 * middle + 0.5 * np.maximum(0, 1 + arithmetic.log2s(middle) / HALVINGS)
        low, high = np.where(reached < aims, middle, low), np.where(reached < aims, high, middle)
    high[0] = 0.0
    return high


def code_by_edges(numbers: NDArray[np.float64], edges: ArrayLike) -> NDArray[np.int64]:
    """Return the bin of each number, from the increasing edges of the bins.

    A value on an edge belongs to the bin above the edge, except that the upper bound belongs to the
    last bin. Values outside the bounds belong to the nearest bin.
    """
    return np.searchsorted(np.asarray(edges)[1:-1], numbers, side="right")


def code_equal_width(
    X: NDArray[Any], bounds: tuple[ArrayLike, ArrayLike], n_bins: NDArray[np.int64]
) -> Codes:
    """Clip numbers to public bounds and encode them in bins of equal width.

    A bound is one number, or one number per column. Raises ValueError if the bounds leave no finite
    width > 0.
    """
    numbers = np.asarray(X, dtype=np.float64)
    low, high = (np.broadcast_to(np.asarray(b, dtype=np.float64), n_bins.shape) for b in bounds)
    codes: NDArray[Any] = np.empty(numbers.shape, dtype=code_type(n_bins))
    for j, bins in enumerate(n_bins):
        try:
            between = edges(low[j], high[j], int(bins))
        except ValueError as error:
            raise ValueError(f"bounds {low[j]:g}, {high[j]:g} of column {j} {error}") from None
        codes[:, j] = code_by_edges(numbers[:, j], between)
    return codes
