"""Test which of these change a result: refits, copies, settings and types of numbers."""

import copy
import os
import pickle
import warnings
from dataclasses import replace
from datetime import date
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_predict, cross_val_score

from privcurve import Schema, models
from privcurve.datasets import DatasetError
from privcurve.learners import NoisyBayesClassifier, PrivGAMClassifier, TunedClassifier, registry
from privcurve.learners.linear.dp_gradient_descent import DPGradientDescentClassifier
from privcurve.learners.majority import NoisyMajorityClassifier
from privcurve.models.errors import ModelError
from privcurve.privacy import seeds
from privcurve.privacy.budget import PRIVATE_COLUMNS

RNG = np.random.default_rng(5)
X = RNG.random((200, 3))
Y = (X[:, 0] > 0.5).astype(int)
FACTS = {"n_bins": 10, "bounds": (0, 1), "classes": (0, 1)}


def test_a_refit_that_fails_leaves_the_former_fit():
    model = PrivGAMClassifier(epsilon=5, random_state=1, **FACTS).fit(X, Y)
    scores, statement = model.decision_function(X), model.privacy_
    model.set_params(n_bins=4)
    with pytest.raises(ValueError, match="y must have labels of classes"):
        model.fit(X, np.full(len(X), 7))
    np.testing.assert_array_equal(model.decision_function(X), scores)
    assert model.privacy_ == statement


@pytest.mark.filterwarnings("error", "ignore:random_state must be a generator")
@pytest.mark.parametrize("epsilon", [np.float32(0.5), np.float16(0.5), np.int64(1), Fraction(1, 2)])
def test_an_epsilon_of_another_type_is_the_number(epsilon):
    unit = {"column": "b", "at_most": 2}
    schema = Schema({"a": (0, 1)}, label=[0, 1], unit=unit)

    def fit(value):
        budget = {"epsilon": value, "delta": 1e-5, "random_state": np.random.default_rng(1)}
        of_persons = NoisyBayesClassifier(**budget, schema=schema).fit(FRAME, Y)
        model = NoisyBayesClassifier(**budget, **FACTS).fit(X, Y)
        assert model.epsilon is of_persons.epsilon is value
        return model.decision_function(X), of_persons.privacy_.to_json(), model.privacy_.to_json()

    np.testing.assert_equal(fit(epsilon), fit(float(epsilon)))


def test_a_model_of_a_schema_is_saved_only_with_its_own_domain(tmp_path):
    frame = pd.DataFrame({"a": X[:, 0], "c": np.where(X[:, 1] > 0.5, "x", "y")})
    schema = Schema({"a": (0, 1), "c": ["x", "y"]}, label=["no", "yes"])
    model = PrivGAMClassifier(epsilon=5, schema=schema, random_state=1)
    model.fit(frame, np.where(Y, "yes", "no"))
    models.save(tmp_path / "m.json", model, schema.domain)
    other = Schema({"a": (0, 10), "c": ["y", "x"]}, label=["no", "yes"])
    with pytest.raises(ModelError, match="the domain must be the one of the schema"):
        models.save(tmp_path / "o.json", model, other.domain)
    assert not (tmp_path / "o.json").exists()


FRAME = pd.DataFrame({"a": X[:, 0], "b": X[:, 1]})


@pytest.mark.parametrize("kind", [np.int64, np.float32, bool, str, "Int64", "boolean", "category"])
@pytest.mark.parametrize("written", [False, True], ids=["drafted", "read"])
def test_predictions_have_the_type_of_the_labels(kind, written, tmp_path):
    labels = pd.Series(Y).astype(kind)
    schema = Schema.draft(FRAME.assign(label=labels), "label", public=True)
    if written:
        (tmp_path / "schema.yaml").write_text(schema.to_yaml())
        schema = Schema.from_description(tmp_path / "schema.yaml")
    model = PrivGAMClassifier(epsilon=50, schema=schema, random_state=1).fit(FRAME, labels)
    assert model.predict(FRAME).dtype.kind == np.asarray(labels.tolist()).dtype.kind
    assert model.score(FRAME, labels) > 0.9
    np.testing.assert_array_equal(np.unique(model.predict(FRAME)), np.unique(labels.tolist()))
    assert cross_val_score(model, FRAME, labels, scoring="accuracy", cv=2).min() > 0.9
    models.save(tmp_path / "model.json", model, schema.domain)
    read = models.load(tmp_path / "model.json")
    np.testing.assert_array_equal(read.predict(FRAME), model.predict(FRAME))


def test_labels_of_another_type_keep_the_classes_of_the_schema():
    schema = Schema({"a": (0, 1), "b": (0, 1)}, label={"positive": ["1", "2"], "negative": ["0"]})
    labels = Y * (1 + (X[:, 1] > 0.5))
    model = PrivGAMClassifier(epsilon=50, schema=schema, random_state=1).fit(FRAME, labels)
    assert set(model.predict(FRAME)) == {"0", "1 or 2"}
    assert model.score(FRAME, labels) > 0.9


def test_labels_with_fractions_stay_numbers():
    schema = Schema.draft(FRAME.assign(label=Y + 0.5), "label", public=True)
    model = PrivGAMClassifier(epsilon=50, schema=schema, random_state=1).fit(FRAME, Y + 0.5)
    assert set(model.predict(FRAME)) == {0.5, 1.5}
    assert model.score(FRAME, Y + 0.5) > 0.9


@pytest.mark.parametrize("source", [np.random.default_rng, np.random.RandomState])
def test_clones_of_one_stream_have_independent_noise(source):
    model = NoisyBayesClassifier(epsilon=1, random_state=source(3), **FACTS)
    scores = [clone(model).fit(X, Y).decision_function(X) for _ in range(2)]
    assert not np.isclose(*scores).any()
    same = NoisyBayesClassifier(epsilon=1, random_state=source(3), **FACTS)
    np.testing.assert_array_equal(clone(same).fit(X, Y).decision_function(X), scores[0])


# Generators as random_state -------------------------------------------------------------------

MARGIN = int((2 * Y - 1).sum())


def majority(state, epsilon):
    return NoisyMajorityClassifier(epsilon=epsilon, random_state=state, **FACTS).fit(X, Y).margin_


@pytest.mark.parametrize(
    "source",
    [
        lambda: np.random.default_rng(3),
        lambda: np.random.RandomState(3),
        lambda: np.random.Generator(np.random.Philox(3)),
        lambda: seeds.stream(bytes(32)),
    ],
)
def test_equal_generators_at_two_epsilons_do_not_reveal_the_margin(source):
    """With equal noise, 2·(answer at ε = 2) − (answer at ε = 1) would be the exact margin."""
    first = majority(source(), 1.0)
    with pytest.warns(UserWarning, match="a state that has started another fit"):
        second = majority(source(), 2.0)
    assert abs(2 * second - first - MARGIN) > 1e-3
    # A generator in the same state, with the same settings, gives the same fit.
    with pytest.warns(UserWarning, match="a generator that only this fit uses"):
        assert majority(source(), 2.0) == second


def test_a_generator_continues_from_fit_to_fit_without_a_warning():
    state = np.random.default_rng(4)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        margins = [majority(state, 1.0) for _ in range(5)]
    assert len(set(margins)) == 5


@pytest.mark.parametrize("source", [np.random.default_rng, np.random.RandomState])
@pytest.mark.parametrize("copied", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_copies_of_a_learner_have_independent_noise(source, copied):
    """joblib copies learners for its workers: the copies must draw different noise."""
    model = NoisyMajorityClassifier(epsilon=1.0, random_state=source(5), **FACTS)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        margins = [copied(model).fit(X, Y).margin_ for _ in range(3)]
    assert len(set(margins)) == 3
    # The generator in a copy of a fitted model must not be the one from which the noise came.
    held = copied(model.fit(X, Y)).random_state
    assert state_of(held) != state_of(model.random_state)


def state_of(source):
    return repr(getattr(source, "bit_generator", source).__getstate__())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no process is forked here")
def test_a_forked_process_warns_of_a_generator():
    """A generator in a forked process may be a copy of one that the parent process also uses."""
    reader, writer = os.pipe()
    if (child := os.fork()) == 0:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            majority(np.random.default_rng(6), 1.0)
        os.write(writer, " ".join(str(one.message) for one in caught).encode())
        os._exit(0)
    os.close(writer)
    os.waitpid(child, 0)
    assert "a generator in a forked process" in os.read(reader, 10_000).decode()
    os.close(reader)


@pytest.mark.usefixtures("given_streams")
def test_private_selection_passes_on_that_columns_with_bounds_are_ordered():
    def fit(**ordered):
        facts = {**FACTS, "n_bins": 64, "random_state": np.random.default_rng(1)}
        return TunedClassifier(learner="privgam", epsilon=20, **facts, **ordered).fit(X, Y)

    chosen, plain = fit(), fit(ordered=True)
    np.testing.assert_array_equal(chosen.decision_function(X), plain.decision_function(X))
    assert chosen.score(X, Y) > 0.9


@pytest.mark.parametrize("learner", ["lazybb", "topdown"])
def test_private_selection_refuses_an_order_of_other_columns(learner):
    choice = TunedClassifier(learner=learner, ordered=[True], **FACTS)
    with pytest.raises(ValueError, match="ordered must be True or False for each of 3 columns"):
        choice.fit(X, Y)


@pytest.mark.parametrize(
    ("columns", "label"),
    [
        ({"b": (0, 1), "a": (0, 1)}, ["no", "yes"]),
        ({"a": (0, 100), "b": (0, 1)}, ["no", "yes"]),
        ({"a": (0, 1), "b": (0, 1)}, ["yes", "no"]),
    ],
    ids=["order", "bounds", "classes"],
)
def test_a_model_is_described_only_with_its_own_domain(columns, label):
    own = Schema({"a": (0, 1), "b": (0, 1)}, label=["no", "yes"])
    model = PrivGAMClassifier(epsilon=50, schema=own, random_state=1)
    model.fit(FRAME, np.where(Y, "yes", "no"))
    assert model.describe(own.domain) == model.describe()
    other = Schema(columns, label=label).domain
    for ask in (model.describe, model.explain):
        with pytest.raises(
            (ModelError, ValueError), match=r"must be the one of the schema|same order"
        ):
            ask(other)
    coded = PrivGAMClassifier(epsilon=50, n_bins=own.domain.n_bins, classes=("yes", "no"))
    coded.fit(own.encode(FRAME), np.where(Y, "yes", "no"))
    with pytest.raises(ValueError, match="was fitted with the classes"):
        coded.describe(own.domain)


def test_bounds_keep_other_drafted_keys():
    days = pd.Series(pd.date_range("2020-01-01", periods=len(X)))
    frame = pd.DataFrame({"age": np.arange(len(X)) % 70 + 18, "day": days.dt.strftime("%d/%m/%Y")})
    schema = Schema.draft(frame.assign(time=days, label=Y), "label")
    schema["age"], schema["day"] = (18, 90), (date(2020, 1, 1), date(2021, 1, 1))
    schema["time"] = ("2020-01-01", "2021-01-01")
    text = schema.to_yaml()
    assert "n_bins: 121\n  whole: true\n  missing: bin\n- name: day" in text
    assert "format: '%d/%m/%Y'" in text
    assert text.count("kind: date\n  bounds:\n  - '2020-01-01'\n  - '2021-01-01'") == 2
    assert not schema.undecided


@pytest.mark.parametrize("size", [np.inf, 3e307])
def test_a_parameter_that_makes_sums_overflow_is_refused(size):
    model = DPGradientDescentClassifier(learning_rate=size, delta=1e-6, **FACTS)
    with pytest.raises(ValueError, match="learning_rate"):
        model.fit(X, Y)


def test_a_statement_is_for_neighbours_of_the_entry(monkeypatch):
    mine = replace(registry.LEARNERS["noisy_majority"], neighbours=(PRIVATE_COLUMNS,))
    monkeypatch.setitem(registry.LEARNERS, "noisy_majority", mine)
    with pytest.raises(
        ValueError, match=r"its statement must be for .* neighbours; it is for replace-one"
    ):
        registry.estimator_class("noisy_majority")(**FACTS).fit(X, Y)


@pytest.mark.parametrize("labels", [["no", "yes"], ["yes", "no"], [1, 0], ["none", "mild", "bad"]])
def test_classes_that_are_not_sorted_are_warned_of(labels):
    y = np.array(labels, dtype=object)[np.arange(len(X)) % len(labels)]
    model = PrivGAMClassifier(schema=Schema({"a": (0, 1), "b": (0, 1)}, label=labels))
    if labels == sorted(labels):
        model.fit(FRAME, y)
        return
    with pytest.warns(UserWarning, match="and not sorted: scikit-learn takes"):
        model.fit(FRAME, y)


@pytest.mark.parametrize("kind", ["Float64", "float64[pyarrow]", "Sparse[int]", "int64[pyarrow]"])
def test_labels_of_other_types_of_pandas_fit(kind):
    y = pd.Series(Y).astype(kind)
    for classes in (None, (0, 1)):
        model = NoisyBayesClassifier(epsilon=50, n_bins=10, bounds=(0, 1), classes=classes)
        assert model.fit(X, y).score(X, Y) > 0.9


def test_the_types_of_labels_in_a_list_do_not_count():
    schema = Schema({"a": (0, 1), "b": (0, 1)}, label={"positive": "1", "negative": "0"})
    for one in (0, 0.0, "0"):
        labels = [one, *Y[1:].tolist()] if not Y[0] else [*Y[:-1].tolist(), one]
        model = NoisyBayesClassifier(epsilon=50, schema=schema).fit(FRAME, labels)
        assert model.classes_.tolist() == ["0", "1"]
        assert model.score(FRAME, Y) > 0.9


@pytest.mark.parametrize("kind", ["Int64", "boolean"])
def test_nullable_labels_are_no_floats(kind):
    large = pd.Series(np.where(Y, 2**53 + 1, 2**53), dtype="Int64")
    labels = large if kind == "Int64" else pd.Series(Y == 1, dtype="boolean")
    for y in (labels, labels.to_frame()):
        model = NoisyBayesClassifier(epsilon=50, n_bins=10, bounds=(0, 1)).fit(X, y)
        assert set(model.classes_.tolist()) == set(labels)


def test_facts_about_all_columns_stay_when_one_column_is_decided():
    of_all = {"missing": "bin", "unknown": "other", "n_bins": 5, "spacing": "equal"}
    schema = Schema({"x": None, "k": None}, ["n", "p"], **of_all)
    schema["x"], schema["k"] = (0, 100), ["a", "b"]
    assert schema == Schema({"x": (0, 100), "k": ["a", "b"]}, ["n", "p"], **of_all)
    frame = pd.DataFrame({"x": ["7", ""], "k": ["a", ""]})
    assert schema.encode(frame)[1].tolist() == [5, 3]  # the bins of missing values


def test_classes_that_a_draft_leaves_open_can_be_decided():
    frame = FRAME.assign(label=np.where(Y, "alive", "died"))
    schema = Schema.draft(frame, "label")
    assert schema.undecided == ["a", "b", "label"]
    with pytest.raises(DatasetError, match="must be the list of classes"):
        schema["label"] = ["alive"]
    schema["label"], schema["a"], schema["b"] = ["alive", "died"], (0, 1), (0, 1)
    assert schema.classes == ["alive", "died"]
    assert NoisyBayesClassifier(schema=schema).fit(frame, frame["label"]).classes_[1] == "died"


@pytest.mark.parametrize(
    "pair",
    [
        (np.datetime64("2020-01-01"), pd.Timestamp("2021-01-01")),
        (date(2020, 1, 1), "2021-01-01"),
        (Decimal(0), Decimal(1)),
    ],
)
def test_a_pair_of_days_or_numbers_of_any_type_is_a_pair_of_bounds(pair):
    assert Schema({"x": pair}, label=[0, 1]).domain.columns[0].kind == "numeric"


NOT_BOUNDS = r"'x' must be a pair \(lowest, highest\) of numbers or"


@pytest.mark.parametrize(
    ("column", "label", "message"),
    [
        (("2020-01-01", "2021-1-1"), [0, 1], NOT_BOUNDS),
        (("0", "1"), [0, 1], NOT_BOUNDS),
        ((pd.NaT, pd.NaT), [0, 1], NOT_BOUNDS),
        ((1,), [0, 1], NOT_BOUNDS),
        # A set has no order, so neither class is the first.
        ((0, 1), {"sick", "healthy"}, "must be the list of classes"),
    ],
)
def test_a_schema_with_other_bounds_or_classes_is_refused(column, label, message):
    with pytest.raises(DatasetError, match=message):
        Schema({"x": column}, label=label)


def test_labels_that_a_tool_has_encoded_are_positions():
    schema = Schema({"a": (0, 1), "b": (0, 1)}, label=["healthy", "sick"])
    model = PrivGAMClassifier(epsilon=50, schema=schema)
    labels = np.where(Y, "sick", "healthy")
    chances = cross_val_predict(model, FRAME, labels, method="predict_proba", cv=2)
    assert ((chances[:, 1] > 0.5) == Y).mean() > 0.9
