"""Compare the values that identify rows of tables, such as an ε, by twelve digits.

Files store twelve digits of a number, so that writing and reading a file may change its last bits.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

# In figures, this word replaces a value that a method does not have, such as the value of a
# parameter of another learner.
NONE = "none"


def method_of(method: str) -> str:
    """Return the part of a method's name before ``~`` (``lazybb`` of ``lazybb~proved``)."""
    return method.partition("~")[0]


def short_text(value: float | str) -> str:
    """Write a number (or the text of a number) with the twelve digits that files store."""
    return f"{float(value):.12g}"


def is_near(value: float, other: float) -> bool:
    """Return whether two numbers agree in the twelve digits that files store."""
    return short_text(value) == short_text(other)


def mean(values: Iterable[float]) -> float:
    """Return the mean of `values`; NaN if a value is NaN or there are no values."""
    numbers = list(values)
    return math.fsum(numbers) / len(numbers) if numbers else math.nan
