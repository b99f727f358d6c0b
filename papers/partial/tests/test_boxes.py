"""Test the figure with box plots of scores over repeated trainings."""

import json

import pandas as pd
import pytest

from privcurve.analysis import sweep
from privcurve.papers.partial import boxes

AXES = sweep.Axes("n_rounds", "accuracy", ("entry",), ("dataset",))
METHODS = {"boost": {"entry": "boost"}}


def run(repeat, n_rounds):
    accuracy = 0.5 + repeat / 10 + n_rounds / 100
    return {
        **{
            "dataset": "a",
            "method": "boost",
            "calibration": "proved",
            "delta": 0.0,
            "epsilon": 1.0,
        },
        **{"setting": json.dumps({"n_rounds": n_rounds}), "repeat": repeat, "fold": 0},
        **{"status": "ok", "accuracy": accuracy},
    }


def test_a_box_has_its_quartiles_and_lacks_all_where_a_training_failed():
    boosted = pd.DataFrame([run(r, n) for r in range(5) for n in (1, 2)])
    boosted.loc[(boosted["repeat"] == 2) & boosted["setting"].str.contains("2"), "status"] = (
        "failed"
    )
    frame = sweep.trainings(boosted, METHODS, AXES, {})
    frame = frame.assign(line=frame["entry"], panel=frame["dataset"])
    table = boxes.box_statistics(frame, AXES).set_index("n_rounds")
    assert table.loc[1, ["least", "lower", "median", "upper", "largest"]].tolist() == pytest.approx(
        [0.51, 0.61, 0.71, 0.81, 0.91]
    )
    assert table.loc[1, "range"] == pytest.approx(0.4)
    assert table.loc[2, ["least", "median", "range"]].isna().all()
    assert (table.loc[2, "n_repeats"], table.loc[2, "n_failed"]) == (5, 1)
    (panel,) = boxes.draw(frame, "n_rounds", "accuracy", "rounds").axes
    assert len(panel.patches) == 1
    with pytest.raises(ValueError, match="must have rows to draw"):
        boxes.draw(frame[:0], "n_rounds", "accuracy", "rounds")
