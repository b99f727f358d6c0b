"""Keys that identify rows of tables. Numbers in keys are compared by twelve digits.

Files store twelve digits of a number, so that reading a file may change its last bits.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

# In figures: stands for the value of a key, such as a parameter, that a method does not have.
NONE = "none"


def method_of(method: str) -> str:
    """Return the part of a method's name before ``~`` (``lazybb`` of ``lazybb~proved``)."""
    return method.partition("~")[0]


def short_text(value: float | str) -> str:
    """Write a number, or the text of a number, with the twelve digits that files store."""
    return f"{float(value):.12g}"


def is_near(value: float, other: float) -> bool:
    """Return whether two numbers agree in the twelve digits that files store."""
    return short_text(value) == short_text(other)


def mean(values: Iterable[float]) -> float:
    """Return the mean; NaN if a value is NaN or there are no values."""
    numbers = list(values)
    return math.fsum(numbers) / len(numbers) if numbers else math.nan
