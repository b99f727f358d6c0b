"""PrivGAM of more than two classes, beside a plain program; its decisions, model and refusals."""

import dataclasses
import itertools
import math

import numpy as np
import privgam_classes as reference
import pytest
from scipy.special import softmax

from privcurve.coding import Records
from privcurve.learners.additive import rule
from privcurve.learners.additive.class_model import ClassModel
from privcurve.learners.additive.many_classes import ClassFit, ClassResiduals, chances_of
from privcurve.learners.additive.privgam import PrivGAMClassifier
from privcurve.learners.additive.residuals import bin_maps
from privcurve.privacy.calibration.privgam import gaussian_budget, mixed_budget
from privcurve.privacy.curator import Curator

N_BINS = (12, 4, 3, 6)
ORDERED = (True, False, False, True)
BITS = 30


def problem(n=3000, n_classes=3, seed=1):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, N_BINS, (n, len(N_BINS)))
    scores = np.zeros((n, n_classes))
    scores[:, 0] = 0.5 * (X[:, 0] - 6)
    scores[:, 1] = 2.0 * (X[:, 1] == 2)
    chances = softmax(scores, axis=1)
    y = (rng.random((n, 1)) > chances.cumsum(axis=1)).sum(axis=1)
    return X, y


def fitted(X, y, n_classes=3, **parameters):
    classes = tuple(range(n_classes))
    return PrivGAMClassifier(
        n_bins=N_BINS, ordered=ORDERED, classes=classes, linear="no", **parameters
    ).fit(X, y)


@pytest.mark.parametrize(("n_classes", "norm"), [(3, 1), (7, 1), (3, 2), (7, 2)])
def test_sums_are_those_of_the_plain_program(n_classes, norm):
    rng = np.random.default_rng(0)
    X, y = problem(500, n_classes)
    maps = bin_maps(np.array(N_BINS), ORDERED, max(N_BINS))
    counts = rng.integers(1, 3, 500)
    records = ClassResiduals(
        Records(X.astype(np.uint8), y, counts, np.array(N_BINS)), n_classes, maps, BITS, norm
    )
    shapes = [rng.normal(size=(n_classes, width)) for width in N_BINS]
    for j, shape in enumerate(shapes):
        records.set_shape(j, shape)
    # Scores as the table of weights has them: by steps of 1/256 from the best.
    scores = sum(shape.T[X[:, j]] for j, shape in enumerate(shapes))
    behind = scores.max(axis=1, keepdims=True) - scores
    steps = np.where(behind > 0, np.ceil(behind * 256) - 0.5, 0.0) / 256
    many = np.repeat(np.arange(500), counts)
    for j in range(4):
        expected = reference.sums_of(-steps[many], y[many], X[many, j], N_BINS[j], norm)
        assert records.sums(j) / 2.0**BITS == pytest.approx(expected, abs=1e-5)
    own, _ = reference.shared_out(-steps, y, norm)
    each = records.each() / 2.0**BITS
    assert each[np.arange(500), y] == pytest.approx(own, abs=1e-7)
    assert each.sum(axis=1) == pytest.approx(0.0, abs=1e-7)


@pytest.mark.parametrize("n_rounds", [1, 5])
def test_without_noise_values_are_those_of_the_plain_program(n_rounds):
    """But for the grids of weights and residuals."""
    X, y = problem()
    model = fitted(X, y, epsilon=np.inf, n_rounds=n_rounds).model_
    plain = reference.cyclic(X, y, N_BINS, ORDERED, 3, n_rounds=n_rounds)
    for shape, expected in zip(model.class_shapes, plain[:-1], strict=True):
        assert shape == pytest.approx(expected, abs=5e-3)
    assert model.intercepts == pytest.approx(plain[-1][:, 0], abs=5e-3)


def test_with_noise_values_are_spread_alike(monkeypatch):
    """Means and deviations of 30 fits, within five of their own standard errors."""
    X, y = problem(2000)
    budget = {"epsilon": 2.0, "delta": 1e-5}
    mu = gaussian_budget(*budget.values(), "replace-one").amount
    monkeypatch.setattr(rule, "ROUNDS_FROM", 0.0)
    ours, plain = [], []
    for k in range(30):
        settings = {"n_rounds": 2, "method": "cyclic", "random_state": k}
        ours.append(fitted(X, y, **budget, **settings).model_.class_shapes[1])
        rng = np.random.default_rng(k)
        plain.append(reference.cyclic(X, y, N_BINS, ORDERED, 3, mu, rng, n_rounds=2)[1])
    means, spreads = zip(
        *((np.mean(x, axis=0), np.std(x, axis=0)) for x in (ours, plain)), strict=True
    )
    apart = np.sqrt((spreads[0] ** 2 + spreads[1] ** 2) / 30)
    assert np.abs(means[0] - means[1]).max() < (5 * apart).max()
    assert np.mean(spreads[0]) == pytest.approx(np.mean(spreads[1]), rel=0.25)


@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("n_classes", [3, 6])
def test_numbers_of_all_columns_are_what_records_would_answer_at_the_intercept(n_classes, norm):
    """Almost without noise: S and Q of each column, at the scores of the intercept found."""
    X, y = problem(4000, n_classes)
    maps = bin_maps(np.array(N_BINS), ORDERED, max(N_BINS))
    ones = np.ones(len(y), dtype=np.int64)
    rows = Records(X.astype(np.uint8), y, ones, np.array(N_BINS))
    made = [ClassResiduals(rows, n_classes, maps, BITS, norm) for _ in range(2)]
    budget = (mixed_budget if norm == 1 else gaussian_budget)(1e6, 1e-5 * (norm - 1), "replace-one")
    budget = dataclasses.replace(budget, n_classes=n_classes, bits=BITS)
    fit = ClassFit(made[0], ORDERED, budget, Curator(np.random.default_rng(0)))
    fit.ask_once(rule.Extras(10, 16, False, False, 0.5))
    intercept = made[0].shapes[-1] / 2.0**24
    chances = softmax(intercept[:, 0])
    assert chances_of(np.bincount(y) / len(y), norm) == pytest.approx(chances, abs=1e-3)
    made[1].set_shape(4, intercept)
    for j in range(4):
        sums = made[1].sums(j) / 2.0**BITS
        running = fit._running[j]
        answers = np.stack([running.numerator, running.denominator]) / running.weight
        expected = np.stack([sums[1] - sums[0], sums.sum(axis=0) / 2])
        assert answers == pytest.approx(expected, abs=0.01 * len(y) / n_classes)


def test_all_columns_are_asked_at_once_and_with_a_budget_in_rounds():
    X, y = problem(2000)
    what = "first: numbers of records by class and bin of all columns"
    for delta, epsilon, n_calls in ((0.0, 9.0, 1), (1e-5, 0.1, 1), (1e-5, 1.0, 1 + 10 * 5 + 1)):
        made = fitted(X, y, epsilon=epsilon, delta=delta, random_state=0).privacy_
        assert (made.delta, len(made.ledger), made.ledger[0].what) == (delta, n_calls, what)
        # Equal chances of three classes: a residual of √(1/3), in one bin of each of four columns;
        # of ½ where δ = 0.
        expected = math.sqrt(2 * 4 / 3) if delta else 4
        assert made.ledger[0].sensitivity == pytest.approx(expected)
    # The more budget, the less of it.
    shares = [
        rule.extras_of(rule.CYCLIC, rule.Facts(n, ORDERED, 3, 1.0, 1e-5, "replace-one")).once
        for n in (1_000, 10_000, 100_000)
    ]
    assert 0.5 > shares[0] > 2 * shares[1] > 4 * shares[2] > 0


@pytest.mark.parametrize(("epsilon", "delta"), [(2.0, 1e-5), (4.0, 0.0)])
def test_it_learns_with_noise(epsilon, delta):
    X, y = problem(6000)
    model = fitted(X, y, epsilon=epsilon, delta=delta, random_state=0)
    best = fitted(X, y, epsilon=np.inf).score(X, y)
    assert model.score(X, y) > best - 0.03 > np.bincount(y).max() / len(y) + 0.1


def test_a_score_with_clipped_residuals_has_the_order_and_the_chances_of_the_records():
    """In one bin: where own residuals balance with what others give, chances are the model's."""
    rng = np.random.default_rng(3)
    for n_classes, norm in itertools.product((2, 3, 5, 12), (1, 2)):
        scores = rng.normal(size=(200, n_classes)) * rng.uniform(0.1, 4.0, (200, 1))
        p = softmax(scores, axis=1)
        nothing = np.zeros(n_classes)
        model = ClassModel(nothing, nothing, (scores.T,), (scores.T,), norm)
        q = softmax(model.log_odds(np.arange(200)[:, None]), axis=1)
        residuals = [
            reference.shared_out(scores, np.full(200, k), norm)[0] for k in range(n_classes)
        ]
        # What a class has of its own records, and of others'.
        own = q * np.transpose(residuals)
        given = own / (1.0 - p)
        assert own == pytest.approx(p * (given.sum(axis=1, keepdims=True) - given))
        assert np.array_equal(q.argmax(axis=1), p.argmax(axis=1))


def test_chances_of_one_column_are_the_shares_of_classes():
    rng = np.random.default_rng(4)
    X = rng.integers(0, 2, (40_000, 1))
    shares = np.array([[0.7, 0.2, 0.1], [0.3, 0.3, 0.4]])
    y = (rng.random((40_000, 1)) > shares[X[:, 0]].cumsum(axis=1)).sum(axis=1)
    model = PrivGAMClassifier(
        n_bins=2, ordered=False, classes=(0, 1, 2), epsilon=np.inf, n_rounds=60
    ).fit(X, y)
    assert model.predict_proba([[0], [1]]) == pytest.approx(shares, abs=0.02)


@pytest.mark.parametrize("name", ["linear", "pairs"])
def test_what_is_of_two_classes_is_refused_before_training(name):
    X, y = problem(60)
    made = PrivGAMClassifier(
        n_bins=N_BINS, ordered=True, classes=(0, 1, 2), delta=1e-5, **{name: "yes"}
    )
    with pytest.raises(ValueError, match=f"{name} = 'yes' is for two classes, and there are 3"):
        made.fit(X, y)


def test_a_model_in_words_names_the_classes_of_its_ends():
    X, y = problem()
    text = fitted(X, y, epsilon=np.inf).describe()
    assert "they begin with class 0 " in text
    assert "  column 0: from " in text
    assert "  column 3: from " in text
    named = fitted(X, y, epsilon=np.inf).model_.in_words(class_names=["low", "mid", "high"])
    assert "they begin with low " in named
    assert "class " not in named.partition(":")[2]
