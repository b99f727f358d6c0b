"""Enumerate small cases: sensitivities of random classifiers, counts and histograms."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from privcurve.privacy.calibration.brc import (
    brc_delta_published,
    brc_delta_rounds,
    brc_edge_rounds,
)
from privcurve.privacy.sensitivity.counts import (
    feature_histograms_l1,
    histogram_l1,
    histogram_l2,
    margins_l1,
    noisy_counts_published,
)

# BRC -------------------------------------------------------------------------------


def largest_error_change(n: int, weights: list[float]) -> float:
    def error(records: tuple[tuple[float, int], ...]) -> float:
        return sum(w * x for w, x in records) / sum(w for w, _ in records)

    types = list(itertools.product(weights, (0, 1)))
    return max(
        abs(error((*rest, old)) - error((*rest, new)))
        for rest in itertools.combinations_with_replacement(types, n - 1)
        for old, new in itertools.combinations(types, 2)
    )


@pytest.mark.parametrize(("c1", "c2"), [(1.0, 1.0), (1.5, 2.0), (3.0, 1.0)])
@pytest.mark.parametrize("n", [1, 2, 4])
def test_brc_delta_is_exact(n: int, c1: float, c2: float) -> None:
    weights = sorted({1 / c1, 0.5 * (1 / c1 + 1), 1.0, 0.5 * (1 + c2), c2})
    exact = c1 * c2 / (n - 1 + c1 * c2)
    assert largest_error_change(n, weights) == pytest.approx(exact)
    published = brc_delta_published(n, c1, c2)
    assert published / exact == pytest.approx(1 + (c1 * c2 - 1) / n)


def test_brc_delta_of_a_round_is_exact_for_its_weights() -> None:
    n, c1, c2, alphas = 3, 2.0, 3.0, [0.4, -0.5, 2.0]
    deltas = brc_delta_rounds(n, c1, c2, alphas)
    assert deltas[0] == pytest.approx(1 / n)
    for t, delta in enumerate(deltas):
        up = sum(a for a in alphas[:t] if a > 0)
        down = sum(a for a in alphas[:t] if a < 0)
        low, high = max(1 / c1, math.exp(down)), min(c2, math.exp(up))
        assert largest_error_change(n, [low, 1.0, high]) == pytest.approx(delta)
    assert np.all(deltas <= c1 * c2 / (n - 1 + c1 * c2) * (1 + 1e-12))


def test_brc_edge() -> None:
    n, c2 = 3, 2.0
    edges = [w * (0.5 - x) / n for w in (0.5, 1.0, c2) for x in (0, 1)]
    assert max(edges) - min(edges) == pytest.approx(brc_edge_rounds(n, c2, [9.0])[-1])


# Histograms ------------------------------------------------------------------------


def largest_norm(statistics: list[np.ndarray], order: int) -> tuple[float, float]:
    """Largest norm of the change when a record is replaced, and when one is added."""
    replaced = max(np.linalg.norm(a - b, order) for a, b in itertools.product(statistics, repeat=2))
    added = max(np.linalg.norm(a, order) for a in statistics)
    return float(replaced), float(added)


@pytest.mark.parametrize("order", [1, 2])
def test_histogram_constants(order: int) -> None:
    # A statistic that is a sum over records: what matters is one record's contribution.
    constant = histogram_l1 if order == 1 else histogram_l2
    replaced, added = largest_norm(list(np.eye(4)), order)
    assert constant("replace-one") == pytest.approx(replaced)
    assert constant("add-remove") == pytest.approx(added)
    weighted, _ = largest_norm([w * cell for w in (0.1, 0.7) for cell in np.eye(4)], order)
    assert constant("replace-one", 0.7) == pytest.approx(weighted)


def test_margins_constant() -> None:
    one_record = [sign * leaf for sign in (-1, 1) for leaf in np.eye(3)]
    assert margins_l1() == pytest.approx(largest_norm(one_record, 1)[0])


@pytest.mark.parametrize("n_candidates", [1, 3])
def test_candidate_counts_constants(n_candidates: int) -> None:
    def joint(sides: tuple[int, ...], label: int) -> np.ndarray:
        return np.concatenate([np.eye(4)[2 * side + label] for side in sides])

    def families(sides: tuple[int, ...], label: int) -> np.ndarray:
        singles = [np.concatenate([np.eye(2)[label], np.eye(2)[side]]) for side in sides]
        return np.concatenate([joint(sides, label), *singles])

    records = list(itertools.product(itertools.product((0, 1), repeat=n_candidates), (0, 1)))
    replaced, added = largest_norm([joint(*r) for r in records], 1)
    assert (2 * n_candidates, n_candidates) == (replaced, added)
    replaced, added = largest_norm([families(*r) for r in records], 1)
    assert noisy_counts_published(n_candidates) == added == replaced / 2


def test_feature_histograms_constant() -> None:
    records = [
        np.concatenate([np.eye(6)[2 * code + label] for code in codes])
        for codes in itertools.product(range(3), repeat=2)
        for label in (0, 1)
    ]
    assert feature_histograms_l1(2) == largest_norm(records, 1)[0]


def test_clamped_leaves_constant_is_attained() -> None:
    bound = 5.0

    def values(leaf: int) -> np.ndarray:
        """A positive record of weight 1 in `leaf`, a light negative one in each leaf."""
        positive = np.array([1.0, 1.0]) * (np.arange(2) == leaf)
        odds = (positive + 1e-6) / (1e-3 + 1e-6)
        return np.clip(np.log(odds), -bound, bound)

    assert np.abs(values(0) - values(1)).sum() == pytest.approx(4 * bound)


def test_noisy_max_with_its_value_costs_k_alpha_over_2() -> None:
    # §e1: k = 3 scores, all shifted by Δ = 1; Lap(2Δ/α) with α = 1; event {max ≤ −6}.
    chance = 0.5 * math.exp(-6 / 2), 0.5 * math.exp(-7 / 2)
    assert math.log((chance[0] / chance[1]) ** 3) == pytest.approx(3 / 2)
