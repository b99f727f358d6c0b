"""Mechanisms do what their guarantees say.

Statistical tests use fixed seeds; had the seed been drawn afresh, each would fail by
chance with the probability given in `FALSE_ALARM`.
"""

from __future__ import annotations

import itertools
import math
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.special import expit

from privcurve import learners
from privcurve.privacy.accountants.cost import Cost
from privcurve.privacy.budget import CERTIFIED, NEIGHBOURS, PUBLISHED, relation
from privcurve.privacy.calibration.search import calibrate
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
    score_range,
)

FALSE_ALARM = 1e-6

score_lists = st.lists(st.floats(-3, 3), min_size=1, max_size=6)
rates = st.floats(0.01, 20)


def by_permutations(scores: list[float], rate: float) -> np.ndarray:
    """Permute-and-flip as defined: flip coins in a random order, again if all fail."""
    chances = np.exp(rate * (np.array(scores) - max(scores)))
    found = np.zeros(len(scores))
    orders = list(itertools.permutations(range(len(scores))))
    for order in orders:
        left = 1.0
        for i in order:
            found[i] += left * chances[i]
            left *= 1 - chances[i]
    # The best candidate's coin always shows heads: no order needs a second pass.
    return found / len(orders)


@given(score_lists, rates)
@settings(max_examples=60)
def test_permute_and_flip_probabilities_follow_the_definition(
    scores: list[float], rate: float
) -> None:
    assert permute_and_flip_probabilities(scores, rate) == pytest.approx(
        by_permutations(scores, rate), abs=1e-12
    )


def test_probabilities_of_many_candidates_add_up() -> None:
    scores = np.random.default_rng(3).random(300)
    for rate in (0.0, 5.0, 1000.0, math.inf):
        for function in (exponential_probabilities, permute_and_flip_probabilities):
            assert function(scores, rate).sum() == pytest.approx(1, abs=1e-10)


def test_ties_at_infinite_rate_are_broken_evenly() -> None:
    for function in (exponential_probabilities, permute_and_flip_probabilities):
        assert function([1.0, 0.0, 1.0], math.inf) == pytest.approx([0.5, 0, 0.5])


@given(st.lists(st.tuples(st.floats(-3, 3), st.floats(-1, 1)), min_size=2, max_size=6), rates)
@settings(max_examples=150)
def test_selections_keep_their_guarantees(pairs: list[tuple[float, float]], rate: float) -> None:
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
def test_permute_and_flip_is_never_worse(scores: list[float], rate: float) -> None:
    flip = permute_and_flip_probabilities(scores, rate) @ np.array(scores)
    assert flip >= exponential_probabilities(scores, rate) @ np.array(scores) - 1e-9


def test_permute_and_flip_is_not_bounded_range() -> None:
    # Worst cell of two candidates: a lead of ε turns round, scores change over a range ε.
    epsilon = 0.2
    widest = 0.0
    for start in np.linspace(-3, 3, 121):
        a = permute_and_flip_probabilities([start, 0.0, 0.0], 1.0)
        b = permute_and_flip_probabilities([start + epsilon, 0.0, epsilon], 1.0)
        widest = max(widest, np.ptp(np.log(a / b)))
    assert widest > epsilon * 1.05
    assert MECHANISMS[PERMUTE_AND_FLIP].bounded_range(epsilon) is None


def test_score_range() -> None:
    for neighbours in ("replace-one", "private-columns"):
        assert score_range(3.0, neighbours) == score_range(3.0, neighbours, monotone=True) == 6
    assert score_range(3.0, "add-remove") == 6
    assert score_range(3.0, "add-remove", monotone=True) == 3
    with pytest.raises(ValueError, match="twins"):
        score_range(1.0, "twins")


@pytest.mark.parametrize("name", SELECTIONS)
def test_choices_follow_the_probabilities(name: str) -> None:
    scores, rate = np.array([0.0, 0.4, 0.3, -1.0]), 2.0
    noise = MECHANISMS[name].draw(np.random.default_rng(11), (20_000, len(scores)))
    chosen = np.argmax(rate * scores + noise, axis=1)
    drawn = np.bincount(chosen, minlength=len(scores))
    probabilities = MECHANISMS[name].probabilities
    assert probabilities is not None
    expected = probabilities(scores, rate)
    assert stats.chisquare(drawn, expected * drawn.sum()).pvalue > FALSE_ALARM


@pytest.mark.parametrize("name", [LAPLACE, TWO_LAPLACE, LOGISTIC, NOISY_LABEL])
def test_labels_follow_the_probabilities(name: str) -> None:
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
def test_noise_has_its_law_and_scale(name: str, law) -> None:
    noise = MECHANISMS[name].draw(np.random.default_rng(13), 20_000, scale=3.0)
    assert stats.kstest(noise, law(scale=3).cdf).pvalue > FALSE_ALARM


def test_a_vector_has_a_gamma_norm_and_no_direction() -> None:
    rng = np.random.default_rng(19)
    drawn = np.array(
        [MECHANISMS[OBJECTIVE_PERTURBATION].draw(rng, 3, scale=2.0) for _ in range(5_000)]
    )
    norms = np.linalg.norm(drawn, axis=1)
    assert stats.kstest(norms, stats.gamma(3, scale=2).cdf).pvalue > FALSE_ALARM
    # A coordinate of a uniform direction of the sphere is uniform.
    for cosine in (drawn / norms[:, None]).T:
        assert stats.kstest(cosine, stats.uniform(-1, 2).cdf).pvalue > FALSE_ALARM


def test_streams_are_those_that_stored_cells_were_trained_with() -> None:
    draws = {
        EXPONENTIAL: lambda rng: rng.gumbel(size=(5, 7)),
        PERMUTE_AND_FLIP: lambda rng: rng.standard_exponential(size=(5, 7)),
        LAPLACE: lambda rng: rng.laplace(size=(5, 7)),
        TWO_LAPLACE: lambda rng: rng.laplace(size=(5, 7)) - rng.laplace(size=(5, 7)),
        LOGISTIC: lambda rng: rng.logistic(size=(5, 7)),
    }
    for name, draw in draws.items():
        found = MECHANISMS[name].draw(np.random.default_rng(23), (5, 7))
        assert np.array_equal(found, draw(np.random.default_rng(23))), name
    margins = np.linspace(-4, 4, 10_000)
    noise = MECHANISMS[NOISY_LABEL].draw(np.random.default_rng(23), margins.shape, 1 / 0.7)
    uniform = np.random.default_rng(23).random(margins.shape)
    assert np.array_equal(margins + noise > 0, uniform < expit(0.7 * margins))


def test_no_learner_draws_noise_of_its_own() -> None:
    noise = "gumbel|laplace|logistic|(?:standard_)?(?:exponential|normal|gamma)"
    folder = Path(learners.__file__).parent
    for path in folder.glob("**/*.py"):
        assert not re.search(rf"\brng\.(?:{noise})\b", path.read_text()), path.name


def test_auto_is_permute_and_flip_where_only_pure_privacy_counts() -> None:
    assert resolve("auto", 0.0, CERTIFIED) == PERMUTE_AND_FLIP
    assert resolve("auto", 1e-6, CERTIFIED) == resolve("auto", 0.0, PUBLISHED) == EXPONENTIAL
    assert resolve(PERMUTE_AND_FLIP, 0.0, PUBLISHED) == PERMUTE_AND_FLIP
    for word, delta, calibration, message in (
        (LAPLACE, 0.0, CERTIFIED, "mechanism = 'laplace'"),
        (PERMUTE_AND_FLIP, 1e-6, CERTIFIED, "not bounded-range"),
        ("auto", 0.0, "guessed", "calibration = 'guessed'"),
    ):
        with pytest.raises(ValueError, match=message):
            resolve(word, delta, calibration)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-9), (1.0, 1e-5), (20.0, 1e-3)])
def test_gaussian_calibration_is_analytic(epsilon: float, delta: float) -> None:
    mu = calibrate((Cost(GAUSSIAN, 1.0),), epsilon, delta).scale
    exact = stats.norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * stats.norm.cdf(
        -mu / 2 - epsilon / mu
    )
    assert exact == pytest.approx(delta, rel=1e-6)


def test_gaussian_gain_over_laplace_for_brc() -> None:
    # §d: 2.21 times less noise (standard deviation) at T = 25, ε = 0.16, δ = 1e-5.
    rounds, epsilon = 25, 0.16
    laplace = math.sqrt(2) * rounds / epsilon
    gaussian = math.sqrt(rounds) / calibrate((Cost(GAUSSIAN, 1.0),), epsilon, 1e-5).scale
    assert laplace / gaussian == pytest.approx(2.21, rel=0.03)


def test_noisy_labels_are_bounded_range_over_all_leaves() -> None:
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


def test_counts_in_parallel_cost_twice_for_a_moved_record() -> None:
    # §0, L4: counts + Lap(1/ε), output (−3, 9), counts (1, 5) against (0, 6).
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
def test_scores_must_be_a_list_of_numbers(scores) -> None:
    with pytest.raises(ValueError, match="one-dimensional"):
        exponential_probabilities(scores, 1.0)
