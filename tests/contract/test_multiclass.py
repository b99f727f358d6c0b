"""Test learners that support more than two classes, and the message of the other learners."""

from dataclasses import replace

import numpy as np
import pytest
from made_learners import each_learner, generators, make_learner, small_problem
from sklearn.base import clone

from privcurve.audit.fits import fits
from privcurve.audit.pairs import records
from privcurve.learners import registry
from privcurve.learners.entry import Facts
from privcurve.learners.registry import LEARNERS, entry
from privcurve.privacy.curator import Curator

NAMES = ("left", "middle", "right")
multiclass = pytest.mark.parametrize("name", registry.multiclass_names())


def of_three(n=300, names=NAMES):
    X, _, n_bins = small_problem(n)
    return X, np.array(names)[X[:, 2]], n_bins


def without_noise(name, **parameters):
    return make_learner(
        name, **({"epsilon": np.inf} if LEARNERS[name].private else {}), **parameters
    )


@multiclass
def test_scores_have_a_column_a_class(name):
    X, y, n_bins = of_three()
    model = without_noise(name, n_bins=n_bins, classes=NAMES, random_state=0).fit(X, y)
    assert model.classes_.tolist() == list(NAMES)
    scores = model.decision_function(X)
    assert scores.shape == (300, 3)
    assert scores.dtype == np.float64
    assert np.isfinite(scores).all()
    assert np.array_equal(model.predict(X), np.array(NAMES)[scores.argmax(axis=1)])
    if name != "majority_class":
        assert (model.predict(X) == y).mean() > 0.9
    if hasattr(model, "predict_proba"):
        chances = model.predict_proba(X)
        assert chances.shape == (300, 3)
        assert chances.sum(axis=1) == pytest.approx(1)
        assert np.array_equal(chances.argmax(axis=1), scores.argmax(axis=1))


@multiclass
def test_classes_keep_their_order_and_may_be_absent(name):
    X, y, n_bins = of_three(60)
    order = ("right", "none", "left", "middle")
    model = without_noise(name, n_bins=n_bins, classes=order, random_state=0).fit(X, y)
    assert model.classes_.tolist() == list(order)
    assert set(model.predict(X)) <= set(NAMES)
    assert np.isfinite(model.decision_function(X)).all()
    alone = model.fit(X[:20], np.full(20, "middle"))
    assert alone.decision_function(X).shape == (60, 4)
    assert set(alone.predict(X)) == {"middle"}


@multiclass
@pytest.mark.usefixtures("given_streams")
def test_two_classes_are_the_pipelines(name):
    X, y, n_bins = small_problem(80)
    learner = registry.make(name, Facts(n_bins, ordered=[False] * 4), {"random_state": 0})
    model = learner.fit(X, np.where(y == "yes", 1, -1))
    assert model.decision_function(X).shape == (80,)
    named = clone(model).set_params(classes=("no", "yes"), random_state=generators(0)[0]).fit(X, y)
    again = (
        clone(model).set_params(random_state=generators(0)[0]).fit(X, np.where(y == "yes", 1, -1))
    )
    assert np.array_equal(named.decision_function(X), again.decision_function(X))


@multiclass
def test_audited_models_match_the_learner(name):
    X, y, n_bins = small_problem(30)
    for facts, labels in (
        (Facts(n_bins, ordered=[False] * 4), np.where(y == "yes", 1, -1)),
        (Facts(n_bins, ordered=[False] * 4, n_classes=3), X[:, 2]),
    ):
        learner = registry.make(name, facts)
        side = records(X, labels, n_bins)
        (fast,) = fits(learner, side, 1, np.random.default_rng(3))
        (slow,) = learner.fit_records(side, [{}], [*map(Curator, generators(3))])
        assert np.array_equal(fast.decision_function(X), slow.decision_function(X))


@multiclass
def test_too_many_classes(name):
    X = np.zeros((129, 1), dtype=np.uint8)
    with pytest.raises(ValueError, match="129 classes, more than 128"):
        make_learner(name, n_bins=1).fit(X, np.arange(129))


@each_learner
def test_the_pipelines_classes(name):
    facts = Facts([2, 3], ordered=[True, False], n_classes=4, public_columns=(0,), public_label=1)
    two = replace(facts, n_classes=2)
    made = registry.make(name, two, {"random_state": 3}, entry(name).neighbours[0])
    assert (made.n_bins, made.classes, made.random_state) == ([2, 3], (-1, 1), 3)
    if entry(name).multiclass:
        assert registry.make(name, facts).classes == (0, 1, 2, 3)
