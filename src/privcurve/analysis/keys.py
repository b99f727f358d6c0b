"""Keys of rows in tables; numbers are compared by twelve digits, as files round them."""

from __future__ import annotations

import math
from collections.abc import Iterable

# Value of a key that a line or panel of a figure does not have.
NONE = "none"


def method_of(method: str) -> str:
    """Return the name of a method before its calibration (``lazybb`` of ``lazybb~proved``)."""
    return method.partition("~")[0]


def short_text(value: float | str) -> str:
    """Write a number, or the text of a number, with the twelve digits that files store."""
    return f"{float(value):.12g}"


def is_near(value: float, other: float) -> bool:
    """Return whether two numbers have the same twelve digits."""
    return short_text(value) == short_text(other)


def mean(values: Iterable[float]) -> float:
    """Return the mean; NaN if a value is NaN or there are no values."""
    numbers = list(values)
    return math.fsum(numbers) / len(numbers) if numbers else math.nan
