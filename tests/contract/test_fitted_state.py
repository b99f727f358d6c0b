"""After a fit all that predicts is fitted state: parameters that are set later are for the next."""

import json

import numpy as np
from made_learners import domain_of, learners, make, problem
from sklearn.base import clone

from privcurve import models

# What a fitted learner has beside its methods, where it has it.
PUBLIC = ("classes_", "n_features_used_", "n_records_", "chances_by_link", "cap_")


class Unreadable:
    """A value that no parameter can have: what reads it fails."""


def answers(model, X, path):
    """All that a fitted learner says: of rows, of itself, and in a file."""
    said = {"scores": model.decision_function(X).tolist(), "labels": model.predict(X).tolist()}
    for name in ("predict_proba", "staged_decision_function"):
        if hasattr(model, name):
            said[name] = [np.asarray(one).tolist() for one in getattr(model, name)(X)]
    said |= {name: repr(getattr(model, name)) for name in PUBLIC if hasattr(model, name)}
    said |= {"measures": model.measures_, "privacy": str(model.privacy_)}
    if model._model_to_save()._released:
        models.save(path, model, domain_of(model.n_bins_.tolist()))
        said["file"] = json.loads(path.read_text())
    return said


def check_settled(model, X, path):
    """Set each parameter to what it can't be: nothing that the model says may follow it."""
    before = answers(model, X, path)
    for name in model.get_params(deep=False):
        model.set_params(**{name: Unreadable()})
    assert answers(model, X, path) == before


@learners
def test_parameters_set_after_a_fit_change_nothing(name, tmp_path):
    X, y, n_bins = problem(100)
    model = make(name, n_bins=n_bins, random_state=0).fit(X, y)
    check_settled(model, X, tmp_path / "model.json")


@learners
def test_bounds_set_after_a_fit_code_nothing(name):
    X, y, _ = problem(60)
    low, high = np.zeros(4), np.full(4, 10.0)
    model = make(name, n_bins=10, bounds=(low, high), random_state=0).fit(X, y)
    fresh = clone(model).fit(X, y)
    before = model.decision_function(X)
    # In place, too: an array of the caller is not the model's.
    high[:] = 1e6
    assert np.array_equal(model.decision_function(X), before)
    assert np.array_equal(fresh.decision_function(X), before)
    model.set_params(bounds=(0.0, 1.0))
    assert np.array_equal(model.decision_function(X), before)


def test_a_model_holds_no_seed_that_was_taken_from_it():
    X, y, n_bins = problem(60)
    model = make("lazybb", n_bins=n_bins, random_state=123456789).fit(X, y)
    model.set_params(random_state=None)
    assert "123456789" not in repr(vars(model))
