"""Write the names of lines into a figure, where they cover little.

The name of a horizontal line goes where there is room, the name of a curve to its right end.
"""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from privcurve.lazy import Axes, patheffects

if TYPE_CHECKING:
    from matplotlib.lines import Line2D
    from matplotlib.text import Annotation
    from matplotlib.transforms import Bbox

FONT_SIZE = 6.5
LONGEST_NAME = 22  # characters per line of a name at a curve's end
GAP = 1.2  # points between a line and its name
# Positions to try for the name of a horizontal line. PLACES has horizontal positions in the panel
# (0 to 1) with the alignment of the text, best first. STEPS are distances from the line, in heights
# of a name.
PLACES = (
    (0.985, "right"),
    (0.015, "left"),
    *((percent / 100, "center") for percent in range(15, 90, 5)),
)
STEPS = (0, 1, 2)
# Costs of a position; the name goes to the cheapest one. A covered pixel of a curve costs 1.
COVERS_NAME = 1e6  # cost of each other name that is covered
LEAVES_PANEL = 1e5  # cost of a name that extends beyond the panel
COVERS_LINE = 0.5  # cost of each covered pixel of a horizontal line
PIXELS_OF_A_MARK = 80  # a covered marker costs as much as this many pixels of a curve


def label_lines(panel: Axes, lines: Sequence[tuple[Line2D, str]]) -> None:
    """Write the name of each horizontal line where it covers least.

    The figure must have its final layout, as positions are compared in pixels.
    """
    points = _trace_curves(panel, [line for line, _ in lines])
    lines = _join_near(panel, lines)
    heights = [_measure_height(panel, line) for line, _ in lines]
    boxes: list[Bbox] = []
    # Names of the outermost lines are placed first: beyond these lines there is room that no other
    # name needs.
    middle = float(np.mean(heights)) if heights else 0.0
    for i in sorted(range(len(lines)), key=lambda i: (-abs(heights[i] - middle), i)):
        line, name = lines[i]
        middle_of_line = (0.5, line.get_ydata()[0])  # type: ignore[index]
        halo = [patheffects.withStroke(linewidth=1.5, foreground="white")]
        label = _write(panel, name, line, middle_of_line, (0, GAP), zorder=5, path_effects=halo)
        best: tuple[float, tuple[float, str], int, int] | None = None
        for step, (place, side) in itertools.product(STEPS, itertools.product(PLACES, (1, -1))):
            _move(label, place, side, step)
            box = label.get_window_extent()
            cost = _count_covered(box, panel, points, heights, boxes) + 4.0 * step * box.height
            if best is None or cost < best[0] - 1e-6:
                best = (cost, place, side, step)
        assert best is not None
        _move(label, *best[1:])
        boxes.append(label.get_window_extent())


def label_ends(panel: Axes, names: Mapping[Line2D, str]) -> list[Annotation]:
    """Write the name of each curve to the right of its last point."""
    labels = []
    for line, name in names.items():
        points = np.asarray(line.get_xydata(), dtype=float)
        points = points[np.isfinite(points).all(axis=1)]
        if len(points):
            text, place = textwrap.fill(name, LONGEST_NAME), (1, points[-1][1])
            labels.append(_write(panel, text, line, place, (4, 0), va="center"))
    return labels


def move_apart(labels: Sequence[Annotation], pixels: float) -> None:
    """Move labels up if they overlap a label below.

    The figure must have its final layout. `pixels` is the number of pixels per point (1/72 inch).
    """
    top = -np.inf
    boxes = {label: label.get_window_extent() for label in labels}
    for label in sorted(labels, key=lambda label: boxes[label].y0 + boxes[label].y1):
        box = boxes[label]
        up = max(0.0, top + GAP * pixels - box.y0)
        label.set_position((4, up / pixels))
        top = box.y1 + up


def _write(
    panel: Axes, text: str, line: Line2D, place: Any, offset: tuple[float, float], **look: Any
) -> Annotation:
    """Write a name in the colour of `line` at `place`, moved by `offset` points.

    `place` is a pair: a share of the panel's width, and a y value of the data.
    """
    look |= {"xycoords": panel.get_yaxis_transform(), "textcoords": "offset points"}
    look |= {"fontsize": FONT_SIZE, "color": line.get_color(), "annotation_clip": False}
    return panel.annotate(text, place, xytext=offset, **look)


def _move(label: Annotation, place: tuple[float, str], side: int, step: int) -> None:
    x, alignment = place
    label.xy = (x, label.xy[1])
    label.set(ha=alignment, va="bottom" if side > 0 else "top")
    label.set_position((0, side * (GAP + step * FONT_SIZE * 1.2)))


def _join_near(panel: Axes, lines: Sequence[tuple[Line2D, str]]) -> list[tuple[Line2D, str]]:
    """Return the lines that get a label, each with the text of its label, from top to bottom.

    If two lines are closer than half the height of a name, the upper line gets both names. At most
    two names are joined, as three names would be wider than a panel.
    """
    near = 0.5 * FONT_SIZE * panel.figure.dpi / 72
    joined: list[tuple[Line2D, str]] = []
    above = np.inf
    is_pair = False
    for line, name in sorted(lines, key=lambda entry: -_measure_height(panel, entry[0])):
        height = _measure_height(panel, line)
        if above - height < near and not is_pair:
            is_pair = True
            joined[-1] = (joined[-1][0], f"{joined[-1][1]}, {name[0].lower()}{name[1:]}")
        else:
            is_pair = False
            joined.append((line, name))
        above = height
    return joined


def _measure_height(panel: Axes, line: Line2D) -> float:
    y = float(np.asarray(line.get_ydata())[0])
    return float(panel.transData.transform((1.0, y))[1])


def _trace_curves(panel: Axes, lines: Sequence[Line2D]) -> NDArray[np.float64]:
    """Return points along the curves of a panel in pixels, shape (n, 2); `lines` are skipped.

    Neighbouring points are at most a pixel apart. A marker counts as `PIXELS_OF_A_MARK` points.
    """
    points = [np.empty((0, 2))]
    for curve in panel.get_lines():
        if curve in lines:
            continue
        path = curve.get_transform().transform(np.asarray(curve.get_xydata(), dtype=float))
        path = path.reshape(-1, 2)
        marks = path[np.isfinite(path).all(axis=1)]
        points.append(np.repeat(marks, PIXELS_OF_A_MARK, axis=0))
        if curve.get_linestyle() == "None":
            continue
        for start, end in itertools.pairwise(path):
            if np.isfinite(start).all() and np.isfinite(end).all():
                n = int(np.hypot(*(end - start))) + 2
                points.append(np.linspace(start, end, n))
    return np.concatenate(points)


def _count_covered(
    box: Bbox,
    panel: Axes,
    points: NDArray[np.float64],
    heights: Sequence[float],
    others: Sequence[Bbox],
) -> float:
    """Return the cost of a name at the position `box`.

    `points` are points of curves, `heights` are the heights of horizontal lines, and `others` are
    the boxes of other names, all in pixels.
    """
    x, y = points.T
    inside = (x > box.x0 - 5) & (x < box.x1 + 5) & (y > box.y0 - 4) & (y < box.y1 + 4)
    cost = float(inside.sum())
    cost += COVERS_LINE * box.width * sum(box.y0 < height < box.y1 for height in heights)
    cost += COVERS_NAME * sum(box.padded(1).overlaps(other) for other in others)
    frame = panel.bbox
    if box.x0 < frame.x0 or box.x1 > frame.x1 or box.y0 < frame.y0 or box.y1 > frame.y1:
        cost += LEAVES_PANEL
    return cost
