"""Enumeration of small cases: no sensitivity is too small, or looser than the docs say."""

import itertools
import math

import numpy as np
import pytest
from tree import weights_of

from privcurve.privacy.sensitivity import lazybb as s
from privcurve.privacy.sensitivity.counts import histogram_l1
from privcurve.privacy.sensitivity.impurity import (
    distributed_split_published,
    impurity,
    split_sensitivity,
)

CRITERIA = ["gini", "entropy", "root_gini", "zero_one"]


def potential(records, criterion):
    """Return Σ over leaves of w·G(q), for (leaf, label) records."""
    total = 0.0
    for leaf in {leaf for leaf, _ in records}:
        labels = [label for at, label in records if at == leaf]
        total += len(labels) * impurity(sum(labels) / len(labels), criterion)
    return total


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("n", [1, 2, 5, 8])
def test_added_record_changes_split_score_by_zero_to_f1(criterion, n):
    types = list(itertools.product((0, 1), (0, 1)))
    changes = [
        potential([*rest, new], criterion) - potential(list(rest), criterion)
        for rest in itertools.combinations_with_replacement(types, n - 1)
        for new in types
    ]
    bound = split_sensitivity(n, criterion)
    assert min(changes) >= -1e-12
    assert max(changes) == pytest.approx(bound, abs=1e-12)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_replaced_record_changes_split_scores_over_a_range_of_exactly_2_f1(criterion):
    # Records are (leaf under candidate 1, leaf under candidate 2, label).
    n, types = 4, list(itertools.product((0, 1), repeat=3))
    largest_change = largest_range = 0.0
    for rest in itertools.combinations_with_replacement(types, n - 1):
        scores = {
            new: [potential([(r[h], r[2]) for r in (*rest, new)], criterion) for h in (0, 1)]
            for new in types
        }
        for old, new in itertools.permutations(types, 2):
            change = [b - a for a, b in zip(scores[old], scores[new], strict=True)]
            largest_change = max(largest_change, *map(abs, change))
            largest_range = max(largest_range, max(change) - min(change))
    assert largest_change == pytest.approx(split_sensitivity(n, criterion))
    assert largest_range == pytest.approx(2 * split_sensitivity(n, criterion))
    if criterion == "gini":
        # With weights 1/n, ζ = 1/n: DP-TopDown's 8ζ, up to the factor (n − 1)/n.
        ratio = largest_range / n / (s.TOP_DOWN_SPLIT / n)
        assert ratio == pytest.approx((n - 1) / n)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_all_nodes_of_a_level_cost_no_more_than_one(criterion):
    # Records are (node, leaf under candidate 1, under candidate 2, label); the ranges of the two
    # nodes add up.
    n, types = 3, list(itertools.product((0, 1), repeat=4))
    bound = 2 * split_sensitivity(n, criterion)
    largest = 0.0
    for rest in itertools.combinations_with_replacement(types, n - 1):
        scores = {
            new: np.array(
                [
                    [
                        potential(
                            [(r[1 + h], r[3]) for r in (*rest, new) if r[0] == node],
                            criterion,
                        )
                        for h in (0, 1)
                    ]
                    for node in (0, 1)
                ]
            )
            for new in types
        }
        for old, new in itertools.combinations(types, 2):
            largest = max(largest, float(np.ptp(scores[new] - scores[old], axis=1).sum()))
    assert largest == pytest.approx(bound)


def test_published_split_sensitivities():
    for m in (2, 10, 26, 27, 1000, 32561):
        for criterion in ("gini", "entropy"):
            published = distributed_split_published(m, criterion)
            assert published >= split_sensitivity(m, criterion) / m
        too_small = distributed_split_published(m, "root_gini") < (
            split_sensitivity(m, "root_gini") / m
        )
        assert too_small == (m >= 27)


# LazyBB ----------------------------------------------------------------------------


def neighbouring_weights(n, density, learning_rate, rounds_before):
    """Yield all pairs of weights of neighbours; the replaced record comes first."""
    values = range(-rounds_before, rounds_before + 1, 2)
    for rest in itertools.combinations_with_replacement(values, n - 1):
        weights = [
            weights_of(np.array([first, *rest], dtype=float), density, learning_rate)
            for first in values
        ]
        yield from itertools.product(weights, repeat=2)


def labelled_change(mu, other):
    """Return the change of mass on labelled points when the first record becomes another point."""
    return np.concatenate([[-mu[0], other[0]], other[1:] - mu[1:]])


@pytest.mark.parametrize("density", [0.3, 0.5, 1.0])
@pytest.mark.parametrize("learning_rate", [0.25, 1.0])
@pytest.mark.parametrize("n", [2, 3, 5])
def test_zeta_bounds_weights_normalised_and_not(n, density, learning_rate):
    n_rounds = 5
    zeta = s.lazybb_zeta_rounds(n, density, learning_rate, n_rounds)
    for t in range(n_rounds):
        distance = part = l1 = 0.0
        for mu, other in neighbouring_weights(n, density, learning_rate, t):
            assert mu.sum() >= density * n * (1 - 1e-9)
            assert mu.max() / mu.sum() <= (1 + 1e-9) / (density * n)
            change = labelled_change(mu / mu.sum(), other / other.sum())
            distance = max(distance, np.maximum(change, 0).sum())
            l1 = max(l1, np.abs(change).sum())
            change = labelled_change(mu, other) / (density * n)
            part = max(part, np.maximum(change, 0).sum(), -np.minimum(change, 0).sum())
        assert distance <= zeta[t] * (1 + 1e-9)
        assert part <= zeta[t] * (1 + 1e-9)
        assert l1 <= s.lazybb_margins_l1(zeta[t]) * (1 + 1e-9)
        if density * (n - 1) >= 1:
            assert max(distance, part) >= 0.8 * zeta[t]
            if t == 0:
                assert distance == pytest.approx(zeta[0]) == pytest.approx(1 / n)
    assert np.all(np.diff(zeta) >= 0)
    assert np.all(zeta <= s.lazybb_zeta(n, density) * (1 + 1e-12))


def test_zeta_is_attained():
    n, density = 5, 0.5
    worst = max(
        np.maximum(labelled_change(a / a.sum(), b / b.sum()), 0).sum()
        for a, b in neighbouring_weights(n, density, 1.0, 4)
    )
    assert worst == pytest.approx(s.lazybb_zeta(n, density), rel=1e-3)


def test_unnormalised_weights_need_their_own_term_when_density_times_n_is_small():
    n, density, learning_rate = 2, 0.3, math.log(3)
    printed = min(1 / (density * n), 9 / (9 + n - 1))  # ζ₂ of normalised weights
    mu = weights_of(np.array([-1.0, 1.0]), density, learning_rate)
    assert mu[0] / (density * n) > printed
    ours = s.lazybb_zeta_rounds(n, density, learning_rate, 2)[1]
    assert mu[0] / (density * n) == pytest.approx(ours)
    # So the mass that moves between neighbours exceeds the printed bound, and attains ours.
    moved = max(
        np.maximum(labelled_change(a, b), 0).sum() / (density * n)
        for a, b in neighbouring_weights(n, density, learning_rate, 1)
    )
    assert moved == pytest.approx(5 / 3 * printed)
    assert moved == pytest.approx(ours)
    # Normalised weights satisfy the printed bound: docs/proofs.md, 'LazyBB: first rounds'.
    shares = max(
        np.maximum(labelled_change(a / a.sum(), b / b.sum()), 0).sum()
        for a, b in neighbouring_weights(n, density, learning_rate, 1)
    )
    assert shares <= printed * (1 + 1e-9)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_weighted_split_range_holds(criterion):
    # Unnormalised weights in units of κn; records are (leaf under candidate 1, 2, label).
    n, density, learning_rate, t = 4, 0.5, 0.5, 3
    rng = np.random.default_rng(19)

    def score(weights, leaves, labels):
        total = 0.0
        for leaf in (0, 1):
            mass = [weights[(leaves == leaf) & (labels == y)].sum() for y in (0, 1)]
            if sum(mass) > 0:
                total += sum(mass) * impurity(mass[1] / sum(mass), criterion)
        return total / (density * n)

    pairs = list(neighbouring_weights(n, density, learning_rate, t - 1))
    bound = s.lazybb_split_range(
        n, s.lazybb_zeta_rounds(n, density, learning_rate, t)[-1], criterion
    )
    for _ in range(1000):
        mu, other = pairs[rng.integers(len(pairs))]
        before = rng.integers(2, size=(n, 3))
        after = np.vstack([rng.integers(2, size=(1, 3)), before[1:]])
        change = [
            score(other, after[:, h], after[:, 2]) - score(mu, before[:, h], before[:, 2])
            for h in (0, 1)
        ]
        assert abs(change[0] - change[1]) <= bound * (1 + 1e-9)
    # Uniform weights attain 2F₁(n)/n (enumerated above); the bound is 2F₁(n + 1)/n.
    uniform = s.lazybb_split_range(n, 1 / n, criterion)
    assert uniform == pytest.approx(2 * split_sensitivity(n + 1, criterion) / n)


def test_zeta_without_overflow_in_late_rounds():
    zeta = s.lazybb_zeta_rounds(1000, 0.3, 1.0, 5000)
    assert np.all(np.isfinite(zeta))
    assert zeta[-1] == s.lazybb_zeta(1000, 0.3)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: s.lazybb_zeta(0, 0.5), "n must be .* got 0"),
        (lambda: split_sensitivity(5, "misspelt"), "misspelt"),
        (lambda: histogram_l1("neighbourly"), "neighbourly"),
        (lambda: distributed_split_published(5, "zero_one"), "zero_one"),
    ],
)
def test_bad_arguments_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
