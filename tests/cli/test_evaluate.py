"""``privcurve evaluate``: measures by group, exact for the data owner, or noisy and charged."""

import csv
import hashlib
import json
import re
import shlex
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from refusals import assert_refused
from sklearn.metrics import roc_auc_score

from privcurve import models
from privcurve.cli import main
from privcurve.datasets import Column, Domain, Label
from privcurve.datasets.coding import encode_frame
from privcurve.learners import LazyBBClassifier, PrivGAMClassifier
from privcurve.privacy import seeds
from privcurve.releases import evaluation
from privcurve.releases.budget_ledger import BudgetLedger
from privcurve.releases.errors import ReleaseError

DOMAIN = Domain(
    (
        Column("age", "numeric", (0.0, 100.0), 5),
        Column("sex", "categorical", categories=(("f", "f"), ("m", "m"), ("x", "x"))),
    ),
    Label("sick", "no", "yes"),
)
PUBLIC = {"n_bins": DOMAIN.n_bins, "classes": ("no", "yes"), "random_state": 0}
PATIENTS = """\
n_rows: 5
budget: {epsilon: 4, neighbours: NEIGHBOURS}
files: {train: {local: patients.csv}}
parser: {kind: delimited, header: true}
columns:
  - {name: age, kind: numeric, bounds: [0, 100]}
label: {column: sick, positive: "yes", negative: "no"}
"""
ASK = "evaluate model.json test.csv"


@pytest.fixture(autouse=True)
def table(tmp_path, monkeypatch, fixed_entropy):
    """Save a model and write a table of 400 records, 12 of them of sex x."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PRIVCURVE_SEEDS", str(tmp_path / "seeds"))
    describe("replace-one")
    rng = np.random.default_rng(0)
    n = 400
    frame = pd.DataFrame({
        "age": rng.integers(0, 100, n),
        "sex": np.r_[["x"] * 12, rng.choice(["f", "m"], n - 12)],
        "ward": rng.choice(["A", "B", ""], n),
    })  # fmt: skip
    frame["sick"] = np.where(rng.random(n) < frame.age / 100, "yes", "no")
    frame.to_csv("test.csv", index=False)
    fitted = PrivGAMClassifier(epsilon=4.0, **PUBLIC).fit(encode_frame(DOMAIN, frame), frame.sick)
    models.save("model.json", fitted, DOMAIN)
    return frame


def describe(neighbours):
    Path("descriptions").mkdir(exist_ok=True)
    text = PATIENTS.replace("NEIGHBOURS", neighbours)
    Path("descriptions/patients.yaml").write_text(text)


def rows(capsys, options):
    assert main.main(shlex.split(f"{ASK} --json {options}")) == 0
    output = json.loads(capsys.readouterr().out)
    return {row["group"]: row for row in output["groups"]}, output


def test_measures_match_the_records_of_each_group(table, capsys):
    by_sex, result = rows(capsys, "--by sex")
    assert list(by_sex) == ["all", "f", "m"]
    assert result["notes"][0] == "Fewer than 30 records, not measured: x."
    assert "exact facts about test.csv, for its owner alone" in result["notes"][1]
    model = models.load("model.json")
    for name, inside in (("all", table.sex != ""), ("f", table.sex == "f")):
        some, row = table[inside], by_sex[name]
        answers, chances = model.predict_frame(some), model.predict_proba(some)[:, 1]
        true, n = some.sick == "yes", len(some)
        wrong = (answers != some.sick).mean()
        assert row["n"] == n
        assert row["error"] == pytest.approx([wrong, (wrong * (1 - wrong) / n) ** 0.5])
        assert row["auc"][0] == pytest.approx(roc_auc_score(true, chances))
        assert row["predicted"] == pytest.approx([chances.mean(), chances.std() / n**0.5])
        assert row["actual"][0] == pytest.approx(true.mean())
        assert row["positive"][0] == pytest.approx((answers == "yes").mean())
    # The error of Hanley and McNeil is near the error of resampled records.
    drawn = [table.sample(400, replace=True, random_state=k) for k in range(200)]
    areas = [roc_auc_score(d.sick, model.predict_proba(d)[:, 1]) for d in drawn]
    assert by_sex["all"]["auc"][1] == pytest.approx(np.std(areas), rel=0.2)
    assert list(rows(capsys, "--by sex --least 12")[0]) == ["all", "f", "m", "x"]
    assert list(rows(capsys, "--by ward")[0]) == ["all", "(missing)", "A", "B"]
    assert list(rows(capsys, "--by age")[0])[1] == "0 <= age < 20"


def test_groups_are_values_as_a_model_reads_them(table, capsys):
    words = [
        "1",
        "1.0",
        " 1",
        "1.",
        "2",
        "2.00",
        "01",
        "1.5",
        "1.50",
        "?",
        "-9",
        "-9.0",
        "",
        "e\u0301",
    ]
    cells = np.resize([*words, "\u00e9"], len(table))
    table.assign(ward=cells).to_csv("test.csv", index=False)
    model = json.loads(Path("model.json").read_text())
    model["domain"]["missing"] = ["?", "-9"]
    del model["sha256"]
    text = json.dumps(model, sort_keys=True, separators=(",", ":"))
    model["sha256"] = hashlib.sha256(text.encode("ascii")).hexdigest()
    Path("model.json").write_text(json.dumps(model))
    by_ward, _ = rows(capsys, "--by ward --least 1")
    groups = ["all", "(missing)", "01", "1", "1.5", "1.50", "2", "\u00e9"]
    assert list(by_ward) == groups
    ones = np.isin(cells, ["1", "1.0", " 1", "1."])
    assert by_ward["1"]["n"] == ones.sum()
    assert by_ward["(missing)"]["n"] == np.isin(cells, ["?", "-9", "-9.0", ""]).sum()


def test_lines_of_only_separators_are_no_records(table, capsys):
    expected = rows(capsys, "--by sex")[0]
    lines = Path("test.csv").read_text().splitlines()
    Path("test.csv").write_text("\n".join([*lines[:9], ",,,", " , ,,", *lines[9:], ",,,", ""]))
    assert rows(capsys, "--by sex")[0] == expected
    assert main.main([*ASK.split()]) == 0
    output = capsys.readouterr().err
    assert "privcurve: lines of test.csv without a value, which are skipped: 3\n" in output


def test_it_writes_a_table_and_a_picture(table, capsys):
    assert main.main(shlex.split(f"{ASK} --by sex --csv a.csv --picture a.svg")) == 0
    output = capsys.readouterr().out
    assert re.search(r"^all +400 +0\.\d+ ± 0\.\d+ ", output, re.MULTILINE)
    lines = list(csv.DictReader(Path("a.csv").read_text().splitlines()))
    assert [line["group"] for line in lines] == ["all", "f", "m"]
    assert float(lines[1]["auc_se"]) > 0
    assert "two standard errors" in Path("a.svg").read_text()
    # With much noise no group may have records.
    with pytest.raises(ReleaseError, match="no picture: the noise leaves no group"):
        evaluation.draw([evaluation.Row("all", -1.5, evaluation.UNMEASURED)])


def test_noisy_counts_have_the_noise_that_is_charged(table, capsys):
    for neighbours, l1 in (("replace-one", 2), ("add-remove", 1)):
        describe(neighbours)
        for folder in (Path("releases"), seeds.folder() / "ledgers"):
            shutil.rmtree(folder, ignore_errors=True)
        by_sex, result = rows(capsys, "--by sex --epsilon 4 --dataset patients")
        (begun,) = BudgetLedger(Path("releases/patients")).releases()
        assert (begun.price.epsilon, begun.price.neighbours, begun.state) == (4, neighbours, "done")
        assert list(by_sex) == ["all", "f", "m", "x"]
        assert by_sex["all"]["n"] != 400 == round(by_sex["all"]["n"], -2)
        assert "exact" not in str(result["notes"])
        assert by_sex["all"]["auc"] == [None, None]
        assert_refused(Path(), capsys, f"{ASK} --epsilon 1 --dataset patients", "of the budget")
        # The mean size of Laplace noise is its scale: L1 sensitivity over ε.
        text = Path("descriptions/patients.yaml").read_text().replace("epsilon: 4", "epsilon: 999")
        Path("descriptions/patients.yaml").write_text(text)
        model, path = models.load("model.json"), Path("test.csv")
        answers = evaluation.ask(model, path, "age", print)
        exact = [400, *np.bincount(answers.group)]
        noise = []
        for _ in range(32):
            noisy = evaluation.release(answers, Path("model.json"), path, "patients", "age", 0.5)
            noise += [row.n - n for row, n in zip(noisy.rows[1:], exact[1:], strict=True)]
        # A group has four counts, each with noise of variance 2b².
        assert np.var(noise) == pytest.approx(4 * 2 * (l1 / 0.5) ** 2, rel=0.4)


def test_noisy_counts_are_guarded_as_releases_are(table, tmp_path, capsys):
    describe("replace-one")
    command = f"{ASK} --epsilon 1 --dataset"
    rows(capsys, "--epsilon 1 --dataset patients")
    ledger = Path("releases/patients/ledger.jsonl")
    backup = ledger.read_bytes()
    rows(capsys, "--epsilon 1 --dataset patients")
    text = Path("descriptions/patients.yaml").read_text()
    Path("descriptions/others.yaml").write_text(text)
    assert_refused(
        tmp_path, capsys, f"{command} others", "is also the file of 'patients', whose ledger"
    )
    ledger.write_bytes(backup)
    assert_refused(tmp_path, capsys, f"{command} patients", "2 exists, but the ledger")


@pytest.mark.parametrize("classes", [("False", "True"), ("0", "1"), ("false", "true")])
def test_truth_values_are_read_in_each_spelling(table, classes, capsys):
    table = table.assign(sick=table.sick == "yes")
    domain = Domain(DOMAIN.columns, Label("sick", *classes))
    codes = encode_frame(domain, table)
    fitted = PrivGAMClassifier(epsilon=4.0, n_bins=DOMAIN.n_bins, classes=(False, True))
    models.save("truths.json", fitted.fit(codes, table.sick), domain)
    table.to_parquet("test.parquet")
    table.to_csv("test.csv", index=False)
    messages = []
    for file in ("test.parquet", "test.csv"):
        assert main.main(["evaluate", "truths.json", file, "--json"]) == 0
        messages.append(json.loads(capsys.readouterr().out)["groups"])
    assert messages[0] == messages[1]
    assert messages[0][0]["actual"][0] == table.sick.mean()


def test_impossible_measurements_are_refused(table, tmp_path, capsys):
    for options, message in (
        ("--by town", "no column.* 'town'"),
        ("--by sick", "--by sick is the label"),
        ("--least 0", "--least must be above 0; got 0"),
        ("--least 5 --epsilon 1 --dataset patients", "--least is for exact numbers"),
        ("--epsilon 1", "--epsilon and --dataset belong together"),
        ("--dataset patients", "--epsilon and --dataset belong together"),
        ("--epsilon inf --dataset patients", "must be finite and above 0"),
        ("--epsilon 1e-300 --dataset patients", "noise does not fit in 64 bits"),
        ("--epsilon 1 --dataset patients --by ward", "ward is no column of the model"),
        ("--epsilon 1 --dataset nobody", "nobody"),
        ("--csv model.json", "model.json is an input"),
        ("--by SEX", "has no column 'SEX'; did you mean 'sex'"),
        ("--picture a.gif", "--picture must be a file with the ending .svg"),
    ):
        assert_refused(tmp_path, capsys, f"{ASK} {options}", message)
    assert not list(tmp_path.glob("releases/*/ledger.jsonl"))
    table.assign(ward=range(400)).to_csv("many.csv", index=False)
    assert_refused(
        tmp_path, capsys, "evaluate model.json many.csv --by ward", "400 different values"
    )
    table.assign(sick=table.sick + ".").to_csv("dots.csv", index=False)
    wrong = r"line 2 of dots.csv: the label 'sick' must be one of .*\(no, yes\); got '\w+\.'"
    assert_refused(tmp_path, capsys, "evaluate model.json dots.csv", wrong)
    table.assign(sick=table.sick.where(table.index != 1)).to_csv("gap.csv", index=False)
    wrong = "line 3 of gap.csv: the label 'sick' is missing: leave out records without a label"
    assert_refused(tmp_path, capsys, "evaluate model.json gap.csv", wrong)
    table[:0].to_csv("none.csv", index=False)
    assert_refused(tmp_path, capsys, "evaluate model.json none.csv", "none.csv has no record")
    assert_refused(
        tmp_path, capsys, "evaluate model.json -", "reads no standard input: name a file"
    )
    assert main.main(shlex.split("evaluate model.json test.csv --csv /proc/no/a.csv")) == 1
    assert "exact facts" in capsys.readouterr().out
    text = PATIENTS.replace("budget:", "unit: {column: id, at_most: 2}\nbudget:")
    Path("descriptions/patients.yaml").write_text(text.replace("NEIGHBOURS", "replace-one"))
    assert_refused(
        tmp_path, capsys, f"{ASK} --epsilon 1 --dataset patients", "all records of one id"
    )


def test_values_in_another_unit_are_remarked_on(table, capsys):
    table.assign(age=1000 * table.age + 500).to_csv("test.csv", index=False)
    assert main.main(shlex.split(ASK)) == 0
    assert "values of 'age' lie above its upper bound" in capsys.readouterr().err


@pytest.mark.slow
def test_for_three_classes_error_and_auc_are_measured(capsys):
    three = Domain(DOMAIN.columns, Label("stage", classes=("1", "2", "3")))
    codes = np.array(list(np.ndindex(5, 3)) * 8, dtype=np.uint8)
    fitted = PrivGAMClassifier(epsilon=9.0, **{**PUBLIC, "classes": (0, 1, 2)})
    fitted.fit(codes, codes[:, 1])
    models.save("model.json", fitted, three)
    # Integers with a decimal point are the same classes.
    frame = pd.DataFrame({"age": codes[:, 0] * 20, "sex": np.array(["f", "m", "x"])[codes[:, 1]]})
    frame.assign(stage=codes[:, 1] + 1.0).to_csv("test.csv", index=False)
    (row,) = rows(capsys, "")[0].values()
    assert row["error"][0] == pytest.approx((fitted.predict(codes) != codes[:, 1]).mean())
    chances = fitted.predict_proba(codes)
    assert row["auc"][0] == pytest.approx(roc_auc_score(codes[:, 1], chances, multi_class="ovr"))


def test_votes_have_no_calibration(table, capsys):
    fitted = LazyBBClassifier(epsilon=4.0, n_rounds=5, **PUBLIC)
    models.save("model.json", fitted.fit(encode_frame(DOMAIN, table), table.sick), DOMAIN)
    assert main.main(shlex.split(ASK)) == 0
    assert "positive answers" in capsys.readouterr().out
