"""What Python hands over: rows that name their columns, and labels whose type comes back."""

import json
import warnings
from datetime import UTC, date, datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow
import pytest
from scipy.sparse import csr_array, dok_array
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import BaggingClassifier, StackingClassifier, VotingClassifier
from sklearn.impute import SimpleImputer
from sklearn.metrics import accuracy_score
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import privcurve
from privcurve import NoisyBayesClassifier, PrivGAMClassifier, Schema
from privcurve.datasets import DatasetError
from privcurve.datasets.coding.transformer import DomainEncoder
from privcurve.models import ModelError, text

RNG = np.random.default_rng(0)
N = 300
# The schema has these columns in the other order.
FRAME = pd.DataFrame({"b": RNG.uniform(0, 10, N), "a": RNG.uniform(0, 10, N)})
SIGN = (FRAME.a > 5).to_numpy().astype(int)
Y = np.where(SIGN, "yes", "no")
COLUMNS = {"a": (0, 10), "b": (0, 10)}
REFUSED = r"must name their columns \(a, b\).*set_output\(transform=\"pandas\"\).*in_order"


def learner(label=("no", "yes"), columns=COLUMNS, **more):
    schema = Schema(columns, label=list(label), **more)
    return PrivGAMClassifier(epsilon=50, schema=schema, random_state=np.random.default_rng(1))


@pytest.fixture(scope="module")
def fitted():
    return learner().fit(FRAME, Y)


@pytest.fixture(scope="module")
def loaded(fitted, tmp_path_factory):
    return stored(fitted, tmp_path_factory.mktemp("models"))


def stored(model, folder):
    privcurve.save(folder / "model.json", model)
    return privcurve.load(folder / "model.json")


# Columns --------------------------------------------------------------------------------


def unnamed():
    array = FRAME.to_numpy()
    yield array
    yield array.tolist()
    yield array.astype(object)
    yield np.ma.array(array)
    yield pd.DataFrame(array)
    yield csr_array(array)
    yield FRAME.iloc[0]
    yield [dict(row) for row in FRAME.head(3).to_dict("records")]
    yield None


@pytest.mark.parametrize("rows", list(unnamed()), ids=lambda rows: type(rows).__name__)
def test_rows_without_names_are_not_taken_in_the_order_of_the_schema(rows, fitted, loaded):
    doors = [
        lambda: learner().fit(rows, Y),
        lambda: fitted.predict(rows),
        lambda: fitted.predict_proba(rows),
        lambda: fitted.decision_function(rows),
        lambda: fitted.score(rows, Y),
        lambda: fitted.schema.encode(rows),
        lambda: loaded.predict_frame(rows),
        lambda: DomainEncoder(fitted.schema.domain).transform(rows),
    ]
    for door in doors:
        with pytest.raises(DatasetError, match=REFUSED):
            door()
    for answer in (loaded.predict, loaded.predict_proba, loaded.decision_function):
        with pytest.raises((DatasetError, ModelError), match=r"names of their columns|must name"):
            answer(rows)


def test_a_pipeline_that_forgets_the_names_does_not_exchange_columns():
    with pytest.raises(DatasetError, match=REFUSED):
        make_pipeline(SimpleImputer(), learner()).fit(FRAME, Y)
    with pytest.raises(DatasetError, match=REFUSED):
        cross_val_score(make_pipeline(SimpleImputer(), learner()), FRAME, Y, error_score="raise")
    split = ColumnTransformer(
        [("rest", "passthrough", ["b", "a"])], verbose_feature_names_out=False
    )
    for step in (SimpleImputer(), split, FunctionTransformer(feature_names_out="one-to-one")):
        named = make_pipeline(step.set_output(transform="pandas"), learner())
        assert named.fit(FRAME, Y).score(FRAME, Y) > 0.95
        assert cross_val_score(named, FRAME, Y, cv=2).min() > 0.9
    assert list(named[-1].explain().importances) == ["a", "b"]


def named_forms():
    table = pyarrow.Table.from_pandas(FRAME)
    yield FRAME
    yield FRAME[["a", "b"]].assign(c="x")
    yield table
    yield table.to_batches()[0]
    yield FRAME.to_dict("list")
    yield FRAME.to_records(index=False)
    yield FRAME.astype(pd.SparseDtype(float))


@pytest.mark.parametrize("rows", list(named_forms()), ids=lambda rows: type(rows).__name__)
def test_rows_with_names_are_taken_by_name(rows, fitted, loaded):
    model = learner().fit(rows, Y)
    assert model.score(rows, Y) == fitted.score(FRAME, Y) > 0.95
    assert list(model.feature_names_in_) == ["a", "b"]
    assert (loaded.predict(rows) == fitted.predict(FRAME)).all()
    assert (loaded.predict_frame(rows) == fitted.predict(FRAME)).all()


def test_names_that_do_not_tell_columns_apart_are_refused(fitted):
    twice = pd.concat([FRAME, FRAME.a], axis=1)
    with pytest.raises(DatasetError, match="2 columns 'a'"):
        fitted.predict(twice)
    with pytest.raises(DatasetError, match="no columns 'a', 'b'"):
        fitted.predict(FRAME.set_axis(["x", "y"], axis=1))


def test_the_order_is_the_schemas_where_its_owner_says_so(tmp_path):
    array = FRAME[["a", "b"]].to_numpy()
    model = learner(unnamed="in_order")
    for rows in (array, array.tolist(), pd.DataFrame(array), csr_array(array).toarray()):
        fit = clone(model).fit(rows, Y)
        assert not hasattr(fit, "feature_names_in_")
        assert fit.score(rows, Y) == fit.score(FRAME, Y) > 0.95
    assert list(fit.explain().importances) == ["a", "b"]
    assert clone(model).schema.unnamed == "in_order" != Schema(COLUMNS, ["no", "yes"]).unnamed
    # Of frames names count all the same, and whoever has the file does not know the order.
    assert clone(model).fit(FRAME, Y).score(FRAME, Y) > 0.95
    read = stored(fit, tmp_path)
    assert (read.predict(FRAME) == fit.predict(array)).all()
    with pytest.raises(DatasetError, match="must name their columns"):
        read.predict_frame(array)
    assert cross_val_score(make_pipeline(SimpleImputer(), model), array, Y, cv=2).min() > 0.9
    with pytest.raises(DatasetError, match=r"shape \(300, 3\) does not have the 2 columns"):
        model.fit(np.hstack([array, array[:, :1]]), Y)
    with pytest.raises(DatasetError, match=r"unnamed must be 'fail' or 'in_order'; got 'any'"):
        learner(unnamed="any")
    assert Schema(COLUMNS, ["no", "yes"]) != model.schema


def test_one_column_has_one_order():
    model = learner(columns={"a": (0, 10)}).fit(FRAME[["a"]].to_numpy(), Y)
    assert model.score(FRAME, Y) > 0.95
    assert not hasattr(model, "feature_names_in_")


class LazyFrame:
    """Stands for a query of polars, which is not installed here."""

    columns = ("a", "b")

    def collect(self):
        raise AssertionError


class DuckDBPyRelation:
    """Stands for a query of DuckDB."""

    columns = ("a", "b")

    def df(self):
        raise AssertionError


@pytest.mark.parametrize(("kind", "way"), [(LazyFrame, "collect"), (DuckDBPyRelation, "df")])
def test_a_query_has_no_rows(kind, way, fitted, loaded):
    query, says = kind(), rf"{kind.__name__}, which is a query: give its table, \.{way}\(\)"
    for door in (
        lambda: fitted.predict(query),
        lambda: loaded.predict_frame(query),
        lambda: loaded.predict(query),
        lambda: PrivGAMClassifier(n_bins=3).fit(query, Y),
        lambda: Schema.draft(query, "a"),
    ):
        with pytest.raises(ValueError, match=f"must be in memory; got a {says}"):
            door()


@pytest.mark.parametrize(
    ("values", "says"),
    [
        (pd.Series(pd.period_range("2000-01", periods=N, freq="M")), r"Period.*\.dt\.to_timestamp"),
        (pd.Series(pd.to_timedelta(FRAME.a, unit="D")), r"duration\[ns\].*\.dt\.total_seconds"),
        (np.array([pd.Timedelta(1, "D")] * N, dtype=object), r"Timedelta.*\.dt\.total_seconds"),
    ],
)
def test_spans_of_time_are_no_column(values, says):
    for can in ((0, 9), ("2000-01-01", "2030-01-01"), ["1 days", "2000-01"]):
        with pytest.raises(DatasetError, match=f"'a' of the frame is of the type {says}"):
            Schema({"a": can}, ["no", "yes"]).encode({"a": values})
    with pytest.warns(UserWarning, match="the draft leaves out 'a'"):
        assert Schema.draft(pd.DataFrame({"a": values, "x": FRAME.a, "y": Y}), "y").names == ["x"]
