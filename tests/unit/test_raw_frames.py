"""Learners with a schema, fitted on raw frames as scikit-learn's users have them."""

import pickle
import warnings
from datetime import date

import numpy as np
import pandas as pd
import pyarrow
import pytest
from sklearn.base import clone
from sklearn.exceptions import DataConversionWarning
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline

import privcurve
from privcurve import PrivGAMClassifier, Schema
from privcurve.datasets.errors import DatasetError
from privcurve.learners import registry
from privcurve.models import ModelError

CONTRACTS = ["Month-to-month", "One year", "Two year"]
COLUMNS = {"tenure": (0, 100), "Contract": CONTRACTS, "TotalCharges": (0, 10_000)}


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    rng = np.random.default_rng(5)
    n = 1500
    frame = pd.DataFrame(
        {
            "junk": 1.0,
            "tenure": rng.integers(0, 72, n),
            "Contract": rng.choice(CONTRACTS, n),
            "TotalCharges": rng.exponential(800, n),
        }
    )
    log_odds = 3 - frame.tenure / 12 + 2 * (frame.Contract == CONTRACTS[0])
    frame["Churn"] = np.where(rng.random(n) < 1 / (1 + np.exp(-log_odds)), "Yes", "No")
    return frame


@pytest.fixture(scope="module")
def schema() -> Schema:
    return Schema(COLUMNS, label=["No", "Yes"])


def learner(schema: Schema, **more: object) -> PrivGAMClassifier:
    return PrivGAMClassifier(epsilon=1, delta=1e-6, schema=schema, random_state=1, **more)


NAMES = [
    name
    for name in registry.LEARNERS
    if registry.entry(name).private and not registry.entry(name).requires
]


@pytest.mark.parametrize("name", NAMES)
def test_each_learner_fits_raw_frames_like_their_codes(name, table, schema) -> None:
    about = registry.entry(name)
    public = Schema({**COLUMNS, "tenure": {"bounds": (0, 100), "public": True}}, ["No", "Yes"])
    more = {"epsilon": 1.0, "delta": 0.0 if about.pure else 1e-6, "random_state": 3}
    made = registry.estimator_class(name)(calibration=about.calibrations[0], schema=public, **more)
    if name == "tuned":
        made.set_params(learner="lazybb", settings={"n_rounds": [3, 5]})
    if name == "pate":
        with pytest.raises(ValueError, match="must list the positions of public columns"):
            made.fit(table, table.Churn)  # the schema does not say that the label is public
        made.set_params(public_columns=(0,))
    raw = made.fit(table, table.Churn)
    result = made._with_schema_facts(table.Churn)
    result.set_params(schema=None, random_state=np.random.default_rng(0))
    coded = result.fit(public.encode(table), table.Churn.to_numpy())
    assert set(raw.predict(table)) <= {"No", "Yes"}
    assert list(raw.classes_) == list(coded.classes_) == ["No", "Yes"]
    assert raw.privacy_.epsilon == coded.privacy_.epsilon
    assert raw.get_params(deep=False)["n_bins"] is None


@pytest.mark.usefixtures("given_streams")
def test_same_noise_gives_the_model_of_the_codes(table, schema) -> None:
    raw = learner(schema).set_params(random_state=np.random.default_rng(2)).fit(table, table.Churn)
    coded = PrivGAMClassifier(
        epsilon=1,
        delta=1e-6,
        n_bins=schema.domain.n_bins,
        ordered=schema.domain.ordered,
        random_state=np.random.default_rng(2),
    ).fit(schema.encode(table), table.Churn)
    np.testing.assert_array_equal(
        raw.decision_function(table), coded.decision_function(schema.encode(table))
    )


def test_scikit_learn_accepts_the_learner(table, schema) -> None:
    model = learner(schema)
    assert cross_val_score(model, table, table.Churn, cv=3, scoring="roc_auc").mean() > 0.7
    search = GridSearchCV(make_pipeline(model), {"privgamclassifier__epsilon": [0.5, 5]}, cv=2)
    assert search.fit(table, table.Churn).predict(table).shape == (len(table),)
    fitted = clone(model).fit(table, table.Churn)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(fitted.predict_proba(table), again.predict_proba(table))
    assert clone(fitted).get_params()["schema"] == schema
    assert list(fitted.feature_names_in_) == list(COLUMNS)


def as_table(frame: pd.DataFrame) -> pyarrow.Table:
    return pyarrow.Table.from_pandas(frame)


@pytest.mark.parametrize(
    "form",
    [
        lambda frame: frame[frame.columns[::-1]],
        lambda frame: frame.assign(other="x").drop(columns="Churn"),
        lambda frame: frame.convert_dtypes(dtype_backend="pyarrow"),
        as_table,
        lambda frame: as_table(frame).to_batches()[0],
        lambda frame: frame.to_dict("list"),
    ],
)
def test_other_forms_of_the_same_frame(form, table, schema) -> None:
    fitted = learner(schema).fit(form(table), table.Churn)
    np.testing.assert_array_equal(
        fitted.decision_function(form(table)),
        learner(schema).fit(table, table.Churn).decision_function(table),
    )


def test_missing_values_and_unknown_words(table) -> None:
    holes = table.astype({"tenure": float})
    holes.loc[3, "tenure"] = np.nan
    holes.loc[4, "Contract"] = None
    holes.loc[5, "Contract"] = "Three year"
    strict = Schema(COLUMNS, ["No", "Yes"])
    with pytest.raises(DatasetError, match="tenure") as refused:
        learner(strict).fit(holes, table.Churn)
    assert "Three year" in str(refused.value)
    lenient = Schema(COLUMNS, ["No", "Yes"], missing="bin", unknown="other")
    model = learner(lenient).fit(holes, table.Churn)
    assert model.predict(holes).shape == (len(holes),)
    assert lenient.domain.n_bins == (65, 5, 65)


@pytest.mark.parametrize("classes", [[0, 1], [False, True], ["b", "a"], [1, 0]])
def test_labels_come_back_as_they_were_given(classes, table) -> None:
    y = np.array(classes, dtype=object)[(table.Churn == "Yes").astype(int)]
    y = pd.Series(y).infer_objects()
    model = learner(Schema(COLUMNS, classes)).fit(table, y)
    assert list(model.classes_) == classes
    assert model.score(table, y) > 0.6


def test_three_classes(table) -> None:
    cls = registry.estimator_class("random_trees")
    y = np.where(table.tenure < 20, "new", np.where(table.tenure < 50, "mid", "old"))
    model = cls(epsilon=5, schema=Schema(COLUMNS, ["new", "mid", "old"])).fit(table, y)
    assert model.score(table, y) > 0.5


@pytest.mark.parametrize(
    ("columns", "label", "hint"),
    [
        ({"a": (5, 1)}, ["n", "y"], "low < high"),
        ({"a": (0, 1, 2)}, ["n", "y"], "pair"),
        ({"a": "x"}, ["n", "y"], "'a'"),
        ({"a": []}, ["n", "y"], "'?a'?"),
        ({"a": ["u", "v", "u"]}, ["n", "y"], "'u', is listed twice"),
        ({"a": (0, 1)}, "ny", "list of classes"),
        ({"a": (0, 1)}, ["n", "n"], "'n'"),
        ({}, ["n", "y"], "columns"),
        ({"a": {"kind": "text", "groups": ["u", "v", "u"]}}, ["n", "y"], "'u' is listed twice"),
    ],
)
def test_a_wrong_schema_is_refused_at_once(columns, label, hint) -> None:
    with pytest.raises(DatasetError, match=hint):
        Schema(columns, label)


def test_facts_of_a_schema_are_not_given_twice(table, schema) -> None:
    with pytest.raises(ValueError, match="n_bins is determined by the schema"):
        learner(schema, n_bins=4).fit(table, table.Churn)


def test_a_raw_frame_without_a_schema_gets_a_message_about_schemas(table) -> None:
    with pytest.raises(ValueError, match=r"schema=Schema\({'junk': …, 'tenure': …, .*Schema.draft"):
        PrivGAMClassifier(epsilon=1).fit(table, table.Churn)
    # The columns of an Arrow table are its values, not its records.
    with pytest.raises(ValueError, match=r"schema=Schema\({'junk': …, 'tenure': …, "):
        PrivGAMClassifier(epsilon=1).fit(as_table(table), table.Churn)
    codes = pyarrow.table({"a": [0, 1, 2, 3]})
    assert PrivGAMClassifier(n_bins=4).fit(codes, [0, 0, 1, 1]).feature_names_in_ == ["a"]
    with pytest.raises(ValueError, match="needs n_bins="):
        PrivGAMClassifier(epsilon=1).fit([[1, 2]], [1])


def test_names_that_look_equal_are_equal(tmp_path) -> None:
    """A letter with an accent may be one character or two, in the schema and in the frame."""
    one, two = "Malm\u00f6", "Malmo\u0308"
    for mine, theirs in ((one, two), (two, one), (two, two)):
        schema = Schema({mine: [mine, "Oslo"]}, ["no", mine], unknown="other")
        frame = pd.DataFrame({theirs: [theirs, "Oslo", "x"] * 9})
        assert schema.encode(frame)[:3].ravel().tolist() == [0, 1, 2]
        labels = np.where(frame[theirs] == theirs, theirs, "no")
        model = PrivGAMClassifier(schema=schema, epsilon=90, random_state=0).fit(frame, labels)
        assert set(model.predict(frame)) == {"no", mine}
        privcurve.save(tmp_path / "model.json", model)
        assert privcurve.load(tmp_path / "model.json").describe() == model.describe()


def test_one_wrong_word_in_many_columns_is_one_message() -> None:
    columns = {f"x{k}": (0, 1) for k in range(64)}
    for given, text in (
        ({"columns": columns, "spacing": "even"}, "x4.spacing and 59 more: 'even' is not one"),
        ({"columns": {key: {"bounds": (0, 1), "bin": 3} for key in columns}}, "more: unknown"),
        (
            {"columns": dict.fromkeys(columns, (float("nan"), 1))},
            "and 59 more: must be a number; got .nan",
        ),
    ):
        with pytest.raises(DatasetError, match=text) as error:
            Schema(**given, label=["a", "b"])
        assert len(str(error.value).splitlines()) == 1


def test_a_draft_takes_any_frame_or_says_why_not_and_shows_no_value(table) -> None:
    mixed = table.assign(mixed=[1, "secret"] * 750, lists=[[1]] * 1500)
    with pytest.warns(UserWarning, match=r"the draft leaves out .*'lists'") as caught:
        drafted = Schema.draft(mixed, "Churn")
    assert drafted.names == ["tenure", "Contract", "TotalCharges", "mixed"]
    assert "secret" not in str(caught[0].message)
    twice = pd.concat([table, table.tenure], axis=1)
    for frame, text in (
        (twice, "several columns named 'tenure'"),
        ([[1]], "must be a DataFrame; got"),
    ):
        with pytest.raises(DatasetError, match=text):
            Schema.draft(frame, "Churn")


def test_names_with_numbers_match_the_frame(tmp_path) -> None:
    """A draft may describe x1 and x2 in one entry; braces may be part of a name."""
    values = np.random.default_rng(0).random((60, 3))
    frame = pd.DataFrame(values, columns=["x1", "x2", "w{1..3}"]).assign(y=["n", "y"] * 30)
    drafted = Schema.draft(frame, "y")
    assert drafted.undecided == ["x1", "x2", "w{1..3}"]
    for name in drafted.undecided:
        drafted[name] = (0, 1)
    assert drafted.encode(frame).shape == (60, 3)
    path = tmp_path / "schema.yaml"
    path.write_text(drafted.to_yaml())
    assert Schema.from_description(path) == drafted


def test_a_draft_of_amounts_in_words_reads_numbers_too() -> None:
    """A text such as 1.234,56 sets the decimal comma for texts, not for numbers."""
    rng = np.random.default_rng(0)
    amounts = [f"{k}.{k:03},5" for k in rng.integers(1, 99, 60)]
    days = [f"0{k}/0{k}/2020" for k in rng.integers(1, 9, 60)]
    frame = pd.DataFrame({"amount": amounts, "share": rng.random(60), "day": days})
    frame["word"] = ["a", None, "c"] * 20
    drafted = Schema.draft(frame.assign(y=["n", "y"] * 30), "y")
    assert drafted.undecided == ["amount", "share", "day", "word"]
    drafted["amount"], drafted["share"], drafted["word"] = (0, 10**5), (0, 1), ["a", "b"]
    drafted["day"] = ("2020-01-01", "2020-12-31")
    with pytest.raises(DatasetError, match=r'undecided: day.*"format": '):
        _ = drafted.domain
    drafted["day"] = {"kind": "date", "bounds": ["2020-01-01", "2020-12-31"], "format": "%d/%m/%Y"}
    codes = drafted.encode(frame)
    assert np.array_equal(np.argsort(frame.share), np.lexsort((frame.share, codes[:, 1])))
    # A missing value is not the category "other".
    assert codes[:3, 3].tolist() == [0, 3, 2]


def test_a_day_may_mark_a_missing_day_in_each_type(tmp_path) -> None:
    (tmp_path / "schema.yaml").write_text(
        "columns: [{name: d, kind: date, bounds: [1950-01-01, 2029-12-31], missing: bin}]\n"
        'label: {column: y, positive: "1", negative: "0"}\nmissing: [1900-01-01]\n'
    )
    read = Schema.from_description(tmp_path / "schema.yaml")
    never = "1900-01-01"
    for day in ([never], [date(1900, 1, 1)], pd.to_datetime([never]), np.array([never], "M8[D]")):
        assert read.encode({"d": day}).tolist() == [[10]]


def test_a_column_may_be_called_unit() -> None:
    people = np.random.default_rng(0).integers(0, 30, 120)
    frame = pd.DataFrame(
        {"patient_id": people, "unit": ["ICU", "ER"] * 60, "y": ["n", "n", "y"] * 40}
    )
    drafted = Schema.draft(frame, "y")
    assert drafted.undecided == ["unit", "unit"]
    drafted["unit"] = ["ICU", "ER"]
    drafted["unit"] = {"column": "patient_id", "at_most": 2}
    assert (drafted.undecided, drafted.at_most) == ([], 2)
    drafted = Schema.draft(frame.rename(columns={"unit": "ward"}), "y")
    with pytest.raises(DatasetError, match=r"unit must be .*none.*; got 'patient_id'"):
        drafted["unit"] = "patient_id"


def test_truth_values_are_categories() -> None:
    frame = pd.DataFrame({"smokes": [True, False, True]})
    codes = Schema({"smokes": [False, True]}, ["n", "y"]).encode(frame)
    assert codes.ravel().tolist() == [1, 0, 1]


def test_days_and_units_of_a_schema() -> None:
    days = (date(2020, 1, 1), pd.Timestamp("2020-12-31"))
    (column,) = Schema({"day": days}, ["n", "y"]).domain.columns
    assert (column.dates, column.format_bounds()) == ("iso", ("2020-01-01", "2020-12-31"))
    of_numpy = {"column": "who", "at_most": np.int64(2)}
    schema = Schema({"a": (0, np.int8(8))}, ["n", "y"], n_bins=np.int64(4), unit=of_numpy)
    assert (schema.domain.n_bins, schema.at_most) == ((4,), 2)
    with pytest.raises(DatasetError, match=r"unit must be a mapping, .*; got 'who'"):
        Schema({"a": (0, 1)}, ["n", "y"], unit="who")


def test_labels_of_a_frame_and_in_another_order_are_taken_and_reported(table, schema) -> None:
    plain = learner(schema).fit(table, table.Churn).predict(table)
    with pytest.warns(DataConversionWarning):
        np.testing.assert_array_equal(
            learner(schema).fit(table, table[["Churn"]]).predict(table), plain
        )
    with pytest.warns(DataConversionWarning):
        learner(schema).fit(table, [[label] for label in table.Churn])
    with pytest.raises(ValueError, match="1d array"):
        learner(schema).fit(table, table[["Churn", "junk"]])
    with pytest.warns(UserWarning, match=r"joined by position.* give y\.loc\[X\.index\]"):
        learner(schema).fit(table, table.Churn.sort_values())
    counts = pd.Series(1, index=table.index[::-1])
    with pytest.warns(UserWarning, match=r"joined by position.* give counts\.loc\[X\.index\]"):
        learner(schema).fit(table, table.Churn, counts=counts)


def test_values_in_another_unit_are_reported_and_leave_no_trace(table, schema) -> None:
    fitted = learner(schema).fit(table, table.Churn)
    days = table.assign(tenure=table.tenure * 365 + 101)
    with pytest.warns(UserWarning, match="all 1,500 values of 'tenure' lie above its upper"):
        fitted.predict(days)
    with pytest.warns(UserWarning, match=r"'tenure' lie below its .* bound, 0: check their unit"):
        other = learner(schema).fit(table.assign(tenure=-days.tenure), table.Churn)
    assert vars(other).keys() == vars(fitted).keys()
    # Missing values do not count; few records or some values inside the bounds give no warning.
    gaps = Schema(COLUMNS, ["No", "Yes"], missing="bin")
    with pytest.warns(UserWarning, match="all 750 values of 'tenure' lie above"):
        gaps.encode(days.assign(tenure=days.tenure.where(days.index % 2 == 0)))
    spelt = Schema({**COLUMNS, "Contract": ["one year", "other"]}, ["No", "Yes"], unknown="other")
    with pytest.warns(
        UserWarning, match="all 1,500 values of 'Contract' are 'other': compare their spelling"
    ):
        spelt.encode(table)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ResourceWarning)  # other tests leave files open
        fitted.predict(days.head(9))
        fitted.predict(days.assign(tenure=days.tenure.where(days.index % 9 > 0, 5)))


def test_faults_of_a_fit_name_column_and_row(table, schema) -> None:
    with pytest.raises(DatasetError, match="TotalCharges"):
        learner(schema).fit(table.drop(columns="TotalCharges"), table.Churn)
    y = table.Churn.copy()
    y[7] = "Perhaps"
    with pytest.raises(DatasetError, match=r"row 7.*Perhaps"):
        learner(schema).fit(table, y)
    with pytest.raises(ValueError, match="rows"):
        learner(schema).fit(table, y[:-1].replace("Perhaps", "No"))


def test_a_draft_is_decided_by_a_person(table) -> None:
    draft = Schema.draft(table, label="Churn")
    assert draft.undecided == ["tenure", "Contract", "TotalCharges"]
    with pytest.raises(DatasetError, match="tenure, Contract, TotalCharges"):
        learner(draft).fit(table, table.Churn)
    draft["tenure"] = (0, 100)
    draft["Contract"] = CONTRACTS
    with pytest.raises(KeyError, match="TotalCharges"):
        draft["TotalCharge"] = (0, 1)
    draft["TotalCharges"] = (0, 10_000)
    assert draft.undecided == []
    assert draft.domain.columns[0].missing_bin
    assert learner(draft).fit(table, table.Churn).score(table, table.Churn) > 0.6


def test_numbers_of_a_draft_may_be_decided_to_be_codes(table) -> None:
    table["sex"] = np.where(table.index % 2, 1.0, 2.0)
    draft = Schema.draft(table[["sex", "Churn"]], label="Churn")
    draft["sex"] = [1, 2]
    (sex,) = draft.domain.columns
    # A draft has a code for missing values, as `privcurve decide` writes it.
    assert sex.bin_names == tuple(f"sex = {word}" for word in ("1", "2", "other", "?"))
    model = learner(draft).fit(table, table.Churn)
    table.loc[3, "sex"] = np.nan
    assert len(model.predict(table)) == len(table)


def test_a_saved_model_reads_raw_frames(tmp_path, table, schema) -> None:
    model = learner(schema).fit(table, table.Churn)
    privcurve.save(tmp_path / "model.json", model)
    loaded = privcurve.load(tmp_path / "model.json")
    np.testing.assert_array_equal(loaded.predict_proba(table), model.predict_proba(table))
    np.testing.assert_array_equal(loaded.predict(table), model.predict(table))
    # An array of raw values is not mistaken for bins.
    for rows in (table[list(COLUMNS)].to_numpy(), [[3, 1, 0]], [[3.0, 1.0, 0.0]]):
        with pytest.raises(ModelError, match="an array of bins must have an unsigned type"):
            loaded.predict(rows)
    np.testing.assert_array_equal(loaded.predict(schema.encode(table)), model.predict(table))


def test_a_model_speaks_of_columns_and_values_by_name(table, schema) -> None:
    assert str(learner(schema)).startswith("PrivGAMClassifier(")
    model = learner(schema).fit(table, table.Churn)
    assert "Contract = " in model.describe()
    assert "<= tenure <" in model.describe()
    assert "code " not in model.describe()
    text = str(model)
    assert "tells No from Yes by" in text
    assert "ε = 1, δ = 1e-06, replace-one" in text


@pytest.mark.parametrize("name", ["privgam", "one_rule", "topdown", "random_trees"])
def test_a_model_printed_without_its_learner_has_names_too(name, table, schema) -> None:
    delta = 1e-6 if name in ("privgam", "random_trees") else 0.0
    made = registry.estimator_class(name)(schema=schema, epsilon=5.0, delta=delta)
    model = made.fit(table, table.Churn)
    text = str(model.model_)
    assert text == model.describe()
    assert any(column in text for column in COLUMNS)


def test_a_schema_that_is_changed_later_renames_nothing(tmp_path, table) -> None:
    schema = Schema(COLUMNS, ["No", "Yes"])
    model = learner(schema).fit(table, table.Churn)
    before = model.describe(), str(model), model.predict_proba(table)
    schema["tenure"] = (0, 50)
    model.set_params(schema=Schema({"other": (0, 1)}, ["a", "b"]))
    assert (model.describe(), str(model)) == before[:2]
    privcurve.save(tmp_path / "model.json", model)
    again = privcurve.load(tmp_path / "model.json").predict_proba(table)
    np.testing.assert_array_equal(again, before[2])


def test_a_schema_can_be_changed_and_so_is_no_key() -> None:
    with pytest.raises(TypeError, match="hash"):
        hash(Schema(COLUMNS, ["No", "Yes"]))
