"""The search over samples: honest bounds, sensible events, stable results."""

import math

import numpy as np
import pytest

from privcurve.audit.pairs import flipped_constant
from privcurve.audit.search import (
    choose_event,
    search_exact,
    search_losses,
    search_sampled,
)

PAIR = flipped_constant(4)


def positive(side):
    return (side.labels > 0).all()


def response(epsilon):
    """Randomised response on whether all labels are positive; its true ε is `epsilon`."""
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
    found = search_exact([flipped_constant(3), PAIR], distribution, 0.7, 0.0)
    assert found.epsilon == pytest.approx(0.7)
    assert not found.violated
    assert found.n_pairs == 2
    assert found.pair.left.n == 3  # the first of equals
    assert search_exact([PAIR], distribution, 0.69, 0.0).violated


def test_sampled_bounds_are_honest():
    """Of 300 bounds at 95 %, at most 30 above the truth: false alarm below 1e-3."""
    _, sample = response(1.0)
    rng = np.random.default_rng(0)
    found = [search_sampled([PAIR], sample, 400, 1.0, 0.0, rng, 1) for _ in range(300)]
    assert sum(f.epsilon > 1.0 for f in found) <= 30
    assert not any(f.violated for f in found)  # each with a chance of 1e-4


@pytest.mark.parametrize("delta", [0.0, 0.05])
def test_sampled_bound_comes_near_the_truth_and_flags_a_smaller_claim(delta):
    _, sample = response(1.0)
    rng = np.random.default_rng(1)
    found = search_sampled([PAIR], sample, 100_000, 0.7, delta, rng, 1)
    truth = math.log((math.e / (1 + math.e) - delta) * (1 + math.e))
    assert truth - 0.05 < found.epsilon < truth
    assert found.violated
    assert math.isnan(found.delta)


def test_scores_are_thresholded_on_either_tail():
    rng = np.random.default_rng(2)
    found = search_sampled([PAIR], laplace(1.0), 50_000, 1.0, 0.0, rng, 1)
    assert 0.85 < found.epsilon < 1.0
    assert not found.violated
    assert found.event.startswith("score")


def test_more_pairs_need_more_certainty():
    _, sample = response(1.0)
    alone = search_sampled([PAIR], sample, 4000, 1.0, 0.0, np.random.default_rng(3), 1)
    many = [PAIR, *[flipped_constant(2)] * 9]

    def only_first(pair, side, n, rng):
        return sample(pair, side, n, rng) if pair is PAIR else np.zeros(n, dtype=int)

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


def test_equal_sides_show_nothing():
    same = np.zeros(1000)
    event = choose_event(same, same, 0.0)
    assert event.holds(same).all()


def test_losses_bound_from_below_with_certainty():
    found = search_losses(
        [flipped_constant(3), PAIR, flipped_constant(2)], lambda p: min(p.left.n, 3), 2.9
    )
    assert found.epsilon == 3
    assert found.violated
    assert math.isnan(found.delta)
    # The first of equals.
    assert (found.n_pairs, found.pair.left.n) == (3, 3)
    assert not search_losses([PAIR], lambda pair: 2.0, 2.0).violated


def test_trainings_that_choose_an_event_do_not_bound_it():
    """What happens on one side among those that choose, and never again, shows nothing."""

    def first_half(pair, side, n, rng):
        return np.where((np.arange(n) < n // 2) & positive(side), 1, 0)

    found = search_sampled([PAIR], first_half, 4000, 0.5, 0.0, np.random.default_rng(0), 1)
    assert found.epsilon < 0
    assert not found.violated

    # And what happens among those that bound alone was not looked for.
    def second_half(pair, side, n, rng):
        return np.where((np.arange(n) >= n // 2) & positive(side), 1, 0)

    found = search_sampled([PAIR], second_half, 4000, 0.5, 0.0, np.random.default_rng(0), 1)
    assert found.epsilon < 0.1


def test_a_violation_on_one_pair_is_one_whatever_the_others_show():
    _, sample = response(3.0)

    def only_first(pair, side, n, rng):
        return sample(pair, side, n, rng) if pair is PAIR else np.zeros(n, dtype=int)

    for pairs in ([PAIR, flipped_constant(2)], [flipped_constant(2), PAIR]):
        found = search_sampled(pairs, only_first, 4000, 1.0, 0.0, np.random.default_rng(1), 2)
        assert found.violated
        assert found.pair is PAIR


def test_no_pairs():
    distribution, sample = response(1.0)
    with pytest.raises(ValueError, match="no pairs"):
        search_exact([], distribution, 1.0, 0.0)
    with pytest.raises(ValueError, match="no pairs"):
        search_losses([], lambda pair: 0.0, 1.0)
    with pytest.raises(ValueError, match="no pairs"):
        search_sampled([], sample, 10, 1.0, 0.0, np.random.default_rng(0), 1)
