"""AIM: its candidates, its rounds and its budget, against the paper's formulas."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from privcurve.learners.boosting import aim
from privcurve.learners.boosting.aim import AIMClassifier, closure, importance, tables_with_label
from privcurve.learners.boosting.synthetic import Column
from privcurve.privacy.calibration.shares import mixed_budget
from privcurve.privacy.curator import Curator

N_BINS = (3, 40, 2, 5)
# With the label: one column more.
N_COLUMNS = len(N_BINS) + 1


@pytest.fixture(scope="module")
def records():
    rng = np.random.default_rng(3)
    X = np.column_stack([rng.integers(0, bins, 900) for bins in N_BINS])
    X[:, 3] = np.where(rng.random(900) < 0.7, X[:, 1] // 8, X[:, 3])
    y = np.where(X[:, 3] + X[:, 0] + rng.logistic(size=900) > 3, 1, -1)
    return X.astype(np.uint8), y


def fitted(records, **parameters):
    options = {"n_bins": N_BINS, "ordered": (False, True, False, True), "n_rounds": 20}
    return AIMClassifier(**{**options, "random_state": 5, **parameters}).fit(*records)


@pytest.mark.parametrize("n_columns", [2, 3, 6])
def test_a_table_weighs_the_columns_that_it_shares_with_the_workload(n_columns):
    label = n_columns - 1
    workload = [(*some, label) for some in itertools.combinations(range(label), min(2, label))]
    candidates = {
        some for s in workload for k in (1, 2, 3) for some in itertools.combinations(s, k)
    }
    tables = tables_with_label(
        [Column.merge_rare(np.ones(2), 0.0)] * n_columns,
        [np.zeros(4, dtype=int)] * n_columns,
        np.ones(4),
    )
    assert set(closure(tables)) == candidates
    for some in candidates:
        plain = sum(len(set(some) & set(s)) for s in workload)
        assert importance(some, n_columns) == plain


def test_smaller_tables_are_sums():
    rng = np.random.default_rng(4)
    places = [rng.integers(0, k, 50) for k in (2, 3, 2)]
    counts = rng.integers(1, 4, 50)
    columns = [Column.merge_rare(np.ones(k), 0.0) for k in (2, 3, 2)]
    for some, table in closure(tables_with_label(columns, places, counts)).items():
        plain = np.zeros(table.shape)
        np.add.at(plain, tuple(places[c] for c in some), counts)
        np.testing.assert_array_equal(table, plain)


@pytest.mark.slow
@pytest.mark.parametrize("neighbours", ["replace-one", "add-remove"])
def test_the_budget_is_the_papers(records, neighbours):
    statement = fitted(records, epsilon=3.0, delta=1e-5, neighbours=neighbours).privacy_
    assert statement.epsilon_spent == pytest.approx(3.0, rel=1e-6)
    first, *rounds = statement.ledger
    rho = mixed_budget(3.0, 1e-5, neighbours).amount ** 2 / 2
    t, moved = 16 * N_COLUMNS, 2 if neighbours == "replace-one" else 1
    # A replaced record moves each table by √2, and a score by 2; an added record by 1 and 1.
    sigma, epsilon = math.sqrt(moved * t / (2 * 0.9 * rho)), math.sqrt(8 * 0.1 * rho / t)
    assert 1 / first.noise_rate == pytest.approx(sigma)
    used, halved = N_COLUMNS * moved / (2 * sigma**2), 0
    for k in range(0, len(rounds), 2):
        choice, table = rounds[k : k + 2]
        last = k + 2 == len(rounds)
        if not last:
            factor = sigma * table.noise_rate
            assert factor == pytest.approx(1) or factor == pytest.approx(2)
            halved += factor > 1.5
            sigma, epsilon = sigma / round(factor), epsilon * round(factor)
        else:
            sigma = math.sqrt(moved / (2 * 0.9 * (rho - used)))
            epsilon = math.sqrt(8 * 0.1 * (rho - used))
        assert table.noise_rate == pytest.approx(1 / sigma)
        # η times twice the sensitivity of a score is the paper's ε.
        assert choice.noise_rate * 2 * choice.sensitivity == pytest.approx(epsilon)
        used += moved / (2 * sigma**2) + epsilon**2 / 8
    assert used == pytest.approx(rho)
    assert halved > 0


def test_the_first_choice_is_the_largest_weighted_distance_beyond_noise(records, monkeypatch):
    """The first scores are weighted distances to the independent model minus expected noise."""
    chosen = []

    def choose(self, call, scores):
        chosen.append(np.array(scores))
        return int(np.argmax(scores))

    monkeypatch.setattr(Curator, "choose", choose)
    model = fitted(records, epsilon=float("inf"), n_rounds=1)
    X, y = records
    columns = [X[:, 0], X[:, 1].astype(int) * 16 // 40, X[:, 2], X[:, 3], (y > 0).astype(int)]
    widths = (3, 16, 2, 5, 2)
    shares = [np.bincount(c, minlength=k) / len(y) for c, k in zip(columns, widths, strict=True)]

    def distance(some):
        table = np.zeros([widths[c] for c in some])
        np.add.at(table, tuple(columns[c] for c in some), 1)
        alone = math.prod(np.ix_(*(shares[c] for c in some)))
        return importance(some, 5) * np.abs(table - len(y) * alone).sum()

    names = [(a, b, 4) for a, b in itertools.combinations(range(4), 2)]
    names += [some for name in names for some in itertools.combinations(name, 2)]
    best = max(names, key=distance)
    assert tuple(c for c in model.chosen_[0] if c >= 0) == best
    assert max(chosen[0]) == pytest.approx(distance(best), rel=1e-3)


def test_a_model_has_no_more_cells_than_it_may(records, monkeypatch):
    sizes = []
    fit = aim.GraphicalModel.fit

    def watched(self, n_steps):
        fit(self, n_steps)
        sizes.append(sum(map(len, self.tree.beliefs)))

    monkeypatch.setattr(aim.GraphicalModel, "fit", watched)
    fitted(records, epsilon=30.0, most_cells=150)
    assert max(sizes) <= 150


def test_a_file_with_tables_of_other_columns_is_refused(records):
    model = fitted(records, epsilon=1.0, n_rounds=2)
    model.chosen_ = model.chosen_ + 9
    with pytest.raises(ValueError, match="other columns"):
        model._restore()
