"""Columns and labels of a description in plain Python: what their codes stand for."""

import itertools
import math
import re
from datetime import UTC, date, datetime
from decimal import Decimal, localcontext
from types import SimpleNamespace

from plain_yaml import RefusedError

MOST_CODES, MOST_CLASSES = 65536, 128


def texts(given):
    return [str(value).strip() for value in (given if isinstance(given, list) else [given])]


def pairs(given):
    listed = given.items() if isinstance(given, dict) else [(value, value) for value in given]
    return [(str(value).strip(), str(title).strip()) for value, title in listed]


def check_repeats(listed):
    for place, one in enumerate(listed):
        if one in listed[:place]:
            raise RefusedError(f"{one!r} stands twice")


def column_of(entry, content):
    kind = entry["kind"]
    column = SimpleNamespace(
        name=entry["name"],
        kind=kind,
        public=entry.get("public", entry["name"] in content.get("public", [])),
        missing_bin="missing" in entry,
        clipping_expected="clipping" in entry or "clipping" in content,
        format=entry.get("format", "iso"),
        spacing=entry.get("spacing", "equal"),
    )
    if kind in ("numeric", "date"):
        column.n_bins = int(entry.get("n_bins", 10))
        column.edges = edges_of(entry, column)
        column.n_codes = column.n_bins + column.missing_bin
    else:
        if "n_bins" in entry:
            raise RefusedError("n_bins of categories")
        column.values = values_of(entry)
        column.titles = list(dict.fromkeys(title for _, title in column.values))
        column.n_codes = len(column.titles)
        check_repeats([value for value, _ in column.values])
    if column.n_codes > MOST_CODES:
        raise RefusedError(f"{column.n_codes} codes")
    return column


def values_of(entry):
    """Return values or patterns, each with its title."""
    if entry["kind"] == "categorical":
        return pairs(entry["categories"])
    groups = entry["groups"]
    if not isinstance(groups, dict):
        groups = {str(pattern): pattern for pattern in groups}
    patterns = [
        (pattern, str(title)) for title, given in groups.items() for pattern in texts(given)
    ]
    check_patterns([pair for pair in patterns if pair not in (("other", "other"), ("?", "?"))])
    for title in ("other", "?"):
        if title not in [pattern for pattern, _ in patterns]:
            patterns.append((title, title))
        elif title not in [other for _, other in patterns]:
            raise RefusedError(f"{title} is a group of its own")
    return patterns


def check_patterns(patterns):
    """Refuse a pattern that no text is left for: one above it fits whatever it fits."""
    for place, (pattern, title) in enumerate(patterns):
        if not pattern:
            raise RefusedError("an empty pattern fits nothing")
        for above, other in patterns[:place]:
            if other != title and fits(above, pattern):
                raise RefusedError(f"{pattern} never fits: {above} stands above it")


def fits(pattern, text):
    """Tell whether a text is of a pattern: ``*`` is any text, and case does not count."""
    regular = ".*".join(map(re.escape, pattern.split("*")))
    return re.fullmatch(regular, text, re.IGNORECASE | re.DOTALL)


def edges_of(entry, column):
    """Return the edges of bins: equal widths ``low + (high - low) k / n``, of dates whole days."""
    if column.kind == "date":
        check_format(column.format)
        low, high = (day_of(bound) for bound in entry["bounds"])
        if not low < high or high - low < column.n_bins:
            raise RefusedError("bounds of days")
        # Upwards to a whole day.
        n = column.n_bins
        return [-(-(low * n + (high - low) * k) // n) for k in range(n + 1)]
    low, high = map(finite, entry["bounds"])
    shift = 1.0 if column.spacing == "log1p" else 0.0
    if not low < high or (column.spacing != "equal" and low + shift <= 0):
        raise RefusedError("bounds")
    if column.spacing == "equal":
        inner = [low + (high - low) * k / column.n_bins for k in range(1, column.n_bins)]
    else:
        inner = ratio_edges(low, high, column.n_bins, int(shift))
    edges = [low, *inner, high]
    if any(not 0 < b - a < math.inf for a, b in itertools.pairwise(edges)):
        raise RefusedError("bounds leave no width")
    return edges


def ratio_edges(low, high, n_bins, shift):
    """Edges of equal ratio have twelve digits."""
    with localcontext() as context:
        context.prec = 60
        first, last = (Decimal(repr(bound)) + shift for bound in (low, high))
        logarithm = (last / first).ln()
        edges = [first * (logarithm * k / n_bins).exp() - shift for k in range(1, n_bins)]
        return [float(f"{edge:.12g}") for edge in edges]


def finite(bound):
    try:
        number = float(bound)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise RefusedError("a bound is not finite")
    return number


def check_format(form):
    if form == "iso":
        return
    some_day = datetime(2001, 2, 3)
    try:
        if datetime.strptime(some_day.strftime(form), form).date() == some_day.date():
            return
    except ValueError:
        pass
    raise RefusedError(f"the format {form} tells no day")


def day_of(text, form="iso"):
    """Return the number of a day; raise ValueError if a text is none."""
    time = datetime.fromisoformat(text) if form == "iso" else datetime.strptime(text, form)
    try:
        day = (time.astimezone(UTC) if time.tzinfo else time).date()
    except OverflowError:
        raise ValueError(text) from None
    return (day - date(1970, 1, 1)).days


def label_of(entry):
    label = SimpleNamespace(column=entry["column"], strip=entry.get("strip", ""))
    if "classes" in entry:
        given = pairs(entry["classes"])
        check_repeats([value for value, _ in given])
        label.names = list(dict.fromkeys(title for _, title in given))
        if not 3 <= len(label.names) <= MOST_CLASSES:
            raise RefusedError(f"{len(label.names)} classes")
        label.codes = {value: label.names.index(title) for value, title in given}
        return label
    sides = [texts(entry["negative"]), texts(entry["positive"])]
    if set(sides[0]) & set(sides[1]):
        raise RefusedError("positive and negative")
    label.names = [joined(side) for side in sides]
    label.codes = {value: 2 * k - 1 for k, side in enumerate(sides) for value in side}
    return label


def joined(values):
    """Name a class by its values; of those that differ in case alone, by the first."""
    kept = [
        value
        for place, value in enumerate(values)
        if value.casefold() not in [earlier.casefold() for earlier in values[:place]]
    ]
    return " or ".join(kept)
