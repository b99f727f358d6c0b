"""Test boosted ensembles (BDPEα): trees, weights and statements."""

import boosted_trees as reference
import numpy as np
import pytest

from privcurve.audit.pairs import records as coded
from privcurve.papers.boosted_dp.learners._m_alpha import inverse_link, record_weights
from privcurve.papers.boosted_dp.learners.bdpe.classifier import BDPEClassifier
from privcurve.privacy.budget import PROVED
from privcurve.privacy.curator import Curator
from privcurve.privacy.ledger import CLAIMED, REFUTED

N_BINS = [4, 3, 5]
PUBLISHED = {"calibration": "published"}
OC = {**PUBLISHED, "alpha": 1.0, "calibrate_alpha": "exact"}


def problem(n=120, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, N_BINS, (n, 3)).astype(np.uint8)
    y = np.where((X[:, 0] > 1) ^ (X[:, 2] < 2) ^ (rng.random(n) < 0.15), 1, -1)
    return X, y


def fitted(X=None, y=None, seed=0, n_bins=N_BINS, **parameters):
    if X is None:
        X, y = problem()
    learner = BDPEClassifier(n_bins=n_bins, classes=(-1, 1), **parameters)
    return learner.set_params(random_state=np.random.default_rng(seed)).fit(X, y)


def weights_after(model, X, y):
    return record_weights(model.decision_function(X), y.astype(np.int8), model.boost_alpha)


# Without privacy ---------------------------------------------------------------------------


@pytest.mark.parametrize("calibration", ["published", "proved"])
@pytest.mark.parametrize(
    ("alpha", "boost_alpha", "calibrated"),
    [(1.0, 1.0, True), (1.0, 1.0, False), (0.1, 0.4, False), (0.0, 0.7, False)],
)
def test_without_privacy_it_is_the_plain_booster(calibration, alpha, boost_alpha, calibrated):
    """At ε = ∞, questions, votes and leverages agree with the reference in plain Python.

    With `calibrated`, α follows from the exact error; this option exists only for the published
    calibration.
    """
    if calibrated and calibration == "proved":
        calibrated = False
    X, y = problem(60)
    # For these records, no two questions have equal scores. (Rounding would decide a tie.)
    model = fitted(
        X, y, n_trees=3, depth=2, alpha=alpha, boost_alpha=boost_alpha, epsilon=np.inf,
        calibration=calibration, votes="link", clamp=10.0,
        calibrate_alpha="exact" if calibrated else "no",
    )  # fmt: skip
    trees = reference.boost(
        X.tolist(), y.tolist(), N_BINS, 3, 2, alpha, boost_alpha, calibrated,
        calibration == "proved",
    )  # fmt: skip
    starts = np.concatenate([[0], np.cumsum(N_BINS)])
    for t, (questions, votes, beta) in enumerate(trees):
        numbers = [-1 if g is None else starts[g[0]] + g[1] for g in questions]
        assert model.splits_[t].tolist() == numbers, t
        # The tolerance is needed because the learner rounds weights down (relative to the largest
        # weight, by some 2^-22), but the reference does not.
        assert model.leaf_values_[t] == pytest.approx(votes, rel=1e-5)
        assert model.leverages_[t] == pytest.approx(beta, rel=1e-5)


# Records whose weights never change ----------------------------------------------------------


@pytest.mark.parametrize("epsilon", [0.1, 25.0, np.inf])
@pytest.mark.parametrize("clamp", [1.0, 10.0, 100.0])
def test_small_alpha_boosts_nothing(epsilon, clamp):
    """With a small boost_alpha b all weights stay ½, so that all trees are equal at ε = ∞.

    After T trees, the score H of a record satisfies |H| ≤ T·b/2. The record's weight stays ½ while
    |H| ≤ 2(1 − b). So it stays ½ for the first 4(1 − b)/b trees (docs/research/boosted_dp.md).
    """
    X, y = problem()
    model = fitted(
        X, y, n_trees=20, depth=3, alpha=0.1, boost_alpha=0.1, clamp=clamp, epsilon=epsilon,
        **PUBLISHED,
    )  # fmt: skip
    assert (weights_after(model, X, y) == 0.5).all()
    if np.isinf(epsilon):
        assert (model.splits_ == model.splits_[0]).all()
        assert (model.leaf_values_ == model.leaf_values_[0]).all()


def test_thirty_six_trees_are_the_limit():
    """For b = 0.1, T·b/2 reaches 2(1 − b) at T = 36 trees; with more trees a weight can change.

    T·b/2 bounds the score after T trees; see :func:`test_small_alpha_boosts_nothing`.
    """
    assert inverse_link(36 * 0.05, 0.1) == 0.5 < inverse_link(37 * 0.05, 0.1)


@pytest.mark.parametrize("votes", ["link", "shrunk", "sign"])
def test_the_weight_bound_holds_for_rows_that_nobody_has(votes):
    step = {} if votes == "link" else {"step": 2.0}
    model = fitted(n_trees=8, depth=2, votes=votes, epsilon=5.0, **step)
    reach = np.abs(model.leverages_) @ np.abs(model.leaf_values_).max(axis=1)
    rows = np.array(np.meshgrid(*map(range, N_BINS))).reshape(3, -1).T.astype(np.uint8)
    assert np.abs(model.decision_function(rows)).max() <= reach * (1 + 1e-12)


# Choices of splits ---------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 25.0])
@pytest.mark.parametrize("m", [120, 20_000])
def test_the_exponent_of_published_splits_is_bounded(m, epsilon):
    """Published noise makes splits nearly random: exponents of the exponential mechanism are small.

    The largest exponent at the root is the rate times the range of the scores. For m = 20,000
    records and ε = 1 it is below 0.11.
    """
    X, y = problem(m)
    learner = BDPEClassifier(n_trees=20, depth=4, epsilon=epsilon, n_bins=N_BINS, **OC)
    root = learner._guarantee(m).ledger[0]
    rate = root.noise_rate * root.sensitivity / learner._sensitivity(m, 1.0)
    records = [(row, label, 0.5) for row, label in zip(X.tolist(), y.tolist(), strict=True)]
    risks = [reference.risk(records, g, 1.0) for g in reference.options([set(range(4))] * 3)[:3]]
    bound = 0.5 * epsilon * np.sqrt(m) / (8 * 20 * 4)
    assert 0 < rate * (max(risks) - min(risks)) < rate * m / 2 < bound
    assert bound < 0.1105 * max(epsilon, 1)


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [2.0, 60.0])
@pytest.mark.parametrize("calibration", ["published", "proved"])
def test_trees_are_drawn_by_their_chances(calibration, epsilon):
    """Trees of two levels have the probabilities of the plain-Python reference (chi-square test).

    The learner draws splits by rejection if ε is small, and by computed probabilities if ε is
    large.
    """
    X = np.array([[0, 0], [0, 1], [1, 0], [1, 1], [2, 1], [2, 0]], dtype=np.uint8)
    y = np.array([1, -1, -1, 1, 1, 1], dtype=np.int8)
    counts = np.array([5, 2, 4, 1, 1, 3])
    n_bins, alpha, n = [3, 2], 0.6, 2_000
    learner = BDPEClassifier(
        n_trees=1, depth=2, alpha=alpha, epsilon=epsilon, calibration=calibration,
        n_bins=n_bins, classes=(-1, 1),
    )  # fmt: skip
    m = int(counts.sum())
    unit = 0.5 if calibration == "proved" else 1.0
    unit *= learner._sensitivity(m, alpha)
    # Entries 0 and 1 of the ledger are for the two levels in both calibrations: a proved ledger has
    # one entry for each level, a published ledger one for each node (the root and its first child).
    levels = [learner._guarantee(m).ledger[k] for k in (0, 1)]
    rates = [entry.epsilon / (2 * unit) for entry in levels]
    records = [
        (row, label, count / 2)
        for row, label, count in zip(X.tolist(), y.tolist(), counts.tolist(), strict=True)
    ]
    choose = reference.permute_and_flip if calibration == "proved" else reference.exponential
    trees = reference.trees(records, n_bins, [alpha] * 2, rates, choose, calibration == "proved")
    starts = np.array([0, 3])
    chances = {
        tuple(-1 if g is None else starts[g[0]] + g[1] for g in questions): chance
        for questions, (chance, _) in trees.items()
    }
    assert sum(chances.values()) == pytest.approx(1)
    rng = np.random.default_rng(5)
    models = learner.fit_records(
        coded(X, y, n_bins, counts), [{}] * n, [Curator(rng) for _ in range(n)]
    )
    seen = dict.fromkeys(chances, 0)
    for model in models:
        seen[tuple(model.splits_[0].tolist())] += 1
    observed, expected = (np.array([d[k] for k in chances]) for d in (seen, chances))
    expected = n * expected
    rare = expected < 5
    observed = np.append(observed[~rare], observed[rare].sum())
    expected = np.append(expected[~rare], expected[rare].sum())
    kept = expected > 0
    statistic = ((observed - expected)[kept] ** 2 / expected[kept]).sum()
    free = kept.sum() - 1
    # The bound is Wilson and Hilferty's approximation of the chi-square distribution at four
    # standard deviations: by chance, each of the four cases of this test fails once in 30,000 runs.
    assert (statistic / free) ** (1 / 3) < 1 - 2 / (9 * free) + 4 * np.sqrt(2 / (9 * free))


def test_a_proved_tree_asks_what_is_still_open():
    """On one column with three bins, a tree has each of the two possible questions once."""
    X = np.array([[0], [1], [2]] * 5, dtype=np.uint8)
    y = np.array([1, -1, 1] * 5)
    for splits in ("chosen", "random"):
        model = fitted(X, y, n_bins=[3], n_trees=5, depth=3, splits=splits)
        for tree in model.splits_:
            path = sorted(tree[tree >= 0].tolist())
            assert path == [0, 1]
        assert model.measures_["n_leaves"] == 15
        assert model.measures_["expected_depth"] == 1.5


# Calibration of α ----------------------------------------------------------------------------


def test_released_errors_calibrate_alpha():
    """With almost no noise, the α of each level is near the α that the exact error gives."""
    X, y = problem(300)
    setting = {"n_trees": 1, "depth": 3, "alpha": 0.8, "calibrate_alpha": "released"}
    model = fitted(X, y, epsilon=1e9, **setting)
    exact = fitted(X, y, epsilon=np.inf, **setting)
    assert model.alphas_[0] == pytest.approx(exact.alphas_[0], rel=1e-4)
    assert model.alphas_[0, 0] == 0.8
    assert (np.diff(model.alphas_[0]) < 0).all()
    noisy = fitted(X, y, epsilon=0.1, **setting)
    assert ((noisy.alphas_ >= 0) & (noisy.alphas_ <= 0.8)).all()
    assert not np.array_equal(noisy.alphas_, exact.alphas_)


class Watched(Curator):
    """A curator that records its calls, and adds `errors` instead of noise to scalar results."""

    def __init__(self, errors=()):
        super().__init__(np.random.default_rng(0))
        self.calls, self.errors = [], list(errors)

    def _numbers(self, call, exact):
        self.calls.append(call)
        if self.errors and exact.shape == (1,):
            return exact + self.errors.pop(0)
        return super()._numbers(call, exact)


def watched(curator, **parameters):
    X, y = problem(300)
    learner = BDPEClassifier(n_bins=N_BINS, classes=(-1, 1), **parameters)
    return learner.fit_records(coded(X, y, N_BINS), [{}], [curator])[0]


def test_leaves_have_noise_for_the_largest_weight_of_their_round():
    """The noise of leaves is scaled by the largest possible weight in the round.

    For tree t this weight is ½(1 + x/√(α² + x²)) if x = Σ_{s<t} |β_s|·max|h_s|/2 − (1 − α) is
    positive, and else ½; h_s are the votes of tree s.
    """
    curator = Watched()
    model = watched(curator, n_trees=3, depth=2, boost_alpha=0.6, step=1.5, epsilon=5.0)
    reach = 0.0
    for t, call in enumerate(curator.calls):
        beyond = max(reach / 2 - 0.4, 0.0)
        weight = 0.5 * (1 + beyond / np.hypot(0.6, beyond))
        assert call.scale == pytest.approx(weight / call.entry.noise_rate)
        reach += abs(model.leverages_[t]) * np.abs(model.leaf_values_[t]).max()
    assert t == 2
    assert weight > 0.6


def test_each_level_has_its_own_noise_on_its_error():
    setting = {"n_trees": 1, "depth": 3, "alpha": 1.0, "calibrate_alpha": "released"}
    all_alphas = [
        watched(Watched(errors), **setting, epsilon=1e9).alphas_[0]
        for errors in ([0.0, 0.0, -1e9], [0.0, -1e9, 0.0])
    ]
    # The first error, at the root, is exact in both cases. Each case makes the released error of
    # one deeper level negative, so that only the α of this level becomes 0.
    assert [alphas[0] for alphas in all_alphas] == [1.0, 1.0]
    assert all_alphas[0][1] > 0.1
    assert all_alphas[0][2] == 0
    assert all_alphas[1][1] == 0
    assert all_alphas[1][2] > 0.1


def test_a_public_schedule():
    model = fitted(n_trees=2, depth=3, alpha=0.8, alpha_decay=0.5)
    assert model.alphas_.tolist() == [[0.8, 0.4, 0.2]] * 2


@pytest.mark.usefixtures("given_streams")
def test_constant_leverages_are_public():
    X, y = problem()
    model = fitted(X, y, n_trees=4, depth=2, leverage="constant", clamp=5.0, **OC)
    assert model.leverages_.tolist() == [1 / 10] * 4
    leak = fitted(X, y, n_trees=4, depth=2, leverage="exact", **OC)
    plain = fitted(X, y, n_trees=4, depth=2, **OC)
    assert np.array_equal(leak.leverages_, plain.leverages_)


# The ledger -------------------------------------------------------------------------------------


@pytest.mark.parametrize("delta", [0.0, 1e-5])
def test_errors_are_paid_for_though_splits_get_nothing(delta):
    setting = {"n_trees": 2, "depth": 2, "alpha": 1.0, "calibrate_alpha": "released"}
    statement = fitted(tree_share=0.0, delta=delta, **setting).privacy_
    assert statement.epsilon_spent == pytest.approx(1.0, rel=1e-9)
    assert any("error" in entry.what for entry in statement.ledger)


def test_the_published_statement_says_that_leverages_have_no_epsilon():
    statement = fitted(**OC).privacy_
    assert (statement.status, statement.proved_epsilon) == (REFUTED, np.inf)
    assert "leveraging coefficients of the trees are computed from the exact records" in str(
        statement
    )
    assert "Proved instead is no finite epsilon." in str(statement)


def test_the_true_epsilon_of_published_noise_with_a_public_leverage():
    """With the clamp M = 10, flipping one label costs more than ε, so the claim is refuted.

    With M above the largest possible value of a leaf, the claim is proved.
    """
    small = {**PUBLISHED, "leverage": "constant", "alpha": 0.1, "boost_alpha": 0.1, "depth": 4}
    statement = fitted(**{**small, "boost_alpha": 1.0}).privacy_
    assert statement.status == REFUTED
    assert statement.proved_epsilon == pytest.approx((2 - 2**-3) / 4 / 2 + 99.985 / 10, rel=1e-3)
    statement = fitted(**small, clamp=100.0).privacy_
    assert (statement.status, statement.proved_epsilon) == (PROVED, None)
    statement = fitted(**small, clamp=100.0, calibrate_alpha="exact").privacy_
    assert (statement.status, statement.proved_epsilon) == (CLAIMED, None)
    assert "exact error" in statement.caveat


# Refusals ----------------------------------------------------------------------------------------


def test_published_noise_has_no_delta():
    learner = BDPEClassifier(n_bins=[2], classes=(-1, 1), delta=1e-5, **PUBLISHED)
    with pytest.raises(ValueError, match="proved"):
        learner.fit([[0], [1]], [-1, 1])
