"""``privcurve describe``: what a draft says, and what it does not."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import messy
import pytest
import yaml
from drafting import column, drafted
from raw_files import workbook

from privcurve import datasets
from privcurve.cli import main
from privcurve.datasets.drafts import draft, profile
from privcurve.datasets.drafts.label import LabelChoice
from privcurve.datasets.drafts.sniff import sniff

# Nothing that was seen is in the draft ---------------------------------------------------


def test_a_messy_table_becomes_a_draft_that_copies_nothing(folder, capsys):
    messy.write(folder / "clinic.csv")
    assert main.main(["describe", "clinic.csv", "--label", "sick"]) == 0
    text = Path("descriptions/clinic.yaml").read_text()
    screen = capsys.readouterr().out
    # Towns, codes, extremes of numbers and dates are on the screen alone.
    for seen in ("Oslo", "2018-01", "seen by the nurse", "north"):
        assert seen in screen
        assert seen not in text.replace("[Oslo, Bergen], or groups", "")
    content = yaml.safe_load(text)
    assert [entry["name"] for entry in content["columns"]] == [
        *("age", "sex", "BMI", "blood pressure", "cholesterol", "sugar", "visits", "grade"),
        *("smoker", "town", "diagnosis", "admitted"),
    ]
    blanks = {e["name"] for e in content["columns"] if None in e.values()}
    assert blanks == set(messy.DECIDED)
    assert content["decimal"] == ","
    assert content["parser"] == {
        **{"kind": "delimited", "separator": ";", "encoding": "cp1252", "header": True}
    }
    assert set(content["missing"]) == set(messy.GAPS)
    assert content["label"] == {"column": "sick", "positive": ["yes"], "negative": ["no"]}


@pytest.mark.parametrize("n", [400, pytest.param(30_000, marks=pytest.mark.slow)])
def test_from_a_messy_table_to_data_by_one_edit(folder, capsys, n):
    messy.write(folder / "clinic.csv", n)
    path = Path("descriptions/clinic.yaml")
    main.main(["describe", "clinic.csv", "--label", "sick"])
    path.write_text(messy.decide(path.read_text()))
    assert main.main(["check", "clinic"]) == 0
    assert "ready: privcurve compare clinic" in capsys.readouterr().out
    data = datasets.load("clinic")
    assert len(data.y) == n
    assert data.n_clipped < 0.01 * data.X.size


def test_another_record_changes_bounds_in_no_draft(folder):
    lines = ["age,dose,sick", *(f"{20 + k},{k / 7},{k % 2}" for k in range(60))]
    _, one = drafted(lines)
    _, other = drafted([*lines[:-1], "119,1e9,1"])
    assert one.text == other.text


# Kinds -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1.5, 2, 3] * 9, {"kind": "numeric", "bounds": None, "missing": "bin"}),
        ([0, 1, "NA"] * 9, {"kind": "categorical", "categories": [0, 1, "other", "?"]}),
        (["1.0", "0.0", ""] * 9, {"kind": "categorical", "categories": [0, 1, "other", "?"]}),
        (["0123", "0456", "0789"] * 9, {"kind": "text", "groups": None}),
        (["Oslo", "Bergen", "OSLO"] * 9, {"kind": "text", "groups": None}),
        (["2020-01-31", "2021-02-28"] * 9, {"kind": "date", "bounds": None, "missing": "bin"}),
        (
            ["31.12.2020 10:15", "01.02.2021 11:00"] * 9,
            {"kind": "date", "bounds": None, "format": "%d.%m.%Y %H:%M", "missing": "bin"},
        ),
        (
            ["12/31/2020", "01/02/2021"] * 9,
            {"kind": "date", "bounds": None, "format": "%m/%d/%Y", "missing": "bin"},
        ),
        # Which is the day?
        (
            ["01/02/2020", "03/04/2021"] * 9,
            {"kind": "date", "bounds": None, "format": None, "missing": "bin"},
        ),
        # A few words among numbers are told of by check.
        ([*range(7, 47), "old"], {"kind": "numeric", "bounds": None, "missing": "bin"}),
        # One after another, texts of their own, one value, no value.
        (range(1, 101), None),
        ([f"name {k}" for k in range(100)], None),
        (["same"] * 9, None),
        (["NA", ""] * 9, None),
    ],
)
def test_what_a_column_is(folder, values, expected):
    found, _ = column(values)
    assert found == (None if expected is None else {"name": "x", **expected})


def test_names_and_conventions_settle_what_they_can(folder):
    lines = ["age,Sex,smokes,sick", "31,F,Yes,ja", "45,male,no,nein", "46,m,N,Ja"]
    content, found = drafted(lines)
    age, sex, smokes = content["columns"]
    assert (age["bounds"], age["n_bins"]) == ([0, 120], 12)
    assert set(sex["groups"]) == {"female", "male"}
    assert set(smokes["groups"]) == {"yes", "no"}
    assert content["label"]["positive"] == ["ja", "Ja"]
    assert found.blanks == 0


def test_columns_that_differ_in_a_number_are_one_line(folder):
    lines = ["a0,a2,a3,a4,b,c01,c02,sick"]
    lines += [",".join([*map(str, range(k, k + 7)), "yno"[k % 2 :][0]]) for k in (1, 2, 3, 9)]
    content, found = drafted([lines[0], *(line.replace(",n", ",no") for line in lines[1:])],
                             positive=["y"], negative=["no"])  # fmt: skip
    names = [entry["name"] for entry in content["columns"]]
    assert names == ["a0", "a{2..4}", "b", "c01", "c02"]
    assert found.blanks == 5


def test_a_public_file_gives_bounds_and_categories(folder, capsys):
    Path("t.csv").write_text(
        "x,town,day,sick\n1.5,Oslo,2020-01-01,a\n,b*,2021-01-01,b\n99,Rome,,b\n"
    )
    assert main.main(["describe", "t.csv", "--label", "sick", "--public"]) == 0
    content = yaml.safe_load(Path("descriptions/t.yaml").read_text())
    assert content["public_benchmark"] is True
    x, town, day = content["columns"]
    assert (x["bounds"], x["missing"]) == ([1, 99], "bin")
    assert town["groups"] == ["Oslo", "Rome"]
    assert [str(bound) for bound in day["bounds"]] == ["2020-01-01", "2021-01-01"]
    assert main.main(["check", "t"]) == 0
    assert "decide" not in capsys.readouterr().out
    assert datasets.load("t").clipped == {"train": {}}


@pytest.mark.parametrize(("number", "bounds"), [("7", [7, 8]), ("-2e17", [-2e17, -1.98e17])])
def test_one_number_beside_words_has_bounds_too(folder, number, bounds):
    found, _ = column([number] * 39 + ["old"], public=True)
    assert found["bounds"] == bounds


# The label -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "asked", "positive", "negative"),
    [
        (["1", "0"], {}, ["1"], ["0"]),
        (["1.0", "0"], {}, ["1.0"], ["0"]),
        (["TRUE", "false"], {}, ["TRUE"], ["false"]),
        (["-1", "1"], {}, ["1"], ["-1"]),
        # The convention may be turned round.
        (["yes", "no"], {"positive": ["no"]}, ["no"], ["yes"]),
        (["a", "b"], {}, None, None),
        # What is left over was seen, not said.
        (["a", "b"], {"positive": ["a"]}, ["a"], None),
        (["a", "b"], {"negative": ["a"]}, None, ["a"]),
        (["a", "b"], {"positive": ["a"], "public": True}, ["a"], ["b"]),
        (["a", "b", "A"], {"public": True}, ["b"], ["a", "A"]),
        (["a", "b", "A"], {"positive": ["a"], "public": True}, ["a", "A"], ["b"]),
        (["a", "b", "A"], {"negative": ["A"], "public": True}, ["b"], ["a", "A"]),
        (["a", "b", "c"], {"positive": ["a"], "negative": ["c", "b"]}, ["a"], ["c", "b"]),
        (["yes", "unknown"], {"positive": ["yes"], "negative": ["unknown"]}, ["yes"], ["unknown"]),
    ],
)
def test_two_classes(folder, values, asked, positive, negative):
    lines = ["x,sick", *(f"{k * 1.5},{value}" for k, value in enumerate(values * 5))]
    content, found = drafted(lines, **asked)
    assert (content["label"]["positive"], content["label"]["negative"]) == (positive, negative)
    assert found.blanks == (0 if "public" in asked else 1) + (positive is None) + (negative is None)


def test_records_without_a_label_are_told_of(folder, capsys):
    Path("t.csv").write_text("x,sick\n1.5,yes\n2,\n3,no\n4,NA\n")
    main.main(["describe", "t.csv", "--label", "sick"])
    assert "2 records have no label" in capsys.readouterr().out


# Files -----------------------------------------------------------------------------------


@pytest.mark.parametrize("separator", [",", ";", "\t", "|", " "])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252", "utf-16"])
def test_how_a_table_is_written(folder, separator, encoding):
    lines = ["age,town,sick", "31,Tromsø,yes", '45,"Mo,_i;Rana",no']
    if separator == " ":  # which knows no quotes
        lines[2] = "45,Mo,no"
    path = Path("t.csv")
    path.write_text("\n".join(lines).replace(",", separator), encoding=encoding)
    found = sniff(path)
    assert found.fields == ("age", "town", "sick")
    wanted = "whitespace" if separator == " " else separator
    assert found.parser.get("separator", ",") == wanted
    said = found.parser.get("encoding", "utf-8")
    assert said == ("utf-8" if encoding == "utf-8-sig" else encoding)
    content, _ = drafted([line.replace(",", separator) for line in lines], encoding=encoding)
    assert content["n_rows"] == 2


def test_names_that_are_missing_or_twice_are_made(folder):
    content, found = drafted([",a,a,sick", "0,1,2,yes", "1,5,3,no"])
    assert content["parser"]["fields"] == ["column1", "a", "a_2", "sick"]
    assert content["parser"]["skip_rows"] == 1
    assert found.n_rows == 2
    content, found = drafted(["3.5,yes", "4.5,no"], "column2", header=False)
    assert (content["columns"][0]["name"], content["n_rows"]) == ("column1", 2)


@pytest.mark.parametrize("odd", ["\x7f", "\x81", "\u2028", "\xa0", "\U0001f600", '"', "\\", ": #"])
def test_names_of_any_letters_can_be_read_again(folder, odd):
    names = [f"a{odd}b", f"not{odd}used", "sick"]
    encoding = "latin-1" if odd == "\x81" else "utf-8"
    lines = [";".join(f'"{name.replace(chr(34), chr(34) * 2)}"' for name in names)]
    content, found = drafted([*lines, "1;1;yes", "2;1;no"], encoding=encoding)
    assert [entry["name"] for entry in content["columns"]] == names[:1] == list(found.columns)[:1]


def test_blank_lines_may_stand_above_the_names(folder):
    content, found = drafted(["", "  ", "a,a,sick", "1,2,yes", "5,3,no"])
    assert (content["parser"]["fields"], content["parser"]["skip_rows"]) == (
        ["a", "a_2", "sick"],
        3,
    )
    assert found.n_rows == 2
    # A name may go over two lines.
    content, found = drafted(['a,a,"sick', 'or not"', "1,2,yes", "5,3,no"], "sick\nor not")
    assert (content["parser"]["skip_rows"], found.n_rows) == (2, 2)


def test_a_sheet_of_excel_is_named_as_it_is_read(folder):
    rows = [[1.5, 7, "yes"], [2.5, 9, "no"]]
    for names, fields in (
        (["dose", 2020, "sick"], None),
        (["dose", "dose", "sick"], ["dose", "dose_2", "sick"]),
    ):
        workbook(Path("t.xlsx"), {"Data": [["", "", ""], names, *rows]})
        found = draft(Path("t.xlsx"), LabelChoice("sick"))
        assert found.format.parser.get("fields") == fields
        assert (found.n_rows, list(found.columns)[1]) == (2, fields[1] if fields else "2020")


def test_sheets_that_are_not_read_are_named(folder, capsys):
    rows = [["dose", "sick"], [1.5, "yes"], [2.5, "no"]]
    workbook(Path("t.xlsx"), {"2020": rows, "2021": rows})
    assert main.main(["describe", "t.xlsx", "--label", "sick"]) == 0
    said = "2 records, 2 columns; excel, the sheet '2020'; not read: '2021' (parser: sheet)"
    assert said in capsys.readouterr().out


def test_other_kinds_of_files(folder):
    import pyarrow as pa
    from pyarrow import parquet

    lines = Path("patients.csv").read_bytes()
    Path("zipped.csv.gz").write_bytes(gzip.compress(lines))
    plain = draft(Path("patients.csv"), LabelChoice("sick"))
    zipped = draft(Path("zipped.csv.gz"), LabelChoice("sick"))
    assert zipped.name == "zipped"
    assert zipped.columns == plain.columns
    table = {"x": [1.5, None, 3.0], "sick": [True, False, True], "y": pa.array([7, 8, None])}
    parquet.write_table(pa.table(table), "t.parquet")
    found = draft(Path("t.parquet"), LabelChoice("sick"))
    content = yaml.safe_load(found.text)
    assert [entry["kind"] for entry in content["columns"]] == ["numeric", "numeric"]
    assert content["label"]["positive"] == ["true"]


def test_lists_in_a_parquet_file_are_left_out(folder, capsys):
    import pyarrow as pa
    from pyarrow import parquet

    table = {"x": [1.5, 2.5, 3.5], "l": [[1], [2], [3]], "sick": ["yes", "no", "no"]}
    parquet.write_table(pa.table(table), "t.parquet")
    assert main.main(["describe", "t.parquet", "--label", "sick"]) == 0
    assert "lists or objects: not read" in capsys.readouterr().out
    text = Path("descriptions/t.yaml").read_text()
    assert "# not used: l\n" in text
    Path("descriptions/t.yaml").write_text(text.replace("bounds:", "bounds: [0, 9]"))
    assert main.main(["check", "t"]) == 0
    assert main.main(["describe", "t.parquet", "--label", "l", "--name", "u"]) == 1
    assert "the label 'l' holds lists or objects" in capsys.readouterr().err


def test_a_file_to_test_by(folder):
    Path("test.csv").write_text(Path("patients.csv").read_text().replace("31", "32"))
    found = draft(Path("patients.csv"), LabelChoice("sick"), name="n", test=Path("test.csv"))
    content = yaml.safe_load(found.text)
    assert content["n_test"] == 5
    assert content["files"]["test"] == {"local": "test.csv"}
    # As of the other file, once a line that can't be read is mended the number is right.
    Path("test.csv").write_text(Path("test.csv").read_text().replace("P5,60", "P5,6,0"))
    found = draft(Path("patients.csv"), LabelChoice("sick"), name="n", test=Path("test.csv"))
    assert yaml.safe_load(found.text)["n_test"] == 5
    assert any("line 6 of test.csv has 6 fields" in fault for fault in found.faults)


def test_a_file_to_test_by_is_written_as_the_other_is(folder):
    Path("test.csv").write_text("id;age;town;day;sick\nP1;3;Oslo;2020-01-05;yes\n")
    with pytest.raises(
        datasets.DatasetError, match=r"test.csv is written .* separator ';', not ','"
    ):
        draft(Path("patients.csv"), LabelChoice("sick"), name="n", test=Path("test.csv"))


def test_the_order_of_words_for_what_is_missing_counts_no_records(folder):
    lines = ["x,y,sick", "1,NA,yes", "?,5,no", "3,?,yes", "4,6,no"]
    content, _ = drafted(lines)
    assert content["missing"] == ["", "?", "NA"]
    content, _ = drafted([line.replace("?", "NA", 1) for line in lines[:3]] + lines[3:])
    assert content["missing"] == ["", "?", "NA"]


def test_a_draft_says_that_its_number_of_records_would_be_public_knowledge(folder):
    lines = ["x,k,sick", *(f"{k},{k % 7},{k % 2}" for k in range(60))]
    _, private = drafted(lines)
    said = private.text.partition("n_rows: 60")[2].partition("files:")[0]
    assert "add-remove" in said
    assert "public\n# knowledge" in said
    assert "add-remove" not in drafted(lines, public=True)[1].text


def test_lines_that_can_t_be_read_are_told_of(folder, capsys):
    Path("t.csv").write_text("a,sick\n1.5,yes\n2,no,3\n4,no\n")
    assert main.main(["describe", "t.csv", "--label", "sick"]) == 0
    assert "line 3 of t.csv has 3 fields, not 2" in capsys.readouterr().out
    # Once the line is mended, the number is right.
    assert "n_rows: 3" in Path("descriptions/t.yaml").read_text()


def test_a_column_of_many_values_needs_no_more_memory(folder, monkeypatch):
    monkeypatch.setattr(profile, "MOST_VALUES", 60)
    found, seen = column([k / 7 for k in range(200)])
    assert found["kind"] == "numeric"
    assert "over 60 numbers" in seen.columns["x"].seen
    # What tells records apart does so among the first ones too; a few words do not.
    found, _ = column([f"name {k}" for k in range(200)])
    assert found is None
    found, _ = column([f"name {k % 70}" for k in range(1000)])
    assert found["kind"] == "text"


def test_the_wider_a_table_the_less_is_remembered_of_a_column(monkeypatch):
    monkeypatch.setattr(profile, "MOST_TOGETHER", 1000)
    assert {some.most for some in profile.blank("ab").values()} == {500}
    assert {some.most for some in profile.blank("abcdefghij").values()} == {200}
    monkeypatch.setattr(profile, "MOST_TOGETHER", 10**9)
    assert {some.most for some in profile.blank("ab").values()} == {profile.MOST_VALUES}


def test_nothing_is_written_over_unless_it_is_said(folder, capsys):
    before = Path("descriptions/patients.yaml").read_text()
    argv = ["describe", "patients.csv", "--label", "sick"]
    assert main.main(argv) == 1
    assert Path("descriptions/patients.yaml").read_text() == before
    assert main.main([*argv, "-o", "elsewhere.yaml"]) == 0
    told = capsys.readouterr().out
    assert "Then: put it at descriptions/patients.yaml, and privcurve check patients" in told
    assert main.main([*argv, "--force"]) == 0
    text = Path("descriptions/patients.yaml").read_text()
    assert text == Path("elsewhere.yaml").read_text() != before
    said = capsys.readouterr().out
    assert re.search(r'2 lines are marked "decide"', said), said
