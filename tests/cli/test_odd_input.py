"""Odd descriptions, tables and command lines: each is refused in one message, or read as meant.

What was a traceback once, was silently something else, or filled the memory.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from drafting import column, drafted
from own_table import DESCRIPTION, TABLE
from refusals import refuse

from privcurve import datasets
from privcurve.cli import main
from privcurve.datasets.drafts import check

PATIENTS = "descriptions/patients.yaml"
CHECK = ["check", "patients"]
NEW = ["describe", "t.csv", "--label", "sick"]
TUNED = ["release", "patients", "--epsilon", "1", "--learner", "tuned", "--set", "learner=lazybb"]


def described(old, new):
    """Change the description."""
    assert old in DESCRIPTION
    return {PATIENTS: DESCRIPTION.replace(old, new)}


def also(text):
    """Add a key to the description."""
    return described("n_rows: 5", f"n_rows: 5\n{text}")


def grouped(groups):
    """Return the towns other groups."""
    return described("[Oslo, Bergen]", groups)


def parsed(keys):
    """Return the parser another key."""
    return described("header: true", f"header: true, {keys}")


DESCRIPTIONS = {
    "a whole number with a point": (
        described("n_rows: 5", "n_rows: 5.0"),
        "line 1: n_rows: 5.0 has a point, and a whole number belongs here: write 5",
    ),
    "records with a point": (also("records: {first: 3.0}"), "records.first: 3.0 has a point"),
    "a seed with a point": (
        also("records: {balance: random, seed: 1.0}"),
        "records.seed: 1.0 has a point.*write 1",
    ),
    "a group twice but for case": (grouped("[Oslo, OSLO]"), "whatever fits 'OSLO' fits 'Oslo'"),
    "a group that another takes all of": (
        grouped("{a: 'O*', b: Oslo}"),
        "line 10: groups of 'town': whatever fits 'Oslo' fits 'O.', which stands above it",
    ),
    "a pattern below a wider one": (grouped("['*', 'A*']"), r"whatever fits 'A\*' fits '\*'"),
    "an empty group": (grouped("['', Oslo]"), "an empty pattern fits nothing"),
    "a seed of no generator": (parsed("seed: 3"), "line 3: parser: seed is for kind: generated"),
    "a loader of nothing": (parsed("loader: toy_line"), "loader is for kind: sklearn or"),
    "a separator of Parquet": (
        described("{kind: delimited, header: true}", "{kind: parquet, separator: ;}"),
        "parser: separator is for kind: delimited; drop it",
    ),
    "files that are a list": (
        described("{train: {local: patients.csv}}", "[patients.csv]"),
        r"1 problem\n  line 2: files: \['patients.csv'\] is not of type 'object'",
    ),
    "an empty title": (also("title: ' '"), "line 2: title: nothing is written there"),
    "a title of signs": (also('title: "a\\0"'), "title: a character of it can't be shown"),
    "a folder above": (also("folder: .."), "folder: '..' does not match"),
    "a checksum and a line end": (
        described("{local: patients.csv}", f'{{local: patients.csv, sha256: "{"a" * 64}\\n"}}'),
        "sha256: .* does not match",
    ),
    "a name that is a list": (described("name: age", "name: [age]"), r"line 6: columns.0.name: "),
    "labels on both sides": (described('"no"', '"yes"'), "line 17: the label 'yes' is positive"),
    "a key of another kind of data": (also("n_test: 3"), "line 2: n_test and files: test belong"),
}


@pytest.mark.parametrize("case", DESCRIPTIONS)
def test_odd_descriptions_are_refused(folder, capsys, case):
    files, message = DESCRIPTIONS[case]
    refuse(folder, capsys, CHECK, message, files)
    with pytest.raises(datasets.DatasetError):
        datasets.load("patients")


COMMANDS = {
    "a description over its table": (
        [*NEW, "-o", "./t.csv", "--force"],
        "t.csv is read: name another file",
        {"t.csv": TABLE},
    ),
    "a name like an option": ([*NEW, "--name=-x"], "the first no -", {"t.csv": TABLE}),
    "a name without end": ([*NEW, "--name", "a" * 300], "at most 100", {"t.csv": TABLE}),
    "a path for a name": (["compare", PATIENTS], "did you mean 'patients'. A name is of", {}),
    "a name and a line end": (["check", "patients\n"], "did you mean 'patients'. A name is of", {}),
    "a name of 5,000 letters": (["check", "a" * 5000], "a': A name is|a'. A name is", {}),
    "a folder for a description": (
        ["check", "d"],
        r"unknown dataset 'd'\. Your own: patients\.",
        {"descriptions/d.yaml/x": ""},
    ),
    "settings that say nothing": ([*TUNED, "--set", "settings="], "settings: nothing is", {}),
    "settings twice": (
        [*TUNED, "--set", "settings={n_rounds: [5], n_rounds: [9]}"],
        "the key 'n_rounds' stands twice",
        {},
    ),
    "settings of themselves": (
        [*TUNED, "--set", "settings=&a {n_rounds: *a}"],
        "an alias stands within",
        {},
    ),
    "settings of no depth": ([*TUNED, "--set", "settings=" + "[" * 9999], "too deep", {}),
}


@pytest.mark.parametrize("case", COMMANDS)
def test_odd_command_lines_are_refused(folder, capsys, case):
    argv, message, files = COMMANDS[case]
    for name in files:
        (folder / name).parent.mkdir(exist_ok=True)
    refuse(folder, capsys, argv, message, files)


def test_the_table_stays_when_a_draft_is_to_be_written_over_it(folder):
    Path("t.csv").write_text(TABLE)
    assert main.main([*NEW, "-o", "t.csv", "--force"]) == 1
    assert Path("t.csv").read_text() == TABLE


@pytest.mark.parametrize("values", [["1e308", "-1.5e308", "3"], ["5e-324", "0", "1e-323"]])
def test_numbers_at_the_ends_of_what_there_is_have_bounds(folder, values):
    described, _ = column(values * 9, public=True)
    assert described["kind"] == "numeric"


@pytest.mark.parametrize("texts", [["Straße", "STRASSE"], ["ı", "I", "b"], ["Oslo", "OSLO", "b"]])
def test_each_text_of_a_public_file_fits_one_group(folder, texts):
    lines = ["x,k,sick", *(f"{texts[k % len(texts)]},{k * 1.5},{k % 2}" for k in range(30))]
    drafted(lines, public=True)
    Path(PATIENTS).write_text(drafted(lines, public=True)[1].text)
    report = check("patients")
    assert report.ready
    assert next(t for t in report.tallies if t.column.name == "x").other == 0


def test_faults_of_many_columns_of_one_entry_are_some_and_a_number(folder):
    names = [f"x{k}" for k in range(40)]
    rows = [",".join([*(str(k + 9) for k in range(40)), "yno"[j % 2 :][0]]) for j in range(12)]
    Path("t.csv").write_text("\n".join([",".join([*names, "sick"]), *rows]) + "\n")
    Path("descriptions/t.yaml").write_text(
        "n_rows: 12\nfiles: {train: {local: t.csv}}\nparser: {kind: delimited, header: true}\n"
        'columns:\n  - {name: "x{0..39}", kind: numeric, bounds: [0, 5]}\n'
        "label: {column: sick, positive: 'y', negative: 'n'}\n"
    )
    messages = [fault.message for fault in check("t").faults]
    assert len(messages) == 6
    assert messages[-1] == "35 more like these."
    assert all("100% of the values of 'x" in message for message in messages[:-1])
