import numpy as np
import pytest

from privcurve.learners import LazyBBClassifier, OneRuleClassifier, TopDownTreeClassifier
from privcurve.privacy.calibration.trees import lazybb_trees
from privcurve.privacy.sensitivity import lazybb as sensitivity
from privcurve.privacy.sensitivity.impurity import impurity

N_BINS = [2, 5, 3]


def problem(n=500, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, N_BINS, size=(n, 3)).astype(np.uint8)
    y = (X[:, 0] == 1) ^ (X[:, 1] >= 3)
    return X, y ^ (rng.random(n) < 0.05)


def calibrated(**changes):
    options = {
        "learner": "lazybb", "n": 1000, "n_rounds": 5, "density": 0.3, "learning_rate": 0.4,
        "depth": 3, "n_splits": 7, "criterion": "gini", "split_share": None,
        "leaves": "labels", "epsilon": 1.0, "delta": 0.0, "calibration": "certified",
    }  # fmt: skip
    return lazybb_trees(**{**options, **changes})


def test_a_tree_learns_what_a_1_rule_cannot():
    X, y = problem()
    tree = TopDownTreeClassifier(depth=2, splits="threshold", n_bins=N_BINS, epsilon=np.inf)
    rule = OneRuleClassifier(n_bins=N_BINS, epsilon=np.inf)
    assert tree.fit(X, y).score(X, y) > 0.9
    assert rule.fit(X, y).score(X, y) < 0.75
    assert tree.n_records_ == 500


@pytest.mark.parametrize("mechanism", ["exponential", "permute_and_flip"])
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
    text = tree.model_.describe([["no", "yes"], ["low", "high"]], ["member", "income"])
    assert text.splitlines() == [
        "member = no?",
        "  yes:",
        "    member = no?",
        "      yes: -1",
        "      no: -1",
        "  no:",
        "    income = low?",
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
        ({"n_splits": 3}, "give depth"),
        ({**published, "criterion": "entropy"}, "gini"),
        ({**published, "delta": 1e-5}, "Remark 4.2.1"),
        ({**published, "split_share": 0.5}, "half"),
        ({**published, "leaves": "rules"}, "labels its leaves"),
        ({**published, "splits": "threshold"}, "one code"),
        ({**published, "mechanism": "permute_and_flip"}, "exponential"),
        ({"delta": 1e-5, "mechanism": "permute_and_flip"}, "bounded-range"),
        ({"split_share": 1.0}, "split_share"),
        ({"depth": 0}, "depth"),
        ({"criterion": "variance"}, "criterion"),
    ]:
        with pytest.raises(ValueError, match=message):
            fit(**parameters)


def test_published_rates_are_those_of_the_thesis():
    noise = calibrated(calibration="published")
    eta = 1.0 * 0.3 * 1000 / (16 * 5 * 7)
    assert noise.rates == pytest.approx(np.full(5, eta))
    assert noise.label_rates == pytest.approx(np.full(5, 4 * 7 * eta))
    assert noise.normalise
    assert not noise.by_levels


def test_certified_rates_are_those_of_the_privacy_review():
    n, depth, share = 10**7, 3, 0.8
    noise = calibrated(n=n, split_share=share)
    zeta = sensitivity.lazybb_zeta_rounds(n, 0.3, 0.4, 5)
    # §c: η = fε₀/(8Dζ) and Lap(2ζ/((1 − f)ε₀)), with F(ζ, nζ) just below 4ζ.
    assert noise.rates == pytest.approx(share * 0.2 / (8 * depth * zeta), rel=1e-6)
    assert noise.label_rates == pytest.approx((1 - share) * 0.2 / (2 * zeta))
    rules = calibrated(n=n, leaves="rules", depth=1)
    assert rules.label_rates == pytest.approx(0.2 / (2 * zeta))


@pytest.mark.parametrize("leaves", ["labels", "rules"])
@pytest.mark.parametrize("split_share", [None, 0.6])
@pytest.mark.parametrize("delta", [0.0, 1e-5])
def test_ledger_adds_up(delta, split_share, leaves):
    statement = calibrated(delta=delta, split_share=split_share, leaves=leaves).statement
    assert statement.epsilon_spent == pytest.approx(1.0, rel=1e-9)
    assert len(statement.ledger) == 5 * (4 if leaves == "labels" else 3)
    for call in statement.ledger:
        spread = 2 if call.mechanism in ("exponential", "permute_and_flip") else 1
        assert call.epsilon == pytest.approx(call.noise_rate * call.sensitivity * spread)


def test_delta_buys_less_noise():
    assert (calibrated(delta=1e-5, n_rounds=30).rates > calibrated(n_rounds=30).rates).all()


@pytest.mark.parametrize("criterion", ["gini", "entropy", "root_gini", "zero_one"])
def test_range_covers_every_move_of_weight(criterion):
    # Weight of at most ζ leaves some cells and of at most ζ enters others, at random and
    # at the extremes; Σ F over the cells must stay within half of the range either way.
    n, zeta = 50, 1.0
    half = sensitivity.lazybb_split_range(n, zeta, criterion) / 2
    rng = np.random.default_rng(0)

    def phi(cells):
        total = 0.0
        for a, b in cells:
            total += (a + b) * impurity(a / (a + b), criterion) if a + b else 0.0
        return total

    largest = 0.0
    for trial in range(3000):
        cells = rng.random((3, 2)) * 10.0 ** rng.integers(-3, 1, size=(3, 2))
        cells *= (n - 1) * zeta * rng.random() ** (trial % 2) / cells.sum()
        move = np.zeros(6)
        move[: rng.integers(1, 7)] = 1
        move = rng.permutation(move * rng.random(6))
        grown = cells + (move * zeta / move.sum()).reshape(3, 2)
        change = phi(grown) - phi(cells)
        assert -1e-9 <= change <= half * (1 + 1e-9)
        largest = max(largest, change)
    single = phi([(1.0, n - 1.0)]) - phi([(0.0, n - 1.0)])
    assert max(largest, single) > 0.9 * half
