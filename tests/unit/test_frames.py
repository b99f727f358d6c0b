"""Frames without labels: coded as the rows of a file are, and refused with one message."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import numpy as np
import pandas as pd
import pyarrow
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from privcurve import datasets
from privcurve.datasets import Column, DatasetError, Domain, Label
from privcurve.datasets.coding import unlabelled
from privcurve.datasets.coding.frames import encode_frame
from privcurve.datasets.coding.transformer import DomainEncoder
from privcurve.learners import LazyBBClassifier, PrivGAMClassifier

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
    codes = encode_frame(DOMAIN, frame)
    assert codes.tolist() == CODES
    assert codes.dtype == np.uint8


def test_a_frame_is_coded_as_the_file_is():
    description = datasets.describe("wdbc")
    dataset = datasets.load("wdbc")
    from sklearn.datasets import load_breast_cancer

    frame = load_breast_cancer(as_frame=True).data
    assert set(frame.columns) >= set(description.domain.names)
    assert np.array_equal(encode_frame(dataset.domain, frame), dataset.X)
    assert np.array_equal(encode_frame(dataset.domain, frame.to_numpy()), dataset.X)
    # Pieces are encoded one by one; codes do not depend on the pieces.
    many = pd.concat([frame] * 30)
    assert np.array_equal(encode_frame(dataset.domain, many), np.tile(dataset.X, (30, 1)))


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (FRAME.drop(columns=["age", "town"]), "no columns 'age', 'town'\\. Its columns"),
        (FRAME.rename(columns={"age": "agee"}), "no column 'age'; did you mean 'agee'"),
        (FRAME.assign(smokes=2), "row 0 of the frame: 'smokes' is '2'.*4 more"),
        (FRAME.assign(age=["x"] * 5), "'age' is 'x', not a number"),
        (FRAME.assign(age=np.inf), "not a finite number"),
        (FRAME.assign(since="1970-01-01"), "not a date of the form"),
        (FRAME.assign(age=[[1]] * 5), "'age' of the frame has the type list"),
        (pd.concat([FRAME, FRAME["age"]], axis=1), "must have one column 'age'; it has 2"),
        ({name: FRAME[name][: 2 + (name == "age")] for name in FRAME}, "must have equal lengths"),
        (np.zeros((2, 3)), "must have the 4 columns"),
        (7, "must have the 4 columns"),
        ({**FRAME, "age": 50}, "'age' of the frame has the type int, not a column"),
        (FRAME.assign(town=[b"\xff"] * 5), "'town' of the frame has the type"),
    ],
)
def test_a_value_without_a_code_is_named(frame, message):
    with pytest.raises(DatasetError, match=message):
        encode_frame(DOMAIN, frame)


def test_all_faults_are_reported_at_once():
    with pytest.raises(DatasetError, match="2 problems"):
        encode_frame(DOMAIN, FRAME.assign(smokes=2, since="x"))


def of_one_column(categories, missing=("",), unknown="other", **options):
    column = Column("x", "categorical", categories=categories, **options)
    return Domain((column,), DOMAIN.label, missing=missing, unknown=unknown)


def test_a_missing_value_in_a_frame_is_not_a_marker():
    domain = of_one_column((("NA", "Namibia"), ("SE", "Sweden")), missing=("NA",), unknown="fail")
    assert encode_frame(domain, {"x": ["NA", "SE"]}).ravel().tolist() == [0, 1]
    for none in (None, float("nan"), pd.NA):
        with pytest.raises(DatasetError, match="row 1 of the frame: 'x' is missing"):
            encode_frame(domain, pd.DataFrame({"x": ["NA", none]}))


def test_masked_cells_are_missing():
    values = np.ma.array([17.5, 50.0, 99.0], mask=[False, True, False])
    domain = replace(DOMAIN, columns=DOMAIN.columns[:1])
    for frame in ({"age": values}, values.reshape(-1, 1), {"age": values.astype(object)}):
        assert encode_frame(domain, frame).ravel().tolist() == [1, 10, 9]


def test_values_of_several_types_may_be_absent_in_any_way():
    domain = of_one_column((("1", "1"), ("a", "a"), ("?", "?")))
    values = pd.Series([1, "a", None, float("nan"), pd.NA, pd.NaT], dtype=object)
    assert encode_frame(domain, {"x": values}).ravel().tolist() == [0, 1, 2, 2, 2, 2]


def test_names_of_columns_may_be_numbers():
    domain = Domain(tuple(Column(str(k), "numeric", (0.0, 10.0), 5) for k in (1, 0)), DOMAIN.label)
    assert encode_frame(domain, pd.DataFrame([[0, 9], [3, 4]])).tolist() == [[4, 0], [2, 1]]


def test_a_fit_leaves_what_scikit_learn_has_put_on_the_learner():
    """scikit-learn 1.9 sets this attribute before a fit, and needs it afterwards."""
    learner = LazyBBClassifier(epsilon=np.inf, n_bins=[2], classes=("no", "yes"), random_state=0)
    learner._parent_callback_ctx = context = object()
    learner.of_a_former_fit_ = 1
    learner.fit(np.array([[0], [1]] * 5), ["no", "yes"] * 5)
    assert learner._parent_callback_ctx is context
    assert not hasattr(learner, "of_a_former_fit_")


@pytest.mark.parametrize("learner", [LazyBBClassifier, PrivGAMClassifier])
def test_a_pipeline_begins_with_raw_columns(learner):
    rng = np.random.default_rng(0)
    frame = FRAME.loc[rng.integers(5, size=200)].reset_index(drop=True)
    frame["age"] = rng.uniform(0, 100, 200)
    label = np.where(frame["age"] > 50, "yes", "no")
    parameters = {"n_bins": DOMAIN.n_bins, "classes": DOMAIN.label.names, "random_state": 0}
    pipeline = make_pipeline(DomainEncoder(DOMAIN), learner(epsilon=np.inf, **parameters))
    assert cross_val_score(pipeline, frame, label, cv=2).mean() > 0.8
    alone = clone(pipeline[-1]).fit(encode_frame(DOMAIN, frame), label)
    fitted = pipeline.fit(frame, label)
    assert np.array_equal(fitted.predict(frame), alone.predict(encode_frame(DOMAIN, frame)))
    named = clone(pipeline).set_output(transform="pandas").fit(frame, label)
    assert named[-1].feature_names_in_.tolist() == list(DOMAIN.names)
    assert list(named[0].get_feature_names_out()) == list(DOMAIN.names)


@pytest.mark.parametrize("categories", [(("0150", "north"), ("9990", "south")), (("0*", "north"),)])
def test_numbers_in_place_of_codes_with_leading_zeros_are_refused(tmp_path, categories):
    both = (*categories, ("other", "other"), ("?", "?"))
    domain = Domain((Column("zip", "categorical", categories=both, patterns=True),), DOMAIN.label)
    result = "'zip' holds numbers .*leading zeros numbers have lost: read or write it as text"
    path = tmp_path / "new.parquet"
    for kind in ("int64", "Int64", "float32"):
        frame = pd.DataFrame({"zip": [150, 9990]}).astype(kind)
        with pytest.raises(DatasetError, match=result):
            encode_frame(domain, frame)
        frame.to_parquet(path)
        with pytest.raises(DatasetError, match=result):
            list(unlabelled.read_codes(domain, path).parts)
    codes = encode_frame(domain, pd.DataFrame({"zip": ["0150", None]}))[:, 0].tolist()
    assert codes == [0, domain.columns[0].titles.index("?")]


def test_a_day_among_categories_is_written_without_a_time():
    domain = of_one_column((("2024-01-01", "new year"), ("other", "other")))
    frame = pd.DataFrame({"x": [date(2024, 1, 1), date(2024, 1, 2)]})
    assert encode_frame(domain, frame)[:, 0].tolist() == [0, 1]


def test_infinity_may_mark_a_missing_value_in_a_frame():
    domain = replace(DOMAIN, columns=DOMAIN.columns[:1], missing=("", "inf"))
    for ages in (["inf", "5", ""], [np.inf, 5, np.nan], ["Infinity", "5", None]):
        assert encode_frame(domain, pd.DataFrame({"age": ages}))[:, 0].tolist() == [10, 0, 10]
    with pytest.raises(DatasetError, match="-inf, not a finite number"):
        encode_frame(domain, pd.DataFrame({"age": [-np.inf, np.inf]}))


def test_no_records_give_no_codes():
    none = {name: [] for name in DOMAIN.names}
    assert encode_frame(DOMAIN, none).shape == (0, len(DOMAIN.columns))
    assert encode_frame(DOMAIN, FRAME[:0]).shape == (0, len(DOMAIN.columns))


def test_columns_of_different_indexes_are_reported():
    columns = dict(FRAME.items())
    assert encode_frame(DOMAIN, columns).tolist() == CODES
    with pytest.warns(UserWarning, match="have different indexes: they are joined by position"):
        encode_frame(DOMAIN, {**columns, "age": columns["age"][::-1]})


def test_a_table_of_arrow_is_a_frame():
    table = pyarrow.Table.from_pandas(FRAME)
    assert encode_frame(DOMAIN, table).tolist() == CODES
    assert encode_frame(DOMAIN, pyarrow.concat_tables([table, table])).tolist() == CODES * 2
    twice = table.append_column("age", table["age"])
    with pytest.raises(DatasetError, match="must have one column 'age'; it has 2"):
        encode_frame(DOMAIN, twice)
