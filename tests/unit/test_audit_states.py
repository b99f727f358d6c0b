"""The audit reads every attribute that a fit leaves, in views that show similarities."""

import copy
from dataclasses import dataclass, replace

import numpy as np
import pytest

from privcurve.audit.claim import Claim
from privcurve.audit.fits import fits
from privcurve.audit.pairs import Pair, cross_columns, records
from privcurve.audit.run import run
from privcurve.audit.search import search_sampled
from privcurve.audit.states import (
    ABSENT,
    SCORE,
    States,
    canary_score,
    is_same,
    numbers,
    sample_canary_scores,
    sample_states,
)
from privcurve.audit.views import views
from privcurve.learners import LazyBBClassifier, TopDownTreeClassifier
from privcurve.learners.linear.linear import DPLogisticRegressionClassifier
from privcurve.learners.one_rule import OneRuleClassifier
from privcurve.privacy.budget import ADD_REMOVE, PRIVATE_COLUMNS, PROVED
from privcurve.privacy.curator import Curator
from privcurve.privacy.ledger import OF_CHOICES
from privcurve.privacy.seeds import OF_NUMBER

PAIR = cross_columns()


@dataclass
class Thing:
    first: int
    second: np.ndarray


def test_anything_becomes_numbers():
    assert numbers(np.array([[1, 2], [3, 4]])).tolist() == [1, 2, 3, 4]
    assert numbers(True).tolist() == [1]
    assert numbers(None).tolist() == []
    assert numbers(Thing(5, np.array([6.5]))).tolist() == [2, 5, 6.5]
    assert numbers((1, (2,))).tolist() == [2, 1, 1, 2]
    assert len(numbers({"a": 1})) == 3
    assert numbers("a") != numbers("b")
    with pytest.raises(TypeError, match="can't read an attribute of type object"):
        numbers(object())


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (0.0, -0.0),
        (1, 1.0),
        (np.zeros((2, 0)), np.zeros((3, 0))),
        (np.float32([1]), np.float64([1])),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        ((1, (2,)), (1, [2])),
        (Thing(1, np.zeros(2)), Thing(1, -np.zeros(2))),
        ([1, None], [1]),
    ],
)
def test_states_that_differ_in_a_bit_are_different(one, other):
    assert not is_same(one, other)
    assert is_same(one, copy.deepcopy(one))
    assert is_same(float("nan"), float("nan"))


def test_states_of_unequal_length_are_filled_up():
    short = States.gather([{"a": np.array([1.0])}])
    long = States.gather([{"a": np.array([1.0, 2.0]), "b": np.array([3.0])}])
    assert short.widen(long)["a"].tolist() == [[1, ABSENT]]
    assert short.widen(long)["b"].tolist() == [[ABSENT]]
    assert long.widen(short)["a"].tolist() == [[1, 2]]


def test_a_state_is_all_that_a_fit_leaves():
    learner = OneRuleClassifier(n_bins=[2, 2], classes=(-1, 1))
    states = sample_states(learner, PAIR, PAIR.left, 5, np.random.default_rng(3))
    rng = np.random.default_rng(3)
    side = PAIR.left
    fitted = learner.fit_records(side, [{}] * 5, [Curator(rng) for _ in range(5)])
    assert states.columns["chosen_"].ravel().tolist() == [m.chosen_[0] for m in fitted]
    expected = [m.decision_function(PAIR.canaries) @ PAIR.labels for m in fitted]
    assert states.columns[SCORE].ravel().tolist() == expected
    left = {name for m in fitted for name in vars(m)} - set(learner.get_params())
    assert left | {SCORE} == set(states.columns)


# Many fits at once ----------------------------------------------------------------------

COMMON = {"n_bins": [2, 3], "classes": (-1, 1), "epsilon": 2.0}
RNG = np.random.default_rng(8)
CODES = RNG.integers(0, [2, 3], (12, 2))
SIGNS = RNG.choice([-1, 1], 12)
COUNTS = [1, *RNG.integers(1, 4, 11)]
SIDE = records(CODES, SIGNS, COMMON["n_bins"], COUNTS)
OTHER = records(CODES, [-SIGNS[0], *SIGNS[1:]], COMMON["n_bins"], COUNTS)
DRAWN = Pair("tiny", "drawn", SIDE, OTHER)

TREES = TopDownTreeClassifier(depth=2, **COMMON)
BOOSTED = LazyBBClassifier(weak_learner="topdown", depth=1, n_rounds=2, **COMMON)
LEARNERS = [
    TREES,
    BOOSTED,
    OneRuleClassifier(**COMMON),
    DPLogisticRegressionClassifier(C=0.1, **COMMON),
]


def plainly(learner, n, side=SIDE):
    rng = np.random.default_rng(3)
    return learner.fit_records(side, [{}] * n, [Curator(rng) for _ in range(n)])


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: type(learner).__name__)
def test_scores_match_a_fit(learner, monkeypatch):
    monkeypatch.setattr("privcurve.audit.fits.BATCH", 4)
    signs = [SIDE.labels[0], -OTHER.labels[0]]
    expected = [model.decision_function(DRAWN.canaries) @ signs for model in plainly(learner, 10)]
    scores = sample_canary_scores(learner, DRAWN, SIDE, 10, np.random.default_rng(3))
    assert scores.tolist() == expected
    assert len(set(expected)) > 1


@pytest.mark.parametrize("added", [True, False], ids=["added", "removed"])
def test_an_added_record_of_many_classes_has_the_score_of_its_class(added):
    """The score is of the record's class: positive if the left table has it, else negative."""
    few, many = (records([[1]] * n, [2] * n, (3,)) for n in (4, 5))
    left, right = (few, many) if added else (many, few)
    pair = Pair("tiny", "one more", left, right, ADD_REMOVE)

    class Model:
        def _scores(self, codes):
            assert codes.tolist() == [[1]]
            return np.array([[0.1, 0.2, 0.7]])

    assert canary_score(Model(), pair) == pytest.approx(-0.7 if added else 0.7)


def test_fits_are_apart():
    models = list(fits(TREES, SIDE, 5, np.random.default_rng(3)))
    for model, expected in zip(models, plainly(TREES, 5), strict=True):
        assert np.array_equal(model.model_.forest.labels, expected.model_.forest.labels)
        # Audit fits open the records, so their statements must not say `sealed`.
        assert expected.privacy_.sealed
        result = replace(model.privacy_, sealed=True)
        assert result.of_fit(OF_NUMBER, [OF_CHOICES]) == expected.privacy_
    assert not hasattr(TREES, "model_")


# Views -----------------------------------------------------------------------------------


def states_of_draws(make, n=400):
    """Return the states of `n` fits, each with the numbers ``make(rng)``."""
    rng = np.random.default_rng(4)
    return States.gather([{"x": np.atleast_1d(make(rng)).astype(float)} for _ in range(n)])


def difference(left, right):
    def sample(pair, side, n, rng):
        return left if side is PAIR.left else right

    return search_sampled([PAIR], sample, 400, 1.0, 0.0, np.random.default_rng(0), 1)


def test_shared_noise_shows_in_a_difference():
    def noisy(a, b):
        return lambda rng: np.array([a, b]) + rng.laplace(scale=100)

    assert not difference(states_of_draws(noisy(0, 1)), states_of_draws(noisy(0, 1))).violated
    assert difference(states_of_draws(noisy(0, 1)), states_of_draws(noisy(1, 0))).violated
    assert (
        "x[0] less x[1]"
        in views(states_of_draws(noisy(0, 1)), states_of_draws(noisy(1, 0)), 100)[2]
    )


def test_noise_of_single_precision_shows():
    def noisy(true):
        return lambda rng: true + np.float64(np.float32(rng.laplace(scale=100)))

    assert not difference(states_of_draws(noisy(0.1)), states_of_draws(noisy(0.1))).violated
    assert difference(states_of_draws(noisy(0.1)), states_of_draws(noisy(0.0))).violated
    double = [states_of_draws(lambda rng, v=v: v + rng.laplace(scale=100)) for v in (0.1, 0.0)]
    assert not difference(*double).violated


def test_sides_are_compared_equally_if_one_has_only_integers():
    noisy, counted = (lambda rng: [rng.normal()]), (lambda rng: [rng.integers(0, 2)])
    for sides in (
        (states_of_draws(noisy), states_of_draws(counted)),
        (states_of_draws(counted), states_of_draws(noisy)),
    ):
        left, right, names = views(*sides, 100)
        assert "sum of x" in names
        assert left.shape[1] == right.shape[1] == len(names)


def test_many_small_hints_add_up():
    """Each number alone shows little; the likelihood ratio of all shows the difference."""

    def noisy(sign):
        return lambda rng: sign * 0.5 + rng.normal(size=40)

    assert difference(states_of_draws(noisy(1)), states_of_draws(noisy(-1))).violated


def test_constant_numbers_are_left_out():
    left = states_of_draws(lambda rng: [7.0, rng.random()])
    _, _, names = views(left, left, 100)
    assert "x[0]" not in names
    assert "x[1]" in names
    constant = states_of_draws(lambda rng: [7.0])
    assert views(constant, constant, 100)[2] == ["nothing that ever changes"]


# Relations of neighbours ------------------------------------------------------------------


def open_pairs(claim, target):
    return [PAIR]


TRIED = {"sample": sample_states, "n_trainings": 2, "stated": PRIVATE_COLUMNS}


def test_pairs_of_another_relation_are_refused():
    c = Claim("brc", PROVED, 1.0, open_pairs, neighbours=PRIVATE_COLUMNS, **TRIED)
    with pytest.raises(ValueError, match="must be of private-columns neighbours; got replace-one"):
        run([c], None, 0, 1)


def test_a_statement_of_another_relation_is_refused():
    c = Claim("one_rule", PROVED, 1.0, open_pairs, **TRIED)
    with pytest.raises(ValueError, match="for replace-one neighbours; the audit"):
        c.statement(records([[0, 0]], [1], [2, 2]))
