"""Read and write numbers as people write them, in files and on command lines."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from typing import TypeVar

Number = TypeVar("Number", int, float)


def number(text: str, kind: Callable[[str], Number] = float) -> Number:  # type: ignore[assignment]
    """Convert a text to a number of the type `kind`, `float` or `int`.

    Raises ValueError if the text is not a number. A text like ``1_0``, which Python reads as 10,
    is not a number here.
    """
    if "_" in text:
        raise ValueError(f"must be a number; got {text!r}")
    return kind(text)


def amount(text: str) -> float:
    """Convert a text from the command line to a float; argparse uses this as a type.

    Raises ArgumentTypeError if the text is not a number, is NaN, or is too large for a float. The
    text ``inf`` is allowed.
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
    """Convert a text from the command line to an integer; argparse uses this as a type.

    Raises ArgumentTypeError if the text is not a whole number.
    """
    try:
        return number(text, int)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be a whole number; got {text!r}") from None


SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def power(value: float) -> str:
    """Convert a number to text, with 10⁻⁵ in place of 1e-05."""
    digits, e, exponent = f"{value:g}".partition("e")
    if not e:
        return digits
    ten = f"10{str(int(exponent)).translate(SUPERSCRIPT)}"
    return ten if digits == "1" else f"{digits}·{ten}"


def two_digits(value: float) -> str:
    """Round a number to two significant digits, and convert it to text, such as 7,200."""
    return f"{float(f'{value:.2g}'):,.0f}"
