"""Whole certified trees, exactly: every tree, every neighbouring pair of few records.

The worst log-ratio of a pair is the worst over trees of their log-ratio plus that of the leaves'
Laplace densities, Σ|difference|/scale, which is attained in the tails; cells of leaf values can
show no more. Trees and chances come from the plain reference.
"""

import itertools
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from privcurve.audit.attacks.ensembles import ensemble_densities
from privcurve.audit.pairs import Pair, crossed, records
from privcurve.learners.bdpe import BDPEClassifier

sys.path.insert(0, str(Path(__file__).parents[1] / "reference"))
import boosted_trees as reference

EPSILON = 2.0


def learner(n_bins, **setting):
    return BDPEClassifier(
        **{"n_trees": 1, "depth": 1, "epsilon": EPSILON, **setting}, n_bins=n_bins, classes=(-1, 1)
    )


def seen_of(parts, votes):
    sums = np.array([reference.weigh(part) for part in parts], dtype=float)
    return sums if votes == "link" else sums[:, 0] - sums[:, 1]


def worst_log_ratio(n, n_bins, **setting):
    made = learner(n_bins, **setting)
    noise, depth = made._noise(n), made.depth
    choose, rates = (lambda scores, rate: [1 / len(scores)] * len(scores)), [0.0] * depth
    if made.splits == "chosen":
        choose = reference.permute_and_flip
        rates = [s / (noise.bound + made.alpha * noise.slope) for s in noise.spent]

    @cache
    def outcome(data):
        weighted = [(cell[:-1], cell[-1], 0.5) for cell in data]
        return reference.trees(weighted, n_bins, [made.alpha] * depth, rates, choose, True)

    universe = list(itertools.product(*map(range, n_bins), (-1, 1)))
    worst = 0.0
    for rest in itertools.combinations_with_replacement(universe, n - 1):
        for one, other in itertools.combinations(universe, 2):
            left, right = (outcome(tuple(sorted((*rest, r)))) for r in (one, other))
            for questions, (chance, parts) in left.items():
                chance_, parts_ = right[questions]
                moved = np.abs(seen_of(parts, made._votes()) - seen_of(parts_, made._votes()))
                # w̄ = ½ in the first round.
                loss = moved.sum() * noise.leaf_rate / 0.5
                worst = max(worst, abs(np.log(chance / chance_)) + loss)
    return worst


CASES = [
    (6, (2,), {}),
    (3, (3,), {"votes": "link"}),
    (2, (2, 2), {"votes": "link", "alpha": 1.0}),
    (3, (2, 2), {"alpha": 1.0, "tree_share": 0.9}),
    (3, (2, 2), {"alpha": 0.5, "votes": "sign"}),
    (3, (2, 2), {"splits": "random"}),
    (3, (2, 2), {"depth": 2, "alpha": 1.0, "tree_share": 0.8}),
]
LONG = [
    (6, (3,), {"votes": "link"}),
    (4, (2, 2), {"alpha": 1.0, "tree_share": 0.9}),
    (4, (3,), {"alpha": 0.1, "depth": 2}),
]


@pytest.mark.parametrize(
    ("n", "n_bins", "setting"),
    [*CASES, *(pytest.param(*case, marks=pytest.mark.slow) for case in LONG)],
    ids=str,
)
def test_a_certified_tree_keeps_its_epsilon(n, n_bins, setting):
    worst = worst_log_ratio(n, n_bins, **setting)
    assert worst <= EPSILON * (1 + 1e-9)
    assert worst > 0.45 * EPSILON


def test_the_audit_sees_what_the_reference_sees():
    """Log densities of all outputs of one pair, by the learner's own kernels."""
    pair = crossed()
    made = learner([2, 2], alpha=0.7, tree_share=0.6)
    left, right = ensemble_densities(made, pair)
    noise = made._noise(pair.left.n)
    rate = noise.spent[0] / (noise.bound + 0.7 * noise.slope)
    trees = []
    for side in (pair.left, pair.right):
        weighted = [
            (row, sign, count / 2)
            for row, sign, count in zip(
                side.codes.tolist(), side.signs.tolist(), side.counts.tolist(), strict=True
            )
        ]
        trees.append(
            reference.trees(weighted, [2, 2], [0.7], [rate], reference.permute_and_flip, True)
        )
    expected = []
    for questions, (chance, parts) in trees[0].items():
        chance_, parts_ = trees[1][questions]
        moved = seen_of(parts, "shrunk") - seen_of(parts_, "shrunk")
        for signs in itertools.product((-1, 1), repeat=2):
            expected.append(
                np.log(chance / chance_) + (moved * signs).sum() * noise.leaf_rate / 0.5
            )
    assert sorted(left - right) == pytest.approx(sorted(expected), abs=1e-9)


def test_rounds_go_on_from_what_was_released():
    """Two rounds: a record that both votes got wrong weighs more, up to the bound."""
    rest = [[0], [1]]
    sides = [
        records([[code], *rest], [sign, 1, -1], [2], [1, 9, 9]) for code, sign in ((0, -1), (1, 1))
    ]
    pair = Pair("tiny", "wrong in either bin", *sides)
    found = [
        float(np.abs(np.subtract(*ensemble_densities(made, pair))).max())
        for made in (
            learner([2], splits="random"),
            learner([2], splits="random", n_trees=3, step=30.0),
            learner([2], splits="random", n_trees=3, step=0.01),
        )
    ]
    assert found[0] == pytest.approx(EPSILON)
    assert 0.99 * EPSILON < found[1] <= EPSILON * (1 + 1e-9)
    assert 0.99 * EPSILON < found[2] <= EPSILON * (1 + 1e-9)
