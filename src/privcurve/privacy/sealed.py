"""Sealed values: exact values that a learner computes with, but whose inspection ends its fit.

A private fit gets records whose arrays are :class:`Sealed`. NumPy's arithmetic accepts them (NEP 13
and 18), compiled loops accept them through :func:`kernel`, and results are sealed again. Branching
on a sealed value, converting, printing, storing or iterating it raises :class:`SealedError`, and so
does any operation whose result has a shape that depends on values. Equal records share a row, so
the number of rows reveals how many are equal: the length of the axis of rows is sealed, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial, wraps
from types import FunctionType
from typing import Any, NoReturn, cast

import numpy as np

from privcurve.privacy.reach import PLAIN, can_change, refuse_outside, steps_outside
from privcurve.privacy.refused import SealedError

WHOLE = "whole"
BY_VALUE = "a result whose shape follows from values"
ALONG_ROWS = "a public array, or an index, along the rows"

NUMBER = "the number of records, if records may be added"


class Sealed(np.lib.mixins.NDArrayOperatorsMixin):
    """Exact values of a learner's fit. The length of the axis `_rows` is sealed, too."""

    __slots__ = ("_array", "_learner", "_rows")

    def __init__(self, array: Any, learner: str, rows: int | None = None) -> None:
        self._array, self._learner, self._rows = np.asarray(array), learner, rows

    def _refuse(self, what: str) -> NoReturn:
        raise SealedError(self._learner, what)

    def _open(self) -> Any:
        return self._array.item() if self._array.dtype.hasobject else self._array

    def _wrap(self, array: Any, rows: int | None) -> Sealed:
        return Sealed(array, self._learner, rows)

    # Public properties ---------------------------------------------------------------------

    @property
    def dtype(self) -> np.dtype[Any]:
        """The data type, as in NumPy."""
        return self._array.dtype

    @property
    def ndim(self) -> int:
        """The number of axes, as in NumPy."""
        return self._array.ndim

    @property
    def shape(self) -> tuple[Any, ...]:
        """The shape, as in NumPy; the length of the axis of rows is sealed."""
        shape: list[Any] = list(self._array.shape)
        if self._rows is not None:
            shape[self._rows] = self._wrap(shape[self._rows], None)
        return tuple(shape)

    @property
    def size(self) -> Any:
        """The number of entries, as in NumPy; sealed if the array has an axis of rows."""
        size = self._array.size
        return size if self._rows is None else self._wrap(size, None)

    def __len__(self) -> int:
        if self._rows == 0 or not self.ndim:
            self._refuse("len")
        return len(self._array)

    # Operations with sealed results -------------------------------------------------------

    @property
    def T(self) -> Sealed:  # noqa: N802, as in NumPy
        """The transposed array."""
        rows = None if self._rows is None else self.ndim - 1 - self._rows
        return self._wrap(self._array.T, rows)

    def astype(self, dtype: Any) -> Sealed:
        """Return the values in another data type; refuse objects and texts, which reveal values."""
        if self.dtype.hasobject or not _is_of_numbers(np.dtype(dtype)):
            self._refuse("a type other than numbers")
        return self._wrap(self._quietly(self._array.astype, dtype), self._rows)

    def copy(self) -> Sealed:
        """Return a copy, as in NumPy."""
        return self._wrap(self._array.copy(), self._rows)

    def sum(self, axis: Any = None, keepdims: bool = False) -> Sealed:
        """Return the sum along an axis, as in NumPy."""
        return cast(Sealed, np.sum(self, axis=axis, keepdims=keepdims))

    def max(self, axis: Any = None, initial: float = -np.inf) -> Sealed:
        """Return the maximum along an axis, as in NumPy; `initial` if there are no rows."""
        return cast(Sealed, np.max(self, axis=axis, initial=initial))

    def ravel(self) -> Sealed:
        """Return the entries as a one-dimensional array, as in NumPy."""
        return self.reshape(-1)

    def reshape(self, *shape: Any) -> Sealed:
        """Return the entries in another shape, as in NumPy."""
        rows = self._rows
        if rows is not None:
            wanted = shape[0] if isinstance(shape[0], tuple) else shape
            if self.ndim > 1 or wanted not in ((-1,), (-1, 1), (1, -1)):
                self._refuse("another shape of rows")
            rows = wanted.index(-1)
        return self._wrap(self._quietly(self._array.reshape, *shape), rows)

    def __getitem__(self, index: Any) -> Sealed:
        if isinstance(index, Sealed):
            if index.dtype == bool or self._rows not in (None, 0):
                self._refuse(BY_VALUE)
            return self._wrap(self._quietly(self._array.__getitem__, index._array), index._rows)
        return self._wrap(self._array[index], self._rows_at(index))

    def __setitem__(self, index: Any, value: Any) -> None:
        rows, values = self._rows_at(index), open_values(value)
        if rows is not None and np.ndim(values):
            # The axis of rows, counted from the end. Along it, public values must have length 1.
            place = np.ndim(self._array[index]) - rows
            own = getattr(value, "_rows", None)
            fits = np.ndim(values) < place or np.shape(values)[-place] == 1
            if (own is None and not fits) or (own is not None and np.ndim(values) - own != place):
                self._refuse(ALONG_ROWS)
        self._quietly(self._array.__setitem__, index, values)

    def _quietly(self, method: Any, *given: Any) -> Any:
        return call_quietly(self._learner, method, given, {})

    def _rows_at(self, index: Any) -> int | None:
        """Return which axis of `self[index]` is the axis of rows; refuse an index along it."""
        if self._rows is None:
            return None
        if type(index) is int and self._rows:
            return self._rows - 1
        parts = list(index) if isinstance(index, tuple) else [index]
        at = next((k for k, part in enumerate(parts) if part is Ellipsis), None)
        if at is not None:
            given = sum(part is not None for part in parts) - 1
            parts[at : at + 1] = [slice(None)] * (self.ndim - given)
        places = [k for k, part in enumerate(parts) if part is not None]
        if len(places) > self._rows:
            if not isinstance(parts[places[self._rows]], slice):
                self._refuse(ALONG_ROWS)
            parts[places[self._rows]] = slice(None)
        if all(part is None or isinstance(part, slice) for part in parts):
            before = places[self._rows] if len(places) > self._rows else len(parts)
            return before + max(self._rows - len(places), 0)
        # The results for dummies of 2 and of 3 rows differ only in the length of the axis of rows.
        shapes = []
        for n in (2, 3):
            shape = list(self._array.shape)
            shape[self._rows] = n
            shapes.append(np.broadcast_to(np.int8(0), shape)[tuple(parts)].shape)
        return next(k for k, (one, other) in enumerate(zip(*shapes, strict=True)) if one != other)

    def __array_ufunc__(
        self, ufunc: np.ufunc, method: str, *inputs: Any, out: Any = None, **more: Any
    ) -> Any:
        plain = [one for one in inputs if type(one) not in PLAIN and not isinstance(one, Sealed)]
        objects = any(np.asarray(one).dtype.kind == "O" for one in plain if not has_sealed(one))
        if objects or (ufunc.ntypes < 2 and "".join(ufunc.types).startswith("O")):
            self._refuse(f"{ufunc.__name__} of objects, which may inspect values")
        if ufunc is np.matmul:
            rows = self._rows_of_product(*inputs)
        elif method == "__call__":
            rows = self._broadcast_rows(inputs)
        elif method in ("reduce", "accumulate", "reduceat") and inputs[0] is self:
            rows = self._rows
            if method == "reduce":
                rows = self._rows_left(more.get("axis", 0), bool(more.get("keepdims")))
                if ufunc not in (np.add, np.logical_or, np.logical_and) and "initial" not in more:
                    self._refuse_rows(f"{ufunc.__name__} of rows, which may be empty")
            elif rows is not None and more.get("axis", 0) % self.ndim == rows:
                self._refuse(ALONG_ROWS)
        else:
            self._refuse(f"{ufunc.__name__}.{method}")
        self._check_type(more)
        if out is not None:
            if not all(isinstance(one, Sealed) for one in out):
                self._refuse("a plain array as out")
            more["out"] = out
        if more:
            if any(name not in ("where", "out", "initial") for name in _sealed_names(more)):
                self._refuse(BY_VALUE)
            more = _open_named(more)
        call = ufunc if method == "__call__" else getattr(ufunc, method)
        result = call_quietly(self._learner, call, _open_each(inputs), more)
        if out is not None:
            return out[0] if len(out) == 1 else out
        return seal(result, self._learner, rows)

    def __array_function__(
        self, function: Any, types: Any, inputs: tuple[Any, ...], more: dict[str, Any]
    ) -> Any:
        rule = _RULES.get(function)
        # The arguments after the array, such as shapes, axes or indices, must be public.
        others = inputs[1:] if function in _OF_ONE else ()
        if rule is None or (function is np.where and len(inputs) < 3) or has_sealed(others):
            self._refuse(f"np.{function.__name__}, {BY_VALUE}")
        # A further positional argument might be `out`, an array to write into.
        if "out" in more or len(inputs) > 2 + (function in (np.where, np.clip)):
            self._refuse(f"np.{function.__name__} into an array, or with more positional arguments")
        if _sealed_names(more):
            self._refuse(BY_VALUE)
        self._check_type(more)
        rows = rule(self, inputs, more)
        if function in (np.shape, np.ndim, np.size):
            return getattr(self, function.__name__)
        result = call_quietly(self._learner, function, _open_each(inputs), more)
        return seal(result, self._learner, rows)

    def _check_type(self, more: Mapping[str, Any]) -> None:
        """Refuse a `dtype` of objects or texts: it reveals types of objects or lengths of texts."""
        wanted = more.get("dtype")
        if wanted is not None and not _is_of_numbers(np.dtype(wanted)):
            self._refuse("a result of objects or texts")

    # Which axis of a result is the axis of rows -------------------------------------------

    def _refuse_rows(self, what: str = ALONG_ROWS) -> None:
        if self._rows is not None:
            self._refuse(what)

    def _rows_left(self, axis: Any, keepdims: bool) -> int | None:
        """Return the axis of rows after a reduction over `axis`; None if it is reduced, too."""
        if self._rows is None or axis is None:
            return None
        axes = {one % self.ndim for one in (axis if isinstance(axis, tuple) else (axis,))}
        if self._rows in axes:
            return None
        return self._rows if keepdims else self._rows - sum(one < self._rows for one in axes)

    def _broadcast_rows(self, inputs: Any) -> int | None:
        """Return the axis of rows of broadcast arrays; refuse public arrays along this axis."""
        place = most = 0
        others = []
        for one in inputs:
            if type(one) in PLAIN:
                continue
            sealed = isinstance(one, Sealed)
            shape = one._array.shape if sealed else np.asarray(open_values(one)).shape
            most = max(most, len(shape))
            if not sealed or one._rows is None:
                others.append(shape)
            elif place in (0, len(shape) - one._rows):
                place = len(shape) - one._rows
            else:
                self._refuse("rows along two axes")
        if not place:
            return None
        for shape in others:
            if len(shape) >= place and shape[-place] != 1:
                self._refuse(ALONG_ROWS)
        return most - place

    def _rows_of_product(self, left: Any, right: Any) -> int | None:
        """Return the axis of rows of a matrix product."""
        dims = left.ndim, right.ndim
        rows = [one._rows if isinstance(one, Sealed) else None for one in (left, right)]
        inner = dims[0] - 1, max(dims[1] - 2, 0)
        if any(row is not None for row in rows) and max(dims) > 2:
            self._refuse("a product of more than two axes")
        if (rows[0] == inner[0]) != (rows[1] == inner[1]):
            self._refuse(ALONG_ROWS)
        if rows[0] is not None and rows[0] != inner[0]:
            return 0
        return dims[0] - 1 if rows[1] is not None and rows[1] != inner[1] else None

    # Operations that inspect values -----------------------------------------------------------

    @property
    def _numba_type_(self) -> NoReturn:
        self._refuse("a compiled loop that is not a kernel")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        self._refuse(f".{name}")


class Drawn(Sealed):
    """Sealed values of the records of a sampled batch, with the name of the batch."""

    __slots__ = ("_batch",)

    def __init__(self, array: Any, learner: str, batch: str) -> None:
        super().__init__(array, learner, 0)
        self._batch = batch


def batches_of(values: Iterable[Any]) -> frozenset[str]:
    """Return the names of the batches of sealed values, also in tuples; "" names all records."""
    return frozenset(getattr(one, "_batch", "") for one in _leaves(values)) or frozenset({""})


def _make_refusal(name: str) -> Callable[..., Any]:
    def refuse(self: Sealed, *given: Any, **more: Any) -> NoReturn:
        self._refuse(name)

    return refuse


for _name in ("bool", "int", "float", "complex", "index", "array", "repr", "str", "reduce_ex",
              "reduce", "getstate", "copy", "deepcopy", "round", "buffer", "iter", "contains",
              "hash", "format"):  # fmt: skip
    setattr(Sealed, f"__{_name}__", _make_refusal(_name))


class Noise(Sealed):
    """Noise of a call that is charged already; a loop of :func:`mechanism` adds scores to it."""

    __slots__ = ()


def _rows_elementwise(self: Sealed, inputs: tuple[Any, ...], more: Mapping[str, Any]) -> int | None:
    return self._broadcast_rows([one for one in inputs if not isinstance(one, np.dtype | type)])


def _rows_after_sum(self: Sealed, inputs: tuple[Any, ...], more: Mapping[str, Any]) -> int | None:
    axis = more.get("axis", inputs[1] if len(inputs) > 1 else None)
    return self._rows_left(axis, bool(more.get("keepdims")))


def _rows_after_max(self: Sealed, inputs: tuple[Any, ...], more: Mapping[str, Any]) -> int | None:
    rows = _rows_after_sum(self, inputs, more)
    if rows is None and "initial" not in more:
        self._refuse_rows("the largest of rows, which may be empty")
    return rows


def _same_rows(self: Sealed, inputs: tuple[Any, ...], more: Mapping[str, Any]) -> int | None:
    return self._rows


def _rows_along_axis(self: Sealed, inputs: tuple[Any, ...], more: Mapping[str, Any]) -> int | None:
    axis = more.get("axis", -1)
    if self._rows is not None and (axis is None or axis % self.ndim == self._rows):
        self._refuse(ALONG_ROWS)
    return self._rows


def _rows_of_public(self: Sealed, inputs: tuple[Any, ...], more: Mapping[str, Any]) -> int | None:
    for one in _leaves((*inputs, *more.values())):
        one._refuse_rows()
    return None


# NumPy functions for which the shape of the result depends on shapes of arguments alone: for each,
# the function that returns the result's axis of rows.
_RULES: dict[Any, Callable[[Sealed, tuple[Any, ...], Mapping[str, Any]], int | None]] = {
    **dict.fromkeys((np.where, np.clip, np.round, np.nan_to_num), _rows_elementwise),
    **dict.fromkeys((np.sum, np.mean, np.any, np.all), _rows_after_sum),
    **dict.fromkeys((np.max, np.min), _rows_after_max),
    **dict.fromkeys(
        (np.zeros_like, np.ones_like, np.full_like, np.shape, np.ndim, np.size), _same_rows
    ),
    **dict.fromkeys((np.cumsum, np.diff), _rows_along_axis),
    **dict.fromkeys(
        (np.concatenate, np.stack, np.column_stack, np.split, np.outer, np.diag, np.reshape,
         np.ravel, np.transpose, np.sort, np.argsort, np.argmax, np.argmin, np.dot, np.trace),
        _rows_of_public,
    ),
}  # fmt: skip
# Functions with a single array argument.
_OF_ONE = {
    np.sum, np.mean, np.any, np.all, np.max, np.min, np.zeros_like, np.ones_like, np.cumsum,
    np.diff, np.split, np.diag, np.reshape, np.ravel, np.transpose, np.sort, np.argsort, np.argmax,
    np.argmin, np.trace,
}  # fmt: skip


# Opening sealed values ---------------------------------------------------------------------------


# Types without sealed parts: testing the type first is fastest for most values.
_OPEN = PLAIN | {np.ndarray}


def _leaves(values: Iterable[Any]) -> Iterator[Sealed]:
    """Yield the sealed arrays among values, including nested tuples and lists."""
    for one in values:
        if type(one) in _OPEN:
            continue
        if isinstance(one, Sealed):
            yield one
        elif isinstance(one, (tuple, list)):
            yield from _leaves(one)


def has_sealed(value: Any) -> bool:
    """Return whether a value is sealed, or contains a sealed one in tuples and lists."""
    return next(_leaves((value,)), None) is not None


def open_values(value: Any) -> Any:
    """Open sealed values, also in tuples and lists. Learners must not call it, but use kernels."""
    if type(value) in _OPEN:
        return value
    if isinstance(value, Sealed):
        return value._open()
    return _remake(value, _open_each(value)) if isinstance(value, (tuple, list)) else value


def _open_each(values: Iterable[Any]) -> list[Any]:
    return [one if type(one) in _OPEN else open_values(one) for one in values]


def _remake(value: Any, parts: list[Any]) -> Any:
    """Return a tuple, named tuple or list of the type of `value`, with the elements `parts`."""
    kind = type(value)
    if kind is list:
        return parts
    return kind(*parts) if hasattr(kind, "_fields") else kind(parts)


def _sealed_names(more: Mapping[str, Any]) -> list[str]:
    return [name for name, value in more.items() if has_sealed(value)]


def _open_named(more: Mapping[str, Any]) -> dict[str, Any]:
    return {name: open_values(one) for name, one in more.items()}


def _is_of_numbers(kind: np.dtype[Any]) -> bool:
    """Return whether a dtype is of numbers or booleans, not of texts or objects."""
    return kind.kind in "biufc"


def seal(value: Any, learner: str, rows: Any = None) -> Any:
    """Seal an array, a number, or a sequence of them; `rows` is the axis of rows, or each axis."""
    if type(value) is np.ndarray and (rows is None or type(rows) is int):
        return _seal_array(value, learner, rows)
    if value is None or isinstance(value, Sealed):
        return value
    if rows == WHOLE:
        box = np.empty((), dtype=object)
        box[()] = value
        return Sealed(box, learner)
    if not isinstance(value, (tuple, list)):
        return _seal_array(np.asarray(value), learner, rows)
    axes = rows if isinstance(rows, tuple) else (rows,) * len(value)
    return _remake(value, [seal(one, learner, axis) for one, axis in zip(value, axes, strict=True)])


def _seal_array(array: Any, learner: str, rows: int | None) -> Sealed:
    if not _is_of_numbers(array.dtype):
        raise SealedError(
            learner, f"a result of the type {array.dtype}",
            "let a kernel return numbers, or set rows=WHOLE",
        )  # fmt: skip
    return Sealed(array, learner, rows)


def kernel(function: Any = None, rows: Any = None) -> Any:
    """Wrap a function of exact values: open its sealed arguments, and seal its results.

    If no argument is sealed, `function` is called directly. A kernel may write only into sealed
    arrays: it gets copies of public arrays, and must not use mutable closure variables, defaults,
    objects or globals. Functions that it calls are not checked. A kernel that returns nothing is
    annotated ``-> None``; other kernels must not return None, which could reveal exact values. The
    shape and type of a result, except the number of rows, must depend only on public arguments.

    Parameters
    ----------
    function : callable
        Takes arrays, numbers and words, also in tuples; compiled, or in Python.
    rows : int, None or tuple
        The axis of rows of the result, or a tuple with the axis of each item of the result. With
        `WHOLE`, the result is sealed as one object, and its shapes may depend on values.
    """
    if function is None:
        return partial(kernel, rows=rows)
    loop, beside = getattr(function, "py_func", function), []
    while isinstance(loop, partial):
        beside += [*loop.args, *loop.keywords.values()]
        loop = loop.func
    beside += getattr(loop, "__defaults__", None) or ()
    beside += [*(getattr(loop, "__kwdefaults__", None) or {}).values()]
    remembers = any(map(can_change, [*beside, getattr(loop, "__self__", None)]))
    # A callable object of a Python class may store exact values in its attributes.
    remembers = remembers or isinstance(type(loop).__call__, FunctionType)
    cells = getattr(loop, "__closure__", None) or ()
    # A compiled loop needs no check of its globals: Numba compiles them as constants.
    plain = isinstance(loop, FunctionType) and not hasattr(function, "py_func")
    outside = list(steps_outside(loop.__code__)) if plain else []
    writes = getattr(loop, "__annotations__", {}).get("return", "") in (None, "None")

    @wraps(function)
    def run(*given: Any, **more: Any) -> Any:
        sealed = next(_leaves((*given, *more.values()) if more else given), None)
        if sealed is None:
            return function(*given, **more)
        learner = sealed._learner
        arguments = [one if type(one) in PLAIN else _lend(one, learner) for one in given]
        named = {name: _lend(one, learner) for name, one in more.items()} if more else more
        for step in outside:
            refuse_outside(learner, loop, step)
        outside.clear()  # check them only before the first call, to save time
        reached = [cell.cell_contents for cell in cells] if cells else ()
        result = call_open(learner, function, arguments, named)
        if remembers or (cells and any(cell.cell_contents is not one or can_change(one)
               for cell, one in zip(cells, reached, strict=True))):  # fmt: skip
            name = getattr(loop, "__name__", type(loop).__name__)
            remedy = "a kernel must not write exact records elsewhere: pass it as an argument"
            raise SealedError(learner, f"kernel {name} closes over a mutable variable", remedy)
        if any(type(one) not in (Sealed, Noise) for one in _leaves((result,))):
            # A kernel sees exact values: nothing verifies the bounds of rows that it returns.
            raise SealedError(learner, f"{loop.__name__} returns rows or sums", "return an array")
        if _holds_none(result) != writes:
            what = "a value, although it is annotated -> None" if writes else "None"
            raise SealedError(
                learner, f"{loop.__name__} returns {what}",
                "annotate a kernel with -> None if it never returns a value, and only then",
            )  # fmt: skip
        return seal(result, learner, rows)

    return run


def _holds_none(result: Any) -> bool:
    """Return whether a result or a part of it is None, the only value that can't be sealed."""
    if isinstance(result, (tuple, list)):
        return any(map(_holds_none, result))
    return result is None


# np.take for sealed arrays; the result has one value per row.
take = kernel(np.take, rows=0)


def mechanism(function: Any, released: bool = True) -> Any:
    """Wrap a compiled loop that adds its scores to the curator's noise, and chooses by the sums.

    The result of the loop is open if it is `released`, else sealed. Public arrays into which the
    loop writes remain open. The contract check reads the scores of the loop from its noise array.
    """

    @wraps(function)
    def run(*given: Any, **more: Any) -> Any:
        sealed = list(_leaves((*given, *more.values())))
        if not sealed:
            return function(*given, **more)
        learner = sealed[0]._learner
        if Noise not in map(type, sealed):
            raise SealedError(learner, f"{function.__name__} without the curator's noise")
        result = call_quietly(learner, function, _open_each(given), _open_named(more))
        return result if released else seal(result, learner)

    return run


def call_quietly(learner: str, function: Any, given: Any, more: Mapping[str, Any]) -> Any:
    """Call a function with open values; no error and no NumPy warning shows these values."""
    with np.errstate(all="ignore"):
        return call_open(learner, function, given, more)


def call_open(learner: str, function: Any, given: Any, more: Mapping[str, Any]) -> Any:
    """Call a function with open values; no error shows these values."""
    # NumPy's warnings are off in the entire fit; turning them off here would take too long.
    try:
        return function(*given, **more)
    except Exception as error:
        # A partial has no `__name__`; an AttributeError here would show the original error.
        name = getattr(function, "__name__", "a kernel")
        failed = f"{name} ends with {type(error).__name__}"
    raise SealedError(
        learner, failed, "with epsilon = inf nothing is sealed, and the error is printed"
    )


def _lend(value: Any, learner: str) -> Any:
    """Return an argument for a kernel: sealed arrays are opened, public arrays copied."""
    if isinstance(value, Sealed):
        return value._open()
    if isinstance(value, np.ndarray):
        return value.copy()
    if isinstance(value, (tuple, list)):
        return _remake(value, [_lend(one, learner) for one in value])
    if value is None or isinstance(value, (int, float, str, np.generic)) or callable(value):
        return value
    raise SealedError(
        learner, f"a {type(value).__name__} as an argument of a kernel", "pass arrays"
    )


def public_rows(value: Any) -> Any:
    """Open sealed values; refuse an array with an axis of rows."""
    if isinstance(value, Sealed):
        value._refuse_rows("numbers by row, whose length reveals how many records are equal")
    return open_values(value)
