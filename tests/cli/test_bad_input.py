"""Whatever is wrong with a command line and its files ends in one message, never a traceback.

A case is a command line, what the message says, and the files that differ from those of
`own_table.py` (text or bytes, or None for one that is not there).
"""

from __future__ import annotations

import gzip

import pytest
from own_table import DESCRIPTION, TABLE
from refusals import refuse

from privcurve import datasets

PATIENTS = "descriptions/patients.yaml"
SICK = "--label sick"
NEW = f"describe t.csv {SICK}"
OWN = f"describe patients.csv {SICK} --name n"
CHECK = "check patients"


def table(old, new):
    """Change the table."""
    assert old in TABLE
    return {"patients.csv": TABLE.replace(old, new)}


def described(old, new):
    """Change the description."""
    assert old in DESCRIPTION
    return {PATIENTS: DESCRIPTION.replace(old, new)}


DESCRIBE = {
    "no arguments": ("describe", "arguments are required: file, --label"),
    "no label": ("describe patients.csv", "required: --label"),
    "an unknown option": (f"{NEW} --lable x", "unrecognized arguments: --lable"),
    "no such file": (NEW, "t.csv is not there"),
    "a folder": (f"describe descriptions {SICK}", "descriptions is a folder"),
    "an empty file": (NEW, "t.csv is empty", {"t.csv": ""}),
    "blank lines": (NEW, "holds no line that is not blank", {"t.csv": "\n\n\n"}),
    "a header alone": (NEW, "holds no records", {"t.csv": "age,sick\n"}),
    "one column": (NEW, "no separator", {"t.csv": "sick\nyes\nno\n"}),
    "no header": (NEW, "say --no-header", {"t.csv": "1,2,3\n4,5,6\n"}),
    "no such label": ("describe patients.csv --label sicc --name n", "'sick'"),
    "the label alone": (
        "describe t.csv --label column1 --no-header",
        "no separator",
        {"t.csv": "1\n0\n"},
    ),
    "a label of one value": (NEW, "one value alone, 'yes'", {"t.csv": "a,sick\n1,yes\n2,yes\n"}),
    "a label of no value": (NEW, "holds no value", {"t.csv": "a,sick\n1,\n2,NA\n"}),
    "many classes": (
        NEW,
        "What exists instead: some values against the others.*classes: ",
        {"t.csv": "a,sick\n1,x\n2,y\n3,z\n"},
    ),
    "an amount": (
        NEW,
        r"is an amount \(30 numbers\): regression is not among what is here.*What exists instead",
        {"t.csv": "a,sick\n" + "".join(f"{k % 3},{k / 7}\n" for k in range(30))},
    ),
    "positive that is not there": (
        f"{OWN} --positive Yes",
        "no record has the label 'Yes'.*holds 'no'",
    ),
    "positive and negative": (
        f"{OWN} --positive yes --negative yes",
        "named as positive and as negative",
    ),
    "all values on one side": (
        f"{OWN} --positive yes no",
        "are named as positive: 'no'.*Leave out those that are negative",
    ),
    "a class that looks like a gap": (
        NEW,
        "one value alone, 'mild'.*where 'none' is no missing label.*by --negative",
        {"t.csv": "a,sick\n1,mild\n2,none\n"},
    ),
    "values of no class": (
        f"{NEW} --positive x --negative y",
        "neither as positive nor as negative: 'z'",
        {"t.csv": "a,sick\n1,x\n2,y\n3,z\n"},
    ),
    "nothing to learn from": (NEW, "no column to learn from", {"t.csv": "a,sick\n1,yes\n1,no\n"}),
    "a description is there": (f"describe patients.csv {SICK}", "there already.*--force"),
    "a name that is taken": (f"{NEW} --name adult", "name of another dataset", {"t.csv": TABLE}),
    "a name that is none": (f"{NEW} --name 'a b/c'", "letters, digits, - and _", {"t.csv": TABLE}),
    "a file without a name": (f"describe 'ø.csv' {SICK}", "by --name", {"ø.csv": TABLE}),
    "bytes of no text": (NEW, "is no text", {"t.csv": b"a,sick\0\1\2"}),
    "a zip archive": (NEW, "is a zip archive: unpack it", {"t.csv": b"PK\x03\x04rest"}),
    "a damaged gz": (
        f"describe t.csv.gz {SICK}",
        "can't be read",
        {"t.csv.gz": gzip.compress(TABLE.encode() * 99)[:-20]},
    ),
    "gz by name alone": (f"describe t.csv.gz {SICK}", "can't be read", {"t.csv.gz": TABLE}),
    "a damaged Parquet file": (
        f"describe t.parquet {SICK}",
        "t.parquet can't be read",
        {"t.parquet": b"PAR1 and no more"},
    ),
    "Excel by name alone": (f"describe t.xlsx {SICK}", "can't be read", {"t.xlsx": TABLE}),
    "an open quote": (NEW, "can't be read|no separator", {"t.csv": 'a,sick\n"' + "x" * 200_000}),
    "no such test file": (f"{OWN} --test test.csv", "test.csv is not there"),
    "a test file of other columns": (
        f"{OWN} --test test.csv",
        "test.csv has no column 'id'",
        {"test.csv": "age,sick\n1,yes\n"},
    ),
    "an output that is a folder": (f"{NEW} -o descriptions", "is there already", {"t.csv": TABLE}),
}

CHECKS = {
    "no name": ("check", "required: name"),
    "an unknown name": ("check patient", "did you mean 'patients'"),
    "a name that nothing is like": ("check zzz", r"'zzz'\. Your own: patients\. \d+ others"),
    "a description of another ending": (
        "check zzz",
        r"descriptions/zzz\.yml is not read: name it zzz\.yaml",
        {"descriptions/zzz.yml": "a: 1"},
    ),
    "a file of another ending": (
        "check descriptions/zzz.YAML",
        r"zzz\.YAML is not read: name it zzz\.yaml",
        {"descriptions/zzz.YAML": "a: 1"},
    ),
    "a name of two words": (
        "check 'my data'",
        r"unknown dataset 'my data'\. A name is of letters, digits",
        {"descriptions/my data.yaml": DESCRIPTION},
    ),
    "an alias to itself": (CHECK, "an alias stands within", described('["", NA]', "&a [*a]")),
    "a truth value for a number": (
        CHECK,
        "1 problem\n  line 8: columns.age.bounds.0: YAML reads it as a truth value",
        described("[0, 120]", "[true, 120]"),
    ),
    "truth values for words": (
        CHECK,
        r"1 problem\n  line 12: columns.town.groups.0 \(False\), columns.town.groups.1 \(True\), "
        r"label.positive \(True\): .* put the word in quotes \(also line 17\)",
        {PATIENTS: DESCRIPTION.replace("[Oslo, Bergen]", "[No, Yes]").replace('"yes"', "yes")},
    ),
    "a table in place of a name": ("check data/patients.csv", "is no name of a dataset"),
    "no such description": ("check descriptions/x.yaml", "there is no file"),
    "a description elsewhere": ("check x.yaml", "is not in .*descriptions", {"x.yaml": "a: 1"}),
    "no YAML": (CHECK, "is not valid YAML", {PATIENTS: "columns: [a"}),
    "no keys": (CHECK, "it has no keys", {PATIENTS: "- a\n- b\n"}),
    "an empty description": (CHECK, "it has no keys", {PATIENTS: ""}),
    "not UTF-8": (CHECK, "is not valid YAML", {PATIENTS: b"title: \xff\n"}),
    "a key twice": (CHECK, "'n_rows' stands twice", described("n_rows: 5", "n_rows: 5\nn_rows: 6")),
    "an unknown key": (CHECK, "line 4: unknown key 'mising'", described("missing: [", "mising: [")),
    "no columns": (CHECK, "missing key 'columns'", {PATIENTS: DESCRIPTION.split("columns")[0]}),
    "columns that are none": (CHECK, "columns: ", described("columns:\n", "columns: 3\nnone:\n")),
    "a column without a name": (CHECK, "missing key 'name'", described("name: age", "nam: age")),
    "an unknown kind": (CHECK, "line 7: .*'number' is not one of", described("numeric", "number")),
    "bounds not decided": (CHECK, "line 8: decide on bounds of 'age'", described("[0, 120]", "")),
    "bounds of a text": (CHECK, "'0-120' is no list: .* brackets", described("[0, 120]", "0-120")),
    "one bound": (CHECK, "line 8: columns.age.bounds: 1 of 2", described("[0, 120]", "[120]")),
    "a bound that is a word": (CHECK, "'many' is not of type", described("[0, 120]", "[0, many]")),
    "groups of a text": (
        CHECK,
        "'Oslo, Bergen' is no list",
        described("[Oslo, Bergen]", "Oslo, Bergen"),
    ),
    "a date of another form": (CHECK, "a day such as 2024", described("2023-12-31", "31.12.2023")),
    "bounds upside down": (
        CHECK,
        "line 6: bounds of 'age'.*low < high",
        described("[0, ", "[999, "),
    ),
    "no such date": (CHECK, "bounds of 'day'", described("2023-12-31", "2019-12-31")),
    "a label not decided": (CHECK, "decide on negative of the label", described('"no"', "")),
    "a truth value": (CHECK, "put the word in quotes", described('"no"', "no")),
    "no such table": (CHECK, "there is no file .*patients.csv", {"patients.csv": None}),
    "an empty table": (CHECK, "has no column 'age'", {"patients.csv": ""}),
    "another number of records": (
        CHECK,
        "line 1: the file holds 4 .*, not 5",
        table("P5,60,Bergen,2022-03-01,no\n", ""),
    ),
    "a field too many": (CHECK, "has 6 fields, not 5", table("P1,31", "P1,31,1")),
    "no number": (CHECK, "line 7: 'age' holds what are no numbers: 'old'", table("45", "old")),
    "no date": (CHECK, "line 14: 'day' holds what are no dates", table("2020-01-05", "soon")),
    "an unknown label": (CHECK, r"none of its classes: 'maybe' \(2\)", table("5,no", "5,maybe")),
    "all of one label": (CHECK, "all records have the label", table(",yes", ",no")),
    "a column that is not there": (
        CHECK,
        "line 10: .*no column 'towns'",
        described("town", "towns"),
    ),
    "another encoding": (
        CHECK,
        "can't be read: 'utf-8' codec",
        {"patients.csv": TABLE.replace("Oslo", "Tromsø").encode("latin-1")},
    ),
    "a name that a shipped one has": (
        "check adult",
        "name of another dataset",
        {"descriptions/adult.yaml": DESCRIPTION},
    ),
}

PRIVATELY = "compare patients --private-choice"
CHOOSE = "release patients --epsilon 1 --learner"

CHOICES = {
    "two epsilons": (f"{PRIVATELY} --epsilon 0.5 1", "each choice is a release.*would spend 1.5"),
    "two kinds of choice": (f"{PRIVATELY} --tune", "--tune says how to compare"),
    "repeats of nothing": (f"{PRIVATELY} --repeats 3", "--repeats says how to compare"),
    "no epsilon at all": (f"{PRIVATELY} --epsilon 0", "epsilon = 0.0 is not"),
    "without privacy": (f"{PRIVATELY} --epsilon inf", "nothing to pay"),
    "too little": (f"{PRIVATELY} --epsilon 1e-9", "nothing is left for a training"),
    "delta out of range": (f"{PRIVATELY} --delta 1", r"delta = 1.0 is not a number in \[0, 1\)"),
    "an unknown dataset": ("compare patient --private-choice", "did you mean 'patients'"),
    "more than the budget": (
        f"{PRIVATELY} --epsilon 2",
        "budget",
        described("n_rows: 5", "n_rows: 5\nbudget: {epsilon: 1}"),
    ),
    "candidates of one's own": (f"{CHOOSE} choose --set 'settings=[]'", "leave out settings"),
    "other neighbours": (
        f"{CHOOSE} choose --neighbours add-remove",
        "tuned offers neighbours = 'replace-one', not 'add-remove'",
    ),
    "a learner that is not private": (
        f"{CHOOSE} tuned --set learner=majority_class",
        "there is nothing to pay",
    ),
    "settings that are no YAML": (f"{CHOOSE} tuned --set 'settings=[{{a'", "is not valid YAML"),
    "a setting that is not allowed": (
        f"{CHOOSE} tuned --set 'settings={{n_rounds: [-1]}}'",
        "n_rounds = -1 is not",
    ),
}

RELEASE = "release patients --epsilon"

NUMBERS = {
    "a bar in epsilon": (f"{RELEASE} 1_0", "--epsilon '1_0' is not a number"),
    "an epsilon without end": (f"{RELEASE} 1e400", "'1e400' is too large for a number"),
    "a bar in delta": (f"{RELEASE} 1 --delta 1_0e-9", "--delta '1_0e-9' is not"),
    "a bar in accuracy": (f"{RELEASE} 1 --accuracy 0_1", "--accuracy '0_1' is not"),
    "a bar in a setting": (
        f"{RELEASE} 1 --learner lazybb --set n_rounds=1_0",
        "n_rounds = '1_0' is not",
    ),
    "a setting in octal": (
        f"{CHOOSE} tuned --set learner=lazybb --set 'settings={{n_rounds: [011]}}'",
        "--set settings: line 1: YAML reads 011 as 9",
    ),
    "a bar in one of several": (
        "compare patients --epsilon 0.5 1_0",
        "argument --epsilon: '1_0' is not a number",
    ),
    "a bar in repeats": (
        "compare patients --repeats 1_0",
        "argument --repeats: '1_0' is not a whole number",
    ),
    "cores of another kind": ("compare patients --cores '²'", "--cores ²: give a"),
}

TUNED = f"{CHOOSE} tuned --set learner=lazybb"

ODD = {
    "a description over its table": (
        f"{NEW} -o ./t.csv --force",
        "t.csv is read: name another file",
        {"t.csv": TABLE},
    ),
    "a name like an option": (f"{NEW} --name=-x", "the first no -", {"t.csv": TABLE}),
    "a name without end": (f"{NEW} --name {'a' * 300}", "at most 100", {"t.csv": TABLE}),
    "a path for a name": (f"compare {PATIENTS}", "did you mean 'patients'. A name is of"),
    "a name and a line end": ("check 'patients\n'", "did you mean 'patients'. A name is of"),
    "a name of 5,000 letters": (f"check {'a' * 5000}", "a': A name is|a'. A name is"),
    "a folder for a description": (
        "check d",
        r"unknown dataset 'd'\. Your own: patients\.",
        {"descriptions/d.yaml/x": ""},
    ),
    "settings that say nothing": (f"{TUNED} --set settings=", "settings: nothing is"),
    "settings twice": (
        f"{TUNED} --set 'settings={{n_rounds: [5], n_rounds: [9]}}'",
        "the key 'n_rounds' stands twice",
    ),
    "settings of themselves": (
        f"{TUNED} --set 'settings=&a {{n_rounds: *a}}'",
        "an alias stands within",
    ),
    "settings of no depth": (f"{TUNED} --set {'settings=' + '[' * 9999}", "too deep"),
}

TABLES = {
    **{"describe": DESCRIBE, "check": CHECKS, "choice": CHOICES, "numbers": NUMBERS, "odd": ODD}
}


@pytest.mark.parametrize(
    ("command", "case"), [(command, case) for command, cases in TABLES.items() for case in cases]
)
def test_bad_input_is_one_message_and_a_code(folder, capsys, command, case):
    refuse(folder, capsys, *TABLES[command][case])


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
