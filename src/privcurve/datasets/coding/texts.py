"""Encode texts by the listed categories, patterns and markers of missing values of a column."""

from __future__ import annotations

import re
from collections.abc import Sequence

from privcurve.datasets.coding.numbers import Markers, amount_of
from privcurve.datasets.domain import MISSING, OTHER, Column, Domain

# Maximum number of unlisted texts for which a column's bins are cached, to limit memory.
MOST_REMEMBERED = 100_000

# Texts that conventionally mark a missing value, in lower case.
MISSING_WORDS = frozenset(
    {"", "?", "-", "--", ".", "na", "n/a", "#n/a", "n.a.", "nan", "nat", "<na>", "null", "none"}
    | {"nil", "missing", "unknown", "not available", "not known", "unbekannt", "k.a."}
)

_LEADING_ZERO = re.compile(r"[+-]?0\d")


class TextCodes(dict[str, int]):
    """Maps each text of a categorical column to its bin, or to −1 if no bin contains it.

    Blanks at the ends of a text are ignored. A marker of missing values that is a number matches
    every notation of this number. The bins of unlisted texts are computed once and cached.
    """

    def __init__(self, domain: Domain, column: Column) -> None:
        missing, decimal = domain.missing_in(column), domain.decimal
        self._decimal = decimal
        self._amounts: frozenset[float] = frozenset()
        titles = {title: k for k, title in enumerate(column.titles)}
        codes = titles if column.patterns else column.codes
        code_of = {"": codes[MISSING]} if column.patterns else dict(codes)
        pairs = column.categories if column.patterns else ()
        self._patterns = [(_compile_pattern(text), titles[title]) for text, title in pairs]
        takes_others = column.patterns or domain.unknown == OTHER
        self._fallback = codes.get(OTHER, -1) if takes_others else -1
        self._missing = codes.get(MISSING, -1)
        if MISSING in codes:
            # A listed text keeps its bin, even if the text is also a marker of missing values.
            listed = [text for text, title in column.categories if title != MISSING]
            words = {text.casefold() if column.patterns else text for text in listed}
            # In a column whose unlisted texts become `other`, the empty text is a missing value. In
            # other columns the empty text is in no bin, like every unlisted text.
            empty = [""] if self._fallback >= 0 else []
            for marker in (*missing, *empty):
                word = marker.casefold() if column.patterns else marker
                if not words & {word, strip_point(word, decimal)}:
                    code_of.setdefault(marker, self._missing)
            plain = [text for text in listed if not _LEADING_ZERO.match(text)]
            self._amounts = Markers(missing, decimal).amounts - Markers(plain, decimal).amounts
        super().__init__(code_of)
        self._listed = len(self)

    def code_all(self, texts: Sequence[str | None]) -> list[int]:
        """Return the bins of texts; None is a missing value."""
        of_none = self._fallback if self._missing < 0 else self._missing
        return [of_none if text is None else self[text] for text in texts]

    def __missing__(self, text: str) -> int:
        """Compute the bin of a text that is not in the cache."""
        plain = text.strip()
        code = self._find_code(text) if plain == text else self[plain]
        if len(self) < self._listed + MOST_REMEMBERED:
            self[text] = code
        return code

    def _find_code(self, text: str) -> int:
        # A text with a leading zero, such as 0150, is a category and not a number.
        is_number = self._amounts and not _LEADING_ZERO.match(text)
        if is_number and amount_of(text, self._decimal) in self._amounts:
            return self._missing
        number = strip_point(text, self._decimal)
        # The first pattern that matches decides. A number such as 3.0 may also match as the text 3.
        for pattern, code in self._patterns:
            if pattern.fullmatch(text) or pattern.fullmatch(number):
                return code
        return self._fallback if self._patterns else self.get(number, self._fallback)


def _compile_pattern(pattern: str) -> re.Pattern[str]:
    """Convert a pattern to a regular expression: ``*`` matches any text, case is ignored."""
    parts = (re.escape(part) for part in pattern.split("*"))
    return re.compile(".*".join(parts), re.IGNORECASE | re.DOTALL)


def pattern_faults(column: Column) -> list[str]:
    """Return messages on patterns that are empty, or that an earlier pattern covers entirely."""
    fixed = ((OTHER, OTHER), (MISSING, MISSING))
    pairs = [pair for pair in column.categories if pair not in fixed]
    faults = []
    for place, (pattern, title) in enumerate(pairs):
        if not pattern:
            faults.append(
                f"groups of {column.name!r}: an empty pattern matches nothing; missing values "
                f"are in the group {MISSING!r}. Drop the pattern"
            )
        # To find out whether an earlier pattern `rule` covers `pattern`, match `rule` to `pattern`
        # as a text. Only a star of `rule` matches a star in this text, and it matches all texts.
        above = [rule for rule, group in pairs[:place] if group != title and matches(rule, pattern)]
        if above:
            faults.append(
                f"groups of {column.name!r}: every text that matches {pattern!r} matches the "
                f"earlier pattern {above[0]!r}; drop one, or exchange them"
            )
    return faults


def matches(pattern: str, text: str) -> bool:
    """Return whether `pattern` matches a text: ``*`` stands for any characters, case is ignored."""
    return bool(_compile_pattern(pattern).fullmatch(text))


def strip_point(text: str, decimal: str = ".") -> str:
    """Remove the decimal part of a whole number, if this part is zero; other texts are unchanged.

    Programs write 3 as ``3.0`` in a column with missing values. With a decimal comma, ``3,0``
    becomes 3, too, but ``3.000`` does not: it is three thousand.
    """
    for mark in dict.fromkeys((decimal, ".")):
        head, point, tail = text.partition(mark)
        in_thousands = mark != decimal and tail and len(tail) % 3 == 0
        if point and not tail.strip("0") and not in_thousands and head.lstrip("+-").isdigit():
            return head
    return text
