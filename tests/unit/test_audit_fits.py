"""Many fits at once are the fits of `fit_many`."""

import numpy as np
import pytest

from privcurve.audit import fits as module
from privcurve.audit.fits import fits
from privcurve.audit.pairs import Pair, records
from privcurve.audit.states import sample_canary_scores
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
    return learner.fit_many(side.codes, side.labels, [{}] * n, [rng] * n, side.counts)


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: type(learner).__name__)
def test_scores_are_those_of_fit_many(learner, monkeypatch):
    monkeypatch.setattr(module, "BATCH", 4)
    signs = [SIDE.labels[0], -OTHER.labels[0]]
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
