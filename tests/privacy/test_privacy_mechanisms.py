"""Mechanisms do what their guarantees say.

Statistical tests use fixed seeds; had the seed been drawn afresh, each would fail by
chance with the probability given in `FALSE_ALARM`.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from privcurve.privacy.accountants import compose as composition
from privcurve.privacy.mechanisms import (
    ExponentialMechanism,
    GaussianMechanism,
    LaplaceMechanism,
    NoisyLabel,
    PermuteAndFlip,
    ReportNoisyMax,
    exponential_probabilities,
    permute_and_flip_probabilities,
    score_range,
)

FALSE_ALARM = 1e-6

score_lists = st.lists(st.floats(-3, 3), min_size=1, max_size=6)
rates = st.floats(0.01, 20)


def by_permutations(scores: list[float], rate: float) -> np.ndarray:
    """Permute-and-flip as defined: flip coins in a random order, again if all fail."""
    chances = np.exp(rate * (np.array(scores) - max(scores)))
    found = np.zeros(len(scores))
    orders = list(itertools.permutations(range(len(scores))))
    for order in orders:
        left = 1.0
        for i in order:
            found[i] += left * chances[i]
            left *= 1 - chances[i]
    # The best candidate's coin always shows heads: no order needs a second pass.
    return found / len(orders)


@given(score_lists, rates)
@settings(max_examples=60, deadline=None, derandomize=True)
def test_permute_and_flip_probabilities_follow_the_definition(
    scores: list[float], rate: float
) -> None:
    assert permute_and_flip_probabilities(scores, rate) == pytest.approx(
        by_permutations(scores, rate), abs=1e-12
    )


def test_probabilities_of_many_candidates_add_up() -> None:
    scores = np.random.default_rng(3).random(300)
    for rate in (0.0, 5.0, 1000.0, math.inf):
        for function in (exponential_probabilities, permute_and_flip_probabilities):
            assert function(scores, rate).sum() == pytest.approx(1, abs=1e-10)


def test_ties_at_infinite_rate_are_broken_evenly() -> None:
    for function in (exponential_probabilities, permute_and_flip_probabilities):
        assert function([1.0, 0.0, 1.0], math.inf) == pytest.approx([0.5, 0, 0.5])
    rng = np.random.default_rng(5)
    for kind in (ExponentialMechanism, PermuteAndFlip, ReportNoisyMax):
        drawn = {kind(math.inf, 1.0).sample([1.0, 0.0, 1.0], rng) for _ in range(60)}
        assert drawn == {0, 2}  # fails by chance with probability 2^-59


@given(st.lists(st.tuples(st.floats(-3, 3), st.floats(-1, 1)), min_size=2, max_size=6), rates)
@settings(max_examples=150, deadline=None, derandomize=True)
def test_selections_keep_their_guarantees(pairs: list[tuple[float, float]], rate: float) -> None:
    before = np.array([a for a, _ in pairs])
    after = before + np.array([change for _, change in pairs])
    width = max(float(np.ptp(after - before)), 1e-3)
    exponential = ExponentialMechanism(rate, width).guarantee
    loss = np.log(exponential_probabilities(before, rate)) - np.log(
        exponential_probabilities(after, rate)
    )
    assert exponential.bounded_range is not None
    assert np.ptp(loss) <= exponential.bounded_range + 1e-9
    assert np.abs(loss).max() <= exponential.epsilon + 1e-9
    flip = np.log(permute_and_flip_probabilities(before, rate)) - np.log(
        permute_and_flip_probabilities(after, rate)
    )
    assert np.abs(flip).max() <= PermuteAndFlip(rate, width).guarantee.epsilon + 1e-7


@given(score_lists, rates)
@settings(max_examples=60, deadline=None, derandomize=True)
def test_permute_and_flip_is_never_worse(scores: list[float], rate: float) -> None:
    flip = permute_and_flip_probabilities(scores, rate) @ np.array(scores)
    assert flip >= exponential_probabilities(scores, rate) @ np.array(scores) - 1e-9


def test_permute_and_flip_is_not_bounded_range() -> None:
    # Worst cell of two candidates: a lead of ε turns round, scores change over a range ε.
    epsilon = 0.2
    widest = 0.0
    for start in np.linspace(-3, 3, 121):
        a = permute_and_flip_probabilities([start, 0.0, 0.0], 1.0)
        b = permute_and_flip_probabilities([start + epsilon, 0.0, epsilon], 1.0)
        widest = max(widest, np.ptp(np.log(a / b)))
    assert widest > epsilon * 1.05
    assert PermuteAndFlip(1.0, epsilon).guarantee.bounded_range is None


def test_score_range() -> None:
    assert score_range(3.0) == score_range(3.0, "replace-one", monotone=True) == 6
    assert score_range(3.0, "add-remove") == 6
    assert score_range(3.0, "add-remove", monotone=True) == 3
    with pytest.raises(ValueError, match="neighbours"):
        score_range(1.0, "twins")


@pytest.mark.parametrize("kind", [ExponentialMechanism, PermuteAndFlip, ReportNoisyMax])
def test_samples_follow_the_probabilities(kind) -> None:
    if kind is ReportNoisyMax:
        # The difference of two Laplace variables exceeds g with probability e^-g (2 + g)/4.
        scores, rate = [0.0, 0.4], 2.0
        lower = math.exp(-0.8) * 2.8 / 4
        expected = np.array([lower, 1 - lower])
    else:
        scores, rate = [0.0, 0.4, 0.3, -1.0], 2.0
        exact = {
            ExponentialMechanism: exponential_probabilities,
            PermuteAndFlip: permute_and_flip_probabilities,
        }[kind]
        expected = exact(scores, rate)
    rng = np.random.default_rng(11)
    mechanism = kind(rate, 1.0)
    drawn = np.bincount(
        [mechanism.sample(scores, rng) for _ in range(20_000)], minlength=len(scores)
    )
    assert stats.chisquare(drawn, expected * drawn.sum()).pvalue > FALSE_ALARM


def test_noise_has_its_scale() -> None:
    rng = np.random.default_rng(13)
    laplace = LaplaceMechanism.for_epsilon(0.5, sensitivity=2.0)
    assert laplace.scale == 4
    assert laplace.guarantee.epsilon == 0.5
    noise = laplace.sample(np.zeros(20_000), rng)
    assert stats.kstest(noise, stats.laplace(scale=4).cdf).pvalue > FALSE_ALARM
    noise = GaussianMechanism(3.0, 1.0).sample(np.zeros(20_000), rng)
    assert stats.kstest(noise, stats.norm(scale=3).cdf).pvalue > FALSE_ALARM


@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-9), (1.0, 1e-5), (20.0, 1e-3)])
def test_gaussian_calibration_is_analytic(epsilon: float, delta: float) -> None:
    mechanism = GaussianMechanism.for_budget(epsilon, delta, sensitivity=2.0)
    mu = 2.0 / mechanism.sigma
    exact = stats.norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * stats.norm.cdf(
        -mu / 2 - epsilon / mu
    )
    assert exact == pytest.approx(delta, rel=1e-6)
    assert mechanism.guarantee.rho == pytest.approx(mu**2 / 2)
    assert mechanism.guarantee.epsilon == math.inf


def test_gaussian_gain_over_laplace_for_brc() -> None:
    # §d: 2.21 times less noise (standard deviation) at T = 25, ε = 0.16, δ = 1e-5.
    rounds, epsilon = 25, 0.16
    laplace = math.sqrt(2) * rounds / epsilon
    gaussian = GaussianMechanism.for_budget(epsilon, 1e-5, math.sqrt(rounds)).sigma
    assert laplace / gaussian == pytest.approx(2.21, rel=0.03)


def test_noisy_labels_are_bounded_range_over_all_leaves() -> None:
    mechanism = NoisyLabel.for_epsilon(0.8, sensitivity=2.0)
    widest = 0.0
    for margins in itertools.product(range(-3, 4), repeat=2):
        for move in ([2, 0], [-2, 0], [1, -1], [1, 1], [-1, -1]):
            changed = np.array(margins) + move
            a, b = mechanism.probabilities(margins), mechanism.probabilities(changed)
            losses = [
                sum(
                    math.log(p / q) if label else math.log((1 - p) / (1 - q))
                    for label, p, q in zip(labels, a, b, strict=True)
                )
                for labels in itertools.product((0, 1), repeat=2)
            ]
            widest = max(widest, max(losses) - min(losses))
    assert mechanism.guarantee.bounded_range == pytest.approx(0.8)
    assert widest == pytest.approx(0.8)
    rng = np.random.default_rng(17)
    labels = mechanism.sample(np.full(20_000, 3.0), rng)
    chance = float(mechanism.probabilities(3.0))
    assert chance == pytest.approx(1 / (1 + math.exp(-1.2)))
    assert set(labels) == {-1, 1}
    assert stats.binomtest(int((labels > 0).sum()), 20_000, chance).pvalue > FALSE_ALARM


def test_counts_in_parallel_cost_twice_for_a_moved_record() -> None:
    # §0, L4: counts + Lap(1/ε), output (−3, 9), counts (1, 5) against (0, 6).
    epsilon = 0.7
    noise = stats.laplace(scale=1 / epsilon)
    loss = sum(
        noise.logpdf(out - a) - noise.logpdf(out - b) for out, a, b in ((-3, 0, 1), (9, 6, 5))
    )
    assert loss == pytest.approx(composition.parallel([epsilon, epsilon], "replace-one"))
    assert composition.parallel([0.2, epsilon], "add-remove") == epsilon
    with pytest.raises(ValueError, match="twins"):
        composition.parallel([1.0], "twins")


@pytest.mark.parametrize("scores", [[], [[1.0, 2.0]]])
def test_scores_must_be_a_list_of_numbers(scores) -> None:
    with pytest.raises(ValueError, match="one-dimensional"):
        exponential_probabilities(scores, 1.0)


def test_rates_must_be_positive() -> None:
    with pytest.raises(ValueError, match="above 0"):
        ExponentialMechanism(0.0, 1.0)
