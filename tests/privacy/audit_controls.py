"""Controls: broken mechanisms that the auditor must flag, and sound ones that it must not.

Each broken mechanism is a mistake that a paper or an implementation has made. The controls use only
NumPy, apart from the code that they imitate. All claim ε = 1.
"""

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from tree import weights_of as capped_weights

from privcurve.audit.attacks.one_rules import (
    enumerate_transcripts,
    one_rule_distribution,
    sample_transcripts,
)
from privcurve.audit.claim import generator
from privcurve.audit.pairs import Pair, flipped_constant, replace_record
from privcurve.audit.search import search_exact, search_sampled
from privcurve.audit.states import sample_canary_scores
from privcurve.learners.lazybb import LazyBBClassifier
from privcurve.learners.linear.linear import DPLogisticRegressionClassifier
from privcurve.learners.one_rule import OneRuleClassifier
from privcurve.privacy.mechanisms import LAPLACE, MECHANISMS, exponential_probabilities
from privcurve.privacy.sensitivity.counts import histogram_l1

EPSILON = 1.0
N_TRAININGS = 30_000
N_ENUMERATED = 5_000  # for learners that are enumerated too
N_FITS = 100  # for a learner with fits of milliseconds


class Control(NamedTuple):
    """A mechanism with known privacy; some have transcripts that can be enumerated."""

    name: str
    pair: Pair
    sample: Any
    distribution: Any = None
    n_trainings: int = N_TRAININGS


# Boosting of the two labels: on equal records every 1-rule is one of them -------------


def boosted_labels(side, rates, weigh):
    """Return the transcript probabilities of boosting the constants −1 and +1, for any codes.

    `rates` has η of each round, which multiplies the weighted error; ``weigh(margins)`` returns
    weights, which are normalised here.
    """
    signs = np.repeat(side.labels, side.counts).astype(np.float64)

    def choose(picks):
        weights = weigh(signs * sum(2 * pick - 1 for pick in picks))
        negative = float(weights[signs < 0].sum() / weights.sum())
        # Errors of "always −1" and of "always +1".
        return exponential_probabilities([negative - 1, -negative], rates[len(picks)])

    return enumerate_transcripts(choose, len(rates))


def uncapped_weights(margins, density, learning_rate):
    """Return weights without the cap; weights of enough density are returned unchanged.

    docs/proofs.md, 'LazyBB: weights': a single record can have almost all of the weight.
    """
    weights = density * np.exp(-learning_rate * margins)
    if weights.sum() >= density * len(margins):
        return weights
    return capped_weights(margins, density, learning_rate)


def boosted(name, n, n_rounds, rate, weigh=capped_weights):
    rule = partial(weigh, density=1.0, learning_rate=1.0)
    distribution = partial(boosted_labels, rates=[rate] * n_rounds, weigh=rule)

    def sample(pair, side, n, rng):
        chances = distribution(side)
        return rng.choice(len(chances), size=n, p=chances / chances.sum())

    return Control(name, flipped_constant(n), sample, distribution)


# Noise on exact sums ------------------------------------------------------------------


def sums(side, of_rows):
    """Return the sums of a number per record, by code."""
    totals = np.zeros(int(side.n_bins[0]))
    np.add.at(totals, side.codes[:, 0], side.counts * of_rows)
    return totals


def counts(side):
    return sums(side, 1)


def margins_of(side):
    return sums(side, side.labels)


def noisy_maximum(pair, side, n, rng):
    """Report noisy max together with the noisy maximum: the cost is kα/2 instead of α.

    All k = 20 candidates score 1 on one side and 0 on the other.
    """
    noise = rng.laplace(scale=2.0 / EPSILON, size=(n, 20))
    return (float((side.labels < 0).sum()) + noise).max(axis=1)


def histogram(scale):
    def sample(pair, side, n, rng):
        """Return `n` scores of noisy counts: larger if nearer to the right table's counts.

        Counts beyond the counts of both tables get equal scores, so that they tie exactly.
        """
        exact, left, right = map(counts, (side, pair.left, pair.right))
        noisy = exact + MECHANISMS[LAPLACE].draw(rng, (n, len(exact)), scale)
        between = np.clip(noisy, np.minimum(left, right), np.maximum(left, right))
        return (between * np.sign(right - left)).sum(axis=1)

    return sample


def exact_leverage(pair, side, n, rng):
    """Release a leverage coefficient of exact data: ε = ∞.

    The leaves get Laplace noise, which is sound; β = (a/m) Σ y·h is then an exact function of the
    records and the released leaves.
    """
    margins, edge = margins_of(side), 0.01
    leaves = margins + MECHANISMS[LAPLACE].draw(rng, (n, len(margins)), 2.0 / EPSILON)
    beta = edge / side.n * (leaves @ margins)
    # An attacker who knows the other records compares β with the value of either side.
    expected = [edge / s.n * (leaves @ margins_of(s)) for s in (pair.left, pair.right)]
    return np.abs(beta - expected[0]) - np.abs(beta - expected[1])


MOVED = replace_record("a record moves to another bin", ((2,), 1), ((0,), 1), [((1,), 1)], [3], [5])
LEAVES = replace_record(
    *("two leaves, one label flipped", ((0,), 1), ((0,), -1)),
    *([((0,), 1), ((1,), -1), ((1,), 1)], [2], [4, 3, 2]),
)

BROKEN = (
    # Noise for a sensitivity of ζ² instead of ζ: η = ε/(2τζ²), with ζ = 1/n.
    boosted("rate divided by ζ twice", 4, 2, EPSILON * 4**2 / (2 * 2)),
    Control("noisy maximum released with its value", flipped_constant(6), noisy_maximum),
    # Noise for an added record when one is replaced: the true ε is 2.
    Control("histogram noise for added records", MOVED, histogram(1 / EPSILON)),
    # After some rounds one record has all the weight.
    boosted("projection without the cap", 8, 8, EPSILON * 8 / (2 * 8), uncapped_weights),
    Control("leverage from exact data", LEAVES, exact_leverage),
)


def learner_control(name, kind, calibration, **parameters):
    own = {"epsilon": EPSILON, "calibration": calibration, "n_bins": [1], "classes": (-1, 1)}
    learner = kind(**own, **parameters)
    if kind is DPLogisticRegressionClassifier:
        sample = partial(sample_canary_scores, learner)
        return Control(name, flipped_constant(8), sample, n_trainings=N_FITS)
    ways = partial(sample_transcripts, learner), partial(one_rule_distribution, learner)
    return Control(f"{name}, {calibration}", flipped_constant(6), *ways, N_ENUMERATED)


SOUND = (
    learner_control("1-rule", OneRuleClassifier, "published"),
    learner_control("1-rule", OneRuleClassifier, "proved"),
    learner_control("LazyBB", LazyBBClassifier, "published", n_rounds=3, density=1.0),
    learner_control("LazyBB", LazyBBClassifier, "proved", n_rounds=3, density=1.0),
    boosted("reference boosting", 8, 8, EPSILON * 8 / (2 * 8)),
    Control("Laplace counts", MOVED, histogram(histogram_l1() / EPSILON)),
    learner_control("logistic regression", DPLogisticRegressionClassifier, "proved", C=0.01),
)


def run_sampled(controls, seed):
    """Audit controls by sampling, as one run: they share the error of a verdict."""
    return {
        c.name: search_sampled(
            *([c.pair], c.sample, c.n_trainings, EPSILON, 0.0),
            *(generator(f"control: {c.name}", seed), len(controls)),
        )
        for c in controls
    }


def run_exact(controls):
    """Audit by enumeration the controls with a known distribution."""
    return {
        c.name: search_exact([c.pair], c.distribution, EPSILON, 0.0)
        for c in controls
        if c.distribution is not None
    }
