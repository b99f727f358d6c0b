"""Test that Bayes risk, link, inverse link and surrogate of the Mα-loss are consistent."""

import itertools

import numpy as np
import pytest
from scipy.special import logit

from privcurve.papers.boosted_dp import m_alpha_curves
from privcurve.papers.boosted_dp.learners._m_alpha import (
    ZETA,
    bayes_weight,
    boosted_split_published,
    inverse_link,
    largest_link,
    link,
    link_of_leaves,
    log_odds_of_margins,
    record_weights,
    split_sensitivity,
)
from privcurve.privacy.sensitivity.impurity import impurity

ALPHAS = [0.05, 0.1, 0.5, 0.9, 1.0]
SHARES = np.array([1e-4, 0.01, 0.2, 0.35, 0.499, 0.501, 0.7, 0.95, 0.9999])


def surrogate(margin, alpha):
    """Return the surrogate loss F(z) = λ(−z) of a record with the margin z = y·H(x).

    λ(z) = max_q (z·q + L(q)), where L is the Bayes risk. It is 1 + z/2 for |z| ≤ 2(1 − α), and
    larger than 1 + z/2 for other z.
    """
    beyond = np.abs(margin) / 2 - (1 - alpha)
    return 1 - margin / 2 + np.where(beyond > 0, np.sqrt(alpha**2 + beyond**2) - alpha, 0)


@pytest.mark.parametrize("alpha", [0.0, *ALPHAS])
def test_the_bayes_risk_is_the_criterion_of_splits(alpha):
    for q in SHARES:
        weight = bayes_weight(7 * q, 7 * (1 - q), alpha)
        risk = alpha * impurity(q, "root_gini") + (1 - alpha) * impurity(q, "zero_one")
        assert weight == pytest.approx(7 * risk, rel=1e-12)
    assert bayes_weight(3.0, 0.0, alpha) == bayes_weight(0.0, 3.0, alpha) == 0.0


@pytest.mark.parametrize("alpha", [0.0, *ALPHAS])
def test_the_link_is_the_slope_of_the_bayes_risk(alpha):
    for q in SHARES:
        h = 1e-6 * q * (1 - q)
        rise = bayes_weight(q + h, 1 - q - h, alpha) - bayes_weight(q - h, 1 - q + h, alpha)
        assert link(q, alpha) == pytest.approx(-rise / (2 * h), rel=1e-6)
        # Numerical derivatives are inaccurate, so the link is also compared with the paper's
        # formula (87).
        exact = alpha * (2 * q - 1) / np.sqrt(q * (1 - q)) + 2 * (1 - alpha) * np.sign(2 * q - 1)
        assert link(q, alpha) == pytest.approx(exact, rel=1e-12)
    assert link(0.5, alpha) == 0


@pytest.mark.parametrize("alpha", ALPHAS)
def test_the_inverse_undoes_the_link(alpha):
    for q in SHARES:
        assert inverse_link(link(q, alpha), alpha) == pytest.approx(q, abs=1e-9)
    for z in np.linspace(-2 * (1 - alpha), 2 * (1 - alpha), 9):
        assert inverse_link(z, alpha) == 0.5
    # If a label is flipped, the record's weight w becomes 1 − w.
    for z in (-7.0, -2.5, 0.3, 4.0):
        assert inverse_link(z, alpha) + inverse_link(-z, alpha) == pytest.approx(1, abs=1e-12)


def test_without_alpha_the_inverse_is_a_step():
    assert [inverse_link(z, 0.0) for z in (-2.01, -2.0, 0.0, 2.0, 2.01)] == [0, 0.5, 0.5, 0.5, 1]


@pytest.mark.parametrize("alpha", ALPHAS)
def test_no_record_weighs_more_than_the_inverse_link_of_the_reach(alpha):
    for reach in (0.0, 0.3, 1.0, 2.0, 5.0, 40.0):
        scores = np.linspace(-reach, reach, 21)
        for sign in (-1, 1):
            weights = record_weights(scores, np.full(21, sign, dtype=np.int8), alpha)
            assert weights.max() == pytest.approx(inverse_link(reach, alpha), abs=1e-12)


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("n", [2, 5])
def test_a_replaced_record_changes_split_scores_by_the_sensitivity(n, alpha):
    """Over all replacements in tables of n records, the largest change is the sensitivity.

    A record is a pair (leaf, label). The score of a table is Σ (A + B)·L(q) over the two leaves:
    A and B are the numbers of records of the two labels in a leaf, and q = A/(A + B).
    """

    def score(records):
        counts = [[records.count((leaf, label)) for label in (0, 1)] for leaf in (0, 1)]
        return sum(bayes_weight(float(a), float(b), alpha) for a, b in counts)

    types = list(itertools.product((0, 1), repeat=2))
    changes = [
        score([*rest, new]) - score([*rest, old])
        for rest in itertools.combinations_with_replacement(types, n - 1)
        for old, new in itertools.permutations(types, 2)
    ]
    assert max(changes) == pytest.approx(split_sensitivity(n, alpha), rel=1e-12)


def test_the_published_sensitivity_of_splits_is_valid_and_loose():
    for m, alpha in itertools.product((2, 10, 1000, 32561), [0.0, *ALPHAS]):
        assert 1 <= boosted_split_published(m, alpha) / split_sensitivity(m, alpha) < 2
    assert boosted_split_published(9, 0.25) == pytest.approx(4)


def test_weights_and_leaves():
    scores, signs = np.array([3.0, 3.0, -1.0]), np.array([1, -1, 1], dtype=np.int8)
    weights = record_weights(scores, signs, 1.0)
    assert weights == pytest.approx(
        [inverse_link(-3.0, 1.0), inverse_link(3.0, 1.0), inverse_link(1.0, 1.0)]
    )
    assert weights[1] > 0.5 > weights[0]
    positive, negative = np.array([3.0, 2.0, 0.0, -4.0, 1.0]), np.array([1.0, 0.0, 0.0, -1.0, -2.0])
    values = link_of_leaves(positive, negative, 1.0)
    # The five leaves have: a positive share of ¾; only positive records; no records; negative
    # weights of both labels, due to noise; a negative weight of the negative label, due to noise.
    # Negative weights count as 0.
    assert values == pytest.approx(
        [0.5 / np.sqrt(3 / 16), largest_link(1.0), 0, 0, largest_link(1.0)]
    )
    assert largest_link(1.0) == pytest.approx((1 - 2 * ZETA) / np.sqrt(ZETA * (1 - ZETA)))
    assert largest_link(0.1) == pytest.approx(0.1 * largest_link(1.0) + 1.8)


@pytest.mark.parametrize("alpha", ALPHAS)
def test_curves_of_the_surrogate_match_the_loss(alpha):
    margins = np.linspace(-4.03, 4.03, 87)
    assert m_alpha_curves.surrogate(margins, alpha) == pytest.approx(surrogate(margins, alpha))
    # The derivative of the surrogate is −ψ⁻¹(−z), and its second derivative is the derivative of
    # −ψ⁻¹(−z).
    step = 1e-6
    slopes = [-inverse_link(-z, alpha) for z in margins]
    bends = [
        (inverse_link(-z + step, alpha) - inverse_link(-z - step, alpha)) / (2 * step)
        for z in margins
    ]
    low, high = (m_alpha_curves.surrogate(margins + by, alpha) for by in (-step, step))
    assert (high - low) / (2 * step) == pytest.approx(slopes, abs=1e-6)
    assert m_alpha_curves.curvature(margins, alpha) == pytest.approx(bends, abs=1e-4)


def test_the_log_odds_of_a_margin_match_the_inverse_link():
    scores = np.linspace(-6, 6, 25)
    for alpha in (0.3, 1.0):
        inverse = record_weights(scores, -np.ones(25, dtype=np.int8), alpha)
        assert np.allclose(log_odds_of_margins(scores, alpha), logit(inverse))
