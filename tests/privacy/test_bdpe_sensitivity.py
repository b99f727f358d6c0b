"""Sensitivities of a boosted ensemble's steps, by enumeration of few weighted records."""

import itertools
import math

import numpy as np
import pytest

from privcurve.kernels.m_alpha import bayes_weight, largest_link
from privcurve.privacy.calibration.bdpe import _flip_loss, published
from privcurve.privacy.sensitivity.counts import (
    histogram_l1,
    histogram_l2,
    margins_l1,
    margins_l2,
    released_error,
)
from privcurve.privacy.sensitivity.impurity import boosted_split_published, split_sensitivity

# A record: which side of question 1, of question 2, its label. Weights are w̄, or less.
CELLS = list(itertools.product((0, 1), (0, 1), (-1, 1)))
BOUND = 0.8


def sums(data, sides):
    """Weights of either label on either side, for some records with a weight each."""
    found = np.zeros((2, 2))
    for (record, weight), side in zip(data, sides, strict=True):
        found[side, (record[2] + 1) // 2] += weight
    return found


def phi(data, question, alpha):
    parts = sums(data, [record[question] for record, _ in data])
    return sum(bayes_weight(b, a, alpha) for a, b in parts)


def neighbours(m, weights=(BOUND,)):
    """All data of m records, each with its replacement of the first."""
    for others in itertools.combinations_with_replacement(CELLS, m - 1):
        rest = [(record, BOUND) for record in others]
        for one, other in itertools.product(CELLS, repeat=2):
            for v, w in itertools.product(weights, repeat=2):
                yield [(one, v), *rest], [(other, w), *rest]


@pytest.mark.parametrize("alpha", [0.0, 0.1, 1.0])
@pytest.mark.parametrize(("m", "weights"), [(2, (BOUND, 0.3)), (3, (BOUND, 0.3)), (5, (BOUND,))])
def test_a_split_moves_by_its_sensitivity(m, weights, alpha):
    """The score by w̄F₁, the difference of two by 2w̄F₁; both are attained."""
    largest = spread = 0.0
    for left, right in neighbours(m, weights):
        moved = [phi(left, g, alpha) - phi(right, g, alpha) for g in (0, 1)]
        largest = max(largest, abs(moved[0]))
        spread = max(spread, abs(moved[0] - moved[1]))
    exact = BOUND * split_sensitivity(m, "m_alpha", alpha)
    assert largest == pytest.approx(exact, rel=1e-9)
    assert spread <= 2 * exact * (1 + 1e-9)
    assert split_sensitivity(m, "m_alpha", alpha) <= boosted_split_published(m, "m_alpha", alpha)


@pytest.mark.parametrize(
    ("epsilon", "clamp", "lost"), [(0.1, 10.0, 8.6), (1.0, 10.0, 6.2), (0.1, 1.0, 57.0)]
)
def test_published_leaves_lose_what_is_printed(epsilon, clamp, lost):
    """§f5: one leaf, one flipped label, noise of scale 2M/ε before the clamp, α = 1."""
    link = largest_link(1.0)
    assert _flip_loss(clamp, link, 2 * clamp / epsilon) / epsilon == pytest.approx(lost, abs=0.5)


def test_what_published_leaves_are_worth():
    """α = 0.1, M = 10: 1.2 ε is lost for certain, and 2R/M times ε by the proof; splits none."""

    def truth(**changes):
        known = {"n_trees": 1, "depth": 3, "calibrate_alpha": "no", "tree_share": 0.0}
        known |= {"clamp": 10.0, "largest_link": largest_link(0.1), "leverage": "constant"}
        given = {"sensitivity": 1.0, "epsilon": 0.1, "delta": 0.0}
        said = published(**{**known, **given, **changes})
        return said.status, said.caveat, said.proved_epsilon

    status, _, proved = truth()
    assert status == "refuted"
    assert proved == pytest.approx(0.1 * 2 * largest_link(0.1) / 10)
    # A clamp that no link reaches leaves the claim as it is; half of ε for the splits, of which
    # three levels of a tree cost (2 − 2^(1−3))/3 (§f2).
    assert truth(clamp=2 * largest_link(0.1)) == ("proved", "", None)
    _, _, proved = truth(tree_share=0.5)
    splits = 0.05 * (2 - 2.0**-2) / 3
    assert proved == pytest.approx(splits + 0.05 * 2 * largest_link(0.1) / 10)
    # What is computed from the exact records has no ε, or none that is known.
    assert truth(leverage="exact")[::2] == ("refuted", math.inf)
    assert truth(calibrate_alpha="exact")[2] is None


def test_errors_leaf_sums_and_margins():
    """Σ min(A, B) by w̄; leaf sums by 2w̄ in L1 and √2·w̄ in L2; margins by 2w̄ in both."""
    error, l1, l2, margin_l1, margin_l2 = np.zeros(5)
    for left, right in neighbours(4, (BOUND, 0.3)):
        parts = [sums(data, [record[0] for record, _ in data]) for data in (left, right)]
        moved = parts[0] - parts[1]
        error = max(error, abs(parts[0].min(axis=1).sum() - parts[1].min(axis=1).sum()))
        l1 = max(l1, np.abs(moved).sum())
        l2 = max(l2, np.sqrt((moved**2).sum()))
        margins = moved[:, 1] - moved[:, 0]
        margin_l1 = max(margin_l1, np.abs(margins).sum())
        margin_l2 = max(margin_l2, np.sqrt((margins**2).sum()))
    assert error == pytest.approx(released_error(BOUND))
    assert l1 == pytest.approx(histogram_l1(weight_bound=BOUND))
    assert l2 == pytest.approx(histogram_l2(weight_bound=BOUND))
    assert margin_l1 == pytest.approx(margins_l1(BOUND))
    assert margin_l2 == pytest.approx(margins_l2(BOUND))
    # Calibration asks for weights of at most 1.
    assert (margins_l1(), margins_l2(), histogram_l1()) == (2, 2, 2)
    assert histogram_l2() == pytest.approx(math.sqrt(2))
