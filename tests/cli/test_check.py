"""``privcurve check``: all problems in one pass, with lines; shares; ready."""

import json
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from own_table import DESCRIPTION, TABLE

from privcurve import datasets
from privcurve.cli import main
from privcurve.datasets.describing import check, propose_bins
from privcurve.experiments.splits import draw_held_out

PATH = Path("descriptions/patients.yaml")


def replace_all(text, *changes):
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return text


def faults(name="patients"):
    return [(fault.line, fault.message) for fault in check(name).faults]


def test_ready_with_shares_and_the_next_command(folder, capsys):
    Path("patients.csv").write_text(TABLE.replace("60,", "130,"))
    assert main.main(["check", "patients"]) == 0
    output = capsys.readouterr().out
    assert "ready: privcurve compare patients" in output
    rows = {line.split()[0]: line.split()[1:] for line in output.splitlines() if line.strip()}
    # Codes, clipped, other, missing; an exclamation mark where many values are lost.
    assert rows["age"] == ["11", "20.0%!", "–", "20.0%"]
    assert rows["town"] == ["4", "–", "20.0%", "20.0%"]
    assert rows["day"] == ["11", "0.0%", "–", "20.0%"]
    assert main.main(["check", str(PATH)]) == 0
    # A dataset that is ready can be encoded.
    assert len(datasets.load("patients").y) == 5


@pytest.mark.parametrize("classes", [False, True])
def test_a_class_of_one_record_can_not_be_compared(folder, capsys, classes):
    Path("patients.csv").write_text(TABLE.replace("2020-01-05,yes", "2020-01-05,no"))
    if classes:
        label = 'positive: "yes", negative: "no"', 'classes: ["no", maybe, "yes"]'
        PATH.write_text(replace_all(DESCRIPTION, label))
    assert main.main(["check", "patients"]) == 0
    output = capsys.readouterr().out
    lines = PATH.read_text().splitlines()
    line = next(n for n, text in enumerate(lines, start=1) if text.startswith("label:"))
    what = "the class 'yes' has 1 record, and privcurve compare, which holds some out"
    assert f"note: descriptions/patients.yaml, line {line}: {what}" in output
    assert "ready: privcurve release patients" in output
    assert main.main(["check", "patients", "--json"]) == 0
    (remark,) = json.loads(capsys.readouterr().out)["remarks"]
    assert remark["line"] == line
    assert remark["message"].startswith(what)
    y = datasets.load("patients").y
    with pytest.raises(ValueError, match="each label must have two records or more"):
        draw_held_out(y, 0.2, np.random.default_rng(0))


def test_lines_of_only_separators_are_no_records(folder, capsys):
    header, *rows = TABLE.splitlines()
    Path("patients.csv").write_text("\n".join([header, ",,,,", *rows, ",,,,", " , ,,,"]))
    assert main.main(["check", "patients"]) == 0
    output = capsys.readouterr().out
    assert ": lines of patients.csv without a value, which are skipped: 3\n" in output
    assert len(datasets.load("patients").y) == 5
    assert main.main(["describe", "patients.csv", "--label", "sick", "--name", "other"]) == 0
    output = capsys.readouterr().out
    assert "patients.csv: 5 records" in output
    assert "Note: lines of patients.csv without a value, which are skipped: 3." in output


def test_all_problems_in_one_pass(folder):
    towns = "kind: text\n    groups: [Oslo, Bergen]", "kind: categorical\n    categories: [Oslo]"
    changes = ("n_rows: 5", "n_rows: 6"), ("[0, 120]", ""), ("2020-01-01", "2020-01-31")
    PATH.write_text(replace_all(DESCRIPTION, *changes, towns, ('"no"', '"never"')))
    Path("patients.csv").write_text(TABLE.replace("2021-01-05", "soon"))
    assert [(line, message.split(":")[0][:44]) for line, message in faults()] == [
        (1, "the file holds 5 records, not 6. If it is the one"[:44]),
        (8, "decide on bounds of 'age'"),
        (11, "'town' is missing in 1 records"),
        (12, "'town' holds what is none of its categories"),
        (14, "'day' holds what are no dates of its format"),
        (17, "the label 'sick' has values outside its classes"[:44]),
    ]
    with pytest.raises(datasets.DatasetError):
        datasets.load("patients")


def test_every_blank_is_named_even_with_other_faults(folder):
    blanks = ("[0, 120]", "[Oslo, Bergen]", "[2020-01-01, 2023-12-31]", '"yes"', '"no"')
    PATH.write_text(replace_all(DESCRIPTION, *((old, "") for old in blanks)))
    assert [line for line, _ in faults()] == [8, 12, 15, 17, 17]
    assert not check("patients").tallies
    PATH.write_text(
        replace_all(DESCRIPTION, ("bounds: [0, 120]", "bound: [0, 120]"), ("[Oslo, Bergen]", ""))
    )
    messages = " ".join(message for _, message in faults())
    assert "unknown key 'bound'" in messages
    assert "decide on groups of 'town'" in messages
    assert [tally.column.name for tally in check("patients").tallies] == ["day"]


def faults_with_test_file(records="", n_rows=5, test="P9,31,Oslo,2020-01-05,yes\n"):
    """Describe the table with a test file; return the faults."""
    Path("test.csv").write_text(TABLE.splitlines()[0] + "\n" + test)
    files = f"n_rows: {n_rows}\nn_test: {test.count(chr(10))}\n{records}"
    files += "files: {train: {local: patients.csv}, test: {local: test.csv}}\n"
    PATH.write_text(files + DESCRIPTION.partition("\n")[2].partition("\n")[2])
    return faults()


def test_each_part_is_checked_by_itself(folder):
    assert faults_with_test_file() == []
    # The training labels must have two classes; test records may have one label.
    Path("patients.csv").write_text(TABLE.replace(",yes", ",no"))
    assert "all records have the label 'no'" in faults_with_test_file()[0][1]
    Path("patients.csv").write_text(TABLE)
    # One record of six, but the only test record.
    ((line, message),) = faults_with_test_file(test="P9,999,Oslo,2020-01-05,yes\n")
    assert (line, message[:48]) == (9, "100% of the values of 'age' (test) lie outside i")
    with pytest.raises(datasets.DatasetError, match=r"100% of the values of 'age' \(test\)"):
        datasets.load("patients")
    ((line, message),) = faults_with_test_file(test=TABLE.partition("\n")[2])
    assert (line, "byte for byte the same" in message) == (3, True)
    # Left-out records are counted.
    assert faults_with_test_file("records: {balance: first}\n", 4) == []
    ((line, message),) = faults_with_test_file("records: {balance: first}\n", 5)
    assert (line, message[:24]) == (3, "records leaves 4 records")


def test_labels_of_all_kinds_need_no_more_memory(folder, monkeypatch):
    module = import_module("privcurve.datasets.describing.report")
    monkeypatch.setattr(module, "MOST_REFUSED", 7)
    rows = "".join(f"P{k},31,Oslo,2020-01-05,{k}\n" for k in range(40)) + TABLE.partition("\n")[2]
    Path("patients.csv").write_text(TABLE.partition("\n")[0] + "\n" + rows)
    (message,) = [message for _, message in faults() if "label" in message]
    assert "'4' (1) and over 2 more" in message


def test_a_shipped_dataset_can_be_checked_too(folder):
    Path("descriptions/less.yaml").write_text(
        "title: less\nbased_on: patients\ncolumns: [{name: age, n_bins: 4}]\n"
    )
    report = check("less")
    assert report.is_ready
    assert [tally.column.n_bins for tally in report.tallies] == [5, 4, 11]


def test_blanks_at_the_ends_of_listed_values_mean_nothing(folder):
    plain = datasets.load("patients")
    blanks = ("[Oslo, Bergen]", '[" Oslo", "Bergen "]'), ('"yes"', '"yes "'), ("NA]", '" NA"]')
    PATH.write_text(replace_all(DESCRIPTION, *blanks))
    assert check("patients").is_ready
    again = datasets.load("patients")
    assert (again.X == plain.X).all()
    assert (again.y == plain.y).all()


def columns_of(rows, columns):
    """Describe a table with columns x1, x2, … and a label; return the faults."""
    Path("t.csv").write_text("".join(f"{','.join(map(str, row))},{k % 2}\n" for k, row in rows))
    names = [f"x{k}" for k in range(1, len(rows[0][1]) + 1)]
    Path("descriptions/t.yaml").write_text(
        f"n_rows: {len(rows)}\nfiles: {{train: {{local: t.csv}}}}\nunknown: other\n"
        f"parser: {{kind: delimited, fields: [{', '.join(names)}, y]}}\n"
        f"columns:\n{columns}label: {{column: y, positive: 1, negative: 0}}\n"
    )
    return faults("t")


def test_columns_all_in_one_bin_are_not_ready(folder, capsys):
    rows = [(k, (k / 500, k / 400, k * 600, 7)) for k in range(60)]
    many = '  - {name: "x{1..3}", kind: numeric, bounds: [0, 64000]}\n'
    one = "  - {name: x4, kind: numeric, bounds: [0, 64000]}\n"
    ((line, message),) = columns_of(rows, many + one)
    assert line == 6
    assert message.startswith("all values of 'x1', 'x2' are in one bin each, though they differ:")
    assert "with the unit of the file. If they are, write spacing: mixed, n_bins: 64. So" in message
    ((_, message),) = columns_of(rows, many.replace("..3", "..1"))
    assert message.startswith("all values of 'x1' are in one bin, though they differ: compare")
    # A remark, no fault: one of many columns is in one bin, or a column has only one value.
    assert columns_of(rows, '  - {name: "x{2..4}", kind: numeric, bounds: [0, 64000]}\n') == []
    capsys.readouterr()
    assert main.main(["check", "t"]) == 0
    assert "0 <= x2 < 6400: 100.0%. Write spacing" in capsys.readouterr().out
    # Bounds with another fault, or with expected clipping, get no second message.
    ((_, message),) = columns_of(rows, "  - {name: x3, kind: numeric, bounds: [-2, -1]}\n")
    assert "lie outside its bounds" in message
    clipped = "  - {name: x3, kind: numeric, bounds: [-2, -1], clipping: expected}\n"
    assert columns_of(rows, clipped) == []


def test_a_bin_that_hides_most_of_a_column_is_reported_with_better_bins(folder, capsys):
    def advice(values, bounds, more=""):
        rows = [(k, (value,)) for k, value in enumerate(values)]
        assert columns_of(rows, f"  - {{name: x1, kind: numeric, bounds: {bounds}{more}}}\n") == []
        capsys.readouterr()
        assert main.main(["check", "t"]) == 0
        output = [line.strip() for line in capsys.readouterr().out.splitlines()]
        start = "More than half of the values in one bin, which does not tell them apart:"
        return output[output.index(start) + 1] if start in output else None

    mixed = "Write spacing: mixed, n_bins: 64."
    skewed = [k**2 for k in range(60)]
    # Of 60 squares, 32 are below 1,000, and 31 of 60 are more than half.
    assert advice(skewed, "[0, 10000]") == f"0 <= x1 < 1000: 53.3%. {mixed}"
    assert advice(skewed, "[0, 8000]") is None
    assert advice([8000 - value for value in skewed], "[-1000, 8000]") == (
        f"7100 <= x1 <= 8000: 51.7%. {mixed}"
    )
    assert advice(skewed, "[0, 9999]", ", spacing: log1p, n_bins: 2") == (
        f"99 <= x1 <= 9999: 83.3%. {mixed}"
    )
    # A bin that holds a single value hides nothing, however frequent the value is.
    often = [0] * 50 + [k * 1000 for k in range(1, 11)]
    assert advice(often, "[0, 10000]") is None
    assert advice([*often[:-1], 1], "[0, 10000]") == f"0 <= x1 < 1000: 85.0%. {mixed}"
    # Clipped values count as the bound.
    assert advice([1000 + k for k in range(60)], "[0, 9]", ", clipping: expected") is None


def test_finer_bins_follow_only_from_public_facts():
    def column(bins, spacing="equal", dates="", high=1000.0):
        return datasets.Column("x", "numeric", (0.0, high), bins, spacing=spacing, dates=dates)

    mixed = "Write spacing: mixed, n_bins: 64."
    assert [propose_bins(column(10, word)) for word in ("equal", "log", "log1p")] == [mixed] * 3
    narrower = "Give narrower bounds, if narrower ones are public."
    assert propose_bins(column(64, "mixed")) == propose_bins(column(64, "mixed-high")) == narrower
    # A bin of dates has at least a day.
    assert propose_bins(column(10, dates="iso")) == "Write n_bins: 64."
    assert (
        propose_bins(column(10, dates="iso", high=50))
        == propose_bins(column(64, dates="iso"))
        == narrower
    )


def test_categories_that_are_all_other_are_not_ready(folder):
    rows = [(k, (["oslo", "rome", "?"][k % 3], k)) for k in range(60)]
    town = "  - {name: x1, kind: categorical, categories: [%s, other, '?']}\n"
    ((line, message),) = columns_of(rows, town % "Oslo, Rome")
    assert (line, message[:30]) == (6, "all values of 'x1' are 'other'")
    assert columns_of(rows, town % "oslo") == []


def test_times_and_numbers_are_categories_as_they_are_written_or_refused(folder):
    days = ["2024-01-01 12:00:00", "2024-01-02"]
    rows = [(k, (days[k % 2], "1.10")) for k in range(30)]
    column = "  - {name: %s, kind: categorical, categories: {%s, other: z}}\n"
    for name, listed in (("x1", f"'{days[0]}': a, {days[1]}: b"), ("x2", "'1.10': a")):
        assert columns_of(rows, column % (name, listed)) == []
        assert check("t").tallies[0].counts.other == 0
    number = "  - {name: x2, kind: categorical, categories: [1.10, other]}\n"
    ((_, message),) = columns_of(rows, number)
    assert message.endswith("YAML reads it as the number 1.1: put it in quotes.")
    # 1 and 1.0 in the file match the number 1; only 1.0 matches the text "1.0".
    ((_, message),) = columns_of(rows, number.replace("1.10", "1.0"))
    assert message.endswith("the number 1.0: write 1; or, for that text alone, put it in quotes.")


def test_faults_of_many_columns_of_one_entry_are_some_and_a_number(folder):
    rows = [(j, range(9, 49)) for j in range(12)]
    messages = columns_of(rows, '  - {name: "x{1..40}", kind: numeric, bounds: [0, 5]}\n')
    assert len(messages) == 6
    assert messages[-1][1] == "35 more like these."
    assert all("100% of the values of 'x" in message for _, message in messages[:-1])
