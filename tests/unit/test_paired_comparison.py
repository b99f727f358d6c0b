"""Differences to one method: pairing, intervals, tests with known results, and sentences."""

import math

import pandas as pd
import pytest
from made_up_study import output_request, write_made_up_study

from privcurve.experiments import study
from privcurve.figures import style
from privcurve.outputs import comparison

# Student's quantiles at .975 with 1 and 3 degrees of freedom.
T1, T3 = 12.7062, 3.18245
BASE = [0.70, 0.72, 0.74, 0.76]


def runs(values, fold="test", epsilon=1.0):
    """Return runs from {dataset: {method: accuracies}}."""
    return pd.DataFrame(
        [
            {
                **{"dataset": dataset, "method": method, "epsilon": epsilon, "repeat": repeat},
                "fold": fold if fold == "test" else fold.format(repeat),
                **{"status": "failed" if value is None else "ok", "accuracy": value or math.nan},
            }
            for dataset, methods in values.items()
            for method, scores in methods.items()
            for repeat, value in enumerate(scores, start=1)
        ]
    )


def shifted(*gaps):
    return [base + gap for base, gap in zip(BASE, gaps, strict=True)]


def test_differences_are_paired_by_repeat_whatever_the_order():
    frame = runs({"d": {"base": BASE, "a": shifted(0.01, 0.03, 0.01, 0.03)}})
    table = comparison.compare_by_dataset(frame.sample(frac=1, random_state=2), "base", ["a"])
    (row,) = table.to_dict("records")
    # s = .011547, divided by √4; single trainings differ by far more.
    assert row["difference"] == pytest.approx(0.02)
    assert row["standard_error"] == pytest.approx(0.0057735, rel=1e-4)
    assert row["low"] == pytest.approx(0.02 - T3 * 0.0057735, rel=1e-4)
    assert row["high"] == pytest.approx(0.02 + T3 * 0.0057735, rel=1e-4)
    assert row["accuracy"] - row["reference_accuracy"] == pytest.approx(0.02)


@pytest.mark.parametrize(
    ("fold", "factor"), [("test", 1 / 4), ("{}@0.2", 1 / 4 + 1 / 4), ("{}/10", 1 / 4 + 1 / 9)]
)
def test_intervals_are_wider_where_repeats_share_records(fold, factor):
    frame = runs({"d": {"base": BASE, "a": shifted(0.01, 0.03, 0.01, 0.03)}}, fold)
    (row,) = comparison.compare_by_dataset(frame, "base", ["a"]).to_dict("records")
    assert row["standard_error"] == pytest.approx(0.0115470 * math.sqrt(factor), rel=1e-4)
    assert row["scored_on"] == ("test" if fold == "test" else "folds")


def test_a_lower_loss_leads_and_methods_without_it_are_left_out():
    frame = runs({name: {"base": BASE, "a": BASE, "votes": BASE} for name in ("one", "two")})
    frame["log_loss"] = 0.5 - frame["method"].eq("a") * frame["repeat"] / 100
    frame.loc[frame["method"] == "votes", "log_loss"] = math.nan
    each = comparison.compare_by_dataset(frame, "base", ["a", "votes"], "log_loss")
    assert each["method"].tolist() == ["a", "a"]
    assert each["difference"].tolist() == pytest.approx([0.025] * 2)
    assert each["log_loss"].tolist() == pytest.approx([0.475] * 2)
    assert each["reference_log_loss"].tolist() == pytest.approx([0.5] * 2)
    both = [each, comparison.compare_by_dataset(frame, "base", ["a", "votes"])]
    table = comparison.compare_over_datasets(pd.concat(both), "base").set_index(
        ["measure", "method"]
    )
    assert table.index.tolist() == [("accuracy", "a"), ("accuracy", "votes"), ("log_loss", "a")]
    assert table.loc[("log_loss", "a"), ["mean_rank", "reference_mean_rank"]].tolist() == [1, 2]
    assert table.loc[("accuracy", "a"), "mean_rank"] == 2


def test_holm_corrects_for_the_arms_of_a_dataset():
    same = shifted(0, 0, 0, 0)
    frame = runs({"d": {"base": BASE, "a": shifted(0.01, 0.02, 0.03, 0.04), "b": same}})
    table = comparison.compare_by_dataset(frame, "base", ["a", "b"]).set_index("method")
    # Four equal signs: two of sixteen possible draws.
    assert table.loc["a", "p_value"] == pytest.approx(2 / 16)
    assert table.loc["a", "p_holm"] == pytest.approx(4 / 16)
    assert table.loc["b", ["difference", "p_value", "p_holm"]].tolist() == [0, 1, 1]


def test_a_failed_training_makes_its_dataset_count_for_no_method():
    values = {
        "one": {"base": BASE, "a": shifted(0.01, 0.01, 0.01, 0.01)},
        "two": {"base": BASE, "a": shifted(0.03, 0.03, 0.03, 0.03)},
        "three": {"base": BASE, "a": [0.9, None, 0.9, 0.9]},
    }
    each = comparison.compare_by_dataset(runs(values), "base", ["a"])
    failed = each[each["dataset"] == "three"].iloc[0]
    assert failed["n_failed"] == 1
    assert pd.isna(failed[["difference", "low", "p_value"]].astype(float)).all()
    (row,) = comparison.compare_over_datasets(each, "base").to_dict("records")
    assert row["n_datasets"] == 2
    assert row["difference"] == pytest.approx(0.02)
    # Two datasets: s/√2 = .01, and Student's quantile with one degree of freedom.
    assert row["high"] - row["difference"] == pytest.approx(T1 * 0.01, rel=1e-4)
    assert (row["n_above"], row["n_below"]) == (2, 0)
    assert (row["mean_rank"], row["reference_mean_rank"]) == (1, 2)


def test_a_failed_selection_is_a_failure_too():
    """Dataset three has no runs of the method."""
    values = {name: {"base": BASE, "a": shifted(0.01, 0.01, 0.01, 0.02)} for name in ("one", "two")}
    each = comparison.compare_by_dataset(runs({**values, "three": {"base": BASE}}), "base", ["a"])
    assert each[["dataset", "n_repeats", "n_failed"]].to_numpy().tolist() == [
        ["one", 4, 0], ["two", 4, 0], ["three", 4, 4]
    ]  # fmt: skip
    (row,) = comparison.compare_over_datasets(each, "base").to_dict("records")
    assert row["n_datasets"] == 2
    # An ε with too few complete datasets has no row; the others stay.
    other = each[each["dataset"] != "two"].assign(epsilon=7.0)
    both = comparison.compare_over_datasets(pd.concat([each, other]), "base")
    assert both["epsilon"].tolist() == [1]


def test_over_datasets_each_counts_once_and_tests_are_corrected_for_the_methods():
    gaps = [0.01, 0.02, 0.03, 0.04, 0.05, 0.06]
    values = {
        f"d{i}": {
            "base": BASE,
            "a": shifted(gap, gap, gap, gap),
            "b": shifted(*[gap * (-1) ** i] * 4),
        }
        for i, gap in enumerate(gaps)
    }
    each = comparison.compare_by_dataset(runs(values), "base", ["a", "b"])
    table = comparison.compare_over_datasets(each, "base").set_index("method")
    # Of 64 draws of six signs: 2 with all signs equal, 54 at least as extreme as the rank sum 9.
    assert table.loc["a", "p_value"] == pytest.approx(2 / 64)
    assert table.loc["a", "p_holm"] == pytest.approx(4 / 64)
    assert table.loc["b", "p_value"] == pytest.approx(54 / 64)
    assert table.loc["b", ["n_above", "n_below"]].tolist() == [3, 3]
    # a has the highest accuracy on all six, a tie with b on three; base is second or last.
    assert table.loc["a", "mean_rank"] == pytest.approx(1.25)
    assert table.loc["b", "mean_rank"] == pytest.approx(2.25)
    assert table.loc["a", "reference_mean_rank"] == pytest.approx(2.5)
    assert table.loc["a", "critical_difference"] == pytest.approx(
        2.343 * math.sqrt(12 / 36), rel=1e-3
    )


@pytest.mark.parametrize(
    ("shares", "on_test", "on_folds"),
    [
        ([1], "all repeats train on the same records", "repeats share most of the records"),
        ([0.5, 1], "draw their own share of the train", "repeats share some of the records"),
    ],
)
def test_each_repeat_draws_its_own_share(tmp_path, monkeypatch, shares, on_test, on_folds):
    each = pd.DataFrame({"dataset": ["a"], "scored_on": ["test"]})
    (note,) = comparison.coverage_notes(each, min(shares) < 1)
    assert on_test in note
    monkeypatch.chdir(tmp_path)
    learners = {name: {"learner": "one_rule"} for name in ("rule", "other")}
    outputs = [{"comparison": {"method": "rule~proved"}}]
    plan = write_made_up_study(tmp_path, learners=learners, train_shares=shares, outputs=outputs)
    (request,) = plan.study_outputs("tiny")
    request.output.make(plan.context(request))
    assert on_folds in request.table.with_suffix(".md").read_text("utf-8")


def test_runs_of_other_splits_are_not_paired():
    frame = pd.concat([runs({"d": {"base": BASE}}), runs({"d": {"a": BASE[:3]}})])
    with pytest.raises(ValueError, match="a: its runs must have the splits"):
        comparison.compare_by_dataset(frame, "base", ["a"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "bost~proved"}, "no method that has an ε is called 'bost~proved'"),
        ({"method": "majority"}, "no method that has an ε is called 'majority'"),
        ({"method": "boost~proved", "others": ["boost~proved"]}, "others: must not contain"),
        ({}, "needs the option 'method'"),
    ],
)
def test_an_impossible_comparison_is_refused_by_name(options, message):
    with pytest.raises(study.StudyError, match=message):
        output_request("comparison", options, outputs=["accuracy"])


def test_only_the_methods_that_are_compared_are_read():
    options = {"method": "boost~proved", "others": ["boost~published"]}
    read = output_request("comparison", options, outputs=["accuracy"]).reads.curves
    assert {method for _, method in read} == {"boost~proved", "boost~published"}


def test_the_figure_marks_differences_in_points():
    values = {"one": {"base": BASE, "a": shifted(0.01, 0.03, 0.01, 0.03)}}
    values["two"] = {"base": BASE, "a": shifted(-0.01, 0.01, 0.03, 0.01)}
    each = comparison.compare_by_dataset(runs(values), "base", ["a"])
    table = comparison.compare_over_datasets(each, "base").assign(kind=["rule"])
    looks = style.curve_styles("a", {"a": "proved"}, {"a": 0.0})
    (panel,) = comparison.draw(table, each, {"a": "A method"}, looks, "the base").axes
    dots = next(line for line in panel.get_lines() if line.get_marker() == ".")
    assert dots.get_xdata() == pytest.approx([2, 1])
    assert [text.get_text() for text in panel.get_yticklabels()] == ["A method"]
    with pytest.raises(ValueError, match="must have rows to draw"):
        comparison.draw(table.iloc[:0], each, {"a": "A method"}, looks, "the base")
