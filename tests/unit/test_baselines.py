"""The baselines, compared with the libraries that they wrap."""

import math
import warnings

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn import ensemble, linear_model
from sklearn.metrics import log_loss as sklearn_log_loss

from privcurve.coding import one_hot
from privcurve.learners.boosting.gradient_boosting import GradientBoostingClassifier
from privcurve.learners.linear.linear import (
    DPLogisticRegressionClassifier,
    LogisticRegressionClassifier,
)
from privcurve.learners.majority import MajorityClassClassifier
from privcurve.learners.registry import entry
from privcurve.learners.shared.log_odds import logistic_loss
from privcurve.privacy.budget import PROVED, PUBLISHED

N_BINS = [3, 4, 2, 5]
NON_PRIVATE = (LogisticRegressionClassifier, GradientBoostingClassifier, MajorityClassClassifier)
OFFERED = entry("dp_logistic_regression").calibrations
INF = float("inf")

Data = tuple[NDArray[np.uint8], NDArray[np.int8], NDArray[np.int64]]


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(5)
    X = np.column_stack([rng.integers(0, b, 400) for b in N_BINS]).astype(np.uint8)
    score = X[:, 0] - 1.0 + 0.7 * (X[:, 1] == 2) - 0.4 * X[:, 3] + 0.6 + rng.logistic(size=400)
    y = np.where(score > 0, 1, -1).astype(np.int8)
    counts = rng.integers(1, 4, 400)
    return X, y, counts


def repeated(data):
    X, y, counts = data
    return np.repeat(X, counts, axis=0), np.repeat(y, counts)


def dense(X):
    return np.asarray(one_hot(X, np.array(N_BINS)).toarray())


# Compared with the wrapped library -----------------------------------------------------


@pytest.mark.parametrize("C", [0.05, 1.0, 20.0])
def test_logistic_regression_is_scikit_learns(data, C):
    X, y, counts = data
    ours = LogisticRegressionClassifier(C=C, n_bins=N_BINS).fit(X, y, counts)
    rows, labels = repeated(data)
    theirs = linear_model.LogisticRegression(C=C, tol=1e-10, max_iter=10_000)
    theirs.fit(dense(rows), labels)
    np.testing.assert_allclose(ours.coef_, theirs.coef_[0], atol=1e-5)
    np.testing.assert_allclose(
        ours.predict_proba(X), theirs.predict_proba(dense(X)), rtol=0, atol=1e-6
    )
    assert ours.n_features_used_ == sum(N_BINS)


def test_gradient_boosting_is_scikit_learns(data):
    X, y, counts = data
    settings = {"n_estimators": 20, "max_depth": 2, "learning_rate": 0.3}
    ours = GradientBoostingClassifier(**settings, n_bins=N_BINS, random_state=0)
    ours.fit(X, y, counts)
    theirs = ensemble.GradientBoostingClassifier(**settings, random_state=0)
    theirs.fit(*repeated(data))
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-9)
    assert 1 <= ours.n_features_used_ <= len(N_BINS)


def test_gradient_boosting_counts_the_columns_that_it_cuts(data):
    X, y, _ = data
    stump = GradientBoostingClassifier(n_estimators=1, max_depth=1, n_bins=N_BINS).fit(X, y)
    assert stump.n_features_used_ == 1


def test_majority_class_follows_the_counts_and_takes_a_tie_as_negative():
    X = np.zeros((3, 1), dtype=np.uint8)
    learner = MajorityClassClassifier(n_bins=2)
    assert learner.fit(X, ["a", "a", "b"], [1, 1, 5]).predict(X[:1]) == ["b"]
    assert learner.predict_proba(X)[:, 1] == pytest.approx(5 / 7)
    assert learner.n_features_used_ == 0
    assert learner.fit(X, ["a", "a", "b"], [1, 1, 2]).predict(X[:1]) == ["a"]


@pytest.mark.parametrize("C", [0.05, 1.0])
@pytest.mark.parametrize("epsilon", [0.3, 3.0, 20.0, INF])
@pytest.mark.usefixtures("given_streams")
def test_published_is_diffprivlibs(data, epsilon, C):
    models = pytest.importorskip("diffprivlib.models")
    X, y, counts = data
    parameters = {"C": C, "epsilon": epsilon, "calibration": PUBLISHED, "n_bins": N_BINS}
    ours = DPLogisticRegressionClassifier(**parameters, random_state=np.random.default_rng(11))
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # neither PrivacyLeakWarning nor any other
        warnings.simplefilter("ignore", ResourceWarning)  # other tests leave files open
        ours.fit(X, y, counts)
    # The generator that our learner makes from a seed for diffprivlib.
    words = np.random.default_rng(11).integers(2**32, size=4, dtype=np.uint32).tolist()
    stream = np.random.MT19937(np.random.SeedSequence(words))
    rows, labels = repeated(data)
    theirs = models.LogisticRegression(
        C=C,
        epsilon=epsilon,
        data_norm=math.sqrt(len(N_BINS)) * (1 + 1e-12),
        tol=1e-9,
        max_iter=10_000,
        random_state=np.random.RandomState(stream),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # SciPy warns about iprint
        theirs.fit(dense(rows), labels)
    # diffprivlib also stops when the loss decreases little: at a gradient of about 1e-7.
    np.testing.assert_allclose(ours.coef_, theirs.coef_[0], atol=2e-4)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_[0], atol=2e-4)


def test_published_without_noise_is_the_non_private_learner(data):
    X, y, counts = data
    options = {"epsilon": INF, "calibration": PUBLISHED, "random_state": 0}
    private = DPLogisticRegressionClassifier(**options, n_bins=N_BINS).fit(X, y, counts)
    plain = LogisticRegressionClassifier(n_bins=N_BINS).fit(X, y, counts)
    np.testing.assert_allclose(private.predict_proba(X), plain.predict_proba(X), atol=1e-5)


def test_proved_without_noise_is_logistic_regression_without_intercept(data):
    X, y, counts = data
    options = {"epsilon": INF, "calibration": PROVED, "random_state": 0}
    ours = DPLogisticRegressionClassifier(**options, C=0.3, n_bins=N_BINS).fit(X, y, counts)
    rows, labels = repeated(data)
    theirs = linear_model.LogisticRegression(C=0.3, fit_intercept=False, tol=1e-10)
    theirs.fit(dense(rows), labels)
    np.testing.assert_allclose(ours.coef_, theirs.coef_[0], atol=1e-5)
    assert ours.intercept_ == 0


# The contract --------------------------------------------------------------------------


@pytest.mark.parametrize("learner", NON_PRIVATE)
@pytest.mark.parametrize("label", ["no", "yes"])
def test_the_only_label_is_always_predicted(data, learner, label):
    X = data[0]
    fitted = learner(n_bins=N_BINS, classes=("no", "yes"), random_state=0)
    fitted.fit(X, [label] * len(X))
    assert set(fitted.predict(X)) == {label}
    assert (fitted.predict_proba(X)[:, ["no", "yes"].index(label)] > 0.999).all()


@pytest.mark.parametrize("calibration", OFFERED)
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 50.0])
@pytest.mark.parametrize("n", [1, 2, 10])
def test_few_records_and_one_label_are_accepted(n, epsilon, calibration):
    X = np.zeros((n, 2), dtype=np.uint8)
    learner = DPLogisticRegressionClassifier(
        epsilon=epsilon, calibration=calibration, n_bins=3, classes=(0, 1), random_state=1
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ResourceWarning)  # other tests leave files open
        learner.fit(X, np.ones(n, dtype=int))
    assert np.isfinite(learner.coef_).all()
    assert math.isfinite(learner.intercept_)


@pytest.mark.parametrize("intercept", [False, True])
def test_the_loss_is_the_logistic_one_and_its_gradient_its_slope(data, intercept):
    X, y, counts = data
    rows = one_hot(X, np.array(N_BINS))
    signs = np.where(y == y[0], 1, -1).astype(np.int8)
    rng = np.random.default_rng(0)
    model = rng.normal(scale=2.0, size=rows.shape[1] + intercept)
    loss, gradient = logistic_loss(model, rows, signs, counts, 0.3)
    weights = model[: rows.shape[1]]
    scores = rows.toarray() @ weights + (model[-1] if intercept else 0.0)
    expected = sklearn_log_loss(signs, 1 / (1 + np.exp(-scores)), sample_weight=counts)
    assert loss == pytest.approx(expected + 0.15 * weights @ weights, rel=1e-12)
    for k in range(len(model)):
        step = np.zeros(len(model))
        step[k] = 1e-5
        up, down = (logistic_loss(model + s * step, rows, signs, counts, 0.3)[0] for s in (1, -1))
        assert gradient[k] == pytest.approx((up - down) / 2e-5, abs=1e-8)
    # Huge scores do not overflow.
    huge, slope = logistic_loss(1e4 * model, rows, signs, counts, 0.0)
    assert np.isfinite(huge)
    assert np.isfinite(slope).all()


# More than two classes -------------------------------------------------------------


def test_multinomial_regression_is_scikit_learns(data):
    X, _, counts = data
    labels = np.minimum(X[:, 3], 2)
    ours = LogisticRegressionClassifier(n_bins=N_BINS, classes=(0, 1, 2), C=0.3)
    ours.fit(X, labels, counts)
    rows = one_hot(X, np.array(N_BINS))
    theirs = linear_model.LogisticRegression(C=0.3, max_iter=5000)
    theirs.fit(rows, labels, sample_weight=counts)
    assert ours.coef_.shape == (3, 14)
    assert ours.predict_proba(X) == pytest.approx(theirs.predict_proba(rows), abs=1e-6)
    # A class without records has a probability near 0, and does not change the others.
    absent = LogisticRegressionClassifier(n_bins=N_BINS, classes=(0, 9, 1, 2), C=0.3)
    chances = absent.fit(X, labels, counts).predict_proba(X)
    assert chances[:, 1].max() < 1e-6
    assert np.delete(chances, 1, axis=1) == pytest.approx(theirs.predict_proba(rows), abs=1e-5)


def test_the_majority_of_three_classes():
    X = np.zeros((4, 1), dtype=np.uint8)
    labels, counts = ["c", "a", "c", "d"], [1, 3, 2, 2]
    model = MajorityClassClassifier(n_bins=2, classes=("a", "b", "c", "d"))
    model.fit(X, labels, counts)
    assert model.predict_proba(X)[0] == pytest.approx([3 / 8, 0, 3 / 8, 2 / 8], abs=1e-6)
    assert model.predict(X[:1]).tolist() == ["a"]  # the first of equal classes
