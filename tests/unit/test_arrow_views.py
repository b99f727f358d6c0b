"""Texts of Arrow's type `string_view`, which Polars writes, are read like `string`."""

from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

from privcurve import Schema, datasets
from privcurve.datasets.coding import read_codes
from privcurve.datasets.describing import check

COLUMNS = {
    "age": ["31", " 45.5", None, "", "130"],
    "town": ["Oslo", None, "R\u00f8ros", "", "Oslo"],
    "day": ["2020-01-02", "2020-01-03", None, "", "2020-01-11"],
    "grade": ["1", "2.0", "3", None, "1"],
    "sick": ["yes", "no", "yes", "no", "no"],
}
SCHEMA = Schema(
    {
        "age": {"bounds": [0, 100], "n_bins": 10, "spacing": "equal"},
        "town": {"groups": ["Oslo", "R\u00f8*"]},
        "day": {"kind": "date", "bounds": ["2020-01-01", "2020-01-11"], "n_bins": 10},
        "grade": {"categories": [1, 2, 3, "?"]},
    },
    label=["no", "yes"],
    missing="bin",
)
CODES = [[3, 0, 1, 0], [4, 3, 2, 1], [10, 1, 10, 2], [10, 3, 10, 3], [9, 0, 9, 0]]


def as_type(kind):
    if kind == "dictionary":
        return {
            name: pa.DictionaryArray.from_arrays(
                pa.array(values).dictionary_encode().indices,
                pa.array(values).dictionary_encode().dictionary.cast(pa.string_view()),
            )
            for name, values in COLUMNS.items()
        }
    if kind == "binary_view":
        return {
            name: pa.array([v if v is None else v.encode() for v in values], pa.binary_view())
            for name, values in COLUMNS.items()
        }
    return {name: pa.array(values, kind) for name, values in COLUMNS.items()}


TYPES = [pa.string(), pa.large_string(), pa.string_view(), "binary_view", "dictionary"]


@pytest.mark.parametrize("kind", TYPES, ids=str)
def test_frames_of_each_type_of_texts_have_the_same_codes(kind):
    table = pa.table(as_type(kind))
    assert SCHEMA.encode(table).tolist() == CODES
    assert SCHEMA.positions(table["sick"]).tolist() == [1, 0, 1, 0, 0]
    if kind == pa.string_view():
        dtype = pd.ArrowDtype(kind)
        frame = pd.DataFrame({name: pd.Series(v, dtype=dtype) for name, v in COLUMNS.items()})
        assert SCHEMA.encode(frame).tolist() == CODES
        assert "grade" in Schema.draft(frame, label="sick").names


@pytest.mark.parametrize("kind", [pa.string(), pa.string_view(), "binary_view"], ids=str)
def test_files_of_each_type_of_texts_have_the_same_codes(write_dataset, kind):
    write_dataset(
        [""],
        n_rows=5,
        files={"train": {"local": "data/mine.parquet"}},
        parser={"kind": "parquet"},
        missing=["", "NA"],
        columns=[dict(entry) for entry in SCHEMA._facts["columns"]],
    )
    parquet.write_table(pa.table(as_type(kind)), "data/mine.parquet")
    assert check("mine").faults == []
    dataset = datasets.load("mine")
    assert dataset.X.tolist() == CODES
    assert dataset.y.tolist() == [1, -1, 1, -1, -1]
    records = read_codes(SCHEMA.domain, Path("data/mine.parquet"))
    assert [row for part in records.parts for row in part.codes.tolist()] == CODES
