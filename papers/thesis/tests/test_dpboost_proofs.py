"""Test DPBoost's constants by search, and the distribution of the trees that it draws.

The proofs are in papers/thesis/proofs.md, 'DPBoost'.
"""

import itertools

import gradient_tree as reference
import numpy as np
import pytest
from scipy.stats import chi2

from privcurve.kernels.trees.form import Ranges
from privcurve.papers.thesis.learners.dpboost.classifier import DPBoostClassifier
from privcurve.papers.thesis.learners.dpboost.kernel import grow_tree, part_gain
from privcurve.papers.thesis.learners.dpboost.noise import (
    EQUAL,
    GAIN_FALL,
    GAIN_RANGE_PROVED,
    GAIN_RISE,
    GEOMETRIC,
    chunk_ends,
    dpboost,
    leaf_bounds,
    leaf_l1,
)
from privcurve.privacy.budget import PUBLISHED

LAMBDAS = (0.0, 0.1, 1.0, 30.0)


def changes(regularisation, sizes, n_points=9):
    """Yield the changes of the gain S²/(n + λ) if a record is added, over a grid of cases.

    The grid has numbers n of records (`sizes`), sums S of gradients, and gradients of the added
    record.
    """
    for n in sizes:
        for share, g in itertools.product(np.linspace(-1, 1, n_points), repeat=2):
            before = part_gain(share * n, n, regularisation)
            yield part_gain(share * n + g, n + 1, regularisation) - before


@pytest.mark.parametrize("regularisation", LAMBDAS)
def test_an_added_record_changes_the_gain_by_minus_3_to_1(regularisation):
    differences = list(changes(regularisation, (0, 1, 2, 3, 5, 10, 100, 10**4, 10**6)))
    rounding = 1e-8
    assert max(differences) <= GAIN_RISE + rounding
    assert min(differences) >= -GAIN_FALL - rounding
    # Some changes almost reach the constants, so the constants cannot be smaller.
    assert max(differences) > 0.99 * GAIN_RISE
    assert min(differences) < -0.99 * GAIN_FALL


def test_the_range_of_a_replacement_is_approached():
    """Replacing one record changes the gain of one split by almost +4, of another by almost −4.

    So the range of the changes is almost the constant GAIN_RANGE_PROVED.
    """
    n, regularisation = 10**6, 0.1

    def gain(*sides):
        return sum(part_gain(float(s), m, regularisation) for s, m in sides)

    # n records have each sign. In the first split, the replaced record moves from the side with the
    # other sign (`apart`) to the side with its own sign (`together`); in the second split it moves
    # back.
    apart = (-n + 1, n + 1), (n, n)
    together = (-n, n), (n + 1, n + 1)
    first = gain(*together) - gain(*apart)
    second = gain(*apart) - gain(*together)
    assert first == pytest.approx(4, abs=1e-3)
    assert first - second == pytest.approx(GAIN_RANGE_PROVED, abs=2e-3)


# An added record moves other records from tree to tree -----------------------------------
#
# The number of records of each tree depends on n. An ensemble is charged as if one record affects
# only one of its trees. This is right if a record is replaced, and wrong if a record is added.

T, RATE, LAMBDA = 50, 0.1, 0.1


def sizes(n, chunks):
    return np.diff(chunk_ends(n, T, RATE, chunks), prepend=0)


def log_ratio(n, chunks, epsilon, calibration=PUBLISHED):
    """Return the privacy loss of certain leaf values: ln(density with n records / with n + 1).

    All records are equal: there is one column with one bin, and all labels are positive. So splits
    reveal nothing, all records are in one leaf, and their order does not matter. Noise can produce
    any leaf values. So the function can choose leaf values that keep the scores at 0 or 2 before
    each tree, where all gradients have the largest absolute value that is not filtered.
    """
    *_, of_leaves = dpboost(
        n_trees=T, trees_per_ensemble=T, max_depth=1, learning_rate=RATE, regularisation=LAMBDA,
        epsilon=epsilon, delta=0.0, calibration=calibration,
    ).ledger  # fmt: skip
    bounds = leaf_bounds(T, RATE)
    scales = leaf_l1(T, RATE, LAMBDA, calibration) / of_leaves.epsilon
    score, total = 0.0, 0.0
    for t, (few, more) in enumerate(zip(sizes(n, chunks), sizes(n + 1, chunks), strict=True)):
        gradient = score - 1.0
        assert abs(gradient) == 1  # larger gradients would be filtered
        left, right = (
            np.clip(-k * gradient / (k + LAMBDA), -bounds[t], bounds[t]) for k in (few, more)
        )
        # `left` and `right` are the exact leaf values with n and n + 1 records. One released value
        # moves the score to 0, another to 2. Take the released value that is nearer to `left` than
        # to `right`, and not between them: it is more likely with n records.
        reached = [0.0, 2.0]
        values = [(after - score) / RATE for after in reached]
        beyond = [v <= left if left < right else v >= left for v in values]
        k = beyond.index(True) if left != right else reached.index(score)
        total += (abs(values[k] - right) - abs(values[k] - left)) / scales[t]
        score = reached[k]
    return total


@pytest.mark.parametrize("epsilon", [0.1, 2.0])
def test_one_record_more_costs_many_epsilons(epsilon):
    assert log_ratio(25, EQUAL, epsilon) / epsilon == pytest.approx(6.931, abs=1e-3)
    assert log_ratio(7, GEOMETRIC, epsilon) / epsilon == pytest.approx(4.082, abs=1e-3)


def test_a_fit_has_chunks_of_these_sizes():
    """At ε = 10⁹ there is almost no noise, so leaf values show which trees have records.

    A tree's only record may be filtered, so the test takes, for each tree, the largest absolute
    leaf value over several seeds.
    """
    for n in (25, 26):
        largest = np.zeros(T)
        for seed in range(8):
            model = DPBoostClassifier(
                n_trees=T, trees_per_ensemble=T, max_depth=1, chunks=EQUAL, calibration=PUBLISHED,
                epsilon=1e9, n_bins=1, classes=(-1, 1), random_state=seed,
            ).fit(np.zeros((n, 1), dtype=np.uint8), np.ones(n))  # fmt: skip
            largest = np.maximum(largest, np.abs(model.leaf_values_).max(axis=1))
        assert np.array_equal(largest > 1e-6, sizes(n, EQUAL) == 1)


# Draws of trees --------------------------------------------------------------------------


@pytest.mark.parametrize("mechanism", ["exponential", "permute_and_flip"])
def test_kernel_draws_from_these_distributions(mechanism):
    """The kernel draws trees with the exact probabilities of the reference in plain Python.

    The chi-square test on 20,000 trees gives a false alarm with probability 1e-6 in each case.
    """
    rng = np.random.default_rng(3)
    X = rng.integers(0, (3, 2), size=(12, 2)).astype(np.uint8)
    gradients = np.where(rng.random(12) < 0.5, 1.0, -1.0)
    starts = np.array([0, 3, 5])
    exact = reference.transcripts(
        X.tolist(), gradients, (3, 2), 2, True, 0.1, 0.8, mechanism == "exponential"
    )
    seen = dict.fromkeys(exact, 0)
    n = 20_000
    draw = rng.gumbel if mechanism == "exponential" else rng.standard_exponential
    names = {-1: None, 0: (0, 0), 1: (0, 1), 2: (0, 2), 3: (1, 0), 4: (1, 1)}
    splits = np.empty(3, dtype=np.int64)
    bins, spans = X + starts[:-1], Ranges(*(np.empty_like(splits) for _ in range(3)))
    for noise in draw(size=(n, 3, 5)):
        grow_tree(bins, gradients, np.ones(12), starts, 2, True, 0.1, 1 / 0.8, noise, splits, spans)
        seen[tuple(names[s] for s in splits)] += 1
    expected = np.array([n * chance for chance, _ in exact.values()])
    counted = np.array(list(seen.values()))
    assert expected.sum() == pytest.approx(n)
    common = expected > 5
    rest = expected[~common].sum(), counted[~common].sum()
    statistic = ((counted - expected)[common] ** 2 / expected[common]).sum()
    if rest[0] > 0:
        statistic += (rest[1] - rest[0]) ** 2 / rest[0]
    assert statistic < chi2.isf(1e-6, common.sum())


def test_filtered_records_do_not_count():
    """A tree ignores a record whose gradient after the earlier trees exceeds the bound g* = 1."""
    X = np.zeros((40, 1), dtype=np.uint8)
    y = np.ones(40, dtype=int)
    y[:4] = -1
    model = DPBoostClassifier(
        n_trees=2, trees_per_ensemble=1, max_depth=1, learning_rate=0.5, regularisation=0.0,
        n_bins=1, epsilon=1e12, random_state=0,
    ).fit(X, y)  # fmt: skip
    # The first tree has the mean label 0.8, times the learning rate 0.5. In the second tree,
    # negative records have the absolute gradient 1.4 and are filtered; the others have 0.6, which
    # is clipped to 0.5 and multiplied by 0.5.
    assert model.leaf_values_[0, 0] == pytest.approx(0.4)
    assert model.leaf_values_[1, 0] == pytest.approx(0.25)
