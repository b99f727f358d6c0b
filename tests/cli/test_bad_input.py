"""Errors in a command line or its files give one message, never a traceback.

A case is a command line, a part of the message, and the files that differ from `own_table.py`
(text or bytes; None for an absent file).
"""

import gzip

import pytest
from own_table import DESCRIPTION, TABLE
from refusals import assert_refused

from privcurve import __version__, datasets
from privcurve.cli import main

PATIENTS = "descriptions/patients.yaml"
SICK = "--label sick"
NEW = f"describe t.csv {SICK}"
OWN = f"describe patients.csv {SICK} --name n"
CHECK = "check patients"

# Tables in the forms of several programs.
WITH_SEMICOLONS = "age;sick\n" + "".join(f"{k};{'yes' if k % 2 else 'no'}\n" for k in range(9))
WITH_ROW_NAMES = "age,town,sick\n" + "".join(f'"{k}",{k},Oslo,no\n' for k in range(9))
ARFF = """\
% of our clinic
@RELATION patients
@ATTRIBUTE age NUMERIC
@ATTRIBUTE sick {yes,no}
@DATA
31,yes
45,no
"""


def with_table(old, new):
    """Return the files with another table."""
    assert old in TABLE
    return {"patients.csv": TABLE.replace(old, new)}


def with_description(old, new):
    """Return the files with another description."""
    assert old in DESCRIPTION
    return {PATIENTS: DESCRIPTION.replace(old, new)}


DESCRIBE = [
    ("reelase", "invalid choice: 'reelase'"),
    ("describe patients.csv", "which column is to be predicted: --label"),
    (f"{NEW} --lable x", "unrecognized arguments: --lable"),
    (NEW, "t.csv does not exist: name the file"),
    (f"describe descriptions {SICK}", "descriptions is a folder"),
    (NEW, "t.csv is empty", {"t.csv": ""}),
    (NEW, "must have a line that is not blank", {"t.csv": "\n\n\n"}),
    (NEW, "holds no records", {"t.csv": "age,sick\n"}),
    (NEW, "a separator .* must split", {"t.csv": "sick\nyes\nno\n"}),
    (NEW, "use --no-header", {"t.csv": "1,2,3\n4,5,6\n"}),
    ("describe patients.csv --label sicc --name n", "'sick'"),
    (NEW, "must have two classes; it holds no value", {"t.csv": "a,sick\n1,\n2,NA\n"}),
    (
        NEW,
        "Name none of them, so that each is a class .at most 128.; or name all.*--positive A",
        {"t.csv": "a,sick\n" + "".join(f"{k % 3},x{k}\n" for k in range(130))},
    ),
    (
        f"{NEW} --positive x",
        "has 3 values .*Name none of them, so that each is a class",
        {"t.csv": "a,sick\n1,x\n2,y\n3,z\n"},
    ),
    (f"{OWN} --classes yes no yes", "--classes must list three or more classes, each once"),
    (f"{OWN} --classes yes no so --positive yes", "leave out --positive and --negative"),
    (f"{OWN} --classes yes ja so", "has 2 values .*Name none of them"),
    (
        NEW,
        r"is an amount \(30 numbers\): regression is not supported. Instead add",
        {"t.csv": "a,sick\n" + "".join(f"{k % 3},{k / 7}\n" for k in range(30))},
    ),
    (f"{OWN} --positive Yes", "no record has the label 'Yes'.*has the values 'no'"),
    (f"{OWN} --positive yes --negative yes", "named as positive and as negative"),
    (
        f"{OWN} --positive yes no",
        "are named as positive: 'no'.*Remove the negative ones from",
    ),
    (
        NEW,
        "a single value, 'mild'.*where 'none' is a class.*by --negative",
        {"t.csv": "a,sick\n1,mild\n2,none\n"},
    ),
    (NEW, "must have a column to learn from", {"t.csv": "a,sick\n1,yes\n1,no\n"}),
    (f"describe patients.csv {SICK}", "exists already.*--force"),
    (f"{NEW} --name adult", "another dataset is called", {"t.csv": TABLE}),
    (f"{NEW} --name 'a b/c'", "letters, digits, - and _", {"t.csv": TABLE}),
    (f"describe 'ø.csv' {SICK}", "name it with --name", {"ø.csv": TABLE}),
    (NEW, "is neither text nor a known format", {"t.csv": b"a,sick\0\1\2"}),
    (NEW, "is written in UTF-32", {"t.csv": TABLE.encode("utf-32")}),
    (
        NEW,
        "'yes'.* predicted. Of t.csv 3 lines can't be read: line 3 of t.csv must have 2 fields",
        {"t.csv": "a,sick\n" + "1,yes\n2\n" * 3},
    ),
    (NEW, "If the line of names occurs several times", {"t.csv": TABLE.replace("P3", "id") * 2}),
    (f"{OWN} --test test.csv", "must hold test records", {"test.csv": TABLE.split("\n")[0]}),
    (NEW, "is a zip archive, or a workbook .*: unpack it", {"t.csv": b"PK\x03\x04rest"}),
    (
        f"describe t.csv.gz {SICK}",
        "can't be read",
        {"t.csv.gz": gzip.compress(TABLE.encode() * 99)[:-20]},
    ),
    (f"describe t.parquet {SICK}", "t.parquet can't be read", {"t.parquet": b"PAR1 and no more"}),
    (NEW, "can't be read|a separator .* must split", {"t.csv": 'a,sick\n"' + "x" * 200_000}),
    (f"{OWN} --test test.csv", "test.csv does not exist"),
    (
        f"{OWN} --test test.csv",
        "test.csv must have the column 'id'",
        {"test.csv": "age,sick\n1,yes\n"},
    ),
    (NEW, "first line has 2 .* or delete it, if it names no col", {"t.csv": "a,b\n" + TABLE}),
    (
        NEW,
        "Its first line has texts for 1 of 5 columns.* title",
        {"t.csv": "Clinic,,,,\n" + TABLE},
    ),
    (NEW, "t.csv can't be read. Its first line, sep=", {"t.csv": "sep=,\n" + TABLE}),
    (NEW, "t.csv can't be read. Its first line, sep=", {"t.csv": "sep=;\n" + WITH_SEMICOLONS}),
    (NEW, "R's write.table leaves out the name of row names", {"t.csv": WITH_ROW_NAMES}),
    (NEW, "R's write.table", {"t.csv": WITH_ROW_NAMES.replace(",", "\t")}),
    (NEW, "R's write.table", {"t.csv": WITH_ROW_NAMES.replace(",", " ")}),
    (
        NEW,
        "most others have 4. Lines end with a sep",
        {"t.csv": WITH_ROW_NAMES.replace("o\n", "o,\n").replace('"', "").replace(",Oslo", "")},
    ),
    (NEW.replace("t.csv", "t.arff"), "It is ARFF: write its records as CSV", {"t.arff": ARFF}),
    (NEW, "It is ARFF", {"t.csv": ARFF.partition("\n")[2]}),
    (f"{NEW} -o descriptions", "descriptions is a folder", {"t.csv": TABLE}),
]

CHECKS = [
    (CHECK, "R's write.table leaves out", with_table("id,age,", "age,")),
    (CHECK, "no required column.*Its first line, sep=", with_table("id,age", "sep=,\nid,age")),
    (
        CHECK,
        "no required column.*If a title is above the names",
        with_table("id,age", "Clinic,,,,\nid,age"),
    ),
    ("check patient", "did you mean 'patients'"),
    ("check zzz", r"'zzz'\. Your own: patients\. \d+ others"),
    (
        "check zzz",
        r"descriptions/zzz\.yml is not read: name it zzz\.yaml",
        {"descriptions/zzz.yml": "a: 1"},
    ),
    (
        "check descriptions/zzz.YAML",
        r"zzz\.YAML is not read: name it zzz\.yaml",
        {"descriptions/zzz.YAML": "a: 1"},
    ),
    (
        "check 'my data'",
        r"unknown dataset 'my data'\. A name must have only letters, digits",
        {"descriptions/my data.yaml": DESCRIPTION},
    ),
    (
        CHECK,
        "thousands and decimal are both ','",
        {PATIENTS: f'decimal: ","\nthousands: ","\n{DESCRIPTION}'},
    ),
    (
        CHECK,
        r"1 problem\n  line 12: columns.town.groups.0 \(False\), columns.town.groups.1 \(True\), "
        r"label.positive \(True\): .* put the word in quotes \(also line 17\)",
        {PATIENTS: DESCRIPTION.replace("[Oslo, Bergen]", "[No, Yes]").replace('"yes"', "yes")},
    ),
    ("check data/patients.csv", "is not the name of a dataset"),
    ("check descriptions/x.yaml", "there is no file"),
    ("check x.yaml", "is not in .*descriptions", {"x.yaml": "a: 1"}),
    (CHECK, "is not valid YAML", {PATIENTS: "columns: [a"}),
    (CHECK, "it has no keys", {PATIENTS: "- a\n- b\n"}),
    (CHECK, "is not valid YAML", {PATIENTS: b"title: \xff\n"}),
    (CHECK, "line 4: unknown key 'mising'", with_description("missing: [", "mising: [")),
    (CHECK, "columns: ", with_description("columns:\n", "columns: 3\nnone:\n")),
    (CHECK, "missing key 'name'", with_description("name: age", "nam: age")),
    (CHECK, "must be a list; got '0-120': .* brackets", with_description("[0, 120]", "0-120")),
    (
        CHECK,
        "line 8: columns.age.bounds: must have 2 entries; got 1",
        with_description("[0, 120]", "[120]"),
    ),
    (CHECK, "line 6: bounds of 'age'.*low < high", with_description("[0, ", "[999, ")),
    (CHECK, "decide on negative of the label", with_description('"no"', "")),
    (CHECK, "there is no file .*patients.csv", {"patients.csv": None}),
    (CHECK, "must have the columns 'age'", {"patients.csv": ""}),
    (CHECK, "line 7: 'age' holds what are no numbers: 'old'", with_table("45", "old")),
    (CHECK, "line 10: .*no column 'towns'", with_description("town", "towns")),
    (
        CHECK,
        "line 2 of patients.csv must have 5 fields; it has.*Lines end with a separator: delete it",
        {"patients.csv": TABLE.replace("yes\n", "yes,\n").replace("no\n", "no,\n")},
    ),
    (
        CHECK,
        r"can't be read: line 2 has the byte 0xf8, which is not utf-8.*parser \(encoding",
        {"patients.csv": TABLE.replace("Oslo", "Tromsø").encode("latin-1")},
    ),
    (
        CHECK,
        r"can't be read: line 70006 has the byte 0xf8, .*parser \(encoding",
        {"patients.csv": (TABLE + "P6,60,Bergen,,no\n" * 69999 + "P6,60,ø").encode("latin-1")},
    ),
    (
        CHECK,
        r"can't be read: it seems to be written in utf-16.*parser \(encoding",
        {"patients.csv": TABLE.encode("utf-16")},
    ),
]

PRIVATELY = "compare patients --private-choice"
CHOOSE = "release patients --epsilon 1 --learner"

CHOICES = [
    (f"{PRIVATELY} --epsilon 0.5 1", "each choice is a release.*would spend 1.5"),
    (f"{PRIVATELY} --tune", "--tune belongs to a comparison"),
    (f"{PRIVATELY} --repeats 3", "--repeats belongs to a comparison"),
    (f"{PRIVATELY} --epsilon 0", "epsilon must be a number > 0 .*; got 0.0"),
    (f"{PRIVATELY} --epsilon inf", "epsilon must be finite for a private selection; got inf"),
    (f"{CHOOSE} tuned --set 'settings=[{{a'", "is not valid YAML"),
    (f"{CHOOSE} tuned --set 'settings={{n_rounds: [-1]}}'", "n_rounds must be .*; got -1"),
]

RELEASE = "release patients --epsilon"

NUMBERS = [
    (f"{RELEASE} 1_0", "--epsilon: must be a number; got '1_0'"),
    (f"{RELEASE} 1e400", "must be at most 1.8e308; got '1e400'"),
    (f"{RELEASE} 1 --learner lazybb --set n_rounds=1_0", "n_rounds must be .*; got '1_0'"),
    (
        f"{CHOOSE} tuned --set learner=lazybb --set 'settings={{n_rounds: [011]}}'",
        "--set settings: line 1: YAML reads 011 as 9",
    ),
    ("compare patients --repeats 1_0", "argument --repeats: must be a whole number; got '1_0'"),
    ("compare patients --cores '²'", "--cores must be a number above 0, or all; got ²"),
    (
        "compare patients --epsilon 1 inf",
        "--epsilon must be finite; got inf .no privacy.*Leave it out",
    ),
    ("compare patients --want ''", "--want: a wanted score must be like auc>=0.9; got ''"),
]

LEDGER = "releases/patients/ledger.jsonl"

RELEASES = [
    (f"{RELEASE} 1 --output ''", "argument --output: its name is empty"),
    # The folder exists, but the ledger has no such release.
    (
        f"{RELEASE} 1",
        "releases/patients/1 exists, but the ledger, .* does not list its release",
        {"releases/patients/1": ""},
    ),
    ("budget patient", "did you mean 'patients'"),
    ("budget patients", "ledger.jsonl can't be read .Is a directory", {f"{LEDGER}/x": ""}),
    ("budget patients", r"line 1: .*\(it is no line of a ledger\)", {LEDGER: "[]\n"}),
]

TUNED = f"{CHOOSE} tuned --set learner=lazybb"

ODD = [
    (f"{NEW} -o ./t.csv --force", "t.csv is an input: name another", {"t.csv": TABLE}),
    (f"{NEW} --name=-x", "no - at the start", {"t.csv": TABLE}),
    (f"{NEW} --name {'a' * 300}", "at most 100", {"t.csv": TABLE}),
    (f"compare {PATIENTS}", "did you mean 'patients'. A name must have only letters"),
    ("check d", r"unknown dataset 'd'\. Your own: patients\.", {"descriptions/d.yaml/x": ""}),
    (f"{TUNED} --set settings=", "settings: must have a value; got nothing"),
    (
        f"{TUNED} --set 'settings={{n_rounds: [5], n_rounds: [9]}}'",
        "the key 'n_rounds' occurs twice",
    ),
    (f"{TUNED} --set {'settings=' + '[' * 9999}", "nested less deeply|nesting depth"),
]

CASES = DESCRIBE + CHECKS + CHOICES + NUMBERS + RELEASES + ODD


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]}: {case[1]}"[:80])
def test_bad_input_is_one_message_and_a_code(folder, capsys, case):
    assert_refused(folder, capsys, *case)


def also(text):
    """Return the description with one more key."""
    return with_description("n_rows: 5", f"n_rows: 5\n{text}")


def with_groups(groups):
    """Return the description with other groups of towns."""
    return with_description("[Oslo, Bergen]", groups)


def parsed(keys):
    """Return the description with more keys of the parser."""
    return with_description("header: true", f"header: true, {keys}")


DESCRIPTIONS = [
    (
        with_description("n_rows: 5", "n_rows: 5.0"),
        "line 1: n_rows: must be a whole number; got 5.0: write 5",
    ),
    (with_groups("[Oslo, OSLO]"), "text that matches 'OSLO' matches the earlier pattern 'Oslo'"),
    (
        with_groups("{a: 'O*', b: Oslo}"),
        "line 10: groups of 'town': .*matches 'Oslo' matches the earlier pattern 'O.'",
    ),
    (with_groups("['', Oslo]"), "an empty pattern matches nothing"),
    (parsed("seed: 3"), "line 3: parser: seed is for kind: generated"),
    (
        with_description("{train: {local: patients.csv}}", "[patients.csv]"),
        r"1 problem\n  line 2: files: must have keys; got \['patients.csv'\]",
    ),
    (also("title: ' '"), "line 2: title: must have a value; got nothing"),
    (also("about: {owner: ' '}"), "line 2: about.owner: "),
    (also('title: "a\\0"'), "title: must have only printable characters"),
    (also("folder: .."), "folder: '..' does not match"),
    (
        with_description(
            "{local: patients.csv}", f'{{local: patients.csv, sha256: "{"a" * 64}\\n"}}'
        ),
        "sha256: .* does not match",
    ),
    (with_description('"no"', '"yes"'), "line 17: the label 'yes' is positive"),
]


@pytest.mark.parametrize(("files", "message"), DESCRIPTIONS)
def test_odd_descriptions_are_refused(folder, capsys, files, message):
    assert_refused(folder, capsys, CHECK, message, files)
    with pytest.raises(datasets.DatasetError):
        datasets.load("patients")


def test_help_has_examples_of_each_command_and_there_is_a_version(capsys):
    for name in main.COMMANDS:
        with pytest.raises(SystemExit) as end:
            main.main([name, "--help"])
        assert end.value.code == 0
        assert f"privcurve {name}" in capsys.readouterr().out.split("xample", 1)[1]
    assert main.main([]) == 0
    assert "predict" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main.main(["--version"])
    assert capsys.readouterr().out == f"privcurve {__version__}\n"
