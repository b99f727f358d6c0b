"""Markers of missing values in one column: in YAML, in `Schema`, in a model."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from privcurve import PrivGAMClassifier, Schema, datasets, models
from privcurve.datasets import Column, DatasetError, Domain, Label
from privcurve.datasets.describing import check

AGE = {"name": "age", "kind": "numeric", "bounds": [0, 120], "n_bins": 12, "missing": "bin"}
VISITS = {"name": "visits", "kind": "numeric", "bounds": [0, 50], "n_bins": 5, "missing": [99, -1]}
BORN = {"name": "born", "kind": "date", "bounds": ["1900-01-01", "2000-01-01"], "missing": "bin"}
DIED = {
    "name": "died",
    "kind": "date",
    "bounds": ["1990-01-01", "2030-01-01"],
    "missing": ["1900-01-01", 0],
}
GRADE = {"name": "grade", "kind": "categorical", "categories": [1, 2], "missing": 9}
NOTE = {"name": "note", "kind": "text", "groups": {"none": "none", "pain": "p*"}, "missing": "pn"}
COLUMNS = [AGE, VISITS, BORN, DIED, GRADE, NOTE]
LINES = [
    "age,visits,born,died,grade,note,sick",
    "99,99,1900-01-01,1900-01-01,9,none,yes",
    "-1,-1.0,1950-01-01,0,9.0,pn,no",
    "0,,,,1,,no",
    "NA,NA,NA,NA,2,NA,yes",
    "5,0,1999-12-31,2029-12-31,2,pain,no",
]
CODES = [
    [9, 5, 0, 10, 2, 0],
    [0, 5, 5, 10, 2, 3],
    [0, 5, 10, 10, 0, 3],
    [12, 5, 10, 10, 1, 3],
    [0, 0, 9, 9, 1, 1],
]


def describe(write_dataset, columns=COLUMNS, missing=("", "NA"), lines=LINES, **changes):
    columns = [dict(column) for column in columns]
    write_dataset(lines, n_rows=len(lines) - 1, columns=columns, missing=list(missing), **changes)
    return datasets.describe("mine")


def test_a_word_of_one_column_is_a_value_of_the_others(write_dataset):
    domain = describe(write_dataset).domain
    assert datasets.load("mine").X.tolist() == CODES
    assert domain.missing == ("", "NA")
    assert domain.columns[1].missing == ("99", "-1")
    assert Domain.from_dict(json.loads(json.dumps(domain.to_dict()))) == domain
    # Codes do not depend on how a missing value is written.
    assert "99" not in domain.to_json()


def test_data_are_coded_anew_when_a_word_is_added(write_dataset):
    digest = describe(write_dataset).digest
    moved = [{**AGE, "missing": [99]}, {**VISITS, "missing": "bin"}, *COLUMNS[2:]]
    assert describe(write_dataset, moved).digest != digest
    datasets.prepare("mine", "coded")
    assert datasets.read_coded("coded").domain == datasets.describe("mine").domain
    assert datasets.is_current("coded")
    describe(write_dataset)
    assert not datasets.is_current("coded")


@pytest.mark.parametrize("missing", ["", "bin", ["bin"], "x", 7, 7.5, ["", "bin", 7]])
def test_each_way_to_write_it(write_dataset, missing):
    column = {**VISITS, "name": "x", "missing": missing}
    lines = ["x,sick", "1,yes", f"{[missing, missing][0] if missing == 'x' else ''},no"]
    describe(write_dataset, [column], lines=lines)
    words = missing if isinstance(missing, list) else [] if missing == "bin" else [missing]
    assert datasets.describe("mine").domain.columns[0].missing == tuple(map(str, words))
    assert datasets.load("mine").X[:, 0].tolist() == [0, 5]


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ({**GRADE, "missing": 2}, r"missing of 'grade': '2' is a value of the column, too"),
        ({**GRADE, "missing": ["2.0"]}, r"'2.0' is a value of the column, too; keep one"),
        ({**NOTE, "missing": "None"}, r"missing of 'note': 'None' is a value of the column"),
        ({**GRADE, "missing": "bin"}, r"missing: does not belong here: it is for numbers and dat"),
        ({**NOTE, "missing": "bin"}, r"missing: does not belong here: it is for numbers and dates"),
        (
            {**AGE, "missing": []},
            r"columns.age.missing: must have at least 1 entry; got an empty list",
        ),
        ({**AGE, "missing": [True]}, r"YAML reads yes, no, on and off as truth values"),
    ],
)
def test_contradictions_are_refused(write_dataset, column, message):
    with pytest.raises(DatasetError, match=message):
        describe(write_dataset, [column])


def test_a_marker_of_the_table_within_the_bounds_of_a_column_is_reported(write_dataset):
    describe(write_dataset, missing=("", "NA", 99, "1900-01-01", -1))
    report = check("mine")
    assert report.is_ready
    ages, births = (remark.message for remark in report.remarks)
    assert ages.startswith('missing: "99" lies within the bounds of age, and counts as missing')
    assert births.startswith('missing: "1900-01-01" lies within the bounds of born, and counts')
    line = Path("resources/datasets/mine.yaml").read_text().split("\n").index("missing:") + 1
    assert {remark.line for remark in report.remarks} == {line}
    # A marker in the column itself is intended, so there is no remark.
    mine = [{**AGE, "missing": [99]}, VISITS, {**BORN, "missing": "1900-01-01"}, *COLUMNS[3:]]
    describe(write_dataset, mine, missing=("", "NA", 99, "1900-01-01", -1))
    assert check("mine").remarks == []
    describe(write_dataset)
    assert check("mine").remarks == []


# In Python ----------------------------------------------------------------------------------

FRAME = {
    "age": [99, None, 0, 130],
    "visits": ["99", "nan", "-1", "7"],
    "town": ["Oslo", "None", "<NA>", "Rome"],
    "kind": ["a", "nan", None, "b"],
    "day": ["2020-01-02", "NaT", None, "2020-01-31"],
}


def test_a_schema_takes_words_by_column_and_gives_each_column_its_gap():
    schema = Schema(
        {
            "age": {"bounds": [0, 120], "n_bins": 12, "spacing": "equal"},
            "visits": {"bounds": [0, 50], "n_bins": 5, "spacing": "equal", "missing": [99, -1]},
            "town": ["Oslo"],
            "kind": {"categories": ["a"]},
            "day": {"kind": "date", "bounds": ["2020-01-01", "2020-01-11"], "n_bins": 10},
        },
        label=["no", "yes"],
        missing="bin",
        unknown="other",
    )
    expected = [[9, 5, 0, 0, 1], [12, 5, 2, 2, 10], [0, 5, 2, 2, 10], [11, 0, 1, 1, 9]]
    for frame in (FRAME, pd.DataFrame(FRAME), pd.DataFrame(FRAME, dtype=object)):
        assert schema.encode(frame).tolist() == expected
    again = Schema._from_content({**schema._facts})
    assert again.domain == schema.domain
    # A category may be a text that pandas writes for missing values.
    named = Schema({"town": ["None", "x"]}, label=[0, 1], missing="bin", unknown="other")
    assert named.encode({"town": ["None", "nan", None, "y"]}).tolist() == [[0], [3], [3], [2]]


def test_categories_with_titles_have_others_and_gaps_too():
    columns = {"town": {"categories": {"Oslo": "north", "Bergen": "north", "Rome": "south"}}}
    schema = Schema(columns, label=[0, 1], missing="bin", unknown="other")
    assert schema.encode({"town": ["Bergen", "Paris", None]}).tolist() == [[0], [2], [3]]
    plain = Schema(columns, label=[0, 1])
    assert plain.domain.columns[0].titles == ("north", "south")
    schema["town"] = {"categories": ["Oslo"], "missing": ["n/a"]}
    assert schema.encode({"town": ["Oslo", "n/a", "x", None]}).tolist() == [[0], [2], [1], [2]]


def test_without_a_bin_missing_values_are_refused_as_before():
    schema = Schema({"age": {"bounds": [0, 9]}, "town": ["a"]}, label=[0, 1])
    with pytest.raises(DatasetError, match=r"row 0 of the frame: 'age' is missing"):
        schema.encode({"age": [None], "town": ["a"]})
    with pytest.raises(DatasetError, match=r"row 1 of the frame: 'town' is missing, which is not"):
        schema.encode({"age": [1, 1], "town": ["a", "nan"]})
    # The text "nan" is treated like None.
    columns = {"town": ["a"], "note": {"groups": ["x"]}}
    schema = Schema(columns, label=[0, 1], unknown="other")
    frame = {"town": [None, "nan", "b"], "note": [None, "None", "b"]}
    assert schema.encode(frame).tolist() == [[1, 2], [1, 2], [1, 1]]


def test_a_blank_of_a_draft_keeps_the_words_that_were_drafted():
    visits = [*range(30), 99, 98.5] * 3
    frame = pd.DataFrame({"visits": visits, "sick": [k % 2 for k in range(len(visits))]})
    frame["visits"] = frame["visits"].replace(98.5, 999)
    schema = Schema.draft(frame, "sick", public=True)
    (entry,) = schema._facts["columns"]
    assert (entry["bounds"], entry["missing"]) == ([0, 29], [99, 999])
    schema["visits"] = (0, 50)
    assert schema.domain.columns[0].missing == ("99", "999")
    assert schema.encode({"visits": [99, 50]}).tolist() == [[51], [50]]


# In a model ---------------------------------------------------------------------------------


def test_a_model_knows_the_words_of_its_columns(write_dataset, tmp_path):
    domain = describe(write_dataset).domain
    X = np.array(CODES * 20, dtype=np.uint8)
    learner = PrivGAMClassifier(epsilon=5, n_bins=domain.n_bins, classes=domain.label.names)
    models.save("model.json", learner.set_params(random_state=0).fit(X, ["no", "yes"] * 50), domain)
    model = models.load("model.json")
    assert model.domain == domain
    frame = pd.read_csv("data/mine.csv", dtype=str, keep_default_na=False)
    assert model.predict_frame(frame).tolist() == model.predict_names(X[:5]).tolist()
    # A model of an earlier version has no markers.
    other = Domain((Column("age", "numeric", (0.0, 9.0), 3),), Label("sick", "no", "yes"))
    assert "missing" not in other.to_dict()["columns"][0]
