"""Claims of a paper: verdicts of made-up tables, and numbers that it prints."""

import pandas as pd
import pytest

from privcurve.analysis import claims

TABLE = pd.DataFrame(
    {
        "dataset": ["a", "a", "b", "b"],
        "arm": ["lr", "boost", "lr", "boost"],
        "epsilon": [float("inf"), 1.0, float("inf"), 1.0],
        "accuracy": [0.80, 0.75, 0.70, 0.72],
    }
)
PRINTED = pd.DataFrame({"dataset": ["a", "b"], "arm": ["lr", "lr"], "accuracy": [0.79, 0.75]})

EVERY = {"claim": "c", "source": "s", "where": {"arm": "lr"}, "above": 0}


def verdict(claim, printed=None):
    whole = {"name": "C", "claim": "c", "source": "s", **claim}
    return claims.verdicts([whole], {"accuracy": TABLE}, printed).iloc[0]


def test_printed_numbers_are_taken_off_row_by_row():
    claim = {
        **{"where": {"arm": "lr"}, "by": ["dataset", "arm"]},
        **{"less_printed": "p.csv", "within": [0, 0.02]},
    }
    found = verdict(claim, {"p.csv": PRINTED})
    assert (found["n_pass"], found["n_rows"], found["verdict"]) == (1, 2, claims.FAILS)
    assert found["least"] == pytest.approx(-0.05)
    assert found["largest"] == pytest.approx(0.01)
    assert verdict({**claim, "within": [0, 0.06]}, {"p.csv": PRINTED})["verdict"] == claims.HOLDS


def test_a_row_without_a_printed_number_is_not_passed_over():
    claim = {
        **{"where": {"arm": "lr"}, "by": ["dataset", "arm"]},
        **{"less_printed": "p.csv", "within": [0, 1]},
    }
    assert verdict(claim, {"p.csv": PRINTED[:1]})["verdict"] == claims.UNKNOWN


def test_a_line_is_compared_at_each_epsilon():
    claim = {"where": {"arm": "boost"}, "less": {"arm": "lr"}, "above": 0}
    found = verdict(claim)
    assert (found["n_pass"], found["n_rows"], found["verdict"]) == (1, 2, claims.FAILS)
    assert verdict({**claim, "share": 0.5})["verdict"] == claims.HOLDS


def test_several_rows_of_a_key_are_refused():
    with pytest.raises(ValueError, match="several rows have the same dataset"):
        verdict({"where": {"arm": ["lr", "boost"]}, "by": ["dataset"], "above": 0})


def test_claims_of_studies_are_in_the_order_of_their_names():
    tables = {
        study: claims.verdicts(
            [{**EVERY, "name": name} for name in names],
            {"accuracy": TABLE},
        )
        for study, names in {"one": ["C10", "C2 R"], "two": ["C2 F", "C1", "C10"]}.items()
    }
    found = claims.together(tables)
    assert found[["name", "study"]].to_numpy().tolist() == [
        ["C1", "two"], ["C2 F", "two"], ["C2 R", "one"], ["C10", "one"], ["C10", "two"]
    ]  # fmt: skip
    assert list(claims.shown(found)["study"]) == list(found["study"])
    assert "study" not in claims.shown(tables["one"])
