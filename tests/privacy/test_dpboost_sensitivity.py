"""The constants of DPBoost, by search: docs/competitors.md, lemmas D1 and D3."""

import itertools

import numpy as np
import pytest

from privcurve.kernels.dpboost import part_gain
from privcurve.privacy.calibration.dpboost import (
    GAIN_FALL,
    GAIN_RANGE_CERTIFIED,
    GAIN_RISE,
    leaf_bounds,
    leaf_l1,
)

LAMBDAS = (0.0, 0.1, 1.0, 30.0)


def changes(regularisation, sizes, n_points=9):
    """Changes of S²/(n + λ) by an added record, over a grid of sums and gradients."""
    for n in sizes:
        for share, g in itertools.product(np.linspace(-1, 1, n_points), repeat=2):
            before = part_gain(share * n, n, regularisation)
            yield part_gain(share * n + g, n + 1, regularisation) - before


@pytest.mark.parametrize("regularisation", LAMBDAS)
def test_an_added_record_changes_the_gain_by_minus_3_to_1(regularisation):
    found = list(changes(regularisation, (0, 1, 2, 3, 5, 10, 100, 10**4, 10**6)))
    rounding = 1e-8
    assert max(found) <= GAIN_RISE + rounding
    assert min(found) >= -GAIN_FALL - rounding
    # Both are approached: no smaller constant is right.
    assert max(found) > 0.99 * GAIN_RISE
    assert min(found) < -0.99 * GAIN_FALL


def test_the_range_of_a_replacement_is_approached():
    """One replaced record moves the gains of two splits by +4 and by −4."""
    n, regularisation = 10**6, 0.1

    def gain(*sides):
        return sum(part_gain(float(s), m, regularisation) for s, m in sides)

    # n records of either sign. By the first split the record leaves those of the other
    # sign for those of its own; by the second it goes the opposite way.
    apart = (-n + 1, n + 1), (n, n)
    together = (-n, n), (n + 1, n + 1)
    first = gain(*together) - gain(*apart)
    second = gain(*apart) - gain(*together)
    assert first == pytest.approx(4, abs=1e-3)
    assert first - second == pytest.approx(GAIN_RANGE_CERTIFIED, abs=2e-3)


def values(gradients, regularisation, bound):
    if not gradients:
        return 0.0
    value = -sum(gradients) / (len(gradients) + regularisation)
    return max(-bound, min(bound, value))


@pytest.mark.parametrize("regularisation", LAMBDAS)
@pytest.mark.parametrize("tree", [0, 3, 12, 40])
def test_leaves_move_by_no_more_than_their_l1_sensitivity(regularisation, tree):
    bound = leaf_bounds(tree + 1, 0.1)[tree]
    limit = leaf_l1(tree + 1, 0.1, regularisation, "certified")[tree]
    grid = (-1.0, -0.5, -0.1, 0.0, 0.1, 0.5, 1.0)
    one = 0.0
    for n in range(4):
        for gradients in itertools.combinations_with_replacement(grid, n):
            before = values(gradients, regularisation, bound)
            for g in grid:
                after = values((*gradients, g), regularisation, bound)
                one = max(one, abs(after - before))
    # A replaced record leaves one leaf and enters another: twice what one record does.
    assert 2 * one <= limit * (1 + 1e-12)
    assert 2 * one > 0.45 * limit


def test_leaf_sensitivity_is_attained():
    # A record moves between two leaves that are empty without it.
    limit = leaf_l1(1, 0.1, 0.1, "certified")[0]
    moved = 2 * abs(values((1.0,), 0.1, 1.0))
    assert moved == pytest.approx(limit)
    assert leaf_l1(1, 0.1, 0.1, "published")[0] == pytest.approx(limit / 2)
