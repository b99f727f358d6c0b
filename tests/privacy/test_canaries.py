"""Label canaries: the bound is sound, and shows too little noise in few fits, also for peers."""

import math

import numpy as np
import pytest
from mistakes_any import replacement_of
from scipy.stats import binom

from privcurve.audit.attacks.all import ATTACKS, COMPARISONS
from privcurve.audit.attacks.any_learner import claim_by_canaries
from privcurve.audit.canaries import CANARIES, Guesses, canary_tables, most_refuted
from privcurve.audit.pairs import Target, check_pair, records
from privcurve.audit.run import STANDS, VIOLATED, run
from privcurve.learners import registry
from privcurve.privacy.budget import ADD_REMOVE, REPLACE_ONE
from privcurve.privacy.curator import Curator

NO_TARGET = Target("none", records([[0]], [1], [2]))


def row(claim):
    return run([claim], NO_TARGET, 7, COMPARISONS).iloc[0]


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_guesses_of_randomised_response_refute_its_epsilon_at_the_stated_rate(epsilon):
    """Randomised response attains the bound up to the rounding to integers."""
    q, n, error = 1 / (1 + math.exp(-epsilon)), 400, 0.05
    refuted = [Guesses(n, n, k).p_value(epsilon, 0.0) <= error for k in range(n + 1)]
    chance = binom(n, q).pmf(np.arange(n + 1))[refuted].sum()
    assert 0.5 * error < chance <= error
    first = refuted.index(True)
    assert Guesses(n, n, first - 1).refuted_epsilon(0.0, error) < epsilon
    assert Guesses(n, n, first).refuted_epsilon(0.0, error) >= epsilon


@pytest.mark.parametrize("delta", [1e-6, 1e-3])
@pytest.mark.parametrize("n_right", [10, 14, 20])
def test_a_fit_that_gives_all_away_with_probability_delta_is_within_the_bound(delta, n_right):
    """A sound (ε, δ)-private fit: randomised response, and with probability δ all labels."""
    q = 1 / (1 + math.exp(-1.0))
    tail = float(binom(20, q).sf(n_right - 1))
    p = Guesses(20, 20, n_right).p_value(1.0, delta)
    assert p >= (1 - delta) * tail + delta
    assert p <= tail + 40 * delta


def test_the_p_value_matches_the_paper():
    """Steinke, Nasr and Jagielski 2023, Appendix D, as in the paper."""
    m, r, v, epsilon, delta = 60, 40, 33, 0.7, 1e-4
    q = 1 / (1 + math.exp(-epsilon))
    beta, alpha, total = float(binom.sf(v - 1, r, q)), 0.0, 0.0
    for i in range(1, v + 1):
        total += float(binom.pmf(v - i, r, q))
        alpha = max(alpha, total / i)
    expected = beta + alpha * delta * 2 * m
    assert Guesses(m, r, v).p_value(epsilon, delta) == pytest.approx(expected, rel=1e-9)


def test_guesses_that_say_nothing_refute_nothing():
    assert Guesses(250, 0, 0).refuted_epsilon(0.0, 0.05) == 0.0
    assert Guesses(250, 100, 51).refuted_epsilon(0.0, 0.05) == 0.0
    assert Guesses(250, 100, 100).refuted_epsilon(0.0, 0.05) > 3
    # More fits refute a larger ε.
    assert 1 < most_refuted(1, 0.0, 1e-6) < most_refuted(20, 0.0, 1e-6)


@pytest.mark.parametrize("relation", [REPLACE_ONE, ADD_REMOVE])
def test_the_tables_differ_in_one_canary(relation):
    (pair,) = canary_tables(relation)
    check_pair(pair)
    assert pair.neighbours == relation
    assert len(np.unique(pair.right.codes)) == CANARIES


def test_half_of_the_noise_of_naive_bayes_is_found_in_a_second(monkeypatch):
    sound = row(claim_by_canaries("noisy_bayes", "proved", {}))
    assert (sound["verdict"], sound["method"]) == (STANDS, "canaries")
    assert 0.5 < sound["found_epsilon"] <= 1
    assert sound["n_records"] == CANARIES
    assert "guesses of 5000 coins are right" in sound["event"]
    half = replacement_of(Curator, "_numbers")
    half(lambda original, self, call, exact: (original(self, call, exact) + exact) / 2)(monkeypatch)
    broken = row(claim_by_canaries("noisy_bayes", "proved", {}))
    assert broken["verdict"] == VIOLATED
    assert broken["found_epsilon"] > 1.3


PEERS = [name for name in ATTACKS if registry.LEARNERS[name].peer]


@pytest.mark.slow
@pytest.mark.parametrize("learner", PEERS)
def test_a_peer_is_not_refuted(learner):
    if missing := registry.missing_package(learner):
        pytest.skip(missing)
    (claim,) = ATTACKS[learner]
    assert row(claim)["verdict"] != VIOLATED


@pytest.mark.slow
@pytest.mark.parametrize("learner", ["dpl_decision_tree", "dpl_random_forest"])
def test_a_peer_that_spends_more_than_it_says_is_found(monkeypatch, learner):
    (claim,) = ATTACKS[learner]
    model = replacement_of(registry.estimator_class(learner), "_model")
    model(lambda original, self, **more: original(self, **{**more, "epsilon": 100.0}))(monkeypatch)
    broken = row(claim)
    assert broken["verdict"] == VIOLATED
    assert broken["found_epsilon"] > 1.3
