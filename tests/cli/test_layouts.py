"""A file that a model was trained on can be predicted and evaluated, whatever its parser."""

import csv
import io
import json
import re
import runpy
import shlex
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import yaml
from pyarrow import parquet
from raw_files import idx_bytes, write_workbook
from refusals import assert_refused

from privcurve import datasets, models
from privcurve.cli import main
from privcurve.datasets.reading import kinds
from privcurve.learners import PrivGAMClassifier

SCHEMA = Path(datasets.__file__).with_name("dataset.schema.yaml")
KEYS = yaml.safe_load(SCHEMA.read_text())["properties"]["parser"]["properties"]

ROWS = [
    (f"{k}", f"{2 * k}", ("Oslo", "Troms\u00f8", "Rome")[k % 3], "yes" if k > 19 else "no")
    for k in range(40)
]
NAMES = ["id", "age", "town", "sick"]
AGE = {"name": "age", "kind": "numeric", "bounds": [0, 80]}
TOWN = {"name": "town", "kind": "categorical", "categories": ["Oslo", "Troms\u00f8", "other"]}
LABEL = {"column": "sick", "positive": "yes", "negative": "no"}
TABLE = {"columns": [AGE, TOWN], "label": LABEL, "unknown": "other"}
# A sheet has typed numbers.
SHEET = [[float(number), float(age), town, sick] for number, age, town, sick in ROWS]


def lines(rows=ROWS, names=NAMES, separator=",", above=(), after=""):
    """Return a function that writes a table: lines above, names if any, one line per record."""
    all_rows = [names, *rows] if names else rows
    return "".join(f"{line}\n" for line in (*above, *(separator.join(r) + after for r in all_rows)))


def libsvm(base=1, label="{}"):
    """Write ages and town codes as LIBSVM does, without zeros."""
    towns = {"Oslo": 0, "Troms\u00f8": 1, "Rome": 2}
    return "".join(
        " ".join([
            label.format(1 if sick == "yes" else -1),
            *(f"{base + j}:{x}" for j, x in enumerate((age, towns[town])) if x not in ("0", 0)),
        ]).strip()
        + "\n"
        for _, age, town, sick in ROWS
    )  # fmt: skip


NUMBERS = {
    "columns": [AGE, {"name": "code", "kind": "numeric", "bounds": [0, 3], "n_bins": 3}],
    "label": {"column": "label", "positive": 1, "negative": -1},
}
PIXELS = np.stack([np.full((2, 2), 6 * k, dtype=np.uint8) for k in range(40)])
IMAGES = {
    "columns": [{"name": "dot", "kind": "numeric", "bounds": [0, 255]}],
    "label": {"column": "label", "positive": 1, "negative": 0},
    "files": {"train": {"local": "mine.idx", "labels": {"local": "labels.idx"}}},
}


def write_parquet(path, names=NAMES):
    parquet.write_table(pa.table([list(column) for column in zip(*ROWS, strict=True)], names), path)


# {key of the parser: (parser, content or function that writes it, description)}
CASES = {
    "kind": ({"kind": "parquet"}, write_parquet, TABLE),
    "separator": ({"header": True, "separator": "^"}, lines(separator="^"), TABLE),
    "header": ({"header": True}, lines(), TABLE),
    "fields": ({"fields": NAMES}, lines(names=()), TABLE),
    "extra_fields": ({"header": True, "extra_fields": "ignore"}, lines(after=",x,y"), TABLE),
    "comment": ({"header": True, "comment": "#"}, lines(above=["# 2024", "#,"]), TABLE),
    "skip_rows": ({"header": True, "skip_rows": 2}, lines(above=["of 2024", "a,b"]), TABLE),
    "encoding": ({"header": True, "encoding": "cp1252"}, lines().encode("cp1252"), TABLE),
    "zero_based": (
        {"kind": "libsvm", "fields": ["age", "code"], "zero_based": True},
        libsvm(0),
        NUMBERS,
    ),
    "sheet": (
        {"kind": "excel", "header": True, "sheet": "B"},
        {"A": [["nothing"]], "B": [NAMES, *SHEET]},
        TABLE,
    ),
    "rows": (
        {"kind": "excel", "header": True, "rows": 40},
        {"A": [NAMES, *SHEET, [780.0, 1560.0, "", ""], ["all", "", "", ""]]},
        TABLE,
    ),
    "blocks": ({"kind": "idx", "fields": ["dot"], "blocks": 2}, idx_bytes(PIXELS), IMAGES),
}
OTHERS = {
    "equal names": (
        {"skip_rows": 1, "fields": ["age", "town", "age_2", "sick"]},
        lines(names=["age", "town", "age", "sick"], rows=[(a, t, i, s) for i, a, t, s in ROWS]),
        {**TABLE, "columns": [AGE, TOWN, {**AGE, "name": "age_2"}]},
    ),
    "own names": (
        {"skip_rows": 3, "fields": ["id", "age", "town", "sick"]},
        lines(names=["Nr", "Alter", "Ort", "krank"], above=["of 2024", ""]),
        TABLE,
    ),
    "whitespace": (
        {"separator": "whitespace", "fields": NAMES, "comment": "%"},
        "% a\n" + lines(names=(), separator="  "),
        TABLE,
    ),
    "utf-16": ({"fields": NAMES, "encoding": "utf-16"}, lines(names=()).encode("utf-16"), TABLE),
    "many remarks": (
        {"header": True, "comment": "#"},
        lines(above=["# a, b", ""] * 200),
        TABLE,
    ),
    "remarks above records": (
        {"fields": NAMES, "comment": "@"},
        "@attribute\n" * 200 + lines(names=()),
        TABLE,
    ),
    "libsvm": (
        {"kind": "libsvm", "fields": ["age", "code"], "skip_rows": 1, "comment": "#"},
        "of 2024\n" + libsvm() + "# end\n",
        NUMBERS,
    ),
    "rows without names": (
        {"kind": "excel", "fields": NAMES, "skip_rows": 1, "rows": 40},
        {"A": [["of 2024", "", "", ""], *SHEET, [780.0, 1560.0, "", ""]]},
        TABLE,
    ),
    "a row of other names": (
        {"kind": "excel", "header": True, "skip_rows": 1},
        {"A": [["X1", "X2", "X3", "Y"], NAMES, *SHEET]},
        TABLE,
    ),
    "labels of several values": (
        {"fields": NAMES},
        lines(names=(), rows=[(*row[:3], f"{row[3]}." if k % 2 else row[3].upper() + ".")
                              for k, row in enumerate(ROWS)]),
        {**TABLE, "label": {"column": "sick", "positive": ["yes", "YES"], "negative": ["no", "NO"],
                            "strip": "."}},
    ),
    "titles of classes": (
        {"header": True},
        lines(rows=[(*row[:3], str(k // 10)) for k, row in enumerate(ROWS)]),
        {**TABLE, "label": {"column": "sick", "classes": {"0": "a", "1": "b", "2": "b", "3": "c"}}},
    ),
}  # fmt: skip
OTHERS["a workbook of another ending"] = CASES["sheet"]
NAMES_OF = {"excel": "mine.xlsx", "parquet": "mine.parquet", "idx": "mine.idx"}


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def write(path, content):
    if callable(content):
        content(path)
    elif isinstance(content, dict):
        write_workbook(Path(path), content)
    else:
        Path(path).write_bytes(content if isinstance(content, bytes) else content.encode())


def train(parser, content, description, path=""):
    """Write a file and its description, and save a model of it; return its path and the dataset."""
    parser = {"kind": "delimited", **parser}
    path = path or NAMES_OF.get(parser["kind"], "mine.txt")
    write(path, content)
    if parser["kind"] == "idx":
        write("labels.idx", idx_bytes([int(row[3] == "yes") for row in ROWS]))
    keys = {"n_rows": 40, "files": {"train": {"local": path}}, **description, "parser": parser}
    Path("descriptions").mkdir(exist_ok=True)
    Path("descriptions/mine.yaml").write_text(yaml.safe_dump(keys, sort_keys=False))
    data = datasets.load("mine")
    public = {"n_bins": data.domain.n_bins, "classes": data.domain.label.names, "random_state": 0}
    names = np.array(data.domain.label.names)
    labels = names[data.y if len(names) > 2 else (data.y + 1) // 2]
    learner = PrivGAMClassifier(epsilon=300.0, **public).fit(data.X, labels)
    models.save("model.json", learner, data.domain, parser=datasets.describe("mine").parser)
    return path, data, labels


def predict(capsys, file, options="", code=0):
    assert main.main(["predict", "model.json", file, *shlex.split(options)]) == code
    captured = capsys.readouterr()
    return [row[-1] for row in csv.reader(io.StringIO(captured.out))][1:], captured.err


def expected_names(data):
    return models.load("model.json").predict_names(data.X).tolist()


@pytest.mark.parametrize("key", [*KEYS, *OTHERS])
def test_the_training_file_can_be_predicted_and_evaluated(key, capsys):
    having = [kind for kind in kinds().values() if key in kind.keys]
    if having and not any(kind.has_files for kind in having):
        pytest.skip("of datasets without files")
    # Each key of the parser has a case.
    parser, content, description = (CASES | OTHERS)[key]
    assert key in parser or key in ("kind", *OTHERS)
    ending = "mine.xlsm" if key == "a workbook of another ending" else ""
    path, data, labels = train(parser, content, description, ending)
    model = models.load("model.json")
    assert model.parser == datasets.describe("mine").parser
    assert model.domain == data.domain
    answers, output = predict(capsys, path)
    assert answers == expected_names(data)
    assert len(set(answers)) > 1
    assert "rows" not in parser or "of 4" in output
    more = ["--labels", "labels.idx"] if parser.get("kind") == "idx" else []
    assert main.main(["evaluate", "model.json", path, "--json", *more]) == 0
    (row,) = json.loads(capsys.readouterr().out)["groups"]
    assert (row["n"], row["error"][0]) == (40, np.mean(np.array(answers) != labels))


def test_a_release_carries_its_parser(capsys, monkeypatch, fixed_entropy):
    monkeypatch.setenv("PRIVCURVE_SEEDS", "seeds")
    parser, content, description = CASES["fields"]
    train(parser, content, {**description, "budget": {"epsilon": 9}})
    assert main.main(["release", "mine", "--epsilon", "2", "--output", "out", "--quiet"]) == 0
    model = json.loads(Path("out/model.json").read_text())
    assert model["parser"] == {"kind": "delimited", "fields": NAMES}
    capsys.readouterr()
    Path("model.json").write_bytes(Path("out/model.json").read_bytes())
    answers, _ = predict(capsys, "mine.txt")
    assert len(answers) == 40


@pytest.mark.parametrize("name", ["wdbc", "toy-line"])
def test_a_dataset_without_files_leaves_no_parser(name):
    data = datasets.load(name)
    learner = PrivGAMClassifier(n_bins=data.domain.n_bins, classes=(-1, 1), epsilon=1.0)
    learner.set_params(random_state=0).fit(data.X[:40], np.sign(data.y[:40] + 0.0).astype(int))
    models.save("model.json", learner, data.domain, parser=datasets.describe(name).parser)
    assert "parser" not in json.loads(Path("model.json").read_text())
    assert models.load("model.json").parser is None


# New files with another layout than the training file ---------------------------------------


def train_without_names(parser, content=None, description=TABLE):
    """Train on a file in this layout."""
    return train(parser, lines(names=()) if content is None else content, description)


def test_names_in_the_first_line_are_understood_by_any_model(capsys):
    plain = lines()
    turned = lines(rows=[row[::-1] for row in ROWS], names=NAMES[::-1], separator=";")
    for key in ("fields", "skip_rows", "separator", "comment", "extra_fields"):
        _, data, _ = train(*CASES[key])
        for content in (plain, turned):
            write("new.csv", content)
            assert predict(capsys, "new.csv")[0] == expected_names(data)
    write_parquet("new.parquet")
    write_workbook(Path("new.xlsx"), {"A": [NAMES, *SHEET]})
    for file in ("new.parquet", "new.xlsx"):
        assert predict(capsys, file)[0] == expected_names(data)
    # New records have no label.
    write("new.csv", lines(rows=[row[1:3] for row in ROWS], names=NAMES[1:3]))
    assert predict(capsys, "new.csv")[0] == expected_names(data)
    parser, content, description = CASES["zero_based"]
    _, data, _ = train(parser, content, description)
    write("new.csv", "code,age\n" + "".join(f"{k % 3},{2 * k}\n" for k in range(40)))
    assert predict(capsys, "new.csv")[0] == expected_names(data)
    # Without a label, a record with only zeros would be a blank line.
    write("new.svm", "0:0\n" + libsvm(0, label=""))
    assert predict(capsys, "new.svm")[0] == expected_names(data)


def test_names_that_are_equal_are_distinguished_as_in_the_draft(capsys):
    _, data, _ = train(*OTHERS["equal names"])
    write("new.csv", lines(names=["town", "age", "age"], rows=[(t, a, i) for i, a, t, _ in ROWS]))
    assert predict(capsys, "new.csv")[0] == expected_names(data)
    write("new.csv", lines(names=["town", "age"], rows=[(t, a) for i, a, t, _ in ROWS]))
    assert_refused(
        Path(),
        capsys,
        "predict model.json new.csv",
        r"line 2 of new.csv must have 4 fields; it has 2\.",
    )


def test_a_file_with_names_that_the_model_does_not_know_is_refused(capsys):
    for columns in ([AGE, TOWN], [TOWN]):
        train_without_names({"fields": NAMES}, description={**TABLE, "columns": columns})
        for names in (["Nr", "Alter", "Ort", "krank"], ["A", "B", "C", "D"]):
            write("new.csv", lines(names=names))
            ask = partial(assert_refused, Path(), capsys)
            message = r"line 1 of new.csv seems to hold column names.*records: id, age, town, sick"
            ask("predict model.json new.csv", message)
            ask("predict model.json new.csv --on-error skip", message)
            ask("evaluate model.json new.csv", message)
        # The first record has no listed value.
        rows = [("x1", "", "Paris", ""), *ROWS]
        write("new.csv", lines(names=(), rows=rows))
        if AGE in columns:
            assert_refused(
                Path(), capsys, "predict model.json new.csv", "line 1 of new.csv: 'age' is miss"
            )
        else:
            assert len(predict(capsys, "new.csv")[0]) == 41


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('[{"id": 1}]', "line 1 .* must have 4 fields; it has 1.* It seems to be JSON"),
        ("sep=,\n" + lines(names=()), "line 1 .* it has 2.* Its first line, sep=…, is only for"),
        ("@RELATION a\n" + lines(names=()), "line 1 .* it has 1.* It is ARFF"),
        (
            lines(after=",x", names=()),
            "line 1 .* must have 4 fields; it has 5.* R's write.table leaves out",
        ),
    ],
)
def test_a_table_of_another_program_is_known_without_names(capsys, content, message):
    train_without_names({"fields": NAMES})
    write("new.csv", content)
    assert_refused(Path(), capsys, "predict model.json new.csv", message)


def test_lines_of_only_separators_are_skipped_without_names(capsys):
    _, data, _ = train_without_names({"fields": NAMES})
    write("new.csv", lines(names=(), above=[",,,"]) + ",,,\n")
    assert predict(capsys, "new.csv")[0] == expected_names(data)


def test_a_record_where_the_model_skips_a_line_is_not_lost(capsys):
    _, data, _ = train(*OTHERS["own names"])
    write("new.csv", lines(names=()))
    assert_refused(
        Path(), capsys, "predict model.json new.csv", "line 3 of new.csv seems to be a record"
    )
    write("new.csv", lines(names=NAMES))
    assert predict(capsys, "new.csv")[0] == expected_names(data)


def test_columns_in_another_order_are_refused_where_names_tell(capsys):
    train(*OTHERS["equal names"])
    write("new.csv", lines(names=["sick", "town", "age", "dose"]))
    message = (
        "line 1 of new.csv names its column 1 'sick', but the model was trained on files where"
    )
    assert_refused(Path(), capsys, "predict model.json new.csv", message)


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        # The label is absent, or the separator differs.
        (
            lines(names=(), rows=[row[:3] for row in ROWS]),
            "",
            "must have 4 fields; it has 3.*label may be",
        ),
        (lines(names=(), separator=";"), "", r"must have 4 fields; it has 1.*\(--separator\)"),
        ("", "", "new.txt is empty"),
        ("\n \n", "", "new.txt is empty"),
        (lines(names=()), "--id x", "no column 'x'.*Its columns: id, age, town, sick"),
        (lines(names=()), "--rows 3", "new.txt is not an Excel file.*leave out --rows"),
    ],
)
def test_fields_in_other_places_are_refused(capsys, content, options, message):
    train_without_names({"fields": NAMES})
    write("new.txt", content)
    assert_refused(Path(), capsys, f"predict model.json new.txt {options}", message)


def test_records_without_labels_and_odd_ones_of_a_file_without_names(capsys):
    _, data, _ = train_without_names({"fields": NAMES})
    write("new.txt", lines(names=(), rows=[(*row[:3], "") for row in ROWS], separator="|"))
    assert predict(capsys, "new.txt", "--separator '|'")[0] == expected_names(data)
    write("new.txt", lines(names=(), rows=[ROWS[0], ("1", "old", "Oslo", ""), ROWS[2][:2]]))
    answers, output = predict(capsys, "new.txt", "--id id --on-error skip", 3)
    assert [bool(answer) for answer in answers] == [True, False, False]
    assert "line 2 of new.txt: 'age' is 'old', not a number" in output
    assert "line 3 of new.txt must have 4 fields; it has 2" in output


def test_the_encoding_of_the_training_is_not_forced_on_others(capsys):
    train(*CASES["encoding"])
    write("new.csv", lines())
    message = "in UTF-8, but the model was trained on cp1252: give --encoding utf-8"
    assert_refused(Path(), capsys, "predict model.json new.csv", message)
    both = [predict(capsys, "new.csv", "--encoding utf-8")[0], predict(capsys, "mine.txt")[0]]
    assert both[0] == both[1]
    write("new.csv", lines().replace("\u00f8", "o"))
    assert len(predict(capsys, "new.csv")[0]) == 40
    # In this direction the difference is visible.
    train(*CASES["header"])
    write("new.csv", lines().encode("cp1252"))
    assert_refused(
        Path(),
        capsys,
        "predict model.json new.csv",
        "not written in utf-8: line 3 has the byte 0xf8",
    )


def test_rows_of_a_sheet_are_reported_and_can_be_selected(capsys):
    _, data, _ = train(*CASES["rows"])
    write_workbook(Path("new.xlsx"), {"A": [NAMES, *SHEET[:7], [780.0, 1560.0, "", ""]]})
    answers, output = predict(capsys, "new.xlsx")
    assert (len(answers), "all 8 rows are read as records" in output) == (8, True)
    answers, output = predict(capsys, "new.xlsx", "--rows 7")
    assert (answers, "rows" in output) == (expected_names(data)[:7], False)
    answers, output = predict(capsys, "mine.xlsx")
    assert "of 42 rows the first 40 are read, as many as trained the model; --rows" in output
    assert_refused(
        Path(),
        capsys,
        "predict model.json new.xlsx --sheet C",
        "the sheet must be one of .*; got 'C'",
    )


def test_a_protected_number_of_records_is_not_reported(capsys):
    train(*CASES["rows"])
    ask = "release mine --epsilon 1 --neighbours add-remove --set n_estimate=50"
    assert_refused(
        Path(), capsys, ask, "parser: rows of mine is the number of records, which neighbours"
    )
    assert not Path("releases/mine/ledger.jsonl").exists()


def test_images_need_their_labels_to_be_evaluated(capsys):
    train(*CASES["blocks"])
    assert_refused(
        Path(), capsys, "evaluate model.json mine.idx", r"images without labels.*\(--labels\)"
    )
    write("new.idx", idx_bytes(np.zeros((2, 4, 4), dtype=np.uint8)))
    message = (
        "has 4 numbers per image .4 × 4 pixels in blocks of 2., but the model was trained on 1"
    )
    assert_refused(Path(), capsys, "predict model.json new.idx", message)
    write("new.csv", "dot\n1\n250\n")
    assert len(predict(capsys, "new.csv")[0]) == 2
    train(*CASES["header"])
    assert_refused(
        Path(), capsys, "evaluate model.json mine.txt --labels labels.idx", "not an idx file"
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"fields": ["age", "age"]}, "non-unique"),
        ({"fields": ["id", "age", "sick"]}, "parser: fields has no 'town'"),
        ({"encoding": "rot13"}, "encoding 'rot13' is unknown"),
        ({"kind": "generated"}, "'generated' is not one of"),
        ({"skip_rows": -1}, "minimum"),
        ({"loader": "toy_line"}, "unknown key 'loader'"),
        ({"rows": 3}, "rows is for kind: excel"),
    ],
)
def test_a_parser_that_can_not_be_is_refused_with_its_model(change, message):
    train_without_names({"fields": NAMES})
    content = json.loads(Path("model.json").read_text())
    content["parser"] |= change
    models.text.write(Path("model.json"), content)
    with pytest.raises(models.ModelError, match=re.escape(message)):
        models.load("model.json")


EXAMPLE = Path(__file__).parents[2] / "examples/read_model.py"
TEXTS = [key for key, case in (CASES | OTHERS).items() if "kind" not in case[0]]


@pytest.mark.parametrize("key", [key for key in TEXTS if key != "titles of classes"])
def test_the_example_reads_files_as_predict_does(key, capsys):
    path, data, _ = train(*(CASES | OTHERS)[key])
    runpy.run_path(str(EXAMPLE))["main"]("model.json", path)
    rows = list(csv.reader(io.StringIO(capsys.readouterr().out)))
    assert [row[0] for row in rows[1:]] == expected_names(data)


@pytest.mark.parametrize("key", ["header", "fields"])
def test_the_example_refuses_a_file_that_lacks_columns(key):
    train(*CASES[key])
    write("new.csv", lines(names=["id", "age"], rows=[row[:2] for row in ROWS]))
    with pytest.raises(ValueError, match=r"the columns age, town|line 1 must have 4 fields"):
        runpy.run_path(str(EXAMPLE))["main"]("model.json", "new.csv")


def test_models_of_earlier_versions_read_files_with_names(capsys):
    _, data, _ = train_without_names({"fields": NAMES})
    content = json.loads(Path("model.json").read_text())
    del content["parser"]
    models.text.write(Path("model.json"), content)
    assert_refused(
        Path(),
        capsys,
        "predict model.json mine.txt",
        "no required column is among its 4 names",
    )
    write("new.csv", lines())
    assert predict(capsys, "new.csv")[0] == expected_names(data)
