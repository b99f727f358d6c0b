"""Claims of a paper: verdicts on made-up tables, and printed numbers."""

import contextlib
import itertools
import math
import re
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import yaml
from made_up_study import CLAIMS, output_request, write_made_up_study

from privcurve import schema
from privcurve.experiments.study import StudyError
from privcurve.outputs import _verdicts as judge
from privcurve.outputs import claims
from privcurve.outputs.verdict_counts import KINDS, VerdictCounts, counts

TABLE = pd.DataFrame(
    {
        "dataset": ["a", "a", "b", "b"],
        "method": ["lr", "boost", "lr", "boost"],
        "epsilon": [float("inf"), 1.0, float("inf"), 1.0],
        "accuracy": [0.80, 0.75, 0.70, 0.72],
    }
)
PRINTED = pd.DataFrame({"dataset": ["a", "b"], "method": ["lr", "lr"], "accuracy": [0.79, 0.75]})

NAMED = {"name": "C", "claim": "c", "source": "s"}
SOME = {**NAMED, "where": {"method": "lr"}, "above": 0}
# The difference of our accuracy and the printed one, per dataset.
LESS_PRINTED = {
    **NAMED,
    "where": {"method": "lr"},
    "by": ["dataset", "method"],
    "less_printed": "p.csv",
}
BOOST = {**NAMED, "where": {"method": "boost"}, "above": 0}


def judge_claim(claim, table=TABLE, printed=None, paper=None):
    """Judge one claim on the accuracies, or on the table that it names."""
    tables = {claim.get("table", "accuracy"): table}
    functions = vars(import_module(f"privcurve.papers.{paper}._claims")) if paper else None
    return judge.verdicts([{**NAMED, **claim}], tables, printed, functions)


def verdict(claim, table=TABLE, printed=None, paper=None):
    return judge_claim(claim, table, printed, paper).iloc[0]


def test_printed_numbers_are_subtracted_row_by_row():
    row = verdict({**LESS_PRINTED, "within": [0, 0.02]}, printed={"p.csv": PRINTED})
    assert (row["n_pass"], row["n_places"], row["verdict"]) == (1, 2, judge.MIXED)
    assert (row["least"], row["largest"]) == pytest.approx((-0.05, 0.01))
    wide = {**LESS_PRINTED, "within": [0, 0.06]}
    assert verdict(wide, printed={"p.csv": PRINTED})["verdict"] == judge.HOLDS
    # A row without a printed number makes the verdict unknown.
    assert verdict(wide, printed={"p.csv": PRINTED[:1]})["verdict"] == judge.UNKNOWN


def test_a_printed_number_without_its_keys_is_refused(tmp_path):
    PRINTED.to_csv(tmp_path / "p.csv", index=False)
    judge.check_printed(LESS_PRINTED, tmp_path / "p.csv")
    with pytest.raises(ValueError, match="has no column 'epsilon'"):
        judge.check_printed({**LESS_PRINTED, "by": ["dataset", "epsilon"]}, tmp_path / "p.csv")


@pytest.mark.parametrize("each", [[], ["dataset"]])
def test_a_listed_value_without_a_row_makes_the_verdict_unknown(each):
    claim = {"where": {"method": "lr", "dataset": ["a", "b"]}, "each": each, "above": 0.5}
    assert verdict(claim)["verdict"] == judge.HOLDS
    claim["where"]["dataset"] = ["a", "bb"]
    row = verdict(claim)
    assert (row["verdict"], row["why"]) == (judge.UNKNOWN, "no row has dataset bb")
    text = claims.format_table(pd.DataFrame([row]))["verdict"].iloc[0]
    assert text == "not computed: no row has dataset bb"
    less = {"method": "ridge", "epsilon": [1, 7]}
    assert verdict({**BOOST, "less": less})["why"] == "no row has method ridge, epsilon 7"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"less_by": ["entry"]}, "'less_by' must name columns under 'by'"),
        ({"compute": "f", "over": ["dataset", "epsilon"]}, "'over' must be one column for f"),
        ({"share": 0.5, "every": True}, "'every' and a share of places exclude"),
    ],
)
def test_a_key_without_effect_is_refused(words, message):
    claim = {**SOME, "name": "C", "where": {"entry": "lr"}, "table": "runs"}
    judge.check(claim)
    with pytest.raises(ValueError, match=f"claim C: .*{re.escape(message)}"):
        judge.check({**claim, **words})


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"where": {"entrry": "lr"}}, "no run has 'entrry'; did you mean 'entry'?"),
        ({"each": ["datset"]}, "no run has 'datset'"),
        ({"where": {"entry": ["lr", "boost"]}, "by": ["dataset"]}, "dataset and entry (boost~"),
        ({"less": {"dataset": "a"}}, "have the same dataset and epsilon and entry (boost~"),
    ],
)
def test_a_claim_on_runs_that_names_none_or_several_is_refused(words, message):
    curves = [("lr", "lr", math.inf), ("boost", "boost~c", 1.0), ("boost", "boost~p", 1.0)]
    places = [
        {"dataset": dataset, "entry": entry, "method": method, "epsilon": epsilon}
        for dataset in "ab"
        for entry, method, epsilon in curves
    ]
    claim = {**SOME, "name": "C", "where": {"entry": "lr"}, "table": "runs"}
    judge.check_runs(claim, places)
    with pytest.raises(ValueError, match=f"claim C: .*{re.escape(message)}"):
        judge.check_runs({**claim, **words}, places)
    judge.check_runs({**claim, "where": {"entry": "boost"}, "by": ["dataset", "method"]}, places)


@pytest.mark.parametrize("name", ["accuracy", "mine"])
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            {"where": {"methd": "lr"}},
            "has no column 'methd'; did you mean 'method'? There are: dataset",
        ),
        ({"value": "acuracy"}, "has no column 'acuracy'; did you mean 'accuracy'?"),
        ({"each": ["kin"]}, "has no column 'kin'; did you mean 'kind'?"),
    ],
)
def test_a_misspelt_column_of_accuracy_is_reported_before_training(
    tmp_path, monkeypatch, name, words, message
):
    claim = {**SOME, "name": "C", "quote": "q", "study": "tiny", "table": name}
    outputs = [{"accuracy": {"name": "mine"}}, "claims"]
    (tmp_path / "papers/tiny").mkdir(parents=True)
    path = tmp_path / "papers/tiny/claims.yaml"
    monkeypatch.chdir(tmp_path)
    path.write_text(yaml.safe_dump({"claims": [claim]}))
    output_request("claims", outputs=outputs)
    path.write_text(yaml.safe_dump({"claims": [{**claim, **words}]}))
    with pytest.raises(StudyError, match=f"claim C: {name} {re.escape(message)}"):
        output_request("claims", outputs=outputs)


def test_a_misspelt_column_of_another_table_is_one_message(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    plan = write_made_up_study(tmp_path, outputs=["selected_settings", "claims"])
    claim = {**SOME, "name": "C", "quote": "q", "study": "tiny", "table": "selected_settings"}
    path = tmp_path / "papers/tiny/claims.yaml"
    path.write_text(yaml.safe_dump({"claims": [{**claim, "value": "n_setings"}]}))
    table, verdicts = plan.study_outputs("tiny")
    table.output.make(plan.context(table))
    result = (
        "claims.yaml: claim C: selected_settings has no column 'n_setings'; did you mean 'n_set"
    )
    with pytest.raises(StudyError, match=result):
        verdicts.output.make(plan.context(verdicts))


def test_claims_about_a_study_that_does_not_judge_them_are_reported(tmp_path):
    with contextlib.chdir(tmp_path):
        assert write_made_up_study(tmp_path).notes([]) == []
        (note,) = write_made_up_study(tmp_path, outputs=["accuracy"]).notes([])
    assert note == (
        "config/studies/tiny.yaml: outputs: without claims no study judges the 1 claims of "
        "papers/tiny/claims.yaml about the study"
    )


def test_a_line_is_compared_at_each_epsilon():
    claim = {**BOOST, "less": {"method": "lr"}}
    row = verdict(claim)
    assert (row["n_pass"], row["n_places"], row["verdict"]) == (1, 2, judge.MIXED)
    assert verdict({**claim, "every": True})["verdict"] == judge.FAILS


def test_a_curve_without_the_epsilon_is_not_compared_at_its_limit():
    more = {"dataset": ["a", "a"], "method": ["dp", "dp"], "accuracy": [0.7, 0.8]}
    table = pd.concat([TABLE, pd.DataFrame({**more, "epsilon": [1.0, math.inf]})])
    claim = {**BOOST, "where": {"method": "boost", "dataset": "a"}, "less": {"method": "dp"}}
    assert verdict(claim, table)["mean"] == pytest.approx(0.05)
    table.loc[table["method"].eq("dp") & table["epsilon"].eq(1), "epsilon"] = 2.0
    assert verdict(claim, table)["verdict"] == judge.UNKNOWN


@pytest.mark.parametrize(("best", "gap"), [("largest", -0.05), ("smallest", 0.05)])
def test_a_line_counts_next_to_a_curve_that_has_the_epsilon(best, gap):
    own = {"dataset": "a", "method": "dp", "epsilon": 1.0, "accuracy": 0.70}
    table = pd.concat([TABLE, pd.DataFrame([own])])
    claim = {
        **BOOST,
        "where": {"method": "boost", "dataset": "a"},
        "less": {"method": ["lr", "dp"]},
    }
    assert verdict({**claim, "against": best}, table)["mean"] == pytest.approx(gap)
    with pytest.raises(ValueError, match="claim C: several rows of 'less' match one dataset and"):
        judge_claim(claim, table)


def test_the_best_of_several_is_not_known_where_one_lacks_the_epsilon():
    rows = {"method": ["boost", "dp1", "dp2"], "accuracy": [0.75, 0.7, 0.8]}
    table = pd.concat([pd.DataFrame({"dataset": "a", "epsilon": e, **rows}) for e in (1.0, 2.0)])
    claim = {**BOOST, "less": {"method": ["dp1", "dp2"]}, "against": "largest"}
    assert verdict(claim, table)["verdict"] == judge.FAILS
    lacks = table[~(table["method"].eq("dp2") & table["epsilon"].eq(2))]
    assert verdict(claim, lacks)["verdict"] == judge.UNKNOWN


@pytest.mark.parametrize("table", ["accuracy", judge.RUNS])
@pytest.mark.parametrize("more", [{}, {"less": {"method": "lr"}}])
def test_a_value_that_is_a_text_is_refused_by_the_name_of_its_claim(table, more):
    runs = TABLE.assign(kind="paid", status="ok", repeat=1)
    with pytest.raises(ValueError, match="claim C: the column 'kind' must have numbers"):
        judge_claim({**BOOST, "table": table, "value": "kind", **more}, runs)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            {"compute": "rank_correlation", "over": ["dataset"]},
            "claim C: the column 'dataset' must have numbers",
        ),
        ({"by": ["epsilon"]}, "several rows have the same epsilon"),
    ],
)
def test_a_method_without_one_number_is_refused_by_the_name_of_its_claim(words, message):
    with pytest.raises(ValueError, match=message):
        judge_claim({**BOOST, **words}, paper="distributed")


def test_claims_of_studies_are_in_the_order_of_their_names():
    tables = {
        study: judge.verdicts([{**SOME, "name": name} for name in names], {"accuracy": TABLE})
        for study, names in {"one": ["C10", "C2 R"], "two": ["C2 F", "C1", "C10"]}.items()
    }
    table = claims.gather_verdicts(tables)
    assert table[["name", "study"]].to_numpy().tolist() == [
        ["C1", "two"], ["C2 F", "two"], ["C2 R", "one"], ["C10", "one"], ["C10", "two"]
    ]  # fmt: skip
    assert list(claims.format_table(table)["study"]) == list(table["study"])
    assert "study" not in claims.format_table(tables["one"])


def test_verdicts_of_papers_and_our_own_questions_are_counted_separately():
    rows = [
        ("p", "C1", "so", judge.HOLDS),
        ("p", "C1", "so", judge.FAILS),
        ("p", "C2", "more", judge.UNDECIDED),
        ("p", "S1", None, judge.HOLDS),
        ("q", "C1", "so", judge.NOT_COMPARABLE),
    ]
    frame = pd.DataFrame(rows, columns=["paper", "claim", "quote", "verdict"])
    table = counts(frame.assign(study="s", source="§1")).set_index("paper")
    assert list(table.index) == ["p", "q", "all papers", "p, our own questions"]
    assert table["claims"].tolist() == [2, 1, 3, 1]
    assert table.loc["all papers", ["verdicts", *KINDS]].tolist() == [4, 1, 1, 0, 1, 1, 0]
    quoted = frame[frame["quote"].notna()]
    assert list(counts(quoted.assign(study="s", source="§1"))["paper"]) == ["p", "q", "all papers"]


def test_verdicts_of_a_study_without_a_paper_are_counted_under_its_own_name():
    table = judge_claim({**SOME, "quote": "so"})
    written = []
    context = SimpleNamespace(
        others={"claims": SimpleNamespace(study=SimpleNamespace(paper=None, name="mine"))},
        table_of=lambda word: table,
        write=lambda made: written.append(made.frame),
    )
    VerdictCounts().make(context)
    assert list(written[0]["paper"]) == ["mine", "all papers"]


def runs(**of_methods):
    """Return made-up runs; the accuracy of each method is a function of ε and the split."""
    places = itertools.product("ab", of_methods, (1.0, 2.0, 4.0), (1, 2, 3, 4))
    table = pd.DataFrame(places, columns=["dataset", "entry", "epsilon", "repeat"])
    rows = zip(table["entry"], table["epsilon"], table["repeat"], strict=True)
    accuracies = [of_methods[method](epsilon, repeat) for method, epsilon, repeat in rows]
    return table.assign(accuracy=accuracies, status="ok")


TREE = {"table": "runs", "where": {"entry": "tree"}}
LESS_LINE = {**TREE, "less": {"entry": "line"}}
HIGHER = {**LESS_LINE, "above": 0}


def test_differences_of_runs_are_paired_by_their_split():
    # Splits differ much, and shift both methods equally.
    table = runs(
        tree=lambda epsilon, split: split + epsilon / 100 + (split == 4) * 0.004,
        line=lambda epsilon, split: split + 0.01,
    )
    row = verdict(HIGHER, table)
    # Differences 0, 0.01 and 0.03 at the three ε, plus 0.001 as a mean over splits.
    assert (row["n_places"], row["n_pass"], row["verdict"]) == (6, 6, judge.HOLDS)
    assert row["least"] == pytest.approx(0.001)
    # The differences 0, 0, 0, 0.004 have a standard deviation of 0.002; four splits.
    assert row["standard_error"] == pytest.approx(0.001)
    of_each = {"each": ["dataset"], "over": ["epsilon"]}
    each = judge_claim({**HIGHER, **of_each}, table)
    assert each["name"].tolist() == ["C, a", "C, b"]
    assert each["mean"].tolist() == pytest.approx([0.04 / 3 + 0.001] * 2)
    assert "± 0.001" in claims.format_table(each)["ours"][0]


def test_one_split_gives_no_standard_error():
    table = runs(tree=lambda epsilon, _: 0.5 + epsilon / 100, line=lambda *_: 0.5)
    row = verdict(HIGHER, table[table["repeat"] == 1])
    assert (row["n_places"], row["n_pass"], row["verdict"]) == (6, 6, judge.UNDECIDED)
    assert (row["n_for"], row["n_against"]) == (0, 0)
    assert row["mean"] == pytest.approx((0.01 + 0.02 + 0.04) / 3)
    assert np.isnan(row["standard_error"])
    # A dataset with one split has no standard error either, even if other datasets have several.
    of_a = table[(table["dataset"] == "a") & ((table["repeat"] == 1) | (table["entry"] == "line"))]
    row = verdict(HIGHER, of_a)
    assert row["verdict"] == judge.UNDECIDED
    assert np.isnan(row["standard_error"])


def test_runs_of_several_curves_are_not_averaged():
    table = runs(tree=lambda *_: 0.5, line=lambda *_: 0.7)
    with pytest.raises(ValueError, match="claim C: several runs of one split have the same"):
        judge_claim({**TREE, "where": {"dataset": "a"}, "above": 0}, table)
    assert verdict({**TREE, "above": 0}, table)["n_places"] == 6


def test_folds_of_one_partition_are_splits():
    table = runs(tree=lambda _, split: 0.5 + split / 100)
    folds = table.assign(fold=table["repeat"].map("{}/4".format), repeat=0)
    claim = {**TREE, "above": 0}
    assert judge_claim(claim, folds).equals(judge_claim(claim, table))


def test_statistics_over_an_axis():
    table = runs(
        tree=lambda epsilon, split: {1: 0.5, 2: 0.8, 4: 0.7}[epsilon] + split / 1000,
        line=lambda epsilon, split: {1: 0.9, 2: 0.6, 4: 0.6}[epsilon] + split / 1000,
    )

    def statistic(name, **more):
        claim = {**TREE, "over": ["epsilon"], "above": -9, "each": ["dataset"], **more}
        claim |= {} if name == "mean" else {"compute": name}
        row = verdict(claim, table, paper="distributed")
        assert np.isnan(row["standard_error"]) == (name == "first_reached")
        return row["mean"]

    assert statistic("rank_correlation") == pytest.approx(0.5)
    assert statistic("smallest_step") == pytest.approx(-0.1)
    lead = {"less": {"entry": "line"}}
    assert statistic("first_reached", **lead) == 2
    # The largest value of the method line over all ε is 0.9.
    best = {**lead, "less_by": ["dataset"], "against": "largest"}
    assert statistic("mean", **best) == pytest.approx(2 / 3 - 0.9)
    assert statistic("first_reached", **best) == float("inf")


def test_a_spread_of_runs_and_a_run_that_failed():
    table = runs(tree=lambda epsilon, split: epsilon * (split % 2))
    claim = {"table": "runs", "where": {"entry": "tree", "epsilon": 4}, "compute": "spread"}
    claim["within"] = [4 * 0.57735, 1e-4]
    assert verdict(claim, table, paper="distributed")["verdict"] == judge.HOLDS
    failed = table.assign(status=["failed", *["ok"] * (len(table) - 1)])
    of_one = {**TREE, "where": {"epsilon": 1.0}, "above": -1}
    assert verdict(of_one, failed)["verdict"] == judge.UNKNOWN
    nowhere = judge_claim({**of_one, "where": {"dataset": "avazu"}, "each": ["dataset"]}, table)
    assert nowhere[["name", "verdict"]].to_numpy().tolist() == [["C", judge.UNKNOWN]]


N_SPLITS = 10
# Mean 0 and standard error 1 over the splits.
NOISE = np.array([-1, 1] * (N_SPLITS // 2)) * np.sqrt(N_SPLITS - 1)


def of_places(*errors, **claim):
    """Judge "tree is above line" where tree leads by `errors` standard errors at each place."""
    rows = [
        {
            **{"dataset": f"d{i}", "epsilon": 1.0, "entry": method, "repeat": k, "status": "ok"},
            "accuracy": (value + NOISE[k]) / 100 if method == "tree" else 0.0,
        }
        for i, value in enumerate(errors)
        for method in ("tree", "line")
        for k in range(N_SPLITS)
    ]
    return verdict({**LESS_LINE, **claim}, pd.DataFrame(rows))


@pytest.mark.parametrize(
    ("errors", "every", "sides", "expected"),
    [
        # A place below 0 by chance neither refutes nor supports a claim about every ε.
        ((-1.5, 6, 6, 6), True, (3, 0), judge.UNDECIDED),
        ((-1.5, 6, 6, 6), False, (3, 0), judge.HOLDS),
        ((1.5, 6, 6, 6), True, (3, 0), judge.HOLDS),
        ((-5, 6, 6, 6), True, (3, 1), judge.FAILS),
        ((-5, 6, 6, 6), False, (3, 1), judge.MIXED),
        ((-5, 1, 1, 1), False, (0, 1), judge.FAILS),
        # −2.2 standard errors count if it is the only place, and not among twenty.
        ((-2.2,), True, (0, 1), judge.FAILS),
        ((-2.2, *[6] * 19), False, (19, 0), judge.HOLDS),
        ((1.9,), True, (0, 0), judge.UNDECIDED),
        ((2.1,), True, (1, 0), judge.HOLDS),
        # No single place is significant; all of them together are.
        ((1.9, 1.9, 1.9, 1.9), True, (0, 0), judge.UNDECIDED),
        ((2.5, 2.5, 2.5, 2.5), True, (0, 0), judge.HOLDS),
    ],
)
def test_a_place_counts_beyond_two_standard_errors_with_holms_correction(
    errors, every, sides, expected
):
    row = of_places(*errors, above=0, every=every)
    assert (row["n_for"], row["n_against"]) == sides
    assert row["verdict"] == expected
    beyond = claims.format_table(row.to_frame().T)["beyond"][0]
    assert beyond == f"{sides[0]} for, {sides[1]} against"


@pytest.mark.parametrize(
    ("errors", "expected"),
    [
        ((50, 45), judge.HOLDS),
        ((70, 50), judge.MIXED),
        ((30,), judge.FAILS),
        # The bound is within two standard errors.
        ((61,), judge.UNDECIDED),
    ],
)
def test_a_margin_around_a_number_is_judged_from_both_sides(errors, expected):
    assert of_places(*errors, within=[0.5, 0.1])["verdict"] == expected


# A fair coin often shows heads 13 times in 19 tosses.
@pytest.mark.parametrize(
    ("n_pass", "expected"), [(13, judge.UNDECIDED), (15, judge.HOLDS), (3, judge.FAILS)]
)
def test_the_share_of_places_that_pass_has_its_own_error(n_pass, expected):
    gains = [1.0] * n_pass + [-1.0] * (19 - n_pass)
    table = pd.DataFrame({"dataset": [f"d{i}" for i in range(19)], "method": "lr", "gain": gains})
    # The column `dataset` tells datasets apart, in whatever position of `by`.
    claim = {**SOME, "value": "gain", "by": ["method", "dataset"], "share": 0.5}
    assert verdict(claim, table)["verdict"] == expected


def test_missing_results_refute_nothing():
    row = of_places(
        -9, above=0, every=True, not_comparable="its combiner is not built", changed="the bar"
    )
    assert row["verdict"] == judge.NOT_COMPARABLE
    (texts,) = claims.format_table(row.to_frame().T).to_dict("records")
    assert texts["verdict"] == "not comparable: its combiner is not built"
    assert (texts["changed"], texts["“”"[:0]]) == ("the bar", "C")


def test_gains_since_a_base_are_compared():
    # The tree starts lower and gains as much.
    table = runs(
        tree=lambda epsilon, split: 0.5 + epsilon / 10 + split / 100,
        line=lambda epsilon, split: 0.9 + epsilon / 10 + split / 50,
    )
    table = table.replace({"epsilon": {1.0: 0.01}})
    claim = {**LESS_LINE, "within": [0, 0.01]}
    since = {**claim, "compute": "gain_since_least_epsilon"}
    row = verdict(since, table, paper="partial")
    assert (row["n_places"], row["least"], row["largest"]) == (
        4,
        pytest.approx(0),
        pytest.approx(0),
    )
    assert row["verdict"] == judge.HOLDS
    assert row["criterion"].startswith(
        "difference of accuracy minus difference of accuracy at epsilon = 0.01 0 ±"
    )
    assert verdict(claim, table)["verdict"] == judge.FAILS
    # Without the value to subtract there is no difference.
    lacks = table[~((table["dataset"] == "a") & (table["epsilon"] == 0.01))]
    assert verdict(since, lacks, paper="partial")["verdict"] == judge.UNKNOWN


def test_a_bound_and_a_standard_deviation_are_subtracted():
    table = TABLE.assign(bound=[0.3, 0.4, 0.5, 0.75], accuracy_std=0.02)
    claim = {"where": {"method": "boost"}, "at_most": 0}
    row = verdict({**claim, "value": "bound", "compute": "less_accuracy"}, table, paper="thesis")
    assert (row["least"], row["largest"]) == pytest.approx((-0.35, 0.03))
    assert row["criterion"] == "bound minus accuracy ≤ 0 in all places"
    claim |= {"less": {"method": "lr"}, "compute": "beyond_one_deviation"}
    row = verdict(claim, table, paper="thesis")
    assert (row["least"], row["largest"]) == pytest.approx((-0.07, 0.0))


def test_fifty_bins_gain_what_the_claimed_method_gains_more():
    rows = itertools.product(("banknote", "banknote-50"), ("new", "old"), (1.0, 2.0))
    table = pd.DataFrame(rows, columns=["dataset", "method", "epsilon"])
    table["accuracy"] = [0.7, 0.8, 0.6, 0.6, 0.5, 0.5, 0.45, 0.5]
    claim = {"where": {"method": "new"}, "less": {"method": "old"}, "over": ["epsilon"]}
    claim |= {"compute": "gain_of_fifty_bins", "above": 0}
    row = verdict(claim, table, paper="boosted_dp")
    # Leads of 0.1 and 0.2 at the two ε on banknote, of 0.05 and 0 with fifty bins.
    assert row["mean"] == pytest.approx(0.15 - 0.025)
    lacks = table[table["dataset"] == "banknote"]
    assert verdict(claim, lacks, paper="boosted_dp")["verdict"] == judge.UNKNOWN


def test_a_missing_function_is_named_before_training(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(CLAIMS["claims"][0], "compute", "rank")
    with pytest.raises(StudyError, match=r"_claims\.py has no 'rank'"):
        list(write_made_up_study(tmp_path).study_outputs("tiny"))
    functions = Path(import_module("privcurve.papers.distributed._claims").__file__).read_text()
    path = Path("papers/tiny/_claims.py")
    path.write_text(functions.replace("def spread", "def rank"))
    (request,) = (
        r for r in write_made_up_study(tmp_path).study_outputs("tiny") if r.output.word == "claims"
    )
    assert path in request.reads.resources


@pytest.mark.parametrize("path", sorted(Path("papers").glob("*/claims.yaml")), ids=str)
def test_every_claim_has_a_quote_or_is_marked_as_ours(path):
    content = schema.read_yaml(path)
    schema.check(content, claims.SCHEMA, str(path))
    names = [claim["name"] for claim in content["claims"]]
    assert len(set(names)) == len(names)
    for claim in content["claims"]:
        assert ("quote" in claim) != ("ours" in claim), claim["name"]
