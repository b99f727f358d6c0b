"""Test every learner's model as a file: loaded, it predicts bit for bit like the fitted object."""

import json
import sqlite3

import numpy as np
import pandas as pd
import pytest
from made_learners import domain_of, each_learner, make_learner, parameter_changes, small_problem
from sklearn.base import clone

from privcurve import models
from privcurve.datasets.domain import NUMERIC, Domain, Label
from privcurve.learners.registry import LEARNERS, estimator_class, missing_package, multiclass_names
from privcurve.models.sql import query
from privcurve.privacy.budget import PROVED

# PATE cannot be saved, because its model contains private teachers. Private selection saves the
# selected model, which another learner made (test_tuned.py).
NOT_HANDED_OVER = {"pate", "tuned"}


def test_every_proved_learner_can_be_saved():
    proved = {name for name, learner in LEARNERS.items() if PROVED in learner.calibrations}
    installed = {name for name in LEARNERS if not missing_package(name)}
    saved = {name for name in installed if estimator_class(name)._released}
    # A tuned model is saved as a model of the selected learner.
    assert proved - NOT_HANDED_OVER <= saved
    # No peer's model can be saved; of the learners without privacy, two simple ones can be saved.
    assert saved - proved == {"logistic_regression", "majority_class"}


def check_saved(model, X, domain, path):
    chosen = model._model_to_save()
    name = chosen._learner
    if not chosen._released:
        with pytest.raises(models.ModelError, match=f"{name} can't be saved: "):
            models.save(path, model, domain)
        assert not path.exists()
        return
    models.save(path, model, domain)
    loaded = models.load(path)
    for rows in (X, X[:1]):
        assert loaded.decision_function(rows).tobytes() == model.decision_function(rows).tobytes()
        assert np.array_equal(loaded.predict(rows), model.predict(rows))
        if hasattr(model, "predict_proba"):
            assert loaded.predict_proba(rows).tobytes() == model.predict_proba(rows).tobytes()
            labels, chances = loaded.predict_with_probabilities(rows)
            assert np.array_equal(labels, loaded.predict_names(rows))
            assert chances.tobytes() == loaded.predict_proba(rows).tobytes()
    assert loaded.has_probabilities == hasattr(model, "predict_proba")
    assert (loaded.learner, loaded.domain, loaded.statement) == (name, domain, model.privacy_)
    assert loaded.describe()
    check_explained(model, loaded, domain)
    # If a loaded model is saved again, the content is the same.
    again = path.with_name("again.json")
    models.save(again, loaded._estimator, loaded.domain)
    first, second = (json.loads(each.read_text()) for each in (path, again))
    assert all(first[key] == second[key] for key in first if key != "sha256")
    # The file contains neither the seed nor the number of records.
    assert "random_state" not in first["parameters"]
    assert "n_records" not in path.read_text()


def check_explained(model, loaded, domain):
    """Check that contributions of columns add up to the score, and importances are mean changes.

    The mean is over all cells of the domain.
    """
    cells = np.array(list(np.ndindex(*domain.n_bins)), dtype=np.uint8)
    explanation = loaded.explain()
    assert str(explanation) == str(model.explain(domain))
    assert list(loaded.feature_names_in_) == list(explanation.names) == list(domain.names)
    assert np.array_equal(loaded.feature_importances_, model.feature_importances_)
    shapes = {shape.column.name: shape for shape in explanation.shapes}
    added = np.sum(
        [shapes[k].values[:, cells[:, j]] for j, k in enumerate(explanation.names)], axis=0
    )
    scores = loaded.decision_function(cells).reshape(len(cells), -1)
    scores = scores - (scores.mean(axis=1, keepdims=True) if scores.shape[1] > 1 else 0)
    check_in_sql(loaded, explanation, cells)
    if hasattr(getattr(model, "model_", None), "log_odds"):
        # With several classes, log-odds are no sum, but the sum has the same largest class.
        summed = added.T + explanation.constant
        if scores.shape[1] == 1:
            assert summed == pytest.approx(scores)
        else:
            assert np.array_equal(summed.argmax(1), scores.argmax(1))
        return
    if explanation.is_sum:
        assert np.allclose(added.T + explanation.constant, scores)
    table = scores.reshape(*domain.n_bins, -1)
    for j, name in enumerate(explanation.names):
        moved = np.abs(table - table.mean(axis=j, keepdims=True)).mean()
        assert np.isclose(shapes[name].importance, moved, rtol=1e-9)


def check_in_sql(loaded, message, cells):
    """Check that a database predicts the same in all cells, if the score is a sum."""
    if not message.is_sum:
        with pytest.raises(models.ModelError, match="has no form in SQL"):
            query(loaded, "cells")
        return
    # For each bin, a value in it: the lower edge, or the first category.
    columns = {
        column.name: [
            column.edges[code] if column.kind == NUMERIC else column.categories[code][0]
            for code in codes
        ]
        for column, codes in zip(loaded.domain.columns, cells.T.tolist(), strict=True)
    }
    with sqlite3.connect(":memory:") as base:
        pd.DataFrame(columns).to_sql("cells", base, index=False)
        answers = pd.read_sql_query(query(loaded, "cells"), base)
    label = f"predicted_{loaded.domain.label.column}"
    assert answers[label].tolist() == loaded.predict_names(cells).tolist()


# A prediction depends only on fitted state: parameters that are set after a fit are for the next
# fit.

# Public attributes of fitted learners; a learner may lack some of them.
PUBLIC = ("classes_", "n_features_used_", "n_records_", "chances_by_link", "cap_")


class Unreadable:
    """A value of a parameter that fails when it is used."""


def answers(model, X, path):
    """Return all outputs of a fitted learner: predictions, attributes, and content of its file."""
    result = {"scores": model.decision_function(X).tolist(), "labels": model.predict(X).tolist()}
    for name in ("predict_proba", "staged_decision_function"):
        if hasattr(model, name):
            result[name] = [np.asarray(one).tolist() for one in getattr(model, name)(X)]
    result |= {name: repr(getattr(model, name)) for name in PUBLIC if hasattr(model, name)}
    result |= {"measures": model.measures_, "privacy": str(model.privacy_)}
    if model._model_to_save()._released:
        models.save(path, model, domain_of(model.n_bins_.tolist()))
        result["file"] = json.loads(path.read_text())
    return result


def check_settled(model, X, path):
    """Set each parameter to an unusable value, and check that no output of the model changes."""
    before = answers(model, X, path)
    for name in model.get_params(deep=False):
        model.set_params(**{name: Unreadable()})
    assert answers(model, X, path) == before


@each_learner
def test_bounds_set_after_a_fit_code_nothing(name):
    X, y, _ = small_problem(60)
    low, high = np.zeros(4), np.full(4, 10.0)
    model = make_learner(name, n_bins=10, bounds=(low, high), random_state=0).fit(X, y)
    fresh = clone(model).fit(X, y)
    before = model.decision_function(X)
    # Change the array in place, too: the model must have copied it.
    high[:] = 1e6
    assert np.array_equal(model.decision_function(X), before)
    assert np.array_equal(fresh.decision_function(X), before)
    model.set_params(bounds=(0.0, 1.0))
    assert np.array_equal(model.decision_function(X), before)


def test_a_model_holds_no_seed():
    X, y, n_bins = small_problem(60)
    model = make_learner("lazybb", n_bins=n_bins, random_state=123456789).fit(X, y)
    model.set_params(random_state=None)
    assert "123456789" not in repr(vars(model))


# Saved and loaded -------------------------------------------------------------------------


def check_fit(name, change, path):
    """Check the file of a fitted model, and that later parameters change nothing."""
    X, y, n_bins = small_problem(100)
    model = make_learner(name, **{"n_bins": n_bins, "random_state": 0, **change}).fit(X, y)
    check_saved(model, X, domain_of(n_bins), path)
    check_settled(model, X, path)


@each_learner
def test_a_loaded_model_predicts_the_same_bits_and_ignores_later_parameters(name, tmp_path):
    check_fit(name, {}, tmp_path / "model.json")


@pytest.mark.slow
@each_learner
def test_a_loaded_model_predicts_the_same_bits_with_every_setting(name, tmp_path):
    for change in parameter_changes(name):
        check_fit(name, change, tmp_path / "model.json")
        (tmp_path / "model.json").unlink(missing_ok=True)


# Learners for which compiling the code for three classes takes seconds.
COMPILED = ("privgam", "distributed_topdown", "random_trees")


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=[pytest.mark.slow] * (n in COMPILED)) for n in multiclass_names()],
)
def test_a_loaded_model_predicts_the_same_bits_with_three_classes(name, tmp_path):
    if missing_package(name) or not estimator_class(name)._released:
        pytest.skip("no model that could be saved")
    X, _, n_bins = small_problem(90)
    y = (X[:, 1].astype(int) + X[:, 3]) % 3
    three = Domain(domain_of(n_bins).columns, Label("stage", classes=("I", "II", "III")))
    model = make_learner(name, n_bins=n_bins, random_state=0).fit(X, y)
    check_saved(model, X, three, tmp_path / "model.json")
