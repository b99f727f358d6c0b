"""Numbers that readers of a study could not tell apart, and titles in their one form."""

from __future__ import annotations

import itertools
import math
import unicodedata
from collections.abc import Iterable, Sequence

from privcurve.experiments import canonical

# Numbers that differ by less differ in rounding alone: 0.3 and 0.1 + 0.2.
_ROUNDING = 1e-9


def check_numbers(what: str, values: Sequence[float]) -> None:
    """Refuse a number that stands twice among others, or differs from one in rounding alone."""
    for place, value in enumerate(values):
        if value in values[:place]:
            raise ValueError(f"{what} = {canonical.number(value)} stands twice; keep one")
    check_rounding(what, values)


def check_rounding(what: str, values: Iterable[object]) -> None:
    """Check that no two of some values are one number but for rounding."""
    given = [value for value in values if isinstance(value, (int, float)) and value == value]
    try:
        numbers = sorted(set(map(canonical.real, given)))
    except ValueError as error:
        raise ValueError(f"{what}: {error}") from None
    for one, other in itertools.pairwise(numbers):
        if is_rounding(one, other):
            raise ValueError(but_for_rounding(what, one, other) + "; keep one")


def one_line(title: str) -> str:
    """Write a title in its one form: in one line, and in one form of Unicode."""
    return " ".join(unicodedata.normalize("NFC", title).split())


def is_rounding(one: float, other: float) -> bool:
    """Return whether two numbers differ in rounding alone."""
    return math.isclose(one, other, rel_tol=_ROUNDING)


def but_for_rounding(what: str, one: float, other: float) -> str:
    """Say that two numbers are one but for rounding."""
    texts = " and ".join(map(canonical.number, sorted((one, other))))
    return f"{what} = {texts} are one number but for rounding"
