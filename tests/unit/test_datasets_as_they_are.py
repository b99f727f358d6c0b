"""Messy data of users: gaps, dates, texts, decimal commas, Parquet, gz."""

import json
from datetime import date, datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from own_dataset import assert_load_fails

from privcurve import Schema, datasets
from privcurve.datasets import DatasetError, Domain
from privcurve.datasets.coding.numbers import read_day

NUMBER = {"name": "x", "kind": "numeric", "bounds": [0, 10], "missing": "bin"}
DAY = {"name": "x", "kind": "date", "bounds": [date(2000, 1, 1), date(2000, 1, 11)]}
TEXT = {"name": "x", "kind": "text", "groups": {"heart": "I*", "sugar": ["E10*", "E11*"]}}
HEART, SUGAR, OTHER, NONE = range(4)


def codes_of_column(write_dataset, values, column, **changes):
    """Return the codes of values in one column."""
    lines = ["x;sick", *(f"{value};{'yes' if k else 'no'}" for k, value in enumerate(values))]
    parser = {"kind": "delimited", "header": True, "separator": ";"}
    write_dataset(lines, columns=[column], parser=parser, n_rows=len(values), **changes)
    codes = datasets.load("mine").X[:, 0].tolist()
    return codes


def assert_refused(write_dataset, message, *given, **changes):
    with pytest.raises(DatasetError, match=message):
        codes_of_column(write_dataset, *given, **changes)


def listed(*categories):
    return {"name": "x", "kind": "categorical", "categories": list(categories)}


def groups(given):
    return {"name": "x", "kind": "text", "groups": given}


WIDE = {**NUMBER, "bounds": [-10, 10]}
ENDS = {**DAY, "n_bins": 4, "missing": "bin", "format": "%d.%m.%Y"}
JOBS = groups({"none": ["none", "unknown*"], "work": "*"})
WORDS = ["None", "unknown", "NA", "", "?", "nurse"]
OTHERS = {"unknown": "other"}
COMMA = {"decimal": ",", "missing": ["-9,9", "NA"]}
MINUS = {"missing": [-999], "unknown": "other"}
FIRST = "2000-01-01"
ZEROS = groups({"code": "0999", "none": "-999"})
CODED = [
    # Markers of missing values: several, and numbers in any notation.
    (["1", "NA", "", "-", "9.5"], NUMBER, {"missing": ["NA", "-"]}, [1, 10, 10, 10, 9]),
    (["1", "-999", "-999.0"], NUMBER, {"missing": "-999"}, [1, 10, 10]),
    ([FIRST, "2000-01-02 10:00"], DAY | {"missing": "bin"}, {"missing": "2000-01-02"}, [0, 10]),
    (["03.01.2000", "1.1.2000"], ENDS, {"missing": ["2000-01-01", "NA"]}, [0, 4]),
    ([FIRST, "-999.0", "-999", "-999.00"], DAY | {"missing": "bin"}, MINUS, [0, 10, 10, 10]),
    (["I21", "-999.0", "-999", "-999.00"], TEXT, MINUS, [HEART, NONE, NONE, NONE]),
    (["I21", "-999.0", "-999"], listed("I21", "other", "?"), {"missing": [-999.0]}, [0, 2, 2]),
    # A marker that is a number matches equal numbers, but not a code with leading zeros.
    (["-999.0", "0999"], ZEROS, {"missing": [-999.0, 999]}, [1, 0]),
    (["1", "-999", "x"], NUMBER, {"missing": [-999, "x"]}, [1, 10, 10]),
    (["-9,9", "3,5", "-9,90", ""], WIDE, COMMA, [10, 6, 10, 10]),
    (["-9,9", "3,5", "-9,90", "NA"], WIDE, COMMA | {"missing": [-9.9, "NA"]}, [10, 6, 10, 10]),
    # A category may equal a marker; then it is a value.
    (["Oslo", "NA", "-"], listed("Oslo", "-", "?"), {"missing": ["NA", "-"]}, [0, 2, 1]),
    # Integer codes may have a decimal point, or a comma if the file has decimal commas.
    (["1", "2.0", "1.00"], listed(1, 2, "other"), {}, [0, 1, 0]),
    (["1", "2.0", "2.5"], listed(1, 2, "other"), OTHERS, [0, 1, 2]),
    (["1", "2,0", "2.0", "2.000"], listed(1, 2, "other"), OTHERS | {"decimal": ","}, [0, 1, 1, 2]),
    # Bin edges of dates are whole days.
    (["03.01.2000", "04.01.2000", "", "11.01.2000"], ENDS, {}, [0, 1, 4, 3]),
    # The first matching pattern counts; only * is a wildcard, all other characters are literal.
    (["Head Nurse", "nurse", "a (b)"], groups({"head": ["*nurse*"], "rest": "*"}), {}, [0, 0, 1]),
    (["abc", "a.c", "(b", "OTHER"], groups(["a.c", "(b", "other"]), {}, [2, 0, 1, 2]),
    # Integer codes match "1.0"; a group that lists "2.0" matches only this text.
    (
        ["1.0", "-1.0", "2.0", "2.00", "1.5", "no"],
        groups({"no": ["no", "-1"], "half": "2.0", "yes": ["yes", "1", "2"]}),
        {},
        [2, 1, 0, 2, 3, 1],
    ),
    # A group may list a word that is a marker elsewhere.
    (WORDS, JOBS, {"missing": ["none", "unknown", "NA", ""]}, [0, 3, 3, 3, 1, 1]),
    (WORDS, JOBS, {"missing": ["?", "None"]}, [0, 0, 1, 3, 3, 1]),
]


@pytest.mark.parametrize(("values", "column", "changes", "codes"), CODED)
def test_values_have_the_codes_that_they_mean(write_dataset, values, column, changes, codes):
    assert codes_of_column(write_dataset, values, column, **changes) == codes


@pytest.mark.parametrize(
    ("values", "column", "changes", "message"),
    [
        (["1", "none"], NUMBER, {"missing": ["NA", "-"]}, "'x' is 'none', not a number"),
        (["1", "2.5"], listed(1, 2, "other"), {}, "'2.5', which is not one of its categories"),
        # A wrong value may end with a dot.
        (["St", "St."], listed("St", "?"), {}, "'x' is 'St.', which is not one"),
        (["soon", "soon"], DAY, {}, r"'x' is 'soon', not an ISO date \(2024-12-31\)"),
        (["soon", "soon"], ENDS, {}, "'x' is 'soon', not a date of the form %d.%m.%Y"),
    ],
)
def test_values_without_a_code_are_named(write_dataset, values, column, changes, message):
    assert_refused(write_dataset, message, values, column, **changes)


# Missing values --------------------------------------------------------------------


def test_one_marker_means_the_same_in_a_list(write_dataset):
    write_dataset(missing="NA")
    alone = datasets.describe("mine")
    write_dataset(missing=["NA"])
    assert datasets.describe("mine").digest == alone.digest
    write_dataset(missing=["NA", "-"])
    assert datasets.describe("mine").digest != alone.digest


# Numbers -----------------------------------------------------------------------------


def test_a_comma_may_replace_the_decimal_point(write_dataset):
    assert codes_of_column(write_dataset, ["1,9", "2", "", "9,5"], NUMBER, decimal=",") == [
        1,
        2,
        10,
        9,
    ]
    # A point would be a thousands separator.
    for values in (["1,5", "1.000"], ["", "1.000", "2"]):
        assert_refused(write_dataset, "'1.000', not a number", values, NUMBER, decimal=",")
    write_dataset(decimal=",")
    with_comma = datasets.describe("mine")
    write_dataset()
    assert datasets.describe("mine").digest != with_comma.digest
    assert Domain.from_dict(with_comma.domain.to_dict()) == with_comma.domain


# Dates -------------------------------------------------------------------------------


def test_dates_are_days_between_public_bounds(write_dataset):
    values = ["1999-05-01", "2000-01-01", "2000-01-02T23:59:59", "2000-01-11", "2000-01-10"]
    assert codes_of_column(write_dataset, values, DAY) == [0, 0, 1, 9, 9]
    mine = datasets.load("mine")
    assert mine.clipped == {"train": {"x": 0.2}}
    names = mine.domain.columns[0].bin_names
    assert names[0] == "2000-01-01 <= x < 2000-01-02"
    assert names[-1] == "2000-01-10 <= x <= 2000-01-11"
    assert Domain.from_dict(json.loads(mine.domain.to_json())) == mine.domain


def test_messages_write_dates_as_dates(write_dataset, tmp_path):
    values = ["1999-05-01", "2000-01-01", "2001-01-02"]
    assert_refused(
        write_dataset, "lie outside its bounds, 2000-01-01 to 2000-01-11: check", values, DAY
    )
    codes_of_column(write_dataset, values, {**DAY, "clipping": "expected"})
    datasets.save(datasets.load("mine"), tmp_path / "out")
    (note,) = datasets.clipping_notes(datasets.facts(tmp_path / "out") or {})
    assert (
        "67% of the values of 'x' (train) lay outside the bounds 2000-01-01 to 2000-01-11" in note
    )


def test_times_match_utc():
    assert read_day("1970-01-02") == 1
    assert read_day("1970-01-02T00:30:00+01:00") == 0
    assert read_day("1969-12-31 23:00:00.123456") == -1


# Text --------------------------------------------------------------------------------


def test_texts_fall_into_public_groups(write_dataset):
    values = ["I21", "e10.9", "E11", "Z00", "", "NA", "E12"]
    codes = codes_of_column(write_dataset, values, TEXT, missing=["NA"])
    assert codes == [HEART, SUGAR, SUGAR, OTHER, NONE, NONE, OTHER]
    domain = datasets.describe("mine").domain
    assert domain.bin_names == (("x = heart", "x = sugar", "x = other", "x = ?"),)
    assert Domain.from_dict(domain.to_dict()) == domain


@pytest.mark.parametrize("word", ["other", "?"])
def test_default_groups_are_not_patterns_of_other_groups(write_dataset, word):
    groups = {"misc": [word, "a*"]}
    assert_refused(
        write_dataset,
        "groups of 'x': other and [?] are groups",
        ["a", "b"],
        {**TEXT, "groups": groups},
    )
    assert (
        codes_of_column(write_dataset, ["a", "b", ""], {**TEXT, "groups": {word: [word, "a*"]}})[0]
        == 0
    )


def test_a_column_of_many_texts_is_not_kept_in_memory(monkeypatch):
    from privcurve.datasets.coding import texts
    from privcurve.datasets.domain import CATEGORICAL, Column, Domain, Label

    monkeypatch.setattr(texts, "MOST_REMEMBERED", 5)
    pairs = (("a*", "a"), ("other", "other"), ("?", "?"))
    column = Column("x", CATEGORICAL, categories=pairs, patterns=True)
    codes = texts.TextCodes(Domain((column,), Label("y"), missing=()), column)
    assert [codes[f"a{k}"] for k in range(100)] == [0] * 100
    assert [codes[f"b{k}"] for k in range(100)] == [1] * 100
    assert len(codes) == 6


# Parquet and gz ------------------------------------------------------------------------


def parquet(write_dataset, columns, table, **changes):
    pa.parquet.write_table(pa.table(table), "data/mine.parquet")
    write_dataset(
        files={"train": {"local": "data/mine.parquet"}},
        parser={"kind": "parquet"},
        columns=columns,
        **{"n_rows": len(next(iter(table.values()))), **changes},
    )
    return datasets.load("mine")


def test_parquet_gives_what_the_same_csv_gives(write_dataset):
    columns = [
        NUMBER | {"name": "float"},
        NUMBER | {"name": "decimal"},
        {"name": "code", "kind": "categorical", "categories": [123456789012, 7, "?"]},
        {"name": "real", "kind": "categorical", "categories": [1, "2.5", "?"]},
        {"name": "flag", "kind": "categorical", "categories": ["true", "false", "?"]},
        {"name": "town", "kind": "text", "groups": ["Malmö"]},
        DAY | {"name": "day", "missing": "bin"},
        DAY | {"name": "time", "missing": "bin"},
        DAY | {"name": "when", "missing": "bin", "format": "%d.%m.%Y"},
        {"name": "truth", "kind": "categorical", "categories": ["True", "False", "?"]},
    ]
    table = {
        "unused": [[1], [2], [3]],
        "float": [1.5, None, 9],
        "decimal": [Decimal("1.5"), None, Decimal("9.0")],
        "code": pa.array([123456789012, None, 7]),
        "real": [1.0, 2.5, None],
        "flag": [True, False, None],
        "town": pa.array(["Malmo\u0308", "Oslo", None]).dictionary_encode(),
        "day": [date(2000, 1, 2), None, date(2000, 1, 11)],
        "time": pa.array(
            [datetime(2000, 1, 2, 5), None, datetime(2000, 1, 11)], pa.timestamp("ns", "UTC")
        ),
        "when": [date(2000, 1, 2), None, date(2000, 1, 11)],
        "truth": [True, False, None],
        "sick": [True, False, True],
    }
    labels = {"column": "sick", "positive": "true", "negative": "false"}
    dataset = parquet(write_dataset, columns, table, label=labels)
    assert dataset.y.tolist() == [1, -1, 1]
    expected = [[1, 10, 9], [1, 10, 9], [0, 2, 1], [0, 1, 2], [0, 1, 2], [0, 1, 2]]
    assert dataset.X.T.tolist() == [*expected, *[[1, 10, 9]] * 3, [0, 1, 2]]


def test_a_missing_value_in_parquet_is_not_a_marker(write_dataset):
    countries = {"name": "x", "kind": "categorical", "categories": ["NA", "SE"]}
    table = {"x": ["NA", None, "SE"], "sick": ["yes", "no", "yes"]}
    with pytest.raises(DatasetError, match=r"record 2 of .*: 'x' is missing, which is not"):
        parquet(write_dataset, [countries], table, missing=["NA"])
    table |= {"x": ["NA", "SE", "SE"], "sick": ["yes", None, "NA"]}
    label = {"column": "sick", "positive": "yes", "negative": "NA"}
    with pytest.raises(DatasetError, match=r"record 2 of .* label 'sick' is missing, which is nei"):
        parquet(write_dataset, [countries], table, missing=["NA"], label=label)


@pytest.mark.parametrize(("yes", "no"), [("True", "False"), (1, 0), ("TRUE", "FALSE")])
def test_truth_values_match_the_spelling_of_the_label(write_dataset, yes, no):
    label = {"column": "sick", "positive": yes, "negative": no}
    dataset = parquet(
        write_dataset, [NUMBER], {"x": [1.0, 2.0], "sick": [True, False]}, label=label
    )
    assert dataset.y.tolist() == [1, -1]


def test_numbers_of_few_digits_equal_their_text(write_dataset):
    tenths = {**NUMBER, "bounds": [0, 1]}
    texts = ["0.1", "0.7", "0.3"]
    for kind in (np.float32, np.float16):
        values = pa.array(np.array(texts, dtype=kind))
        dataset = parquet(write_dataset, [tenths], {"x": values, "sick": ["yes", "no", "yes"]})
        assert (
            dataset.X[:, 0].tolist() == codes_of_column(write_dataset, texts, tenths) == [1, 7, 3]
        )


def test_parquet_is_read_in_pieces_and_from_the_top(write_dataset, monkeypatch):
    from privcurve.datasets.reading import table

    monkeypatch.setattr(table, "MOST_RECORDS", 3)
    values = {"x": [float(k % 10) for k in range(10)], "sick": ["yes", "no"] * 5}
    assert parquet(write_dataset, [NUMBER], values).X[:, 0].tolist() == list(range(10))
    first = parquet(write_dataset, [NUMBER], values, records={"first": 7}, n_rows=7)
    assert first.X[:, 0].tolist() == list(range(7))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"x": [[1], [2]]}, r"'x' has the type list<.*not supported in a column"),
        ({"x": ["1", "b"]}, "record 2 of data/mine.parquet: 'x' is 'b', not a number"),
        ({"y": [1, 2]}, "has no column 'x'"),
    ],
)
def test_parquet_that_does_not_fit_is_refused(write_dataset, values, message):
    with pytest.raises(DatasetError, match=message):
        parquet(write_dataset, [NUMBER], {**values, "sick": ["yes", "no"]})


def test_an_invalid_parquet_file_is_refused(write_dataset):
    write_dataset(parser={"kind": "parquet"})
    assert_load_fails(r"data/mine.csv can't be read")


# Years of two digits ------------------------------------------------------------------------

SHORT = {
    "name": "x",
    "kind": "date",
    "bounds": ["1930-01-01", "2009-12-31"],
    "n_bins": 8,
    "format": "%d.%m.%y",
}
BIRTHS = ["12.05.45", "01.01.30", "31.12.09", "29.02.00", "1.1.69", "1.1.68"]


def test_years_of_two_digits_begin_at_the_pivot(write_dataset):
    assert codes_of_column(write_dataset, BIRTHS, SHORT | {"pivot": 1930}) == [1, 0, 7, 7, 3, 3]
    later = SHORT | {"bounds": ["1969-01-01", "2048-12-31"], "pivot": 1969}
    # strptime uses the same pivot, so the checksum stays.
    assert codes_of_column(write_dataset, ["12.05.45", "1.1.69", "31.12.68"], later) == [7, 0, 7]
    assert "pivot" not in datasets.describe("mine").domain.to_json()
    # Of 1900 and 2000 only 2000 has a February 29.
    sooner = SHORT | {"bounds": ["1880-01-01", "1979-12-31"], "pivot": 1880}
    assert_refused(
        write_dataset,
        r"line 3 of .*'29.02.00', not a date of the form %d.%m.%y",
        ["1.1.79", "29.02.00"],
        sooner,
    )
    marked = SHORT | {"pivot": 1930, "missing": ["1945-05-12", "01.01.30"]}
    assert codes_of_column(write_dataset, BIRTHS[:3], marked) == [8, 8, 7]
    domain = datasets.describe("mine").domain
    assert Domain.from_dict(json.loads(json.dumps(domain.to_dict()))) == domain
    assert domain.columns[0].pivot == 1930


@pytest.mark.parametrize(
    ("form", "more", "message"),
    [
        (
            "%d.%m.%y",
            {},
            r"format of 'x', '%d.%m.%y', has years of two digits.*as pivot: 1930",
        ),
        ("%a %d.%m.%y %H:%M", {}, r"has years of two digits, but no century"),
        ("%x", {}, r"has years of two digits"),
        ("%d.%m.%Y", {"pivot": 1930}, r"pivot of 'x' is for a format with years of two digits"),
        ("iso", {"pivot": 1930}, r"pivot of 'x' is for a format with years of two digits"),
        ("%d.%m.%y", {"pivot": 1969}, r"bounds of 'x' go beyond 1969 to 2068, the years that piv"),
        (
            "%d.%m.%y",
            {"pivot": "1930"},
            r"columns.x.pivot: (must be a number; got the text '1930'|'1930' is not of type 'int)",
        ),
        ("%d.%m.%y", {"pivot": 30}, r"columns.x.pivot: 30 is less than the minimum of 1000"),
    ],
)
def test_a_format_with_short_years_and_its_pivot_belong_together(
    write_dataset, form, more, message
):
    column = SHORT | {"format": form} | more
    assert_refused(write_dataset, message, BIRTHS, column)
    with pytest.raises(DatasetError, match=message):
        _ = Schema({"x": {key: column[key] for key in column if key != "name"}}, [0, 1]).domain
