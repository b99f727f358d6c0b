"""``privcurve describe``: files in many forms."""

import gzip
import re
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest
import yaml
from drafting import DRAFT, describe_file, draft_table, fill_bounds, run
from pyarrow import parquet
from raw_files import write_workbook

from privcurve.cli import main
from privcurve.datasets import DatasetError
from privcurve.datasets.describing import draft
from privcurve.datasets.describing.label import LabelChoice
from privcurve.datasets.public_schema import Schema
from privcurve.datasets.reading.formats import sniff


@pytest.mark.parametrize("separator", [",", ";", "\t", "|", " "])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252", "utf-16"])
def test_how_a_table_is_written(folder, separator, encoding):
    lines = ["age,town,sick", "31,Tromsø,yes", '45,"Mo,_i;Rana",no']
    if separator == " ":  # a parser without quotes
        lines[2] = "45,Mo,no"
    path = Path("t.csv")
    path.write_text("\n".join(lines).replace(",", separator), encoding=encoding)
    made = sniff(path)
    assert made.fields == ("age", "town", "sick")
    wanted = "whitespace" if separator == " " else separator
    assert made.parser.get("separator", ",") == wanted
    result = made.parser.get("encoding", "utf-8")
    assert result == ("utf-8" if encoding == "utf-8-sig" else encoding)
    content, _ = draft_table([line.replace(",", separator) for line in lines], encoding=encoding)
    assert content["n_rows"] == 2


def test_files_of_spreadsheets_are_read(folder, capsys):
    rows = [f'{20 + k};{k},5;"Oslo\nnorth";{"yes" if k % 3 else "no"}' for k in range(12)]
    plain = "\r\n".join(["age;income;town;sick", *rows]) + "\r\n"
    output = describe_file(capsys, b"\xef\xbb\xbf" + plain.encode())
    assert "12 records, 4 columns; separator ';', UTF-8, decimal comma" in output
    # The screen shows a value with a line break in one line.
    assert "town    not used     a single value: Oslo north (100%)" in output
    trailing = plain.replace("\r\n", ";\r\n")
    assert "column5  not used     100.0% missing" in describe_file(capsys, trailing)
    # A compressed file may have any name.
    assert "12 records" in describe_file(capsys, gzip.compress(plain.encode()))
    (folder / "patients.csv").write_bytes(gzip.compress((folder / "patients.csv").read_bytes()))
    code, output = run(capsys, "check", "patients")
    assert (code, "patients: 5 records" in output) == (0, True)


FIRST = "its first line has {} fields (separator ','), most others"
OPEN = "a quote in the record of line 11 is not closed where its field ends"


@pytest.mark.parametrize(
    ("header", "row", "odd", "expected"),
    [
        ("a,b,sick", "1,2,yes,", "3,4,no,", FIRST.format(3)),
        ("a,b,sick,,", "1,2,yes,", "3,4,no,", FIRST.format(5)),
        ("age,note,sick", "1,x,yes", '41,"see file,yes', OPEN),
        ("age,sick,note", "1,yes,x", '41,yes,"see file', OPEN),
    ],
)
def test_no_record_is_swallowed_by_another(folder, capsys, header, row, odd, expected):
    for n_odd in (1, 2):
        lines = [header, *([row] * 9 + [odd]) * n_odd, row]
        Path("t.csv").write_text("\n".join(lines) + "\n")
        code, output = run(capsys, "describe", "t.csv", "--label", "sick")
        assert (code, expected in output) == (1, True), output
    # A quoted value may have several lines; a quote inside an unquoted value is literal.
    describe_file(capsys, "age,sick,note\n" + '1,yes,"a\n""b"", c"\n2,no,5" disk\n' * 9)


def patients(n=400):
    """Return made-up records: words, a town, a code, a date, an amount and a label."""
    towns, sexes = ("Moss", "Oslo", "Bergen"), ("male", "female")
    return [
        f"{sexes[k % 2]},{towns[k % 3]},S{k % 90},20{k % 20 + 10}-01-0{k % 9 + 1},{k / 8},"
        f"{'non-' * (k % 2)}smoker"
        for k in range(n)
    ]


GERMAN = [
    f"A1{k % 4 + 1} {k % 50 + 4} A3{k % 5} A4{k % 9} {250 + 7 * k} {k % 2 + 1}" for k in range(90)
]


@pytest.mark.parametrize(
    ("lines", "label"),
    [
        (patients(), "smoker"),
        (GERMAN, "1"),
        ([line.replace(" ", ",") for line in GERMAN], "risk"),
        ([line.partition(",")[2].replace(",", ";") for line in patients()], "smoker"),
        # A number, date, code or unique word in the first line also shows that it is a record.
        (["x,2020-01-31", *(f"{'ab'[k % 2]},2021-03-1{k % 9}" for k in range(40))], "x"),
        (["x,S72", *(f"{'ab'[k % 2]},{'TA'[k % 2]}{k}" for k in range(40))], "x"),
        (["a,b,b", *(f"{'uv'[k % 2]},x{'y' * k},z" for k in range(40))], "a"),
        (["?,risk", *(f"{'?u'[k % 2]},{'low' * (k % 2)}high" for k in range(40))], "risk"),
    ],
)
def test_a_record_is_not_taken_for_names_of_columns(folder, capsys, lines, label):
    Path("t.csv").write_text("\n".join(lines) + "\n")
    code, output = run(capsys, "describe", "t.csv", "--label", label)
    assert code == 1
    assert "--no-header" in output
    assert "rename these columns" in output
    assert not DRAFT.exists()
    # The message shows nothing of the record.
    for value in re.split("[,; ]", lines[0]):
        assert len(value) < 2 or value not in output.replace("t.csv", ""), value


def test_a_record_is_not_taken_for_names_in_sheets_and_frames_either(folder, capsys):
    rows = [line.split(",") for line in patients(60)]
    write_workbook(Path("t.xlsx"), {"Sheet": rows})
    code, output = run(capsys, "describe", "t.xlsx", "--label", "smoker")
    assert (code, "--no-header" in output, "Moss" in output) == (1, True, False)
    frame = pd.DataFrame(rows[1:], columns=rows[0])
    frame.to_parquet("t.parquet")
    _, of_file = run(capsys, "describe", "t.parquet", "--label", "smoker")
    with pytest.raises(DatasetError) as error:
        Schema.draft(frame, "smoker")
    for output in (of_file, str(error.value)):
        assert ("Give them names" in output, "Moss" in output, "/tmp" in output) == (
            True,
            False,
            False,
        )


@pytest.mark.parametrize("option", ["", "--json", "--quiet"])
def test_without_a_label_the_columns_are_shown(folder, capsys, option):
    rows = patients()
    Path("t.csv").write_text("\n".join([*rows, "31,Moss"]) + "\n")
    code = main.main(["describe", "t.csv", "--no-header", *option.split()])
    captured = capsys.readouterr()
    assert (code, DRAFT.exists()) == (2, False)
    assert (f"line {len(rows) + 1} of t.csv must have 6 fields; it has 2" in captured.out) == (
        option != "--quiet"
    )
    assert "which column is to be predicted: --label" in captured.err
    assert ("column6" in captured.out) == (option != "--quiet")
    assert ("Moss" in captured.out) == (not option)


def test_names_are_names_though_some_are_like_a_value(folder, capsys):
    # The label has the name of one of its classes, a column is named 2020, two share a name.
    rows = [f"{20 + k % 50},{k % 9},{k / 7},{'spam' if k % 3 else 'ham'}" for k in range(60)]
    for header in ("age,visits,cost,spam", "age,2020,cost,spam", "age,cost,cost,spam"):
        Path("t.csv").write_text("\n".join([header, *rows]) + "\n")
        code, output = run(capsys, "describe", "t.csv", "--label", "spam", "--force")
        assert (code, DRAFT.exists()) == (0, True), output
    frame = pd.DataFrame({str(k): range(20, 50) for k in range(3)} | {"y": ["a", "b"] * 15})
    assert Schema.draft(frame, "y").names == ["0", "1", "2"]


def test_names_that_are_missing_or_twice_are_made(folder):
    content, made = draft_table([",a,a,sick", "0,1,2,yes", "1,5,3,no"])
    assert content["parser"]["fields"] == ["column1", "a", "a_2", "sick"]
    assert (content["parser"]["skip_rows"], made.n_rows) == (1, 2)
    content, made = draft_table(["3.5,yes", "4.5,no"], "column2", header=False)
    assert (content["columns"][0]["name"], content["n_rows"]) == ("column1", 2)
    # Blank lines may precede the header, and a name may have two lines.
    content, made = draft_table(["", "  ", "a,a,sick", "1,2,yes", "5,3,no"])
    assert content["parser"]["fields"] == ["a", "a_2", "sick"]
    assert (content["parser"]["skip_rows"], made.n_rows) == (3, 2)
    content, made = draft_table(['a,a,"sick', 'or not"', "1,2,yes", "5,3,no"], "sick\nor not")
    assert (content["parser"]["skip_rows"], made.n_rows) == (2, 2)


@pytest.mark.parametrize("odd", ["\x7f", "\x81", "\u2028", "\xa0", "\U0001f600", '"', "\\", ": #"])
def test_names_of_any_letters_can_be_read_again(folder, odd):
    names = [f"a{odd}b", f"not{odd}used", "sick"]
    encoding = "latin-1" if odd == "\x81" else "utf-8"
    lines = [";".join(f'"{name.replace(chr(34), chr(34) * 2)}"' for name in names)]
    content, made = draft_table([*lines, "1;1;yes", "2;1;no"], encoding=encoding)
    assert [entry["name"] for entry in content["columns"]] == names[:1] == list(made.columns)[:1]


def test_sheets_of_excel_are_named_as_they_are_read_or_not(folder, capsys):
    rows = [[1.5, 7, "yes"], [2.5, 9, "no"]]
    for names, fields in (
        (["dose", 2020, "sick"], None),
        (["dose", "dose", "sick"], ["dose", "dose_2", "sick"]),
    ):
        write_workbook(Path("t.xlsx"), {"2020": [["", "", ""], names, *rows], "2021": rows})
        made = draft(Path("t.xlsx"), LabelChoice("sick"))
        assert made.format.parser.get("fields") == fields
        assert (made.n_rows, list(made.columns)[1]) == (2, fields[1] if fields else "2020")
    result = "2 records, 3 columns; excel, the sheet '2020'; not read: '2021' (--sheet)"
    assert result in run(capsys, "describe", "t.xlsx", "--label", "sick")[1]


def test_a_sheet_is_named_and_the_draft_reads_it(folder, capsys):
    rows = [["dose", "sick"], *([k, "yes" if k % 3 else "no"] for k in range(20))]
    write_workbook(Path("t.xlsx"), {"About": [["x"]], "Data": rows, "Empty": [[""]]})
    code, output = run(capsys, "describe", "t.xlsx", "--label", "sick", "--sheet", "Data")
    assert (code, "the sheet 'Data'; not read: 'About', 'Empty'" in output) == (0, True)
    content = yaml.safe_load(DRAFT.read_text())
    assert content["parser"] == {"kind": "excel", "sheet": "Data", "header": True}
    fill_bounds("[0, 100]")
    assert run(capsys, "check", "t")[0] == 0
    again = ["describe", "t.xlsx", "--label", "sick", "--force", "--sheet"]
    code, output = run(capsys, *again, "data")
    wrong = "the sheet must be one of About, Data, Empty; got 'data'; did you mean 'Data'?"
    assert (code, wrong in output) == (1, True), output
    code, output = run(capsys, *again, "Empty")
    assert (code, "the sheet 'Empty' is empty: name another one with --sheet" in output) == (
        1,
        True,
    )
    Path("t.csv").write_text("a,sick\n1,yes\n2,no\n")
    code, output = run(capsys, "describe", "t.csv", *again[2:], "Data")
    assert (code, "t.csv is not an Excel file, so it has no sheets" in output) == (1, True)


def test_a_column_of_parquet_has_a_name(folder, capsys):
    parquet.write_table(pa.table([[1, 2], ["y", "n"]], names=["", "sick"]), "t.parquet")
    code, output = run(capsys, "describe", "t.parquet", "--label", "sick")
    assert (code, "its column 1 has no name" in output) == (1, True)


def test_parquet_files(folder, capsys):
    table = {"x": [1.5, None, 3.0], "sick": [True, False, True], "y": pa.array([7, 8, None])}
    parquet.write_table(pa.table(table | {"l": [[1], [2], [3]]}), "t.parquet")
    code, output = run(capsys, "describe", "t.parquet", "--label", "sick")
    assert (code, "lists or objects: not supported" in output) == (0, True)
    content = yaml.safe_load(DRAFT.read_text())
    assert [entry["kind"] for entry in content["columns"]] == ["numeric", "numeric"]
    assert content["label"]["positive"] == ["true"]
    assert "# not used: l\n" in DRAFT.read_text()
    fill_bounds("[0, 9]")
    assert run(capsys, "check", "t")[0] == 0
    code, output = run(capsys, "describe", "t.parquet", "--label", "l", "--name", "u")
    assert (code, "the label 'l' must have one value per record; it holds lists or" in output) == (
        1,
        True,
    )
    # An index of row names is not a column.
    frame = pd.DataFrame({"age": [k * 7 % 60 for k in range(80)], "sick": ["yes", "no"] * 40})
    frame.sample(60, random_state=0).to_parquet("t.parquet")
    output = run(capsys, "describe", "t.parquet", "--label", "sick", "--force")[1]
    assert "__index_level_0__  not used     row names" in output
    assert "# not used: __index_level_0__" in DRAFT.read_text()


def test_a_header_of_two_lines_can_lack_a_name(folder):
    """A name has a line break, and lines end with a separator: one field has no name."""
    rows = [f"{k % 9},{k % 8},{k % 7},{k % 2}," for k in range(60)]
    content, _ = draft_table(['x,"a', 'b",k,sick,', *rows])
    assert [entry["name"] for entry in content["columns"]] == ["x", "a\nb", "k"]
    assert content["n_rows"] == 60


def test_test_files(folder):
    Path("test.csv").write_text(Path("patients.csv").read_text().replace("31", "32"))
    made = draft(Path("patients.csv"), LabelChoice("sick"), name="n", test=Path("test.csv"))
    content = yaml.safe_load(made.text)
    assert content["n_test"] == 5
    assert content["files"]["test"] == {"local": "test.csv"}
    # The faulty line counts, so the number is right once the line is corrected.
    Path("test.csv").write_text(Path("test.csv").read_text().replace("P5,60", "P5,6,0"))
    made = draft(Path("patients.csv"), LabelChoice("sick"), name="n", test=Path("test.csv"))
    assert yaml.safe_load(made.text)["n_test"] == 5
    assert any("line 6 of test.csv must have 5 fields; it has 6" in fault for fault in made.faults)


def describe_with_test_file(capsys, name):
    """Draft the description of t.csv with a test file; return code and output."""
    return run(capsys, "describe", "t.csv", "--label", "sick", "--force", "--test", name)


def test_a_test_file_read_by_position_has_the_same_positions(folder, capsys):
    rows = [f"{k},{k % 7},{k % 5},{k % 2}" for k in range(60)]
    for name, header in (("t", ",a,b,sick"), ("good", "\n,a,b,sick"), ("bad", ",b,a,sick")):
        Path(f"{name}.csv").write_text("\n".join([header, *rows[len(name) :]]) + "\n")
    code, result = describe_with_test_file(capsys, "bad.csv")
    assert code == 1
    assert "line 1 of bad.csv names its column 2 'b', but " in result
    # A blank first line in only one of the files shifts its header.
    assert "skip_rows must be 1; got 2" in describe_with_test_file(capsys, "good.csv")[1]
    Path("good.csv").write_text(Path("good.csv").read_text().lstrip())
    assert describe_with_test_file(capsys, "good.csv")[0] == 0


def test_a_test_file_has_the_layout_of_the_training_file(folder, capsys):
    rows = "town,v,sick\n" + "".join(f"Tromsø,{k},{k % 2}\n" for k in range(20))
    Path("t.csv").write_text(rows, encoding="cp1252")
    for other, differs in (
        (rows, "the format of the training records: encoding must be 'cp1252'; got 'utf-8-sig'"),
        (rows.replace("ø", "o").replace(",", ";"), "separator must be ','; got ';'"),
    ):
        Path("test.csv").write_text(other)
        code, result = describe_with_test_file(capsys, "test.csv")
        assert (code, differs in result) == (1, True), result
    for alike in (rows.replace("ø", "o"), rows):
        Path("test.csv").write_text(alike, encoding="cp1252")
        assert describe_with_test_file(capsys, "test.csv")[0] == 0


def test_lines_and_labels_that_can_t_be_read_are_reported(folder, capsys):
    assert "2 records have no label" in describe_file(capsys, "x,sick\n1.5,yes\n2,\n3,no\n4,NA\n")
    output = describe_file(capsys, "a,sick\n1.5,yes\n2,no,3\n4,no\n")
    assert "line 3 of t.csv must have 2 fields; it has 3" in output
    # Once the line is corrected, the number is right.
    assert "n_rows: 3" in DRAFT.read_text()


def test_nothing_is_overwritten_without_force(folder, capsys):
    path, table = Path("descriptions/patients.yaml"), Path("patients.csv")
    before, rows = path.read_text(), table.read_text()
    argv = ["describe", "patients.csv", "--label", "sick"]
    assert run(capsys, *argv)[0] == 1
    assert run(capsys, *argv, "-o", "patients.csv", "--force")[0] == 1
    assert (path.read_text(), table.read_text()) == (before, rows)
    result = run(capsys, *argv, "-o", "elsewhere.yaml")[1]
    assert "Then: move it to descriptions/patients.yaml, and privcurve check patients" in result
    assert '2 lines are marked "decide"' in run(capsys, *argv, "--force")[1]
    assert path.read_text() == Path("elsewhere.yaml").read_text() != before
