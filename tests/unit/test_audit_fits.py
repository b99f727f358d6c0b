"""Many fits at once are the fits of `fit_many`, and equal numbers are equal releases."""

import numpy as np
import pytest

from privcurve.audit import fits as module
from privcurve.audit.attacks.dp_bagging import sample_students
from privcurve.audit.attacks.dpboost import sample_gradient_trees
from privcurve.audit.attacks.trees import sample_trees
from privcurve.audit.fits import fits, sample_numbered
from privcurve.audit.pairs import Pair, records
from privcurve.audit.scores import sample_canary_scores
from privcurve.learners import LazyBBClassifier, TopDownTreeClassifier
from privcurve.learners.dp_bagging import DPBaggingClassifier
from privcurve.learners.dpboost import DPBoostClassifier
from privcurve.learners.linear import DPLogisticRegressionClassifier
from privcurve.learners.one_rule import OneRuleClassifier

COMMON = {"n_bins": [2, 3], "classes": (-1, 1), "epsilon": 2.0}
RNG = np.random.default_rng(8)
CODES = RNG.integers(0, [2, 3], (12, 2))
SIGNS = RNG.choice([-1, 1], 12)
COUNTS = [1, *RNG.integers(1, 4, 11)]
SIDE = records(CODES, SIGNS, COMMON["n_bins"], COUNTS)
OTHER = records(CODES, [-SIGNS[0], *SIGNS[1:]], COMMON["n_bins"], COUNTS)
PAIR = Pair("tiny", "drawn", SIDE, OTHER)

TREES = TopDownTreeClassifier(depth=2, **COMMON)
BOOSTED = LazyBBClassifier(weak_learner="topdown", depth=1, n_rounds=2, **COMMON)
GRADIENT = DPBoostClassifier(n_trees=2, trees_per_ensemble=1, max_depth=1, **COMMON)
BAGGING = DPBaggingClassifier(n_teachers=2, n_partitions=2, n_queries=3, **COMMON)
LEARNERS = [
    TREES,
    BOOSTED,
    GRADIENT,
    BAGGING,
    OneRuleClassifier(**COMMON),
    DPLogisticRegressionClassifier(C=0.1, **COMMON),
]


def plainly(learner, n, side=SIDE):
    rng = np.random.default_rng(3)
    return learner.fit_many(side.codes, side.signs, [{}] * n, [rng] * n, side.counts)


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: type(learner).__name__)
def test_scores_are_those_of_fit_many(learner, monkeypatch):
    monkeypatch.setattr(module, "BATCH", 4)
    signs = [SIDE.signs[0], -OTHER.signs[0]]
    expected = [model.decision_function(PAIR.canaries) @ signs for model in plainly(learner, 10)]
    found = sample_canary_scores(learner, PAIR, SIDE, 10, np.random.default_rng(3))
    assert found.tolist() == expected
    assert len(set(expected)) > 1


def test_fits_are_apart():
    models = list(fits(TREES, SIDE, 5, np.random.default_rng(3)))
    for model, expected in zip(models, plainly(TREES, 5), strict=True):
        assert np.array_equal(model.model_.forest.labels, expected.model_.forest.labels)
        assert model.privacy_ == expected.privacy_
    assert not hasattr(TREES, "model_")


def test_equal_numbers_are_equal_releases():
    arrays = [np.array([0]), np.array([1]), np.array([0])]
    given = iter(arrays)
    found = sample_numbered(lambda model: [next(given)], TREES, SIDE, 3, np.random.default_rng(0))
    assert found.dtype == np.int64
    assert found[0] == found[2] != found[1]


def same_partition(numbers, described):
    """Whether two lists say alike which fits are equal."""
    return (
        len(set(numbers)) == len(set(described)) == len(set(zip(numbers, described, strict=True)))
    )


@pytest.mark.parametrize("learner", [TREES, BOOSTED], ids=["one", "boosted"])
def test_trees_are_numbered_by_questions_and_labels(learner):
    numbers = sample_trees(learner, PAIR, SIDE, 300, np.random.default_rng(3)).tolist()
    assert same_partition(numbers, [str(model.model_) for model in plainly(learner, 300)])
    assert len(set(numbers)) > 10


def test_gradient_trees_are_numbered_by_splits_and_cells():
    numbers = sample_gradient_trees(GRADIENT, PAIR, SIDE, 300, np.random.default_rng(3)).tolist()
    cuts = [-1, -1 / 1.1, -0.5 / 1.1, 0, 0.5 / 1.1, 1 / 1.1, 1]
    described = []
    for model in plainly(GRADIENT, 300):
        cells = np.digitize(model.leaf_values_.ravel() / 0.1, cuts)
        described.append((*model.splits_.ravel().tolist(), *cells.tolist()))
    assert same_partition(numbers, described)
    assert len(set(numbers)) > 10


def test_students_are_those_of_fit_many():
    numbers = sample_students(BAGGING, PAIR, SIDE, 100, np.random.default_rng(3)).tolist()
    described = []
    for model in plainly(BAGGING, 100):
        # The order of the queries moves the last digits of a student.
        described.append(tuple(np.round([*model.coef_, model.intercept_], 6) + 0.0))
    assert same_partition(numbers, described)
    assert len(set(numbers)) > 10
