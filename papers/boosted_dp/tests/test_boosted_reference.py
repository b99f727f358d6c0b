"""Test that errors of fixed settings on two domains agree with an independent implementation.

The reference implementation encodes numbers in ten bins between the smallest and largest value of
the file. This is not private, but is probably what the paper did. The reference reports means and
standard deviations over 40 fits (four partitions into ten folds); where it reports no standard
deviation, 0.1 is assumed. Its forests also draw questions that all records at a node answer alike.
In this test our forests do so, too: on banknote their error is then 0.24, instead of 0.19 without
such questions (means over 120 fits).
"""

import math
import os
from pathlib import Path

import numpy as np
import pytest

from privcurve import datasets
from privcurve.learners import registry
from privcurve.papers.boosted_dp.learners.dp_forest import classifier as dp_forest

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not os.environ.get("PRIVCURVE_DATA"), reason="PRIVCURVE_DATA is not set"),
]

OC = {"calibrate_alpha": "exact", "alpha": 1.0, "boost_alpha": 1.0, "n_trees": 20, "depth": 4}
LOW = {"alpha": 0.1, "boost_alpha": 0.1, "n_trees": 20, "depth": 4}
CONSTANT = {**OC, "leverage": "constant"}
LINK = {"votes": "link", "n_trees": 1, "depth": 3, "alpha": 0.0, "tree_share": 0.6}
SHRUNK = {"votes": "shrunk", "n_trees": 5, "depth": 3, "alpha": 0.0, "tree_share": 0.5}
DRAWN = {"splits": "random", "votes": "shrunk", "n_trees": 20, "depth": 4}
ONE = {**SHRUNK, "n_trees": 1, "tree_share": 0.6}
FOREST = {"leaves": "laplace", "n_trees": 21, "depth": 4}
SIGNS = {"votes": "sign", "n_trees": 7, "depth": 4}

CASES = [
    # The columns: dataset, learner, calibration, setting, ε, mean error, standard deviation of the
    # error
    ("banknote", "bdpe", "published", OC, 0.01, 0.199, 0.060),
    ("banknote", "bdpe", "published", LOW, 1, 0.261, 0.077),
    ("banknote", "bdpe", "published", CONSTANT, 0.01, 0.480, 0.096),
    ("banknote", "bdpe", "proved", LINK, 1, 0.114, 0.037),
    ("banknote", "bdpe", "proved", SHRUNK, 1, 0.105, 0.036),
    ("banknote", "bdpe", "proved", DRAWN, 1, 0.102, 0.038),
    ("banknote", "dp_forest", "published", FOREST, 1, 0.359, 0.1),
    ("banknote", "dp_forest", "proved", SIGNS, 1, 0.255, 0.1),
    ("breastwisc", "bdpe", "published", OC, 0.01, 0.107, 0.049),
    ("breastwisc", "bdpe", "proved", ONE, 1, 0.069, 0.041),
    ("breastwisc", "dp_forest", "proved", SIGNS, 1, 0.055, 0.027),
]
FITS = 40


@pytest.fixture(scope="module")
def coded():
    """Return, for each of the two datasets: bins of the records, numbers of bins, and labels."""
    graded = datasets.load("breastwisc")
    path = Path(os.environ["PRIVCURVE_DATA"], "banknote/data_banknote_authentication.txt")
    values = np.loadtxt(path, delimiter=",")[:, :4]
    low, high = values.min(axis=0), values.max(axis=0)
    codes = np.minimum((values - low) / (high - low) * 10, 9).astype(np.uint8)
    return {
        "banknote": (codes, [10] * 4, datasets.load("banknote").y),
        "breastwisc": (graded.X, graded.domain.n_bins, graded.y),
    }


@pytest.mark.parametrize(
    ("dataset", "learner", "calibration", "setting", "epsilon", "mean", "sd"), CASES
)
def test_errors_of_fixed_settings(
    coded, monkeypatch, dataset, learner, calibration, setting, epsilon, mean, sd
):
    draw = dp_forest.draw_tree
    monkeypatch.setattr(dp_forest, "draw_tree", lambda a, _, *b: draw(a, False, *b))
    X, n_bins, y = coded[dataset]
    errors = []
    for partition in range(FITS // 10):
        folds = datasets.stratified_folds(y, 10, np.random.default_rng(partition))
        for k in range(10):
            budget = {"epsilon": float(epsilon), "calibration": calibration}
            facts = {"n_bins": n_bins, "classes": (-1, 1), "random_state": 10 * partition + k}
            model = registry.estimator_class(learner)(**setting, **budget, **facts)
            model.fit(X[folds != k], y[folds != k])
            errors.append(1 - model.score(X[folds == k], y[folds == k]))
    # The tolerance is two standard errors of the difference of two means, plus two percentage
    # points for details that the reference does not document. With other random seeds, less than
    # one in twenty cases would fail.
    reach = 0.02 + 2 * sd / math.sqrt(FITS) * math.sqrt(2)
    assert np.mean(errors) == pytest.approx(mean, abs=reach)
