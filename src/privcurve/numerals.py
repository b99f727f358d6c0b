"""Read and write numbers as people write them, in files and on command lines."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from typing import TypeVar

Number = TypeVar("Number", int, float)


def number(text: str, kind: Callable[[str], Number] = float) -> Number:  # type: ignore[assignment]
    """Read the number in a text by `kind`, `float` or `int`; but ``1_0`` is not a number here.

    Raises ValueError if the text is not a number.
    """
    if "_" in text:
        raise ValueError(f"must be a number; got {text!r}")
    return kind(text)


def amount(text: str) -> float:
    """Read a number from the command line; a type for argparse.

    Raises ArgumentTypeError if the text is not a number, is NaN, or is too large.
    """
    try:
        value: float = number(text)
    except ValueError:
        value = math.nan
    if math.isnan(value):
        raise argparse.ArgumentTypeError(f"must be a number; got {text!r}")
    if math.isinf(value) and "inf" not in text.lower():
        raise argparse.ArgumentTypeError(f"must be at most 1.8e308; got {text!r}")
    return value


def count(text: str) -> int:
    """Read a whole number from the command line; a type for argparse.

    Raises ArgumentTypeError if the text is not a whole number.
    """
    try:
        return number(text, int)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be a whole number; got {text!r}") from None


SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def power(value: float) -> str:
    """Write a number as text, with 10⁻⁵ in place of 1e-05."""
    digits, e, exponent = f"{value:g}".partition("e")
    if not e:
        return digits
    ten = f"10{str(int(exponent)).translate(SUPERSCRIPT)}"
    return ten if digits == "1" else f"{digits}·{ten}"


def two_digits(value: float) -> str:
    """Write a number as text, rounded to two significant digits, such as 7,200."""
    return f"{float(f'{value:.2g}'):,.0f}"
