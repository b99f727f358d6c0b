"""Test the table of the number of features that models use."""

import itertools
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from privcurve.papers.thesis import sparsity

WIDTHS = {"adult": 162, "codrna": 80}


def refits(used=(5, 5, 5, 4, 4, 99, 99)):
    return pd.DataFrame(
        [
            {
                "dataset": dataset,
                "calibration": calibration,
                "epsilon": epsilon,
                "repeat": repeat,
                "status": "ok",
                "n_features_used": n,
            }
            for dataset, calibration, epsilon in itertools.product(
                ("codrna", "adult"), ("proved", "published"), (1.0, 0.05)
            )
            for repeat, n in enumerate(used, start=1)
        ]
    )


def test_statistics_match_the_thesis():
    table = sparsity.feature_table(refits(), WIDTHS)
    first = table.iloc[0]
    # The first row of the thesis' Table A.1 has the mean 4.6, the standard deviation 0.489 (with n
    # in the denominator) and 2.83 % (truncated, not rounded).
    assert (first["dataset"], first["epsilon"]) == ("adult", 0.05)
    assert first["features_mean"] == pytest.approx(4.6)
    assert first["features_std"] == pytest.approx(0.4899, abs=1e-4)
    assert first["features_percent"] == pytest.approx(2.8395, abs=1e-4)
    assert len(table) == 8
    assert list(table["dataset"].unique()) == ["adult", "codrna"]
    assert "2.84 %" in sparsity.format_table(table).to_string()


def test_features_are_the_bins_that_the_learner_sees():
    domain = SimpleNamespace(n_bins=(65, 3), mixed_bins=(64, 0), width=68)
    methods = {
        few: SimpleNamespace(settings=[{}], few_bins=lambda _, f=few: f) for few in ((8,), ())
    }
    assert [sparsity.count_features(domain, [m]) for m in methods.values()] == [9 + 3, 68]


def test_the_caption_names_the_learner():
    method = SimpleNamespace(learner="dpboost", settings=[{}], few_bins=lambda _: ())
    tables = []
    context = SimpleNamespace(
        request=SimpleNamespace(methods_of=lambda _: [method]),
        options={"learner": "rival"},
        study=SimpleNamespace(datasets=["adult", "codrna"]),
        data=lambda _: SimpleNamespace(domain=SimpleNamespace(mixed_bins=None, width=80)),
        runs=refits,
        write=tables.append,
    )
    sparsity.Sparsity().make(context)
    assert tables[0].caption == "Features used by rival"


@pytest.mark.parametrize("how", ["failed", "missing"])
def test_nothing_is_averaged_over_what_happens_to_be_there(how):
    frame = refits()
    bad = (frame["dataset"] == "adult") & (frame["epsilon"] == 1) & (frame["repeat"] == 3)
    if how == "failed":
        frame.loc[bad, "status"] = "failed"
    else:
        frame = frame[~bad]
    table = sparsity.feature_table(frame, WIDTHS)
    gone = (table["dataset"] == "adult") & (table["epsilon"] == 1)
    columns = ["features_mean", "features_std", "features_percent"]
    assert np.isnan(table.loc[gone, columns]).all(axis=None)
    assert not np.isnan(table.loc[~gone, columns]).any(axis=None)
    assert "–" in sparsity.format_table(table).to_string()


def test_a_repeat_twice_or_an_unknown_width_is_an_error():
    twice = pd.concat([refits(), refits().iloc[:1]])
    with pytest.raises(ValueError, match="must differ; got one twice"):
        sparsity.feature_table(twice, WIDTHS)
    with pytest.raises(ValueError, match="'codrna'"):
        sparsity.feature_table(refits(), {"adult": 162})
