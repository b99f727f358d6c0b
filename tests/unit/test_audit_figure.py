"""The audit's figure: every claim is drawn, violations are ringed."""

import math

import numpy as np
import pandas as pd
import pytest

from privcurve.figures import style
from privcurve.outputs import audit

TITLES = {"one_rule": "1-rule", "broken": "Broken"}


def frame():
    rows = [
        ("one_rule", "proved", "exact", 0.1, 0.09, "stands"),
        ("one_rule", "published", "exact", 1.0, 0.5, "stands"),
        ("one_rule", "proved", "sampled", 1.0, 0.8, "stands"),
        ("one_rule", "proved", "sampled", 1.0, -0.2, "found nothing"),
        ("broken", "published", "sampled", 1.0, 3.0, "violated"),
        ("broken", "proved", "exact", 1.0, math.inf, "violated"),
    ]
    names = ["learner", "calibration", "method", "epsilon", "found_epsilon", "verdict"]
    return pd.DataFrame(rows, columns=names)


def points(figure, marker):
    marks = [line for line in figure.axes[0].get_lines() if len(line.get_xdata()) == 1]
    return [line for line in marks if line.get_marker() == marker]


def rings(figure):
    return [p for p in points(figure, "o") if p.get_markerfacecolor() == "none"]


def test_every_claim_is_drawn_and_violations_are_ringed():
    figure = audit.draw(frame(), TITLES)
    assert len(points(figure, "o")) == 3 + 2
    assert len(points(figure, "^")) == 2
    assert len(points(figure, "v")) == 1
    ringed = [float(p.get_ydata()[0]) for p in rings(figure)]
    low, high = figure.axes[0].get_ylim()
    assert ringed == [3.0, high]  # the infinite ε is at the top
    assert float(points(figure, "v")[0].get_ydata()[0]) == low
    assert figure.axes[0].get_xscale() == figure.axes[0].get_yscale() == "log"
    texts = [text.get_text() for text in figure.legends[0].get_texts()]
    assert {"violated", "found nothing", "1-rule", "Broken"} <= set(texts)


def test_published_is_hollow_and_no_ring_without_a_violation():
    figure = audit.draw(frame().iloc[:3], TITLES)
    assert not rings(figure)
    assert [p.get_markerfacecolor() for p in points(figure, "o")].count("white") == 1
    assert "violated" not in {text.get_text() for text in figure.legends[0].get_texts()}


def test_a_point_is_above_the_diagonal_only_if_more_was_found_than_claimed():
    # Points of similar claims do not overlap.
    figure = audit.draw(pd.concat([frame(), frame().assign(epsilon=1.1)]), TITLES)
    (line,) = [p for p in figure.axes[0].get_lines() if len(p.get_xdata()) > 2]
    assert (np.diff(line.get_xdata()) > 0).all()
    figure = audit.draw(frame(), TITLES)
    (line,) = [p for p in figure.axes[0].get_lines() if len(p.get_xdata()) > 2]
    x, y = np.log(line.get_xdata()), np.log(line.get_ydata())
    assert (np.diff(x) > 0).all()
    marks = [p for m in "o^v" for p in points(figure, m)]
    above = 0
    for mark in marks:
        level = np.interp(np.log(mark.get_xdata()[0]), x, y)
        assert np.exp(level) == pytest.approx(0.1) or np.exp(level) == pytest.approx(1)
        above += np.log(mark.get_ydata()[0]) > level
    assert above == 2 * len(rings(figure))  # the mark and its ring


def test_more_learners_than_colours_differ_in_shape():
    """One figure can show as many learners as there are."""
    names = [f"learner {i}" for i in range(len(audit.audited_learners()))]
    assert len(names) > 2 * len(style.COLOURS)
    table = pd.concat([frame().assign(learner=name) for name in names])
    figure = audit.draw(table, dict(zip(names, names, strict=True)))
    (legend,) = figure.legends
    keys = legend.legend_handles[: len(names)]
    assert len({(key.get_marker(), key.get_color()) for key in keys}) == len(names)
    texts = [text.get_text() for text in legend.get_texts()]
    assert len(texts) == len(set(texts))
    figure.draw_without_rendering()
    label = figure.axes[0].yaxis.label.get_window_extent()
    assert figure.bbox.y0 <= label.y0 < label.y1 <= figure.bbox.y1
    assert legend.get_window_extent().y1 <= figure.axes[0].get_tightbbox().y0


def test_nothing_to_draw():
    with pytest.raises(ValueError, match="must have rows to draw"):
        audit.draw(frame().iloc[:0], TITLES)
