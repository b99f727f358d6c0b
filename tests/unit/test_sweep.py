"""A sweep: what varies is an axis, a line or a panel, and nothing is averaged over by mistake."""

import itertools
import json
import math

import pandas as pd
import pytest

from privcurve.analysis import sweep
from privcurve.figures import sweep as drawing

ARMS = {
    f"{method}~{calibration}~size={size}": {"method": method, "size": size}
    for method, calibration, size in itertools.product("ab", ("certified", "published"), (1, 10))
} | {"base": {"method": "base"}}


def runs():
    rows = []
    for dataset, arm, epsilon, repeat in itertools.product("de", ARMS, (0.5, 1.0), (1, 2, 3)):
        known = ARMS[arm]
        calibration = arm.split("~")[1] if "~" in arm else None
        rows.append(
            {
                **{"dataset": dataset, "arm": arm, "calibration": calibration, "delta": 0.0},
                **{"epsilon": epsilon if "~" in arm else math.inf, "fold": "test"},
                **{"setting": json.dumps({"size": known.get("size"), "depth": 3})},
                **{"repeat": repeat if "~" in arm else 10 * epsilon + repeat, "status": "ok"},
                "accuracy": epsilon + known.get("size", 0) / 100 + repeat / 1000,
            }
        )
    return pd.DataFrame(rows)


def axes(x="size", lines=("method", "calibration"), panels=("dataset",)):
    return sweep.Axes(x, "accuracy", tuple(lines), tuple(panels))


def test_points_are_means_over_repeats():
    frame = sweep.trainings(runs(), ARMS, axes(), {"epsilon": 1})
    found = sweep.points(frame, axes())
    assert len(found) == 2 * 2 * 2 * 2  # datasets, methods, calibrations, sizes
    one = found[(found["dataset"] == "d") & (found["method"] == "a") & (found["size"] == 10)]
    assert one["accuracy"].tolist() == pytest.approx([1.102, 1.102])
    assert one["accuracy_std"].tolist() == pytest.approx([0.001, 0.001])
    assert one["n_repeats"].tolist() == [3, 3]
    # A method without such a parameter has no place on its axis.
    assert "base" not in set(found["method"])


def test_what_else_varies_is_named():
    with pytest.raises(ValueError, match=r"several results: epsilon vary too"):
        sweep.trainings(runs(), ARMS, axes(), {})
    with pytest.raises(ValueError, match=r"several results: calibration vary too"):
        sweep.trainings(runs(), ARMS, axes(lines=["method"]), {"epsilon": 1})


def test_unknown_columns_and_values_are_named():
    with pytest.raises(ValueError, match="no result has 'sise'; did you mean 'size'"):
        sweep.trainings(runs(), ARMS, axes("sise"), {})
    with pytest.raises(ValueError, match=r"no result is at \{'epsilon': 3\}"):
        sweep.trainings(runs(), ARMS, axes(), {"epsilon": 3})


def test_the_last_bit_of_a_number_does_not_matter():
    moved = runs()
    moved["epsilon"] = moved["epsilon"].map(lambda value: math.nextafter(value, 0))
    assert len(sweep.trainings(moved, ARMS, axes(), {"epsilon": 1})) == 48


def test_a_failed_training_leaves_its_point_without_a_mean():
    failed = runs()
    here = (failed["arm"] == "a~certified~size=1") & (failed["epsilon"] == 1)
    failed.loc[here & (failed["repeat"] == 2) & (failed["dataset"] == "d"), "status"] = "failed"
    found = sweep.points(sweep.trainings(failed, ARMS, axes(), {"epsilon": 1}), axes())
    (lost,) = found[found["accuracy"].isna()].to_dict("records")
    assert (lost["dataset"], lost["method"], lost["size"], lost["n_failed"]) == ("d", "a", 1, 1)


def drawn(frame, x="size", scale="linear"):
    named = frame.assign(line=frame["method"] + ", " + frame["calibration"], panel=frame["dataset"])
    return drawing.sweep(named, x, "accuracy", "Size", scale)


def test_panels_are_compared_and_means_are_drawn():
    frame = sweep.trainings(runs(), ARMS, axes(), {"epsilon": 1})
    figure = drawn(frame)
    assert [panel.get_title() for panel in figure.axes] == ["d", "e"]
    assert figure.axes[0].get_ylim() == figure.axes[1].get_ylim()
    lines = figure.axes[0].get_lines()
    assert {tuple(line.get_xdata()) for line in lines} == {(1, 10)}
    assert {tuple(round(y, 4) for y in line.get_ydata()) for line in lines} == {(1.012, 1.102)}
    names = [text.get_text() for text in figure.legends[0].texts]
    assert names == ["a, certified", "a, published", "b, certified", "b, published"]
    certified, published = figure.legends[0].legend_handles[:2]
    assert certified.get_color() == published.get_color()
    assert certified.get_linestyle() != published.get_linestyle()


def test_a_point_with_a_failed_training_is_not_drawn():
    frame = sweep.trainings(runs(), ARMS, axes(), {"epsilon": 1})
    lost = (frame["method"] == "a") & (frame["calibration"] == "certified") & (frame["size"] == 1)
    frame.loc[lost & (frame["repeat"] == 2), "accuracy"] = math.nan
    lengths = sorted(len(line.get_xdata()) for line in drawn(frame).axes[0].get_lines())
    assert lengths == [1, 2, 2, 2]


def test_words_and_infinities_are_categories_and_zero_has_no_logarithm():
    frame = sweep.trainings(runs(), ARMS, axes(), {"epsilon": 1})
    words = frame.assign(size=frame["size"].map({1: "small", 10: "large"}))
    ticks = [text.get_text() for text in drawn(words).axes[0].get_xticklabels()]
    assert ticks == ["small", "large"]
    logarithmic = drawn(frame, scale="log").axes[0]
    assert logarithmic.get_xscale() == "log"
    assert [text.get_text() for text in logarithmic.get_xticklabels()] == ["1", "10"]
    with pytest.raises(ValueError, match="size = 0 has no place on a log axis"):
        drawn(frame.assign(size=frame["size"] - 1), scale="log")
