"""Published DPBoost, exactly: every tree of one split, every neighbouring pair of tiny data.

The worst log-ratio of a pair is the worst over the splits of their log-ratio plus that of
the leaves' Laplace densities, Σ|V − V'|/b, which is attained in the tails. What is certified keeps
the contract (test_contract.py).
"""

import itertools
import sys
import zlib
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from privcurve.audit.attacks.dpboost import (
    gradient_tree_distribution,
    leaf_cuts,
    sample_gradient_trees,
)
from privcurve.audit.pairs import all_neighbours, crossed
from privcurve.audit.search import search_exact
from privcurve.kernels.dpboost import grow_tree
from privcurve.learners.dpboost import DPBoostClassifier
from privcurve.privacy.calibration.dpboost import PUBLISHED_PROVED, dpboost

sys.path.insert(0, str(Path(__file__).parents[1] / "reference"))
import gradient_tree as reference

EPSILON = 2.0


def worst_log_ratio(n, n_bins, thresholds, regularisation):
    of_splits, of_leaves = dpboost(
        n_trees=1, trees_per_ensemble=1, max_depth=1, learning_rate=0.1,
        regularisation=regularisation, epsilon=EPSILON, delta=0.0, calibration="published",
    ).ledger  # fmt: skip
    universe = list(itertools.product(*map(range, n_bins), (-1.0, 1.0)))

    @cache
    def outcome(data):
        rows, gradients = [r[:-1] for r in data], [r[-1] for r in data]
        trees = reference.transcripts(
            rows, gradients, n_bins, 1, thresholds, regularisation, of_splits.noise_rate, True
        )
        return {
            splits: (chance, np.array([-sum(g) / (len(g) + regularisation) for g in parts]))
            for splits, (chance, parts) in trees.items()
        }

    worst = 0.0
    for rest in itertools.combinations_with_replacement(universe, n - 1):
        for one, other in itertools.permutations(universe, 2):
            left = outcome(tuple(sorted((*rest, one))))
            right = outcome(tuple(sorted((*rest, other))))
            for splits, (chance, leaves) in left.items():
                chance_, leaves_ = right[splits]
                moved = np.abs(leaves - leaves_).sum() * of_leaves.noise_rate
                worst = max(worst, np.log(chance / chance_) + moved)
    return worst


def one_split(calibration, regularisation, splits="threshold", **budget):
    return DPBoostClassifier(
        n_trees=1, trees_per_ensemble=1, max_depth=1, regularisation=regularisation,
        splits=splits, calibration=calibration, classes=(-1, 1), **budget,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("n", "n_bins", "splits", "regularisation"),
    [(3, (2, 2), "threshold", 0.1), (2, (3,), "threshold", 0.1), (2, (3,), "equality", 3.0)],
)
def test_the_audit_enumerates_what_the_plain_reference_does(n, n_bins, splits, regularisation):
    """Cells of the leaf values lose nothing: the same worst ratio as of the densities."""
    learner = one_split("published", regularisation, splits, epsilon=EPSILON)

    def distribution(side):
        chances = gradient_tree_distribution(learner.set_params(n_bins=side.n_bins), side)
        assert chances.sum() == pytest.approx(1)
        return chances

    found = search_exact(all_neighbours(n, n_bins), distribution, EPSILON, 0.0)
    expected = worst_log_ratio(n, n_bins, splits == "threshold", regularisation)
    assert found.epsilon == pytest.approx(expected, rel=1e-9)
    # A record between leaves of its own: the leaves alone cost 2 · ε/2.
    assert EPSILON < expected <= PUBLISHED_PROVED * EPSILON


def test_the_audit_enumerates_single_splits_alone():
    with pytest.raises(ValueError, match="only one tree of one split"):
        gradient_tree_distribution(DPBoostClassifier(n_trees=2, max_depth=1), crossed().left)


@pytest.mark.parametrize("budget", [{"epsilon": 3.0}, {"epsilon": 1.0, "delta": 0.1}], ids=str)
def test_the_audit_enumerates_what_fit_does(budget):
    """Chi-square of 5,000 fits on each side; false alarm 1e-5 each."""
    from scipy.stats import chisquare

    learner = one_split("certified", 0.1, n_bins=[2, 2], **budget)
    pair = crossed()
    n_cells = len(leaf_cuts(learner)) + 1
    outcomes = [
        zlib.crc32(np.array(outcome).tobytes())
        for outcome in itertools.product((0, 2), range(n_cells), range(n_cells))
    ]
    for side, seed in ((pair.left, 0), (pair.right, 1)):
        sampled = sample_gradient_trees(learner, pair, side, 5_000, np.random.default_rng(seed))
        counted = np.array([(sampled == outcome).sum() for outcome in outcomes])
        assert counted.sum() == 5_000
        expected = 5_000 * gradient_tree_distribution(learner, side)
        rare = expected < 5
        counted = np.append(counted[~rare], counted[rare].sum())
        expected = np.append(expected[~rare], expected[rare].sum())
        kept = expected > 0
        assert chisquare(counted[kept], expected[kept]).pvalue > 1e-5


@pytest.mark.parametrize("mechanism", ["exponential", "permute_and_flip"])
def test_kernel_draws_from_these_distributions(mechanism):
    """Chi-square of 20,000 trees; false alarm 1e-6 a case."""
    from scipy.stats import chi2

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
    for noise in draw(size=(n, 3, 5)):
        grow_tree(
            X, np.arange(12), gradients, np.ones(12), starts, 2, True, 0.1, 1 / 0.8, noise, splits
        )
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
    """A record whose gradient is beyond g* after the earlier trees leaves a tree as it is."""
    X = np.zeros((40, 1), dtype=np.uint8)
    y = np.ones(40, dtype=int)
    y[:4] = -1
    model = DPBoostClassifier(
        n_trees=2, trees_per_ensemble=1, max_depth=1, learning_rate=0.5, regularisation=0.0,
        n_bins=1, epsilon=1e12, random_state=0,
    ).fit(X, y)  # fmt: skip
    # First tree: mean 0.8, halved. Second: the negatives have gradient 1.4 and are out; the
    # others leave 0.6, clipped to 0.5, halved.
    assert model.leaf_values_[0, 0] == pytest.approx(0.4)
    assert model.leaf_values_[1, 0] == pytest.approx(0.25)
