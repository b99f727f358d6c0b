"""Private-PGM: junction trees, marginals and the fitted model, compared with full distributions."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import lsq_linear

from privcurve.kernels.graphical import triangulated_sizes
from privcurve.learners.boosting.graphical import GraphicalModel
from privcurve.learners.boosting.mst import nearest_tables
from privcurve.learners.boosting.synthetic import Column

# A cycle of five columns with a chord, one column attached to it, one isolated; the last is the
# label.
WIDTHS = (2, 3, 2, 3, 2, 3, 2)
TABLES = [(0, 1), (1, 2), (2, 3), (3, 6), (0, 6), (1, 6), (4,), (3, 5), (0, 1, 6)]


def random_model(seed=1):
    rng = np.random.default_rng(seed)
    model = GraphicalModel(WIDTHS)
    for name in TABLES:
        model.measure(name, rng.random(model.shape(name)), 1.0)
        theta = 2 * rng.normal(size=model.shape(name))
        model.measured[name] = model.measured[name]._replace(theta=theta)
    model.fit(0)
    return model


def joint(model):
    """Return the full distribution, cell by cell."""
    density = np.zeros(model.widths)
    for name, one in model.measured.items():
        axes = [model.widths[c] if c in name else 1 for c in range(len(model.widths))]
        density = density + one.theta.reshape(axes)
    density = np.exp(density - density.max())
    return density / density.sum()


def marginal(density, columns):
    return density.sum(axis=tuple(c for c in range(density.ndim) if c not in columns))


def test_marginals_match_the_full_distribution():
    model = random_model()
    density = joint(model)
    for clique, cells in zip(model.tree.cliques, model.tree.beliefs, strict=True):
        plain = marginal(density, clique)
        np.testing.assert_allclose(cells.reshape(plain.shape), plain, atol=1e-12)
    for name in TABLES:
        np.testing.assert_allclose(model.table(name), marginal(density, name), atol=1e-12)


def test_tables_with_the_label_are_carried_from_clique_to_clique():
    model = random_model()
    density, tables = joint(model), model.tables_with_label()
    names = {(a, b, 6) for a, b in itertools.combinations(range(6), 2)} | {(a, 6) for a in range(6)}
    assert set(tables) == names
    # Some pairs are in no clique: 4 and 5, 0 and 2.
    assert any(model._clique_of(name) < 0 for name in names)
    for name, table in tables.items():
        np.testing.assert_allclose(table, marginal(density, name), atol=1e-12)


def test_size_of_a_tree_is_the_sum_over_its_cliques():
    circle = np.zeros((5, 5), dtype=bool)
    for a, b in [(0, 1), (1, 2), (2, 3), (3, 0)]:
        circle[a, b] = circle[b, a] = True
    before = circle.copy()
    widths = np.array([2.0, 5.0, 3.0, 7.0, 11.0])
    candidates = np.array([[0, 1, -1], [1, 3, -1], [0, 2, 4]])
    sizes = triangulated_sizes(circle, widths, math.inf, candidates)
    # The chord 0–2 costs less than 1–3; the last column is isolated, or joined to the chord.
    assert sizes.tolist() == [30 + 42 + 11, 70 + 105 + 11, 30 + 42 + 66]
    assert (circle == before).all()
    # Above the bound only "larger" must be right.
    assert (triangulated_sizes(circle, widths, 50.0, candidates) > 50).all()


@pytest.mark.slow
def test_candidates_are_allowed_by_the_size_of_their_tree_or_inside_a_clique():
    model = random_model()
    cells = sum(math.prod(model.shape(clique)) for clique in model.tree.cliques)
    candidates = [(0, 1), (4, 5, 6), (4, 6)]
    assert model.candidates_within(candidates, 0) == [0]
    # Column 4 alone has two cells, with the label four cells.
    assert model.candidates_within(candidates, cells + 2) == [0, 2]
    assert model.candidates_within(candidates, 1e9) == [0, 1, 2]


@pytest.mark.parametrize("noise", [0.01, 0.2])
def test_fitted_model_is_as_near_as_any_distribution(noise):
    rng = np.random.default_rng(5)
    widths, names = (2, 3, 2, 2), [(0, 1), (1, 2), (2, 3), (0, 3), (0, 1, 3), (2,)]
    truth = rng.dirichlet(np.ones(24)).reshape(widths)
    model = GraphicalModel(widths)
    rows, aims = [1e4 * np.ones((1, 24))], [[1e4]]
    for k, name in enumerate(names):
        deviation = noise * (1 + k % 3)
        table = marginal(truth, name)
        table = table + deviation * rng.normal(size=table.shape)
        model.measure(name, table, deviation**2)
        basis = np.eye(24).reshape(*widths, 24)
        axes = tuple(c for c in range(4) if c not in name)
        rows.append(basis.sum(axis=axes).reshape(-1, 24) / deviation)
        aims.append(table.ravel() / deviation)
    for _ in range(2):
        model.fit(2000)
    best = lsq_linear(np.vstack(rows), np.concatenate(aims), (0, np.inf), "bvls").x
    plain = sum(((r @ best - a) ** 2).sum() for r, a in zip(rows[1:], aims[1:], strict=True)) / 2
    # The model's loss is in units of its largest weight.
    assert model.loss / noise**2 == pytest.approx(plain, rel=1e-3)
    for name in names:
        table = marginal(best.reshape(widths), name)
        np.testing.assert_allclose(model.table(name), table, atol=0.01)


def test_on_a_tree_it_is_the_model_of_mst():
    rng = np.random.default_rng(6)
    widths, edges, total = (3, 4, 2), [(0, 1), (1, 2)], 500.0
    counts = rng.multinomial(500, rng.dirichlet(np.ones(24))).reshape(widths)
    singles = [marginal(counts, (c,)) + 6 * rng.normal(size=k) for c, k in enumerate(widths)]
    pairs = [marginal(counts, edge) + 6 * rng.normal(size=[widths[c] for c in edge])
             for edge in edges]  # fmt: skip
    columns = [
        Column(np.arange(k), one, np.ones(k)) for k, one in zip(widths, singles, strict=True)
    ]
    _, crossed = nearest_tables(columns, pairs, edges, total)
    model = GraphicalModel(widths)
    for c, single in enumerate(singles):
        model.measure((c,), single / total, 1.0)
    for edge, pair in zip(edges, pairs, strict=True):
        # MST measures pairs with 2/3 of the variance of its single columns.
        model.measure(edge, pair / total, 2 / 3)
    model.fit(3000)
    for edge, table in zip(edges, crossed, strict=True):
        np.testing.assert_allclose(model.table(edge), table, atol=1e-3)


def test_two_measurements_of_a_table_count_by_their_weights():
    model, table = GraphicalModel((2, 2)), np.array([[0.1, 0.2], [0.3, 0.4]])
    model.measure((0, 1), table, 1.0)
    model.measure((0, 1), table + 0.5, 0.25)
    one = model.measured[0, 1]
    np.testing.assert_allclose(one.table, table + 0.4)
    np.testing.assert_allclose(one.weights, 5.0)


def test_a_new_table_leaves_the_model_as_it_was_until_a_step():
    model = random_model()
    before = joint(model)
    model.measure((4, 5), np.full((2, 3), 1 / 6), 1.0)
    model.fit(0)
    np.testing.assert_allclose(model.table((3, 5)), marginal(before, (3, 5)), atol=1e-12)


def test_drawn_records_have_the_rounded_counts_of_cliques():
    model = random_model()
    places = model.draw(20_000, np.random.default_rng(2))
    for clique in model.tree.cliques:
        counts = np.zeros(model.shape(clique))
        np.add.at(counts, tuple(places[c] for c in clique), 1)
        np.testing.assert_allclose(counts, 20_000 * model.table(clique), atol=8)
