"""Numbers as tables keep them: a file may have moved the last bit of one."""

from __future__ import annotations

import math
from collections.abc import Iterable


def short(value: float | str) -> str:
    """Write a number, or one that a file has as text, by twelve digits: these a file keeps."""
    return f"{float(value):.12g}"


def near(value: float, other: float) -> bool:
    """Return whether two numbers have the same twelve digits."""
    return short(value) == short(other)


def mean(values: Iterable[float]) -> float:
    """Return the mean; NaN if a value is, or if there is none."""
    numbers = list(values)
    return math.fsum(numbers) / len(numbers) if numbers else math.nan
