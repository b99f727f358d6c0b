"""Draw shapes for a card: what the values of a column add to the score, with numbers of people."""

from __future__ import annotations

import itertools

from privcurve.datasets.domain import NUMERIC, Column, format_day
from privcurve.figures import pictures
from privcurve.models.shape import Shape
from privcurve.numerals import two_digits

# Maximum number of categories in a picture: the ones with the largest effects are drawn.
MOST_ROWS = 12
# In the picture of a column with missing values, the bins of numbers end at NUMBERS, and the bin of
# missing values starts at MISSING. Both are shares of the width of the picture.
NUMBERS, MISSING = 0.9, 0.93


def draw_shape(shape: Shape, ends: tuple[float, float]) -> str:
    """Return an SVG picture of what each value of a column adds to the score of two classes.

    `ends` are the limits of the axis of scores.
    """
    column, values = shape.column, shape.values[0].tolist()
    errors, titles = shape.spread[0].tolist(), column.short_names
    people: list[float | None] = [None] * len(values)
    if shape.people is not None:
        people = shape.people.tolist()
    if column.kind == NUMERIC:
        wide = NUMBERS if column.missing_bin else 1.0
        low, high = column.edges[0], column.edges[-1]

        def share(value: float) -> float:
            return wide * (value - low) / (high - low)

        inside = itertools.pairwise(map(share, column.edges))
        places = [*inside, *([(MISSING, 1.0)] if column.missing_bin else [])]
        bins = [
            pictures.Bin(*one) for one in zip(titles, places, values, errors, people, strict=True)
        ]
        ticks = [(text, share(value)) for text, value in _label_numbers(column)]
        if column.missing_bin:
            ticks.append(("missing", (MISSING + 1) / 2))
        return pictures.steps(bins, pictures.Axis(column.label, tuple(ticks)), ends)
    chosen = sorted(sorted(range(len(values)), key=lambda k: -abs(values[k]))[:MOST_ROWS])
    rows = []
    for k in chosen:
        point = pictures.Point(0.0, values[k], errors[k])
        text, number = _format_value(values[k], errors[k]), people[k]
        if number is not None:
            text = f"{text} ({two_digits(number)})"
        rows.append(pictures.Row(titles[k], point, text, 0))
    return pictures.draw_ranks(rows, [("", 0.0)], ends, "")


def _label_numbers(column: Column) -> list[tuple[str, float]]:
    """Return the ticks (text, value) on the axis of a numeric column.

    The tick of a whole number is in the middle of its bin.
    """
    low, high = column.edges[0], column.edges[-1]
    if column.dates:
        return [(format_day(day), day) for day in (low, (low + high) // 2, high)]
    if not column.is_whole:
        return pictures.round_ticks(low, high)
    return [(text, value + 0.5) for text, value in pictures.round_ticks(low, high - 1, True)]


def _format_value(value: float, error: float) -> str:
    # Adding 0.0 turns -0.0 into 0.0.
    return f"{round(value, 2) + 0.0:+.2f}" + (f" ± {error:.2f}" if error else "")
