"""PrivGAM's standard errors, intervals and evidence, on a simulator that was not used in training.

The simulator has Gaussian columns with one common factor, cut into bins of equal width. The network
of errors was trained on columns of decoder/tables.py and on other effects (decoder/errors.py).
"""

import math
from dataclasses import replace

import numpy as np
import pytest

from privcurve.kernels.tails import tail
from privcurve.learners.additive import errors
from privcurve.learners.additive.errors import HALF_WIDTH, Counts
from privcurve.learners.additive.privgam import PrivGAMClassifier
from privcurve.models.explain import explain

N_ALL = 40_000
EFFECTS = (lambda x: x, lambda x: x * x, lambda x: np.sign(x - 0.2), lambda x: np.sin(3 * x))


def simulate(rng, d, n_bins, sizes):
    """Return codes, their log-odds up to a constant, and the scores of an additive model."""
    common, rho = rng.normal(size=(N_ALL, 1)), rng.choice([0.0, 0.3, 0.6])
    columns = math.sqrt(rho) * common + math.sqrt(1 - rho) * rng.normal(size=(N_ALL, d))
    codes = np.clip((columns + 3) / 6 * n_bins, 0, n_bins - 1).astype(np.int64)
    scores, place = [], np.linspace(-1, 1, n_bins)
    for j, size in enumerate(sizes):
        share = np.bincount(codes[:, j], minlength=n_bins) / N_ALL
        values = EFFECTS[rng.integers(4)](place)
        values = values - share @ values
        scores.append(size * values / np.sqrt(share @ values**2))
    return codes, sum(scores[j][codes[:, j]] for j in range(d)), scores


def covered(number):
    """Fit a simulated table; return n·μ/d, and which bins, rows and intercepts are covered."""
    rng = np.random.default_rng([2026, number])
    d, n_bins = int(rng.choice([1, 4, 10, 20])), int(rng.choice([8, 16, 32]))
    n = int(np.exp(rng.uniform(np.log(500), np.log(20_000))))
    sizes = rng.choice([0.0, 0.0, 0.1, 0.3, 0.6, 0.9], d)
    codes, log_odds, scores = simulate(rng, d, n_bins, sizes)
    constant = rng.uniform(-2.5, 2.5)
    y = rng.random(N_ALL) < 1 / (1 + np.exp(-log_odds - constant))
    model = PrivGAMClassifier(
        epsilon=float(rng.choice([0.3, 1.0, 3.0, 10.0])),
        delta=float(rng.choice([0.0, 1e-6])),
        n_bins=n_bins,
        classes=[0, 1],
        ordered=True,
        random_state=number,
    )
    model.fit(codes[:n].astype(np.uint8), y[:n].astype(int))
    fitted, hits = model.model_, []
    # A column that the fit did not choose has no scores, and so no intervals.
    for j in (j for j in range(d) if fitted.errors[j].any()):
        # Fitted scores are relative to released counts of people, true scores to all records.
        share = np.bincount(codes[:, j], minlength=n_bins) / N_ALL
        moved = fitted.shapes[j] - share @ fitted.shapes[j]
        off = np.abs(moved - scores[j]) <= HALF_WIDTH * fitted.errors[j]
        hits.append(off[share > 0])
    rows = rng.integers(n, N_ALL, 200)
    low, high = model.predict_interval(codes[rows].astype(np.uint8)).T
    right = 1 / (1 + np.exp(-log_odds[rows] - constant))
    return model._plan(n).m, np.concatenate(hits), (low <= right) & (right <= high)


def coverage(numbers):
    """Return the mean coverage of bins and rows, for fits with n·μ/d below 20 and above."""
    fits = [covered(number) for number in numbers]
    by_size = {}
    for m, bins, rows in fits:
        by_size.setdefault(bool(m >= 20), []).append((bins.mean(), rows.mean()))
    return {large: tuple(np.mean(all_, axis=0)) for large, all_ in by_size.items()}


@pytest.mark.slow
def test_intervals_have_their_stated_coverage():
    for of_bins, of_rows in coverage(range(300)).values():
        assert 0.92 < of_bins < 0.98
        assert 0.88 < of_rows < 0.96


def tossed(number, d=12):
    """Return the fit of a table whose label is a coin toss."""
    rng = np.random.default_rng([7, number])
    n, n_bins = int(rng.choice([500, 3000])), int(rng.choice([2, 8, 16]))
    X = rng.integers(0, n_bins, (n, d)).astype(np.uint8)
    y = (rng.random(n) < rng.choice([0.05, 0.3, 0.5])).astype(int)
    return PrivGAMClassifier(
        epsilon=float(rng.choice([0.3, 1.0, 10.0])),
        delta=float(rng.choice([0.0, 1e-6])),
        n_bins=n_bins,
        classes=[0, 1],
        ordered=bool(rng.random() < 0.5),
        random_state=number,
    ).fit(X, y)


def shows_any(model):
    return min(model.model_.evidence) <= errors.FALSE_ALARM


@pytest.mark.slow
def test_coin_tosses_show_evidence_at_the_stated_rate():
    # With a false alarm of 5 %, more than 20 of 200 have probability .0008.
    assert sum(shows_any(tossed(number)) for number in range(200)) <= 20


def test_rare_labels_in_many_categories_show_evidence_at_the_stated_rate():
    """Counts of few records are not normal, even with little noise."""
    rng, shown = np.random.default_rng(0), 0
    for _ in range(150):
        noisy = rng.normal(scale=0.5, size=(2, 150))
        labels, codes = rng.random(1000) < 0.02, rng.integers(30, size=(1000, 5))
        places = codes + 30 * np.arange(5)
        for k in range(2):
            noisy[k] += np.bincount(places[labels == (k == 0)].ravel(), minlength=150)
        starts = 30 * np.arange(6)
        counts = errors.Counts(*noisy, 0.5, starts, [False] * 5, False, 5)
        shown += min(errors.evidence(counts)) <= errors.FALSE_ALARM
    assert shown <= 15


def noisy_counts(rng, columns, n_bins, y, deviation, laplace):
    """Return noisy counts by class of ordered columns with `n_bins` bins each."""
    places = columns + n_bins * np.arange(columns.shape[1])
    of_class = [np.bincount(places[y == k].ravel(), minlength=places.max() + 1) for k in (1, 0)]
    size = n_bins * columns.shape[1]
    noise = rng.laplace(size=(2, size)) / math.sqrt(2) if laplace else rng.normal(size=(2, size))
    noisy = [
        np.pad(one, (0, size - len(one))) + deviation * own
        for one, own in zip(of_class, noise, strict=True)
    ]
    starts = n_bins * np.arange(columns.shape[1] + 1)
    return Counts(*noisy, deviation, starts, [True] * (d := columns.shape[1]), laplace, d)


@pytest.mark.parametrize("laplace", [True, False])
def test_empty_bins_hide_no_effect(laplace):
    """Nine of eleven bins have few records: their noise must not hide the effect of the others."""
    rng, shown = np.random.default_rng(4), np.zeros(12)
    for _ in range(40):
        X = np.minimum(rng.poisson(0.7, (7000, 12)), 10)
        y = (rng.random(7000) < 1 / (1 + np.exp(3.6 - 0.55 * X[:, 0]))).astype(int)
        values = errors.evidence(noisy_counts(rng, X, 11, y, 12.0, laplace))
        shown += np.array(values) <= errors.FALSE_ALARM
    # A test that ignores the noise per bin shows the effect in 5 of 40 fits.
    assert shown[0] >= 24
    assert shown[1:].sum() <= 6


@pytest.mark.parametrize("laplace", [True, False])
def test_columns_without_information_show_evidence_at_the_stated_rate(laplace):
    rng, shown = np.random.default_rng(5), 0
    for _ in range(200):
        n_bins, n = int(rng.choice([3, 16, 40])), int(np.exp(rng.uniform(5.5, 9)))
        X = rng.choice(n_bins, (n, 6), p=rng.dirichlet(np.full(n_bins, 0.4)))
        y = (rng.random(n) < rng.choice([0.02, 0.2, 0.5])).astype(int)
        counts = noisy_counts(rng, X, n_bins, y, n ** rng.uniform(0.1, 0.8), laplace)
        shown += min(errors.evidence(counts)) <= errors.FALSE_ALARM
    # With a false alarm of 5 %, more than 20 of 200 have probability .0008.
    assert shown <= 20


def test_columns_that_matter_show_evidence():
    rng = np.random.default_rng(3)
    X = rng.integers(0, 8, (6000, 6)).astype(np.uint8)
    y = (rng.random(6000) < 1 / (1 + np.exp(-0.3 * (X[:, 2] - 3.5)))).astype(int)
    model = PrivGAMClassifier(epsilon=1.0, n_bins=8, classes=[0, 1], ordered=True, random_state=0)
    explained = explain(model.fit(X, y))
    assert explained.shapes[0].column.name == "column 2"
    text = explained.evidence_text()
    assert "over all columns): column 2. No evidence of an effect: column" in text
    constant = explain(tossed(0)).evidence_text()
    assert constant.endswith("the model is not distinguishable from a constant.")


@pytest.mark.parametrize("laplace", [True, False])
def test_tails_match_sums_of_noise(laplace):
    rng, deviations, n = np.random.default_rng(1), np.array([1.0, 0.5, 0.2, 2.0]), 200_000
    noise = rng.laplace(size=(n, 4)) / math.sqrt(2) if laplace else rng.normal(size=(n, 4))
    sums = np.abs(noise @ deviations + math.sqrt(1.5) * rng.normal(size=n))
    for value in (3.0, 5.0, 7.0, 9.0):
        expected = (sums > value).mean()
        standard_error = math.sqrt(expected / n)
        chance = tail(value, deviations, 1.5, laplace)
        assert abs(chance - expected) < 0.04 * expected + 4 * standard_error


def test_scores_are_relative_to_the_released_people():
    rng = np.random.default_rng(5)
    X = rng.integers(0, 9, (3000, 3)).astype(np.uint8)
    y = (rng.random(3000) < 0.2 + 0.06 * X[:, 0]).astype(int)
    model = PrivGAMClassifier(epsilon=5.0, n_bins=9, classes=[0, 1], ordered=True, random_state=1)
    shapes, people = model.fit(X, y).model_.shapes, model.model_.people
    for values, own in zip(shapes, people, strict=True):
        assert abs(values @ own) / own.sum() < 0.01


def test_errors_shrink_with_the_budget():
    rng = np.random.default_rng(6)
    X = rng.integers(0, 8, (5000, 5)).astype(np.uint8)
    y = (rng.random(5000) < 0.1 + 0.1 * X[:, 0]).astype(int)
    of_epsilon = []
    for epsilon in (0.1, 1.0, 10.0):
        model = PrivGAMClassifier(epsilon=epsilon, n_bins=8, classes=[0, 1], ordered=True)
        model.set_params(random_state=2).fit(X, y)
        of_epsilon.append(float(np.mean(model.model_.errors)))
    assert of_epsilon[0] > of_epsilon[1] > of_epsilon[2] > 0


def test_no_intervals_of_several_classes():
    X = np.arange(300).reshape(100, 3) % 4
    model = PrivGAMClassifier(epsilon=1.0, n_bins=4, classes=[0, 1, 2], random_state=0)
    model.fit(X.astype(np.uint8), np.arange(100) % 3)
    with pytest.raises(ValueError, match="must be of two classes to have intervals; it is of 3"):
        model.predict_interval(X)


def test_a_column_of_one_bin_shows_nothing():
    counts = Counts(np.array([5.0]), np.array([7.0]), 1.0, np.array([0, 1]), [True], True, 1)
    assert errors.evidence(counts) == [1.0]


def importance_covered(number):
    """Return which importances of the columns of a simulated table are covered."""
    rng = np.random.default_rng([2027, number])
    d, n = int(rng.choice([2, 6, 12])), int(rng.choice([1000, 5000, 20_000]))
    codes, log_odds, scores = simulate(rng, d, 16, rng.choice([0.0, 0.1, 0.4, 0.9], d))
    y = (rng.random(N_ALL) < 1 / (1 + np.exp(-log_odds))).astype(int)
    model = PrivGAMClassifier(
        epsilon=float(rng.choice([1.0, 5.0])),
        delta=1e-6,
        n_bins=16,
        classes=[0, 1],
        ordered=True,
        random_state=number,
    ).fit(codes[:n].astype(np.uint8), y[:n])
    right, rows = [], rng.integers(0, N_ALL, (2, 20_000))
    for j, values in enumerate(scores):
        right.append(np.abs(np.subtract(*values[codes[rows, j]])).mean())
    shapes = {shape.column.name: shape for shape in explain(model).shapes}
    by_column = [shapes[f"column {j}"] for j in range(d)]
    return [
        abs(shape.importance - exact) <= shape.importance_error
        for shape, exact in zip(by_column, right, strict=True)
        if shape.importance_error is not None
    ]


@pytest.mark.slow
def test_importances_are_covered():
    hits = [hit for number in range(80) for hit in importance_covered(number)]
    assert 0.92 < np.mean(hits) < 0.97


def test_a_model_without_errors_gives_no_interval():
    model = tossed(1)
    old = replace(model.model_, intercept_error=0.0, evidence=(), factor=1.0)
    rows = np.zeros((2, 12), dtype=np.uint8)
    low, high = model.predict_interval(rows).T
    assert (low < high).all()
    model.model_ = old
    with pytest.raises(ValueError, match="must have standard errors to have intervals"):
        model.predict_interval(rows)
