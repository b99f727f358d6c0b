import numpy as np
import pytest

from privcurve.learners import LazyBBClassifier, TopDownTreeClassifier
from privcurve.privacy.calibration.trees import lazybb_trees

N_BINS = [2, 5, 3]


def problem(n=500, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, N_BINS, size=(n, 3)).astype(np.uint8)
    y = (X[:, 0] == 1) ^ (X[:, 1] >= 3)
    return X, y ^ (rng.random(n) < 0.05)


@pytest.mark.parametrize("mechanism", ["exponential", "permute_and_flip"])
@pytest.mark.usefixtures("given_streams")
def test_trees_of_one_level_of_rules_are_1_rules(mechanism):
    X, y = problem()
    rngs = [np.random.default_rng(0) for _ in range(2)]
    one = LazyBBClassifier(n_rounds=9, n_bins=N_BINS, random_state=rngs[0], mechanism=mechanism)
    trees = LazyBBClassifier(
        weak_learner="topdown", depth=1, leaves="rules", n_rounds=9, n_bins=N_BINS,
        random_state=rngs[1], mechanism=mechanism,
    )  # fmt: skip
    assert np.array_equal(one.fit(X, y).decision_function(X), trees.fit(X, y).decision_function(X))
    rates = [[call.noise_rate for call in m.privacy_.ledger] for m in (one, trees)]
    assert rates[0] == pytest.approx(rates[1])


def test_model_is_readable():
    X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=np.uint8)
    y = np.array([0, 0, 0, 1])
    tree = TopDownTreeClassifier(depth=2, epsilon=np.inf, n_bins=2).fit(X, y)
    text = tree.model_.describe([["guest", "member"], ["income low", "income high"]])
    assert text.splitlines() == [
        "guest?",
        "  yes:",
        "    guest?",
        "      yes: -1",
        "      no: -1",
        "  no:",
        "    income low?",
        "      yes: -1",
        "      no: +1",
    ]
    assert tree.n_features_used_ == 2
    assert "column 1 = 0?" in str(tree.model_)
    thresholds = TopDownTreeClassifier(depth=1, splits="threshold", n_bins=4, epsilon=np.inf)
    numbers = np.arange(4, dtype=np.uint8)[:, None]
    assert "column 0 at most 1?" in str(thresholds.fit(numbers, [0, 0, 1, 1]).model_)
    two = LazyBBClassifier(weak_learner="topdown", n_rounds=2, depth=1, n_bins=2, epsilon=np.inf)
    assert str(two.fit(X, y).model_).count("tree ") == 2


def test_wrong_combinations_are_errors():
    X, y = problem(50)

    def fit(**parameters):
        TopDownTreeClassifier(n_bins=N_BINS, **parameters).fit(X, y)

    published = {"calibration": "published"}
    for parameters, message in [
        ({"n_splits": 3}, "n_splits = 3 needs calibration = 'published'"),
        ({**published, "criterion": "entropy"}, "gini"),
        ({**published, "delta": 1e-5}, "Remark 4.2.1"),
        ({**published, "split_share": 0.5}, "half"),
        ({**published, "leaves": "rules"}, "labels its leaves"),
        ({**published, "splits": "threshold"}, "needs calibration = 'proved'"),
        ({**published, "mechanism": "permute_and_flip"}, "exponential"),
        ({"delta": 1e-5, "mechanism": "permute_and_flip"}, "bounded-range"),
        ({"split_share": 1.0}, "split_share"),
        ({"depth": 0}, "depth"),
    ]:
        with pytest.raises(ValueError, match=message):
            fit(**parameters)


def test_published_rates_match_the_thesis():
    noise = lazybb_trees(
        learner="lazybb", n=1000, n_rounds=5, density=0.3, learning_rate=0.4, depth=3, n_splits=7,
        criterion="gini", split_share=None, leaves="labels", epsilon=1.0, delta=0.0,
        calibration="published",
    )  # fmt: skip
    eta = 1.0 * 0.3 * 1000 / (16 * 5 * 7)
    assert noise.rates == pytest.approx(np.full(5, eta))
    assert noise.label_rates == pytest.approx(np.full(5, 4 * 7 * eta))
    assert noise.normalise
    assert not noise.by_levels
