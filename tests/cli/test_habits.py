"""Tables as people have them: each becomes a draft, or is refused in a message that helps."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from privcurve.cli import check, main
from privcurve.datasets import describe, load

HEADER = "age;income;town;sick"


def told(capsys, *argv):
    """Run a command; give its code, and what it said."""
    code = main.main(list(argv))
    seen = capsys.readouterr()
    return code, seen.out + seen.err


def described(capsys, content, name="t.csv", label="sick"):
    """Draft the description of a file; give what was said."""
    Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())
    code, said = told(capsys, "describe", name, "--label", label, "--force")
    assert code == 0, said
    return said


def of(values, name="x"):
    """A column of values beside an age and a label."""
    lines = (f'"{v}",{20 + k % 40},{"yes" if k % 3 else "no"}' for k, v in enumerate(values))
    return "\n".join([f"{name},age,sick", *lines]) + "\n"


def test_what_spreadsheets_write_is_read(folder, capsys):
    rows = [f'{20 + k};{k},5;"Oslo\nnorth";{"yes" if k % 3 else "no"}' for k in range(12)]
    plain = "\r\n".join([HEADER, *rows]) + "\r\n"
    said = described(capsys, b"\xef\xbb\xbf" + plain.encode())
    assert "12 records, 4 columns; separator ';', UTF-8, decimal comma" in said
    # A value of two lines is one line of the screen.
    assert "town    not used     one value alone: Oslo north (100%)" in said
    trailing = plain.replace("\r\n", ";\r\n")
    assert "column5  not used     100.0% missing" in described(capsys, trailing)
    assert "12 records" in described(capsys, gzip.compress(plain.encode()))


def test_packed_tables_are_read_under_any_name(folder, capsys):
    text = (folder / "patients.csv").read_bytes()
    (folder / "patients.csv").write_bytes(gzip.compress(text))
    code, said = told(capsys, "check", "patients")
    assert code == 0, said
    assert "patients: 5 records" in said


@pytest.mark.parametrize("row", ["a,b,sick\n", "a,b,sick,,\n"])
def test_a_first_line_of_another_width_is_named(folder, capsys, row):
    Path("t.csv").write_text(row + "1,2,yes,\n3,4,no,\n" * 9)
    code, said = told(capsys, "describe", "t.csv", "--label", "sick")
    assert code == 1
    assert f"its first line has {row.count(',') + 1} fields (separator ','), most others" in said


@pytest.mark.parametrize("form", ["2024-05-{:02d}T10:00:00Z", "2024-05-{:02d}T10:00:00.25"])
def test_time_stamps_are_dates(folder, capsys, form):
    said = described(capsys, of([form.format(1 + k % 28) for k in range(60)]))
    assert "x    date         2024-05-01 to 2024-05-28" in said


@pytest.mark.parametrize(
    "form", ["1,{:03d}", "$ {}", "{}%", "1.{:03d},50", "-€{}", "{} cm", "{}kg"]
)
def test_amounts_that_are_no_numbers_are_told_of(folder, capsys, form):
    said = described(capsys, of(map(form.format, range(100, 160))))
    assert "if these are amounts, write them as plain numbers" in said


@pytest.mark.parametrize("value", ["P{}", "{}-{}", "12:{}", "{}{:c}"])
def test_other_texts_are_no_amounts(folder, capsys, value):
    # Letters that differ are no unit.
    assert "amounts" not in described(capsys, of(value.format(k, 65 + k % 9) for k in range(60)))


def test_what_tells_records_or_people_apart_is_told(folder, capsys):
    once = described(capsys, of((k * 7919 % 10007 for k in range(90)), "number_of_case"))
    assert "each but once: strike the column if it tells records apart" in once
    for values in ([f"P{k // 3}" for k in range(90)], [k // 3 * 11 for k in range(90)]):
        said = described(capsys, of(values, "patient_id"))
        assert "if it names people, each has 3.0 records, and ε is for one" in said
    assert "ε is for one" not in described(capsys, of(k // 3 * 11 for k in range(90)))


@pytest.mark.parametrize("name", ["label", "nan", "null", "yes", "1", "~", " größe", "a: b # c"])
def test_a_column_may_have_any_name(folder, capsys, name):
    described(capsys, f'"{name}",sick\n' + "".join(f"{k / 7},{k % 2}\n" for k in range(20)))
    draft = Path("descriptions/t.yaml")
    draft.write_text(draft.read_text().replace("bounds:  # decide", "bounds: [0, 9]  #"))
    code, said = told(capsys, "check", "t")
    assert code == 0, said
    assert f"  {name.strip()} " in said


def test_of_many_columns_those_are_shown_that_lose_something(folder, capsys, monkeypatch):
    monkeypatch.setattr(check, "MOST_SHOWN", 2)
    header = ",".join(f"gene{j}" for j in range(9))
    rows = [
        ",".join([*(str(k % 5) for _ in range(8)), "50" if k % 10 == 0 else str(k % 3), f"{k % 2}"])
        for k in range(20)
    ]
    described(capsys, "\n".join([f"{header},sick", *rows]) + "\n")
    draft = Path("descriptions/t.yaml")
    draft.write_text(draft.read_text().replace("bounds:  # decide", "bounds: [0, 9]  #"))
    code, said = told(capsys, "check", "t")
    assert code == 0, said
    shown = [line.split()[0] for line in said.splitlines() if "gene" in line]
    assert shown == ["gene0", "gene1", "gene8"]
    assert "… and 6 columns more" in said


@pytest.mark.parametrize(
    ("columns", "rows"),
    [
        ("age,note,sick", ['41,"see file,yes', '42,"see,no']),
        ("age,sick,note", ['41,yes,"see file', '42,no,"see']),
        ("age,sick,note", ['41,yes,"see file']),
    ],
)
def test_a_quote_that_is_not_closed_swallows_no_records(folder, capsys, columns, rows):
    plain = ["1,x,yes" if columns.endswith("sick") else "1,yes,x"] * 9
    lines = [columns, *plain, rows[0], *plain, *rows[1:], *plain]
    Path("t.csv").write_text("\n".join(lines) + "\n")
    code, said = told(capsys, "describe", "t.csv", "--label", "sick")
    assert code == 1
    assert "a quote in the record of line 11 is not closed where its field ends" in said
    # What is well quoted may have several lines, and a quote within.
    described(capsys, "age,sick,note\n" + '1,yes,"a\n""b"", c"\n2,no,5" disk\n' * 9)


def test_a_file_to_test_by_that_is_read_by_place_has_the_same_places(folder, capsys):
    rows = [f"{k},{k % 7},{k % 5},{k % 2}" for k in range(60)]
    for name, header in (("t", ",a,b,sick"), ("good", ",a,b,sick"), ("bad", ",b,a,sick")):
        top = "\n" if name == "good" else ""
        Path(f"{name}.csv").write_text("\n".join([top + header, *rows[len(name) :]]) + "\n")
    asked = ("describe", "t.csv", "--label", "sick", "--force", "--test")
    code, said = told(capsys, *asked, "bad.csv")
    assert code == 1
    assert "bad.csv has other columns than t.csv, or in another order: column1, b, a, sick" in said
    # A line that is blank in one alone shifts the header.
    assert "skip_rows 2, not 1" in told(capsys, *asked, "good.csv")[1]
    Path("good.csv").write_text(Path("good.csv").read_text().lstrip())
    assert told(capsys, *asked, "good.csv")[0] == 0


def test_a_file_to_test_by_has_the_same_encoding(folder, capsys):
    rows = "town,v,sick\n" + "".join(f"Tromsø,{k},{k % 2}\n" for k in range(20))
    Path("t.csv").write_text(rows, encoding="cp1252")
    asked = ("describe", "t.csv", "--label", "sick", "--force", "--test", "test.csv")
    Path("test.csv").write_text(rows)
    code, said = told(capsys, *asked)
    assert code == 1
    assert "another way than the other records: encoding 'utf-8-sig', not 'cp1252'" in said
    for alike in (rows.replace("ø", "o"), rows):
        Path("test.csv").write_text(alike, encoding="cp1252")
        assert told(capsys, *asked)[0] == 0


def test_points_that_may_part_thousands_are_told_of(folder, capsys):
    amounts = [(f"{k:,}".replace(",", ".")) for k in range(700, 1400, 11)]
    assert "if 1.008 is more than a thousand, write it" in described(capsys, of(amounts))
    for others in ([*amounts, "0.125"], range(700, 800)):
        assert "thousand" not in described(capsys, of(others))


def test_codes_with_leading_zeros_are_no_amounts(folder, capsys):
    assert "amounts" not in described(capsys, of(f"{k % 9:04d}" for k in range(60)))


def test_the_order_of_spellings_of_a_label_tells_of_no_record(folder, capsys):
    drafts = set()
    for spelt in (("Yes", "NO", "no ", "YES", "yes"), ("no", "YES", "yes", "NO", "Yes ")):
        rows = "".join(f"{k},{spelt[k % 5]}\n" for k in range(60))
        described(capsys, "age,sick\n" + rows)
        drafts.add(Path("descriptions/t.yaml").read_text())
    (draft,) = drafts
    assert 'positive: ["yes", "Yes", "YES"]' in draft
    # Spellings of one word are one name of the class.
    assert describe("t").domain.label.names == ("no", "yes")


def test_dates_of_several_forms_are_told_of(folder, capsys):
    forms = ("{:02d}/05/2024", "2024-05-{:02d}", "{}.5.2024")
    said = described(capsys, of(forms[k % 3].format(1 + k % 28) for k in range(60)))
    assert "if these are dates, write all in one form: 2024-12-31" in said
    assert "amounts" not in said


def test_what_years_of_two_digits_mean_is_said(folder, capsys):
    said = described(capsys, of(f"{1 + k % 28:02d}.05.{45 + k % 40}" for k in range(60)))
    assert "x    date         1969-05-25 to 2068-05-24" in said
    draft = Path("descriptions/t.yaml").read_text()
    assert 'format: "%d.%m.%y"  # of two digits: 69 is 1969 and 68 is 2068' in draft


def test_bounds_in_another_unit_are_told_of(folder, capsys):
    rows = "".join(f"{k / 60:.3f},,{k},{'yes' if k % 3 else 'no'}\n" for k in range(60))
    described(capsys, "percent,gone,v,sick\n" + rows)
    draft = Path("descriptions/t.yaml")
    assert "name: percent" in draft.read_text()
    whole = draft.read_text().replace("bounds:  # decide", "bounds: [0, 60]  #")
    draft.write_text(whole)
    code, said = told(capsys, "check", "t")
    assert code == 1
    assert "all values of 'percent' are in one bin, though they differ: are the bounds in " in said
    draft.write_text(whole.replace("[0, 100]", "[0, 1]"))
    code, said = told(capsys, "check", "t")
    assert (code, "in one bin" in said) == (0, False)


def test_names_of_rows_are_no_column(folder, capsys):
    import pandas as pd

    frame = pd.DataFrame({"age": [k * 7 % 60 for k in range(80)], "sick": ["yes", "no"] * 40})
    frame.sample(60, random_state=0).to_parquet("t.parquet")
    code, said = told(capsys, "describe", "t.parquet", "--label", "sick")
    assert code == 0
    assert "__index_level_0__  not used     names of rows" in said
    assert "# not used: __index_level_0__" in Path("descriptions/t.yaml").read_text()


@pytest.mark.parametrize("header", ["a{1..3},b{2..1},c{1..2}1,c{1..2}2", "a{1..3},a{1..3},b,b"])
def test_a_name_that_looks_like_a_range_is_one_name(folder, capsys, header):
    rows = [f"{k},{k % 4},{k % 5},{k % 3},{'yes' if k % 2 else 'no'}" for k in range(8)]
    (folder / "t.csv").write_text("\n".join([f"{header},sick", *rows]) + "\n")
    assert main.main(["describe", "t.csv", "--label", "sick", "--public"]) == 0
    assert main.main(["check", "t"]) == 0
    mine = load("t")
    assert mine.domain.names[0] == "a{1..3}"
    assert len(mine.domain.names) == 4
    assert len(mine.y) == 8
