"""Constants of distributed trees, by enumeration of small cases."""

import itertools
import math

import numpy as np
import pytest
from exact_holder import ExactHolder
from tree_scores import score_node

from privcurve.holders.holder import Ballot, HolderRows
from privcurve.holders.sums import Release
from privcurve.kernels.holder_counts import impure, list_questions
from privcurve.kernels.lazybb_trees import bin_rows
from privcurve.kernels.random_trees import residuals
from privcurve.kernels.trees.choice import CRITERIA
from privcurve.kernels.trees.form import bin_codes
from privcurve.privacy.mechanisms import (
    EXPONENTIAL,
    GAUSSIAN,
    LAPLACE,
    draw_share,
    exponential_probabilities,
)
from privcurve.privacy.sensitivity.counts import (
    LARGEST_UNIT,
    feature_histograms_l1,
    feature_histograms_l2,
    residual_norm,
    residual_sums_l2,
)
from privcurve.privacy.sensitivity.impurity import split_range, split_sensitivity


def holder(codes, labels, n_bins, n_classes=2):
    """One holder with all records, for exact answers."""
    bins = np.asarray(n_bins)
    rows = bin_codes(np.asarray(codes, dtype=np.uint8), bins)
    part = HolderRows(rows, np.asarray(labels, dtype=np.int64), np.ones(len(rows), dtype=np.int64))
    return ExactHolder(part, list_questions(bins, [True] * len(bins)), n_classes)


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
                before = impure(more, place)
                more[c] += 1
                change = impure(more, place) - before
                assert change >= -1e-12
                largest = max(largest, change)
        # A new class beside records of one other: attained.
        assert largest == pytest.approx(split_sensitivity(n, criterion), abs=1e-12)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_votes_of_a_whole_level_change_within_the_range(criterion):
    """A tree of depth 2: the record leaves a node of the second level, and enters one."""
    n_bins, n = (2, 2), 3
    cells = list(itertools.product(range(2), range(2), range(2)))
    bound = split_range(n, criterion)
    worst = 0.0
    for rest in itertools.combinations_with_replacement(cells, n - 1):
        values = {}
        for one in cells:
            rows = np.array([one, *rest])
            made = holder(rows[:, :2], rows[:, 2], n_bins)
            made.split(0, 0, 1)
            ballot = Ballot(EXPONENTIAL, criterion, 1.0)
            # Log-chances at rate 1 are −F up to a number of the node.
            values[one] = [made.chances(node, ballot) for node in (1, 2)]
        for one, other in itertools.combinations(cells, 2):
            loss = sum(np.ptp(a - b) for a, b in zip(values[one], values[other], strict=True))
            worst = max(worst, loss)
    assert 0 < worst <= bound + 1e-12


def test_votes_are_chosen_as_the_tree_of_one_machine_chooses():
    rng = np.random.default_rng(5)
    n_bins = np.array([3, 2])
    codes = rng.integers(0, n_bins, size=(9, 2)).astype(np.uint8)
    signs = rng.choice([-1, 1], size=9).astype(np.int8)
    made = holder(codes, (signs + 1) // 2, n_bins)
    rows = bin_rows(codes, n_bins, signs, np.ones(9, dtype=np.int64))
    for criterion in CRITERIA:
        scores = score_node(rows, rows.counts, 9.0, np.ones(9, dtype=bool), True, criterion)
        # Thresholds stand behind the questions for single codes, the last of a column is none.
        asked = -scores.values[made.questions.numbers]
        rate = 2.5
        expected = exponential_probabilities(asked, rate * 9)
        found = np.exp(made.chances(0, Ballot(EXPONENTIAL, criterion, rate)))
        assert found == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_histograms_of_a_whole_level_have_their_sensitivities(n_classes):
    n_bins = (2, 3)
    cells = list(itertools.product(range(2), range(3), range(n_classes)))
    rest = [(0, 1, 0), (1, 2, 1)]
    plain = Release(LAPLACE, 0.0)
    largest = np.zeros(2)
    tables = {}
    for one in cells:
        rows = np.array([one, *rest])
        made = holder(rows[:, :2], rows[:, 2], n_bins, n_classes)
        made.split(0, 0, 1)
        tables[one] = np.stack([made.counts(node, [0, 1], plain) for node in (1, 2)])
    for one, other in itertools.combinations(cells, 2):
        change = tables[one] - tables[other]
        largest = np.maximum(largest, [np.abs(change).sum(), (change**2).sum()])
    assert largest == pytest.approx([feature_histograms_l1(2), feature_histograms_l2(2) ** 2])


def contributions(n_outputs, scores, unit):
    """What a record of each class and score adds to its leaf, in numbers."""
    k = max(n_outputs, 2)
    classes = np.repeat(np.arange(k), len(scores))
    table = residuals(np.tile(scores, (k, 1)), classes, unit, residual_norm(k))
    return np.unique(table, axis=0) * unit


@pytest.mark.parametrize("unit", [LARGEST_UNIT, 2.0**-18])
def test_residuals_of_two_classes_have_sensitivity_one(unit):
    scores = np.linspace(-20, 20, 801)[:, None]
    found = contributions(1, scores, unit)
    assert np.abs(found[:, 0]).max() == 0.5
    apart = ((found[:, None, :] - found[None, :, :]) ** 2).sum(axis=2).max()
    two_leaves = 2 * (found**2).sum(axis=1).max()
    assert max(apart, two_leaves) == residual_sums_l2(2) ** 2 == 1.0


def test_a_larger_factor_or_whole_residuals_would_need_more_noise():
    scores = np.linspace(-20, 20, 801)
    g = np.concatenate([1 / (1 + np.exp(-scores)), 1 / (1 + np.exp(-scores)) - 1])
    clipped = np.clip(g, -0.5, 0.5)
    wider = np.column_stack([clipped, 1.01 * np.abs(clipped)])
    assert 2 * (wider**2).sum(axis=1).max() > 1.0
    whole = np.column_stack([g, np.abs(g)])
    apart = ((whole[:, None, :] - whole[None, :, :]) ** 2).sum(axis=2).max()
    assert apart == pytest.approx(4.0, abs=1e-6)
    # No factor before p(1 − p) is free beside clipped residuals.
    p = 1 / (1 + np.exp(-scores))
    curved = np.column_stack([clipped, 0.1 * np.concatenate([p * (1 - p)] * 2)])
    assert ((curved[:, None, :] - curved[None, :, :]) ** 2).sum(axis=2).max() > 1.0


@pytest.mark.parametrize("n_classes", [3, 4, 10])
def test_residuals_of_several_classes_stay_within_their_sensitivity(n_classes):
    rng = np.random.default_rng(n_classes)
    scores = np.concatenate(
        [rng.normal(scale=s, size=(20, n_classes)) for s in (0.1, 1.0, 5.0, 50.0)]
    )
    scores = np.concatenate([scores, 50 * np.eye(n_classes)])
    found = contributions(n_classes, scores, LARGEST_UNIT)
    # Up to rounding: a shortened vector has the length 1/√2.
    lengths = np.linalg.norm(found[:, :-1], axis=1)
    assert lengths.max() == pytest.approx(
        residual_norm(n_classes), abs=math.sqrt(n_classes) * LARGEST_UNIT
    )
    apart = ((found[:, None, :] - found[None, :, :]) ** 2).sum(axis=2).max()
    two_leaves = 2 * (found**2).sum(axis=1).max()
    bound = residual_sums_l2(n_classes) ** 2
    # 2c, and for each of K + 1 entries half a unit of either record.
    rounded = math.sqrt(n_classes + 1) * LARGEST_UNIT
    assert bound == pytest.approx((math.sqrt(2) + rounded) ** 2, rel=1e-12)
    assert 0.97 * bound < max(apart, two_leaves) <= bound


def test_where_a_clipped_score_stands_the_decision_is_right():
    """q·min(1−p, ½) = (1−q)·min(p, ½) has p > ½ just where q > ½."""
    for q in np.linspace(0.02, 0.98, 25):
        p = np.linspace(1e-6, 1 - 1e-6, 400_001)
        balance = q * np.minimum(1 - p, 0.5) - (1 - q) * np.minimum(p, 0.5)
        stationary = p[np.argmax(balance <= 0)]
        assert (stationary > 0.5 + 1e-3) == (q > 0.5 + 1e-9)


def test_shares_of_gaussian_noise_add_up_to_the_whole():
    rng = np.random.default_rng(0)
    total = sum(draw_share(GAUSSIAN, rng, (40_000,), 3.0, 5) for _ in range(5))
    assert total.std() == pytest.approx(3.0, rel=0.02)
