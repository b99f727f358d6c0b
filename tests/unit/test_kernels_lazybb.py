"""LazyBB's kernels: joint codes, projected weights, and the picked rules."""

import itertools
import math

import lazybb_reference as reference
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privcurve.kernels.lazybb_rules import boost, count_votes, round_scores, vote_table
from privcurve.kernels.packing import LARGEST_PRODUCT, pack
from privcurve.kernels.projection import fixed_point_bits, project

# Joint codes -----------------------------------------------------------------------------


def check(codes, n_bins):
    """Check `pack`: cells keep every code, and sums over cells give the sums over bins."""
    packed = pack(codes, n_bins)
    starts = np.concatenate([[0], np.cumsum(n_bins)])
    assert np.array_equal(packed.columns, codes.T)
    assert np.array_equal(packed.bin_starts, starts)
    assert packed.cells.shape == (len(codes), packed.groups.max() + 1)
    for j in range(codes.shape[1]):
        group = packed.groups[j]
        local = packed.cells[:, group].astype(np.int64) - packed.group_starts[group]
        assert local.min() >= 0
        assert local.max() < packed.group_starts[group + 1] - packed.group_starts[group]
        assert np.array_equal(packed.cell_bins[j, local], starts[j] + codes[:, j])
    return packed


@settings(max_examples=60)
@given(data=st.data())
def test_cells_keep_every_code(data):
    n_bins = np.array(data.draw(st.lists(st.integers(1, 12), min_size=1, max_size=8)))
    n_rows = data.draw(st.integers(1, 60))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    check(rng.integers(0, n_bins, size=(n_rows, len(n_bins))).astype(np.uint8), n_bins)


def test_columns_with_the_same_content_share_a_group():
    rng = np.random.default_rng(0)
    column = rng.integers(0, 10, size=5000)
    codes = np.stack([column, 9 - column, rng.integers(0, 10, size=5000)], axis=1)
    packed = check(codes.astype(np.uint8), np.array([10, 10, 10]))
    assert packed.groups[0] == packed.groups[1]
    # Few rows per cell on average: joining all three columns costs 100 cells and saves 5000
    # additions.
    assert packed.cells.shape[1] == 1


def test_wide_columns_are_not_joined_beyond_the_limit():
    rng = np.random.default_rng(0)
    n_bins = np.array([2**16, 2**16, 5])
    codes = rng.integers(0, n_bins, size=(300, 3)).astype(np.uint16)
    codes[0] = n_bins - 1
    packed = check(codes, n_bins)
    assert packed.groups[0] != packed.groups[1]
    for group in np.unique(packed.groups):
        assert np.prod(n_bins[packed.groups == group]) <= LARGEST_PRODUCT


@pytest.mark.parametrize(("size", "dtype"), [(8, np.uint16), (2**16, np.uint32)])
def test_cells_are_narrow_when_they_can_be(size, dtype):
    rng = np.random.default_rng(1)
    codes = rng.integers(0, size, size=(70_000, 2))
    if size > 8:
        codes = np.stack([np.arange(70_000) % size, np.arange(70_000)[::-1] % size], axis=1)
    packed = check(codes.astype(np.uint16), np.array([size, size]))
    assert packed.cells.dtype == dtype


# Projected weights -----------------------------------------------------------------------


def measure(margins, density, learning_rate, n_votes):
    """Return the weights of single records, and κn times the largest normalised weight."""
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
    # docs/proofs.md, 'LazyBB: weights': without the cap, or with the test on the uncapped sum,
    # record 1 would get 6 times its maximum.
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
    # One record is nine rounds ahead: its weight is capped, the others share the rest.
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
    """TV of the normalised weights on labelled points ≤ 1/(κn) (docs/proofs.md, 'LazyBB: weights').

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
    # The brute force comes near the bound, so the test is strict.
    assert worst >= 0.5 / max(density * n, 1)


@pytest.mark.parametrize("density", [0.25, 0.5, 0.8])
def test_unnormalised_weights_change_by_at_most_one_either_way(density):
    """Both parts of μ' − μ, above 0 and below, are at most 1 ('LazyBB: first rounds')."""
    levels = range(-4, 5, 2)
    worst = 0.0
    for others in itertools.combinations_with_replacement(levels, 4):
        projected = [measure([first, *others], density, 0.7, 4)[0] for first in levels]
        for p, q in itertools.permutations(projected, 2):
            worst = max(worst, p[0] + np.clip(p[1:] - q[1:], 0, None).sum())
    assert 0.9 <= worst <= 1 + 1e-9


# Rules -----------------------------------------------------------------------------------


@st.composite
def problems(draw):
    """Return rows with counts, and the other arguments: (rows, (κ, λ), normalise, begin, rng)."""
    n_bins = np.array(draw(st.lists(st.integers(1, 4), min_size=1, max_size=4)))
    n_rows = draw(st.integers(1, 12))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    codes = rng.integers(0, n_bins, size=(n_rows, len(n_bins))).astype(np.uint8)
    signs = rng.choice(np.array([-1, 1], dtype=np.int8), size=n_rows)
    counts = rng.integers(1, 4, size=n_rows)
    density = draw(st.sampled_from([0.1, 0.2, 0.25, 0.35, 0.5, 0.8, 1.0]))
    weighing = density, draw(st.sampled_from([0.1, 0.45, 1.0]))
    begin = rng.integers(-6, 7, n_rows) if draw(st.booleans()) else None
    return (codes, n_bins, signs, counts), weighing, draw(st.booleans()), begin, rng


def picked(rows, weighing, rates, normalise, noise=None, begin=None):
    """Return the literals that the kernel picks; check the largest weight."""
    codes, n_bins, signs, counts = rows
    noise = None if noise is None else noise.copy()
    packed = pack(codes, n_bins)
    picks, largest = boost(packed, signs > 0, counts, *weighing, rates, normalise, noise, begin)
    assert largest <= 1 + 1e-9
    return picks


def plain(rows, begin=None):
    """Return the arguments of the reference: single records, and their first margins."""
    codes, n_bins, signs, counts = rows
    first = None if begin is None else np.repeat(begin, counts).tolist()
    return (np.repeat(codes, counts, axis=0), np.repeat(signs, counts).tolist(), n_bins), first


def plain_errors(rows, picks, weighing, normalise, begin):
    (X, y, n_bins), first = plain(rows, begin)
    return reference.errors(X, y, list(picks), n_bins, *weighing, normalise, first)


@settings(max_examples=150)
@given(problem=problems(), n_rounds=st.integers(1, 8), rate=st.sampled_from([0.5, 5.0, 80.0]))
def test_picks_equal_the_reference_on_the_same_noise(problem, n_rounds, rate):
    rows, weighing, normalise, begin, rng = problem
    noise = rng.gumbel(size=(n_rounds, 2 * rows[1].sum() + 2))
    rates = rate * np.linspace(0.5, 1.5, n_rounds)
    given, first = plain(rows, begin)
    expected = reference.boost(*given, *weighing, rates, normalise, noise, first)
    assert picked(rows, weighing, rates, normalise, noise, begin).tolist() == expected


@settings(max_examples=80)
@given(problem=problems(), n_rounds=st.integers(1, 8))
def test_without_noise_the_best_literal_is_picked(problem, n_rounds):
    rows, weighing, normalise, begin, _ = problem
    picks = picked(rows, weighing, np.full(n_rounds, np.inf), normalise, begin=begin)
    for t, pick in enumerate(picks):
        errors = plain_errors(rows, picks[:t], weighing, normalise, begin)
        assert errors[pick] <= errors.min() + 1e-12


@settings(max_examples=100)
@given(problem=problems(), n_rounds=st.integers(0, 6))
def test_round_scores_equal_the_reference(problem, n_rounds):
    rows, weighing, normalise, begin, rng = problem
    picks = rng.integers(0, 2 * rows[1].sum() + 2, size=n_rounds)
    scores = round_scores(*rows, picks, *weighing, normalise, begin)
    expected = plain_errors(rows, picks, weighing, normalise, begin)
    assert scores == pytest.approx(expected, abs=1e-12)


def test_ties_go_to_the_first_literal():
    # Both columns equal the label, and so do the literals 2 (x₀ = 1), 1 (x₀ ≠ 0), 5 and 6.
    codes = np.array([[0, 0], [1, 1]], dtype=np.uint8)
    rows = codes, np.array([2, 2]), np.array([-1, 1]), np.array([1, 1])
    assert picked(rows, (0.5, 0.5), np.array([np.inf]), True).tolist() == [1]


def test_the_order_of_rows_and_counts_change_nothing():
    rng = np.random.default_rng(4)
    codes, n_bins = rng.integers(0, 3, size=(500, 4)).astype(np.uint8), np.full(4, 3)
    signs = np.where(codes[:, 0] + rng.integers(0, 3, 500) > 2, 1, -1)
    noise = rng.gumbel(size=(60, 2 * n_bins.sum() + 2))
    distinct, counts = np.unique(np.c_[codes, signs], axis=0, return_counts=True)
    assert len(distinct) < 200
    order, ones = rng.permutation(500), np.ones(500, dtype=np.int64)
    given = [
        (codes, n_bins, signs, ones),
        (codes[order], n_bins, signs[order], ones),
        (distinct[:, :-1].astype(np.uint8), n_bins, distinct[:, -1], counts),
    ]
    first, *others = (picked(rows, (0.3, 0.4), np.full(60, 300.0), True, noise) for rows in given)
    assert all(np.array_equal(first, other) for other in others)


@settings(max_examples=50)
@given(problem=problems(), n_rounds=st.integers(0, 9))
def test_votes_match_the_literals(problem, n_rounds):
    (codes, n_bins, *_), *_, rng = problem
    picks = rng.integers(0, 2 * n_bins.sum() + 2, size=n_rounds)
    starts = np.concatenate([[0], np.cumsum(n_bins)])
    votes = count_votes(codes, starts, *vote_table(picks, n_bins.sum()))
    literals = reference.literals(n_bins)
    expected = [sum(reference.predict(literals[j], row) for j in picks) for row in codes]
    assert votes.tolist() == expected
