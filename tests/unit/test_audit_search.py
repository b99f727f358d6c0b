"""Exact ε and δ, Clopper–Pearson bounds, and the search over samples."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from privcurve.audit.bounds import clopper_pearson, epsilon_from_counts, exact_delta, exact_epsilon
from privcurve.audit.pairs import flipped_constant
from privcurve.audit.search import choose_event, search_exact, search_losses, search_sampled

PAIR = flipped_constant(4)


def by_events(p, q, delta):
    """Return the smallest ε, by trying every event."""
    worst = 0.0
    for size in range(1, len(p) + 1):
        for event in itertools.combinations(range(len(p)), size):
            for one, other in ((p, q), (q, p)):
                above, below = one[list(event)].sum() - delta, other[list(event)].sum()
                if above > 1e-15:
                    worst = max(worst, math.log(above / below) if below else math.inf)
    return worst


@pytest.mark.parametrize("delta", [0.0, 1e-3, 0.1, 0.5])
@pytest.mark.parametrize("seed", range(5))
def test_exact_epsilon_is_the_worst_of_all_events(seed, delta):
    rng = np.random.default_rng(seed)
    p, q = rng.dirichlet(np.full(7, 0.5), size=2)
    assert exact_epsilon(p, q, delta) == pytest.approx(by_events(p, q, delta), rel=1e-9)


@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_delta_and_epsilon_are_inverse(epsilon):
    p, q = np.random.default_rng(1).dirichlet(np.ones(9), size=2)
    delta = exact_delta(p, q, epsilon)
    assert delta > 0
    assert exact_epsilon(p, q, delta) == pytest.approx(epsilon, rel=1e-9)


def test_an_outcome_of_only_one_side():
    p, q = [0.9, 0.1, 0.0], [1.0, 0.0, 0.0]
    assert exact_epsilon(p, q) == math.inf
    assert exact_epsilon(p, q, 0.1) == 0.0
    assert exact_epsilon(p, q, 0.05) == math.inf
    assert exact_delta(p, q, 5.0) == pytest.approx(0.1)
    assert exact_epsilon(q, q) == 0.0


@pytest.mark.parametrize("hits", [0, 1, 17, 99, 100])
def test_clopper_pearson_is_scipys(hits):
    lower, upper = clopper_pearson(hits, 100, 0.025)
    expected = stats.binomtest(hits, 100).proportion_ci(0.95, "exact")
    assert (float(lower), float(upper)) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_epsilon_from_counts_shares_the_error_and_takes_delta_off():
    lower = stats.binomtest(500, 1000).proportion_ci(0.95, "exact").low
    upper = stats.binomtest(100, 1000).proportion_ci(0.95, "exact").high
    for delta in (0.0, 0.2):
        # 95 % two-sided is 2.5 % per side: half of the error of 5 %.
        bound = float(epsilon_from_counts(500, 100, 1000, delta, 0.05))
        assert bound == pytest.approx(math.log((lower - delta) / upper))
    assert float(epsilon_from_counts(0, 5, 1000, 0.0, 0.05)) == -math.inf
    assert float(epsilon_from_counts(10, 0, 1000, 0.5, 0.05)) == -math.inf


# Searches ----------------------------------------------------------------------------------


def positive(side):
    return (side.labels > 0).all()


def response(epsilon):
    """Randomised response on whether all labels are positive; its exact ε is `epsilon`."""
    truth = math.exp(epsilon) / (1 + math.exp(epsilon))

    def distribution(side):
        return np.array([truth, 1 - truth] if positive(side) else [1 - truth, truth])

    def sample(pair, side, n, rng):
        return rng.choice(2, size=n, p=distribution(side))

    return distribution, sample


def laplace(scale):
    def sample(pair, side, n, rng):
        return rng.laplace(loc=float(positive(side)), scale=scale, size=n)

    return sample


def test_exact_search_names_the_worst_pair():
    distribution, _ = response(0.7)
    bound = search_exact([flipped_constant(3), PAIR], distribution, 0.7, 0.0)
    assert bound.epsilon == pytest.approx(0.7)
    assert not bound.violated
    assert bound.n_pairs == 2
    assert bound.pair.left.n == 3  # the first of equal events
    assert search_exact([PAIR], distribution, 0.69, 0.0).violated


def test_sampled_bounds_are_honest():
    """At most 30 of 300 bounds at 95 % exceed the exact ε; false alarm below 1e-3."""
    _, sample = response(1.0)
    rng = np.random.default_rng(0)
    bounds = [search_sampled([PAIR], sample, 400, 1.0, 0.0, rng, 1) for _ in range(300)]
    assert sum(f.epsilon > 1.0 for f in bounds) <= 30
    assert not any(f.violated for f in bounds)  # each has a probability of 1e-4


@pytest.mark.parametrize("delta", [0.0, 0.05])
def test_sampled_bound_comes_near_the_truth_and_flags_a_smaller_claim(delta):
    _, sample = response(1.0)
    rng = np.random.default_rng(1)
    bound = search_sampled([PAIR], sample, 100_000, 0.7, delta, rng, 1)
    truth = math.log((math.e / (1 + math.e) - delta) * (1 + math.e))
    assert truth - 0.05 < bound.epsilon < truth
    assert bound.violated
    assert math.isnan(bound.delta)


def test_scores_are_thresholded_on_either_tail():
    rng = np.random.default_rng(2)
    bound = search_sampled([PAIR], laplace(1.0), 50_000, 1.0, 0.0, rng, 1)
    assert 0.85 < bound.epsilon < 1.0
    assert not bound.violated
    assert bound.event.startswith("score")


def of_first_pair(epsilon):
    """Randomised response on one pair; a constant outcome on all others."""
    _, sample = response(epsilon)

    def only_first(pair, side, n, rng):
        return sample(pair, side, n, rng) if pair is PAIR else np.zeros(n, dtype=int)

    return only_first


def test_more_pairs_need_more_certainty():
    only_first = of_first_pair(1.0)
    alone = search_sampled([PAIR], only_first, 4000, 1.0, 0.0, np.random.default_rng(3), 1)
    many = [PAIR, *[flipped_constant(2)] * 9]
    together = search_sampled(many, only_first, 4000, 1.0, 0.0, np.random.default_rng(3), 10)
    assert together.event == alone.event
    assert together.epsilon < alone.epsilon


def test_an_event_is_a_set_of_outcomes_of_large_ratio():
    left = np.repeat([5, 6, 7, 8], [400, 300, 200, 100])
    right = np.repeat([5, 6, 7, 8], [100, 200, 300, 400])
    event = choose_event(left, right, 0.0)
    chosen = event.holds(np.array([5, 6, 7, 8]))
    assert chosen.tolist() in ([True, False, False, False], [False, False, False, True])
    assert event.forward == chosen[0]


def test_losses_are_certain_lower_bounds():
    bound = search_losses(
        [flipped_constant(3), PAIR, flipped_constant(2)], lambda p: min(p.left.n, 3), 2.9
    )
    assert bound.epsilon == 3
    assert bound.violated
    assert math.isnan(bound.delta)
    # The first of equal pairs.
    assert (bound.n_pairs, bound.pair.left.n) == (3, 3)
    assert not search_losses([PAIR], lambda pair: 2.0, 2.0).violated


def test_trainings_that_choose_an_event_do_not_bound_it():
    """An event that occurs only in the trainings that choose the event shows nothing."""

    def half(is_first):
        def sample(pair, side, n, rng):
            return np.where(((np.arange(n) < n // 2) == is_first) & positive(side), 1, 0)

        return search_sampled([PAIR], sample, 4000, 0.5, 0.0, np.random.default_rng(0), 1)

    assert half(True).epsilon < 0
    assert not half(True).violated
    # An event that occurs only in the trainings that bound ε was not searched for.
    assert half(False).epsilon < 0.1


def test_a_violation_on_one_pair_counts_whatever_other_pairs_show():
    only_first = of_first_pair(3.0)
    for pairs in ([PAIR, flipped_constant(2)], [flipped_constant(2), PAIR]):
        bound = search_sampled(pairs, only_first, 4000, 1.0, 0.0, np.random.default_rng(1), 2)
        assert bound.violated
        assert bound.pair is PAIR


def test_no_pairs():
    for search, more in (
        (search_exact, (1.0, 0.0)),
        (search_losses, (1.0,)),
        (search_sampled, (10, 1.0, 0.0, np.random.default_rng(0), 1)),
    ):
        with pytest.raises(ValueError, match="no pairs"):
            search([], None, *more)
