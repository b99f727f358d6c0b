"""Many datasets: wins, mean ranks and significance tests, against computations by hand."""

import math
from types import SimpleNamespace

import pandas as pd
import pytest
from made_up_study import ALL_SETTINGS_STUDY, BOOST, output_request

from privcurve.analysis import measures, ranks
from privcurve.experiments import kinds, study
from privcurve.experiments.results import IncompleteError
from privcurve.figures import style
from privcurve.outputs import error_table as domains
from privcurve.outputs import mean_ranks
from privcurve.outputs.error_table import method_titles
from privcurve.outputs.registry import OUTPUTS
from privcurve.tables.table import Table

# {dataset: {method: errors of four fresh trainings}}
ERRORS = {
    "one": dict(base=[0.3, 0.4, 0.3, 0.4], good=[0.2, 0.3, 0.2, 0.3], odd=[0.1, 0.6, 0.1, 0.6]),
    "two": dict(base=[0.2, 0.2, 0.1, 0.1], good=[0.1, 0.2, 0.1, 0.1], odd=[0.3, 0.3, 0.2, 0.2]),
}
METHODS = ["base", "good", "odd"]
TITLES = {method: method.title() for method in METHODS}


def runs(errors=ERRORS, epsilon=1.0):
    return pd.DataFrame(
        [
            {
                **{"dataset": dataset, "method": method, "learner": method, "epsilon": epsilon},
                **{"fold": f"{k}/4", "repeat": k, "status": "ok", "accuracy": 1 - error},
            }
            for dataset, methods in errors.items()
            for method, values in methods.items()
            for k, error in enumerate(values, start=1)
        ]
    )


def table(frame):
    methods = list(dict.fromkeys(frame["method"]))
    return domains.error_frame(frame, list(ERRORS), methods, "base")


def row(frame, dataset, method):
    return frame[(frame["dataset"] == dataset) & (frame["method"] == method)].iloc[0]


def test_wins_are_paired_and_by_two_standard_errors():
    frame = table(runs())
    # Better by 0.1 in each pair, so without doubt, although single trainings differ as much.
    sure = row(frame, "one", "good")
    assert sure["gain"] == pytest.approx(0.1)
    assert sure["gain_standard_error"] == pytest.approx(0, abs=1e-12)
    assert sure["verdict"] == "win"
    assert bool(sure["best"])
    # Better in one of four pairs: gain 0.025, standard deviation 0.05; hold-outs of a quarter
    # overlap.
    unsure = row(frame, "two", "good")
    assert unsure["gain"] == pytest.approx(0.025)
    assert unsure["gain_standard_error"] == pytest.approx(0.05 * math.sqrt(1 / 4 + 1 / 3))
    assert unsure["verdict"] == "tie"
    assert row(frame, "two", "odd")["verdict"] == "loss"
    assert row(frame, "one", "odd")["verdict"] == "tie"
    assert pd.isna(row(frame, "one", "base")["verdict"])


def test_wins_and_mean_ranks_are_counted():
    counts = domains.count_wins(table(runs())).set_index("method")
    assert counts.loc["good", ["wins", "ties", "losses"]].tolist() == [1, 1, 0]
    assert counts.loc["odd", ["wins", "ties", "losses"]].tolist() == [0, 1, 1]
    # On dataset one, base and odd share ranks 2 and 3.
    assert counts["mean_rank"].to_dict() == {"base": 2.25, "good": 1.0, "odd": 2.75}


# The same trainings: `odd` has the best AUC, and `good` has no log loss because it fits votes.
OTHERS = {"base": (0.7, 0.6), "good": (0.8, None), "odd": (0.9, 0.4)}


def by_all_measures(frame, datasets=ERRORS):
    frame = frame.assign(
        auc=[OTHERS[method][0] for method in frame["method"]],
        log_loss=[OTHERS[method][1] for method in frame["method"]],
    )
    tables = [domains.error_frame(frame, datasets, METHODS, "base", m) for m in measures.RANKED]
    return pd.concat(tables, ignore_index=True).assign(kind=kinds.RULE)


def test_each_measure_ranks_the_methods_that_have_it():
    frame = by_all_measures(runs())
    losses = frame[frame["measure"] == "log_loss"]
    assert losses["error"].tolist() == [0.6, 0.4] * 2
    assert row(frame[frame["measure"] == "auc"], "one", "odd")["error"] == pytest.approx(0.1)
    tests = mean_ranks.rank_by_kind(frame)
    of = {measure: ranks.mean_ranks(part) for measure, part in tests.groupby("measure")}
    assert of == {
        "accuracy": {"good": 1.0, "base": 2.25, "odd": 2.75},
        "auc": {"odd": 1.0, "good": 2.0, "base": 3.0},
        "log_loss": {"odd": 1.0, "base": 2.0},
    }
    critical = tests.groupby("measure")["critical_difference"].first()
    assert critical["auc"] == pytest.approx(ranks.critical_difference(3, 2))
    assert critical["log_loss"] == pytest.approx(ranks.critical_difference(2, 2))
    panels = drawn(tests, TITLES).axes
    named = [panel.get_title(loc="left").partition("  ")[0] for panel in panels]
    assert named == [f"ε = 1, by {name}" for name in ("error", "1 − AUC", "log loss")]


def drawn(tests, titles):
    """Return the figure of mean ranks of methods that are proved, by rule unless all are tuned."""
    way, zero = dict.fromkeys(titles, "proved"), dict.fromkeys(titles, 0.0)
    thin = tests.loc[tests["ranked"] == mean_ranks.NOT_COVERED, "method"]
    return mean_ranks.draw(tests, titles, style.curve_styles(titles, way, zero, {*thin}))


def test_a_method_that_lacks_a_measure_on_one_dataset_is_not_ranked_by_it():
    frame = by_all_measures(runs())
    gone = frame["measure"].eq("auc") & frame["method"].eq("good") & frame["dataset"].eq("two")
    tests = mean_ranks.rank_by_kind(frame[~gone])
    part = tests[tests["measure"] == "auc"]
    assert ranks.mean_ranks(part) == {"odd": 1.0, "base": 2.0}
    assert set(part["n_datasets"]) == {2}


def test_a_dataset_with_a_failed_training_counts_for_no_method():
    frame = pd.concat([runs(), runs({"three": ERRORS["one"]})])
    failed = (frame["dataset"] == "three") & (frame["method"] == "good") & (frame["repeat"] == 1)
    frame.loc[failed, ["status", "accuracy"]] = ["failed", math.nan]
    outcomes = by_all_measures(frame, [*ERRORS, "three"])
    of_auc = row(outcomes[outcomes["measure"] == "auc"], "three", "good")
    assert math.isnan(of_auc["error"])
    assert of_auc["n_failed"] == 1
    # The rank of the method uses the other datasets.
    tests = mean_ranks.rank_by_kind(outcomes).query("measure == 'auc'")
    assert set(ranks.mean_ranks(tests)) == {"base", "good", "odd"}
    assert set(tests["n_datasets"]) == {2}


def test_a_failed_training_takes_the_mean_and_the_rank():
    frame = runs()
    frame.loc[(frame["dataset"] == "one") & (frame["method"] == "good"), "status"] = "failed"
    outcomes = table(frame)
    failed = row(outcomes, "one", "good")
    assert math.isnan(failed["error"])
    assert math.isnan(failed["rank"])
    assert pd.isna(failed["verdict"])
    assert not failed["best"]
    assert row(outcomes, "one", "base")["rank"] == 1.5


def test_a_failed_selection_has_a_row_and_its_dataset_counts_for_no_method():
    frame = pd.concat([runs(), runs({"three": ERRORS["one"]})])
    frame = frame[~((frame["dataset"] == "three") & (frame["method"] == "good"))]
    outcomes = domains.error_frame(frame, [*ERRORS, "three"], METHODS, "base")
    failed = row(outcomes, "three", "good")
    assert math.isnan(failed["error"])
    assert (failed["n_repeats"], failed["n_failed"]) == (4, 4)
    both = domains.count_wins(outcomes).set_index("method")["mean_rank"].to_dict()
    assert both == {"base": 2.25, "good": 1.0, "odd": 2.75}


def test_without_privacy_there_is_neither_rank_nor_rival():
    free = runs({name: {"free": [0.0] * 4} for name in ERRORS}, math.inf)
    frame = table(pd.concat([runs(), free]))
    only = row(frame, "one", "free")
    assert math.isnan(only["rank"])
    assert not only["best"]
    shown = domains.format_table(frame, {**TITLES, "free": "Free"}, "base", METHODS)
    assert shown["measure"].tolist() == ["error"] * 4
    assert shown["Free"].tolist() == ["0.000 ± 0.000", "0.000 ± 0.000", "–", "–"]
    # Hold-outs of a quarter overlap: √(1/4 + (1/4)/(3/4)) times 0.0577 and 0.05.
    cells = ["**0.250** ± 0.044", "**0.125** ± 0.038", "1/1/0", "1.00"]
    assert shown["Good"].tolist() == cells


def test_an_error_without_noise_is_in_no_row_of_a_finite_epsilon():
    frame = table(pd.concat([runs(), runs({"one": {"odd": [0.0] * 4}}, math.inf)]))
    frame = frame[~((frame["method"] == "odd") & (frame["epsilon"] == 1))]
    shown = domains.format_table(frame, TITLES, "base", METHODS)
    assert shown["ε"].tolist() == ["1"] * 4
    assert shown["Odd"].tolist() == ["–"] * 4


def test_mean_ranks_use_the_datasets_that_all_methods_have():
    frame = table(runs())
    gone = frame[~((frame["method"] == "odd") & (frame["dataset"] == "one"))]
    ranks_of = domains.count_wins(gone).set_index("method")["mean_rank"].to_dict()
    of_two = frame[frame["dataset"] == "two"].set_index("method")["rank"].to_dict()
    assert ranks_of == of_two


def test_holms_correction():
    # Sorted values times 3, 2 and 1, each at least as large as the one before.
    assert ranks.holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert ranks.holm([0.6, 0.7]) == [1.0, 1.0]


@pytest.mark.parametrize(
    ("gaps", "p_value"),
    [
        # Five datasets cannot reject at .05; the normal approximation would.
        ([0.1, 0.2, 0.3, 0.4, 0.5], 2 / 32),
        ([0.1] * 6, 2 / 64),
        # A tie up to the last bit: ranks 1½, 1½ and 3; three of eight sign draws give 1½ or less.
        ([0.3 - 0.2, -0.1, 0.4], 2 * 3 / 8),
        # Ranks 3 and 4 have signs; zeros have none.
        ([0, 0, 0.1, 0.2], 2 / 4),
        ([0, 0], 1),
    ],
)
def test_wilcoxons_p_value_is_exact(gaps, p_value):
    assert ranks.wilcoxon(gaps) == pytest.approx(p_value)


def test_nemenyis_critical_difference():
    # Demšar 2006, section 3.2.4: q = 2.569 for four learners, critical difference 1.25 for 14
    # datasets.
    assert ranks.critical_difference(4, 14) == pytest.approx(1.25, abs=0.005)


def test_learners_chosen_without_privacy_are_ranked_apart():
    paid = many_datasets(lambda i: {"a": 0.1, "b": 0.2}).assign(kind=kinds.RULE)
    not_covered = many_datasets(lambda i: {"c": 0.0, "d": 0.3}).assign(kind=kinds.NOT_COVERED)
    frame = mean_ranks.rank_by_kind(pd.concat([paid, not_covered]))
    assert list(frame["ranked"]) == [mean_ranks.COVERED, mean_ranks.NOT_COVERED]
    assert list(frame["method"]) == ["a", "c"]
    assert frame["mean_rank"].tolist() == [1, 1]
    assert len(drawn(frame, dict(zip("abcd", "ABCD", strict=True))).axes) == 2


def many_datasets(gaps):
    rows = [
        {
            **{"measure": "accuracy", "epsilon": 1.0, "dataset": f"d{i:02d}", "method": method},
            **{"error": base + gap, "rank": 1.0},
        }
        for i, base in enumerate([0.1 + 0.013 * k for k in range(19)])
        for method, gap in gaps(i).items()
    ]
    return pd.DataFrame(rows)


def test_pairs_that_always_differ_are_distinguished():
    frame = many_datasets(lambda i: {"a": 0.0, "b": 0.001 * (-1) ** i, "c": 0.05 + 0.001 * i})
    tests = ranks.compare_pairs(frame).set_index(["method", "other"])
    assert tests["friedman_p"].iloc[0] < 1e-4
    result = {frozenset(pair): differs for pair, differs in tests["differs"].items()}
    assert result[frozenset("ac")]
    assert result[frozenset("bc")]
    assert not result[frozenset("ab")]
    assert [sorted(group) for group in ranks.groups_of_equals(tests.reset_index())] == [["a", "b"]]


def test_equal_methods_do_not_differ():
    frame = ranks.compare_pairs(many_datasets(lambda _: {"a": 0.0, "b": 0.0, "c": 0.0}))
    assert frame["p_value"].tolist() == [1.0, 1.0, 1.0]
    assert frame["mean_rank"].tolist() == [2.0, 2.0, 2.0]
    assert ranks.groups_of_equals(frame) == [["a", "b", "c"]]


def test_ranks_need_two_datasets_and_two_methods():
    assert ranks.compare_pairs(many_datasets(lambda _: {"a": 0.0})).empty


def test_ranks_are_of_the_datasets_that_are_named(monkeypatch):
    monkeypatch.setattr(mean_ranks, "draw", lambda *_: None)
    two = {"datasets": ["toy-line", "toy-line-fine"]}
    third = pd.concat([runs(), runs({"three": {**ERRORS["one"], "good": [0.9] * 4}})])
    names = {"one": "toy-line", "two": "toy-line-fine", "three": "banknote"}
    table = domains.error_frame(third, list(names), METHODS, "base")
    table = table.assign(dataset=table["dataset"].map(names), kind=kinds.RULE)
    written = []
    context = SimpleNamespace(
        request=output_request("mean_ranks", two, datasets=list(names.values())),
        table_of=lambda word: table,
        write=lambda made: written.append(made.frame),
        draw=lambda figure, frame: None,
    )
    OUTPUTS["mean_ranks"].make(context)
    (frame,) = written
    table = table.assign(rank=math.nan)
    with pytest.raises(IncompleteError, match="no two methods have accuracy or auc or log_loss"):
        OUTPUTS["mean_ranks"].make(context)
    # The method is the worst on the third dataset, which the study does not name.
    assert ranks.mean_ranks(frame)["good"] == 1
    assert set(frame["n_datasets"]) == {2}
    with pytest.raises(ValueError, match="measures"):
        output_request("mean_ranks", {"measures": ["speed"]}, datasets=list(names.values()))


def test_the_diagram_draws_a_line_an_method_and_its_bars():
    errors = many_datasets(lambda i: {"a": 0.0, "b": 0.001 * (-1) ** i, "c": 0.05})
    frame = mean_ranks.rank_by_kind(errors.assign(kind=kinds.RULE))
    figure = drawn(frame, {"a": "First", "b": "Second", "c": "Third"})
    (panel,) = figure.axes
    texts = [text.get_text() for text in panel.texts]
    assert any(text.startswith("First 1.") or text.startswith("Second 1.") for text in texts)
    assert "3.00 Third" in texts
    bars = [line for line in panel.lines if line.get_linewidth() > 2]
    assert len(bars) == 1


def test_bold_cells_are_bold_in_latex_too(tmp_path):
    frame = pd.DataFrame({"a_b": ["**0.1**", "2 * 3 ** 2"]})
    Table(frame, "Caption", (), frame).write(tmp_path / "table")
    tex = (tmp_path / "table.tex").read_text()
    assert r"\textbf{0.1} \\" in tex
    assert r"2 * 3 ** 2 \\" in tex
    assert "| **0.1**    |" in (tmp_path / "table.md").read_text()


SOUND = {**BOOST, "calibrations": ["proved"]}
APART = {"learners": {"boost": SOUND, "gam": {"learner": "privgam", "epsilons": [7]}}}
OF_BOOST = {"method": "boost~proved"}
OC = ALL_SETTINGS_STUDY["learners"]["oc"]
PROVED = {"learner": "bdpe", "calibrations": ["proved"]}
TWO_DELTAS = {**ALL_SETTINGS_STUDY, "learners": {"oc": {**OC, "deltas": [0, 1e-5]}}}
NO_FOREST = {**ALL_SETTINGS_STUDY, "paper": "boosted_dp", "learners": {"oc": OC}}


@pytest.mark.parametrize(
    ("word", "options", "changes", "message"),
    [
        ("error_table", {"baseline": "bost"}, {}, "no method 'bost'"),
        ("error_table", {"baseline": "majority"}, {}, "baseline: must be a method with an ε"),
        (
            "error_table",
            {"neighbours": "add-remove"},
            {},
            "no method has the relation 'add-remove'",
        ),
        ("mean_ranks", {}, {}, "two datasets"),
        ("mean_ranks", {}, {**APART, "datasets": ["toy-line", "banknote"]}, "with an ε in common"),
        ("comparison", OF_BOOST, APART, "two methods with an ε in common"),
        (
            "comparison",
            {**OF_BOOST, "others": ["gam~proved"]},
            APART,
            "others: gam~proved must have an ε of boost",
        ),
        ("mean_ranks", {"datasets": ["tinny"]}, {}, "the study has no 'tinny'"),
        ("mean_ranks", {"datasets": "tiny"}, {}, "a list of datasets"),
        ("ledgers", {"epsilons": []}, {}, "a list of ε of the study"),
        ("ensemble_errors", {}, {}, "select: all"),
        (
            "ensemble_errors",
            {},
            {**ALL_SETTINGS_STUDY, "learners": {"boost": BOOST}},
            "must have a learner bdpe",
        ),
        ("ensemble_errors", {}, TWO_DELTAS, "must differ in forest, .*; got the same for"),
        (
            "ensemble_errors",
            {},
            {**ALL_SETTINGS_STUDY, "learners": {"oc": PROVED}},
            "calibration must be published; got another for",
        ),
        (
            "ensemble_alphas",
            {},
            {**ALL_SETTINGS_STUDY, "paper": "nowhere"},
            "nowhere/printed/table1",
        ),
        ("ensemble_wins", {}, NO_FOREST, "must have a learner dp_forest"),
    ],
)
def test_an_impossible_option_is_refused_by_name(word, options, changes, message):
    with pytest.raises(study.StudyError, match=message):
        output_request(word, options, **changes)


def test_a_table_of_some_neighbours_has_their_methods_and_the_baseline():
    gam = {"learner": "privgam", "deltas": [1e-5]}
    learners = {"gam": gam, "added": {**gam, "neighbours": "add-remove"}, "boost": BOOST}
    shown = ["gam~proved~delta=1e-05", "added~proved~delta=1e-05"]
    options = {"baseline": shown[0], "neighbours": "add-remove"}
    request = output_request("error_table", options, learners=learners)
    assert domains.table_methods(request) == shown
    assert {method for _, method in request.output.reads(request).curves} == set(shown)


def test_a_method_is_named_with_its_differences_from_others():
    """The title has calibration, kind or δ only where two methods of the study differ in it."""
    titles = method_titles(output_request("error_table"))
    assert titles["boost~proved"].endswith(", proved, untuned budget")
    assert "," not in titles["majority"]
    assert "paid" not in next(title for name, title in titles.items() if "rule" in name)
    alone = method_titles(output_request("error_table", learners={"boost": BOOST}))
    assert alone["boost~proved"].endswith(", proved")
    boost = {**BOOST, "calibrations": ["proved"], "deltas": [0, 1e-5]}
    titles = method_titles(output_request("error_table", learners={"boost": boost}))
    assert [title.partition(", δ")[2] for title in titles.values()] == ["", " = 10⁻⁵"]
