"""Constants of distributed trees, by enumeration of small cases."""

import itertools
import math

import numpy as np
import pytest

from privcurve.kernels.holder_counts import weighted_impurity
from privcurve.kernels.random_trees import residuals
from privcurve.kernels.trees.choice import CRITERIA
from privcurve.privacy.sensitivity.counts import LARGEST_UNIT, residual_norm, residual_sums_l2
from privcurve.privacy.sensitivity.impurity import split_sensitivity


@pytest.mark.parametrize("criterion", ["gini", "entropy", "zero_one"])
@pytest.mark.parametrize("n_classes", [2, 3, 4])
def test_an_added_record_changes_f_by_at_most_f1_for_any_number_of_classes(criterion, n_classes):
    place = CRITERIA.index(criterion)
    for n in range(1, 8):
        largest = 0.0
        for counts in itertools.product(range(n), repeat=n_classes):
            if sum(counts) != n - 1:
                continue
            for c in range(n_classes):
                more = np.array(counts, dtype=np.float64)
                before = weighted_impurity(more, place)
                more[c] += 1
                change = weighted_impurity(more, place) - before
                assert change >= -1e-12
                largest = max(largest, change)
        # A record of a new class in a leaf of one other class attains the bound.
        assert largest == pytest.approx(split_sensitivity(n, criterion), abs=1e-12)


def contributions(n_outputs, scores, unit):
    """Return the numbers that a record of each class and score adds to its leaf."""
    k = max(n_outputs, 2)
    classes = np.repeat(np.arange(k), len(scores))
    table = residuals(np.tile(scores, (k, 1)), classes, unit, residual_norm(k))
    return np.unique(table, axis=0) * unit


@pytest.mark.parametrize("unit", [LARGEST_UNIT, 2.0**-18])
def test_residuals_of_two_classes_have_sensitivity_one(unit):
    scores = np.linspace(-20, 20, 801)[:, None]
    sums = contributions(1, scores, unit)
    assert np.abs(sums[:, 0]).max() == 0.5
    apart = ((sums[:, None, :] - sums[None, :, :]) ** 2).sum(axis=2).max()
    two_leaves = 2 * (sums**2).sum(axis=1).max()
    assert max(apart, two_leaves) == residual_sums_l2(2) ** 2 == 1.0


@pytest.mark.parametrize("n_classes", [3, 4, 10])
def test_residuals_of_several_classes_stay_within_their_sensitivity(n_classes):
    rng = np.random.default_rng(n_classes)
    scores = np.concatenate(
        [rng.normal(scale=s, size=(20, n_classes)) for s in (0.1, 1.0, 5.0, 50.0)]
    )
    scores = np.concatenate([scores, 50 * np.eye(n_classes)])
    sums = contributions(n_classes, scores, LARGEST_UNIT)
    # Up to rounding: a shortened vector has the length 1/√2.
    lengths = np.linalg.norm(sums[:, :-1], axis=1)
    assert lengths.max() == pytest.approx(
        residual_norm(n_classes), abs=math.sqrt(n_classes) * LARGEST_UNIT
    )
    apart = ((sums[:, None, :] - sums[None, :, :]) ** 2).sum(axis=2).max()
    two_leaves = 2 * (sums**2).sum(axis=1).max()
    bound = residual_sums_l2(n_classes) ** 2
    # 2c, and half a unit of either record for each of K + 1 entries.
    rounded = math.sqrt(n_classes + 1) * LARGEST_UNIT
    assert bound == pytest.approx((math.sqrt(2) + rounded) ** 2, rel=1e-12)
    assert 0.97 * bound < max(apart, two_leaves) <= bound
