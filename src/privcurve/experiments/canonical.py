"""Write numbers, titles, settings and keys as canonical texts: equal values get equal texts."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

# Relative tolerance below which two numbers count as equal up to rounding, such as 0.3 and 0.1 +
# 0.2.
_ROUNDING = 1e-9


def number(value: float) -> str:
    """Write a number in its shortest form: ``0.05``, ``1``, ``inf``."""
    value = float(value)
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)


def real(value: float) -> float:
    """Return a number as a float; raise ValueError if it is an integer too large for a float."""
    try:
        return float(value)
    except OverflowError:
        raise ValueError(f"a number must be at most 1.8e308; got {str(value)[:20]}…") from None


def check_distinct(what: str, values: Iterable[object]) -> None:
    """Raise ValueError if two of the numbers in `values` are equal or differ only by rounding.

    Values that are not numbers are ignored. `what` is the parameter's name, for the message.
    """
    reals = [value for value in values if isinstance(value, (int, float)) and value == value]
    try:
        numbers = sorted(map(real, reals))
    except ValueError as error:
        raise ValueError(f"{what}: {error}") from None
    for smaller, larger in itertools.pairwise(numbers):
        if smaller == larger:
            raise ValueError(f"{what} must be distinct; {number(smaller)} occurs twice. Keep one")
        if math.isclose(smaller, larger, rel_tol=_ROUNDING):
            both = f"{number(smaller)} and {number(larger)} differ only by rounding"
            raise ValueError(f"{what} must be distinct; {both}. Keep one")


def title(words: str) -> str:
    """Return `words` on one line, with single spaces, in Unicode normal form NFC."""
    return " ".join(unicodedata.normalize("NFC", words).split())


def _simplify(value: object) -> Any:
    # For speed, texts and lists of texts are tested first: most values of large studies are texts.
    if isinstance(value, str):
        return value
    if isinstance(value, (list, tuple)):
        return [item if type(item) is str else _simplify(item) for item in value]
    if type(value) is int:
        return value
    if isinstance(value, Mapping):
        return {str(key): _simplify(value[key]) for key in sorted(value)}
    if isinstance(value, float):
        if math.isinf(value):
            return number(value)
        return int(value) if value == int(value) else value
    return value


_encode = json.JSONEncoder(separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode


def text(value: object) -> str:
    """Write `value` as canonical JSON: keys are sorted, and ``1.0`` is written as ``1``."""
    return _encode(_simplify(value))


def digest(value: object) -> str:
    """Return the SHA-256 of the canonical JSON of `value` (:func:`text`), in hex."""
    return _hash(text(value))


def digest_of_texts(texts: Sequence[Sequence[str]], *others: Any) -> str:
    """Return ``digest([texts, *others])``, but faster for many texts."""
    return _hash(f"[{_encode(texts)},{text(others)[1:]}")


def _hash(written: str) -> str:
    return hashlib.sha256(written.encode()).hexdigest()
