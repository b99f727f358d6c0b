"""Keys of a description: public facts, samples, variants, patterns, spacing, missing values."""

import json
from pathlib import Path

import numpy as np
import pytest
import yaml
from own_dataset import DESCRIPTION, LINES, assert_load_fails

from privcurve import datasets
from privcurve.datasets import Domain
from privcurve.datasets.variants import escape_name, names_of

AGE, TOWN = DESCRIPTION["columns"]


def variant(**changes):
    content = {"title": "t", "based_on": "mine", **changes}
    Path("resources/datasets/other.yaml").write_text(yaml.safe_dump(content))


NAN, INF = float("nan"), float("inf")
DAY = {"name": "age", "kind": "date", "bounds": ["2000-01-01", "2000-01-11"]}
LABELS = {"train": {"local": "data/mine.csv", "labels": {"local": "data/labels"}}}


def columns_with(column, other, **changes):
    """Return the columns of the description with one changed."""
    return {"columns": [{**column, **changes}, other]}


def parser_with(**changes):
    return {"parser": {**DESCRIPTION["parser"], **changes}}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        # Columns
        (
            columns_with(AGE, TOWN, bound=1),
            "columns.age: unknown key 'bound'; did you mean 'bounds'",
        ),
        (columns_with(TOWN, AGE, categories=["A", "A"]), "listed twice"),
        (
            columns_with(TOWN, AGE, categories={NAN: "x"}),
            "YAML reads .nan as nan; put it in quotes",
        ),
        (columns_with(TOWN, AGE, n_bins=3), "follows from its"),
        (columns_with(AGE, TOWN, name="p{9..1}"), "must expand to 1 to 65536 names; got 0"),
        (columns_with(AGE, TOWN, spacing="log"), "bounds of 'age' must lie above 0: spacing log"),
        (columns_with(AGE, TOWN, spacing="logs"), "'logs' is not one of"),
        (columns_with(TOWN, AGE, spacing="log"), "spacing: does not belong here"),
        (columns_with(TOWN, AGE, missing="bin"), "missing: does not belong here"),
        (
            {**columns_with(AGE, TOWN, public=True), "public": ["town"]},
            "one by one and in a list; keep one",
        ),
        # NaN passes every comparison, so a budget of NaN was once no limit.
        (
            columns_with(AGE, TOWN, bounds=[0, NAN]),
            "columns.age.bounds.1: must be a number; got .nan",
        ),
        (
            columns_with(AGE, TOWN, bounds=[0, INF]),
            "columns.age.bounds.1: must be finite; got .inf",
        ),
        (
            columns_with(AGE, TOWN, bounds=[0, 10**400]),
            "bounds of 'age' leave 10 bins no finite width",
        ),
        (
            columns_with(AGE, TOWN, bounds=[-1e308, 1e308]),
            "bounds of 'age' leave 10 bins no finite width",
        ),
        (
            columns_with(AGE, TOWN, bounds=[1, 1 + 1e-15]),
            "bounds of 'age' leave 10 bins no finite width",
        ),
        ({"missing": ["?", NAN]}, "missing.1: must be a number; got .nan: write a number"),
        ({"budget": {"epsilon": NAN}}, "budget.epsilon: must be a number; got .nan"),
        ({"budget": {"epsilon": INF}}, "budget.epsilon: must be finite; got .inf"),
        # Dates
        (columns_with(DAY, TOWN, bounds=["2000-02-30", "2001-01-01"]), "low < high"),
        (
            columns_with(DAY, TOWN, bounds=["1999-01-01", 2000]),
            "columns.age.bounds.1: must be a text; YAML reads it as the number",
        ),
        (
            columns_with(DAY, TOWN, bounds=["1.1.2000", "2001-01-01"]),
            "Expected: a day such as 2024-12-31",
        ),
        (columns_with(DAY, TOWN, n_bins=11), "leave 11 bins less than a day each"),
        (
            columns_with(DAY, TOWN, format="%H:%M"),
            "format of 'age', '%H:%M', must contain year, month and",
        ),
        (columns_with(DAY, TOWN, format="%Q%Y"), "'%Q%Y', must contain year, month and day"),
        (columns_with(DAY, TOWN, spacing="log"), "columns.age.spacing: does not belong here"),
        # Files
        ({"n_test": 5}, "belong together"),
        ({"files": {"train": {"name": "x", "urls": [], "bytes": 1}}}, "missing key 'sha256'"),
        ({"files": LABELS}, "is for kind: idx"),
        ({"parser": {"kind": "delimited"}}, "header: true or the list"),
        (
            parser_with(header=False, fields=["agee", "town", "sick"]),
            "no 'age'; did you mean 'agee'",
        ),
        (parser_with(zero_based=True), "zero_based is for kind: libsvm"),
        (parser_with(kind="parquet"), "names its fields itself"),
        (parser_with(encoding="rot13"), "encoding 'rot13' is unknown; try utf-8"),
        (parser_with(encoding="undefined"), "encoding 'undefined' is unknown; try utf-8"),
        (parser_with(encoding="a\0b"), "is unknown; try utf-8"),
    ],
)
def test_descriptions_that_cannot_be(write_dataset, changes, message):
    write_dataset(**changes)
    (text,) = assert_load_fails().splitlines()
    assert message in text
    assert "mine.yaml" in text


# Public facts ----------------------------------------------------------------------


def test_public_facts_reach_the_domain_and_the_coded_data(write_dataset, tmp_path):
    write_dataset(public=["town"], public_label=True)
    mine = datasets.load("mine")
    datasets.save(mine, tmp_path / "out")
    for domain in (mine.domain, datasets.read(tmp_path / "out").domain):
        assert domain.public_columns == (1,)
        assert domain.label.public
        assert domain.ordered == (True, False)
    plain = datasets.describe("wdbc").domain
    assert not plain.label.public
    # A default adds nothing to the text of the checksum.
    assert '"public":true' not in plain.to_json()


def test_a_variant_states_again_what_is_public(write_dataset):
    write_dataset(columns=[{**AGE, "public": True}, TOWN])
    variant(public=["town"])
    assert datasets.describe("mine").domain.public_columns == (0,)
    other = datasets.describe("other").domain
    assert other.public_columns == (1,)
    assert datasets.load("other").checksum != datasets.load("mine").checksum


# Samples ---------------------------------------------------------------------------

MANY = [LINES[0], *(f"{k},Oslo,x,{'yes' if k % 4 == 0 else 'no'}" for k in range(40))]
TESTS = [LINES[0], *(f"{k},?,x,{'yes' if k < 3 else 'no'}" for k in range(60, 70))]
POOLED = {"parts": ["train", "test"]}
BOTH = {"train": {"local": "data/mine.csv"}, "test": {"local": "data/test.csv"}}


@pytest.fixture
def write_many(write_dataset):
    def write(**changes):
        write_dataset(MANY, **{"n_rows": 40, "n_test": 10, "files": BOTH, **changes})
        Path("data/test.csv").write_text("\n".join(TESTS) + "\n")

    write()
    return write


@pytest.mark.usefixtures("write_many")
def test_first_records_of_the_more_frequent_label():
    variant(records={"balance": "first"}, n_rows=20)
    dataset, other = datasets.load("mine"), datasets.load("other")
    negative = np.flatnonzero(dataset.y == -1)[:10]
    positive = np.flatnonzero(dataset.y == 1)
    keep = np.sort([*negative, *positive])
    assert np.array_equal(other.X, dataset.X[keep])
    assert np.array_equal(other.y, dataset.y[keep])
    # The test part stays as it is.
    assert other.y_test is not None
    assert np.array_equal(other.X_test, dataset.X_test)


@pytest.mark.usefixtures("write_many")
def test_random_records_follow_the_seed():
    samples = []
    for seed in (1, 1, 2):
        variant(records={"balance": "random", "seed": seed}, n_rows=20)
        samples.append(datasets.load("other"))
        assert samples[-1].y.sum() == 0
    assert samples[0].checksum == samples[1].checksum
    assert samples[0].checksum != samples[2].checksum


@pytest.mark.usefixtures("write_many")
def test_parts_are_pooled_then_cut_then_balanced():
    variant(records={"parts": ["train", "test"], "first": 42, "balance": "first"}, n_rows=20)
    other = datasets.load("other")
    assert other.y_test is None
    assert (other.y == 1).sum() == 10
    variant(records=POOLED, n_rows=50)
    dataset = datasets.load("other")
    assert dataset.X[40:, 1].tolist() == [2] * 10  # towns are missing in the test part
    variant(records={"parts": ["test", "train"], "first": 12}, n_rows=12)
    assert datasets.load("other").X[:, 1].tolist() == [2] * 10 + [0] * 2


def test_records_of_a_variant_with_its_own_file(write_many):
    write_many(records={"first": 5}, n_rows=5)
    assert datasets.load("mine").X[:, 0].tolist() == [0] * 5
    # The rest of the file is not read, not even to count its records.
    with Path("data/mine.csv").open("a") as file:
        file.write("no record\n")
    assert len(datasets.load("mine").y) == 5


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"records": {"balance": "first"}, "n_rows": 21}, "records leaves 20 records.*n_rows: 21"),
        ({"records": {"first": 50}, "n_rows": 50}, "first is 50, but there are 40"),
        ({"records": {"balance": "random"}, "n_rows": 20}, "missing key 'seed'"),
        ({"records": {"first": 20, "seed": 1}, "n_rows": 20}, "seed: does not belong here"),
        ({"records": {"first": 20}}, "n_rows"),
        ({"records": POOLED, "n_rows": 50, "n_test": 10}, "leaves no test part; drop n_test"),
        ({"public": ["towns"]}, "public: there is no column 'towns'; did you mean 'town'"),
        ({"n_bins": {"agee": 5}}, "mine has no 'agee'; did you mean 'age'"),
        ({"n_bins": {"town": 5}}, "n_bins of 'town' follows from its categories"),
        ({"n_bins": {"age": 65537}}, "greater than the maximum of 65536"),
        ({"based_on": "minne", "n_bins": 5}, "did you mean 'mine'"),
        (
            {"based_on": "adult-fine", "n_bins": 5},
            "another; got adult-fine, which is based on 'adult'. Name",
        ),
        ({}, "must have at least 3 keys; got 2"),
        ({"columns": [{"name": "note", "kind": "numeric"}]}, "columns.note: missing key 'bounds'"),
        ({"columns": [{"name": "age", "bounds": [0, 9]}]}, "source"),
        ({"files": {"test": {"local": "data/mine.csv"}}, "n_test": 4}, "mine.csv is given twice"),
    ],
)
@pytest.mark.usefixtures("write_many")
def test_samples_and_variants_that_cannot_be(changes, message):
    variant(**changes)
    assert_load_fails(message, "other")


@pytest.mark.usefixtures("write_dataset")
def test_parts_that_do_not_exist():
    variant(records=POOLED, n_rows=4)
    assert_load_fails("parts has test, but files has none", "other")


# Variants --------------------------------------------------------------------------


def test_a_variant_changes_what_it_names(write_many):
    write_many(files={"train": {"local": "data/mine.csv"}})
    content = yaml.safe_load(Path("resources/datasets/mine.yaml").read_text())
    del content["n_test"]
    Path("resources/datasets/mine.yaml").write_text(yaml.safe_dump(content))
    note = {"name": "note", "kind": "categorical", "categories": ["x"]}
    variant(
        files={"test": {"local": "data/test.csv"}},
        n_test=10,
        columns=[{"name": "age", "bounds": [0, 80], "source": "s", "n_bins": 8}, note],
        label={"positive": "no", "negative": "yes"},
        public_label=True,
    )
    mine, other = datasets.load("mine"), datasets.load("other")
    assert mine.y_test is None
    assert other.y_test is not None
    assert other.domain.names == ("age", "town", "note")
    assert other.domain.n_bins == (8, 3, 1)
    assert np.array_equal(other.y, -mine.y)
    assert other.name == "other"


def test_the_mirrors_folder_may_have_another_name(write_dataset, tmp_path, monkeypatch):
    digest = datasets.load("mine").sources["mine.csv"]
    entry = {"name": "red.csv", "urls": [], "sha256": digest, "bytes": 1}
    write_dataset(files={"train": entry}, folder="wine")
    (tmp_path / "mirror/wine").mkdir(parents=True)
    (tmp_path / "mirror/wine/red.csv").write_text("\n".join(LINES) + "\n")
    monkeypatch.setenv("PRIVCURVE_DATA", str(tmp_path / "mirror"))
    assert len(datasets.load("mine").y) == 4


# Patterns --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("age", ["age"]),
        ("x{8..11}", ["x8", "x9", "x10", "x11"]),
        ("x{08..11}z", ["x08z", "x09z", "x10z", "x11z"]),
        ("{0..1}a{1..2}", ["0a1", "0a2", "1a1", "1a2"]),
        (r"a\{1..3}{1..2}", ["a{1..3}1", "a{1..3}2"]),
    ],
)
def test_patterns_of_names(pattern, names):
    assert names_of(pattern) == names


def test_escaped_names_and_invalid_patterns():
    for name in ("a{1..3}", r"a\{1..3}", r"\\{2..1}{0..1}", "a{x}", "a\\b"):
        assert names_of(escape_name(name)) == [name]
    for pattern in ("x{3..2}", "x{0..70000}"):
        with pytest.raises(ValueError, match="must expand to 1 to 65536 names; got"):
            names_of(pattern)


def test_equal_columns_are_one_line(write_dataset):
    write_dataset(
        [",".join(map(str, [*range(k, k + 12), k % 2])) for k in range(4)],
        columns=[{"name": "p{0..11}", "kind": "numeric", "bounds": [0, 20], "source": "s"}],
        parser={"kind": "delimited", "fields": ["p{0..11}", "y"]},
        label={"column": "y", "positive": 1, "negative": 0},
        public=["p{2..3}"],
    )
    variant(n_bins={"p{0..1}": 20})
    mine, other = datasets.load("mine"), datasets.load("other")
    assert mine.domain.names == tuple(f"p{k}" for k in range(12))
    assert mine.domain.public_columns == (2, 3)
    assert mine.X[1].tolist() == [k // 2 for k in range(1, 13)]
    assert other.domain.n_bins == (20, 20, *[10] * 10)


# Spacing and missing values --------------------------------------------------------


def test_spacing(write_dataset):
    columns = [{**AGE, "bounds": [0.01, 1000], "n_bins": 5, "spacing": "log"}]
    write_dataset(columns=columns)
    mine = datasets.load("mine")
    assert mine.domain.bin_names[0][2] == "1 <= age < 10"
    assert mine.X.ravel().tolist() == [3, 3, 4, 3]
    assert Domain.from_dict(json.loads(mine.domain.to_json())) == mine.domain
    write_dataset(columns=[{**columns[0], "bounds": [0, 1023], "n_bins": 10, "spacing": "log1p"}])
    assert datasets.load("mine").X.ravel().tolist() == [5, 5, 7, 4]


def test_missing_numbers_have_their_own_bin(write_dataset):
    lines = [LINES[0], "31,Oslo,x,yes", ",?,y,no", "?,?,z,no", "100,Oslo,w,yes"]
    write_dataset(lines, columns=[{**AGE, "missing": "bin"}, TOWN])
    mine = datasets.load("mine")
    assert mine.X[:, 0].tolist() == [3, 10, 10, 9]
    assert mine.domain.n_bins == (11, 3)
    assert mine.domain.bin_names[0][-1] == "age is missing"
    assert mine.n_clipped == 0
    assert Domain.from_dict(json.loads(mine.domain.to_json())) == mine.domain
    write_dataset([*lines[:3], "old,?,z,no", lines[4]], columns=[{**AGE, "missing": "bin"}, TOWN])
    assert_load_fails("'age' is 'old', not a number")
    write_dataset(lines)
    assert "(1 more like it)" in assert_load_fails("line 3 .* 'age' is missing.*missing: bin")


def test_markers_of_missing_numbers(write_dataset):
    lines = [LINES[0], "31,Oslo,x,yes", "nan,-,y,no", "-9,-,z,no", "100,Oslo,w,yes"]
    columns = [{**AGE, "missing": "bin"}, TOWN]
    write_dataset(lines, columns=columns, missing="nan")
    assert_load_fails("'town' is '-'")
    write_dataset([line.replace("-,", "Oslo,") for line in lines], columns=columns, missing="nan")
    assert datasets.load("mine").X[:, 0].tolist() == [3, 10, 0, 9]
