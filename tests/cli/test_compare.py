"""privcurve compare: its arguments, its study, and its output."""

import importlib.util
import io
import json
import os
import re
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import yaml

from privcurve import datasets, extras
from privcurve.cli import compare, main
from privcurve.datasets.reading.downloads import sha256_of
from privcurve.experiments import curves, kinds, study
from privcurve.outputs.answers import ranking, set_used_deltas, titles_of
from privcurve.outputs.wishes import Wish
from privcurve.progress import Progress
from privcurve.workflow import comparison, running

ROOT = Path(__file__).parents[2]
TITLES = {"a~proved": "A", "b~proved": "B", "gb": "Boosting", "majority": "Majority"}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def table(*rows):
    names = ["method", "learner", "calibration", "delta", "epsilon", "accuracy", "accuracy_error"]
    return pd.DataFrame(rows, columns=names).assign(dataset="d", scored_on="test", n_repeats=4)


TABLE = table(
    ("b~proved", "b", "proved", 1e-6, 1.0, 0.83, 0.002),
    ("a~proved", "a", "proved", 0.0, 1.0, 0.8423, 0.002),
    ("a~proved", "a", "proved", 0.0, 2.0, float("nan"), 0.001),
    ("gb", "gradient_boosting", None, 0.0, float("inf"), 0.861, 0.001),
    ("majority", "majority_class", None, 0.0, float("inf"), 0.761, 0.0),
)


def sentence(frame, **options):
    return ranking(frame, "d", 1, TITLES, **options).sentence()


def test_the_sentence_names_the_choice_its_cost_and_the_optimism():
    assert sentence(TABLE) == (
        "at ε = 1 take A: accuracy 0.842 ± 0.002, the best of 2 and so slightly optimistic; "
        "without privacy 0.861; always the most frequent label 0.761"
    )
    nearer = TABLE.assign(accuracy=TABLE["accuracy"].replace(0.83, 0.84))
    assert sentence(nearer).endswith("level with it within two standard errors: B, δ = 10⁻⁶")
    assert "best of" not in sentence(TABLE.drop(index=0))
    # A method without a score is not ranked.
    assert "nothing was trained" in ranking(TABLE, "d", 2, TITLES).sentence()
    lines = ranking(TABLE, "d", 1, TITLES).lines(1)
    assert [line.split()[0] for line in lines] == ["1.", "Boosting", "Majority"]


def test_a_learner_whose_training_has_failed_is_named():
    failed = TABLE.iloc[[0]].assign(method="c~proved", accuracy=float("nan"), status="failed")
    rows = pd.concat([TABLE.assign(status="ok"), failed], ignore_index=True)
    titles = {**TITLES, "c~proved": "C"}
    assert (
        ranking(rows, "d", 1, titles)
        .sentence()
        .endswith("; not ranked because trainings failed: C, δ = 10⁻⁶")
    )
    rows["accuracy"] = rows["accuracy"].replace({0.8423: 0.7, 0.83: 0.7})
    assert ranking(rows, "d", 1, titles).sentence().endswith("trainings failed: C, δ = 10⁻⁶")


def test_a_reference_and_a_twin_whose_trainings_have_failed_are_named():
    methods = {"a~proved": "c", "b~proved": "c~delta=1e-06", "gb": "gb", "majority": "free"}
    lost = TABLE.drop(index=2).assign(accuracy=float("nan"), accuracy_error=0, status="failed")
    rows = pd.concat(
        [TABLE[:2].assign(status="ok"), lost.assign(method=lost["method"].map(methods))]
    )
    place = ranking(rows, "d", 1, {**TITLES, "c": "C", "c~delta=1e-06": "C", "free": "Free"})
    named = "C, δ = 10⁻⁶ and C and Boosting (no privacy) and Free (no privacy)"
    assert place.sentence().endswith(f"; not ranked because trainings failed: {named}")
    assert place.failed_methods == ["c~delta=1e-06", "c"]


def test_if_nothing_beats_a_constant_the_sentence_says_so():
    weak = TABLE.assign(
        accuracy=TABLE["accuracy"].replace(0.8423, 0.7635), auc=[0.6, 0.67, 0, 0, 0]
    )
    weak["accuracy"] = weak["accuracy"].replace(0.83, 0.75)
    made = ranking(weak, "d", 1, TITLES, n_records=1000)
    assert made.sentence() == (
        "at ε = 1 with 1,000 records nothing is better than always predicting the most frequent "
        "label (0.761): A, the best of 2, has 0.763 ± 0.002; the best AUC is 0.670 "
        "(A; guessing has 0.5); a larger ε or more records could change that"
    )
    pure = ranking(weak.assign(delta=0.0), "d", 1, TITLES).sentence()
    assert pure.endswith("a larger ε, a δ above 0 or more records could change that")


def test_one_mechanism_is_one_row():
    """A method that got a δ and used none equals the method without δ, with equal scores."""
    twice = TABLE.iloc[[1, 1]].assign(method=["a~proved", "a~proved~delta=1e-06"])
    twice["delta"] = [0.0, 1e-6]
    titles = {**TITLES, "a~proved~delta=1e-06": "A"}
    rows = pd.concat([twice.iloc[::-1], TABLE.iloc[[0, 3, 4]]], ignore_index=True)
    made = ranking(rows, "d", 1, titles)
    assert [made.name(row) for _, row in made.private.iterrows()] == ["A", "B, δ = 10⁻⁶"]
    # Other scores show another mechanism.
    rows.loc[0, "accuracy_error"] = 0.0021
    assert len(ranking(rows, "d", 1, titles).private) == 3
    # The row shows the δ that the ledger says was used.
    used = pd.DataFrame({"dataset": "d", "method": "b~proved", "epsilon": 1.0, "delta_used": [0.0]})
    result = ranking(set_used_deltas(TABLE, used), "d", 1, TITLES)
    assert "B  " in result.lines()[1]


def test_only_proved_learners_are_recommended_and_selection_on_records_is_reported():
    first = TABLE.assign(kind="hyperparameters chosen without privacy")
    first.loc[0, ["calibration", "accuracy"]] = "published", 0.9
    made = ranking(first, "d", 1, TITLES)
    assert made.sentence().startswith("at ε = 1 take A: ")
    assert made.sentence().endswith("hyperparameters were chosen without privacy")
    assert "1. B, noise as published" in made.lines()[0]


def test_a_learner_whose_setting_nobody_paid_for_is_not_recommended_though_it_is_ahead():
    mixed = TABLE.assign(
        kind=["rule", "hyperparameters chosen without privacy", "rule", "not private", ""]
    )
    made = ranking(mixed, "d", 1, TITLES)
    assert made.sentence() == (
        "at ε = 1 take B, δ = 10⁻⁶: accuracy 0.830 ± 0.002; without privacy 0.861; always the most "
        "frequent label 0.761; A has 0.842 with hyperparameters chosen without privacy"
    )
    assert made.lines()[0].startswith("  1. A (untuned budget)")
    behind = mixed.assign(accuracy=mixed["accuracy"].replace(0.8423, 0.5))
    assert "chosen on the records" not in ranking(behind, "d", 1, TITLES).sentence()


def test_the_quickstart_shows_the_recommendation_at_both_deltas():
    shown = study.load(ROOT / "config/studies/quickstart.yaml")
    (pure, approximate) = [one for one in shown.methods.values() if one.learner == "privgam"]
    assert (pure.delta, approximate.delta) == (0, 1e-5)
    assert kinds.kind(pure) == kinds.kind(approximate) == kinds.RULE


RARE = TABLE.assign(
    accuracy=[0.9984, 0.9983, float("nan"), 0.9991, 0.9983],
    accuracy_error=0.0001,
    balanced_accuracy=[0.51, 0.5, 0.5, 0.8, 0.5],
    auc=[0.8, 0.9, 0.5, 0.95, 0.5],
    auc_error=0.005,
    log_loss=[0.3, 0.2, 0.4, 0.1, 0.5],
    log_loss_error=0.005,
)


def test_titles_name_the_neighbours_of_epsilon_where_they_differ():
    gam = {"learner": "privgam", "neighbours": "add-remove", "fixed": {"n_estimate": 500}}
    learners = {
        "gam": gam,
        "bayes": {"learner": "noisy_bayes"},
        "lr": {"learner": "logistic_regression"},
    }
    raw = {"title": "T", "datasets": ["wdbc"], "epsilons": [1], "folds": 2, "repeats": 2}
    result = titles_of(study.from_mapping({**raw, "learners": learners}, "t", "t"))
    assert result["gam~proved"] == "PrivGAM (add-remove)"
    assert result["bayes~proved"] == "Noisy naive Bayes (replace-one)"
    assert result["lr"] == "Logistic regression"
    alike = titles_of(study.from_mapping({**raw, "learners": {"gam": gam}}, "t", "t"))
    assert alike["gam~proved"] == "PrivGAM"


def test_for_a_rare_label_more_than_the_accuracy_is_reported():
    made = ranking(RARE, "d", 1, TITLES)
    assert made.sentence().startswith(
        "at ε = 1 nothing is better than always predicting the most frequent label (0.9983): B, "
        "δ = 10⁻⁶, the best of 2, has 0.9984 ± 0.0001; the best AUC is 0.900 (A; guessing has 0.5)"
    )
    assert made.lines()[0].endswith("0.9984 ± 0.0001  AUC 0.800  log-loss 0.300  balanced 0.510")
    assert made.remark().startswith("99.83% of the records have one label")
    assert made.remark().endswith(
        "accuracy does not help here. Rank by AUC or log-loss: --metric auc."
    )
    assert ranking(TABLE, "d", 1, TITLES).remark() == ""
    assert "AUC" not in ranking(TABLE, "d", 1, TITLES).lines()[0]


def test_another_metric_ranks_and_a_loss_in_reverse():
    made = ranking(RARE, "d", 1, TITLES, "auc")
    assert made.sentence() == (
        "at ε = 1 take A: AUC 0.900 ± 0.005, the best of 2 and so slightly optimistic; without "
        "privacy 0.950; always the most frequent label 0.500"
    )
    assert made.lines()[0].endswith(
        "0.900 ± 0.005  accuracy 0.9983  log-loss 0.200  balanced 0.500"
    )
    assert made.remark().endswith("so accuracy does not help here.")
    by_loss = ranking(RARE, "d", 1, TITLES, "log_loss").sentence()
    assert by_loss.startswith("at ε = 1 take A: log loss 0.200 ± 0.005")
    assert "without privacy 0.100" in by_loss


def test_a_comparison_is_checked_and_written_in_any_folder(folder):
    made = comparison.prepare("wdbc", [2, 0.5], 1e-6, tune=True)
    written = yaml.safe_load(made.file.read_text())
    assert made.file == Path("results/comparisons/compare_wdbc.yaml")
    assert written["epsilons"] == [0.5, 2]
    assert written["learners"]["privgam"]["deltas"] == [1e-6]
    # The learner offers only δ = 0.
    assert "deltas" not in written["learners"]["dp_lr"]
    assert made.left_out == ()
    assert json.loads(made.configuration.read_text())["seed"] == comparison.SEED
    # Tuned settings are paid for, and all other settings are public: ε covers the whole way.
    assert made.study.methods["lazybb_tuned~proved~delta=1e-06"].tune is not None
    methods = made.study.methods.values()
    assert {len(method.settings) for method in methods} == {1}
    assert {method.calibration for method in methods} == {"proved", None}
    assert "metric" not in written
    assert not made.plan.is_fresh
    fresh = comparison.prepare("wdbc", [1], fresh=True)
    assert fresh.plan.is_fresh
    assert json.loads(fresh.configuration.read_text())["fresh"] is True
    # The wish is on the page; a search for ε compares more values of ε.
    wish = Wish("auc", 0.9, within=False)
    wanted = comparison.prepare("wdbc", comparison.WIDE, metric="auc", wish=wish)
    assert wanted.outputs["leaderboard"].options["want"] == "auc >= 0.9"
    # Without δ, a learner that needs one is left out and named.
    pure = comparison.prepare("wdbc", [1], metric="auc")
    assert pure.study.metric == "auc"
    assert "random_trees" not in {method.learner for method in pure.study.methods.values()}
    assert "Boosted random trees: random_trees needs a delta above 0" in " ".join(pure.left_out)


DESCRIPTION = {
    "n_rows": 40,
    "files": {"train": {"local": "mine.csv"}},
    "parser": {"kind": "delimited", "header": True},
    "columns": [{"name": "colour", "kind": "categorical", "categories": ["red", "blue"]}],
    "label": {"column": "label", "negative": "no", "positive": "yes"},
}


@pytest.fixture
def private_records(folder, monkeypatch):
    """Write private records."""
    monkeypatch.setenv("PRIVCURVE_SEEDS", str(folder / "seeds"))
    rows = "".join(f"{c},{'yes' if c == 'red' else 'no'}\n" for c in ("red", "blue") * 20)
    (folder / "mine.csv").write_text("colour,label\n" + rows)
    (folder / "descriptions").mkdir()
    (folder / "descriptions/mine.yaml").write_text(yaml.safe_dump(DESCRIPTION))


def test_private_records_get_a_secret_seed(folder, private_records):
    made = comparison.prepare("mine", [1])
    assert json.loads(made.configuration.read_text())["seed"] == "secret"
    assert "secret" in str(made.plan.seed)
    # The remark is about private records only.
    assert not comparison.prepare("toy-line", [1]).plan.notes(["compare_toy-line"])
    (folder / "mine.csv").unlink()
    with pytest.raises(ValueError, match=r"mine\.csv"):
        comparison.prepare("mine", [1])


def test_a_comparison_of_private_records_is_noted_and_their_cards_say_so(
    folder, private_records, monkeypatch, capsys
):
    monkeypatch.setattr(compare, "report", lambda made: "")
    ran = []
    monkeypatch.setattr(running, "run", lambda *_, **__: ran.append(ledger.exists()))
    ledger = Path("releases/mine/ledger.jsonl")
    words = ["release", "mine", "--epsilon", "1", "--learner", "noisy_majority"]
    assert main.main(words) == 0
    assert main.main(["compare", "mine", "--epsilon", "0.5", "1"]) == 0
    assert main.main(words) == 0
    # The ledger has the entry before training: a comparison that stops half-way has looked, too.
    assert ran == [True]
    entries = [json.loads(line) for line in ledger.read_text().splitlines()]
    (noted,) = [entry for entry in entries if "comparison" in entry]
    assert (noted["epsilon"], noted["private"]) == ("inf", False)
    assert noted["sources"] == {"mine.csv": sha256_of(Path("mine.csv"))}
    assert noted["at"].startswith("20")
    # A comparison spends nothing, and the ledger stays valid.
    assert [entry["release"] for entry in entries if "release" in entry] == [1, 1, 2, 2]
    captured = capsys.readouterr()
    assert "together epsilon = 2 (replace-one neighbours)" in captured.out
    assert "last comparison" not in captured.err
    # A warning if the release differs from the comparison.
    for more in (["--delta", "1e-6", "--learner", "privgam"], ["--learner", "noisy_majority"]):
        epsilon = "2" if more[0] == "--learner" else "1"
        assert main.main(["release", "mine", "--epsilon", epsilon, *more]) == 0
        assert "the last comparison was at epsilon = 0.5, 1 with delta = 0" in (
            capsys.readouterr().err
        )
    # The ledger has no entry for public records.
    assert main.main(["compare", "wdbc"]) == 0
    assert sorted(path.name for path in Path("releases").glob("*/")) == ["mine"]
    sentence = "A comparison that is not private was made on these records before."
    cards = [Path(f"releases/mine/{number}/card.md").read_text() for number in (1, 2)]
    assert [sentence in card for card in cards] == [False, True]


def test_an_undecided_draft_is_named_with_its_lines(folder, private_records, capsys):
    path = Path("descriptions/mine.yaml")
    path.write_text(path.read_text().replace("categories:\n  - red\n  - blue", "categories:"))
    line = path.read_text().splitlines().index("- categories:") + 1
    assert main.main(["compare", "mine"]) == 4
    output = capsys.readouterr().err
    assert (
        f"{path}: line {line}: columns.colour.categories: must have a value; got nothing" in output
    )
    assert str(folder) not in output
    assert "privcurve check mine says what to do." in output
    assert "privcurve decide mine asks for what is blank." in output


# Options with a wrong value, or with a value that contradicts another option.
USAGE = ("--cores", "--fresh", "--metric", "--want", "--want:", "--within:")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["wdcb"], "unknown dataset 'wdcb'; did you mean 'wdbc'?"),
        (
            ["wdbc", "--epsilon", "0"],
            "--epsilon: epsilon must be a number > 0 (inf: not private); got 0.0",
        ),
        (["wdbc", "--delta", "1"], "--delta: delta must be a number in [0, 1); got 1.0"),
        (["wdbc", "--repeats", "1"], "--repeats must be at least 2; got 1"),
        (["wdbc", "--cores", "0"], "--cores must be a number above 0, or all; got 0"),
        (["wdbc", "--private-choice", "--metric", "auc"], "--metric belongs to a comparison"),
        (["wdbc", "--private-choice", "--fresh"], "--fresh belongs to a comparison"),
        (["wdbc", "--want", "auc>=90"], "--want: 'auc>=90': the limit must be between 0 and 1"),
        (["wdbc", "--want", "auc>=.9", "--within", ".1"], "--want and --within exclude each other"),
        (["wdbc", "--want", "auc>=.9", "--metric", "accuracy"], "--metric accuracy and --want"),
        (["wdbc", "--within", "2"], "--within: 'accuracy within 2.0': the limit must be"),
        (["toy-line/../x"], "unknown dataset"),
    ],
)
def test_an_impossible_comparison_ends_in_one_message(folder, capsys, arguments, message):
    assert main.main(["compare", *arguments]) == (2 if message.split()[0] in USAGE else 1)
    output = capsys.readouterr().err
    assert output.startswith("privcurve: ")
    assert message in output
    # The message names no file that does not exist, and no file is written.
    assert "results" not in output
    assert not (folder / "results").exists()
    assert not (folder / "logs").exists()


def pretend(folder, monkeypatch, *lines, code=0):
    """Replace Snakemake by a script that prints some lines and ends."""
    script = folder / "pretend"
    result = "".join(f"echo '{line}'\n" for line in lines)
    script.write_text(f"#!/bin/sh\n{result}exit {code}\n")
    script.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(script))


def test_progress_is_a_line_and_the_rest_goes_to_the_log(folder, monkeypatch, capsys):
    lines = ("code: a", "code: b", "rule train:", "1 of 2 steps (50%) done")
    lines += ("2 of 2 steps (100%) done", "failed: a", "code: b")
    pretend(folder, monkeypatch, *lines)
    running.run(["x"], Path("logs/x.log"), printed=["code: a"])
    seen = capsys.readouterr()
    assert seen.out == ""
    assert seen.err.splitlines() == [
        "50 % done (1 of 2 steps)",
        "100 % done (2 of 2 steps)",
        "code: b",
        "failed: a",
    ]
    assert Path("logs/x.log").read_text().splitlines() == list(lines)
    running.run(["x"], Path("logs/x.log"), verbose=True)
    assert capsys.readouterr().out.splitlines() == list(lines)


def test_a_failed_run_names_the_reason_and_its_log(folder, monkeypatch):
    pretend(folder, monkeypatch, "much", "error: mine.csv: line 3", "more", code=1)
    with pytest.raises(running.RunError) as caught:
        running.run(["x"], Path("logs/x.log"))
    assert str(caught.value).splitlines() == [
        "the run has failed.",
        "error: mine.csv: line 3",
        "Complete log: logs/x.log",
    ]
    pretend(folder, monkeypatch, "LockException:", "Error: Directory cannot be locked.", code=1)
    with pytest.raises(running.RunError, match=r"is locked, by .* Wait until it has ended"):
        running.run(["x"], Path("logs/x.log"))


def test_progress_shows_the_remaining_time_of_long_runs():
    clock, result = iter([0.0, 2.0, 9.0, 400.0, 9000.0, 9001.0]), io.StringIO()
    progress = Progress(show=result, clock=lambda: next(clock))
    for done in (2, 4, 6, 8, 10):
        progress.tell(done / 10, f"{done} of 10 steps")
    assert result.getvalue().splitlines() == [
        "20 % done (2 of 10 steps)",
        "40 % done (4 of 10 steps; about 14 s left)",
        "60 % done (6 of 10 steps; about 4 min left)",
        "80 % done (8 of 10 steps; about 38 min left)",
        "100 % done (10 of 10 steps)",
    ]


def test_a_comparison_can_print_json_or_be_quiet(folder, private_records, monkeypatch, capsys):
    ran = []
    monkeypatch.setattr(running, "run", lambda *_, **options: ran.append(options["quiet"]))
    monkeypatch.setattr(compare, "_content", lambda made: {"dataset": "mine"})
    monkeypatch.setattr(compare, "report", lambda made: "a sentence")
    assert main.main(["compare", "mine", "--json"]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out) == {"dataset": "mine", "log": "logs/compare_mine.log"}
    assert main.main(["compare", "mine", "--quiet"]) == 0
    assert capsys.readouterr().out == ""
    assert main.main(["compare", "mine"]) == 0
    default = "Without --learner, privcurve release takes PrivGAM (docs/compare.md)."
    assert capsys.readouterr().out.splitlines()[:2] == [default, "a sentence"]
    assert ran == [True, True, False]
    assert main.main(["compare", "mine", "--quiet", "--verbose"]) == 2
    assert "leave it out" in capsys.readouterr().err


def test_a_comparison_warns_of_clipped_values(folder, private_records, monkeypatch, capsys):
    """Messages of encoding go to the log of the run; the command prints a summary."""
    rows = "".join(f"{k},{'yes' if k % 3 else 'no'}\n" for k in range(40))
    Path("mine.csv").write_text("age,label\n" + rows)
    age = {"name": "age", "kind": "numeric", "bounds": [0, 21]}
    Path("descriptions/mine.yaml").write_text(yaml.safe_dump({**DESCRIPTION, "columns": [age]}))
    coded = curves.CODED / "mine"
    monkeypatch.setattr(running, "run", lambda *_, **__: datasets.prepare("mine", coded))
    monkeypatch.setattr(compare, "report", lambda made: "a sentence")
    assert main.main(["compare", "mine", "--quiet"]) == 0
    warning = (
        "warning: mine: 45% of the values of 'age' (train) lay outside the bounds 0 to 21 and "
    )
    assert capsys.readouterr().err.startswith(warning)


@pytest.fixture
def library_alone(monkeypatch, tmp_path_factory):
    """Hide the packages of the extra ``workflow``, also from child processes."""
    absent = [name for name, (_, extra) in extras.EXTRAS.items() if extra == "workflow"]
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name in absent else find(name)
    )
    first = tmp_path_factory.mktemp("first")
    (first / "sitecustomize.py").write_text(
        "import importlib.util\n"
        "find = importlib.util.find_spec\n"
        f"absent = {absent}\n"
        "importlib.util.find_spec = lambda name, *more: "
        "None if name in absent else find(name, *more)\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(first), prepend=os.pathsep)


def test_without_matplotlib_there_is_no_figure(folder, library_alone):
    made = comparison.prepare("wdbc", [1])
    words = [request.output.word for request in made.plan.study_outputs(made.study.name)]
    assert words == ["accuracy", "selected_settings", "raw", "price", "ledgers", "leaderboard"]
    with pytest.raises(extras.MissingPackageError, match=r"snakemake: pip install 'privcurve\[w"):
        running.run(made.arguments("1"), Path("log"))


@pytest.mark.slow
def test_without_snakemake_a_comparison_has_the_same_table(folder, request, capsys):
    words = ["compare", "toy-line", "--epsilon", "0.5", "--repeats", "2", "--cores", "2"]
    assert main.main(words) == 0
    captured = capsys.readouterr()
    assert "100 % done" in captured.err
    for line in (r"At ε = 0\.5 ", r"Raw [01]\.\d{3}; lost by coding .*; lost by privacy"):
        assert re.search(f"^{line}", captured.out, re.MULTILINE)
    assert compare.LOOKED in captured.out
    page = Path("results/compare_toy-line/leaderboard.html")
    assert 5e3 < page.stat().st_size < 1e5
    assert "Finished jobid" in Path("logs/compare_toy-line.log").read_text()

    table = Path("results/tables/compare_toy-line/accuracy.csv")
    by_snakemake = table.read_bytes()
    shutil.rmtree("results")
    shutil.rmtree(".snakemake")
    request.getfixturevalue("library_alone")
    assert main.main(words) == 0
    captured = capsys.readouterr()
    assert table.read_bytes() == by_snakemake
    assert f"page:  {page}" in captured.out
    assert "100 % done" in captured.err
    # Results stay; only quick checks run again.
    assert main.main(words) == 0
    assert "100 % done" in capsys.readouterr().err
    assert "trained" not in Path("logs/compare_toy-line.log").read_text()


@pytest.mark.slow
def test_without_snakemake_too_changed_records_change_the_page(
    folder, private_records, library_alone, capsys
):
    page = Path("results/compare_mine/leaderboard.html")
    for every in (2, 3):
        rows = (f"{'red' if k % 2 else 'blue'},{'no' if k % every else 'yes'}" for k in range(40))
        Path("mine.csv").write_text("\n".join(["colour,label", *rows, ""]))
        assert main.main(["compare", "mine", "--epsilon", "1", "--repeats", "2"]) == 0
        output = capsys.readouterr().out
        assert re.search(r"^At ε = 1 .*$", output, re.MULTILINE)[0] in page.read_text("utf-8")


def test_without_snakemake_too_a_failed_step_names_the_reason(
    folder, private_records, library_alone
):
    made = comparison.prepare("mine", [1])
    Path("mine.csv").write_text("colour,label\ngreen,no\n")
    with pytest.raises(running.RunError, match="green"):
        running.run_here(made.plan, made.study.name, Path("logs/log"))


def test_a_rare_label_is_ranked_by_auc_unless_another_metric_is_asked_for(monkeypatch):
    for share, metric in ((0.25, "accuracy"), (0.15, "auc")):
        labels = np.where(np.arange(1000) < 1000 * share, 1, -1)
        data = SimpleNamespace(y=labels, n_rows=len(labels))
        monkeypatch.setattr(comparison, "is_current", lambda folder: True)
        monkeypatch.setattr(comparison, "read_coded", lambda folder, data=data: data)
        assert comparison.default_metric("any") == metric
    made = comparison.prepare("wdbc", [1.0], metric=None, wish=Wish("accuracy", 0.02, True))
    assert (made.study.metric, made.wish.metric) == ("auc", "auc")
    made = comparison.prepare("wdbc", [1.0], metric="log_loss")
    assert made.study.metric == "log_loss"
