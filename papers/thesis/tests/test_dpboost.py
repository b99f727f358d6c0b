import gradient_tree as reference
import numpy as np
import pytest
from sklearn.tree import DecisionTreeRegressor

from privcurve.kernels.trees.form import NO_QUESTION, Ranges
from privcurve.papers.thesis.learners.dpboost.classifier import DPBoostClassifier
from privcurve.papers.thesis.learners.dpboost.kernel import grow_tree
from privcurve.papers.thesis.learners.dpboost.noise import chunk_ends


def problem(n=400, seed=0):
    rng = np.random.default_rng(seed)
    n_bins = [4, 2, 6]
    X = rng.integers(0, n_bins, size=(n, 3)).astype(np.uint8)
    truth = (X[:, 0] > 1) ^ (X[:, 2] == 3)
    y = np.where(truth ^ (rng.random(n) < 0.05), 1, -1)
    return X, y, n_bins


def grown(X, gradients, n_bins, depth, thresholds, regularisation=0.5):
    starts = np.concatenate([[0], np.cumsum(n_bins)]).astype(np.int64)
    bins = (X + starts[:-1]).astype(np.uint16)
    splits = np.empty(2**depth - 1, dtype=np.int64)
    sums, totals = grow_tree(
        bins, gradients, np.ones(len(X)), starts, depth, thresholds, regularisation, 0.0,
        np.empty((1, 0)), splits, Ranges(*(np.empty_like(splits) for _ in range(3))),
    )  # fmt: skip
    return splits, sums, totals


@pytest.mark.parametrize("thresholds", [True, False])
@pytest.mark.parametrize("seed", range(5))
def test_the_tree_matches_plain_python(thresholds, seed):
    X, _, n_bins = problem(40, seed)
    gradients = np.random.default_rng(seed).uniform(-1, 1, size=len(X))
    splits, sums, totals = grown(X, gradients, n_bins, 3, thresholds)
    expected, leaves = reference.best_tree(X.tolist(), gradients, n_bins, 3, thresholds, 0.5)
    if thresholds:
        starts = np.concatenate([[0], np.cumsum(n_bins)])
        assert [None if s is None else starts[s[0]] + s[1] for s in expected] == [
            None if s == NO_QUESTION else s for s in splits.tolist()
        ]
    # The order of leaves is not compared: if rows at a node can have only the bins a and b, the
    # questions "is it a?" and "is it b?" have equal gains, but exchange the yes and no sides.
    assert sorted(zip(totals, sums, strict=True)) == [
        (n, pytest.approx(total)) for total, n in sorted(leaves, key=lambda leaf: leaf[::-1])
    ]


def test_questions_run_out():
    X = np.array([[0], [1], [1]], dtype=np.uint8)
    splits, _, totals = grown(X, np.array([1.0, -1.0, 0.5]), [2], 3, True)
    assert splits.tolist() == [0] + [NO_QUESTION] * 6
    # A node without a question sends all records to its first child.
    assert totals.tolist() == [1, 0, 0, 0, 2, 0, 0, 0]


@pytest.mark.parametrize("splits", ["threshold", "equality"])
def test_without_noise_one_tree_is_a_regression_tree(splits):
    X, y, n_bins = problem()
    model = DPBoostClassifier(
        n_trees=1, max_depth=2, learning_rate=1.0, regularisation=0.0, splits=splits,
        epsilon=np.inf, n_bins=n_bins,
    ).fit(X, y)  # fmt: skip
    columns = X
    if splits == "equality":
        columns = np.hstack([np.eye(b)[X[:, j]] for j, b in enumerate(n_bins)])
    tree = DecisionTreeRegressor(max_depth=2, random_state=0).fit(columns, y)
    assert model.decision_function(X) == pytest.approx(tree.predict(columns))


def test_without_noise_boosting_lowers_the_square_loss_of_every_tree():
    X, y, n_bins = problem()
    losses = []
    for n_trees in (1, 2, 5, 20):
        model = DPBoostClassifier(n_trees=n_trees, max_depth=2, epsilon=np.inf, n_bins=n_bins)
        losses.append(((model.fit(X, y).decision_function(X) - y) ** 2).mean())
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < 0.5 * losses[0]


@pytest.mark.parametrize("chunks", ["geometric", "equal"])
@pytest.mark.parametrize("n", [1, 7, 1000, 32561])
def test_chunks_share_out_all_records(chunks, n):
    ends = chunk_ends(n, 50, 0.1, chunks)
    sizes = np.diff(ends, prepend=0)
    assert ends[-1] == n
    assert (sizes >= 0).all()
    share = np.full(50, 1 / 50)
    if chunks == "geometric":
        share = 0.1 * 0.9 ** np.arange(50) / (1 - 0.9**50)
    assert sizes == pytest.approx(n * share, abs=1)


def test_learning_rate_one_gives_everything_to_the_first_tree():
    X, y, n_bins = problem()
    assert chunk_ends(10, 3, 1.0, "geometric").tolist() == [10, 10, 10]
    model = DPBoostClassifier(n_trees=3, learning_rate=1.0, n_bins=n_bins, epsilon=100.0)
    assert not model.fit(X, y).leaf_values_[1:].any()


def test_learning_rate_one_leaves_nothing_to_a_second_ensemble():
    rng = np.random.default_rng(0)
    rows, labels = rng.integers(0, 4, (60, 2)), rng.integers(0, 2, 60)
    model = DPBoostClassifier(n_trees=4, trees_per_ensemble=2, learning_rate=1.0, n_bins=4)
    with pytest.raises(ValueError, match="learning_rate must be below 1 with several"):
        model.fit(rows, labels)
