"""Mechanisms satisfy their guarantees.

Statistical tests use fixed seeds; with random seeds each would fail by chance with the probability
`FALSE_ALARM`.
"""

import itertools
import math
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from privcurve.privacy.budget import NEIGHBOURS, PROVED, PUBLISHED, relation
from privcurve.privacy.mechanisms import (
    EXPONENTIAL,
    GAUSSIAN,
    LAPLACE,
    LOGISTIC,
    MECHANISMS,
    NOISY_LABEL,
    OBJECTIVE_PERTURBATION,
    PERMUTE_AND_FLIP,
    SELECTIONS,
    TWO_LAPLACE,
    exponential_probabilities,
    permute_and_flip_probabilities,
    resolve,
)

FALSE_ALARM = 1e-6

score_lists = st.lists(st.floats(-3, 3), min_size=1, max_size=6)
rates = st.floats(0.01, 20)


def by_permutations(scores, rate):
    """Permute-and-flip by its definition: flip coins in a random order, and repeat if all fail."""
    chances = np.exp(rate * (np.array(scores) - max(scores)))
    shares = np.zeros(len(scores))
    orders = list(itertools.permutations(range(len(scores))))
    for order in orders:
        left = 1.0
        for i in order:
            shares[i] += left * chances[i]
            left *= 1 - chances[i]
    # The best candidate's coin always shows heads, so no order needs a second pass.
    return shares / len(orders)


@given(score_lists, rates)
@settings(max_examples=60)
def test_permute_and_flip_probabilities_follow_the_definition(scores, rate):
    assert permute_and_flip_probabilities(scores, rate) == pytest.approx(
        by_permutations(scores, rate), abs=1e-12
    )


@pytest.mark.parametrize(
    ("name", "probabilities"),
    [
        ("Exponential", exponential_probabilities),
        ("PermuteAndFlip", permute_and_flip_probabilities),
    ],
)
def test_diffprivlib_chooses_with_the_same_probabilities(name, probabilities):
    """An independent implementation, with the same rate: ε/(2·sensitivity)."""
    theirs = pytest.importorskip("diffprivlib.mechanisms")
    scores = [0.0, -0.1, -0.3, -0.35, -0.6]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        drawn = getattr(theirs, name)(epsilon=9.0, sensitivity=0.5, utility=scores, random_state=1)
        picks = [drawn.randomise() for _ in range(4_000)]
    expected = 4_000 * probabilities(scores, 9.0)
    assert stats.chisquare(np.bincount(picks, minlength=5), expected).pvalue > FALSE_ALARM


def test_ties_at_infinite_rate_are_broken_evenly():
    for function in (exponential_probabilities, permute_and_flip_probabilities):
        assert function([1.0, 0.0, 1.0], math.inf) == pytest.approx([0.5, 0, 0.5])


@given(st.lists(st.tuples(st.floats(-3, 3), st.floats(-1, 1)), min_size=2, max_size=6), rates)
@settings(max_examples=150)
def test_selections_keep_their_guarantees(pairs, rate):
    before = np.array([a for a, _ in pairs])
    after = before + np.array([change for _, change in pairs])
    width = max(float(np.ptp(after - before)), 1e-3)
    bounded_range = MECHANISMS[EXPONENTIAL].bounded_range(rate * width)
    loss = np.log(exponential_probabilities(before, rate)) - np.log(
        exponential_probabilities(after, rate)
    )
    assert bounded_range == rate * width
    assert np.ptp(loss) <= rate * width + 1e-9
    assert np.abs(loss).max() <= rate * width + 1e-9
    flip = np.log(permute_and_flip_probabilities(before, rate)) - np.log(
        permute_and_flip_probabilities(after, rate)
    )
    assert np.abs(flip).max() <= rate * width + 1e-7


@given(score_lists, rates)
@settings(max_examples=60)
def test_permute_and_flip_is_never_worse(scores, rate):
    flip = permute_and_flip_probabilities(scores, rate) @ np.array(scores)
    assert flip >= exponential_probabilities(scores, rate) @ np.array(scores) - 1e-9


def test_permute_and_flip_is_not_bounded_range():
    # The worst case of two candidates: a lead of ε reverses, and scores change over a range of ε.
    epsilon = 0.2
    widest = 0.0
    for start in np.linspace(-3, 3, 121):
        a = permute_and_flip_probabilities([start, 0.0, 0.0], 1.0)
        b = permute_and_flip_probabilities([start + epsilon, 0.0, epsilon], 1.0)
        widest = max(widest, np.ptp(np.log(a / b)))
    assert widest > epsilon * 1.05
    assert MECHANISMS[PERMUTE_AND_FLIP].bounded_range(epsilon) is None


@pytest.mark.parametrize("name", SELECTIONS)
def test_choices_follow_the_probabilities(name):
    scores, rate = np.array([0.0, 0.4, 0.3, -1.0]), 2.0
    noise = MECHANISMS[name].draw(np.random.default_rng(11), (20_000, len(scores)))
    chosen = np.argmax(rate * scores + noise, axis=1)
    drawn = np.bincount(chosen, minlength=len(scores))
    probabilities = MECHANISMS[name].probabilities
    assert probabilities is not None
    expected = probabilities(scores, rate)
    assert stats.chisquare(drawn, expected * drawn.sum()).pvalue > FALSE_ALARM


@pytest.mark.parametrize("name", [LAPLACE, TWO_LAPLACE, LOGISTIC, NOISY_LABEL])
def test_labels_follow_the_probabilities(name):
    rate = 0.7
    for k, margin in enumerate((-2.0, 0.0, 0.5, 3.0)):
        rng = np.random.default_rng([17, k])
        noisy = margin + MECHANISMS[name].draw(rng, 20_000, scale=1 / rate)
        probabilities = MECHANISMS[name].probabilities
        assert probabilities is not None
        chance = float(probabilities(margin, rate))
        assert stats.binomtest(int((noisy > 0).sum()), 20_000, chance).pvalue > FALSE_ALARM


@pytest.mark.parametrize(
    ("name", "law"),
    [
        (EXPONENTIAL, stats.gumbel_r),
        (PERMUTE_AND_FLIP, stats.expon),
        (LAPLACE, stats.laplace),
        (LOGISTIC, stats.logistic),
        (NOISY_LABEL, stats.logistic),
        (GAUSSIAN, stats.norm),
    ],
)
def test_noise_has_its_law_and_scale(name, law):
    noise = MECHANISMS[name].draw(np.random.default_rng(13), 20_000, scale=3.0)
    assert stats.kstest(noise, law(scale=3).cdf).pvalue > FALSE_ALARM


def test_a_vector_has_a_gamma_norm_and_no_direction():
    rng = np.random.default_rng(19)
    drawn = np.array(
        [MECHANISMS[OBJECTIVE_PERTURBATION].draw(rng, 3, scale=2.0) for _ in range(5_000)]
    )
    norms = np.linalg.norm(drawn, axis=1)
    assert stats.kstest(norms, stats.gamma(3, scale=2).cdf).pvalue > FALSE_ALARM
    # One coordinate of a uniform direction in three dimensions is uniform.
    for cosine in (drawn / norms[:, None]).T:
        assert stats.kstest(cosine, stats.uniform(-1, 2).cdf).pvalue > FALSE_ALARM


def test_auto_is_permute_and_flip_where_only_pure_privacy_counts():
    assert resolve("auto", 0.0, PROVED) == PERMUTE_AND_FLIP
    assert resolve("auto", 1e-6, PROVED) == resolve("auto", 0.0, PUBLISHED) == EXPONENTIAL
    assert resolve(PERMUTE_AND_FLIP, 0.0, PUBLISHED) == PERMUTE_AND_FLIP
    with pytest.raises(ValueError, match="not bounded-range"):
        resolve(PERMUTE_AND_FLIP, 1e-6, PROVED)


def test_noisy_labels_are_bounded_range_over_all_leaves():
    sensitivity, epsilon = 2.0, 0.8
    mechanism = MECHANISMS[NOISY_LABEL]
    assert mechanism.probabilities is not None
    widest = 0.0
    for margins in itertools.product(range(-3, 4), repeat=2):
        for move in ([2, 0], [-2, 0], [1, -1], [1, 1], [-1, -1]):
            changed = np.array(margins) + move
            a, b = (mechanism.probabilities(m, epsilon / sensitivity) for m in (margins, changed))
            losses = [
                sum(
                    math.log(p / q) if label else math.log((1 - p) / (1 - q))
                    for label, p, q in zip(labels, a, b, strict=True)
                )
                for labels in itertools.product((0, 1), repeat=2)
            ]
            widest = max(widest, max(losses) - min(losses))
    assert mechanism.bounded_range(epsilon) == epsilon
    assert widest == pytest.approx(epsilon)


def test_counts_in_parallel_cost_twice_for_a_moved_record():
    # docs/proofs.md, 'Parallel parts': Lap(1/ε) on counts (1, 5) or (0, 6), and the answer (−3, 9).
    epsilon = 0.7
    noise = stats.laplace(scale=1 / epsilon)
    loss = sum(
        noise.logpdf(out - a) - noise.logpdf(out - b) for out, a, b in ((-3, 0, 1), (9, 6, 5))
    )
    for one in NEIGHBOURS:
        cost = loss if one.touched == 2 else epsilon
        assert relation(one.name).touched * max(0.2, epsilon) == pytest.approx(cost)
    with pytest.raises(ValueError, match="twins"):
        relation("twins")


@pytest.mark.parametrize("scores", [[], [[1.0, 2.0]]])
def test_scores_must_be_a_list_of_numbers(scores):
    with pytest.raises(ValueError, match="one-dimensional"):
        exponential_probabilities(scores, 1.0)
