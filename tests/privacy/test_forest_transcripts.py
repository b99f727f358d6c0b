"""Forests of random trees, exactly: every tree with all labels, for all neighbours of few records.

Bounds are those of PRIVACY.md §f6 for one tree: published RF-L 2ε/2^d, RF-E ε/2^d, certified ε.
"""

import numpy as np
import pytest

from privcurve.audit.attacks.ensembles import forest_densities, forest_distribution, random_trees
from privcurve.audit.pairs import all_neighbours, records
from privcurve.kernels.boosted_trees import draw_tree
from privcurve.learners.dp_forest import DPForestClassifier

EPSILON = 1.0
KINDS = [
    ("published", "laplace", lambda d: 2 / 2**d),
    ("published", "exponential", lambda d: 1 / 2**d),
    ("certified", "laplace", lambda d: 1.0),
    ("certified", "exponential", lambda d: 1.0),
]


def learner(depth, calibration, leaves, **other):
    return DPForestClassifier(
        n_trees=1, depth=depth, leaves=leaves, epsilon=EPSILON, calibration=calibration,
        n_bins=2, classes=(-1, 1), **other,
    )  # fmt: skip


def found(made, left, right):
    chances = [forest_distribution(made, side) for side in (left, right)]
    assert [c.sum() for c in chances] == pytest.approx([1, 1])
    return float(np.abs(np.log(chances[0] / chances[1])).max())


@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.parametrize(("calibration", "leaves", "bound"), KINDS)
def test_no_pair_of_few_records_exceeds_the_bound(calibration, leaves, bound, depth):
    made = learner(depth, calibration, leaves)
    n = 3 if depth == 1 else 2
    worst = max(found(made, p.left, p.right) for p in all_neighbours(n, (2, 2)))
    assert 0 < worst <= EPSILON * bound(depth) * (1 + 1e-9)


@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.parametrize(("calibration", "leaves", "bound"), KINDS)
def test_full_leaves_come_near_the_bound(calibration, leaves, bound, depth):
    """200 negative records in a leaf, one label flipped; its label is positive all the same."""
    made = learner(depth, calibration, leaves)
    sides = [records([[0], [0], [1]], [sign, -1, 1], [2], [1, 199, 10]) for sign in (1, -1)]
    share = found(made, *sides) / (EPSILON * bound(depth))
    assert 0.9 <= share <= 1 + 1e-9


def test_shrunk_votes_cost_what_margins_cost():
    made = learner(2, "certified", "laplace", votes="shrunk")
    worst = max(
        np.abs(np.subtract(*forest_densities(made, p))).max() for p in all_neighbours(2, (2, 2))
    )
    assert worst == pytest.approx(EPSILON)


@pytest.mark.parametrize("restrict", [True, False])
def test_trees_are_drawn_with_the_chances_that_are_enumerated(restrict):
    n_bins, n = np.array([3, 2]), 20_000
    starts, rng = np.array([0, 3, 5]), np.random.default_rng(3)
    seen = {}
    splits = np.empty(3, dtype=np.int64)
    for _ in range(n):
        draw_tree(starts, restrict, rng, splits)
        seen[tuple(splits)] = seen.get(tuple(splits), 0) + 1
    trees = random_trees(n_bins, 2, restrict)
    assert sum(chance for chance, _ in trees) == pytest.approx(1)
    assert set(seen) == {tuple(tree) for _, tree in trees}
    statistic = sum((seen[tuple(tree)] - n * chance) ** 2 / (n * chance) for chance, tree in trees)
    free = len(trees) - 1
    # By Wilson and Hilferty's cube root: a false alarm once in 30,000.
    assert (statistic / free) ** (1 / 3) < 1 - 2 / (9 * free) + 4 * np.sqrt(2 / (9 * free))
