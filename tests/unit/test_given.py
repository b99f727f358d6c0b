"""Data from Python: rows with column names, and labels whose type predictions return."""

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
from privcurve.privacy.ledger import ASSUMED_POSITIONS

RNG = np.random.default_rng(0)
N = 300
# The schema has these columns in the reverse order.
FRAME = pd.DataFrame({"b": RNG.uniform(0, 10, N), "a": RNG.uniform(0, 10, N)})
SIGN = (FRAME.a > 5).to_numpy().astype(int)
Y = np.where(SIGN, "yes", "no")
COLUMNS = {"a": (0, 10), "b": (0, 10)}
REFUSED = r"must name their columns \(a, b\).*set_output\(transform=\"pandas\"\).*in_order"


def learner(label=("no", "yes"), columns=COLUMNS, **more):
    schema = Schema(columns, label=list(label), **more)
    return PrivGAMClassifier(epsilon=50, schema=schema, random_state=np.random.default_rng(1))


@pytest.fixture(scope="module")
def fitted_model():
    return learner().fit(FRAME, Y)


@pytest.fixture(scope="module")
def loaded_model(fitted_model, tmp_path_factory):
    return save_and_load(fitted_model, tmp_path_factory.mktemp("models"))


def save_and_load(model, folder):
    privcurve.save(folder / "model.json", model)
    return privcurve.load(folder / "model.json")


# Columns --------------------------------------------------------------------------------


def rows_without_names():
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


@pytest.mark.parametrize("rows", list(rows_without_names()), ids=lambda rows: type(rows).__name__)
def test_rows_without_names_are_not_taken_in_the_order_of_the_schema(
    rows, fitted_model, loaded_model
):
    doors = [
        lambda: learner().fit(rows, Y),
        lambda: fitted_model.predict(rows),
        lambda: fitted_model.predict_proba(rows),
        lambda: fitted_model.decision_function(rows),
        lambda: fitted_model.score(rows, Y),
        lambda: fitted_model.schema.encode(rows),
        lambda: loaded_model.predict_frame(rows),
        lambda: DomainEncoder(fitted_model.schema.domain).transform(rows),
    ]
    for door in doors:
        with pytest.raises(DatasetError, match=REFUSED):
            door()
    for answer in (
        loaded_model.predict,
        loaded_model.predict_proba,
        loaded_model.decision_function,
    ):
        with pytest.raises((DatasetError, ModelError), match=r"column names|must name"):
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
def test_rows_with_names_are_taken_by_name(rows, fitted_model, loaded_model):
    model = learner().fit(rows, Y)
    assert model.score(rows, Y) == fitted_model.score(FRAME, Y) > 0.95
    assert list(model.feature_names_in_) == ["a", "b"]
    assert (loaded_model.predict(rows) == fitted_model.predict(FRAME)).all()
    assert (loaded_model.predict_frame(rows) == fitted_model.predict(FRAME)).all()


def test_duplicate_column_names_are_refused(fitted_model):
    twice = pd.concat([FRAME, FRAME.a], axis=1)
    with pytest.raises(DatasetError, match="must have one column 'a'; it has 2"):
        fitted_model.predict(twice)
    with pytest.raises(DatasetError, match="must have the columns 'a', 'b'; no required column"):
        fitted_model.predict(FRAME.set_axis(["x", "y"], axis=1))


def test_with_in_order_the_schema_gives_the_order(tmp_path):
    array = FRAME[["a", "b"]].to_numpy()
    model = learner(unnamed="in_order")
    for rows in (array, array.tolist(), pd.DataFrame(array), csr_array(array).toarray()):
        fit = clone(model).fit(rows, Y)
        assert not hasattr(fit, "feature_names_in_")
        assert fit.score(rows, Y) == fit.score(FRAME, Y) > 0.95
    assert list(fit.explain().importances) == ["a", "b"]
    assert clone(model).schema.unnamed == "in_order" != Schema(COLUMNS, ["no", "yes"]).unnamed
    # A frame is read by its names; a reader of the file need not know the order.
    assert clone(model).fit(FRAME, Y).score(FRAME, Y) > 0.95
    read = save_and_load(fit, tmp_path)
    assert (read.predict(FRAME) == fit.predict(array)).all()
    with pytest.raises(DatasetError, match="must name their columns"):
        read.predict_frame(array)
    assert cross_val_score(make_pipeline(SimpleImputer(), model), array, Y, cv=2).min() > 0.9
    bagging = BaggingClassifier(model, 3).fit(FRAME[["a", "b"]], Y)
    assert bagging.score(FRAME[["a", "b"]], Y) > 0.95
    with pytest.raises(DatasetError, match=r"must have the 2 columns .* got the shape \(300, 3\)"):
        model.fit(np.hstack([array, array[:, :1]]), Y)
    with pytest.raises(DatasetError, match=r"unnamed must be 'fail' or 'in_order'; got 'any'"):
        learner(unnamed="any")
    assert Schema(COLUMNS, ["no", "yes"]) != model.schema


def test_one_column_has_one_order():
    model = learner(columns={"a": (0, 10)}).fit(FRAME[["a"]].to_numpy(), Y)
    assert model.score(FRAME, Y) > 0.95
    assert not hasattr(model, "feature_names_in_")


class LazyFrame:
    """A fake query of polars, which is not installed here."""

    columns = ("a", "b")

    def collect(self):
        raise AssertionError


class DuckDBPyRelation:
    """A fake query of DuckDB."""

    columns = ("a", "b")

    def df(self):
        raise AssertionError


ABSENT = [None, float("nan"), np.float32("nan"), pd.NA, pd.NaT, np.datetime64("NaT")]


@pytest.mark.parametrize("absent", ABSENT, ids=repr)
def test_a_missing_value_is_no_category_and_no_class(absent):
    """`list(frame["town"].unique())` contains nan where a town is missing."""
    asks = "labels and categories must be values; got .* a missing one: drop it"
    for can in (["Oslo", absent], {"categories": ["Oslo", absent]}, {"groups": ["Oslo", absent]}):
        with pytest.raises(DatasetError, match=asks):
            Schema({"town": can}, ["no", "yes"])
    for label in ([absent, 1], [0, 1, absent], {"negative": [0], "positive": [absent]}):
        with pytest.raises(DatasetError, match=asks):
            Schema(COLUMNS, label)
    learner = NoisyBayesClassifier(n_bins=2, classes=[0, absent])
    with pytest.raises(ValueError, match=r"classes must be labels; got .*: a missing value is no"):
        learner.fit([[0], [1]], [0, 0])


@pytest.mark.parametrize(("kind", "way"), [(LazyFrame, "collect"), (DuckDBPyRelation, "df")])
def test_a_query_has_no_rows(kind, way, fitted_model, loaded_model):
    query, result = kind(), rf"{kind.__name__}, which is a query: give its table, \.{way}\(\)"
    for door in (
        lambda: fitted_model.predict(query),
        lambda: loaded_model.predict_frame(query),
        lambda: loaded_model.predict(query),
        lambda: PrivGAMClassifier(n_bins=3).fit(query, Y),
        lambda: learner().fit(FRAME, query),
        lambda: Schema.draft(query, "a"),
    ):
        with pytest.raises(ValueError, match=f"must be in memory; got a {result}"):
            door()


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (pd.Series(pd.period_range("2000-01", periods=N, freq="M")), r"Period.*\.dt\.to_timestamp"),
        (pd.Series(pd.to_timedelta(FRAME.a, unit="D")), r"duration\[ns\].*\.dt\.total_seconds"),
        (np.array([pd.Timedelta(1, "D")] * N, dtype=object), r"Timedelta.*\.dt\.total_seconds"),
    ],
)
def test_spans_of_time_are_no_column(values, message):
    for can in ((0, 9), ("2000-01-01", "2030-01-01"), ["1 days", "2000-01"]):
        with pytest.raises(DatasetError, match=f"'a' of the frame has the type {message}"):
            Schema({"a": can}, ["no", "yes"]).encode({"a": values})
    with pytest.raises(DatasetError, match=r"must be texts.*got (Timedelta|Period)"):
        Schema({"a": list(values[:1])}, ["no", "yes"])
    with pytest.warns(UserWarning, match="the draft leaves out 'a'"):
        assert Schema.draft(pd.DataFrame({"a": values, "x": FRAME.a, "y": Y}), "y").names == ["x"]


# Labels ---------------------------------------------------------------------------------


def pick(*values):
    """Return labels as an array of dtype object."""
    labels = np.empty(N, dtype=object)
    labels[:] = [values[k] for k in SIGN]
    return labels


DAYS = ["2020-01-01", "2020-06-01"]
DECIMALS = [Decimal("0.10"), Decimal("1.5")]
DATES = [date(2020, 1, 1), date(2020, 6, 1)]
LABELS = {
    "numbers": ([0, 1], SIGN, int),
    "texts of numbers": ([0, 1], np.where(SIGN, "1", "0"), str),
    "objects of texts of numbers": ([0, 1], pick("0", "1"), str),
    "numbers of texts": (["0", "1"], SIGN, int),
    "floats": ([0, 1], SIGN * 1.0, int),
    "floats of texts": (["0", "1"], SIGN * 1.0, int),
    "float32 of texts": (["0", "1"], SIGN.astype(np.float32), float),
    "numbers of floats": ([0.0, 1.0], SIGN, int),
    "floats of floats": ([0.0, 1.0], SIGN * 1.0, float),
    "Int64": ([0, 1], pd.Series(SIGN, dtype="Int64"), int),
    "pyarrow": (["0", "1"], pd.Series(SIGN).astype("int64[pyarrow]"), int),
    "categories": (["no", "yes"], pd.Series(Y, dtype="category"), str),
    "signs": ([-1, 1], 2 * SIGN - 1, int),
    "from 1": ([1, 2], SIGN + 1, int),
    "texts": (["no", "yes"], Y, str),
    "truths": ([False, True], SIGN == 1, bool),
    "truths of numbers": ([0, 1], SIGN == 1, int),
    "positions": (["no", "yes"], SIGN, int),
    "times": (DAYS, pd.Series(pd.to_datetime(DAYS)[SIGN]), datetime),
}
# scikit-learn's metrics do not accept these labels.
OTHERS = {
    "times of times": ([*pd.to_datetime(DAYS)], pick(*pd.to_datetime(DAYS)), datetime),
    "objects of truths": (["False", "True"], pick(False, True), bool),
    "fractions": ([0.5, 1.5], SIGN + 0.5, float),
    "fractions of texts": (["0.5", "1.5"], SIGN + 0.5, float),
    "Decimals": (DECIMALS, pick(*DECIMALS), Decimal),
    "Decimals of texts": (["0.1", "1.5"], pick(*DECIMALS), Decimal),
    "dates": (DATES, pick(*DATES), date),
    "dates of texts": (DAYS, pick(*DATES), date),
    "times with a zone": (
        DAYS,
        pd.Series(pd.to_datetime(DAYS).tz_localize("UTC")[SIGN].tz_convert("Europe/Oslo")),
        datetime,
    ),
}


def share(answers, y):
    return np.mean(np.asarray(answers == y, dtype=bool))


def learner_for_labels(label, **more):
    schema = Schema({"a": (0, 10)}, label=list(label), n_bins=10, spacing="equal", **more)
    return NoisyBayesClassifier(epsilon=50, schema=schema, random_state=np.random.default_rng(1))


@pytest.mark.parametrize("name", [*LABELS, *OTHERS])
def test_labels_come_back_in_their_type_from_a_file_too(name, tmp_path):
    label, y, kind = (LABELS | OTHERS)[name]
    model = learner_for_labels(label).fit(FRAME, y)
    read = save_and_load(model, tmp_path)
    answers = [model.predict(FRAME), read.predict(FRAME)]
    if name != "positions":
        answers.append(read.predict_frame(FRAME))
    for answer in answers:
        assert share(answer, y) > 0.95
        assert {type(one) for one in answer.tolist()} == {kind}
    assert model.score(FRAME, y) > 0.95
    assert share(cross_val_predict(model, FRAME, y, cv=2), y) > 0.95
    if name in LABELS:
        assert cross_val_score(model, FRAME, y, scoring="accuracy", cv=2).min() > 0.9
        assert all(accuracy_score(y, answer) > 0.95 for answer in answers)
    # Names are texts, whatever the labels are.
    assert {type(name) for name in read.predict_names(model.schema.encode(FRAME)).tolist()} == {str}
    # Saving again changes nothing.
    assert read.describe() == model.describe()


# One of each way to match labels: by name, by position, by conversion.
QUICK = ("texts", "signs", "texts of numbers")


@pytest.mark.parametrize(
    "name", [n if n in QUICK else pytest.param(n, marks=pytest.mark.slow) for n in LABELS]
)
def test_tools_of_scikit_learn_take_any_labels(name):
    label, y, _ = LABELS[name]
    model, frame = learner_for_labels(label), FRAME[["a"]]
    chances = cross_val_predict(model, frame, y, method="predict_proba", cv=2)
    assert share(chances[:, 1] > 0.5, SIGN == 1) > 0.95
    tools = [
        BaggingClassifier(model, 2),
        StackingClassifier([("model", model)], cv=2),
        VotingClassifier([("model", model)]),
        VotingClassifier([("model", model)], voting="soft"),
        OneVsRestClassifier(model),
        CalibratedClassifierCV(model, cv=2),
        CalibratedClassifierCV(model, cv=2, ensemble=False),
        GridSearchCV(model, {"epsilon": [50]}, scoring="accuracy", cv=2),
    ]
    for tool in tools:
        assert share(tool.fit(frame, y).predict(frame), y) > 0.9, tool


def test_three_classes_by_position():
    names = ["low", "mid", "top"]
    y = np.array(names)[(FRAME.a // 3.4).astype(int)]
    model = learner(names)
    for tool in (
        StackingClassifier([("model", model)], cv=2),
        VotingClassifier([("model", model)]),
        CalibratedClassifierCV(model, cv=2, ensemble=False),
        BaggingClassifier(learner(names, unnamed="in_order"), 2),
    ):
        rows = FRAME[["a", "b"]]
        assert tool.fit(rows, y).score(rows, y) > 0.8, tool
    proba = cross_val_predict(model, FRAME, y, method="predict_proba", cv=2)
    assert np.mean(np.array(names)[proba.argmax(axis=1)] == y) > 0.8


def test_positions_are_taken_without_a_schema_too():
    model = NoisyBayesClassifier(epsilon=50, n_bins=10, bounds=(0, 10), classes=("no", "yes"))
    assert BaggingClassifier(model, 2).fit(FRAME, Y).score(FRAME, Y) > 0.9
    assert share(clone(model).fit(FRAME, SIGN).predict(FRAME), SIGN) > 0.9
    with pytest.raises(ValueError, match=r"y must have labels of classes=.*; got .*2"):
        clone(model).fit(FRAME, SIGN * 2)


@pytest.mark.parametrize(
    ("label", "y"),
    [
        ([-1, 1], [-1, 0, 1]),
        ([1, 2], [0, 1, 2]),
        (["no", "yes"], [1, 2]),
        (["no", "yes"], [0, 1.5]),
    ],
)
def test_other_numbers_are_no_positions(label, y):
    with pytest.raises(
        DatasetError, match=r"row \d of y: the label 'label' is '[01.5]+', which is"
    ):
        learner_for_labels(label).fit(FRAME, np.resize(y, N))


def test_positions_of_classes_that_are_numbers_are_an_assumption():
    for label, y, assumed in (
        ([1, 2], SIGN, True),
        ([1, 2], SIGN + 1, False),
        (["no", "yes"], SIGN, False),
        ([0, 1], SIGN, False),
    ):
        statement = learner_for_labels(label).fit(FRAME, y).privacy_
        assert (ASSUMED_POSITIONS in statement.assumptions) == assumed


def test_positions_of_classes_that_are_not_sorted_are_warned_of():
    with pytest.warns(UserWarning, match=r"positions of the classes \['yes', 'no'\], .*not sorted"):
        model = learner_for_labels(["yes", "no"]).fit(FRAME, 1 - SIGN)
    assert model.score(FRAME, Y) == model.score(FRAME, 1 - SIGN) > 0.95


@pytest.mark.parametrize("label", [["0", "1"], [0, 1], None])
@pytest.mark.parametrize("counted", [SIGN, pick(0, 1)], ids=["array", "objects"])
def test_no_type_follows_from_one_label(label, counted, tmp_path):
    """One file can be a column of integers, and the rest of it after a row without a label."""
    files = []
    frame = FRAME[["a"]]
    gap = pd.Series(counted).astype("Int64").astype(object)
    gap = pd.Series(np.where(np.arange(N) == N - 1, np.nan, gap.to_numpy(float)))
    single = counted.astype(object)
    single[0] = float(single[0])
    for y in (counted[:-1], gap.dropna(), single[:-1]):
        facts = {"n_bins": 10, "bounds": (0, 10)} if label is None else {"schema": None}
        model = NoisyBayesClassifier(epsilon=9, random_state=np.random.default_rng(1), **facts)
        if label is not None:
            model.set_params(schema=Schema({"a": (0, 10)}, label=label))
        model.fit(frame[:-1], y)
        domain = Schema({"a": {"bounds": (0, 10), "n_bins": 10, "spacing": "equal"}}, [0, 1]).domain
        privcurve.save(tmp_path / "m.json", model, domain if label is None else None)
        files.append((tmp_path / "m.json").read_bytes())
    assert files[0] == files[1] == files[2]


def test_labels_of_several_types_or_of_none_are_refused():
    for wrong, message in (
        (pick(0, "1"), "of one type; got number, text"),
        (pick(0, True), "of one type; got number, truth value"),
        (pick(pd.Period("2020"), pd.Period("2021")), "got Period: convert them to texts"),
        (pick(b"no", b"yes"), "got bytes"),
        (np.where(SIGN, b"yes", b"no"), r"got \|S3"),
    ):
        for model in (learner_for_labels([0, 1]), NoisyBayesClassifier(n_bins=10, bounds=(0, 10))):
            with pytest.raises((ValueError, TypeError), match=message):
                model.fit(FRAME, wrong)


def test_a_list_has_the_type_of_the_schema():
    for label, y in (([0, 1], np.where(SIGN, "1", "0")), (["0", "1"], SIGN)):
        assert learner_for_labels(label).fit(FRAME, y.tolist()).classes_.tolist() == label


def test_a_file_without_the_type_of_labels_is_read_as_before(tmp_path):
    """Files of earlier versions lack the type; their predictions are names of classes."""
    for label, y in ((DAYS, pick(*DATES)), (["no", "yes"], SIGN), ([0, 1], SIGN)):
        model = learner_for_labels(label).fit(FRAME, y)
        path = tmp_path / "model.json"
        privcurve.save(path, model)
        content = json.loads(path.read_text())
        content["domain"]["label"].pop("type", None)
        path.write_text(json.dumps({**content, "sha256": text.seal_of(content)}))
        names = np.array(label).astype(str)[SIGN]
        assert share(privcurve.load(path).predict_frame(FRAME), names) > 0.95


def test_a_description_says_of_which_type_labels_are(tmp_path):
    path = tmp_path / "schema.yaml"
    for written, kind in (("1", int), ("'1'", str)):
        path.write_text(
            "columns: [{name: a, kind: numeric, bounds: [0, 10]}]\n"
            f"label: {{column: y, positive: {written}, negative: {written.replace('1', '0')}}}\n"
        )
        domain = Schema.from_description(path).domain
        coded = NoisyBayesClassifier(epsilon=50, n_bins=domain.n_bins, classes=(-1, 1))
        coded.fit(Schema.from_description(path).encode(FRAME), 2 * SIGN - 1)
        privcurve.save(tmp_path / "m.json", coded, domain)
        read = privcurve.load(tmp_path / "m.json")
        assert {type(one) for one in read.predict_frame(FRAME).tolist()} == {kind}
        assert set(read.predict(FRAME).tolist()) == {-1, 1}


# Warnings and progress ------------------------------------------------------------------


def test_a_loaded_model_is_explained(fitted_model, loaded_model):
    assert str(privcurve.explain(loaded_model)) == str(privcurve.explain(fitted_model))
    assert str(privcurve.explain(loaded_model, fitted_model.schema.domain)) == str(
        loaded_model.explain()
    )


@pytest.mark.parametrize("schema", [{"a": (0, 1)}, "schema.yaml", Schema])
def test_an_invalid_schema_is_reported(schema):
    with pytest.raises(
        ValueError, match=r"schema must be a privcurve\.Schema; got .*schema=Schema"
    ):
        PrivGAMClassifier(schema=schema).fit(FRAME, Y)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("epsilon", [1e300, 1.7e308, 2e100])
def test_an_epsilon_that_overflows_is_reported(delta, epsilon):
    with pytest.raises(ValueError, match=r"epsilon must be at most 1e\+100, or inf .*; got [12]"):
        PrivGAMClassifier(epsilon=epsilon, delta=delta, n_bins=4).fit([[0], [3]], [0, 1])
    PrivGAMClassifier(epsilon=1e100, delta=delta, n_bins=4).fit([[0], [3]], [0, 1])


def warnings_of_fit(n=5000, rows=None, **parameters):
    rows = pd.DataFrame({"a": np.linspace(0, 10, n)}) if rows is None else rows
    schema = Schema({"a": (0, 10)}, ["no", "yes"], unit=parameters.pop("unit", None))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        NoisyBayesClassifier(schema=schema, **parameters).fit(rows, np.resize(["no", "yes"], n))
    return [str(warning.message) for warning in caught]


def test_python_warns_where_a_release_refuses():
    (warning,) = warnings_of_fit(random_state=0)
    assert warning.startswith("random_state is a number: anyone who knows or guesses it")
    assert "0" not in warning
    (warning,) = warnings_of_fit(delta=0.1)
    assert "of 5,000 records are 5e+02 in the mean. Give a delta below 2e-05" in warning
    assert (
        warnings_of_fit(delta=1.9e-5)
        == warnings_of_fit(epsilon=np.inf, random_state=0, delta=0.1)
        == []
    )
    assert warnings_of_fit(random_state=np.random.default_rng(0)) == []
    # As for a release: δ counts persons, and uses the estimate where n is not public.
    persons = pd.DataFrame({"a": np.linspace(0, 10, 100), "who": np.arange(100) // 2})
    unit = {"column": "who", "at_most": 2}
    (warning,) = warnings_of_fit(100, persons, delta=1e-3, unit=unit)
    assert "all records of each person" in warning
    assert warnings_of_fit(100, persons, delta=9e-4, unit=unit) == []


def test_messages_to_python_do_not_speak_of_yaml():
    for columns, more, message in (
        ({"a": {"bounds": ("0", "1"), "n_bins": 3}}, {}, "must be a number; got the text '0'"),
        (
            {"a": {"bounds": (0, 1), "n_bins": True}},
            {},
            "must be a number; got the truth value True",
        ),
        ({1: (0, 1)}, {}, "must be a text; got the number 1: write '1'"),
        ({True: (0, 1)}, {}, "must be a text; got the truth value True: write 'True'"),
        (
            {"a": (0, 1)},
            {"unit": {"column": 3, "at_most": 2}},
            "unit.column: must be a text; got the number 3",
        ),
        ({"a": (0, 1)}, {"n_bins": "3"}, "n_bins: must be a number; got the text '3'"),
    ):
        with pytest.raises(DatasetError) as caught:
            Schema(columns, ["no", "yes"], **more)
        assert message in str(caught.value)
        assert "YAML" not in str(caught.value)


def test_categories_are_values_of_any_type_of_a_column():
    mixed = [0.5, 2.0, Decimal("7.50"), True, date(2020, 1, 1), pd.Timestamp("2021-01-01"), "x"]
    schema = Schema({"a": mixed}, ["no", "yes"])
    assert schema.domain.columns[0].titles == (
        *("0.5", "2", "7.5", "True", "2020-01-01", "2021-01-01", "x"),
    )
    values = [0.5, 2, 7.5, True, date(2020, 1, 1), datetime(2021, 1, 1), "x"]
    assert schema.encode({"a": values}).ravel().tolist() == list(range(7))


def test_a_sparse_mapping_names_no_columns(fitted_model):
    with pytest.raises(DatasetError, match="must have the columns 'a', 'b'; no required column"):
        fitted_model.predict(dok_array(FRAME.to_numpy()))


def test_a_zone_is_no_part_of_a_time(tmp_path):
    label, y, _ = OTHERS["times with a zone"]
    answers = save_and_load(learner_for_labels(label).fit(FRAME, y), tmp_path).predict(FRAME)
    assert set(answers) <= {datetime(2020, 1, 1, tzinfo=UTC), datetime(2020, 6, 1, tzinfo=UTC)}
