"""MST: the tree, its tables and the records drawn from them, compared with plain formulas."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import lsq_linear
from scipy.sparse.csgraph import minimum_spanning_tree
from sklearn.ensemble import HistGradientBoostingClassifier

from privcurve.coding import merge_bins
from privcurve.kernels.trees.form import add_trees, bin_codes
from privcurve.learners.boosting.aim import AIMClassifier
from privcurve.learners.boosting.mst import MSTClassifier, draw_records, nearest_tables
from privcurve.learners.boosting.synthetic import Column, deal_places, trees_of

N_BINS = (3, 40, 2, 5)


@pytest.fixture(scope="module")
def records():
    rng = np.random.default_rng(3)
    X = np.column_stack([rng.integers(0, bins, 600) for bins in N_BINS])
    X[:, 3] = np.where(rng.random(600) < 0.7, X[:, 1] // 8, X[:, 3])
    y = np.where(X[:, 3] + X[:, 0] + rng.logistic(size=600) > 3, 1, -1)
    return X.astype(np.uint8), y


def fitted(records, **parameters):
    options = {"epsilon": float("inf"), "n_bins": N_BINS, "ordered": (False, True, False, True)}
    return MSTClassifier(**{**options, "random_state": 5, **parameters}).fit(*records)


def test_without_noise_the_tree_has_the_largest_distances(records):
    X, y = records
    columns = [X[:, 0], X[:, 1].astype(int) * 16 // 40, X[:, 2], X[:, 3], (y > 0).astype(int)]
    shares = [np.bincount(column) / len(y) for column in columns]
    distances = np.zeros((5, 5))
    for a, b in itertools.combinations(range(5), 2):
        table = np.zeros((len(shares[a]), len(shares[b])))
        np.add.at(table, (columns[a], columns[b]), 1)
        distances[a, b] = np.abs(table - len(y) * np.outer(shares[a], shares[b])).sum()
    plain = np.argwhere(minimum_spanning_tree(-distances).toarray() < 0)
    edges = fitted(records).edges_
    assert sorted(edges.tolist()) == sorted(plain.tolist())


def joint_operator(shape, columns):
    """Return the matrix that maps a joint distribution to the table of some columns."""
    cells = list(itertools.product(*map(range, shape)))
    wide = [shape[column] for column in columns]
    matrix = np.zeros((int(np.prod(wide)), len(cells)))
    for k, cell in enumerate(cells):
        matrix[np.ravel_multi_index([cell[column] for column in columns], wide), k] = 1
    return matrix


@pytest.mark.parametrize("noise", [0.5, 20.0])
def test_fitted_tables_are_nearest_among_all_distributions(noise):
    """Compare with the nearest joint distribution; as edges form a tree, the tables must agree."""
    rng = np.random.default_rng(11)
    shape, edges, total = (2, 3, 3), [(1, 2), (0, 2)], 40.0
    joint = rng.multinomial(40, np.ones(18) / 18)
    ones = [joint_operator(shape, (c,)) @ joint + noise * rng.normal(size=k)
            for c, k in enumerate(shape)]  # fmt: skip
    pairs = [joint_operator(shape, e) @ joint for e in edges]
    pairs = [pair + noise * rng.normal(size=len(pair)) for pair in pairs]
    columns = [Column(np.arange(k), one, np.ones(k)) for k, one in zip(shape, ones, strict=True)]
    # Two rare codes of the last column share a position.
    columns[2] = columns[2]._replace(variances=np.array([1.0, 1.0, 2.0]))
    tables = [
        pair.reshape([shape[c] for c in edge]) for edge, pair in zip(edges, pairs, strict=True)
    ]
    singles, crossed = nearest_tables(columns, tables, edges, total)

    weights = [np.ones(2), np.ones(3), np.sqrt(1 / columns[2].variances)]
    rows = [w[:, None] * joint_operator(shape, (c,)) for c, w in enumerate(weights)]
    aims = [w * one for w, one in zip(weights, ones, strict=True)]
    # Pairs have 2/3 of the variance of single columns.
    rows += [1.5**0.5 * joint_operator(shape, edge) for edge in edges]
    aims += [1.5**0.5 * pair for pair in pairs]
    rows, aims = np.vstack([*rows, 1e4 * np.ones((1, 18))]), np.concatenate([*aims, [1e4 * total]])
    best = lsq_linear(rows, aims, (0, np.inf), "bvls").x
    for column, single in enumerate(singles):
        plain = joint_operator(shape, (column,)) @ best
        np.testing.assert_allclose(total * single, plain, atol=0.02)
    for edge, table in zip(edges, crossed, strict=True):
        np.testing.assert_allclose(
            total * table.ravel(), joint_operator(shape, edge) @ best, atol=0.02
        )


def test_counts_of_one_column_are_the_nearest_with_their_sum():
    column = Column(np.arange(4), np.array([5.0, -3.0, 1.0, 9.0]), np.array([1.0, 1.0, 1.0, 4.0]))
    # Subtract an amount proportional to the variance from each positive count: (5 + 9 − 8)/(1 + 4).
    np.testing.assert_allclose(column.nearest(8.0), [5 - 1.2, 0, 0, 9 - 4 * 1.2])


def test_rare_codes_share_a_position_and_return_equally_often():
    column = Column.merge_rare(np.array([50.0, -2.0, 80.0, 4.0, 7.0]), 10.0)
    assert column.places.tolist() == [0, 2, 1, 2, 2]
    assert column.counts.tolist() == [50, 80, 9]
    assert column.variances.tolist() == [1, 1, 3]
    codes = column.codes(np.array([0, 1] + [2] * 3000), np.random.default_rng(0))
    assert codes[:2].tolist() == [0, 2]
    times = np.bincount(codes[2:], minlength=5)
    assert set(np.flatnonzero(times)) == {1, 3, 4}
    assert (abs(times[[1, 3, 4]] - 1000) < 150).all()


def test_drawn_records_have_the_rounded_counts_of_the_tables():
    rng = np.random.default_rng(1)
    crossed = [rng.random((3, 4)), rng.random((2, 4))]
    crossed[1] *= (crossed[0].sum(axis=0) / crossed[1].sum(axis=0))[None]
    singles = [crossed[0].sum(axis=1), crossed[0].sum(axis=0), crossed[1].sum(axis=1)]
    total = singles[0].sum()
    drawn = draw_records(singles, crossed, [(0, 1), (2, 1)], 5000, rng)
    for (a, b), table in zip([(0, 1), (2, 1)], crossed, strict=True):
        counts = np.zeros(table.shape)
        np.add.at(counts, (drawn[a], drawn[b]), 1)
        np.testing.assert_allclose(counts, 5000 * table / total, atol=3)


def test_rounding_is_fair():
    rng = np.random.default_rng(2)
    weights = np.array([0.25, 0.25, 3.5])
    times = np.mean(
        [np.bincount(deal_places(weights, 4, rng), minlength=3) for _ in range(2000)], axis=0
    )
    np.testing.assert_allclose(times, [0.25, 0.25, 3.5], atol=0.05)


def test_trees_on_codes_score_like_scikit_learns_trees_on_groups(records):
    X, y = records
    n_bins = np.array(N_BINS)
    groups = merge_bins(n_bins, [0, 40, 0, 5], 16)
    merged = np.column_stack([group[X[:, j]] for j, group in enumerate(groups)])
    model = HistGradientBoostingClassifier(max_iter=7, early_stopping=False).fit(merged, y)
    trees, values = trees_of(model, groups, n_bins)
    scores = np.full((len(X), 1), model._baseline_prediction[0, 0])
    add_trees(bin_codes(X, n_bins), trees, values, scores)
    np.testing.assert_allclose(scores[:, 0], model.decision_function(merged), atol=1e-12)


def test_where_a_record_is_added_its_number_is_an_estimate():
    tables = [np.array([30.0, 75.0]), np.array([40.0, 30.0, 20.0, 5.0])]
    nothing = SimpleNamespace(n=99)
    assert MSTClassifier()._total(nothing, tables) == 99
    added = MSTClassifier(neighbours="add-remove")
    # The sum of two noisy numbers has half the variance of the sum of four.
    assert added._total(nothing, tables) == pytest.approx((2 * 105 + 95) / 3)
    assert added._total(nothing, [np.array([-5.0, 2.0])]) == 1


@pytest.mark.parametrize("kind", [AIMClassifier, MSTClassifier])
def test_hardly_any_records_and_budget_give_a_model_too(kind):
    """After noise no count of a column may be above 0."""
    assert deal_places(np.zeros(3), 6, np.random.default_rng(0)).tolist().count(1) == 2
    rng = np.random.default_rng(8)
    X, y = rng.integers(0, 10, size=(30, 6)).astype(np.uint8), np.where(rng.random(30) < 0.5, -1, 1)
    given = {"n_bins": 10, "classes": (-1, 1), "neighbours": "add-remove", "most_records": 200}
    model = kind(epsilon=0.03, delta=1e-5, random_state=8, **given).fit(X, y)
    assert set(model.predict(X)) <= {-1, 1}


def test_a_file_whose_tree_has_a_cycle_is_refused(records):
    model = fitted(records, n_rounds=2)
    child = model.trees_.child.copy()
    place = np.flatnonzero(child[0])[1]
    child[0, place] = place
    model.trees_ = model.trees_._replace(child=child)
    with pytest.raises(ValueError, match="no end"):
        model._restore()
