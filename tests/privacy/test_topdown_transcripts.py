"""DP-TopDown exactly: every tree, every neighbouring pair of a tiny universe.

For each data set the exact probability of every tree (and sequence of trees); for each
pair that differs in one record, the worst log-ratio. Nothing is sampled. The worst must
not exceed ε, and come near enough to be a test of it.
"""

import numpy as np
import pytest

from privcurve.audit.attacks.trees import tree_distribution
from privcurve.audit.pairs import Pair, Records, all_neighbours
from privcurve.audit.search import search_exact
from privcurve.learners import LazyBBClassifier, TopDownTreeClassifier

EPSILON = 2.0


def worst(pairs, learner=TopDownTreeClassifier, delta=0.0, noise_for=None, **setting):
    """ε at δ of the worst pair, and the claimed ε."""

    def distribution(side):
        made = learner(epsilon=noise_for or EPSILON, delta=delta, n_bins=side.n_bins, **setting)
        chances = tree_distribution(made, side)
        assert chances.sum() == pytest.approx(1)
        return chances

    return search_exact(pairs, distribution, EPSILON, delta).epsilon


def lazybb(**parameters):
    options = {"weak_learner": "topdown", "n_rounds": 2, "density": 0.5, **parameters}
    return LazyBBClassifier(**options)


CERTIFIED = [
    # setting, records, columns of two bins, least share of ε that must be found
    ({"depth": 2}, 3, 2, 0.5),
    ({"depth": 2, "split_share": 0.4, "mechanism": "exponential"}, 3, 2, 0.5),
    ({"depth": 2, "split_share": 0.2, "criterion": "entropy"}, 3, 2, 0.5),
    ({"depth": 2, "split_share": 0.2, "criterion": "root_gini"}, 3, 2, 0.5),
    ({"depth": 2, "criterion": "zero_one"}, 3, 2, 0.5),
    ({"depth": 1, "splits": "threshold"}, 3, 2, 0.4),
    ({"depth": 1, "leaves": "rules"}, 5, 1, 0.95),
    ({"depth": 2, "leaves": "rules"}, 3, 2, 0.5),
    ({"depth": 2, "leaves": "rules", "criterion": "zero_one", "splits": "threshold"}, 3, 1, 0.5),
]


@pytest.mark.parametrize(("setting", "n", "n_columns", "least"), CERTIFIED, ids=str)
def test_certified_trees_stay_within_epsilon(setting, n, n_columns, least):
    found = worst(all_neighbours(n, (2,) * n_columns), **setting)
    assert least * EPSILON <= found <= EPSILON * (1 + 1e-9)


@pytest.mark.parametrize(
    ("setting", "least"),
    [
        ({"depth": 1, "split_share": 0.3}, 0.4),
        ({"depth": 1, "leaves": "rules"}, 0.5),
        ({"depth": 2, "leaves": "rules", "n_rounds": 1, "density": 1.0}, 0.5),
        ({"depth": 1, "leaves": "rules", "learning_rate": 1.0, "density": 0.3}, 0.5),
    ],
    ids=str,
)
def test_certified_boosted_trees_stay_within_epsilon(setting, least):
    found = worst(all_neighbours(4, (2,)), lazybb, **setting)
    assert least * EPSILON <= found <= EPSILON * (1 + 1e-9)


@pytest.mark.parametrize("delta", [1e-2, 1e-4])
@pytest.mark.parametrize(
    "setting",
    [{"depth": 2}, {"depth": 2, "split_share": 0.5}, {"depth": 2, "leaves": "rules"}],
    ids=str,
)
def test_certified_trees_with_delta_stay_within_epsilon(setting, delta):
    found = worst(all_neighbours(3, (2,)), delta=delta, **setting)
    assert 0.2 * EPSILON <= found <= EPSILON * (1 + 1e-9)


@pytest.mark.parametrize("n_splits", [1, 2])
def test_published_trees_stay_within_epsilon(n_splits):
    found = worst(all_neighbours(3, (2,)), calibration="published", n_splits=n_splits)
    assert 0.3 * EPSILON <= found <= EPSILON * (1 + 1e-9)


def test_published_boosted_trees_stay_within_epsilon():
    found = worst(all_neighbours(3, (2,)), lazybb, calibration="published", n_splits=1)
    assert 0.15 * EPSILON <= found <= EPSILON * (1 + 1e-9)


def torn_pair(n, n_copies):
    """The tight pair of PRIVACY.md §c.

    A flipped label makes a child of the first column pure, and a pure child of the second
    impure. Copies of the second column make its questions as good as certain.
    """
    codes = np.zeros((3, 1 + n_copies), dtype=np.uint8)
    codes[0], codes[1, 0], codes[2, 1:] = 1, 1, 1
    counts = np.array([1, n, n])
    bins = np.full(1 + n_copies, 2)
    left, right = (
        Records(codes, np.array([label, 1, -1], dtype=np.int8), bins, counts) for label in (-1, 1)
    )
    return Pair("tiny", "torn", left, right)


@pytest.mark.parametrize("mechanism", ["exponential", "permute_and_flip"])
def test_a_certified_split_is_nearly_tight(mechanism):
    found = worst([torn_pair(1000, 30)], depth=1, split_share=0.99, mechanism=mechanism)
    assert 0.9 * EPSILON <= found <= EPSILON * (1 + 1e-9)


def test_a_published_split_uses_its_half_of_epsilon():
    found = worst([torn_pair(1000, 30)], calibration="published", n_splits=1)
    assert 0.45 * EPSILON <= found <= EPSILON * (1 + 1e-9)


@pytest.mark.parametrize("leaves", ["labels", "rules"])
def test_the_enumeration_finds_too_little_noise(leaves):
    # Noise for three times the ε that is claimed must be seen.
    found = worst(all_neighbours(3, (2, 2)), depth=2, leaves=leaves, noise_for=3 * EPSILON)
    assert found > EPSILON
