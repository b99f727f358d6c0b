import itertools
import math

import lazybb_reference as reference
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privcurve.kernels.projection import fixed_point_bits, project


def measure(margins, density, learning_rate, n_votes):
    """Weights of single records, and κn times the largest normalised one."""
    correct = (np.asarray(margins) + n_votes) // 2
    histogram = np.bincount(correct, minlength=n_votes + 1).astype(np.int64)
    unit = 1 << fixed_point_bits(len(margins))
    weights = np.zeros(n_votes + 1, dtype=np.int64)
    largest = project(histogram, n_votes, density, learning_rate, unit, weights)
    return weights[correct] / unit, largest


@settings(max_examples=150)
@given(
    correct=st.lists(st.integers(0, 12), min_size=1, max_size=25),
    density=st.floats(0.05, 1),
    learning_rate=st.floats(0.01, 1),
)
def test_equals_the_projection_of_single_records(correct, density, learning_rate):
    margins = [2 * k - 12 for k in correct]
    projected, largest = measure(margins, density, learning_rate, 12)
    weights = [density * math.exp(-learning_rate * margin) for margin in margins]
    assert projected == pytest.approx(reference.project(weights, density), abs=1e-12)
    assert projected.max() <= 1
    assert projected.sum() >= density * len(margins) * (1 - 1e-12)
    assert largest <= 1 + 1e-9
    assert largest == pytest.approx(projected.max() / projected.sum() * density * len(margins))


def test_weights_above_one_are_capped_before_the_density_is_tested():
    # PRIVACY.md §a, edge cases: without the cap, or with the test on the uncapped sum,
    # record 1 gets 6 times what it may have.
    projected, largest = measure([-9, 9, 9, 9, 9, 9], 1.0, 1.0, 9)
    assert largest <= 1 + 1e-9
    assert projected == pytest.approx(np.ones(6))
    projected, largest = measure([-9, 9, 9, 9, 9, 9], 0.5, 1.0, 9)
    assert largest <= 1 + 1e-9
    assert projected == pytest.approx([1, 0.4, 0.4, 0.4, 0.4, 0.4])


@pytest.mark.parametrize("margin", [3000, -3000])
def test_extreme_margins_neither_overflow_nor_vanish(margin):
    projected, largest = measure([margin] * 5, 0.4, 1.0, 3000)
    assert largest <= 1 + 1e-9
    assert projected == pytest.approx(np.full(5, 0.4) if margin > 0 else np.ones(5))
    # Nine records far ahead of one: that one is capped, the others share what is left.
    projected, largest = measure([-3000] + [3000] * 9, 0.4, 1.0, 3000)
    assert projected == pytest.approx([1] + [3 / 9] * 9)
    assert largest == pytest.approx(1)


def test_a_smaller_margin_never_weighs_less():
    histogram = np.array([0, 3, 0, 1, 5, 0, 0, 2, 9], dtype=np.int64)
    weights = np.zeros(9, dtype=np.int64)
    for density in (0.05, 0.3, 0.7, 1.0):
        project(histogram, 8, density, 0.35, 1 << fixed_point_bits(20), weights)
        assert (np.diff(weights) <= 0).all()


@pytest.mark.parametrize("n", [1, 2, 3, 1000, 32561, 10**6, 2**31 + 1])
def test_sums_of_all_weights_fit_in_62_bits(n):
    assert n << fixed_point_bits(n) <= 1 << 62
    assert fixed_point_bits(n) <= 52


@pytest.mark.parametrize("density", [0.15, 0.34, 0.5, 0.8])
@pytest.mark.parametrize("learning_rate", [0.2, 1.0])
def test_neighbours_stay_close_by_brute_force(density, learning_rate):
    """TV of the normalised weights on labelled points ≤ 1/(κn) (PRIVACY.md, Theorem a).

    All replace-one neighbours with 5 records and margins of 4 rounds: record 1 differs
    (so its mass counts in full on both sides), the others have the same margins.
    """
    n = 5
    levels = range(-4, 5, 2)
    worst = 0.0
    for others in itertools.combinations_with_replacement(levels, n - 1):
        normalised = []
        for first in levels:
            projected, _ = measure([first, *others], density, learning_rate, 4)
            normalised.append(projected / projected.sum())
        for p, q in itertools.combinations(normalised, 2):
            distance = (p[0] + q[0] + np.abs(p[1:] - q[1:]).sum()) / 2
            worst = max(worst, distance)
    assert worst <= (1 + 1e-9) / max(density * n, 1)
    # The brute force comes near the bound, so it is a test of it.
    assert worst >= 0.5 / max(density * n, 1)


@pytest.mark.parametrize("density", [0.25, 0.5, 0.8])
def test_unnormalised_weights_change_by_at_most_one_either_way(density):
    """The unnormalised form of PRIVACY.md §a: both parts of μ' − μ are at most 1."""
    levels = range(-4, 5, 2)
    worst = 0.0
    for others in itertools.combinations_with_replacement(levels, 4):
        projected = [measure([first, *others], density, 0.7, 4)[0] for first in levels]
        for p, q in itertools.permutations(projected, 2):
            worst = max(worst, p[0] + np.clip(p[1:] - q[1:], 0, None).sum())
    assert 0.9 <= worst <= 1 + 1e-9
