"""Sealed arrays with known sensitivity: rows, each computed from its own record alone.

Rows have public bounds, and rules (docs/proofs.md, 'Derived sensitivities', D1 to D9) define how
arithmetic changes the bounds. So the sensitivity of a sum of rows is known, and no learner needs to
announce it. Results without a rule are sealed like any other exact value, without bounds.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privcurve.coding import Floats, Ints
from privcurve.lazy import arithmetic
from privcurve.privacy.moves import ULP, Moves, multiply_up
from privcurve.privacy.sealed import Sealed, open_values
from privcurve.privacy.sums import (
    MOST_RECORDS,
    MOST_UNITS,
    Bounded,
    Bounds,
    Sum,
    inverse_of,
    join_bounds,
    largest_of,
    public_numbers,
    unit_of,
)


class Of(NamedTuple):
    """The records that rows are computed from; rows of the same records share `counts`."""

    learner: str
    counts: Ints  # number of records that each row represents
    batch: str = ""  # name of the sampled batch of these records; empty for all records


NOBODY = Of("", np.zeros(0, dtype=np.int64))

# Lowest (or highest) values: one number for labels, or one number per column for codes.
Ends = int | tuple[int, ...]


@lru_cache(maxsize=256)
def whole_between(low: Ends, high: Ends, private: bool | tuple[bool, ...]) -> Rows:
    """Return empty rows with the bounds of codes or labels; only `private` ones can change."""
    least, most = np.array([low, high], dtype=np.float64)
    change = Moves.of((most - least) * np.array(private))
    none = np.zeros((0, *change.entries.shape))
    return Rows.make(none, NOBODY, least, most, 1.0, change=change)


class Rows(Bounded):
    """Numbers of records: row i depends on record i alone, and lies between public bounds.

    Rows support NumPy's arithmetic with public numbers and with rows of the same records,
    comparisons, `np.minimum`, `np.maximum`, `np.clip`, `np.exp` and other monotone functions,
    products with a public matrix, public columns as an index, `np.column_stack`, and the methods
    below. Bounds must be finite. `sum` weights each row with its number of records.
    """

    __slots__ = ("_high", "_low", "_of")

    _of: Of
    _low: Floats
    _high: Floats

    @staticmethod
    def make(
        values: NDArray[Any],
        of: Of,
        low: ArrayLike,
        high: ArrayLike,
        unit: float = 0.0,
        size: Moves | None = None,
        change: Moves | None = None,
    ) -> Rows:
        """Return rows with entries between `low` and `high`, and compute their other bounds (D1).

        `size` has bounds on a row, and `change` has bounds on the difference of two rows. Both are
        optional: they may be sharper than the bounds that follow from `low` and `high`.
        """
        shape = values.shape[1:]
        least, most = (np.broadcast_to(np.asarray(one, np.float64), shape) for one in (low, high))
        _require_finite(least, most)
        values = values.view()
        values.flags.writeable = False
        made = Rows(values, of.learner, 0)
        made._of, made._low, made._high = of, least, most
        largest = Moves.of(np.maximum(np.abs(least), np.abs(most)))
        size = largest if size is None else largest.within(size)
        apart = Moves.between(least, most)
        if change is not None:
            nearer = np.minimum(apart.entries, change.entries)
            apart = Moves.of(nearer).within(change)
        if not apart.is_zero:
            # The norm of the difference of two rows is at most twice the largest norm of a row. In
            # L2 it is only √2 times as large if all entries of both rows have the same sign (D2).
            aligned = bool((least >= 0).all() or (most <= 0).all())
            factor, square = (1.0, 2.0) if aligned else (2.0, 1.0)
            twice = Moves(apart.entries, 2 * size.l1, factor * size.factor, square * size.square)
            apart = apart.within(twice)
        made._bounds = Bounds(size, apart, unit).checked()
        return made

    @staticmethod
    def like(values: NDArray[Any], of: Of, bounded: Rows) -> Rows:
        """Return `values` as rows, and copy their bounds from the rows `bounded`."""
        made = Rows(values.view(), of.learner, 0)
        made._array.flags.writeable = False
        made._of, made._low, made._high = of, bounded._low, bounded._high
        made._bounds = bounded._bounds
        return made

    def _make(self, values: NDArray[Any], low: Any, high: Any, bounds: Bounds) -> Rows:
        return Rows.make(values, self._of, low, high, bounds.unit, bounds.size, bounds.change)

    def _numbers(self) -> Floats:
        return self._array.astype(np.float64)

    def _is_beside(self, other: Any) -> bool:
        """Return whether `other` contains rows of the same records."""
        return isinstance(other, Rows) and other._of.counts is self._of.counts

    # NumPy's ---------------------------------------------------------------------------------

    def _by_rule(self, ufunc: np.ufunc, *inputs: Any) -> Rows | None:
        if ufunc is np.matmul and inputs[0] is self:
            return self._times_matrix(inputs[1])
        if ufunc in _UNARY and len(inputs) == 1:
            return self._mapped(*_UNARY[ufunc])
        return self._combined(ufunc, *inputs) if ufunc in _BINARY else None

    def __array_function__(
        self, function: Any, types: Any, inputs: tuple[Any, ...], more: dict[str, Any]
    ) -> Any:
        alone = len(inputs) == 1 and not more
        if function is np.sum and len(inputs) == 1 and set(more) <= {"axis"}:
            return self.sum(**more)
        if function is np.clip and len(inputs) == 3 and not more and inputs[0] is self:
            return np.minimum(np.maximum(self, inputs[1]), inputs[2])
        if function in (np.ones_like, np.zeros_like) and alone:
            value = float(function is np.ones_like)
            return Rows.make(np.full(self._array.shape, value), self._of, value, value, 1.0)
        if function is np.column_stack and alone and all(map(self._is_beside, inputs[0])):
            return self._stacked(inputs[0])
        return super().__array_function__(function, types, inputs, more)

    def __getitem__(self, index: Any) -> Any:
        first, *rest = index if isinstance(index, tuple) else (index,)
        is_all = isinstance(first, slice) and first == slice(None)
        if not is_all or any(isinstance(part, Sealed) for part in rest):
            return super().__getitem__(index)
        others = tuple(rest)
        if all(type(part) in _BASIC for part in rest):
            values = self._array[index]
        else:
            # If the index has lists of columns, NumPy may move the axis of records. So find the
            # positions that the index selects from one row, and take these positions from every
            # row.
            n, size = len(self._array), self._low.size
            places = np.arange(size).reshape(self._low.shape)[others]
            flat = self._array.reshape(n, size)
            values = np.take(flat, places.ravel(), axis=1).reshape(n, *places.shape)
        return self._make(
            values,
            self._low[others],
            self._high[others],
            self._bounds.each(lambda moves: moves.take(others)),
        )

    def sum(self, axis: Any = None, keepdims: bool = False) -> Any:
        """Return the sum over all records (`axis=0`), or over columns (`axis=1`)."""
        if keepdims or axis not in (None, 0, 1) or (axis != 0 and self.ndim > 2):
            return super().sum(axis=axis, keepdims=keepdims)
        if axis == 1 == self.ndim - 1:
            return self._times_matrix(np.ones(self._array.shape[1]))
        total = self._added(None, 1)[0]
        return total if axis == 0 or self.ndim == 1 else total.over(np.ones(total.shape))

    def astype(self, dtype: Any) -> Any:
        """Return itself for float64, the only type of rows in arithmetic; else sealed values."""
        return self if np.dtype(dtype) == np.float64 else super().astype(dtype)

    # Operations that NumPy does not have -----------------------------------------------------

    def clip_rows(self, longest: float) -> Rows:
        """Return rows with an L2 norm of at most `longest`; longer ones are shortened (D6)."""
        if not (0 < longest < math.inf and self.ndim == 2):
            raise ValueError(f"longest must be > 0, and rows must have columns; got {longest!r}")
        from privcurve.kernels.rows import clip_norms

        values = clip_norms(np.ascontiguousarray(self._numbers()), float(longest))
        low = np.maximum(np.minimum(self._low, 0.0), -longest)
        high = np.minimum(np.maximum(self._high, 0.0), longest)
        entries, (size, change, *_) = np.maximum(-low, high), self._bounds
        most = math.sqrt(len(low)) * longest * (1 + 2 * ULP)
        size = Moves(entries, most, float(longest), 1.0).within(size._replace(entries=entries))
        return Rows.make(values, self._of, low, high, 0.0, size, change if change.is_zero else None)

    def look_up(self, table: ArrayLike) -> Rows:
        """Return, for the code of each record, the entry or row of a public table (D7)."""
        numbers = np.asarray(table, dtype=np.float64)
        codes = self._codes(len(numbers))
        each = [Moves.of(np.abs(row)) for row in numbers]
        largest, square = max(one.l1 for one in each), max(one.square for one in each)
        size = Moves(np.abs(numbers).max(axis=0), largest, 1.0, square)
        change = _still(size.entries.shape) if self._bounds.change.is_zero else None
        ends = numbers.min(axis=0), numbers.max(axis=0)
        return Rows.make(numbers[codes], self._of, *ends, unit_of(numbers), size, change)

    def one_hot(self, n_codes: int) -> Rows:
        """Return rows with a 1 in the column of each code, and 0 elsewhere (D7)."""
        return self.look_up(np.eye(n_codes))

    def outer(self) -> Rows:
        """Return the outer product of each row with itself, as a matrix (D8)."""
        rows, (size, change, unit, *_) = self._numbers(), self._bounds
        low, high = _corners(
            np.multiply, (self._low[:, None], self._high[:, None]), (self._low, self._high)
        )
        entries = size.entries[:, None] * size.entries * (1 + 2 * ULP)
        # The norm of an outer product is the squared norm of the row. The inner product of two such
        # matrices is not negative, so their difference has at most √2 times the norm.
        norm = multiply_up(multiply_up(size.factor, size.factor), size.square)
        l1 = multiply_up(size.l1, size.l1)
        still = _still(entries.shape)
        apart = still if change.is_zero else Moves(2 * entries, 2 * l1, norm, 2.0)
        bounds = Bounds(Moves(entries, l1, norm, 1.0), apart, unit * unit)
        error = bounds.error(largest_of(entries))
        products = rows[:, :, None] * rows[:, None, :]
        return self._make(products, low, high, bounds.each(lambda moves: moves.loosened(error)))

    def by(self, codes: Rows, n_codes: int) -> Sum:
        """Return, for each code, the sum of the rows with this code, along a new first axis (D9).

        `codes` are rows of the same records, with one integer below `n_codes` per record.
        """
        if not self._is_beside(codes):
            self._refuse("sums by values that are not codes of the same records")
        total, bounds = self._added(codes._codes(n_codes), n_codes)
        size, change = bounds.size, bounds.change
        if not codes._bounds.change.is_zero:
            # A replaced record moves from one cell to another (`moved`), or changes within its cell
            # (`change`): take the larger bound.
            moved = Moves(
                np.maximum(size.entries, change.entries), 2 * size.l1, size.factor, 2 * size.square
            )
            farther = moved if moved.l2 >= change.l2 else change
            most = max(moved.l1, change.l1)
            change = Moves(moved.entries, most, farther.factor, farther.square)
        bounds = bounds._replace(size=size, change=change).each(
            lambda moves: moves._replace(entries=np.broadcast_to(moves.entries, total.shape))
        )
        return Sum.make(open_values(total), self._learner, bounds)

    # Rules -----------------------------------------------------------------------------------

    def _codes(self, n_codes: int) -> Ints:
        """Return integers from 0 to `n_codes` − 1, one for each record."""
        inside = self.ndim == 1 and self._low >= 0 and self._high <= n_codes - 1
        if not (inside and self._bounds.unit >= 1):
            raise ValueError(
                f"codes must be whole numbers from 0 to {n_codes - 1}, one per record; got "
                f"numbers between {self._low} and {self._high}"
            )
        return cast(Ints, self._array.astype(np.int64))

    def _stacked(self, parts: Sequence[Rows]) -> Rows:
        some = [part if part.ndim == 2 else part[:, None] for part in parts]
        low, high = (np.concatenate([getattr(p, name) for p in some]) for name in ("_low", "_high"))
        values = np.concatenate([p._numbers() for p in some], axis=1)
        return self._make(values, low, high, join_bounds([p._bounds for p in some]))

    def _mapped(self, function: Callable[[Any], Any], keeps: str) -> Rows:
        """Apply a monotone or even function to each number (D3).

        `keeps` is a property of the function: LENGTHS, WHOLE or NOTHING.
        """
        with np.errstate(all="ignore"):
            ends = np.stack([function(self._low), function(self._high)])
            low, high = ends.min(axis=0), ends.max(axis=0)
            if function in (np.abs, np.square):
                low = np.where((self._low < 0) & (self._high > 0), 0.0, low)
            _require_finite(low, high)
            # Because of rounding, a computed value may lie slightly outside of [low, high].
            values = np.clip(function(self._numbers()), low, high)
        if keeps == LENGTHS:
            return self._make(values, low, high, self._bounds)
        change = self._bounds.change
        apart = Moves.of(np.where(change.entries > 0, Moves.between(low, high).entries, 0.0))
        return Rows.make(values, self._of, low, high, float(keeps == WHOLE), None, apart)

    def _combined(self, ufunc: np.ufunc, *inputs: Any) -> Rows | None:
        """Return a sum, product, … of two operands, number by number (D3 to D5).

        The result is None unless each operand is public, or contains rows of the same records.
        """
        sides = [self._side(one) for one in inputs]
        if any(side is None for side in sides):
            return None
        a, b = cast(list[_Side], sides)
        ends = (a.low, a.high), (b.low, b.high)
        if ufunc is np.divide and np.any((b.low <= 0) & (b.high >= 0)):
            ends = ends[0], (np.array(np.nan),) * 2  # no finite bounds
        # Broadcast the public shapes first: if they do not fit, an error from the arrays would
        # reveal the number of rows.
        shape = np.broadcast(a.low, b.low).shape
        with np.errstate(all="ignore"):
            values = np.asarray(ufunc(a.numbers, b.numbers), dtype=np.float64)
            tests = tuple(np.full(shape, end) for end in (0.0, 1.0))
            low, high = tests if ufunc in _TESTS else _corners(ufunc, *ends)
        _require_finite(low, high)
        apart = Moves.between(low, high)
        bounds = _rule(ufunc, a.spread(shape), b.spread(shape), apart, ends)
        error = bounds.error(max(map(largest_of, (low, high)))) * (ufunc in _ROUNDED)
        return self._make(values, low, high, bounds.each(lambda moves: moves.loosened(error)))

    def _side(self, one: Any) -> _Side | None:
        """Return `one` as an operand: rows of the same records, or public numbers.

        Public numbers must be equal for all records. Returns None for all other values.
        """
        if self._is_beside(one) and one.ndim == self.ndim:
            return _Side(one._numbers(), one._low, one._high, one._bounds)
        numbers = None if isinstance(one, Rows) else public_numbers(one)
        if numbers is None or numbers.ndim > self.ndim:
            return None
        if numbers.ndim == self.ndim:
            if len(numbers) != 1:
                return None  # numbers that differ by record are not public
            numbers = numbers[0]
        bounds = Bounds(Moves.of(np.abs(numbers)), _still(numbers.shape), unit_of(numbers))
        return _Side(numbers, numbers, numbers, bounds)

    def _times_matrix(self, matrix: Any) -> Rows | None:
        """Return the product with a public matrix, or vector (D5)."""
        numbers = public_numbers(matrix)
        if numbers is None or self.ndim != 2 or numbers.ndim not in (1, 2):
            return None
        wide = numbers.reshape(len(numbers), -1)
        from privcurve.kernels.rows import times_matrix

        values = times_matrix(self._numbers(), numbers)
        ends = np.stack([self._low[:, None] * wide, self._high[:, None] * wide])
        low, high = ends.min(axis=0).sum(axis=0), ends.max(axis=0).sum(axis=0)
        unit = self._bounds.unit * unit_of(numbers)
        bounds = self._bounds.each(lambda moves: moves.mapped(numbers), unit)
        most = largest_of(times_matrix(self._bounds.size.entries, np.abs(wide)))
        error = len(wide) * bounds.error(2 * most)
        low, high = (np.reshape(end, numbers.shape[1:]) for end in (low - error, high + error))
        bounds = bounds.each(lambda moves: moves.loosened(error))
        return self._make(np.clip(values, low, high), low, high, bounds)

    def _added(self, codes: Ints | None, n_codes: int) -> tuple[Sum, Bounds]:
        """Return the sum of all rows (with `codes`: one sum for each code), and the sum's bounds.

        Rows are rounded to multiples of a public unit and added up as integers (D9). With `codes`,
        the bounds are for the sum of one code: they assume that a replaced record keeps its code.
        """
        most = float(np.maximum(-self._low, self._high).max(initial=0.0))
        (size, change, unit, *_), error = self._bounds, 0.0
        if not most:
            unit = 1.0  # 0 is a multiple of any unit, whose inverse may be infinite
        elif not (unit and most <= MOST_UNITS * unit):
            error = unit = math.ldexp(1.0, math.frexp(most)[1]) / MOST_UNITS
        shape = self._low.shape if codes is None else (n_codes, *self._low.shape)
        places = np.zeros(0, dtype=np.int64) if codes is None else codes
        values = np.ascontiguousarray(self._array.reshape(-1, self._low.size))
        sums = np.zeros((n_codes, values.shape[1]), dtype=np.int64)
        low, high = (np.array(end).ravel() for end in (self._low, self._high))
        from privcurve.kernels.rows import add_whole

        if add_whole(values, places, self._of.counts, low, high, unit, sums) > MOST_RECORDS:
            raise ValueError(f"sums of rows must be over at most {MOST_RECORDS:,} records")
        if error:
            on_grid = (np.rint(end / unit) * unit for end in (self._low, self._high))
            near, apart = change.loosened(error), Moves.between(*on_grid)
            size, change = size.loosened(error / 2), near if near.is_zero else near.within(apart)
        bounds = Bounds(size, change, unit, batches=frozenset({self._of.batch}))
        return Sum.make(unit * sums.reshape(shape), self._learner, bounds), bounds


def _require_finite(low: Floats, high: Floats) -> None:
    if not (np.isfinite(low).all() and np.isfinite(high).all()):
        raise ValueError(
            "rows must have finite bounds; the last step has none (a quotient by a number that "
            "may be 0, a logarithm, or too large a number): apply np.clip before it"
        )


class _Side(NamedTuple):
    """One of the two operands of a combination, with its bounds."""

    numbers: Floats
    low: Floats
    high: Floats
    bounds: Bounds

    def spread(self, shape: tuple[int, ...]) -> Bounds:
        """Return the bounds after broadcasting to columns of the given shape."""
        if np.shape(self.low) == shape:
            return self.bounds
        return self.bounds.each(lambda m: Moves.of(np.array(np.broadcast_to(m.entries, shape))))


def _still(shape: tuple[int, ...]) -> Moves:
    """Return bounds of 0, for numbers that no record changes."""
    return Moves(np.zeros(shape), 0.0, 0.0, 1.0)


def _corners(ufunc: np.ufunc, first: Any, second: Any) -> tuple[Floats, Floats]:
    """Return the least and greatest value of a function that is monotone in both arguments.

    `first` and `second` have the least and the greatest value of an argument.
    """
    ends = [ufunc(a, b) for a, b in itertools.product(first, second)]
    return cast(Floats, np.minimum.reduce(ends)), cast(Floats, np.maximum.reduce(ends))


def _rule(ufunc: np.ufunc, a: Bounds, b: Bounds, apart: Moves, ends: Any) -> Bounds:
    """Return the bounds of `ufunc` of two operands with the bounds `a` and `b`.

    `apart` has the distance between the least and greatest values of the result; `ends` has the
    least and greatest values of both operands. An infinite bound means that no rule gives a bound;
    then :meth:`Rows.make` takes the bound that follows from the least and greatest values.
    """
    moving = (a.change.entries > 0) | (b.change.entries > 0)
    apart = Moves.of(np.where(moving, apart.entries, 0.0))
    anything = Moves(np.full(moving.shape, np.inf), math.inf, math.inf, 1.0)
    if ufunc in (np.add, np.subtract):
        unit = min(a.unit, b.unit)
        return Bounds(a.size.plus(b.size), a.change.plus(b.change), unit)
    if ufunc in (np.minimum, np.maximum):
        return Bounds(anything, a.change.plus(b.change).within(apart), min(a.unit, b.unit))
    if ufunc is np.divide and np.ndim(ends[1][0]) == 0 and ends[1][0] == ends[1][1]:
        factor, unit = inverse_of(float(ends[1][0]))
        return a.each(lambda moves: moves.times(factor), a.unit * unit)
    if ufunc is not np.multiply:
        return Bounds(anything, apart, float(ufunc in _TESTS))
    by_b, by_a = (largest_of(side.size.entries) for side in (b, a))
    size = a.size.times(by_b).within(b.size.times(by_a))
    # The bound of the change follows from ab − a′b′ = (a − a′)b + a′(b − b′).
    shared = a.size.times(largest_of(b.change.entries)).within(b.change.times(by_a))
    change = a.change.times(by_b).plus(shared).within(apart)
    return Bounds(size, change, a.unit * b.unit)


# NumPy keeps the order of axes if all parts of an index have these types.
_BASIC = {int, slice, type(None), type(Ellipsis)}

_TESTS = {
    np.greater, np.greater_equal, np.less, np.less_equal, np.equal, np.not_equal,
    np.logical_and, np.logical_or,
}  # fmt: skip
_ROUNDED = {np.add, np.subtract, np.multiply, np.divide}
_BINARY = {*_ROUNDED, np.minimum, np.maximum, *_TESTS}


def _tanhs(values: Any) -> Floats:
    return 2.0 * arithmetic.expits(2.0 * np.asarray(values)) - 1.0


# Properties of a function of one number. LENGTHS: it preserves absolute values and increases no
# distance, so that the bounds of its argument hold for the result. WHOLE: its values are integers.
# NOTHING: neither.
LENGTHS, WHOLE, NOTHING = "lengths", "whole", ""


def _own(name: str) -> Callable[[Any], Floats]:
    """Return the function `name` of `arithmetic`, looked up when it is called."""
    return lambda values: np.asarray(getattr(arithmetic, name)(values))


# Monotone and even functions of one number, with their properties. NumPy's own exponential may
# depend on the position of a number in an array; these functions do not.
_UNARY: Mapping[Any, tuple[Callable[[Any], Any], str]] = {
    np.exp: (_own("exps"), NOTHING), np.expm1: (_own("expm1s"), NOTHING),
    np.log: (_own("logs"), NOTHING), np.log1p: (_own("log1ps"), NOTHING),
    np.tanh: (_tanhs, NOTHING), np.sqrt: (np.sqrt, NOTHING), np.square: (np.square, NOTHING),
    np.negative: (np.negative, LENGTHS), np.absolute: (np.abs, LENGTHS),
    np.rint: (np.rint, WHOLE), np.floor: (np.floor, WHOLE), np.ceil: (np.ceil, WHOLE),
    np.sign: (np.sign, WHOLE),
}  # fmt: skip
