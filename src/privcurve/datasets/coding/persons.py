"""Find names of persons that mean a missing value, and names of persons that look alike."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from privcurve.datasets.coding.texts import MISSING_WORDS

# Invisible characters that `str.isprintable` takes for visible ones.
_BLANK = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\U000e0100-\U000e01ef]"
)
_ZEROS = re.compile(r"(?<!\d)0+(?=\d)")
# Maximum number of groups of similar names in a message, and of names that it shows of a group.
_SHOWN = 3


def is_nobody(name: str) -> bool:
    """Return whether a name conventionally means a missing value (``nan``), or is invisible.

    If such a text counted as a name, the records of several persons would belong to one person.
    """
    return _fold(name) in MISSING_WORDS


def alike_persons(names: Iterable[str]) -> list[list[str]]:
    """Return groups of names that differ only by zeros, case, width or invisible characters.

    Leading zeros are ignored, as in ``P007``; full-width letters and digits count as plain ones.
    """
    groups: dict[str, list[str]] = {}
    for name in dict.fromkeys(names):
        groups.setdefault(_ZEROS.sub("", _fold(name)), []).append(name)
    return [group for group in groups.values() if len(group) > 1]


def explain_alike(column: str, names: Iterable[str], shown: bool = False) -> str:
    """Return a warning about similar names of persons; "" if there are no similar names.

    The warning has examples if `shown`.
    """
    groups = alike_persons(names)
    if not groups:
        return ""
    some = "; ".join(" and ".join(map(repr, group[:_SHOWN])) for group in groups[:_SHOWN])
    return (
        f"{sum(map(len, groups)):,} values of the unit {column!r} differ from another one only by "
        "zeros, case, width or invisible characters"
        + (f" ({some}{', …' if len(groups) > _SHOWN else ''})" if shown else "")
        + (
            ": each counts as a separate person. If two of them are one person, at_most does not "
            "hold for that person: write each person in one way"
        )
    )


def _fold(name: str) -> str:
    """Normalize a name: remove invisible characters, unify width, case and kinds of digits."""
    plain = _BLANK.sub("", unicodedata.normalize("NFKC", name)).casefold()
    if not plain.isascii():
        plain = "".join(str(unicodedata.decimal(letter, letter)) for letter in plain)
    seen = (letter for letter in plain if letter.isspace() or letter.isprintable())
    return " ".join("".join(seen).split())
