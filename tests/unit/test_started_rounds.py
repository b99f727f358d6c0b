"""LazyBB whose margins begin anywhere: weights against the reference."""

import lazybb_reference as reference
import numpy as np
import pytest

from privcurve.kernels.lazybb_rules import boost, round_scores
from privcurve.kernels.lazybb_trees import TreeNoise, bin_rows, boost_trees
from privcurve.kernels.packing import pack
from privcurve.learners.lazybb import LazyBBClassifier


def problem(seed):
    rng = np.random.default_rng(seed)
    n_bins = rng.integers(2, 5, 3)
    codes = rng.integers(0, n_bins, (12, 3)).astype(np.uint8)
    signs = rng.choice(np.array([-1, 1], np.int8), 12)
    return codes, n_bins, signs, rng.integers(1, 4, 12), rng.integers(-6, 7, 12), rng


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize(("density", "normalise"), [(0.2, False), (0.5, True), (1.0, False)])
def test_picks_and_errors_are_those_of_the_reference(seed, density, normalise):
    codes, n_bins, signs, counts, begin, rng = problem(seed)
    noise = rng.gumbel(size=(5, 2 * n_bins.sum() + 2))
    rates, rest = np.full(5, 20.0), (density, 0.45)
    X, y, first = (np.repeat(part, counts, axis=0) for part in (codes, signs, begin))
    picks, largest = boost(
        pack(codes, n_bins), signs > 0, counts, *rest, rates, normalise, noise.copy(), begin
    )
    expected = reference.boost(X, y, n_bins, *rest, rates, normalise, noise, first)
    assert picks.tolist() == expected
    assert largest <= 1 + 1e-9
    found = round_scores(codes, n_bins, signs, counts, picks[:3], *rest, normalise, begin)
    errors = reference.errors(X, y, expected[:3], n_bins, *rest, normalise, first)
    assert found == pytest.approx(errors, abs=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_trees_go_on_where_others_ended(seed):
    """Margins of two rounds, given as a start, lead to the trees of rounds three and four."""
    codes, n_bins, signs, counts, _, _ = problem(seed)
    rows = bin_rows(codes, n_bins, signs, counts)

    def grown(n_rounds, begin):
        rates = np.full(n_rounds, np.inf)
        nothing = TreeNoise(np.zeros((n_rounds, 3, 0)), np.zeros((n_rounds, 0, 0)),
                            np.zeros((n_rounds, 7)))  # fmt: skip
        return boost_trees(
            rows, 0.3, 0.45, 2, 3, False, "gini", rates, rates, False, False, nothing, begin
        )

    whole, _ = grown(4, None)
    model = LazyBBClassifier(
        weak_learner="topdown", n_bins=n_bins, classes=(-1, 1), epsilon=np.inf, n_rounds=2,
        density=0.3, learning_rate=0.45, depth=2, random_state=0,
    ).fit(codes, signs, counts)  # fmt: skip
    assert np.array_equal(model.model_.forest.splits, whole.splits[:2])
    rest, largest = grown(2, signs * model.model_.tally(codes))
    assert largest <= 1 + 1e-9
    assert np.array_equal(rest.splits, whole.splits[2:])
    assert np.array_equal(rest.labels, whole.labels[2:])
