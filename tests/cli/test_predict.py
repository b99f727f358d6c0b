"""``privcurve predict``: the user's names of labels, row by row, or one message."""

import csv
import gzip
import io
import json
import re
import shlex
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from raw_files import write_workbook
from refusals import assert_refused

from privcurve import errors, models
from privcurve.audit import __main__ as audit
from privcurve.cli import main
from privcurve.datasets import Column, Domain, Label
from privcurve.datasets.reading import files, table
from privcurve.learners import PrivGAMClassifier
from privcurve.models import text
from privcurve.outputs import __main__ as outputs

DOMAIN = Domain(
    (
        Column("age", "numeric", (0.0, 100.0), 10, missing_bin=True),
        Column("town", "categorical", categories=(("Oslo", "O"), ("Rome, north", "R"), ("?", "?"))),
        Column("day", "numeric", (18262.0, 19722.0), 10, missing_bin=True, dates="iso"),
    ),
    Label("sick", "not sick", "sick"),
    missing=("NA", ""),
)
TABLE = """\
id,town,age,day,note
P1,Oslo,31,2020-01-05,"a, b"
P2,"Rome, north",95,2020-02-05,
P3,Oslo,,2021-01-05,x

P4,NA,117.5,NA,x
P5,?,60,2022-03-01,x
"""
ROWS = [[3, 0, 0], [9, 1, 0], [10, 0, 2], [9, 2, 10], [6, 2, 5]]
ASK = "model.json new.csv"


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    X = rng.integers(0, DOMAIN.n_bins, size=(400, 3)).astype(np.uint8)
    names = np.where(X[:, 0] > 5, "sick", "not sick")
    public = {"n_bins": DOMAIN.n_bins, "classes": DOMAIN.label.names}
    return PrivGAMClassifier(epsilon=5.0, random_state=0, **public).fit(X, names)


@pytest.fixture
def folder(tmp_path, monkeypatch, fitted):
    monkeypatch.chdir(tmp_path)
    models.save(tmp_path / "model.json", fitted, DOMAIN)
    (tmp_path / "new.csv").write_text(TABLE)
    return tmp_path


def predict(options=""):
    return main.main(["predict", "model.json", *(shlex.split(options) or ["new.csv"])])


def answers(capsys, options=""):
    assert predict(options) == 0
    return list(csv.reader(io.StringIO(capsys.readouterr().out)))


def test_labels_are_the_users_names_with_probabilities(folder, capsys, fitted):
    header, *rows = answers(capsys, "new.csv --proba")
    assert header == ["predicted_sick", "probability of not sick", "probability of sick"]
    codes = np.array(ROWS, dtype=np.uint8)
    assert [row[0] for row in rows] == fitted.predict(codes).tolist()
    assert len({row[0] for row in rows}) == 2
    assert np.allclose([list(map(float, row[1:])) for row in rows], fitted.predict_proba(codes))
    assert answers(capsys) == [["predicted_sick"], *([row[0]] for row in rows)]
    assert answers(capsys, "new.csv -o -") == answers(capsys)
    assert not (folder / "-").exists()
    assert answers(capsys, "new.csv --answers sick")[0] == ["sick"]


@pytest.mark.parametrize("content", ['[{"a": "%s", "b": 1}]', '{"x": 1, "text": "%s"}', "%s"])
def test_an_invalid_table_is_not_shown_in_full(folder, capsys, content):
    (folder / "new.csv").write_text(content % ("secret, " * 2000))
    assert predict() == 1
    message = capsys.readouterr().err
    assert len(message) < 2000
    assert "must have the columns 'age', 'town', 'day'" in message
    assert ("It seems to be JSON" in message) == (content != "%s")


def test_nothing_is_predicted_unless_every_record_can_be(folder, capsys, monkeypatch):
    expected = answers(capsys)
    monkeypatch.setattr(table, "MOST_RECORDS", 2)
    assert answers(capsys) == expected
    (folder / "new.csv").write_text(TABLE.replace("P1,Oslo", "P1,Paris"))
    assert predict() == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "line 2 of new.csv: 'town' is 'Paris'" in captured.err
    (folder / "new.csv").write_text(TABLE.replace("P5,?", "P5,Paris"))
    assert predict() == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "line 7 of new.csv: 'town' is 'Paris'" in captured.err
    (folder / "out.csv").write_text("what was there")
    assert predict("new.csv -o out.csv") == 1
    assert (folder / "out.csv").read_text() == "what was there"
    assert {path.name for path in folder.iterdir()} == {"model.json", "new.csv", "out.csv"}
    (folder / "new.csv").write_text(TABLE.splitlines()[0])
    assert answers(capsys) == [["predicted_sick"]]


def test_standard_input_and_output_may_be_closed(folder, capsys, monkeypatch):
    # Python sets closed streams (<&-, >&-) to None.
    monkeypatch.setattr(sys, "stdin", None)
    assert len(answers(capsys)) == 6
    assert_refused(folder, capsys, "predict model.json -", "no standard input to read")
    monkeypatch.setattr(sys, "stdout", None)
    assert predict() == 1
    assert "there is no standard output: name an output file" in capsys.readouterr().err


def run_with_encoding(monkeypatch, encoding, command):
    """Run a command whose standard output has an encoding; return its code and the output."""
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding=encoding))
    code = main.main(command.split())
    sys.stdout.flush()
    return code, raw.getvalue()


def test_predictions_that_the_encoding_of_the_output_lacks_are_refused(
    folder, capsys, fitted, monkeypatch
):
    domain = replace(DOMAIN, label=Label("sjúk", "not sick", "sick"))
    models.save(folder / "model.json", fitted, domain)
    assert run_with_encoding(monkeypatch, "ascii", f"predict {ASK}") == (1, b"")
    assert (
        "standard output uses ascii, which has no '\\xfa': write to a file"
        in capsys.readouterr().err
    )
    code, answer = run_with_encoding(monkeypatch, "latin-1", f"predict {ASK}")
    assert code == 0
    assert answer.startswith("predicted_sjúk\n".encode("latin-1"))
    assert run_with_encoding(monkeypatch, "ascii", f"predict {ASK} -o out.csv") == (0, b"")
    assert (folder / "out.csv").read_text(encoding="utf-8").startswith("predicted_sjúk\n")
    ids = TABLE.replace("P5", "P→")
    (folder / "new.csv").write_text(ids, encoding="utf-8")
    command = f"predict {ASK} --id id --answers sick"
    assert run_with_encoding(monkeypatch, "latin-1", command) == (1, b"")
    assert "has no '\\u2192'" in capsys.readouterr().err
    # Messages can be written in any encoding.
    code, shares = run_with_encoding(monkeypatch, "ascii", "check wdbc")
    assert (code, b"\\u2013" in shares) == (0, True)


def test_ignored_columns_and_equal_predictions_are_reported(folder, capsys):
    ends = TABLE.replace("note", "sick").replace("\n", ",\n").replace("\n,\n", "\n\n")
    (folder / "new.csv").write_text(ends)
    assert predict("new.csv -o deep/out.csv") == 0
    captured = capsys.readouterr()
    # The file may have the label: it is not read, and there is no remark.
    assert (captured.out, captured.err) == ("", "privcurve: ignored 'id'\n")
    assert len((folder / "deep/out.csv").read_text().splitlines()) == 6
    (folder / "new.csv").write_text("age,town,day\n" + "95,Oslo,2020-01-05\n" * 3)
    alike = "privcurve: all 3 answers are 'sick'"
    for options, more in (("", "; --proba may tell them apart"), (" --proba -o out.csv", "")):
        assert predict("new.csv" + options) == 0
        assert capsys.readouterr().err == f"{alike}{more}\n"


def other_forms(folder, monkeypatch):
    frame = pd.read_csv(folder / "new.csv", keep_default_na=False)
    frame.iloc[:, ::-1].to_csv(folder / "new.tsv", sep="\t", index=False)
    yield "new.tsv"
    frame.to_csv(folder / "semi.csv", sep=";", index=False)
    yield "semi.csv"
    frame.to_csv(folder / "odd.csv", sep="^", index=False)
    yield "odd.csv --separator ^"
    (folder / "new.csv.gz").write_bytes(gzip.compress(TABLE.encode()))
    yield "new.csv.gz"
    (folder / "wide.csv").write_text(TABLE, encoding="utf-16")
    yield "wide.csv --encoding utf-16"
    frame.to_parquet(folder / "texts.parquet")
    yield "texts.parquet"
    typed = pd.read_csv(folder / "new.csv", na_values=["NA", "?"], parse_dates=["day"])
    typed.to_parquet(folder / "typed.parquet")
    yield "typed.parquet"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(TABLE.encode("utf-8-sig"))))
    yield "-"


def test_a_table_may_be_written_in_any_of_these_forms(folder, capsys, monkeypatch):
    expected = answers(capsys, "new.csv --proba")
    for options in other_forms(folder, monkeypatch):
        assert answers(capsys, f"{options} --proba") == expected, options


def test_other_commands_can_pipe_it(folder, capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdout", Closed())
    monkeypatch.setattr(errors.os, "dup2", lambda *_: None)
    monkeypatch.setattr(audit, "_check_all", lambda *_: [])
    assert predict() == audit.main(["contract"]) == outputs.main() == 1
    assert capsys.readouterr().err == "privcurve: ignored 'id', 'note'\n"


SKIPPED = TABLE.replace("P1,Oslo", "P1,Paris").replace("95", "old,")


def test_a_record_that_can_not_be_read_gets_an_empty_answer(folder, capsys, monkeypatch):
    full = answers(capsys, "new.csv --id id --id day --proba")
    assert full[0][:3] == ["id", "day", "predicted_sick"]
    assert [row[:2] for row in full[1:]] == [
        ["P1", "2020-01-05"],
        ["P2", "2020-02-05"],
        ["P3", "2021-01-05"],
        ["P4", "NA"],
        ["P5", "2022-03-01"],
    ]
    (folder / "new.csv").write_text(SKIPPED + "P6,Oslo\n")
    for at_once in (50_000, 1, 2):
        monkeypatch.setattr(table, "MOST_RECORDS", at_once)
        assert predict("new.csv --id id --proba --on-error skip") == 3
        captured = capsys.readouterr()
        rows = list(csv.reader(io.StringIO(captured.out)))
        # A record with another number of fields has no id.
        empty = [["P1", "", "", ""], ["", "", "", ""]]
        kept = [[row[0], *row[2:]] for row in full[3:]]
        assert rows[1:] == [*empty, *kept, ["", "", "", ""]]
        lines = [line for line in captured.err.splitlines() if "all 3 answers" not in line]
        assert lines[1:] == [
            "privcurve: line 2 of new.csv: 'town' is 'Paris', which is not one of its categories",
            "privcurve: line 3 of new.csv must have 5 fields; it has 6",
            "privcurve: line 8 of new.csv must have 5 fields; it has 2",
            "privcurve: 3 of 6 records have no answer",
        ]
    assert predict("new.csv -o out.csv --on-error skip --quiet") == 3
    assert (folder / "out.csv").read_text().splitlines()[:3] == ["predicted_sick", '""', '""']
    assert capsys.readouterr().err.count("\n") == 4


def test_each_fault_of_a_skipped_record_is_reported_in_every_form(folder, capsys):
    bad = TABLE.replace('P2,"Rome, north",95', "P2,Osl,old").replace("60", "inf")
    (folder / "new.csv").write_text(bad)
    frame = pd.read_csv(folder / "new.csv", keep_default_na=False)
    for name in ("new.parquet", "new.pq"):
        frame.to_parquet(folder / name)
    write_workbook(folder / "new.xlsx", {"Data": [list(frame), *frame.values.tolist()]})
    expected = None
    for name in ("new.csv", "new.parquet", "new.pq", "new.xlsx"):
        assert predict(f"{name} --id id --id age --on-error skip") == 3
        captured = capsys.readouterr()
        assert expected in (None, captured.out), name
        expected = captured.out
        assert captured.err.replace("privcurve: ignored", "").count("privcurve: ") == 3 + 1
        assert "'age' is 'old', not a number" in captured.err
        assert "'town' is 'Osl', which is not one of its categories; did you mean" in captured.err
        assert "'age' is inf, not a finite number" in captured.err


def test_copied_cells_of_typed_columns_are_texts(folder, capsys):
    frame = pd.DataFrame(
        {
            "number": [7, 8],
            "gap": [1.0, None],
            "when": pd.to_datetime(["2020-01-05 10:00", None]),
            "age": [31.5, None],
            "town": ["Oslo", "NA"],
            "day": pd.to_datetime(["2020-01-05", None]),
        }
    )
    frame.to_parquet(folder / "new.parquet")
    copied = "new.parquet --id number --id gap --id when --id age --id day"
    _, *rows = answers(capsys, copied)
    assert [row[:5] for row in rows] == [
        ["7", "1", "2020-01-05T10:00:00", "31.5", "2020-01-05"],
        ["8", "", "", "", ""],
    ]
    # Times are in UTC, with its mark.
    zoned = pd.to_datetime(["2020-01-05 10:00", None]).tz_localize("America/New_York")
    frame.assign(when=zoned).to_parquet(folder / "new.parquet")
    _, *timed = answers(capsys, copied)
    assert [row[2] for row in timed] == ["2020-01-05T15:00:00Z", ""]
    # Python lacks this year, NumPy has it; Parquet stores milliseconds.
    beyond = np.array(["36812-02-20T00:36:16", "NaT"], dtype="datetime64[s]")
    two = (frame["when"], "2020-01-05T10:00:00"), (beyond, "36812-02-20T00:36:16.000")
    for times, text_ in two:
        frame.assign(day=times).to_parquet(folder / "new.parquet")
        _, *timed = answers(capsys, copied)
        assert [row[4] for row in timed] == [text_, ""]


def test_a_folder_of_parts_is_no_file(folder, capsys):
    (folder / "parts.parquet").mkdir()
    assert predict("parts.parquet") == 1
    assert "parts.parquet can't be read: it is a folder" in capsys.readouterr().err


def test_all_records_may_be_skipped(folder, capsys):
    (folder / "new.csv").write_text("age,town,day\n" + "old,Oslo,2020-01-05\n" * 3)
    assert predict("new.csv --on-error skip") == 3
    assert capsys.readouterr().out == 'predicted_sick\n""\n""\n""\n'


def test_json_output_for_programs(folder, capsys):
    (folder / "new.csv").write_text(SKIPPED)
    assert predict("new.csv -o out.csv --json --on-error skip") == 3
    content = json.loads(capsys.readouterr().out)
    assert (content["answers"], content["n_records"], content["n_skipped"]) == ("out.csv", 5, 2)
    assert sum(content["labels"].values()) == 3
    assert content["ignored"] == ["id", "note"]


def test_a_sheet_is_named(folder, capsys):
    frame = pd.read_csv(folder / "new.csv", keep_default_na=False)
    cells = [list(frame), *frame.values.tolist()]
    write_workbook(folder / "new.xlsx", {"notes": [["a"], [1]], "May 2024": cells})
    expected = answers(capsys, "new.csv --proba")
    assert answers(capsys, "new.xlsx --sheet 'May 2024' --proba") == expected
    assert predict("new.xlsx --sheet 'May 2024' -o out.csv --json") == 0
    assert json.loads(capsys.readouterr().out)["ignored"] == ["id", "note"]
    assert_refused(folder, capsys, "predict model.json new.xlsx", "must have the columns 'age'")
    result = "the sheet must be one of notes, May 2024; got 'May'"
    assert_refused(folder, capsys, "predict model.json new.xlsx --sheet May", result)


class Closed(io.StringIO):
    """A pipe that the reader has closed, as ``| head`` does."""

    def write(self, _):
        raise BrokenPipeError

    def fileno(self):
        return 1


def rows(old, new):
    assert old in TABLE
    return {"new.csv": TABLE.replace(old, new)}


WITHOUT_FIRST_NAME = TABLE.partition(",")[2]
BAD = [
    (
        ASK,
        "no required column.* Its first line, sep=…, is only for Excel",
        {"new.csv": "sep=,\n" + TABLE},
    ),
    (
        ASK,
        "no required column.* If a title is above the names",
        {"new.csv": "Clinic,,,,\n" + TABLE},
    ),
    (ASK, "no required column.* It is ARFF", {"new.csv": "@RELATION patients\n@DATA\n31,Oslo\n"}),
    (
        ASK,
        r"must have 4 fields.*R's write.table leaves out .*\(4 more",
        {"new.csv": WITHOUT_FIRST_NAME},
    ),
    ("model.json", "arguments are required: file"),
    ("modl.json new.csv", "modl.json can't be read: No such file"),
    ("model.json x.csv", "x.csv can't be read: No such file"),
    ("model.json x.parquet", "there is no such file"),
    ("model.json .", "can't be read: Is a directory"),
    ("model.json model.json", "must have the columns 'age', 'town', 'day'"),
    (ASK, "only a part of one", {"model.json": '{"format": "privcurve'}),
    (ASK, "new.csv is empty", {"new.csv": ""}),
    (ASK, "new.csv must have the columns", {"new.csv": "P1,Oslo,31,2020-01-05,x\n"}),
    (ASK, "no column 'age'.*did you mean 'agee'", rows("age", "agee")),
    (ASK, "must have one column 'age'; it has 2", rows("note", "age")),
    (ASK, "privcurve: line 3 of new.csv: 'age' is 'old', not", rows("95", "old")),
    (ASK, "'day' is 'soon', not an ISO date", rows("2022-03-01", "soon")),
    (
        ASK,
        "line 2 of new.csv: 'town' is 'Osl', which is not.*did you mean 'Oslo'",
        rows("P1,Oslo", "P1,Osl"),
    ),
    (ASK, "privcurve: new.csv: 2 problems", rows("P1,Oslo,31", "P1,Osl,x")),
    (ASK, "line 3 of new.csv must have 5 fields; it has 4.*--separator", rows("95,", "")),
    (
        ASK,
        "not written in utf-8: line 2 has the byte 0xf8.*Name its encoding",
        {"new.csv": TABLE.replace("a, b", "ø").encode("latin-1")},
    ),
    (
        ASK,
        "in utf-8: it seems to be written in utf-16.*--encoding utf-16",
        {"new.csv": TABLE.encode("utf-16")},
    ),
    (f"{ASK} --encoding utf-88", "unknown encoding"),
    (f"{ASK} --separator ';;'", "must be one character"),
    ("model.json a.csv.gz", "a.csv.gz can't be read", {"a.csv.gz": TABLE}),
    ("model.json a.zip", "a.zip .*: it is a zip archive", {"a.zip": b"PK\3\4rest"}),
    ("model.json a.parquet", "a.parquet can't be read", {"a.parquet": b"PAR1 and no more"}),
    ("model.json a.xlsx", "a.xlsx can't be read", {"a.xlsx": TABLE}),
    (f"{ASK} -o .", ". is a folder"),
    (f"{ASK} -o ./new.csv", "new.csv is an input: name"),
    (f"{ASK} -o model.json", "model.json is an input: name"),
    (f"{ASK} --id ID", "no column 'ID'; did you mean 'id'"),
    (f"{ASK} --id id --id id", "two columns 'id': name another --id, or"),
    (f"{ASK} --json", "name an output file for answers"),
    (f"{ASK} --json --quiet", "not allowed with argument"),
    (f"{ASK} --sheet x", "new.csv is not an Excel file, so it has no sheets"),
    (
        f"{ASK} --id P",
        "must have one column 'P'",
        {"new.csv": TABLE.replace("id", "P").replace("note", "P")},
    ),
    (ASK, "can't be read|must have the columns|not written in", {"new.csv": b"\x00\xff" * 99}),
]


# A refused file is closed.
@pytest.mark.filterwarnings("error::ResourceWarning")
def test_lines_of_only_separators_have_no_prediction(folder, capsys):
    expected = answers(capsys, "new.csv --proba")
    capsys.readouterr()
    header, *rows = TABLE.splitlines()
    lines = [",,,,", header, ",,,,", *rows[:2], " , ,,,", *rows[2:], ",", ",,,,,,,", ""]
    (folder / "new.csv").write_text("\n".join(lines))
    for option in ("", " --on-error skip", " --quiet"):
        assert predict(f"new.csv --proba{option}") == 0
        captured = capsys.readouterr()
        assert list(csv.reader(io.StringIO(captured.out))) == expected
        remark = "privcurve: lines of new.csv without a value, which are skipped: 5\n"
        assert (remark in captured.err) == (option != " --quiet")
    assert predict("new.csv -o answers.csv --json") == 0
    assert json.loads(capsys.readouterr().out)["n_records"] == 5


@pytest.mark.parametrize("case", BAD, ids=lambda case: f"{case[0]}: {case[1]}"[:80])
def test_bad_input_is_one_message_and_a_code(folder, capsys, case):
    command, *rest = case
    assert_refused(folder, capsys, f"predict {command}", *rest)


def test_a_changed_model_is_refused(folder, capsys):
    content = json.loads((folder / "model.json").read_text())
    content["model"]["model"]["intercept"] += 1
    (folder / "model.json").write_text(json.dumps(content))
    assert predict() == 1
    assert "was changed after it was written" in capsys.readouterr().err
    # With a new checksum it is another model.
    (folder / "model.json").write_text(json.dumps({**content, "sha256": text.seal_of(content)}))
    assert predict() == 0


def test_a_name_of_a_column_may_have_two_lines(folder, capsys, fitted):
    column = Column("blood\npressure", "numeric", (0.0, 100.0), 10, missing_bin=True)
    domain = Domain((column, *DOMAIN.columns[1:]), DOMAIN.label, missing=("NA", ""))
    plain = answers(capsys)
    models.save(folder / "model.json", fitted, domain)
    for blank in ("", " "):
        (folder / "new.csv").write_text(TABLE.replace("age", f'{blank}"blood\npressure"', 1))
        assert answers(capsys) == plain


def test_a_column_that_is_written_in_another_way_is_reported(folder, capsys, fitted):
    towns = (("Oslo", "Oslo"), ("other", "other"), ("?", "?"))
    town = Column("town", "categorical", categories=towns, patterns=True)
    domain = Domain((DOMAIN.columns[0], town, DOMAIN.columns[2]), DOMAIN.label, missing=("", "NA"))
    models.save(folder / "model.json", fitted, domain)
    rows = "1900,Tromsoe,2020-01-05\n" * 30
    (folder / "new.csv").write_text("age,town,day\n50,Oslo,2020-01-05\n" + rows)
    assert predict() == 0
    first, second, *_ = capsys.readouterr().err.splitlines()
    assert "30 of 31 values of 'age' lie above its upper bound, 100: check their unit" in first
    assert "30 of 31 values of 'town' are 'other': compare their spelling" in second
    # A few such values give no warning.
    (folder / "new.csv").write_text("age,town,day\n" + "50,Oslo,2020-01-05\n" * 30 + rows)
    assert predict() == 0
    assert "values of" not in capsys.readouterr().err


def test_a_record_in_place_of_names_is_not_shown(folder, capsys):
    (folder / "new.csv").write_text("31,Secretville,2020-01-05\n")
    assert predict() == 1
    output = capsys.readouterr().err
    assert "must have the columns 'age', 'town', 'day'" in output
    assert "Secretville" not in output


def test_blanks_may_be_between_fields(folder, capsys):
    rows = [("age", "town", "day"), ("31", "Oslo", "2020-01-05"), ("95", "NA", "2022-03-01")]
    (folder / "new.csv").write_text("\n".join(map(",".join, rows)))
    expected = answers(capsys, "new.csv --proba")
    (folder / "new.txt").write_text("\n".join(f"  {a:<9}{b:<9}{c} " for a, b, c in rows))
    assert answers(capsys, "new.txt --proba") == expected


@pytest.mark.parametrize("option", ["", "--quiet", "--json"])
def test_a_long_prediction_shows_its_progress(folder, capsys, monkeypatch, tick, option):
    """A table is read in pieces."""
    tick(2)
    monkeypatch.setattr(table, "MOST_RECORDS", 20)
    monkeypatch.setattr(files, "PIECE", 200)
    header, *rows = TABLE.splitlines()
    (folder / "new.csv").write_text("\n".join([header, *(rows[:3] * 40)]) + "\n")
    assert predict(f"new.csv -o answers.csv {option}") == 0
    output = [line for line in capsys.readouterr().err.splitlines() if " read" in line]
    assert bool(output) is not bool(option)
    for line in output[:-1]:
        assert re.fullmatch(r"\d\d % of new\.csv read \(about \d+ s left\)", line)
    assert not output or output[-1] == "100 % of new.csv read"


@pytest.mark.parametrize("seconds", [0.1, 2])
def test_a_table_in_parquet_is_read_batch_after_batch(folder, capsys, monkeypatch, tick, seconds):
    tick(seconds)
    monkeypatch.setattr(table, "MOST_RECORDS", 1)
    pd.read_csv("new.csv").to_parquet("new.parquet")
    assert predict("new.parquet -o answers.csv") == 0
    output = capsys.readouterr().err
    # Work under five seconds has no progress line.
    assert ("60 % of new.parquet read (about" in output) == (seconds == 2)
    assert ("100 % of new.parquet read" in output) == (seconds == 2)
