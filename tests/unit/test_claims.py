"""Claims of a paper: verdicts of made-up tables, and numbers that it prints."""

import numpy as np
import pandas as pd
import pytest

from privcurve.papers import claims

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
    assert list(claims.readable(found)["study"]) == list(found["study"])
    assert "study" not in claims.readable(tables["one"])


def runs(**of_methods):
    """Return made-up runs: of each method a function of ε and of the split."""
    return pd.DataFrame(
        [
            {
                **{"dataset": dataset, "method": method, "epsilon": epsilon, "repeat": repeat},
                **{"status": "ok", "accuracy": accuracy(epsilon, repeat)},
            }
            for dataset in ("a", "b")
            for method, accuracy in of_methods.items()
            for epsilon in (1.0, 2.0, 4.0)
            for repeat in (1, 2, 3, 4)
        ]
    )


def of_runs(claim, table):
    whole = {"name": "C", "claim": "c", "source": "s", "table": "runs", **claim}
    return claims.verdicts([whole], {"runs": table})


def test_differences_of_runs_are_paired_by_their_split():
    # The splits differ much, and move both methods alike.
    table = runs(
        tree=lambda epsilon, split: split + epsilon / 100 + (split == 4) * 0.004,
        line=lambda epsilon, split: split + 0.01,
    )
    claim = {"where": {"method": "tree"}, "less": {"method": "line"}, "above": 0}
    (found,) = of_runs(claim, table).to_dict("records")
    # By ε 0, 0.01 and 0.03, and 0.001 more as a mean over splits.
    assert (found["n_rows"], found["n_pass"], found["verdict"]) == (6, 6, claims.HOLDS)
    assert found["least"] == pytest.approx(0.001)
    # Of 0, 0, 0, 0.004: their standard deviation is 0.002, over the root of four splits.
    assert found["standard_error"] == pytest.approx(0.001)
    each = of_runs({**claim, "each": ["dataset"], "statistic": "mean", "over": ["epsilon"]}, table)
    assert each["name"].tolist() == ["C, a", "C, b"]
    assert each["mean"].tolist() == pytest.approx([0.04 / 3 + 0.001] * 2)
    assert "± 0.001" in claims.readable(each)["ours"][0]


def test_one_split_gives_no_standard_error():
    table = runs(tree=lambda epsilon, _: 0.5 + epsilon / 100, line=lambda *_: 0.5)
    claim = {"where": {"method": "tree"}, "less": {"method": "line"}, "above": 0}
    once = table[table["repeat"] == 1]
    (found,) = of_runs(claim, once).to_dict("records")
    assert (found["n_rows"], found["n_pass"], found["verdict"]) == (6, 6, claims.HOLDS)
    assert found["mean"] == pytest.approx((0.01 + 0.02 + 0.04) / 3)
    assert np.isnan(found["standard_error"])
    # Nor do rows that a single split has, while others have several.
    of_a = table[(table["dataset"] == "a") & ((table["repeat"] == 1) | (table["method"] == "line"))]
    (found,) = of_runs(claim, of_a).to_dict("records")
    assert found["verdict"] == claims.HOLDS
    assert np.isnan(found["standard_error"])


def test_statistics_over_an_axis():
    table = runs(
        tree=lambda epsilon, split: {1: 0.5, 2: 0.8, 4: 0.7}[epsilon] + split / 1000,
        line=lambda epsilon, split: {1: 0.9, 2: 0.6, 4: 0.6}[epsilon] + split / 1000,
    )

    def statistic(name, **more):
        claim = {"where": {"method": "tree"}, "statistic": name, "over": ["epsilon"], "above": -9}
        return of_runs({**claim, **more, "each": ["dataset"]}, table)["mean"][0]

    assert statistic("spearman") == pytest.approx(0.5)
    assert statistic("smallest_step") == pytest.approx(-0.1)
    lead = {"less": {"method": "line"}}
    assert statistic("reached", **lead) == 2
    # Of all rows of the line, whatever their ε, the largest: 0.9.
    best = {**lead, "less_by": ["dataset"], "against": "largest"}
    assert statistic("mean", **best) == pytest.approx(2 / 3 - 0.9)
    assert statistic("reached", **best) == float("inf")


def test_a_spread_of_runs_and_a_run_that_failed():
    table = runs(tree=lambda epsilon, split: epsilon * (split % 2))
    claim = {
        "where": {"method": "tree", "epsilon": 4},
        "of_runs": "std",
        "within": [4 * 0.57735, 1e-4],
    }
    (found,) = of_runs(claim, table).to_dict("records")
    assert found["verdict"] == claims.HOLDS
    failed = table.assign(status=["failed", *["ok"] * (len(table) - 1)])
    assert of_runs({"where": {"epsilon": 1.0}, "above": -1}, failed)["verdict"][0] == claims.UNKNOWN
    nowhere = of_runs({"where": {"dataset": "avazu"}, "each": ["dataset"], "above": 0}, table)
    assert nowhere[["name", "verdict"]].to_numpy().tolist() == [["C", claims.UNKNOWN]]
