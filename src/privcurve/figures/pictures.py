"""Draw pictures for pages as HTML and SVG, without scripts, for any width and colour scheme.

Curves and bands are drawn in an SVG that is stretched to the width of the page; lines keep their
thickness. Texts and dots are HTML, positioned by shares of the picture's width and height.
Matplotlib is not used: a release does not need the extra `workflow`, which contains it, and
Matplotlib's SVG has a fixed width.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape
from itertools import groupby
from typing import NamedTuple

import numpy as np

from privcurve.figures.style import COLOURS, DARK
from privcurve.numerals import two_digits

# Height of a name at the end of a curve, as a share of the picture's height.
NAME_HEIGHT = 0.064


class Point(NamedTuple):
    """A point of a curve, with the error of y and the text of its tooltip."""

    x: float
    y: float
    error: float = 0.0
    hint: str = ""


class Line(NamedTuple):
    """A named curve; `colour` is an index into the palette, or None for a grey curve without name.

    NaN values are drawn as gaps; at least one y must be finite.
    """

    name: str
    points: tuple[Point, ...]
    colour: int | None = None


class Mark(NamedTuple):
    """A wanted y, and the x at which a curve reaches this y, with bounds `low` and `high` on x."""

    y: float
    x: float  # 0 if reached before the first point, infinite if never reached
    low: float
    high: float


def curves(
    lines: Sequence[Line],
    levels: Sequence[tuple[str, float]],
    ends: tuple[float, float],
    axes: tuple[str, str],
    mark: Mark | None = None,
) -> str:
    """Return a picture of curves on a logarithmic x axis, with names at their right ends.

    `levels` are names and heights of dashed horizontal lines, `ends` are the ends of the y axis,
    and `axes` are the names of the x and y axes.
    """
    xs = sorted({point.x for line in lines for point in line.points})
    pad = 0.04 * math.log(xs[-1] / xs[0]) or 1.0
    left, right = math.log(xs[0]) - pad, math.log(xs[-1]) + pad

    def x_share(x: float) -> float:
        return (math.log(x) - left) / (right - left) if x > 0 else 0.0

    def y_share(y: float) -> float:
        return (ends[1] - y) / (ends[1] - ends[0])

    def level(y: float) -> list[tuple[float, float]]:
        return [(0, y_share(y)), (1, y_share(y))]

    ticks = _ticks(*ends)
    paths = [_path(level(y), "grid") for _, y in ticks]
    paths += [_path(level(y), "level") for _, y in levels]
    if mark is not None:
        high = min(x_share(mark.high), 1.0) if mark.high < math.inf else 1.0
        low = x_share(mark.low)
        corners = [(low, 0.0), (high, 0.0), (high, 1.0), (low, 1.0)]
        paths += [_path(corners, "wanted-range"), _path(level(mark.y), "wanted")]
        if 0 < mark.x < math.inf:
            drop = [(x_share(mark.x), y_share(mark.y)), (x_share(mark.x), 1.0)]
            paths.append(_path(drop, "wanted"))
    dots = []
    for line in lines:
        kind = "other" if line.colour is None else f"c{line.colour}"
        for is_gap, group in groupby(line.points, lambda point: math.isnan(point.y)):
            if is_gap:
                continue
            part = [*group]
            band = [(x_share(p.x), y_share(p.y + p.error)) for p in part]
            band += [(x_share(p.x), y_share(p.y - p.error)) for p in reversed(part)]
            points = [(x_share(p.x), y_share(p.y)) for p in part]
            shade = "" if line.colour is None else _path(band, "band")
            paths.append(f'<g class="{kind}">{shade}{_path(points, "line")}</g>')
            dots += [
                f'<i class="dot {kind}" style="left:{x:.2%};top:{y:.2%}" '
                f'title="{escape(p.hint)}"></i>'
                for (x, y), p in zip(points, part, strict=True)
                if 0 <= y <= 1
            ]
    names = [
        (f"c{line.colour}", line.name, y_share([p.y for p in line.points if p.y == p.y][-1]))
        for line in lines
        if line.colour is not None
    ]
    names += [("level", name, y_share(y)) for name, y in levels]
    names += [("wanted", "wanted", y_share(mark.y))] if mark is not None else []
    texts = [f'<b class="y" style="top:{y_share(y):.2%}">{text}</b>' for text, y in ticks]
    texts += [f'<b class="x" style="left:{x_share(x):.2%}">{x:g}</b>' for x in xs]
    words = f'<b class="title">{_text(axes[1])}</b><b class="below">{_text(axes[0])}</b>'
    return (
        f'<div class="curves" role="img" aria-label="{escape(f"{axes[1]} against {axes[0]}")}">'
        f'<svg viewBox="0 0 1000 1000" preserveAspectRatio="none">{"".join(paths)}</svg>'
        f"{''.join(dots)}{''.join(texts)}{words}{_write_names(names)}</div>"
    )


def _write_names(names: Sequence[tuple[str, str, float]]) -> str:
    """Return the HTML of names to the right of a picture; thin lines lead from curves to names.

    `names` are triples: CSS class, name, and the y position of the curve's end as a share of the
    picture's height from the top.
    """
    order = sorted(names, key=lambda entry: entry[2])
    starts = [min(max(y, 0.0), 1.0) for _, _, y in order]
    leads, texts = [], []
    for (kind, name, _), start, place in zip(order, starts, _spread_names(starts), strict=True):
        leads.append(f'<g class="{kind}">{_path([(0, start), (1, place)], "lead")}</g>')
        texts.append(f'<b class="name {kind}" style="top:{place:.2%}">{_text(name)}</b>')
    return (
        '<svg class="leads" viewBox="0 0 1000 1000" preserveAspectRatio="none">'
        f"{''.join(leads)}</svg>{''.join(texts)}"
    )


def _spread_names(places: Sequence[float]) -> list[float]:
    """Return positions of names that do not overlap, as near as possible to `places`.

    `places` increase and are shares of the picture's height. The result is between 0 and 1 if all
    names have room.
    """
    from scipy.optimize import isotonic_regression

    if not places:
        return []
    # Names do not overlap if each position minus the total height of all names above is
    # non-decreasing. Isotonic regression finds the nearest such positions.
    above = NAME_HEIGHT * np.arange(len(places))
    free = isotonic_regression(np.array(places) - above).x + above
    half = NAME_HEIGHT / 2
    lowest = np.minimum(free, 1 - half - above[::-1])
    spread: list[float] = np.maximum(lowest, half + above).tolist()
    return spread


class Row(NamedTuple):
    """A named value, and its number as text; the dot is grey if `colour` is None."""

    name: str
    point: Point
    text: str
    colour: int | None = None


def draw_ranks(
    rows: Iterable[Row], levels: Sequence[tuple[str, float]], ends: tuple[float, float], title: str
) -> str:
    """Return a picture with a row for each value: its name, a dot with an error bar, its number.

    `levels` are names and values of dashed lines through all rows, `ends` are the ends of the axis
    of values, and `title` is above the names.
    """

    def x_share(value: float) -> float:
        return min(max((value - ends[0]) / (ends[1] - ends[0]), 0.0), 1.0)

    rules = "".join(f'<i class="rule" style="left:{x_share(y):.2%}"></i>' for _, y in levels)
    # Each name of a dashed line is in a row of its own above the picture, so that names do not
    # overlap if dashed lines are close together.
    heads = "".join(
        f'<b class="{_side(x_share(y))}" style="{_style_at(x_share(y))};bottom:{1.2 * k:g}rem">'
        f"{_text(name)}</b>"
        for k, (name, y) in enumerate(levels)
    )
    head = f'<div class="row head"><b>{_text(title)}</b><div class="track">{heads}</div></div>'
    parts = [head] if title else []
    for row in rows:
        y, error = row.point.y, row.point.error
        low, high = x_share(y - error), x_share(y + error)
        kind = "other" if row.colour is None else f"c{row.colour}"
        parts.append(
            f'<div class="row {kind}" title="{escape(row.point.hint)}"><b>{_text(row.name)}</b>'
            f'<div class="track">{rules}'
            f'<i class="error" style="left:{low:.2%};width:{high - low:.2%}"></i>'
            f'<i class="dot" style="left:{x_share(y):.2%}"></i></div>'
            f"<span>{_text(row.text)}</span></div>"
        )
    return f'<div class="ranked" role="group" aria-label="{escape(title)}">{"".join(parts)}</div>'


def _side(share: float) -> str:
    # The name of a line is to its right, except near the right end: there the name would cover the
    # column of numbers, and is to the line's left.
    return "left" if share < 0.6 else "right"


def _style_at(share: float) -> str:
    return f"left:{share:.2%}" if _side(share) == "left" else f"right:{1 - share:.2%}"


class Bin(NamedTuple):
    """A bin of a column with its value and error.

    `place` has the ends of the bin as shares of the axis.
    """

    name: str
    place: tuple[float, float]
    value: float
    error: float
    # Number of people in the bin, from noisy counts; None if unknown.
    people: float | None = None


class Axis(NamedTuple):
    """The axis below a picture: its name, and ticks as pairs of text and position (share)."""

    name: str
    ticks: tuple[tuple[str, float], ...]


def steps(bins: Sequence[Bin], axis: Axis, ends: tuple[float, float]) -> str:
    """Return a picture of the values of a column's bins, with their errors, as a step function.

    Steps of adjacent bins are connected. Bars below show how many people are in each bin, if this
    is known. The tooltip of a bin shows its name. `ends` are the ends of the axis of values.
    """

    def y_share(value: float) -> float:
        # Error bands of bins with few people may extend beyond the axis; they are cut off.
        return min(max((ends[1] - value) / (ends[1] - ends[0]), 0.0), 1.0)

    ticks = _ticks(*ends, most=4)
    paths = [_path([(0, y_share(y)), (1, y_share(y))], "grid") for _, y in ticks]
    hints = []
    for before, (name, (left, right), value, spread, number) in zip(
        [None, *bins], bins, strict=False
    ):
        high, low = value + spread, value - spread
        corners = [(left, high), (right, high), (right, low), (left, low)]
        paths += [_path([(x, y_share(y)) for x, y in corners], "band")] if spread else []
        paths.append(_path([(left, y_share(value)), (right, y_share(value))], "line"))
        if before is not None and before.place[1] == left:
            joint = [(left, y_share(before.value)), (left, y_share(value))]
            paths.append(_path(joint, "line thin"))
        error = f" ± {spread:.2g}" if spread else ""
        those = "" if number is None else f"; about {two_digits(number)} people"
        hint = escape(f"{name}: {value:+.3g}{error}{those}")
        hints.append(f'<i style="left:{left:.2%};width:{right - left:.2%}" title="{hint}"></i>')
    texts = [f'<b class="y" style="top:{y_share(y):.2%}">{text}</b>' for text, y in ticks]
    below = [
        f'<b class="x" style="left:{share:.2%}">{_text(text)}</b>' for text, share in axis.ticks
    ]
    return (
        '<div class="shape"><div class="steps">'
        '<svg class="c0" viewBox="0 0 1000 1000" preserveAspectRatio="none">'
        f"{''.join(paths)}</svg>{''.join(hints)}{''.join(texts)}</div>{_draw_people(bins)}"
        f'<div class="axis">{"".join(below)}<b class="below">{_text(axis.name)}</b></div></div>'
    )


def _draw_people(bins: Sequence[Bin]) -> str:
    """Return bars with the density of people in each bin; empty if no number of people is known."""
    counts = [(place, number) for _, place, _, _, number in bins if number is not None]
    densities = [number / (right - left) for (left, right), number in counts]
    if not densities or not max(densities) > 0:
        return ""
    bars = []
    for ((left, right), _), density in zip(counts, densities, strict=True):
        top = 1 - density / max(densities)
        bars.append(_path([(left, 1), (left, top), (right, top), (right, 1)], "bar"))
    total = sum(number for _, number in counts)
    return (
        '<div class="people"><svg viewBox="0 0 1000 1000" preserveAspectRatio="none">'
        f"{''.join(bars)}</svg><b>{two_digits(total)}</b></div>"
    )


def _path(points: Sequence[tuple[float, float]], kind: str) -> str:
    d = "L".join(f"{1000 * x:.0f} {1000 * y:.0f}" for x, y in points)
    return f'<path class="{kind}" d="M{d}"/>'


def round_ticks(low: float, high: float, is_whole: bool = False) -> list[tuple[str, float]]:
    """Return about six round numbers between `low` and `high`, each with its text.

    If `is_whole`, the numbers are integers.
    """
    least = 1.0 if is_whole else 0.0
    return [(f"{value:,.10g}", value) for _, value in _ticks(low, high, least=least)]


def _ticks(low: float, high: float, most: int = 6, least: float = 0.0) -> list[tuple[str, float]]:
    """Return about `most` round numbers between `low` and `high`, each with its text.

    Numbers are at least `least` apart. All texts have the same number of decimals.
    """
    rough = max((high - low) / most, least)
    power = 10 ** math.floor(math.log10(rough))
    step = next(k * power for k in (1, 2, 5, 10) if k * power >= 0.999 * rough)
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [(f"{k * step:.{digits}f}", k * step) for k in range(first, last + 1)]


def _text(text: str) -> str:
    return escape(text, quote=False)


def palette() -> str:
    """Return CSS with the colours of curves and dots, for light and for dark pages."""
    light = "".join(f".c{k}{{--c:{colour}}}" for k, colour in enumerate(COLOURS))
    dark = "".join(f".c{k}{{--c:{colour}}}" for k, colour in enumerate(DARK))
    return f"{light}@media screen and (prefers-color-scheme:dark){{{dark}}}"
