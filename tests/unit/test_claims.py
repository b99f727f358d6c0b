"""Verdicts of claims follow from tables, and what can't be computed is not called false."""

import math

import pandas as pd
import pytest

from privcurve.analysis import claims

TABLE = pd.DataFrame(
    [
        *(("d", "ours", epsilon, value) for epsilon, value in ((0.1, 0.6), (1.0, 0.8))),
        *(("d", "theirs", epsilon, value) for epsilon, value in ((0.1, 0.65), (1.0, 0.7))),
        ("d", "lr", math.inf, 0.75),
    ],
    columns=["dataset", "arm", "epsilon", "accuracy"],
)


def claim(**said):
    start = {"name": "C", "claim": "c", "source": "§", "study": "s", "where": {"arm": "ours"}}
    return {**start, **said}


def verdict(table=TABLE, **said):
    (row,) = claims.verdicts([claim(**said)], {"accuracy": table}).to_dict("records")
    return row


@pytest.mark.parametrize(
    ("said", "expected", "n_pass"),
    [
        ({"above": 0.5}, "holds", 2),
        ({"above": 0.6}, "fails", 1),
        ({"at_least": 0.6}, "holds", 2),
        ({"above": 0.6, "share": 0.5}, "holds", 1),
        ({"within": [0.7, 0.1]}, "holds", 2),
        ({"below": 0.8}, "fails", 1),
        ({"at_most": 0.8}, "holds", 2),
        ({"less": {"arm": "theirs"}, "above": 0}, "fails", 1),
        ({"where": {"arm": "ours", "epsilon": [1]}, "less": {"arm": "theirs"}, "above": 0},
         "holds", 1),
        # A method without privacy is compared at each ε.
        ({"less": {"arm": "lr"}, "within": [0, 0.2]}, "holds", 2),
    ],
)  # fmt: skip
def test_verdicts(said, expected, n_pass):
    found = verdict(**said)
    assert (found["verdict"], found["n_pass"]) == (expected, n_pass)


def test_what_is_missing_is_not_false():
    lost = TABLE.assign(accuracy=TABLE["accuracy"].where(TABLE["epsilon"] != 1))
    assert verdict(lost, above=0)["verdict"] == "not computed"
    assert verdict(where={"arm": "none"}, above=0)["verdict"] == "not computed"
    assert verdict(less={"arm": "theirs", "epsilon": 1}, above=0)["verdict"] == "not computed"


def test_numbers_of_ours_and_the_criterion_are_told():
    found = verdict(less={"arm": "theirs"}, above=0, printed="both")
    assert [found[name] for name in ("least", "mean", "largest")] == pytest.approx(
        [-0.05, 0.025, 0.1]
    )
    assert found["criterion"] == "accuracy > 0 in all rows"
    shown = claims.shown(pd.DataFrame([found])).iloc[0]
    assert shown["ours"] == "0.025 (-0.050 to 0.100)"
    assert (shown["rows"], shown["printed"]) == ("1 of 2", "both")


def test_wrong_claims_are_named():
    with pytest.raises(ValueError, match="claim C: its table has no column 'arms'"):
        verdict(where={"arms": "ours"}, above=0)
    with pytest.raises(ValueError, match="claim C: several rows have the same dataset"):
        verdict(where={"dataset": "d"}, by=["dataset"], above=0)
