"""Bound the change of a sum if one record is added, and if one record is replaced.

All numbers here are public. Bounds are exact, or rounded up. Only the square root of an L2 norm is
rounded to nearest: the slack of `grid.SLACK` pays for that (docs/proofs.md, 'Derived
sensitivities').
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple, Self, cast

import numpy as np

from privcurve.coding import Floats

# If two numbers are rounded to nearest, their distance changes by at most this share of the larger
# absolute value.
ULP = 2.0**-52


def add_up(numbers: Sequence[float]) -> float:
    """Return a sum of numbers, rounded up if it is not exact."""
    total = math.fsum(numbers)
    if math.isfinite(total) and math.fsum([*numbers, -total]) > 0:
        return math.nextafter(total, math.inf)
    return total


def multiply_up(a: float, b: float) -> float:
    """Return a product of two nonnegative numbers, rounded up if it is not exact."""
    product = a * b
    # A product with a power of two is exact. Most factors are powers of two, and the test with
    # Fractions below takes a hundred times longer than a product.
    if math.frexp(a)[0] == 0.5 or math.frexp(b)[0] == 0.5 or not math.isfinite(product):
        return product
    return product if Fraction(product) >= Fraction(a) * Fraction(b) else math.nextafter(
        product, math.inf)  # fmt: skip


def _each_up(a: Floats, b: Any) -> Floats:
    """Return products of nonnegative numbers, rounded up where they may not be exact.

    A product is 0 only if a factor is 0.
    """
    product = a * b
    # The product of two float32 numbers is exact in float64, as each of them has 24 bits.
    short = (a == np.float32(a)) & (b == np.float32(b))
    exact = short | (a == 0) | (np.equal(b, 0))
    return np.asarray(np.where(exact, product, np.nextafter(product, np.inf)))


def _widths(low: Floats, high: Floats) -> Floats:
    """Return `high` − `low`, rounded up where the difference is not exact."""
    width = high - low
    back = width - high
    missed = (high - (width - back)) - (low + back)
    return np.asarray(np.where(missed > 0, np.nextafter(width, np.inf), width))


class Moves(NamedTuple):
    """Upper bounds for a vector: for the absolute value of each entry, and for its two norms.

    `l1` bounds the L1 norm, and factor · √square the L2 norm.
    """

    entries: Floats
    l1: float
    factor: float
    square: float

    @property
    def l2(self) -> float:
        """The bound of the L2 norm."""
        return self.factor * math.sqrt(self.square)

    @classmethod
    def of(cls, entries: Floats) -> Self:
        """Return the bounds that follow from bounds of the entries."""
        numbers, squares = entries.ravel().tolist(), _each_up(entries, entries).ravel().tolist()
        return cls(entries, add_up(numbers), 1.0, add_up(squares))

    @classmethod
    def between(cls, low: Floats, high: Floats) -> Self:
        """Return bounds of the difference of two vectors that lie between `low` and `high`."""
        return cls.of(_widths(low, high))

    def within(self, other: Moves) -> Self:
        """Return, for each entry and norm, the smaller of two bounds on the same vector."""
        nearer = self if self.l2 <= other.l2 else other
        entries = np.minimum(self.entries, other.entries)
        return cast(Self, nearer._replace(entries=entries, l1=min(self.l1, other.l1)))

    def times(self, factor: float) -> Self:
        """Return the bounds of the vector times a factor ≥ 0."""
        l1, norm = multiply_up(self.l1, factor), multiply_up(self.factor, factor)
        return self._replace(entries=_each_up(self.entries, factor), l1=l1, factor=norm)

    def plus(self, other: Self) -> Self:
        """Return the bounds of the sum of two vectors."""
        for one, still in ((self, other), (other, self)):
            if still.is_zero:
                return one._replace(entries=self.entries + other.entries)
        entries = self.entries + other.entries
        alone = (self.entries == 0) | (other.entries == 0)
        entries = np.where(alone, entries, np.nextafter(entries, np.inf))
        l2 = add_up([self.l2, other.l2]) * (1 + ULP)
        return type(self)(entries, add_up([self.l1, other.l1]), l2, 1.0)

    def loosened(self, error: float) -> Self:
        """Return bounds that allow an error of up to `error` in each entry; bounds of 0 stay 0."""
        if not error:
            return self
        moved = self.entries > 0
        n = np.count_nonzero(moved)
        l1, l2 = self.l1 + n * error, self.l2 + math.sqrt(n) * error
        entries = np.where(moved, np.nextafter(self.entries + error, np.inf), 0.0)
        return type(self)(entries, l1 * (1 + 2 * ULP), l2 * (1 + 4 * ULP), 1.0)

    @property
    def is_zero(self) -> bool:
        """Whether all bounds are 0."""
        return not np.any(self.entries)

    def take(self, index: Any) -> Self:
        """Return the bounds of selected entries."""
        places = np.arange(self.entries.size).reshape(self.entries.shape)[index]
        some = type(self).of(self.entries[index])
        if len(np.unique(places)) < np.size(places):
            return some
        return some.within(self._replace(entries=some.entries))

    def mapped(self, matrix: Floats) -> Self:
        """Return the bounds of the product of the last axis with a public matrix or vector."""
        # Imported late: planning a run imports this file, and need not load Numba.
        from privcurve.kernels.rows import times_matrix

        sizes = np.abs(matrix)
        wide = sizes.reshape(len(sizes), -1)
        rows, columns = wide.sum(axis=1).max(initial=0), wide.sum(axis=0).max(initial=0)
        # Upper bounds of the spectral norm: the Frobenius norm, and √(‖·‖₁ ‖·‖_∞).
        norm = min(math.sqrt((wide * wide).sum()), math.sqrt(rows * columns))
        n = 1 + 2 * wide.size * ULP

        entries = times_matrix(self.entries, sizes) * n
        l1 = self.l1 if rows == 1 == wide.shape[1] else multiply_up(self.l1, rows * n)
        made = type(self)(entries, l1, multiply_up(self.factor, norm * n), self.square)
        return made.within(type(self).of(entries))


def join(parts: Sequence[Moves], entries: Floats) -> Moves:
    """Return the bounds of concatenated vectors; `entries` are the bounds of all entries."""
    l1 = add_up([part.l1 for part in parts])
    if len({part.factor for part in parts}) == 1:
        return Moves(entries, l1, parts[0].factor, add_up([part.square for part in parts]))
    squares = [multiply_up(part.l2, part.l2) * (1 + 4 * ULP) for part in parts]
    return Moves(entries, l1, 1.0, add_up(squares))
