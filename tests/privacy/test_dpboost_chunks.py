"""DPBoost's published noise and one record more: it moves others from tree to tree.

How many records a tree has follows from n. The noise of one tree is charged to all trees of an
ensemble, which is right where one record changes one tree: not when n changes.
"""

import numpy as np
import pytest

from privcurve.learners.dpboost import DPBoostClassifier
from privcurve.privacy.budget import CERTIFIED, PUBLISHED
from privcurve.privacy.calibration.dpboost import (
    EQUAL,
    GEOMETRIC,
    chunk_ends,
    dpboost,
    leaf_bounds,
    leaf_l1,
)

T, RATE, LAMBDA = 50, 0.1, 0.1


def sizes(n, chunks):
    return np.diff(chunk_ends(n, T, RATE, chunks), prepend=0)


def log_ratio(n, chunks, epsilon, calibration=PUBLISHED):
    """Density of one transcript of leaf values with n records, against n + 1; all are alike.

    One column of one code and positive labels: splits tell nothing, all records are in one
    leaf, and their order does not matter. The transcript keeps the scores f at 0 or 2 before
    each tree, where gradients are at their bound: a released value may be anything.
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
        assert abs(gradient) == 1  # not filtered
        left, right = (
            np.clip(-k * gradient / (k + LAMBDA), -bounds[t], bounds[t]) for k in (few, more)
        )
        # On the side of `left`, at or beyond it, and such that the score is 0 or 2 after it.
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
    """At a huge ε leaf values show which trees are empty (a tree's only record may be filtered)."""
    for n in (25, 26):
        largest = np.zeros(T)
        for seed in range(8):
            model = DPBoostClassifier(
                n_trees=T, trees_per_ensemble=T, max_depth=1, chunks=EQUAL, calibration=PUBLISHED,
                epsilon=1e9, n_bins=1, classes=(-1, 1), random_state=seed,
            ).fit(np.zeros((n, 1), dtype=np.uint8), np.ones(n))  # fmt: skip
            largest = np.maximum(largest, np.abs(model.leaf_values_).max(axis=1))
        assert np.array_equal(largest > 1e-6, sizes(n, EQUAL) == 1)


def test_the_statement_of_published_says_so():
    said = dpboost(
        n_trees=T, trees_per_ensemble=T, max_depth=6, learning_rate=RATE, regularisation=LAMBDA,
        epsilon=1.0, delta=0.0, calibration=PUBLISHED,
    )  # fmt: skip
    assert said.status == "refuted"
    assert said.proved_epsilon == pytest.approx(5 / 3)
    text = str(said)
    assert text.index("This is refuted") < text.index("6.9 epsilon") < text.index("within a factor")
    assert "enough" not in text
    # Calls are counted one by one, and why they are charged together is said.
    assert "3,150 choices by the exponential mechanism and 3,200 numbers with Laplace noise" in text
    assert "in parallel over the trees of an ensemble and the nodes of a level" in text
    assert all("argued for" in entry.source for entry in said.ledger)


def test_certified_claims_nothing_when_a_record_is_added():
    said = dpboost(
        n_trees=T, trees_per_ensemble=T, max_depth=6, learning_rate=RATE, regularisation=LAMBDA,
        epsilon=1.0, delta=0.0, calibration=CERTIFIED,
    )  # fmt: skip
    assert said.neighbours == "replace-one"
    assert said.status == "proved"
