"""Trees of the kernel, compared with the plain reference on equal noise."""

import numpy as np
import pytest
import tree as reference

from privcurve.kernels.lazybb_trees import BinnedRows, TreeNoise, boost_trees
from privcurve.kernels.trees.choice import CRITERIA, two_class_impurity
from privcurve.kernels.trees.form import (
    EVERYBODY,
    NOBODY,
    answers,
    bin_codes,
    bin_rows,
    count_rows,
    ranges,
)
from privcurve.learners.trees import TreeModel, TreePlan, tree_noise
from privcurve.privacy.curator import Curator

N_BINS = np.array([2, 3, 1, 4])


def problem(seed, n=60, n_bins=N_BINS):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, n_bins, size=(n, len(n_bins))).astype(np.uint8)
    y = np.where((X[:, 0] == 1) ^ (X[:, -1] > 1) ^ (rng.random(n) < 0.2), 1, -1).astype(np.int8)
    return X, y


def plan(n, **changes):
    options = {
        "learner": "lazybb", "n": n, "n_rounds": 4, "density": 0.4, "learning_rate": 0.5,
        "depth": 3, "n_splits": None, "splits": "equality", "criterion": "gini",
        "split_share": None, "leaves": "labels", "epsilon": 20.0, "delta": 0.0,
        "calibration": "proved", "mechanism": "auto",
    }  # fmt: skip
    return TreePlan.make(**{**options, **changes})


def grow(made, X, y, noise, counts=None, n_bins=N_BINS):
    counts = np.ones(len(y), dtype=np.int64) if counts is None else counts
    forest, largest = boost_trees(
        BinnedRows(*bin_rows(X, n_bins, y), counts, n_bins),
        made.density, made.learning_rate, made.depth, made.n_splits, made.thresholds,
        made.criterion, made.noise.rates, made.noise.label_rates, made.noise.rules,
        made.noise.normalise,
        # The kernel adds its scores to the noise in place.
        TreeNoise(*(part.copy() for part in noise)),
    )  # fmt: skip
    assert largest <= 1 + 1e-9
    return TreeModel(forest, n_bins)


CASES = [
    {},
    {"criterion": "entropy"},
    {"criterion": "root_gini"},
    {"criterion": "zero_one", "depth": 4},
    {"splits": "threshold", "mechanism": "exponential"},
    {"leaves": "rules"},
    {"leaves": "rules", "depth": 1, "splits": "threshold"},
    {"leaves": "rules", "criterion": "zero_one", "delta": 1e-5},
    {"delta": 1e-5, "split_share": 0.6},
    {"calibration": "published"},
    {"calibration": "published", "n_splits": 4, "epsilon": 200.0},
    {"depth": 1, "n_rounds": 9, "learning_rate": 1.0, "density": 0.2},
]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("changes", CASES, ids=str)
def test_trees_of_the_reference(changes, seed):
    X, y = problem(seed)
    made = plan(len(y), **changes)
    noise = tree_noise(made, int(N_BINS.sum()), Curator(np.random.default_rng([7, seed])))
    model = grow(made, X, y, noise)
    splits, votes = reference.boost(
        X, y, N_BINS, made.density, made.learning_rate, made.depth, made.n_splits,
        made.thresholds, made.criterion, made.noise.rates, made.noise.label_rates,
        made.noise.rules, made.noise.normalise, noise,
    )  # fmt: skip
    for chosen, expected in zip(model.forest.splits, splits, strict=True):
        assert {int(node): int(chosen[node]) for node in np.flatnonzero(chosen >= 0)} == expected
    assert np.array_equal(model.tally(X), votes)


@pytest.mark.parametrize("changes", CASES, ids=str)
def test_counts_and_the_order_of_rows_change_nothing(changes):
    X, y = problem(1)
    made = plan(len(y), **changes)
    noise = tree_noise(made, int(N_BINS.sum()), Curator(np.random.default_rng(3)))
    model = grow(made, X, y, noise)
    table, counts = np.unique(np.c_[X, y > 0], axis=0, return_counts=True)
    assert len(table) < len(y)
    labels = np.where(table[:, -1] > 0, 1, -1).astype(np.int8)
    again = grow(made, table[:, :-1].astype(np.uint8), labels, noise, counts)
    for one, other in zip(model.forest, again.forest, strict=True):
        assert np.array_equal(one, other)


@pytest.mark.parametrize("leaves", ["labels", "rules"])
def test_without_noise_the_best_choices_are_made(leaves):
    X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=np.uint8)
    y = np.array([-1, -1, -1, 1], dtype=np.int8)
    bins = np.array([2, 2])
    made = plan(4, n_rounds=1, density=1.0, epsilon=np.inf, depth=2, leaves=leaves)
    noise = tree_noise(made, 4, Curator(np.random.default_rng(0)))
    model = grow(made, X, y, noise, n_bins=bins)
    assert np.array_equal(np.sign(model.tally(X)), y)
    made = plan(4, n_rounds=1, density=1.0, epsilon=np.inf, depth=2, calibration="published")
    noise = tree_noise(made, 4, Curator(np.random.default_rng(0)))
    assert np.array_equal(np.sign(grow(made, X, y, noise, n_bins=bins).tally(X)), y)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_criterion_is_concave_and_increasing(criterion):
    place = CRITERIA.index(criterion)
    rng = np.random.default_rng(2)
    for a, b, c, d in rng.integers(0, 50, size=(200, 4)).astype(float):
        merged = two_class_impurity(a + c, b + d, place)
        assert merged >= two_class_impurity(a, b, place) + two_class_impurity(c, d, place) - 1e-9
        assert merged == pytest.approx(two_class_impurity(b + d, a + c, place))
        assert merged == pytest.approx(reference.impurity(a + c, b + d, criterion))


@pytest.mark.slow
def test_many_bins_need_wide_numbers():
    n_bins = np.array([40_000, 30_000, 3])
    rng = np.random.default_rng(0)
    X = rng.integers(0, n_bins, size=(50, 3)).astype(np.uint16)
    y = np.where(X[:, 2] == 2, 1, -1).astype(np.int8)
    rows = BinnedRows(*bin_rows(X, n_bins, y), np.ones(50, dtype=np.int64), n_bins)
    assert rows.bins.dtype == np.uint32
    made = plan(50, n_rounds=1, depth=1, epsilon=np.inf)
    noise = tree_noise(made, int(n_bins.sum()), Curator(rng))
    model = grow(made, X, y, noise, n_bins=n_bins)
    assert np.array_equal(model.tally(X), y)


@pytest.mark.parametrize("seed", range(6))
def test_trees_go_on_where_others_ended(seed):
    """Trees started from the margins of two rounds equal the trees of rounds three and four."""
    X, y = problem(seed, n=12)
    made = plan(12, epsilon=np.inf, depth=2, density=0.3)

    def grown(n_rounds, begin=None):
        nothing = TreeNoise(*(np.zeros((n_rounds, *of)) for of in ((3, 0), (0, 0), (7,))))
        rates = np.full(n_rounds, np.inf)
        forest, largest = boost_trees(
            BinnedRows(*bin_rows(X, N_BINS, y), np.ones(12, dtype=np.int64), N_BINS),
            0.3, 0.5, 2, 3, False, "gini", rates, rates, False, made.noise.normalise, nothing,
            begin,
        )  # fmt: skip
        assert largest <= 1 + 1e-9
        return forest

    four, two = grown(4), grown(2)
    rest = grown(2, y * TreeModel(two, N_BINS).tally(X))
    for both, first, last in zip(four, two, rest, strict=True):
        assert np.array_equal(both, np.concatenate([first, last]))


@pytest.mark.parametrize("dtype", [np.int64, np.float64])
@pytest.mark.parametrize("n_columns", [1, 4])
def test_histograms_and_answers_are_sums_over_rows(dtype, n_columns):
    n_bins = N_BINS[:n_columns]
    X, _ = problem(5)
    bins, width = bin_codes(X[:, :n_columns], n_bins), int(n_bins.sum())
    rng = np.random.default_rng(0)
    labels, rows = rng.integers(0, 3, len(X)), np.flatnonzero(rng.random(len(X)) < 0.5)
    weights = rng.integers(1, 9, len(X)).astype(dtype)
    histogram = np.full((3, width), 7, dtype=dtype)
    count_rows(bins, labels, weights, rows, histogram)
    questions = ranges(np.arange(2 * width), n_bins)
    yes = answers(histogram, questions.low, questions.high)
    assert yes.dtype == dtype
    for q, (column, low, high) in enumerate(zip(*questions, strict=True)):
        result = rows[(bins[rows, column] >= low) & (bins[rows, column] <= high)]
        assert yes[q].tolist() == np.bincount(labels[result], weights[result], 3).tolist()


@pytest.mark.parametrize(("none", "share"), [(NOBODY, 0), (EVERYBODY, 1)])
def test_a_node_without_a_question_leads_all_rows_to_one_child(none, share):
    bins = bin_codes(problem(3)[0], N_BINS)
    column, low, high = (int(part[0]) for part in ranges(np.array([-1]), N_BINS, none))
    assert ((low <= bins[:, column]) & (bins[:, column] <= high)).mean() == share
