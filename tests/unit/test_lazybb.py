import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from privcurve.binning import code_equal_width
from privcurve.learners import LazyBBClassifier, OneRuleClassifier
from privcurve.learners.one_rule import VoteModel
from privcurve.privacy.sealed import SealedError
from privcurve.privacy.sensitivity import lazybb as sensitivity

N_BINS = [10] * 30
RNG = np.random.default_rng


@pytest.fixture(scope="module")
def data():
    X, y = load_breast_cancer(return_X_y=True)
    codes = code_equal_width(X, (X.min(axis=0), X.max(axis=0)), np.array(N_BINS))
    return codes, np.where(y > 0, 1, -1)


def test_one_round_of_lazybb_is_the_1_rule(data):
    X, y = data
    fits = [
        LazyBBClassifier(n_rounds=1, density=0.5, n_bins=N_BINS, random_state=RNG(7)),
        OneRuleClassifier(n_bins=N_BINS, random_state=RNG(7)),
    ]
    boosted, rule = (fit.fit(X, y) for fit in fits)
    # Proved calibration: round 1 has ζ₁ = 1/n at any density, so even the noise is equal.
    assert np.array_equal(boosted.chosen_, rule.chosen_)
    assert boosted.privacy_.ledger[0].noise_rate == rule.privacy_.ledger[0].noise_rate


def test_scores_match_the_printed_model(data):
    X, y = data
    model = LazyBBClassifier(
        epsilon=0.5, n_rounds=60, ties="negative", n_bins=N_BINS, random_state=5
    ).fit(X, y)
    expected = np.full(len(X), model.model_.constant)
    for votes, column, code in model.model_.votes:
        expected += votes * np.where(X[:, column] == code, 1, -1)
    assert np.array_equal(model.decision_function(X), expected)
    bins = {literal // 2 for literal in model.chosen_ if literal < 600}
    assert model.n_features_used_ == len(bins)
    assert np.array_equal(model.predict(X), np.where(expected > 0, 1, -1))


def test_model_is_readable():
    model = VoteModel.from_picks(np.array([0, 3, 3, 4, 5, 10, 10, 11]), np.array([2, 3]))
    assert model.votes == ((-2, 0, 1), (1, 0, 0))
    assert model.constant == 1
    assert str(model).splitlines() == [
        "votes  bin",
        "   -2  column 0 = 1",
        "   +1  column 0 = 0",
        "   +1  always",
    ]
    named = model.describe([["owner = no", "owner = yes"], ["grade = a", "b", "c"]])
    assert "   -2  owner = yes" in named
    assert str(VoteModel.from_picks(np.array([0, 1]), np.array([1]))).endswith("+0  always")


TREES = dict(weak_learner="topdown", depth=2, leaves="rules")


@pytest.mark.parametrize("weak", [{}, TREES])
@pytest.mark.usefixtures("given_streams")
def test_ties_are_broken_by_the_vote_without_its_last_round(data, weak):
    X, y = data
    shared = dict(n_rounds=4, epsilon=0.5, n_bins=N_BINS, **weak)
    by = {
        ties: LazyBBClassifier(ties=ties, random_state=RNG(0), **shared).fit(X, y)
        for ties in ("auto", "last_round", "negative")
    }
    votes = by["negative"].decision_function(X)
    tied = votes == 0
    assert 0 < tied.mean() < 1
    *_, before, last = by["negative"].staged_decision_function(X)
    assert np.array_equal(last, votes)
    assert set(by["negative"].predict(X[tied])) == {-1}
    expected = np.where(tied, np.sign(before) / 2, votes)
    for ties in ("auto", "last_round"):
        assert np.array_equal(by[ties].decision_function(X), expected)
        assert np.array_equal(by[ties].predict(X)[tied], np.sign(before[tied]))
        stages = list(by[ties].staged_decision_function(X))
        assert all((stage != 0).all() for stage in stages)
        assert np.array_equal(stages[-1], expected)
    assert by["auto"].ties_ == "last_round"
    # The option does not change the model, its privacy, or votes of an odd number of rounds.
    assert by["auto"].privacy_ == by["negative"].privacy_
    assert str(by["auto"].model_) == str(by["negative"].model_)
    odd = [LazyBBClassifier(ties=t, n_rounds=3, n_bins=N_BINS, random_state=RNG(0)) for t in by]
    one, *others = (model.fit(X, y).decision_function(X) for model in odd)
    assert all(np.array_equal(one, other) for other in others)


def test_published_keeps_the_rule_of_the_thesis_for_ties(data):
    X, y = data
    shared = dict(calibration="published", n_rounds=4, n_bins=N_BINS)
    model = LazyBBClassifier(random_state=RNG(1), **shared).fit(X, y)
    assert model.ties_ == "negative"
    tied = model.decision_function(X) == 0
    assert tied.any()
    assert set(model.predict(X[tied])) == {-1}
    booster = LazyBBClassifier(ties="last_round", random_state=RNG(1), **shared).fit(X, y)
    assert (booster.decision_function(X) != 0).all()
    # Parameters set after a fit do not change the model.
    booster.set_params(ties="negative")
    assert (booster.decision_function(X) != 0).all()


def test_too_heavy_a_record_is_an_error(data, monkeypatch):
    X, y = data
    with pytest.raises(ArithmeticError, match=r"internal error in it: a record had 1\.01 times"):
        sensitivity.check_largest_weight(1.01, "it")
    # A negative tolerance rejects every weight.
    monkeypatch.setattr(sensitivity, "DENSITY_TOLERANCE", -1.0)
    with pytest.raises(ArithmeticError, match="internal error in boost: a record had"):
        LazyBBClassifier(n_bins=N_BINS, epsilon=np.inf).fit(X, y)
    # The message of a private fit omits the weight, which depends on the records.
    with pytest.raises(SealedError, match="boost ends with ArithmeticError") as refused:
        LazyBBClassifier(n_bins=N_BINS).fit(X, y)
    assert "a record had" not in str(refused.value)


def test_column_of_one_code_is_a_constant():
    # The literals of a column with one code are constant; nothing divides by zero.
    X, y = np.zeros((20, 1), dtype=int), np.array([1] * 15 + [0] * 5)
    model = LazyBBClassifier(epsilon=np.inf, n_bins=1, n_rounds=4, density=1.0).fit(X, y)
    assert model.predict(X).tolist() == [1] * 20
