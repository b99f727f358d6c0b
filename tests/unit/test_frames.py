"""Frames without labels: coded as the rows of a file are, and refused with one message."""

from __future__ import annotations

import csv
from dataclasses import replace
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from privcurve import datasets
from privcurve.datasets import Column, DatasetError, Domain, Label, unlabelled
from privcurve.datasets.encoder import DomainEncoder
from privcurve.learners import LazyBBClassifier, PrivGAMClassifier

AHEAD = timezone(timedelta(hours=1))
TOWNS = (("Oslo", "Oslo"), ("Rome, north", "Rome"), ("other", "other"), ("?", "?"))
DOMAIN = Domain(
    (
        Column("age", "numeric", (0.0, 100.0), 10, missing_bin=True),
        Column("town", "categorical", categories=TOWNS),
        Column("since", "numeric", (0.0, 3653.0), 10, missing_bin=True, dates="%d.%m.%Y"),
        Column("smokes", "categorical", categories=(("0", "no"), ("1", "yes"))),
    ),
    Label("sick", "no", "yes"),
    missing=("NA", "-9"),
    unknown="other",
)
FRAME = pd.DataFrame(
    {
        "note": ["a", "b", "c", "d", "e"],
        "smokes": [0, 1, 1, 0, 1],
        "town": ["Oslo", "Paris", None, "Rome, north", "NA"],
        "age": [17.5, np.nan, 130.0, -9.0, 100.0],
        "since": ["1.1.1970", "NA", "31.12.1979", "1.1.1971", "1.1.1980"],
    }
)
CODES = [[1, 0, 0, 0], [10, 2, 10, 1], [9, 3, 9, 1], [10, 1, 0, 0], [9, 3, 9, 1]]


def as_they_come():
    yield FRAME
    yield FRAME.iloc[:, ::-1].set_index("note")
    yield {name: FRAME[name].tolist() for name in FRAME}
    yield FRAME.astype({"town": "category", "smokes": "string", "age": "Float64"})
    yield FRAME.assign(age=["17.5", "NA", "130", "-9.0", "1e2"], smokes=[0.0, 1.0, 1.0, 0.0, 1.0])
    yield FRAME.assign(since=pd.to_datetime(FRAME["since"], format="%d.%m.%Y", errors="coerce"))
    days = [date(1970, 1, 1), None, date(1979, 12, 31), date(1971, 1, 1), date(1980, 1, 1)]
    yield FRAME.assign(since=days, age=[17.5, "NA", 130, None, "100"])


@pytest.mark.parametrize("frame", list(as_they_come()))
def test_a_frame_is_coded_whatever_its_types(frame):
    codes = DOMAIN.encode(frame)
    assert codes.tolist() == CODES
    assert codes.dtype == np.uint8


def test_a_frame_is_coded_as_the_file_is():
    description = datasets.describe("wdbc")
    dataset = datasets.load("wdbc")
    from sklearn.datasets import load_breast_cancer

    frame = load_breast_cancer(as_frame=True).data
    assert set(frame.columns) >= set(description.domain.names)
    assert np.array_equal(dataset.domain.encode(frame), dataset.X)
    assert np.array_equal(dataset.domain.encode(frame.to_numpy()), dataset.X)
    # Pieces are coded one by one, and no code depends on the piece.
    many = pd.concat([frame] * 30)
    assert np.array_equal(dataset.domain.encode(many), np.tile(dataset.X, (30, 1)))


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (FRAME.drop(columns=["age", "town"]), "no columns 'age', 'town', which the model asks for"),
        (
            FRAME.rename(columns={"age": "agee"}),
            "no column 'age', which the model asks for; did you mean 'agee'",
        ),
        (FRAME.assign(smokes=2), "row 0 of the frame: 'smokes' is '2'.*4 more"),
        (FRAME.assign(age=["x"] * 5), "'age' is 'x', not a number"),
        (FRAME.assign(age=np.inf), "not a finite number"),
        (FRAME.assign(since="1970-01-01"), "not a date of the form"),
        (FRAME.assign(age=[[1]] * 5), "'age' of the frame is of the type list"),
        (pd.concat([FRAME, FRAME["age"]], axis=1), "more than one column 'age'"),
        ({name: FRAME[name][: 2 + (name == "age")] for name in FRAME}, "different lengths"),
        (np.zeros((2, 3)), "does not have the 4 columns"),
        (7, "does not have the 4 columns"),
        ({**FRAME, "age": 50}, "'age' of the frame is of the type int, not a column"),
        (FRAME.assign(town=[b"\xff"] * 5), "'town' of the frame is of the type"),
    ],
)
def test_what_has_no_code_is_named(frame, message):
    with pytest.raises(DatasetError, match=message):
        DOMAIN.encode(frame)


def test_all_faults_are_told_at_once():
    with pytest.raises(DatasetError, match="2 problems"):
        DOMAIN.encode(FRAME.assign(smokes=2, since="x"))


def of_one_column(categories, missing=("",), unknown="other", **options):
    column = Column("x", "categorical", categories=categories, **options)
    return Domain((column,), DOMAIN.label, missing=missing, unknown=unknown)


@pytest.mark.parametrize(
    ("yes", "no", "patterns"),
    [("true", "false", False), ("True", "False", False), ("1", "0", False), ("TRUE", "F*", True)],
)
def test_truth_values_are_those_that_a_file_of_text_spells(yes, no, patterns):
    listed = ((yes, "yes"), (no, "no"), ("other", "other"), ("?", "?"))
    domain = of_one_column(listed, patterns=patterns)
    for values in ([True, False, None], pd.array([True, False, None], dtype="boolean")):
        assert domain.encode({"x": values}).ravel().tolist() == [0, 1, 3]
    # What reads a file of text makes truth values of such words.
    spelt = [yes, no.replace("*", "ALSE"), ""]
    assert domain.encode({"x": spelt}).ravel().tolist() == [0, 1, 3]


@pytest.mark.parametrize("patterns", [False, True])
def test_what_is_absent_is_no_category_that_bears_the_word(patterns):
    listed = (("none", "none"), ("some", "some"), ("other", "other"), ("?", "?"))
    domain = of_one_column(listed, missing=("none", "NA"), patterns=patterns)
    frame = pd.DataFrame({"x": ["some", None, "NA", "none"]})
    assert domain.encode(frame).ravel().tolist() == [1, 3, 3, 0]


def test_no_value_in_a_frame_is_no_word_for_it():
    domain = of_one_column((("NA", "Namibia"), ("SE", "Sweden")), missing=("NA",), unknown="fail")
    assert domain.encode({"x": ["NA", "SE"]}).ravel().tolist() == [0, 1]
    for none in (None, float("nan"), pd.NA):
        with pytest.raises(DatasetError, match="row 1 of the frame: 'x' is missing"):
            domain.encode(pd.DataFrame({"x": ["NA", none]}))


@pytest.mark.parametrize(("marker", "cell"), [("-999", -999.0), ("-999.0", -999)])
def test_a_number_that_means_missing_does_so_in_groups_of_texts(marker, cell):
    groups = (("i*", "i"), ("other",) * 2, ("?",) * 2)
    domain = of_one_column(groups, missing=(marker,), patterns=True)
    for cells in ([cell, cell], ["I21", cell], [cell, None, "I21"]):
        codes = [0 if cell == "I21" else 2 for cell in cells]
        assert domain.encode({"x": cells}).ravel().tolist() == codes


def test_what_is_masked_is_missing():
    values = np.ma.array([17.5, 50.0, 99.0], mask=[False, True, False])
    column = Column("x", "numeric", (0.0, 100.0), 10, missing_bin=True)
    domain = Domain((column,), DOMAIN.label)
    for frame in ({"x": values}, values.reshape(-1, 1), {"x": values.astype(object)}):
        assert domain.encode(frame).ravel().tolist() == [1, 10, 9]


@pytest.mark.parametrize(
    ("cells", "others"),
    [
        ([Decimal("1.50")], [Decimal("2.125")]),
        ([1.5], ["2,5"]),
        ([True], [2.5]),
        ([1e20], ["x"]),
        ([np.float32(0.1)], ["x"]),
        ([datetime(2020, 1, 31, 10, 30)], [date(2020, 1, 31)]),
        ([datetime(2020, 1, 31, 0, 30, tzinfo=AHEAD)], ["2020-01-30"]),
        ([2**70], [1]),
    ],
)
def test_a_value_means_the_same_beside_values_of_other_types(cells, others):
    listed = ("1,5", "2.5", "true", "100000000000000000000", "0,1", "2020-01-31", "other", "?")
    column = Column("x", "categorical", categories=tuple((text, text) for text in listed))
    for each in (column, replace(column, patterns=True)):
        domain = Domain((each,), DOMAIN.label, unknown="other", decimal=",")
        alone = domain.encode({"x": cells})[0, 0]
        assert domain.encode({"x": [*cells, *others]})[0, 0] == alone
        assert domain.encode({"x": [*others, *cells]})[1, 0] == alone
        assert domain.encode([[cell] for cell in [*cells, *others]])[0, 0] == alone


def test_values_of_several_types_may_be_absent_in_any_way():
    domain = of_one_column((("1", "1"), ("a", "a"), ("?", "?")))
    values = pd.Series([1, "a", None, float("nan"), pd.NA, pd.NaT], dtype=object)
    assert domain.encode({"x": values}).ravel().tolist() == [0, 1, 2, 2, 2, 2]


KINDS = [
    (Column("x", "numeric", (-5.0, 5.0), 7, missing_bin=True), ["1.25", "-7", "3e0", "4.999"]),
    (Column("x", "numeric", (0.0, 9.0), 5, missing_bin=True), ["1", "12", "7"]),
    (Column("x", "categorical", categories=TOWNS), ["Oslo", "oslo", "Rome, north", "Åre"]),
    (
        Column("x", "categorical", categories=tuple((v, v) for v in ("1", "-3", "other", "?"))),
        ["1", "-3", "4"],
    ),
    (
        Column("x", "categorical", categories=tuple((v, v) for v in ("True", "False", "?"))),
        ["True", "False"],
    ),
    (
        Column(
            "x",
            "categorical",
            categories=(("i*", "i"), ("1", "1"), ("true", "t"), ("other",) * 2, ("?",) * 2),
            patterns=True,
        ),
        ["I2", "1", "TRUE", "Xi"],
    ),
    (
        Column("x", "numeric", (18000.0, 19000.0), 5, missing_bin=True, dates="iso"),
        ["2020-01-31", "2010-01-01", "2021-12-05"],
    ),
    (
        Column("x", "numeric", (18000.0, 19000.0), 5, missing_bin=True, dates="%d.%m.%Y"),
        ["31.01.2020", "01.01.2010", "05.12.2021"],
    ),
]


@pytest.mark.parametrize("seed", range(6))
def test_file_and_frame_have_the_same_codes_whatever_reads_them(seed, tmp_path):
    rng = np.random.default_rng(seed)
    missing = (("",), ("NA", ""), ("?", ""))[seed % 3]
    columns, texts = [], {}
    for k in rng.permutation(len(KINDS)):
        column, values = KINDS[k]
        columns.append(replace(column, name=f"x{k}"))
        gaps = missing if rng.random() < 0.5 else ()
        texts[f"x{k}"] = [str(rng.choice([*values, *gaps])) for _ in range(6)]
    domain = Domain(tuple(columns), DOMAIN.label, missing=missing, unknown="other")
    path = tmp_path / "new.csv"
    pd.DataFrame(texts).to_csv(path, index=False)
    (expected,) = unlabelled.read_codes(domain, path).pieces
    plain = pd.read_csv(path, na_values=list(missing), keep_default_na=False)
    typed = plain.convert_dtypes()
    for column in columns:
        if column.dates:
            form = "ISO8601" if column.dates == "iso" else column.dates
            typed[column.name] = pd.to_datetime(plain[column.name], format=form)
    for frame in (texts, plain, plain.astype(object), plain.astype("category"), typed):
        assert np.array_equal(domain.encode(frame), expected)
    for frame in (plain, typed.iloc[:, ::-1]):
        frame.to_parquet(tmp_path / "new.parquet")
        (found,) = unlabelled.read_codes(domain, tmp_path / "new.parquet").pieces
        assert np.array_equal(found, expected)


def test_names_of_columns_may_be_numbers():
    domain = Domain(tuple(Column(str(k), "numeric", (0.0, 10.0), 5) for k in (1, 0)), DOMAIN.label)
    assert domain.encode(pd.DataFrame([[0, 9], [3, 4]])).tolist() == [[4, 0], [2, 1]]


@pytest.mark.parametrize("learner", [LazyBBClassifier, PrivGAMClassifier])
def test_a_pipeline_begins_with_raw_columns(learner):
    rng = np.random.default_rng(0)
    frame = FRAME.loc[rng.integers(5, size=200)].reset_index(drop=True)
    frame["age"] = rng.uniform(0, 100, 200)
    label = np.where(frame["age"] > 50, "yes", "no")
    known = {"n_bins": DOMAIN.n_bins, "classes": DOMAIN.label.names, "random_state": 0}
    pipeline = make_pipeline(DomainEncoder(DOMAIN), learner(epsilon=np.inf, **known))
    assert cross_val_score(pipeline, frame, label, cv=2).mean() > 0.8
    alone = clone(pipeline[-1]).fit(DOMAIN.encode(frame), label)
    fitted = pipeline.fit(frame, label)
    assert np.array_equal(fitted.predict(frame), alone.predict(DOMAIN.encode(frame)))
    named = clone(pipeline).set_output(transform="pandas").fit(frame, label)
    assert named[-1].feature_names_in_.tolist() == list(DOMAIN.names)
    assert list(named[0].get_feature_names_out()) == list(DOMAIN.names)


def test_raw_files_in_pieces_are_coded_too(tmp_path):
    from privcurve.datasets.readers.table import RawTable

    FRAME.to_csv(tmp_path / "new.csv", index=False, na_rep="NA")
    with (tmp_path / "new.csv").open(newline="") as stream:
        fields, *rows = csv.reader(stream)
    columns = dict(zip(fields, map(list, zip(*rows, strict=True)), strict=True))
    assert DOMAIN.encode(RawTable("new.csv", columns, range(2, 7))).tolist() == CODES


@pytest.mark.parametrize("categories", [(("0150", "north"), ("9990", "south")), (("0*", "north"),)])
def test_numbers_in_place_of_codes_with_leading_zeros_are_refused(tmp_path, categories):
    both = (*categories, ("other", "other"), ("?", "?"))
    domain = Domain(
        (Column("zip", "categorical", categories=both, patterns=True),), Label("y", "no", "yes")
    )
    says = "'zip' holds numbers .*leading zeros numbers have lost: read or write it as text"
    path = tmp_path / "new.parquet"
    for kind in ("int64", "Int64", "float32"):
        frame = pd.DataFrame({"zip": [150, 9990]}).astype(kind)
        with pytest.raises(DatasetError, match=says):
            domain.encode(frame)
        frame.to_parquet(path)
        with pytest.raises(DatasetError, match=says):
            list(unlabelled.read_codes(domain, path).pieces)
    assert domain.encode(pd.DataFrame({"zip": ["0150", None]}))[:, 0].tolist() == [
        0,
        domain.columns[0].titles.index("?"),
    ]


def test_a_day_among_categories_is_written_without_a_time():
    days = (("2024-01-01", "new year"), ("other", "other"))
    domain = Domain(
        (Column("day", "categorical", categories=days),), Label("y", "no", "yes"), unknown="other"
    )
    frame = pd.DataFrame({"day": [date(2024, 1, 1), date(2024, 1, 2)]})
    assert domain.encode(frame)[:, 0].tolist() == [0, 1]


def test_an_infinite_number_that_stands_for_a_missing_one_is_one_in_a_frame_too():
    column = Column("age", "numeric", (0.0, 100.0), 10, missing_bin=True)
    domain = Domain((column,), Label("y", "no", "yes"), missing=("", "inf"))
    for ages in (["inf", "5", ""], [np.inf, 5, np.nan], ["Infinity", "5", None]):
        assert domain.encode(pd.DataFrame({"age": ages}))[:, 0].tolist() == [10, 0, 10]
    with pytest.raises(DatasetError, match="-inf, not a finite number"):
        domain.encode(pd.DataFrame({"age": [-np.inf, np.inf]}))


def test_a_table_of_arrow_is_a_frame():
    table = pyarrow.Table.from_pandas(FRAME)
    assert DOMAIN.encode(table).tolist() == CODES
    assert DOMAIN.encode(pyarrow.concat_tables([table, table])).tolist() == CODES * 2
    twice = table.append_column("age", table["age"])
    with pytest.raises(DatasetError, match="more than one column 'age'"):
        DOMAIN.encode(twice)
