"""What a sweep and its boxes are drawn from, and learners that have no place on the axis."""

import dataclasses
import json

import numpy as np
import pandas as pd
import pytest

from privcurve.analysis import sweep
from privcurve.figures import boxes
from privcurve.figures import sweep as drawing

AXES = sweep.Axes("n_rounds", "accuracy", ("method",), ("dataset",))
ARMS = {"boost": {"method": "boost"}, "lr": {"method": "lr"}}


def run(arm, repeat, accuracy, **setting):
    return {
        **{"dataset": "a", "arm": arm, "calibration": "certified", "delta": 0.0, "epsilon": 1.0},
        **{"setting": json.dumps(setting), "repeat": repeat, "fold": 0, "status": "ok"},
        "accuracy": accuracy,
    }


@pytest.fixture
def runs():
    boosted = [
        run("boost", r, 0.5 + r / 10 + n / 100, n_rounds=n) for r in range(5) for n in (1, 2)
    ]
    return pd.DataFrame(boosted + [run("lr", r, 0.6 + r / 10) for r in range(2)])


def named(frame):
    return frame.assign(line=frame["method"], panel=frame["dataset"])


def test_a_learner_without_the_parameter_is_a_horizontal_line(runs):
    frame = named(sweep.trainings(runs[runs["arm"] == "boost"], ARMS, AXES, {}))
    flat = named(sweep.trainings(runs[runs["arm"] == "lr"], ARMS, AXES.without_x(), {}))
    figure = drawing.sweep(frame, "n_rounds", "accuracy", "rounds", levels=flat)
    (panel,) = figure.axes
    heights = [line.get_ydata() for line in panel.get_lines()]
    assert any(np.allclose(height, 0.65) and len(height) == 2 for height in heights)
    assert [text.get_text() for text in figure.legends[0].texts] == ["boost", "lr"]
    shown = sweep.points(flat, AXES.without_x())
    assert shown["accuracy"].tolist() == [pytest.approx(0.65)]


def test_a_level_that_varies_is_refused(runs):
    twice = pd.concat([runs, runs.assign(epsilon=2.0)], ignore_index=True)
    with pytest.raises(ValueError, match="several results: epsilon vary too"):
        sweep.trainings(twice[twice["arm"] == "lr"], ARMS, AXES.without_x(), {})


def test_only_parameters_are_said_to_vary(runs):
    """Scores and times differ between any two trainings."""
    deeper = runs.assign(
        setting=[json.dumps({**json.loads(text), "depth": 2}) for text in runs["setting"]],
        accuracy=runs["accuracy"] + 0.1,
    )
    twice = pd.concat([runs, deeper], ignore_index=True)
    twice = twice[twice["arm"] == "boost"].assign(auc=range(20), fit_seconds=range(20), id="x")
    with pytest.raises(ValueError, match="several results: depth vary too"):
        sweep.trainings(twice, ARMS, AXES, {})
    found = sweep.trainings(twice, ARMS, AXES, {"depth": 2})
    assert len(found) == 10


def test_a_box_has_its_quartiles_and_lacks_all_where_a_training_failed(runs):
    boosted = runs[runs["arm"] == "boost"].reset_index(drop=True)
    boosted.loc[(boosted["repeat"] == 2) & boosted["setting"].str.contains("2"), "status"] = (
        "failed"
    )
    frame = named(sweep.trainings(boosted, ARMS, AXES, {}))
    found = sweep.spread(frame, AXES).set_index("n_rounds")
    assert found.loc[1, ["least", "lower", "median", "upper", "largest"]].tolist() == pytest.approx(
        [0.51, 0.61, 0.71, 0.81, 0.91]
    )
    assert found.loc[1, "range"] == pytest.approx(0.4)
    assert found.loc[2, ["least", "median", "range"]].isna().all()
    assert (found.loc[2, "n_repeats"], found.loc[2, "n_failed"]) == (5, 1)
    (panel,) = boxes.boxes(frame, "n_rounds", "accuracy", "rounds").axes
    assert len(panel.patches) == 1
    with pytest.raises(ValueError, match="nothing to draw"):
        boxes.boxes(frame[:0], "n_rounds", "accuracy", "rounds")


def test_axes_without_x_keep_lines_and_panels():
    assert AXES.without_x().keys == ["dataset", "method"]
    assert dataclasses.replace(AXES, lines=()).without_x().keys == ["dataset"]
