"""Define sums over records with known sensitivity, and public linear functions of sums.

docs/proofs.md, 'Derived sensitivities', D9 to D11, has the rules.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache, wraps
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from privcurve.coding import Floats
from privcurve.privacy.budget import ADD_REMOVE
from privcurve.privacy.moves import ULP, Moves, join
from privcurve.privacy.sealed import Sealed, batches_of, kernel, open_values

# Maximum number of records in a sum, and maximum entry of a row in units of the row's grid. Within
# both limits, sums fit in 64 bits.
MOST_RECORDS, MOST_UNITS = 2**32, 2.0**30
# Integers up to _EXACT are exact as floats. Integers below _MOST_WHOLE fit in 64 bits.
_EXACT = 2.0**53
_MOST_WHOLE = 2.0**63
# The absolute value of a bound other than 0 lies between LEAST and MOST. So its square, and the
# unit to which sums with this bound are rounded, are normal floats.
LEAST, MOST = 2.0**-400, 2.0**400
# Units that `unit_of` tries for public numbers: most learners multiply by multiples of one of these
# units.
_UNITS = tuple(2.0**-k for k in (0, 1, 2, 10, 22, 40))


# The `batches` of a sum over all records.
ALL = frozenset({""})


class Bounds(NamedTuple):
    """Public bounds of rows or sums."""

    size: Moves  # bounds of what one record adds
    change: Moves  # bounds of the change if one record is replaced
    # all numbers are integer multiples of this power of two; 0 if there is no such unit
    unit: float
    # Largest absolute value of the public numbers that were added to the sums. They increase the
    # sums, and so the rounding errors.
    shift: float = 0.0
    # The names of the sampled batches in the sums; the empty name means all records.
    batches: frozenset[str] = ALL

    def each(self, rule: Callable[[Moves], Moves], unit: float | None = None) -> Bounds:
        """Return the bounds with `rule` applied to `size` and `change`, and a new unit if given."""
        unit = self.unit if unit is None else unit
        return Bounds(rule(self.size), rule(self.change), unit, self.shift, self.batches)

    @property
    def most(self) -> float:
        """The largest absolute value of a sum over at most `MOST_RECORDS` records."""
        return MOST_RECORDS * largest_of(self.size.entries) + self.shift

    def error(self, most: float) -> float:
        """Return the largest rounding error of the difference of two results in ±`most`."""
        return 0.0 if self.unit and most <= _EXACT * self.unit else most * ULP

    def checked(self) -> Bounds:
        """Return these bounds; raise ValueError if one is NaN, or beyond `LEAST` or `MOST`."""
        for moves in (self.size, self.change):
            entries = moves.entries
            inside = (entries == 0) | ((entries >= LEAST) & (entries <= MOST))
            if not (inside.all() and moves.l1 + moves.l2 < math.inf):
                raise ValueError(
                    "bounds of rows and sums must be 0, or from 2^-400 to 2^400; the last step has "
                    f"some of {float(entries.min()):g} to {float(entries.max()):g}: scale what "
                    "goes into it"
                )
        return self


def unit_of(numbers: Floats) -> float:
    """Return the largest number of `_UNITS` that divides all numbers; 0 if none divides them."""
    return next((u for u in _UNITS if np.array_equal(np.rint(numbers / u) * u, numbers)), 0.0)


def largest_of(numbers: Floats) -> float:
    """Return the largest absolute value; 0 if there are no numbers."""
    return float(np.abs(numbers).max(initial=0.0))


def public_numbers(value: Any) -> Floats | None:
    """Return public numbers as float64; None if `value` is sealed, or has no numbers.

    Numbers with an absolute value below `LEAST` become 0.
    """
    if isinstance(value, Sealed) or np.asarray(value).dtype.kind not in "biuf":
        return None
    numbers = np.asarray(value, dtype=np.float64)
    is_small = np.abs(numbers) < LEAST
    return np.where(is_small, 0.0, numbers) if is_small.any() else numbers


def as_given(value: Any) -> Any:
    """Return public numbers as float64; integers and booleans are returned unchanged."""
    return value if np.asarray(value).dtype.kind in "biu" else public_numbers(value)


class Bounded(Sealed):
    """Sealed exact values with public bounds: the base class of rows and sums."""

    __slots__ = ("_bounds",)

    _bounds: Bounds

    def __setitem__(self, index: Any, value: Any) -> None:
        self._refuse("writing into values with bounds; np.where, or np.column_stack,")

    def copy(self) -> Any:
        """Return itself, as nothing can write into it."""
        return self

    def _by_rule(self, ufunc: np.ufunc, *inputs: Any) -> Any:
        raise NotImplementedError

    def __array_ufunc__(
        self, ufunc: np.ufunc, method: str, *inputs: Any, out: Any = None, **more: Any
    ) -> Any:
        if out is not None and any(isinstance(one, Bounded) for one in out):
            self._refuse("an array with bounds as out")
        if out is None and not more and method == "__call__":
            made = self._by_rule(ufunc, *inputs)
            if made is not None:
                return made
        if out is not None:
            more["out"] = out
        return super().__array_ufunc__(ufunc, method, *inputs, **more)


class Sum(Bounded):
    """Sums over records, and public linear functions of sums, with their sensitivities (D10)."""

    __slots__ = ()

    @classmethod
    def make(cls, values: NDArray[Any], learner: str, bounds: Bounds) -> Self:
        """Return `values` as sums with the given bounds, which are checked."""
        values = np.asarray(values).view()
        values.flags.writeable = False
        made = cls(values, learner)
        made._bounds = bounds
        return made

    def _made(self, values: NDArray[Any], bounds: Bounds) -> Self:
        return type(self).make(np.asarray(values), self._learner, bounds)

    def _rounded(self, values: Floats, bounds: Bounds, steps: int = 1, more: float = 0.0) -> Self:
        """Return a result whose bounds include the rounding of `steps` operations.

        `more` bounds the public numbers that were added.
        """
        bounds = bounds._replace(shift=bounds.shift + more)
        most = bounds.most
        # Integers that fit in 64 bits are exact, so they have no rounding error.
        is_whole = values.dtype.kind == "i" and most < _MOST_WHOLE
        error = 0.0 if is_whole else steps * bounds.error(most)
        bounds = bounds.each(lambda moves: moves.loosened(error)) if error else bounds
        return self._made(values, bounds.checked())

    @property
    def batches(self) -> frozenset[str]:
        """The names of the sampled batches in the sum; the empty name means all records."""
        return self._bounds.batches

    def moves(self, neighbours: str) -> Moves:
        """Return bounds of the change of the sums between neighbours, by entry and in norm."""
        moves = self._bounds.size if neighbours == ADD_REMOVE else self._bounds.change
        # A copy, so that a caller cannot change the bounds by writing into it.
        return moves._replace(entries=moves.entries.copy())

    def score_range(self, neighbours: str) -> float:
        """Return a bound on the range, max − min, of the changes of scores between neighbours."""
        moves = self.moves(neighbours)
        return min(2 * largest_of(moves.entries), moves.l1)

    def norm1(self) -> Self:
        """Return the L1 norm of all numbers; its sensitivity is at most their L1 sensitivity."""
        n = self._array.size
        error = n * self._bounds.error(n * self._bounds.most)
        bounds = self._bounds.each(lambda m: Moves(np.array(m.l1), m.l1, m.l1, 1.0).loosened(error))
        shift = n * self._bounds.shift
        return self._made(np.abs(self._array).sum(), bounds._replace(shift=shift).checked())

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, Sealed):
            return super().__getitem__(index)
        return self._made(self._array[index], self._bounds.each(lambda moves: moves.take(index)))

    def reshape(self, *shape: Any) -> Any:
        """Return the sums in another shape, as in NumPy."""
        bounds = self._bounds.each(lambda m: m._replace(entries=m.entries.reshape(*shape)))
        return self._made(self._array.reshape(*shape), bounds)

    def __array_function__(
        self, function: Any, types: Any, inputs: tuple[Any, ...], more: dict[str, Any]
    ) -> Any:
        if function is np.concatenate and len(inputs) == 1 and not more:
            parts = list(inputs[0])
            if all(isinstance(part, Sum) for part in parts):
                return joined(parts)
        return super().__array_function__(function, types, inputs, more)

    def _by_rule(self, ufunc: np.ufunc, *inputs: Any) -> Self | None:
        bounds = self._bounds
        if ufunc is np.negative:
            return self._made(-self._array, bounds)
        if len(inputs) != 2:
            return None
        left, right = inputs
        if isinstance(left, Sum) and isinstance(right, Sum):
            if ufunc not in (np.add, np.subtract) or left.shape != right.shape:
                return None
            values, (one, other) = ufunc(left._array, right._array), (left._bounds, right._bounds)
            both = one.size.plus(other.size), one.change.plus(other.change)
            unit, shift = min(one.unit, other.unit), one.shift + other.shift
            batches = one.batches | other.batches
            return self._rounded(values, Bounds(*both, unit, shift, batches))
        numbers = public_numbers(right if left is self else left)
        if numbers is None or not np.isfinite(numbers).all():
            return None
        unit = unit_of(numbers)
        if ufunc is np.matmul and left is self and 0 < numbers.ndim <= 2 and self.ndim:
            return self.over(numbers)
        if ufunc in (np.add, np.subtract) and numbers.shape in ((), self.shape):
            values = ufunc(*(one._array if one is self else as_given(one) for one in inputs))
            beside = bounds._replace(unit=min(bounds.unit, unit))
            return self._rounded(values, beside, more=largest_of(numbers))
        if ufunc is np.divide and left is self and numbers.ndim == 0 and numbers:
            return self._times(self._array / numbers, *inverse_of(float(numbers)))
        if ufunc is np.multiply and numbers.ndim == 0:
            number = as_given(right if left is self else left)
            return self._times(self._array * number, abs(float(numbers)), unit)
        return None

    def over(self, matrix: Floats) -> Self:
        """Return the product of the last axis with a public matrix, or vector."""
        # Imported late: planning a run imports this file, and need not load Numba.
        from privcurve.kernels.rows import times_matrix

        unit = self._bounds.unit * unit_of(matrix)
        bounds = self._bounds.each(lambda moves: moves.mapped(matrix), unit)
        shift = self._bounds.shift * float(np.abs(matrix).sum())
        bounds = bounds._replace(shift=shift)
        values = times_matrix(self._array.astype(np.float64), matrix)
        return self._rounded(values, bounds, len(matrix))

    def _times(self, values: Floats, factor: float, unit: float) -> Self:
        bounds = self._bounds.each(lambda m: m.times(factor), self._bounds.unit * unit)
        bounds = bounds._replace(shift=self._bounds.shift * factor)
        return self._rounded(values, bounds)


def inverse_of(number: float) -> tuple[float, float]:
    """Return |1/number|, rounded up, and its unit (`Bounds.unit`)."""
    inverse = abs(1.0 / number)
    if math.frexp(inverse)[0] == 0.5:
        return inverse, unit_of(np.asarray(inverse))
    return math.nextafter(inverse, math.inf), 0.0


class LoopSum(Sum):
    """Sums that a loop registered by :func:`adds` or :func:`adds_in_parts` has computed.

    The bounds are those that the learner has registered with the loop, and nothing derives them
    from the loop's code. So they count as derived only in learners of this project.
    """

    __slots__ = ()


def joined(parts: Sequence[Sum]) -> Sum:
    """Return sums stacked along the first axis."""
    values = np.concatenate([part._array for part in parts])
    kind = LoopSum if any(isinstance(part, LoopSum) for part in parts) else Sum
    return kind.make(values, parts[0]._learner, join_bounds([part._bounds for part in parts]))


def join_bounds(parts: Sequence[Bounds]) -> Bounds:
    """Return the bounds of numbers that are concatenated along the first axis."""
    size, change = (
        join(moves, np.concatenate([m.entries for m in moves]))
        for moves in ([p.size for p in parts], [p.change for p in parts])
    )
    batches = frozenset[str]().union(*(p.batches for p in parts))
    return Bounds(size, change, min(p.unit for p in parts), max(p.shift for p in parts), batches)


@lru_cache(maxsize=256)
def one_cell(shape: tuple[int, ...]) -> Bounds:
    """Return the bounds of a table of counts in which a record adds 1 to a single cell (D7)."""
    each = np.ones(shape)
    return Bounds(Moves(each, 1.0, 1.0, 1.0), Moves(each, 2.0, 1.0, 2.0), 1.0)


def is_open(values: Any) -> bool:
    """Return whether values are rows or sums of open records, in a fit without privacy."""
    return isinstance(values, Bounded) and not values._learner


# Registered loops by name, each with the function that returns the bounds of its sums.
LOOPS: dict[str, Any] = {}


def with_bounds(total: Any, learner: str, bounds: Bounds | Sequence[Bounds]) -> Any:
    """Return the total of a loop as a `LoopSum`.

    If `bounds` is a sequence, `total` is a concatenation of sums, one for each item of `bounds`.
    Then the result is a list of these sums.
    """
    if isinstance(bounds, Bounds):
        return LoopSum.make(total, learner, bounds)
    shapes = [part.size.entries.shape for part in bounds]
    # The axis along which the sums are concatenated: the first in which the shapes differ.
    axis = next((k for k, n in enumerate(total.shape) if n != shapes[0][k]), 0)
    start, parts = 0, []
    for shape, part in zip(shapes, bounds, strict=True):
        within = slice(start, start := start + shape[axis])
        parts.append(LoopSum.make(total[(slice(None),) * axis + (within,)], learner, part))
    return parts


def adds_in_parts(bounds: Callable[..., Any]) -> Callable[[Any], Any]:
    """Return a decorator for a method that adds up the contributions of one part of the records.

    `parts.Totals` calls such methods. `bounds` is called with the same arguments as the method,
    except that None replaces `self`.
    """

    def register(loop: Any) -> Any:
        LOOPS[loop.__qualname__] = loop, bounds
        loop.bounds = bounds
        return loop

    return register


def adds(bounds: Callable[..., Bounds]) -> Callable[[Any], Any]:
    """Return a decorator for a loop that adds up one contribution per record, into a `LoopSum`.

    The loop must clip each contribution to `bounds(*arguments)`, which may use only the public
    arguments of the loop. `LOOPS` lists these loops; a test checks that the contribution of a
    record does not depend on other records, and is within the bounds.
    """

    def register(loop: Any) -> Any:
        opened = kernel(adds_in_parts(bounds)(loop))

        @wraps(loop)
        def run(*given: Any) -> Any:
            total = opened(*given)
            learner = total._learner if isinstance(total, Sealed) else ""
            own = bounds(*given)
            if (batches := batches_of(given)) != ALL:
                own = own._replace(batches=batches)
            return with_bounds(open_values(total), learner, own)

        return run

    return register
