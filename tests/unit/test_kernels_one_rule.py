import lazybb_reference as reference
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privcurve.kernels.lazybb_rules import boost, count_votes, round_scores, vote_table
from privcurve.kernels.packing import pack


@st.composite
def problems(draw):
    """Rows with counts, and the rest of what a fit takes: (rows, (κ, λ), normalise, begin, rng)."""
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
    """The literals that the kernel picks; no record has too much of the weight."""
    codes, n_bins, signs, counts = rows
    noise = None if noise is None else noise.copy()
    packed = pack(codes, n_bins)
    picks, largest = boost(packed, signs > 0, counts, *weighing, rates, normalise, noise, begin)
    assert largest <= 1 + 1e-9
    return picks


def plain(rows, begin=None):
    """What the reference takes: records one by one; and where their margins begin."""
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
    # Both columns are the label itself; so are literals 2 (x₀ = 1), 1 (x₀ ≠ 0), 5 and 6.
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
def test_votes_are_those_of_the_literals(problem, n_rounds):
    (codes, n_bins, *_), *_, rng = problem
    picks = rng.integers(0, 2 * n_bins.sum() + 2, size=n_rounds)
    starts = np.concatenate([[0], np.cumsum(n_bins)])
    votes = count_votes(codes, starts, *vote_table(picks, n_bins.sum()))
    literals = reference.literals(n_bins)
    expected = [sum(reference.predict(literals[j], row) for j in picks) for row in codes]
    assert votes.tolist() == expected
