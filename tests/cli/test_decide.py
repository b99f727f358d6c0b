"""``privcurve decide``: asks for the blanks of a draft, one after another."""

import io
import sys
from pathlib import Path

import pytest
import yaml
from own_table import DESCRIPTION
from refusals import assert_refused

from privcurve import datasets
from privcurve.cli import main
from privcurve.datasets.describing.columns import CODES_OR_NUMBERS

FILE = Path("descriptions/patients.yaml")
BLANK = (
    DESCRIPTION.replace("bounds: [0, 120]", "bounds:  # decide: [lowest, highest] possible")
    .replace("groups: [Oslo, Bergen]", "groups:  # decide: the relevant words")
    .replace("bounds: [2020-01-01, 2023-12-31]", "bounds:")
    .replace('{column: sick, positive: "yes", negative: "no"}', "\n  column: sick\n  positive:")
    + "  negative:  # decide\n"
)
ANSWERS = ["0, 120", "Oslo, Bergen", "2020-01-01, 2023-12-31", "yes", "no"]


class Person(io.StringIO):
    """A user at a terminal, who presses Ctrl-C after the answers if `stops`."""

    def __init__(self, *answers, stops=False):
        super().__init__("".join(f"{answer}\n" for answer in answers))
        self.stops = stops

    def isatty(self):
        return True

    def readline(self, *size):
        line = super().readline(*size)
        if self.stops and not line:
            raise KeyboardInterrupt
        return line


@pytest.fixture
def decide(folder, capsys, monkeypatch):
    """Answer the questions; return the exit code, the output, and the description."""
    FILE.write_text(BLANK)

    def answered(*answers, person=None, name="patients"):
        pipe = io.StringIO("".join(f"{answer}\n" for answer in answers))
        monkeypatch.setattr(sys, "stdin", person or pipe)
        code = main.main(["decide", name])
        captured = capsys.readouterr()
        content = Path(f"descriptions/{name}.yaml").read_text()
        return code, captured.out + captured.err, yaml.safe_load(content)

    return answered


def test_a_draft_is_decided_by_answers_from_a_pipe(decide, capsys):
    assert main.main(["check", "patients"]) == 4
    assert "privcurve decide patients asks for what is blank" in capsys.readouterr().err
    code, output, content = decide(*ANSWERS)
    assert code == 0
    assert "1 of 5, line 8: 'age'\n  [lowest, highest] possible\n" in output
    assert "5 written to descriptions/patients.yaml, 0 left" in output
    assert [entry["bounds"] for entry in content["columns"][::2]] == [
        [0, 120],
        ["2020-01-01", "2023-12-31"],
    ]
    assert content["columns"][1]["groups"] == ["Oslo", "Bergen"]
    assert content["label"] == {"column": "sick", "positive": "yes", "negative": "no"}
    assert len(FILE.read_text().splitlines()) == len(BLANK.splitlines())
    assert main.main(["check", "patients"]) == 0
    assert "nothing is left to be decided" in decide()[1]


def test_a_skipped_question_stays_blank_and_returns(decide):
    code, output, content = decide("0, 120", "", "2020-01-01, 2023-12-31")
    assert code == 4
    assert "no more answers" in output
    assert "2 written to descriptions/patients.yaml, 3 left" in output
    assert content["columns"][1]["groups"] is None
    code, output, content = decide("{north: [Oslo, 'B*']}", "yes", "no")
    assert (code, content["columns"][1]["groups"]) == (0, {"north": ["Oslo", "B*"]})


def test_a_person_is_asked_again_and_may_stop(decide):
    wrong = ["120, 0", "many", "1", "[1", "[0, 120]", "{Oslo: 3"]
    code, output, content = decide(person=Person(*wrong, stops=True))
    assert code == 130
    assert "bounds of 'age'" in output
    assert "low < high" in output
    assert "2 entries; got 1" in output
    assert "is not valid YAML" in output
    assert "privcurve: stopped. 1 answered and written, 4 left" in output
    assert content["columns"][0]["bounds"] == [0, 120]
    assert content["columns"][1]["groups"] is None


def test_line_ends_and_other_lines_stay(decide):
    FILE.write_bytes(BLANK.replace("\n", "\r\n").encode())
    decide("0, 120")
    expected = BLANK.replace("bounds:  # decide: [lowest, highest] possible", "bounds: [0, 120]")
    assert FILE.read_bytes() == expected.replace("\n", "\r\n").encode()


CODED = """\
  - name: sex
    kind: numeric
    bounds:  # decide: {}
    n_bins: 64
    spacing: mixed
    missing: bin
"""


@pytest.mark.parametrize(
    ("answer", "column"),
    [
        ("codes: 1, 2", {"kind": "categorical", "categories": [1, 2, "other", "?"]}),
        ("Categories [1, 2, '?']", {"kind": "categorical", "categories": [1, 2, "?", "other"]}),
        (
            "0, 3",
            {"kind": "numeric", "bounds": [0, 3], "n_bins": 64}
            | {"spacing": "mixed", "missing": "bin"},
        ),
    ],
)
def test_few_whole_numbers_are_decided_to_be_numbers_or_codes(decide, answer, column):
    before = BLANK.replace("columns:\n", f"columns:\n{CODED.format(CODES_OR_NUMBERS)}", 1)
    FILE.write_text(before)
    code, output, content = decide(answer, *ANSWERS)
    assert code == 0
    assert "codes such as 1 for man, 2 for woman?\n  [lowest, highest] possible; or codes" in output
    assert content["columns"][0] == {"name": "sex", **column}
    # A question names the line in the file as it is after the earlier answers.
    assert f"2 of 6, line {11 if 'n_bins' not in column else 14}: 'age'" in output
    assert content["columns"][1]["bounds"] == [0, 120]
    assert main.main(["check", "patients"]) == 1  # the file has no such column


def test_codes_are_checked_as_other_answers_are(decide):
    FILE.write_text(BLANK.replace("columns:\n", f"columns:\n{CODED.format('x')}", 1))
    before = FILE.read_text()
    for answer in ("codes: 1, 1", "codes: &a [*a]", "codes: [1"):
        code, output, _ = decide(answer)
        assert (code, "is refused" in output) == (1, True), answer
    assert FILE.read_text() == before
    # Codes are refused for a date.
    FILE.write_text(BLANK)
    assert decide("", "", "codes: 1, 2")[0] == 1


REFUSED = [
    ("120, 0", "the answer '120, 0' for bounds of 'age' is refused: .*low < high"),
    ("a, b", "is refused: .*'a' is not of type"),
    ("&a [*a]", "is refused"),
    ("[" * 9999, "is refused"),
]


@pytest.mark.parametrize(("answer", "message"), REFUSED)
def test_the_first_refused_answer_of_a_pipe_ends_it(folder, capsys, monkeypatch, answer, message):
    # The next answer belongs to the next question.
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{answer}\nOslo\n"))
    assert_refused(folder, capsys, "decide patients", message, {str(FILE): BLANK})
    assert FILE.read_text() == BLANK


def test_equal_answers_for_both_labels_are_refused(decide):
    code, output, _ = decide(*ANSWERS[:3], "yes", "yes")
    assert (code, "'yes' is positive" in output) == (1, True)


def test_facts_for_cards_are_asked_for_and_may_be_skipped(decide, capsys):
    rows = [f"{k},{k % 2 + 1}" for k in range(40)]
    Path("t.csv").write_text("\n".join(["age,bad", *rows]) + "\n")
    assert main.main(["describe", "t.csv", "--label", "bad", "--positive", "2"]) == 0
    path = Path("descriptions/t.yaml")
    path.write_bytes(path.read_text().replace("\n", "\r\n").encode())
    n_lines = path.read_bytes().count(b"\n")
    code, output, _ = decide("bad: 1", name="t")
    assert (code, "give only the value" in output) == (1, True)
    code, output, _ = decide(*("1", "Clinic: Oslo", "", "research", "", "5 years", "-1"), name="t")
    assert (code, "is refused: budget.epsilon: -1 is less" in output) == (1, True)
    code, _, content = decide("", "consent", "2.5", name="t")
    assert code == 0
    about = {"owner": "Clinic: Oslo", "purpose": "research", "retention": "5 years"}
    assert content["about"] == {**about, "legal_basis": "consent"}
    assert content["budget"] == {"epsilon": 2.5}
    assert path.read_bytes().count(b"\n") == n_lines
    code, output, _ = decide("a@b.no", name="t")
    assert (code, "legal" in output, "nothing is left to be decided" in output) == (0, False, True)
    assert main.main(["check", "t"]) == 0
    # If a key has several lines, the user edits the file; public records need no unit.
    path.write_text(path.read_text().replace("about: {", "about:\n  {", 1))
    FILE.write_text(f"{DESCRIPTION}about:\n  owner: x\n")
    before = FILE.read_text()
    code, output, _ = decide("a@b.no")
    assert (code, "write contact there by hand" in output) == (1, True)
    assert FILE.read_text() == before
    FILE.write_text(f"{DESCRIPTION}public_benchmark: true\n")
    assert decide()[0] == 0


def test_pairs_need_no_brackets(decide):
    content = decide("0, 120", "north: [Oslo], south: [Rome, 'B*']", *ANSWERS[2:])[2]
    assert content["columns"][1]["groups"] == {"north": ["Oslo"], "south": ["Rome", "B*"]}


BAD = [
    ("decide patient", "did you mean 'patients'"),
    ("decide patients", "no standard input", {str(FILE): BLANK}),
    ("decide patients", "is not valid YAML", {str(FILE): "columns: [a"}),
]


@pytest.mark.parametrize("case", BAD, ids=lambda case: case[1])
def test_bad_input_is_one_message_and_a_code(folder, capsys, monkeypatch, case):
    monkeypatch.setattr(sys, "stdin", None)
    assert_refused(folder, capsys, *case)


def test_a_blank_within_a_line_is_left_to_an_editor(folder, capsys, monkeypatch):
    text = DESCRIPTION.replace('"yes"', "").replace("bounds: [0, 120]", "bounds: # decide")
    monkeypatch.setattr(sys, "stdin", io.StringIO("0, 120\nyes\n"))
    assert_refused(folder, capsys, "decide patients", "Edit the line by hand", {str(FILE): text})
    assert "bounds: [0, 120]" in FILE.read_text()


def test_columns_of_the_same_words_are_decided_at_once(folder, capsys, monkeypatch):
    words = ("No", "Yes", "No internet service")
    rows = [f"{words[k % 3]},{words[k % 7 % 3]},{'abcd'[k % 4]},{'yn'[k % 2]}" for k in range(40)]
    Path("t.csv").write_text("\n".join(["security,backup,other,label", *rows]) + "\n")
    assert main.main(["describe", "t.csv", "--label", "label"]) == 0
    assert "2 lines are marked" in capsys.readouterr().out
    path = Path("descriptions/t.yaml")
    assert "groups: *words1  # same as security\n" in path.read_text()
    assert main.main(["check", "t"]) == 4
    monkeypatch.setattr(sys, "stdin", io.StringIO("'No', 'Yes'\na, b\n"))
    assert main.main(["decide", "t"]) == 0
    assert "of 2, line" in capsys.readouterr().out
    groups = [entry["groups"] for entry in yaml.safe_load(path.read_text())["columns"]]
    assert groups == [["No", "Yes"], ["No", "Yes"], ["a", "b"]]
    assert main.main(["check", "t"]) == 0


def test_the_century_of_short_years_is_asked_for(folder, capsys, monkeypatch):
    rows = (f"{1 + k % 28:02}.05.{k % 90:02},{k / 7},{k % 2}" for k in range(90))
    Path("t.csv").write_text("\n".join(["born,dose,sick", *rows]) + "\n")
    for public in (False, True):
        options = ["--force", "--public"] if public else []
        assert main.main(["describe", "t.csv", "--label", "sick", *options]) == 0
        born = yaml.safe_load(Path("descriptions/t.yaml").read_text())["columns"][0]
        assert (born["bounds"], born["format"], born["pivot"]) == (None, "%d.%m.%y", None)
        # The question returns after a refused answer: a year without four digits, a day beyond the
        # bounds.
        bounds = [] if public else ["0, 20"]
        answers = ["1930-01-01, 2009-12-31", "19", "1940", "1930", *bounds, *[""] * 9]
        monkeypatch.setattr(sys, "stdin", Person(*answers))
        assert main.main(["decide", "t"]) == 0
        content = yaml.safe_load(Path("descriptions/t.yaml").read_text())
        assert content["columns"][0]["pivot"] == 1930
    assert "bounds of 'born' go beyond 1940 to 2039" in capsys.readouterr().out


def test_a_unit_corrects_the_numbers_of_records(folder, capsys, monkeypatch):
    header = "patient_id,age,sick\n"
    rows = [f"{k // 3:03},{20 + k % 40},{k % 2}\n" for k in range(90)]
    Path("t.csv").write_text(header + "".join(rows))
    Path("test.csv").write_text(header + "".join(rows[:20]))
    path = Path("descriptions/t.yaml")
    for answer, n_rows, n_test, text in [
        ("{column: patient_id, at_most: 2}", 60, 14, "n_rows: 60, n_test: 14: as many records are"),
        ("none", 90, 20, ""),
        ("{column: patient_id, at_most: 1, seed: 3}", 30, 7, "n_rows: 30, n_test: 7"),
    ]:
        ask = "describe t.csv --label sick --test test.csv --force --quiet"
        assert main.main(ask.split()) == 0
        remark = path.read_text().partition("n_rows: 90")[2].partition("\n")[0]
        monkeypatch.setattr(sys, "stdin", io.StringIO(f"{answer}\n"))
        assert main.main(["decide", "t"]) == 0
        assert text in capsys.readouterr().out
        content = yaml.safe_load(path.read_text())
        assert (content["n_rows"], content["n_test"]) == (n_rows, n_test)
        assert f"n_rows: {n_rows}{remark}\n" in path.read_text()
        assert main.main(["check", "t"]) == 0
        assert len(datasets.load("t").y) == n_rows


def test_a_unit_that_the_file_does_not_have_is_refused(folder, capsys, monkeypatch):
    rows = (f"P{k // 3},{20 + k % 40},{k % 2}\n" for k in range(90))
    Path("t.csv").write_text("patient_id,age,sick\n" + "".join(rows))
    assert main.main(["describe", "t.csv", "--label", "sick", "--quiet"]) == 0
    text = Path("descriptions/t.yaml").read_text()
    monkeypatch.setattr(sys, "stdin", Person("{column: person, at_most: 2}", ""))
    assert main.main(["decide", "t"]) == 4
    assert "has no column 'person'" in capsys.readouterr().out
    assert Path("descriptions/t.yaml").read_text() == text
    # Without the file n_rows stays, and check reports both.
    Path("t.csv").unlink()
    monkeypatch.setattr(sys, "stdin", Person("{column: patient_id, at_most: 2}"))
    assert main.main(["decide", "t"]) == 0
    assert "n_rows: 90" in Path("descriptions/t.yaml").read_text()
