"""Exact samplers: the distributions of their integers, without any other input."""

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import chisquare, norm

from privcurve.privacy.discrete import choose, coin_e, discrete_laplace, rounded_gaussian
from privcurve.privacy.mechanisms import LARGEST_SCALE, MECHANISMS

# This file has 20 tests of fit: correct samplers pass all of them, except in one of 10^4 runs.
ALARM = 1e-6
N = 60_000


def fits(drawn, values, chances):
    """Return whether drawn numbers have these probabilities; rare values are merged."""
    counts = np.array([(drawn == value).sum() for value in values])
    expected = chances * len(drawn)
    often = expected >= 8
    counts = np.append(counts[often], len(drawn) - counts[often].sum())
    expected = np.append(expected[often], len(drawn) - expected[often].sum())
    if expected[-1] < 1:
        counts, expected = counts[:-1], expected[:-1] * counts[:-1].sum() / expected[:-1].sum()
    return chisquare(counts, expected).pvalue > ALARM


@pytest.mark.parametrize("scale", [1, 2, 7])
def test_rounded_gaussian_is_the_floor_of_a_real_one(scale):
    drawn = rounded_gaussian(np.random.default_rng(scale), scale, N)
    values = np.arange(-6 * scale, 6 * scale)
    chances = norm.cdf((values + 1) / scale) - norm.cdf(values / scale)
    assert fits(drawn, values, chances)
    # The discrete Gaussian, for which the exact profile is not proved, has another distribution.
    other = np.exp(-(values**2) / (2 * scale**2))
    assert scale > 2 or not fits(drawn, values, other / other.sum())


@pytest.mark.parametrize("scale", [1, 3])
def test_discrete_laplace(scale):
    drawn = discrete_laplace(np.random.default_rng(scale), scale, N)
    values = np.arange(-12 * scale, 12 * scale + 1)
    assert fits(drawn, values, np.exp(-np.abs(values) / scale) * np.tanh(0.5 / scale))


def test_large_scales():
    rng = np.random.default_rng(5)
    for scale in (2**30 + 7, LARGEST_SCALE):
        gaussian = rounded_gaussian(rng, scale, 20_000) / scale
        laplace = discrete_laplace(rng, scale, 20_000) / scale
        # Five standard errors: 1/√(2n) for a Gaussian's deviation, √5/√(4n) for a Laplace number's.
        # False alarm: 6·10⁻⁷ each.
        assert gaussian.std() == pytest.approx(1, abs=5 / np.sqrt(40_000))
        assert laplace.std() == pytest.approx(np.sqrt(2), abs=5 * np.sqrt(2.5 / 20_000))
        assert gaussian.mean() == pytest.approx(0, abs=5 / np.sqrt(20_000))
        assert fits(
            np.floor(norm.cdf(gaussian) * 20).astype(int), np.arange(20), np.full(20, 1 / 20)
        )


def test_coins():
    rng = np.random.default_rng(0)
    # Five standard errors: false alarm 6·10⁻⁷.
    for a, b in ((0, 3), (1, 3), (3, 3)):
        heads = sum(coin_e(rng, a, b) for _ in range(20_000))
        assert abs(heads / 20_000 - np.exp(-a / b)) < 5 * 0.5 / np.sqrt(20_000)


@pytest.mark.parametrize(("name", "flip"), [("permute_and_flip", True), ("exponential", False)])
def test_choices_have_the_chances_of_their_mechanism(name, flip):
    rng = np.random.default_rng(1)
    scores = np.array([5, 3, 0, 4, 5])
    drawn = np.array([choose(rng, scores, 2, flip) for _ in range(20_000)])
    assert fits(drawn, np.arange(5), MECHANISMS[name].probabilities(scores, 0.5))
    assert choose(rng, np.array([0, 10**15]), 1, flip) == 1


@pytest.mark.parametrize(("name", "flip"), [("permute_and_flip", True), ("exponential", False)])
@pytest.mark.parametrize("scale", [3, 2**33 - 1, 2**33 + 5])
def test_choices_have_their_chances_at_large_scales_and_gaps_of_several_scales(name, flip, scale):
    """Gaps of 0 to 5 scales, whole and broken, and one of 10^4 scales that never wins."""
    rng = np.random.default_rng(scale)
    gaps = np.array([0, scale, 2 * scale - 1, 3 * scale + scale // 2, 5 * scale, 10**4 * scale])
    scores = 2**60 - gaps
    drawn = np.array([choose(rng, scores, scale, flip) for _ in range(20_000)])
    chances = MECHANISMS[name].probabilities(-gaps.astype(float), 1 / scale)
    assert fits(drawn, np.arange(6), chances)
    assert (drawn != 5).all()


def test_the_generator_decides_and_moves_on():
    rngs = [np.random.default_rng(3) for _ in range(2)]
    first, again = (rounded_gaussian(rng, 1000, 20) for rng in rngs)
    assert np.array_equal(first, again)
    assert rngs[0].random() == rngs[1].random()
    assert not np.array_equal(rounded_gaussian(rngs[0], 1000, 20), first)


@pytest.mark.parametrize("scale", [1, 2, 5, 40])
@pytest.mark.parametrize("order", [1.01, 1.5, 2.0, 8.0, 64.0])
def test_discrete_laplace_has_the_renyi_divergence_of_laplace_and_a_third_of_the_unit_squared(
    scale, order
):
    """docs/proofs.md, 'Floating point', F1: ρ = ε + e^−ε − 1 + 1/(3·scale²) for ε scales."""
    values = np.arange(-60 * scale, 61 * scale)
    for shift in (1, 2, scale, 3 * scale, 12 * scale):
        logs = [-np.abs(values - center) / scale for center in (0, shift)]
        logs = [log - logsumexp(log) for log in logs]
        divergence = logsumexp(order * logs[0] + (1 - order) * logs[1]) / (order - 1)
        epsilon = shift / scale
        rho = epsilon + np.expm1(-epsilon) + 1 / (3 * scale**2)
        assert divergence <= order * rho * (1 + 1e-9)
