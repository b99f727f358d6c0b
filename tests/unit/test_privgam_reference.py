"""PrivGAM, compared with a plain implementation of the same formulas."""

import math

import numpy as np
import pytest

import privgam as reference
from privcurve.coding import Records
from privcurve.learners.additive import decoder, rule
from privcurve.learners.additive.privgam import PrivGAMClassifier
from privcurve.learners.additive.residuals import BinSums, bin_maps, round_scores
from privcurve.privacy.sealed import open_values

N_BINS = (20, 4, 3, 6)
ORDERED = (True, False, False, True)
BITS = 30


def problem(n=3000, n_classes=2, seed=1):
    """Return records whose columns 0 and 1 decide the class (its position)."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, N_BINS, (n, len(N_BINS)))
    scores = np.zeros((n, n_classes))
    scores[:, 0] = -0.4 * (X[:, 0] - 10)
    scores[:, 1] += 1.0 * (X[:, 1] == 2)
    chances = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    return X, (rng.random((n, 1)) > chances.cumsum(axis=1)).sum(axis=1)


def sums_of(X, y, n_classes, norm, counts=1):
    """Return integer sums over rows that stand for `counts` records each."""
    counts = np.broadcast_to(np.int64(counts), y.shape)
    rows = Records(X.astype(np.uint8), y, counts, np.array(N_BINS))
    maps = bin_maps(np.array(N_BINS), ORDERED, 64)
    return BinSums(rows, range(len(maps)), maps, n_classes, BITS, norm)


@pytest.mark.parametrize(("n_classes", "norm"), [(2, 1), (3, 1), (7, 1), (3, 2), (7, 2)])
def test_sums_match_the_plain_program(n_classes, norm):
    rng = np.random.default_rng(0)
    X, y = problem(500, n_classes)
    counts = rng.integers(0, 3, 500)
    records = sums_of(X, y, n_classes, norm, counts)
    many = np.repeat(np.arange(500), counts)
    expected = np.zeros((n_classes, sum(N_BINS)))
    starts = np.cumsum(N_BINS) - N_BINS
    for j, start in enumerate(starts):
        np.add.at(expected, (y[many], start + X[many, j]), 0.5)
    halves, totals = open_values(records.counts())
    assert np.array_equal(halves / 2.0**BITS, expected)
    assert np.array_equal(totals, halves[:, : N_BINS[0]].sum(axis=1))
    n_scores = 1 if n_classes == 2 else n_classes
    scores, intercepts = rng.normal(size=(n_scores, sum(N_BINS))), rng.normal(size=n_scores)
    of_rows = scores[:, starts + X].sum(axis=2).T + intercepts
    if n_scores == 1:
        # The kernel's tables hold residuals at the middle of steps of 1/256 of the margin.
        margins = np.where(y[:, None] == 1, of_rows, -of_rows)
        middle = np.where(margins > 0, np.ceil(margins * 256) - 0.5, 0.0) / 256
        of_rows = np.where(y[:, None] == 1, middle, -middle)
    else:
        of_rows = (np.floor(of_rows * 256) + 0.5) / 256
    expected = reference.sums_of(X[many], y[many], np.array(N_BINS), of_rows[many], norm)
    exact, totals = open_values(records.sums(round_scores(scores), round_scores(intercepts)))
    assert np.array_equal(totals, exact[..., : N_BINS[0]].sum(axis=-1))
    assert exact / 2.0**BITS == pytest.approx(expected, abs=1e-4)


def fitted(X, y, n_classes, **parameters):
    made = PrivGAMClassifier(
        n_bins=N_BINS, ordered=ORDERED, classes=tuple(range(n_classes)), **parameters
    )
    return made.fit(X, y).model_


def values_of(model):
    """Return the intercepts and the scores of all bins."""
    if hasattr(model, "class_shapes"):
        return model.intercepts, np.concatenate(model.class_shapes, axis=1)
    return np.array([model.intercept]), np.concatenate(model.shapes)[None]


@pytest.mark.parametrize("n_classes", [2, 4])
def test_without_noise_a_model_equals_the_plain_program(n_classes):
    """The grids of residuals and scores make small differences."""
    X, y = problem(n_classes=n_classes)
    result = len(y) / (decoder.MOST_SCALE * math.sqrt(2 * len(N_BINS)))
    plain = reference.fit(X, y, N_BINS, ORDERED, n_classes, decoder.load(), result)
    model = values_of(fitted(X, y, n_classes, epsilon=np.inf))
    for ours, expected in zip(model, plain, strict=True):
        assert ours == pytest.approx(expected, abs=5e-3)
    assert np.abs(model[1]).max() > 1


@pytest.mark.parametrize(("n_classes", "delta"), [(2, 0.0), (2, 1e-5), (3, 0.0), (3, 1e-5)])
def test_with_noise_models_have_the_same_spread(n_classes, delta):
    """The means and deviations of 30 fits agree within five standard errors."""
    X, y = problem(1000, n_classes)
    facts = rule.FitFacts(len(y), ORDERED, n_classes, 3.0, delta, "replace-one")
    plan = rule.plan(facts)
    noise = len(y) / (plan.m * math.sqrt(2 * len(N_BINS)))
    assert plan.most_bins >= max(N_BINS)  # no bins are merged
    ours, plain = [], []
    for k in range(30):
        made = fitted(X, y, n_classes, epsilon=3.0, delta=delta, random_state=k)
        ours.append(np.concatenate([part.ravel() for part in values_of(made)]))
        rng = np.random.default_rng(k)
        network = decoder.load()
        own = reference.fit(
            X, y, N_BINS, ORDERED, n_classes, network, noise, plan.laplace, noise, rng
        )
        plain.append(np.concatenate([part.ravel() for part in own]))
    means, spreads = zip(*((np.mean(x, 0), np.std(x, 0)) for x in (ours, plain)), strict=True)
    apart = np.sqrt((spreads[0] ** 2 + spreads[1] ** 2) / 30)
    assert (np.abs(means[0] - means[1]) <= 5 * apart + 1e-3).all()
    assert np.mean(spreads[0]) == pytest.approx(np.mean(spreads[1]), rel=0.25)
