"""``privcurve budget``: its output, also as JSON, and its exit codes."""

import io
import json
import shutil
from pathlib import Path

import pytest
from own_table import DESCRIPTION, TABLE

from privcurve import datasets
from privcurve.cli import main
from privcurve.releases.budget_ledger import Budget, BudgetLedger, Price

FILE = Path("descriptions/patients.yaml")
LIMITED = DESCRIPTION.replace("n_rows: 5", "n_rows: 5\nbudget: {epsilon: 1.5, delta: 1.0e-6}")
RELEASE = "release patients --learner noisy_majority --epsilon"


@pytest.fixture(autouse=True)
def seeds(tmp_path, monkeypatch):
    """Keep seeds and traces of other ledgers in a folder of the test."""
    monkeypatch.setenv("PRIVCURVE_SEEDS", str(tmp_path / "seeds"))


def run(capsys, command):
    """Run a command; return its code, standard output and standard error."""
    try:
        code = main.main(command.split())
    except SystemExit as end:
        code = end.code
    seen = capsys.readouterr()
    return code, seen.out, seen.err


@pytest.mark.parametrize("option", ["", " --quiet", " --json"])
def test_a_long_training_shows_its_progress(folder, capsys, tick, option):
    tick(4)
    steps = f"release patients --learner privgam --epsilon 1{option}"
    code, _, err = run(capsys, steps)
    assert code == 0
    lines = [line for line in err.splitlines() if "training" in line]
    assert lines == ([] if option else [
        "33 % of the training done (about 33 s left)",
        "66 % of the training done (about 12 s left)",
    ])  # fmt: skip


def test_on_a_terminal_reading_and_training_have_a_line_each(folder, monkeypatch, tick):
    terminal = io.StringIO()
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    tick(6, show=terminal)
    assert main.main(f"{RELEASE} 1".split()) == 0
    lines = terminal.getvalue().split("\n")
    assert [line.rpartition("\r")[2].partition(" (")[0].rstrip() for line in lines] == [
        "100 % of patients read",
        "0 % of the training done",
        "",
    ]


@pytest.mark.parametrize("option", ["", " --quiet", " --json"])
@pytest.mark.parametrize("coded", [False, True])
def test_a_release_warns_of_clipped_values(folder, capsys, option, coded):
    Path("patients.csv").write_text(TABLE.replace("60,", "130,") + ",,,,\n")
    if coded:
        datasets.prepare("patients", "results/data/patients")
    code, _, err = run(capsys, f"{RELEASE} 0.5{option}")
    assert code == 0
    assert [line for line in err.splitlines() if line.startswith("warning:")] == [
        "warning: patients: 20% of the values of 'age' (train) lay outside the bounds 0 to 120 and "
        "were clipped to them.",
        "warning: patients: lines of patients.csv without a value, which are skipped: 1.",
    ]


def test_the_budget_is_shown_before_and_after_releases(folder, capsys):
    code, out, _ = run(capsys, "budget patients")
    assert code == 0
    assert "ledger.jsonl: no releases of patients" in out
    assert "budget: none is set" in out
    FILE.write_text(LIMITED)
    for _ in range(2):
        assert run(capsys, f"{RELEASE} 0.5")[0] == 0
    ledger = BudgetLedger(Path("releases/patients"))
    ledger.note_comparison({"models": {"epsilons": [0.6], "delta": 0.0}})
    _, out, _ = run(capsys, "budget patients")
    lines = out.splitlines()
    assert lines[0].endswith("2 releases of patients")
    assert "noisy_majority: epsilon = 0.5 (replace-one neighbours)  releases/patients/2" in lines[2]
    assert lines[3].startswith("1 comparison of these records")
    assert lines[-3:] == [
        "spent:  epsilon = 1 (replace-one neighbours)",
        "budget: epsilon = 1.5, delta = 1e-06 (replace-one neighbours)",
        "left:   epsilon = 0.5, delta = 1e-06",
    ]
    code, out, err = run(capsys, f"{RELEASE} 0.6")
    assert (code, out) == (5, "")
    assert "is spent by 2 releases" in err
    _, out, _ = run(capsys, "budget patients --json")
    content = json.loads(out)
    assert [one["release"] for one in content["releases"]] == [1, 2]
    # The output has nothing that would draw the noise again.
    assert not {"seed", "token", "sources", "checksum"} & content["releases"][0].keys()
    assert content["spent"] == [{"epsilon": 1.0, "delta": 0.0, "neighbours": "replace-one"}]
    assert content["left"] == {"epsilon": 0.5, "delta": 1e-6, "neighbours": "replace-one"}


def test_the_rest_of_a_budget_is_never_negative(folder, capsys):
    FILE.write_text(LIMITED)
    ledger = BudgetLedger(Path("releases/patients"))
    ledger.reserve(Budget(), Price(2.0, 0.0, "replace-one"), {"learner": "privgam"})
    _, out, _ = run(capsys, "budget patients")
    assert "reserved; spent all the same" in out
    assert out.endswith("left:   epsilon = 0, delta = 1e-06\n")


def test_a_lost_ledger_is_not_an_empty_one(folder, capsys):
    FILE.write_text(LIMITED)
    assert run(capsys, f"{RELEASE} 0.5")[0] == 0
    ledger = Path("releases/patients/ledger.jsonl")
    ledger.unlink()
    code, _, err = run(capsys, "budget patients")
    assert code == 1
    assert "model.json exists, but the ledger, releases/patients/ledger.jsonl, does not" in err
    shutil.rmtree("releases/patients/1")
    code, _, err = run(capsys, "budget patients")
    assert code == 1
    assert "is gone, but 1 release was in it" in err


def test_a_renamed_description_is_refused_as_the_same_file(folder, capsys):
    FILE.write_text(LIMITED)
    assert run(capsys, f"{RELEASE} 0.5")[0] == 0
    FILE.rename(FILE.with_name("people.yaml"))
    refused = run(capsys, RELEASE.replace("patients", "people") + " 0.5")
    assert run(capsys, "budget people") == refused
    assert "the file of 'people' is also the file of 'patients'" in refused[2]


def test_exit_codes_are_the_same_everywhere_and_in_each_help(folder, capsys):
    blank = DESCRIPTION.replace("[0, 120]", "")
    FILE.write_text(blank)
    for command in ("check patients", f"{RELEASE} 1", "compare patients", "budget patients"):
        code, _, err = run(capsys, command)
        assert code == 4, command
        assert "privcurve decide patients" in err
    FILE.write_text(LIMITED)
    for command in (f"{RELEASE} 2", "compare patients --private-choice --epsilon 2"):
        assert run(capsys, command)[0] == 5, command
    usage = [
        f"{RELEASE} 1_0",
        f"{RELEASE} 1 --set seven",
        "compare patients --cores none",
        "compare patients --private-choice --tune",
        "compare patients --json --verbose",
        "predict model.json new.csv --separator ;;",
        "check patients --json --quiet",
        "check",
    ]
    for command in usage:
        assert run(capsys, command)[0] == 2, command
    assert run(capsys, "check patient")[0] == 1
    for name in ["", *main.COMMANDS]:
        _, out, _ = run(capsys, f"{name} --help")
        assert "3 done, but records were\nskipped; 4 a description has lines" in out, name


def test_commands_can_be_quiet_or_print_json(folder, capsys):
    code, out, err = run(capsys, "describe patients.csv --label sick --name new --quiet")
    assert (code, out, err) == (0, "", "")
    code, out, err = run(capsys, "describe patients.csv --label sick --name new --force --json")
    content = json.loads(out)
    assert (code, err, content["description"]) == (0, "", "descriptions/new.yaml")
    assert content["n_undecided"] > 0
    assert [one["name"] for one in content["columns"]] == ["id", "age", "town", "day"]
    code, out, err = run(capsys, "check new --json")
    content = json.loads(out)
    assert (code, content["ready"]) == (4, False)
    assert len(content["problems"]) == content["n_undecided"] > 0
    assert all(one["line"] > 1 for one in content["problems"])
    assert run(capsys, "check patients --quiet") == (0, "", "")
    code, out, err = run(capsys, f"{RELEASE} 1 --json")
    assert (code, err) == (0, "")
    content = json.loads(out)
    assert (content["epsilon"], content["model"]) == (1.0, "releases/patients/1/model.json")
    assert content["left"] is None
    assert run(capsys, f"{RELEASE} 1 --quiet") == (0, "", "")


@pytest.mark.parametrize(("epsilon", "is_told"), [("0.01", True), ("1000", False)])
def test_a_release_with_too_small_a_budget_for_the_columns_is_reported(
    folder, capsys, epsilon, is_told
):
    code, _, err = run(capsys, f"release patients --learner privgam --epsilon {epsilon}")
    assert code == 0
    assert ("simpler learners are often more accurate" in " ".join(err.split())) == is_told
