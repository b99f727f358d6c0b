"""Published DPBoost, exactly: every tree of one split, every neighbouring pair of tiny data.

The worst log-ratio of a pair is the worst over the splits of their log-ratio plus that of
the leaves' Laplace densities, Σ|V − V'|/b, which is attained in the tails. What is certified keeps
the contract (test_contract.py).
"""

import sys
from pathlib import Path

import numpy as np
import pytest

from privcurve.kernels.dpboost import grow_tree
from privcurve.kernels.trees.form import Ranges
from privcurve.learners.dpboost import DPBoostClassifier

sys.path.insert(0, str(Path(__file__).parents[1] / "reference"))
import gradient_tree as reference

EPSILON = 2.0


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
    bins, asked = X + starts[:-1], Ranges(*(np.empty_like(splits) for _ in range(3)))
    for noise in draw(size=(n, 3, 5)):
        grow_tree(bins, gradients, np.ones(12), starts, 2, True, 0.1, 1 / 0.8, noise, splits, asked)
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
