"""Convert attributes of a model to plain JSON and back, for the types that a learner declares.

A learner declares the type of each attribute that it releases (`CodedClassifier._released`). Saving
and loading use only this declaration: a file contains no names of Python classes, and loading it
imports and runs nothing. Numbers, texts and None are written unchanged, an array as nested lists,
a dataclass or a named tuple as an object of its fields. A float is written in the shortest decimal
form that gives the same bits.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache, partial
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np

# Maximum number of dimensions of an array in a file. Lists that are nested deeper are refused.
MOST_DIMENSIONS = 4


def encode(value: Any, declared: object, place: str) -> Any:
    """Convert a value of the type `declared` to plain JSON.

    The type is ``int``, ``float``, ``bool``, ``str``, None, an array (``NDArray[np.float64]``), a
    tuple (``tuple[int, ...]``, ``tuple[int, int]``), a dataclass or a named tuple of such fields,
    or a union. Raises ValueError if the value has another type, or if a number is not finite;
    `place` is the name of the value in the message.
    """
    kind = _find_type(declared, partial(_has_type, value), value, place)
    if kind is NoneType:
        return None
    if kind in _SCALARS:
        return _check_finite(kind(value), place)
    if get_origin(kind) is np.ndarray:
        if value.dtype.kind == "f" and not np.isfinite(value).all():
            raise ValueError(f"{place} must hold only finite numbers")
        return value.tolist()
    if get_origin(kind) is tuple:
        types = _list_item_types(kind, len(value), place)
        return [encode(item, types[i], f"{place}[{i}]") for i, item in enumerate(value)]
    pairs = _list_field_types(kind).items()
    return {name: encode(getattr(value, name), inner, f"{place}.{name}") for name, inner in pairs}


def decode(plain: Any, declared: object, place: str) -> Any:
    """Convert plain JSON from :func:`encode` back to a value of the type `declared`.

    An array gets the declared dtype; a list becomes a tuple. Raises ValueError if the content does
    not have this type, or if a number is not finite; `place` names the value in the message.
    """
    kind = _find_type(declared, partial(_matches_type, plain), plain, place)
    if kind is NoneType:
        return None
    if kind in _SCALARS:
        return _check_finite(kind(plain), place)
    if get_origin(kind) is np.ndarray:
        return _make_array(plain, _dtype_of(kind), place)
    if get_origin(kind) is tuple:
        types = _list_item_types(kind, len(plain), place)
        return tuple(decode(item, types[i], f"{place}[{i}]") for i, item in enumerate(plain))
    pairs = _list_field_types(kind).items()
    given = {name: inner for name, inner in pairs if name in plain}
    return kind(
        **{name: decode(plain[name], inner, f"{place}.{name}") for name, inner in given.items()}
    )


_SCALARS = (bool, int, float, str)
_NUMBERS = {bool: (bool, np.bool_), int: (int, np.integer), float: (float, np.floating)}


def alternatives(declared: object) -> tuple[Any, ...]:
    """Return the types in a union; for another type, the type alone."""
    if get_origin(declared) in (Union, UnionType):
        return tuple(map(_resolve_alias, get_args(declared)))
    return (NoneType,) if declared is None else (_resolve_alias(declared),)


def _resolve_alias(kind: object) -> Any:
    """Return the type that an alias names; since NumPy 2.5 ``NDArray`` is an alias."""
    value = getattr(get_origin(kind), "__value__", None)
    return kind if value is None else value[get_args(kind)]


def _find_type(declared: object, fits: Any, value: object, place: str) -> Any:
    for kind in alternatives(declared):
        if fits(kind):
            return kind
    words = " or ".join(map(_name_of, alternatives(declared)))
    raise ValueError(f"{place} must be {words}; got {_shorten(value)}")


def _has_type(value: Any, kind: Any) -> bool:
    """Return whether a value of a fitted model has the type `kind`."""
    if kind in _NUMBERS:
        return isinstance(value, _NUMBERS[kind]) and (kind is bool or not isinstance(value, bool))
    if get_origin(kind) is np.ndarray:
        return isinstance(value, np.ndarray) and value.dtype == _dtype_of(kind)
    if get_origin(kind) is tuple:
        return isinstance(value, (tuple, list)) and not hasattr(value, "_fields")
    return isinstance(value, kind)


def _matches_type(plain: object, kind: object) -> bool:
    """Return whether plain JSON has the form of a value of the type `kind`."""
    if kind in (int, float):
        return isinstance(plain, (int, kind)) and not isinstance(plain, bool)
    if kind in (bool, str, NoneType):
        return isinstance(plain, kind)
    if get_origin(kind) in (np.ndarray, tuple):
        return isinstance(plain, list)
    if not isinstance(plain, Mapping):
        return False
    # A file of an earlier version may lack fields that this version added. Such fields must have a
    # default.
    names = _list_field_types(kind).keys()
    return names - _list_defaults(kind) <= plain.keys() <= names


def _list_item_types(kind: object, length: int, place: str) -> tuple[Any, ...]:
    """Return the type of each item of a tuple type `kind`, for a tuple of `length` items.

    Raises ValueError if the tuple type has another number of items.
    """
    inner = get_args(kind)
    if inner[-1] is Ellipsis:
        return inner[:1] * length
    if len(inner) != length:
        raise ValueError(f"{place} must have {len(inner)} items; got {length}")
    return inner


@cache
def _list_field_types(kind: type) -> Mapping[str, Any]:
    """Return the declared types of the fields of a dataclass or a named tuple."""
    hints = get_type_hints(kind)
    names = [f.name for f in fields(kind)] if is_dataclass(kind) else getattr(kind, "_fields", ())
    if not names:
        raise TypeError(f"{kind} is neither a dataclass nor a named tuple")
    return {name: hints[name] for name in names}


@cache
def _list_defaults(kind: type) -> frozenset[str]:
    """Return the names of the fields of a dataclass that have a default."""
    if not is_dataclass(kind):
        return frozenset()
    return frozenset(f.name for f in fields(kind) if f.default is not MISSING)


def _dtype_of(kind: object) -> np.dtype[Any]:
    return np.dtype(get_args(get_args(kind)[1])[0])


def _make_array(plain: list[Any], dtype: np.dtype[Any], place: str) -> np.ndarray[Any, Any]:
    """Convert nested lists of numbers to an array of `dtype`.

    Raises ValueError if the lists do not form an array, or an item is no finite number of `dtype`.
    """
    kinds = {bool} if dtype.kind == "b" else {int} if dtype.kind in "iu" else {int, float}
    leaves, level = plain, 1
    while leaves and all(isinstance(item, list) for item in leaves) and level < MOST_DIMENSIONS:
        leaves, level = [number for item in leaves for number in item], level + 1
    if any(type(number) not in kinds for number in leaves):
        raise ValueError(f"{place} must hold only numbers of type {dtype}")
    try:
        array = np.array(plain, dtype=dtype)
    except (ValueError, OverflowError, TypeError):
        raise ValueError(f"{place} is not an array of {dtype}") from None
    if dtype.kind == "f" and not np.isfinite(array).all():
        raise ValueError(f"{place} must hold only finite numbers")
    return array


def _check_finite(value: object, place: str) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{place} must be finite; got {value}")
    return value


def _name_of(kind: Any) -> str:
    if kind is NoneType:
        return "null"
    if get_origin(kind) is np.ndarray:
        return f"an array of {_dtype_of(kind)}"
    return "a list" if get_origin(kind) is tuple else f"a {kind.__name__}"


def _shorten(value: object) -> str:
    if isinstance(value, Mapping):
        return f"an object with {', '.join(map(str, value)) or 'nothing'}"[:80]
    return f"{type(value).__name__} {value!r}"[:60]
