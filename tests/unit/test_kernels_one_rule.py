import lazybb_reference as reference
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer

from privcurve.coding import equal_width
from privcurve.kernels.lazybb_rules import boost, count_votes, round_scores, vote_table
from privcurve.kernels.packing import pack


@st.composite
def problems(draw):
    """Small data with counts, and all that a fit needs."""
    n_bins = np.array(draw(st.lists(st.integers(1, 4), min_size=1, max_size=4)))
    n_rows = draw(st.integers(1, 12))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    codes = rng.integers(0, n_bins, size=(n_rows, len(n_bins))).astype(np.uint8)
    signs = rng.choice(np.array([-1, 1], dtype=np.int8), size=n_rows)
    counts = rng.integers(1, 4, size=n_rows)
    density = draw(st.sampled_from([0.1, 0.25, 0.35, 0.5, 0.8, 1.0]))
    learning_rate = draw(st.sampled_from([0.1, 0.45, 1.0]))
    normalise = draw(st.booleans())
    return codes, n_bins, signs, counts, density, learning_rate, normalise, rng


def repeated(codes, signs, counts):
    return np.repeat(codes, counts, axis=0), np.repeat(signs, counts).tolist()


@settings(max_examples=120)
@given(problem=problems(), n_rounds=st.integers(1, 8), rate=st.sampled_from([0.5, 5.0, 80.0]))
def test_picks_equal_the_reference_on_the_same_noise(problem, n_rounds, rate):
    codes, n_bins, signs, counts, density, learning_rate, normalise, rng = problem
    noise = rng.gumbel(size=(n_rounds, 2 * n_bins.sum() + 2))
    rates = rate * np.linspace(0.5, 1.5, n_rounds)
    picks, largest = boost(
        pack(codes, n_bins),
        signs > 0,
        counts,
        density,
        learning_rate,
        rates,
        normalise,
        noise.copy(),
    )
    X, y = repeated(codes, signs, counts)
    expected = reference.boost(X, y, n_bins, density, learning_rate, rates, normalise, noise)
    assert picks.tolist() == expected
    assert largest <= 1 + 1e-9


@settings(max_examples=80)
@given(problem=problems(), n_rounds=st.integers(1, 8))
def test_without_noise_the_best_literal_is_picked(problem, n_rounds):
    codes, n_bins, signs, counts, density, learning_rate, normalise, _ = problem
    picks, _ = boost(
        pack(codes, n_bins),
        signs > 0,
        counts,
        density,
        learning_rate,
        np.full(n_rounds, np.inf),
        normalise,
        None,
    )
    X, y = repeated(codes, signs, counts)
    for t in range(n_rounds):
        errors = reference.errors(
            X, y, picks[:t].tolist(), n_bins, density, learning_rate, normalise
        )
        assert errors[picks[t]] <= errors.min() + 1e-12


@settings(max_examples=80)
@given(problem=problems(), n_rounds=st.integers(0, 6))
def test_round_scores_equal_the_reference(problem, n_rounds):
    codes, n_bins, signs, counts, density, learning_rate, normalise, rng = problem
    picks = rng.integers(0, 2 * n_bins.sum() + 2, size=n_rounds)
    found = round_scores(codes, n_bins, signs, counts, picks, density, learning_rate, normalise)
    X, y = repeated(codes, signs, counts)
    expected = reference.errors(X, y, picks.tolist(), n_bins, density, learning_rate, normalise)
    assert found == pytest.approx(expected, abs=1e-12)


def test_ties_go_to_the_first_literal():
    # Both columns are the label itself; so are literals 2 (x₀ = 1), 1 (x₀ ≠ 0), 5 and 6.
    codes = np.array([[0, 0], [1, 1]], dtype=np.uint8)
    picks, _ = boost(
        pack(codes, np.array([2, 2])),
        np.array([False, True]),
        np.array([1, 1]),
        0.5,
        0.5,
        np.array([np.inf]),
        True,
        None,
    )
    assert picks.tolist() == [1]


@pytest.fixture(scope="module")
def breast_cancer():
    X, y = load_breast_cancer(return_X_y=True)
    n_bins = np.full(30, 10)
    codes = equal_width(X, (X.min(axis=0), X.max(axis=0)), n_bins)
    return codes, n_bins, np.where(y > 0, 1, -1).astype(np.int8)


def test_equals_the_reference_on_breast_cancer(breast_cancer):
    codes, n_bins, signs = breast_cancer
    codes, n_bins = codes[:, :6], n_bins[:6]
    rng = np.random.default_rng(3)
    n_rounds = 12
    noise = rng.exponential(size=(n_rounds, 2 * n_bins.sum() + 2))
    rates = np.full(n_rounds, 60.0)
    counts = np.ones(len(codes), dtype=np.int64)
    for normalise in (True, False):
        picks, _ = boost(
            pack(codes, n_bins), signs > 0, counts, 0.35, 0.45, rates, normalise, noise.copy()
        )
        assert picks.tolist() == reference.boost(
            codes, signs.tolist(), n_bins, 0.35, 0.45, rates, normalise, noise
        )


def test_the_order_of_rows_and_counts_change_nothing(breast_cancer):
    codes, n_bins, signs = breast_cancer
    rng = np.random.default_rng(4)
    codes = codes[:, :4] // 4  # few distinct rows
    n_bins = np.full(4, 3)
    noise = rng.gumbel(size=(60, 2 * n_bins.sum() + 2))

    def picks(codes, signs, counts):
        rates = np.full(60, 300.0)
        return boost(pack(codes, n_bins), signs > 0, counts, 0.3, 0.4, rates, True, noise.copy())

    ones = np.ones(len(codes), dtype=np.int64)
    expected, largest = picks(codes, signs, ones)
    order = rng.permutation(len(codes))
    assert np.array_equal(picks(codes[order], signs[order], ones)[0], expected)
    rows, counts = np.unique(np.c_[codes, signs > 0], axis=0, return_counts=True)
    assert len(rows) < 100
    found = picks(rows[:, :-1].astype(np.uint8), np.where(rows[:, -1], 1, -1), counts)
    assert np.array_equal(found[0], expected)
    assert found[1] == largest


@settings(max_examples=50)
@given(problem=problems(), n_rounds=st.integers(0, 9))
def test_votes_are_those_of_the_literals(problem, n_rounds):
    codes, n_bins, *_, rng = problem
    picks = rng.integers(0, 2 * n_bins.sum() + 2, size=n_rounds)
    starts = np.concatenate([[0], np.cumsum(n_bins)])
    votes = count_votes(codes, starts, *vote_table(picks, n_bins.sum()))
    known = reference.literals(n_bins)
    expected = [sum(reference.predict(known[j], row) for j in picks) for row in codes]
    assert votes.tolist() == expected
