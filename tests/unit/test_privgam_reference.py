"""PrivGAM beside a plain program of the same formulas."""

from typing import NamedTuple

import numpy as np
import pytest

import privgam as reference
from privcurve.coding import Records
from privcurve.learners.additive import rule
from privcurve.learners.additive.fitting import Fit
from privcurve.learners.additive.linear_part import LinearPart
from privcurve.learners.additive.privgam import PrivGAMClassifier
from privcurve.learners.additive.residuals import Residuals, bin_maps
from privcurve.parts import PartedRecords
from privcurve.privacy.calibration.privgam import gaussian_budget, mixed_budget
from privcurve.privacy.curator import Curator

N_BINS = (20, 4, 3, 6)
ORDERED = (True, False, False, True)


def problem(n=3000, seed=1):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, N_BINS, (n, len(N_BINS)))
    score = 0.4 * (X[:, 0] - 10) + (X[:, 1] == 2)
    return X, (rng.random(n) < 1 / (1 + np.exp(-score))).astype(int)


def fitted(X, y, **parameters):
    return PrivGAMClassifier(n_bins=N_BINS, ordered=ORDERED, classes=(0, 1), **parameters).fit(X, y)


@pytest.mark.parametrize("n_rounds", [1, 5])
def test_without_noise_shapes_are_those_of_the_plain_program(n_rounds):
    """But for the grid of residuals."""
    X, y = problem()
    model = fitted(X, y, epsilon=np.inf, n_rounds=n_rounds, pairs="no").model_
    plain = reference.cyclic(X, y, N_BINS, ORDERED, n_rounds=n_rounds)
    for shape, expected in zip(model.shapes, plain[:-1], strict=True):
        assert shape == pytest.approx(expected, abs=2e-3)
    assert model.intercept == pytest.approx(plain[-1][0], abs=2e-3)


def test_a_line_is_the_posterior_of_its_steps():
    """By dense algebra: one Newton step, curvatures .08 of the products, a prior of N(0, 100)."""
    rng = np.random.default_rng(0)
    rows = rng.uniform(-0.5, 0.5, (400, 4))
    products, slopes, variance = rows.T @ rows, rng.normal(size=4) * 9, 25.0
    line = LinearPart(np.array([10, 10, 10, 1]))
    line.take_products(products[np.triu_indices(4)], 0.1)
    line.take_slopes(slopes, variance, 1.0)
    curvature = 0.08 * products
    inverse = np.linalg.inv(curvature)
    noise = variance * inverse @ inverse + inverse
    expected = 100 * np.linalg.solve(100 * np.eye(4) + noise, inverse @ slopes)
    assert line.coefficients == pytest.approx(expected, rel=1e-9)


def test_with_noise_shapes_are_spread_alike(monkeypatch):
    """Means and deviations of 40 fits, within five of their own standard errors."""
    monkeypatch.setattr(rule, "FEW_BINS", max(N_BINS))
    X, y = problem()
    budget = {"epsilon": 2.0, "delta": 1e-5}
    mu = gaussian_budget(*budget.values(), "replace-one").amount
    ours, plain = [], []
    for k in range(40):
        settings = {"n_rounds": 2, "method": "cyclic", "linear": "no", "random_state": k}
        ours.append(fitted(X, y, **budget, **settings).model_.shapes[0])
        rng = np.random.default_rng(k)
        plain.append(reference.cyclic(X, y, N_BINS, ORDERED, mu, rng, n_rounds=2)[0])
    means, spreads = zip(
        *((np.mean(x, axis=0), np.std(x, axis=0)) for x in (ours, plain)), strict=True
    )
    apart = np.sqrt((spreads[0] ** 2 + spreads[1] ** 2) / 40)
    assert np.abs(means[0] - means[1]).max() < (5 * apart).max()
    assert np.mean(spreads[0]) == pytest.approx(np.mean(spreads[1]), rel=0.25)


class InMemory(NamedTuple):
    """A part whose records are at hand."""

    rows: Records

    @property
    def n(self):
        return self.rows.n

    def records(self):
        return self.rows


@pytest.mark.parametrize("n_parts", [1, 4])
def test_scores_of_stumps_are_those_of_the_plain_program(n_parts):
    """Of ordered columns and others, of rows that count several times or not at all, in parts."""
    X, y = problem(500)
    shapes = [np.random.default_rng(k).normal(size=width) for k, width in enumerate(N_BINS)]
    counts = np.arange(500) % 4
    maps = bin_maps(np.array(N_BINS), ORDERED, max(N_BINS))
    coded, signs = X.astype(np.uint8), (2 * y - 1).astype(np.int8)
    records = Records(coded, signs, counts, np.array(N_BINS))
    rows = [slice(k, None, n_parts) for k in range(n_parts)]
    parts = [Records(coded[k], signs[k], counts[k], records.n_bins) for k in rows]
    some = PartedRecords(tuple(map(InMemory, parts)), records.n_bins) if n_parts > 1 else records
    made = Residuals(some, maps, 30)
    for j, shape in enumerate(shapes):
        made.set_shape(j, shape)
    score = sum(shapes[j][X[:, j]] for j in range(len(N_BINS)))
    residuals = counts * np.clip(y - 1 / (1 + np.exp(-score)), -0.5, 0.5)
    said, ordered = reference.all_stumps(X, N_BINS, ORDERED), [*ORDERED, False]
    # Residuals are taken in the middle of steps of 2^-8.
    assert made.stumps(ordered) / 2.0**30 == pytest.approx(said @ residuals, abs=0.5)
    for place, expected in enumerate(said):
        j, values = made.stump(place, ordered)
        codes = X[:, j] if j < len(N_BINS) else np.zeros(500, dtype=int)
        assert (values[codes] == expected).all()
        # One that says the same everywhere is no effect of a column.
        assert (j == len(N_BINS)) == (len(set(values)) == 1)


@pytest.mark.parametrize("n_stumps", [1, 3, 9])
def test_stumps_without_noise_are_those_of_the_plain_program(n_stumps):
    X, y = problem()
    made = fitted(X, y, epsilon=np.inf, method="stumps", n_steps=n_stumps)
    plain = reference.stumps(X, y, N_BINS, ORDERED, n_stumps)
    assert made.model_.scores(X) == pytest.approx(plain, abs=1e-5)


def test_values_of_all_columns_at_once_are_steps_from_the_margin():
    """With hardly any noise: of few bins, smoothed, at the score that balances all records."""
    X, y = problem()
    budget = mixed_budget(1e6, 1e-5, "replace-one")
    of_codes, of_bins = (bin_maps(np.array(N_BINS), ORDERED, most) for most in (max(N_BINS), 4))
    signs = (2 * y - 1).astype(np.int8)
    records = Records(X.astype(np.uint8), signs, np.ones(len(y), dtype=int), np.array(N_BINS))
    residuals = Residuals(records, of_codes, budget.bits)
    fit = Fit(residuals, ORDERED, budget, Curator(np.random.default_rng(1)))
    odds = y.mean() / (1 - y.mean())
    chance = odds / 2 if odds < 1 else 1 - 1 / (2 * odds)
    for j, made in enumerate(fit.ask_ranks(4)):
        bins = of_bins[j][X[:, j]]
        up, down = (np.bincount(bins[y == label]) for label in (1, 0))
        up, down = min(1 - chance, 0.5) * up, min(chance, 0.5) * down
        half = (up + down) / 2
        expected = reference.smooth((up - down) / half, 1 / half, ORDERED[j])
        assert made == pytest.approx(expected[of_bins[j]], abs=1e-3)
