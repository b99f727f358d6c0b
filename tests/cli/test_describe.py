"""``privcurve describe``: the columns and labels of a draft, and the values that it omits."""

import csv
import io
from pathlib import Path

import messy
import numpy as np
import pytest
import yaml
from drafting import (
    DRAFT,
    describe_file,
    draft_column,
    draft_table,
    fill_bounds,
    run,
    table_with,
)

from privcurve import datasets
from privcurve.binning import code_by_edges
from privcurve.cli import check, main
from privcurve.datasets.coding.numbers import remove_grouping
from privcurve.datasets.describing import check as checked
from privcurve.datasets.describing import profile

# A draft has no value of the records ----------------------------------------------


def test_a_messy_table_becomes_a_draft_that_copies_nothing_and_data_by_one_edit(folder, capsys):
    messy.write(folder / "clinic.csv")
    screen = run(capsys, "describe", "clinic.csv", "--label", "sick")[1]
    path = Path("descriptions/clinic.yaml")
    text = path.read_text()
    # Only the screen shows towns, codes, extremes of numbers and dates.
    for seen in ("Oslo", "2018-01", "seen by the nurse", "north"):
        assert seen in screen
        assert seen not in text.replace("[Oslo, Bergen], or groups", "")
    content = yaml.safe_load(text)
    assert [entry["name"] for entry in content["columns"]] == [
        *("age", "sex", "BMI", "blood pressure", "visits", "grade", "smoker", "town"),
        *("diagnosis", "admitted"),
    ]
    blanks = {e["name"] for e in content["columns"] if None in e.values()}
    assert blanks == set(messy.DECIDED)
    assert content["decimal"] == ","
    # Bytes of cp1250 are other letters in cp1252; a program cannot tell them apart.
    assert "separator ';', cp1252 (a guess), decimal comma" in screen
    assert "# the encoding is a guess" in text
    written = {"kind": "delimited", "separator": ";", "encoding": "cp1252", "header": True}
    assert content["parser"] == written
    assert set(content["missing"]) == set(messy.GAPS)
    assert content["label"] == {"column": "sick", "positive": ["yes"], "negative": ["no"]}
    path.write_text(messy.decide(text))
    assert "ready: privcurve compare clinic" in run(capsys, "check", "clinic")[1]
    data = datasets.load("clinic")
    assert len(data.y) == 400
    assert data.n_clipped < 0.01 * data.X.size


def test_another_record_changes_bounds_in_no_draft(folder):
    lines = ["age,dose,sick", *(f"{20 + k},{k / 7},{k % 2}" for k in range(60))]
    _, one = draft_table(lines)
    _, other = draft_table([*lines[:-1], "119,1e9,1"])
    assert one.text == other.text


def test_the_order_of_markers_does_not_depend_on_records(folder):
    lines = ["x,y,sick", "1,NA,yes", "?,5,no", "3,?,yes", "4,6,no"]
    content, _ = draft_table(lines)
    assert content["missing"] == ["", "?", "NA"]
    content, _ = draft_table([line.replace("?", "NA", 1) for line in lines[:3]] + lines[3:])
    assert content["missing"] == ["", "?", "NA"]


def test_the_order_of_spellings_of_a_label_does_not_depend_on_records(folder, capsys):
    drafts = set()
    for spelt in (("Yes", "NO", "no ", "YES", "yes"), ("no", "YES", "yes", "NO", "Yes ")):
        rows = "".join(f"{k},{spelt[k % 5]}\n" for k in range(60))
        describe_file(capsys, "age,sick\n" + rows)
        drafts.add(DRAFT.read_text())
    (draft,) = drafts
    assert 'positive: ["yes", "Yes", "YES"]' in draft
    # All spellings of a word are one class.
    assert datasets.describe("t").domain.label.names == ("no", "yes")


def test_a_draft_says_that_its_number_of_records_would_be_public_knowledge(folder):
    lines = ["x,k,sick", *(f"{k},{k % 7},{k % 2}" for k in range(60))]
    _, private = draft_table(lines)
    result = private.text.partition("n_rows: 60")[2].partition("files:")[0]
    assert "add-remove" in result
    assert "public\n# knowledge" in result
    assert "add-remove" not in draft_table(lines, public=True)[1].text


# Columns --------------------------------------------------------------------------

NUMBER = {
    "kind": "numeric",
    "bounds": None,
    "n_bins": 64,
    "spacing": "mixed",
    "missing": "bin",
}


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1.5, 2, 3] * 9, NUMBER),
        ([0, 1, "NA"] * 9, {"kind": "categorical", "categories": [0, 1, "other", "?"]}),
        (["1.0", "0.0", ""] * 9, {"kind": "categorical", "categories": [0, 1, "other", "?"]}),
        (["0123", "0456", "0789"] * 9, {"kind": "text", "groups": None}),
        (["2020-01-31", "2021-02-28"] * 9, {"kind": "date", "bounds": None, "missing": "bin"}),
        (
            ["31.12.2020 10:15", "01.02.2021 11:00"] * 9,
            {"kind": "date", "bounds": None, "format": "%d.%m.%Y %H:%M", "missing": "bin"},
        ),
        (
            ["12/31/2020", "01/02/2021"] * 9,
            {"kind": "date", "bounds": None, "format": "%m/%d/%Y", "missing": "bin"},
        ),
        # Day and month are ambiguous.
        (
            ["01/02/2020", "03/04/2021"] * 9,
            {"kind": "date", "bounds": None, "format": None, "missing": "bin"},
        ),
        # `check` reports a few words among numbers.
        ([*range(7, 47), "old"], {**NUMBER, "whole": True}),
        # Row numbers, names, one value, no value: not used.
        (range(1, 101), None),
        ([f"name {k}" for k in range(100)], None),
        (["same"] * 9, None),
        (["NA", ""] * 9, None),
    ],
)
def test_kinds_of_columns(folder, values, expected):
    made, _ = draft_column(values)
    assert made == (None if expected is None else {"name": "x", **expected})


def test_names_and_conventions_decide_the_label(folder):
    # "25 %" is 25 in a text file and 0.25 in Excel: a person decides.
    lines = ["age,Sex,smokes,pct,sick", "31,F,Yes,.1,ja", "45,male,no,.9,nein", "46,m,N,25,Ja"]
    content, made = draft_table(lines)
    age, sex, smokes, pct = content["columns"]
    assert (age["bounds"], age["n_bins"]) == ([0, 120], 121)
    assert set(sex["groups"]) == {"female", "male"}
    assert set(smokes["groups"]) == {"yes", "no"}
    assert content["label"]["positive"] == ["ja", "Ja"]
    assert (pct["bounds"], made.blanks) == (None, 1)


TOWNS, GRADES = ["Oslo", "Bergen", "Rome"], ["fair", "good", "poor"]
CODES = (4, 4, 2, 3, 2, 5, 9)


@pytest.mark.parametrize(
    ("header", "row", "names", "n_blanks"),
    [
        (
            "a0,a2,a3,a4,b,c01,c02,y",
            lambda k: [*range(k * k, k * k + 7), k % 2],
            ["a0", "a{2..4}", "b", "c01", "c02"],
            5,
        ),
        # Columns with other codes are separate.
        (
            "x1,x2,x3,x4,x5,x6,x7,y",
            lambda k: [*(str(k % m + 1) for m in CODES), k % 2],
            ["x{1..2}", *(f"x{k}" for k in range(3, 8))],
            6,
        ),
        # Shares, amounts, integers, larger ones, numbers below and above 0: separate entries.
        (
            "x1,x2,x3,x4,x5,x6,x7,y",
            lambda k: [k / 97, k / 300, k * 700.5, k * 640.5, k % 40, k % 50, k - 9.5, k % 2],
            ["x{1..2}", "x{3..4}", "x{5..6}", "x7"],
            4,
        ),
        # Columns with other words are separate.
        (
            "x1,x2,x3,x4,y",
            lambda k: [TOWNS[k % 3], TOWNS[k % 2].upper(), GRADES[k % 3], GRADES[-k % 3], k % 2],
            ["x{1..2}", "x{3..4}"],
            2,
        ),
    ],
)
def test_columns_that_differ_only_in_a_number_are_one_line(folder, header, row, names, n_blanks):
    rows = [",".join(map(str, row(k))) for k in range(2, 182)]
    content, made = draft_table([header, *rows], "y")
    assert [entry["name"] for entry in content["columns"]] == names
    assert made.blanks == n_blanks


@pytest.mark.parametrize(
    ("values", "markers"),
    [
        ([1.5, 2, 3, "-999"] * 9, "-999"),
        ([*range(20, 60), "999", "888"], "888 or 999"),
        ([1, 2, 9] * 9, "9"),
        ([0, 3, 7.5, "-1"] * 9, "-1"),
        # No question: the numbers follow one another without a gap.
        ([*range(70, 100)] * 2, None),
        ([1, 2, 3, 4, 5, 9] * 9, None),
        ([-2, -1, 0, 1.5, 2] * 9, None),
    ],
)
def test_decide_asks_about_numbers_that_may_mean_missing(folder, values, markers):
    for public in (False, True):
        described, made = draft_column(values, public=public)
        question = f"; if {markers} stands for a missing value, add it to missing"
        assert (question in made.columns["x"].summary) == (markers is not None)
        assert ("stands for a missing" in made.columns["x"].summary) == (markers is not None)
        # The draft of private records has no value of them.
        noted = markers is not None and f"if {markers} means no value" in made.text
        assert noted == (public and markers is not None)
        assert described["kind"] == "numeric"


def test_a_public_file_gives_bounds_and_categories(folder, capsys):
    Path("t.csv").write_text(
        "x,town,day,sick\n1.5,Oslo,2020-01-01,a\n,b*,2021-01-01,b\n99,Rome,,b\n"
    )
    assert main.main(["describe", "t.csv", "--label", "sick", "--public"]) == 0
    content = yaml.safe_load(DRAFT.read_text())
    assert content["public_benchmark"] is True
    x, town, day = content["columns"]
    assert (x["bounds"], x["missing"]) == ([1, 99], "bin")
    assert town["groups"] == ["Oslo", "Rome"]
    assert [str(bound) for bound in day["bounds"]] == ["2020-01-01", "2021-01-01"]
    assert main.main(["check", "t"]) == 0
    assert "decide" not in capsys.readouterr().out
    assert datasets.load("t").clipped == {"train": {}}


@pytest.mark.parametrize(("number", "bounds"), [("7", [7, 8]), ("-2e17", [-2e17, -1.98e17])])
def test_one_number_among_words_has_bounds_too(folder, number, bounds):
    entry, _ = draft_column([number] * 39 + ["old"], public=True)
    assert entry["bounds"] == bounds


@pytest.mark.parametrize("values", [["1e308", "-1.5e308", "3"], ["5e-324", "0", "1e-323"]])
def test_extreme_numbers_have_bounds(folder, values):
    assert draft_column(values * 9, public=True)[0]["kind"] == "numeric"


@pytest.mark.parametrize("texts", [["Straße", "STRASSE"], ["ı", "I", "b"], ["Oslo", "OSLO", "b"]])
def test_each_text_of_a_public_file_fits_one_group(folder, texts):
    lines = ["x,k,sick", *(f"{texts[k % len(texts)]},{k * 1.5},{k % 2}" for k in range(30))]
    DRAFT.write_text(draft_table(lines, public=True)[1].text)
    report = checked("t")
    assert report.is_ready
    assert next(t for t in report.tallies if t.column.name == "x").counts.other == 0


def test_columns_that_identify_records_or_people_are_reported(folder, capsys):
    once = describe_file(
        capsys, table_with((k * 7919 % 10007 for k in range(90)), "number_of_case")
    )
    assert "each occurs once: remove the column if it identifies records" in once
    for values in ([f"P{k // 3}" for k in range(90)], [k // 3 * 11 for k in range(90)]):
        output = describe_file(capsys, table_with(values, "number"))
        assert "if it names people, each has 3.0 records, but ε protects one record" in output
    assert "ε is for one" not in describe_file(capsys, table_with(k // 3 * 11 for k in range(90)))


def test_few_whole_numbers_may_be_decided_to_be_codes(folder, capsys):
    describe_file(capsys, table_with([1 + k % 2 for k in range(90)], "SEX"))
    assert "for codes (1 for man, 2 for woman) write only kind: categorical" in DRAFT.read_text()


VISITS = [[f"P{k // 3}" for k in range(90)], [k // 3 * 11 for k in range(90)]]


@pytest.mark.parametrize("values", VISITS)
@pytest.mark.parametrize(
    "name", ["patient_id", "Patient", "customerId", "user id", "USUBJID", "pid"]
)
def test_the_unit_of_privacy_is_left_to_be_decided(folder, capsys, monkeypatch, name, values):
    output = describe_file(capsys, table_with(values, name))
    assert "if it names people, each has 3.0 records: decide on unit" in output
    content = yaml.safe_load(DRAFT.read_text())
    assert content["unit"] is None
    assert [entry["name"] for entry in content["columns"]] == ["age"]
    code, output = run(capsys, "check", "t")
    assert (code, "decide on unit of the records: {column: …, at_most: …}" in output) == (4, True)
    for answer, n in ((f"{{column: {name}, at_most: 2}}", 60), ("none", 90)):
        monkeypatch.setattr("sys.stdin", io.StringIO(answer + "\n"))
        describe_file(capsys, table_with(values, name))
        assert run(capsys, "decide", "t")[0] == 0
        DRAFT.write_text(DRAFT.read_text().replace("n_rows: 90", f"n_rows: {n}"))
        code, output = run(capsys, "check", "t")
        assert code == 0, output
        assert len(datasets.load("t").y) == n


@pytest.mark.parametrize(
    ("name", "values", "options"),
    [
        ("patient_id", [f"P{k // 3}" for k in range(90)], {"public": True}),
        ("note", [f"P{k // 3}" for k in range(90)], {}),
        ("patient_id", range(90), {}),
        # A few regions or shops are not persons.
        ("region_id", [f"R{k % 7}" for k in range(90)], {}),
    ],
)
def test_other_columns_name_no_persons(folder, name, values, options):
    lines = table_with(values, name).splitlines()
    assert "unit" not in draft_table(lines, **options)[0]


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ("age", "'age' is not one of"),
        ("{column: sick, at_most: 2}", "'sick' is the unit and the label"),
    ],
)
def test_an_invalid_unit_is_refused(folder, capsys, monkeypatch, answer, message):
    describe_file(capsys, table_with(VISITS[0], "patient_id"))
    monkeypatch.setattr("sys.stdin", io.StringIO(answer + "\n"))
    code, output = run(capsys, "decide", "t")
    assert code == 1
    assert message in output


AMOUNTS = "if these are amounts, write them as plain numbers"
THOUSANDS = [f"{k:,}".replace(",", ".") for k in range(700, 1400, 11)]
DATES = ("{:02d}/05/2024", "2024-05-{:02d}", "{}.5.2024")


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        *[
            (
                [form.format(1 + k % 28) for k in range(60)],
                "x    date         2024-05-01 to 2024-05-28",
            )
            for form in ("2024-05-{:02d}T10:00:00Z", "2024-05-{:02d}T10:00:00.25")
        ],
        *[
            ([form.format(k) for k in range(100, 160)], AMOUNTS)
            for form in ("1,{:03d}", "$ {}", "{}%", "-€{}", "{} cm", "{}kg")
        ],
        (THOUSANDS, "if 1.008 is more than a thousand, say so in the draft: thousands: '.'"),
        (
            [DATES[k % 3].format(1 + k % 28) for k in range(60)],
            "if these are dates, write all in one form: 2024-12-31",
        ),
        (
            [f"{1 + k % 28:02d}.05.{45 + k % 40}" for k in range(60)],
            "x    date         1969-05-25 to 2068-05-24",
        ),
    ],
)
def test_values_that_may_mean_something_else_are_reported(folder, capsys, values, expected):
    output = describe_file(capsys, table_with(values))
    assert expected in output
    assert (AMOUNTS in output) == (expected == AMOUNTS)
    of_two_digits = 'format: "%d.%m.%y"  # of two digits: 69 is 1969 and 68 is 2068'
    assert (of_two_digits in DRAFT.read_text()) == ("1969" in expected)


# Different letters are not a unit; codes with leading zeros are not amounts.
@pytest.mark.parametrize("value", ["P{}", "{}-{}", "12:{}", "{}{:c}", "{:04d}"])
def test_other_texts_are_no_amounts(folder, capsys, value):
    assert "amounts" not in describe_file(
        capsys, table_with(value.format(k, 65 + k % 9) for k in range(60))
    )


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        *[("0001E{}", "text"), ("0E1{}", "text"), ("007{}", "text")],
        *[("1E{}", "numeric"), ("0.5e{}", "numeric"), ("0e+0{}", "numeric")],
    ],
)
def test_codes_with_leading_zeros_are_no_powers_of_ten(folder, capsys, value, kind):
    values = [*(value.format(k % 10) for k in range(59)), "1"]
    assert f"x    {kind} " in describe_file(capsys, table_with(values))


def german(amount):
    """Return the amount in the form 8.333,96."""
    return f"{amount:,.2f}".translate({ord(","): ".", ord("."): ","})


def test_amounts_with_marks_between_thousands_are_numbers(folder, capsys):
    amounts = [10 ** (k % 5 + 1) + k / 4 for k in range(60)]
    wholes = [900 + 7 * k for k in range(60)]
    rows = [
        f"{german(x)};{n:_};{'yes' if k % 3 else 'no'}".replace("_", ".")
        for k, (x, n) in enumerate(zip(amounts, wholes, strict=True))
    ]
    output = describe_file(capsys, "\n".join(["x;n;sick", *rows]) + "\n")
    assert "separator ';', UTF-8, decimal comma, '.' between thousands" in output
    assert "10 to 100,014.75, 60 numbers" in output
    text = DRAFT.read_text()
    assert 'decimal: ","\nthousands: "."\n' in text
    for bounds in ("bounds: [0, 200000]", "bounds: [0, 2000]"):
        text = text.replace("bounds:  # decide: [lowest, highest] possible", bounds, 1)
    DRAFT.write_text(text)
    code, output = run(capsys, "check", "t")
    assert code == 0, output
    x, n = datasets.describe("t").domain.columns
    X = datasets.load("t").X
    assert X[:, 0].tolist() == code_by_edges(np.array(amounts), x.edges).tolist()
    assert X[:, 1].tolist() == code_by_edges(np.array(wholes), n.edges).tolist()
    # Without the key `thousands` values are refused, and check suggests the key.
    DRAFT.write_text(text.replace('thousands: "."\n', ""))
    code, output = run(capsys, "check", "t")
    assert code == 1
    assert """If '.' stands between thousands there, say thousands: ".".""" in output


def test_new_records_have_marks_between_thousands_too(folder, capsys, monkeypatch):
    monkeypatch.setenv("PRIVCURVE_SEEDS", str(folder / "seeds"))
    rows = [f"{german(900 + 40 * k)};{'yes' if k > 30 else 'no'}" for k in range(60)]
    describe_file(capsys, "\n".join(["x;sick", *rows]) + "\n")
    fill_bounds("[0, 4000]")
    assert run(capsys, "release", "t", "--epsilon", "20", "--learner", "noisy_bayes")[0] == 0
    (folder / "new.csv").write_text("x;k\n1.000,50;a\n3.000,5;b\n3 000;c\n3.00;d\n")
    model = "releases/t/1/model.json"
    code, output = run(capsys, "predict", model, "new.csv", "--on-error", "skip")
    assert code == 3
    assert output.splitlines()[:5] == ["predicted_sick", "no", "yes", '""', '""']
    assert "line 5 of new.csv: 'x' is '3.00', not a number" in output


@pytest.mark.parametrize(
    ("text", "decimal", "thousands", "plain"),
    [
        ("8.333,96", ",", ".", "8333,96"),
        ("-1.234.567", ",", ".", "-1234567"),
        ("1,234,567.5", ".", ",", "1234567.5"),
        ("1 234\u00a0567,5", ",", " ", "1234567,5"),
        ("1'234.5", ".", "'", "1234.5"),
        (" 1.000 ", ",", ".", " 1000 "),
        # Texts without thousands separators, or ambiguous ones, stay.
        *[(text, ",", ".", text) for text in ("1.5", "1.23", "1234.567", "1.2345", "1.234.56", "")],
        *[(text, ",", ".", text) for text in ("12", "1,5", "a.123", ".123", "1..234", "1.234,5,6")],
        *[(text, ",", ".", text) for text in ("0.125", "-0.125", "00.125")],
        (None, ",", ".", None),
    ],
)
def test_marks_separate_groups_of_three_digits(text, decimal, thousands, plain):
    assert remove_grouping([text], decimal, thousands) == [plain]


@pytest.mark.parametrize("others", [[*THOUSANDS, "0.125"], range(700, 800)])
def test_other_points_part_no_thousands(folder, capsys, others):
    assert "thousand" not in describe_file(capsys, table_with(others))


def test_one_column_does_not_decide_how_more_others_are_read(folder, capsys):
    rows = [f'"{german(1000 + k)}",{k / 64:.3f},{k / 128:.4f},{k % 2}' for k in range(60)]
    output = describe_file(capsys, "\n".join(["a,x,z,sick", *rows]) + "\n")
    assert "0 to 0.922, 60 numbers" in output
    assert "if these are amounts, write them as plain numbers" in output
    assert "decimal:" not in DRAFT.read_text()


@pytest.mark.parametrize("name", ["label", "nan", "null", "yes", "1", "~", " größe", "a: b # c"])
def test_a_column_may_have_any_name(folder, capsys, name):
    describe_file(capsys, f'"{name}",sick\n' + "".join(f"{k / 7},{k % 2}\n" for k in range(20)))
    fill_bounds("[0, 9]")
    code, output = run(capsys, "check", "t")
    assert code == 0, output
    assert checked("t").tallies[0].column.name == name.strip()


@pytest.mark.parametrize("header", ["a{1..3},b{2..1},c{1..2}1,c{1..2}2", "a{1..3},a{1..3},b,b"])
def test_a_name_that_looks_like_a_range_is_one_name(folder, capsys, header):
    rows = [f"{k},{k % 4},{k % 5},{k % 3},{'yes' if k % 2 else 'no'}" for k in range(8)]
    (folder / "t.csv").write_text("\n".join([f"{header},sick", *rows]) + "\n")
    assert main.main(["describe", "t.csv", "--label", "sick", "--public"]) == 0
    assert main.main(["check", "t"]) == 0
    mine = datasets.load("t")
    assert mine.domain.names[0] == "a{1..3}"
    assert len(mine.domain.names) == 4
    assert len(mine.y) == 8


def test_of_many_columns_only_those_with_losses_are_shown(folder, capsys, monkeypatch):
    monkeypatch.setattr(check, "MOST_SHOWN", 2)
    header = ",".join([*(f"gene{j}" for j in range(9)), "sick"])
    genes = [[str(k % 5) if k else "11"] * 8 for k in range(20)]
    rows = [
        ",".join([*genes[k], "50" if k % 10 == 0 else str(k % 3), f"{k % 2}"]) for k in range(20)
    ]
    describe_file(capsys, "\n".join([header, *rows]) + "\n")
    fill_bounds("[0, 9]")
    code, output = run(capsys, "check", "t")
    assert code == 0, output
    shown = [line.split()[0] for line in output.splitlines() if "gene" in line]
    assert shown == ["gene0", "gene1", "gene8"]
    assert "… and 6 more columns" in output


def test_a_column_of_many_values_needs_no_more_memory(folder, monkeypatch):
    monkeypatch.setattr(profile, "MOST_VALUES", 60)
    entry, made = draft_column([k / 7 for k in range(200)])
    assert entry["kind"] == "numeric"
    assert "over 60 numbers" in made.columns["x"].summary
    # Values differ among the first records too if they identify records; few words repeat.
    assert draft_column([f"name {k}" for k in range(200)])[0] is None
    assert draft_column([f"name {k % 70}" for k in range(1000)])[0]["kind"] == "text"
    monkeypatch.setattr(profile, "MOST_VALUES", 999)
    # The wider a table, the fewer values per column are stored.
    for most, names, each in ((1000, "ab", 500), (1000, "abcdefghij", 200), (10**9, "ab", 999)):
        monkeypatch.setattr(profile, "MOST_TOGETHER", most)
        assert {some.most for some in profile.empty_profiles(names).values()} == {each}


# The label ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "question", "positive", "negative"),
    [
        (["1", "0"], {}, ["1"], ["0"]),
        (["TRUE", "false"], {}, ["TRUE"], ["false"]),
        (["-1", "1"], {}, ["1"], ["-1"]),
        # The user may reverse the convention.
        (["yes", "no"], {"positive": ["no"]}, ["no"], ["yes"]),
        (["a", "b"], {}, None, None),
        # The other class is known only from the records, so it stays blank.
        (["a", "b"], {"positive": ["a"]}, ["a"], None),
        (["a", "b"], {"negative": ["a"]}, None, ["a"]),
        (["a", "b"], {"positive": ["a"], "public": True}, ["a"], ["b"]),
        (["a", "b", "A"], {"public": True}, ["b"], ["a", "A"]),
        (["a", "b", "A"], {"positive": ["a"], "public": True}, ["a", "A"], ["b"]),
        (["a", "b", "c"], {"positive": ["a"], "negative": ["c", "b"]}, ["a"], ["c", "b"]),
    ],
)
def test_two_classes(folder, values, question, positive, negative):
    lines = ["x,sick", *(f"{k * 1.5},{value}" for k, value in enumerate(values * 5))]
    content, made = draft_table(lines, **question)
    assert (content["label"]["positive"], content["label"]["negative"]) == (positive, negative)
    assert made.blanks == (0 if "public" in question else 1) + (positive is None) + (
        negative is None
    )


@pytest.mark.parametrize(
    ("values", "question", "classes"),
    [
        # A class known only from the records is no answer: a person decides.
        (["low", "high", "mid"], {}, None),
        (["low", "high", "none"], {"classes": ["none", "low", "high"]}, ["none", "low", "high"]),
        # The codebook has a class that no record has.
        (["low", "high"], {"classes": ["low", "high", "top"]}, ["low", "high", "top"]),
        (["low", "high", "mid"], {"public": True}, ["high", "low", "mid"]),
        (["10", "9", "-1"], {"public": True}, ["-1", "9", "10"]),
        (["b", "a", "B", "c"], {"public": True}, {"a": "a", "b": "b", "B": "b", "c": "c"}),
    ],
)
def test_more_classes(folder, values, question, classes):
    lines = ["x,sick", *(f"{k * 1.5},{value}" for k, value in enumerate(values * 5))]
    content, made = draft_table(lines, **question)
    assert content["label"] == {"column": "sick", "classes": classes}
    if classes is not None:
        DRAFT.write_text(made.text)
        fill_bounds("[0, 30]")
        assert checked("t").is_ready


def test_three_classes_from_a_raw_table_to_predictions(folder, capsys, monkeypatch):
    """All commands from describe to predict, on 400 records with words as labels."""
    monkeypatch.setenv("PRIVCURVE_SEEDS", str(folder / "seeds"))
    rng = np.random.default_rng(0)
    sugar = rng.uniform(0, 10, 400)
    words = np.array(["mild", "moderate", "severe, or worse"])
    rows = [f'{s:.2f},{t},"{words[int(s / 3.4)]}"' for s, t in zip(sugar, "xy" * 200, strict=True)]
    (folder / "t.csv").write_text("\n".join(["sugar,town,grade", *rows]) + "\n")
    assert run(capsys, "describe", "t.csv", "--label", "grade")[0] == 0
    assert "severe" not in DRAFT.read_text()
    assert run(capsys, "check", "t")[0] == 4
    answers = io.StringIO("0, 10\nx, y\nmild, moderate, 'severe, or worse'\n")
    monkeypatch.setattr("sys.stdin", answers)
    code, output = run(capsys, "decide", "t")
    assert code == 0, output
    assert "ready: privcurve compare t" in run(capsys, "check", "t")[1]
    code, output = run(capsys, "release", "t", "--epsilon", "8", "--delta", "1e-6")
    assert code == 0, output
    for form in ("md", "html"):
        card = Path(f"releases/t/1/card.{form}").read_text()
        assert "grade: mild, moderate, severe, or worse" in card
    (folder / "new.csv").write_text("town,sugar\nx,0.5\ny,9.5\n")
    code, output = run(capsys, "predict", "releases/t/1/model.json", "new.csv", "--proba")
    header, *lines = csv.reader(io.StringIO(output))
    assert header == ["predicted_grade", *(f"probability of {word}" for word in words)]
    assert [line[0] for line in lines] == ["mild", "severe, or worse"]
    assert [sum(map(float, line[1:])) for line in lines] == pytest.approx([1, 1], abs=1e-5)
