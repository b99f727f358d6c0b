"""The audit of 1-rules samples what `fit` does, enumerates it exactly, and finds the worst case."""

import functools
import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from audit_controls import boosted_labels, capped_weights
from scipy import stats

from privcurve.audit.attacks.one_rules import (
    large_balance,
    one_rule_distribution,
    sample_picks,
    sample_transcripts,
)
from privcurve.audit.attacks.pairs import constant_columns
from privcurve.audit.claim import Claim
from privcurve.audit.pairs import Target, all_neighbours, flipped_constant, records
from privcurve.audit.search import search_exact, search_sampled
from privcurve.learners.lazybb import LazyBBClassifier
from privcurve.learners.one_rule import OneRuleClassifier
from privcurve.privacy.curator import Curator
from privcurve.privacy.sensitivity.lazybb import lazybb_zeta

CLASSES = {"classes": (-1, 1)}
RNG = np.random.default_rng(11)
SIDE = records(RNG.integers(0, 2, (7, 2)), RNG.choice([-1, 1], 7), [2, 2], [1, 2, 1, 1, 3, 1, 1])
TARGET = Target("drawn", records(RNG.integers(0, 3, (90, 4)), RNG.choice([-1, 1], 90), [3] * 4))

LEARNERS = [
    OneRuleClassifier(n_bins=2, epsilon=2.0, **CLASSES),
    OneRuleClassifier(n_bins=2, calibration="published", **CLASSES),
    LazyBBClassifier(n_bins=2, n_rounds=3, epsilon=4.0, **CLASSES),
    LazyBBClassifier(n_bins=2, n_rounds=3, calibration="published", epsilon=4.0, **CLASSES),
    LazyBBClassifier(n_bins=2, n_rounds=2, mechanism="exponential", density=0.2, **CLASSES),
    LazyBBClassifier(n_bins=2, n_rounds=2, delta=0.01, learning_rate=1.0, **CLASSES),
]


# One learner with a single choice, and one that boosts.
QUICK = (LEARNERS[4],)


@pytest.mark.parametrize("learner", LEARNERS[::2], ids=str)
def test_picks_match_the_fit_bit_for_bit(learner):
    rng = np.random.default_rng(3)
    fitted = learner.fit_records(SIDE, [{}] * 40, [Curator(rng) for _ in range(40)])
    picks = sample_picks(learner, SIDE, 40, np.random.default_rng(3))
    assert np.array_equal(picks, [model.chosen_ for model in fitted])


@pytest.mark.parametrize(
    "learner",
    [pytest.param(one, marks=[pytest.mark.slow] * (one not in QUICK)) for one in LEARNERS],
    ids=str,
)
def test_enumeration_is_what_sampling_gives(learner):
    """χ² of 15,000 trainings against exact probabilities; false alarm 1e-4 each."""
    exact = one_rule_distribution(learner, SIDE)
    n_literals = 2 * 4 + 2
    assert exact.sum() == pytest.approx(1, rel=1e-12)
    assert len(exact) == n_literals ** getattr(learner, "n_rounds", 1)
    rng = np.random.default_rng(4)
    sampled = sample_transcripts(learner, None, SIDE, 15_000, rng)
    counts = np.bincount(sampled, minlength=len(exact))
    expected = 15_000 * exact
    rare = expected < 10
    observed = np.append(counts[~rare], counts[rare].sum())
    wanted = np.append(expected[~rare], expected[rare].sum())
    assert stats.chisquare(observed[wanted > 0], wanted[wanted > 0]).pvalue > 1e-4


@pytest.mark.parametrize(("density", "learning_rate"), [(1.0, 0.5), (0.4, 0.5), (0.2, 1.0)])
def test_enumeration_matches_a_plain_reference(density, learning_rate):
    """On equal records a 1-rule predicts one label for all: two of the four literals predict each.

    The probabilities of the literals, added up by label, equal the plain reference.
    """
    setting = {"n_rounds": 4, "density": density, "learning_rate": learning_rate}
    learner = LazyBBClassifier(
        calibration="published", epsilon=3.0, n_bins=[1], **setting, **CLASSES
    )
    side = flipped_constant(5).right
    ours = one_rule_distribution(learner, side).reshape([4] * 4)
    # Literals: in the bin (+), not in the bin (−), always +, always −.
    labels = np.array([1, 0, 1, 0])
    merged = np.zeros([2] * 4)
    for picks in itertools.product(range(4), repeat=4):
        merged[tuple(labels[list(picks)])] += ours[picks]
    rates = [3.0 * density * 5 / (4 * 4)] * 4
    weigh = functools.partial(capped_weights, density=density, learning_rate=learning_rate)
    assert merged.ravel() == pytest.approx(boosted_labels(side, rates, weigh), rel=1e-9)


def log_cosh(x):
    """Return the logarithm of cosh x, without overflow."""
    return abs(x) + math.log1p(math.exp(-2 * abs(x))) - math.log(2)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
@pytest.mark.parametrize("calibration", ["published", "proved"])
def test_exact_bound_of_one_rule_is_the_formula(calibration, epsilon):
    """docs/proofs.md, 'LazyBB: 1-rules', for the exponential mechanism on constant columns.

    ηζ + ln cosh(η/2) − ln cosh(η(½ − ζ)) ≤ 2ηζ, exact as 1-rules are closed under negation.
    """
    learner = OneRuleClassifier(
        epsilon=epsilon, calibration=calibration, mechanism="exponential", n_bins=[1], **CLASSES
    )
    for n in (2, 5, 12):
        worst = search_worst(learner, [flipped_constant(n)], epsilon=epsilon)
        rate = epsilon * n / (4 if calibration == "published" else 2)
        zeta = lazybb_zeta(n, 1.0)
        expected = rate * zeta + log_cosh(rate / 2) - log_cosh(rate * abs(0.5 - zeta))
        assert worst.epsilon == pytest.approx(expected, rel=1e-9)
        assert not worst.violated


BOOSTED = functools.partial(LazyBBClassifier, n_rounds=3, density=1.0)


def search_worst(learner, pairs, *trainings, epsilon=1.0, delta=0.0, seed=1):
    """Return the worst of some pairs: exactly, or from a number of trainings."""
    if trainings:
        sample, rng = functools.partial(sample_transcripts, learner), np.random.default_rng(seed)
        return search_sampled(pairs, sample, *trainings, epsilon, delta, rng, len(pairs))
    return search_exact(pairs, functools.partial(one_rule_distribution, learner), epsilon, delta)


@pytest.mark.slow
@pytest.mark.parametrize("make", [OneRuleClassifier, BOOSTED])
def test_proved_bound_is_nearly_used_up(make):
    """Exact and sampled bounds reach 0.45 ε on the best pair at ε = 1, and never exceed ε."""
    learner = make(epsilon=1.0, n_bins=[1], **CLASSES)
    assert 0.9 < search_worst(learner, constant_columns(None, TARGET)).epsilon <= 1
    sampled = search_worst(learner, [flipped_constant(n) for n in (4, 6)], 10_000)
    assert 0.45 < sampled.epsilon <= 1
    assert not sampled.violated


@pytest.mark.parametrize("calibration", ["published", "proved"])
@pytest.mark.parametrize("delta", [1e-5, 1e-2, 0.2])
def test_approximate_claims_hold_exactly(calibration, delta):
    setting = {"n_rounds": 3, "density": 0.5, "learning_rate": 1.0}
    learner = LazyBBClassifier(
        epsilon=0.5, delta=delta, calibration=calibration, n_bins=[2], **setting, **CLASSES
    )
    pairs = itertools.chain(all_neighbours(3, (2,)), map(_two_bins, constant_columns(None, TARGET)))
    worst = search_worst(learner, pairs, epsilon=0.5, delta=delta)
    assert not worst.violated
    assert worst.delta <= delta
    assert worst.epsilon <= 0.5


def _two_bins(pair):
    sides = [records(s.codes, s.labels, [2], s.counts) for s in (pair.left, pair.right)]
    return type(pair)(pair.dataset, pair.name, *sides)


class TooLoud(OneRuleClassifier):
    """A 1-rule with 2.5 times the noise rate of its claim."""

    def _plan(self, n):
        true = super()._plan(n)
        return replace(true, noise=replace(true.noise, rates=2.5 * true.noise.rates))


@pytest.mark.slow
@pytest.mark.parametrize("delta", [0.0, 1e-3])
def test_too_little_noise_is_flagged(delta):
    learner = TooLoud(epsilon=1.0, delta=delta, n_bins=[1], **CLASSES)
    pairs = [flipped_constant(4)]
    exact = search_worst(learner, pairs, delta=delta)
    assert exact.violated
    assert exact.epsilon > 1
    assert exact.delta > delta
    assert search_worst(learner, pairs, 15_000, delta=delta, seed=2).violated


@pytest.mark.slow
@pytest.mark.parametrize("n", [90, 32561])
def test_as_many_records_as_a_real_dataset(n):
    """Nearly balanced labels leave the choice open: most of ε shows for any n."""
    target = Target("large", records([[0], [0]], [1, -1], [1], [1, n - 1]))
    claim = Claim("one_rule", "proved", 1.0, large_balance, distribution=one_rule_distribution)
    pairs = claim.pairs(claim, target)
    assert pairs[0].left.n == n
    learner = claim.estimator(np.array([1]))
    assert 0.9 < search_worst(learner, pairs).epsilon <= 1
    assert 0.4 < search_worst(learner, pairs, 15_000, seed=5).epsilon <= 1
