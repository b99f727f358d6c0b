"""Test the table of the parties' messages, on invented runs."""

import json
import math

import pandas as pd
import pytest

from privcurve.analysis import sweep
from privcurve.papers.distributed import communication


def run(method, epsilon, repeat, measures, **setting):
    return {
        **{"dataset": "a", "method": method, "calibration": "proved", "delta": 1e-5, "fold": "1/2"},
        **{"epsilon": epsilon, "setting": json.dumps(setting), "repeat": repeat, "status": "ok"},
        **{"accuracy": 0.7 + repeat / 10, "measures": measures and json.dumps(measures)},
    }


def test_bytes_are_means_of_the_runs_at_one_epsilon():
    sent = {"rounds": 3, "messages": 12, "bytes_down_per_holder": 7, "bytes_total": 400}
    runs = [
        run("trees", epsilon, repeat, {**sent, "bytes_per_holder": 100 * repeat}, n_holders=k)
        for epsilon in (1.0, 2.0)
        for repeat in (1, 2)
        for k in (4, 10)
    ]
    runs += [run("central", 1.0, repeat, {"rounds": 25}) for repeat in (1, 2)]
    runs[-3]["status"] = "failed"
    methods = {"trees": {"entry": "trees"}, "central": {"entry": "central"}}
    described = sweep.describe_runs(pd.DataFrame(runs), methods)
    table = communication.communication(described, 1)
    assert table["n_holders"].tolist()[:2] == [4, 10]
    assert table["bytes_per_holder"].tolist()[:2] == [150, 150]
    assert table["accuracy"].tolist() == pytest.approx([0.85, 0.85, 0.85])
    # This method sends no messages, so `rounds` is missing, although its runs record boosting
    # rounds.
    assert table.iloc[2][["rounds", "bytes_total", "n_holders"]].isna().all()
    failed = communication.communication(described, 2)
    assert failed["n_failed"].tolist() == [0, 1]
    assert math.isnan(failed["accuracy"][1])
    assert math.isnan(failed["rounds"][1])
    assert failed["rounds"][0] == 3
