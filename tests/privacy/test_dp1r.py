"""LazyBB with DP-1R, exactly: every transcript of tiny data, and how often fits draw each.

All data sets of n records over a tiny universe; for each, the exact probability of every sequence
of picks; for each pair that differs in one record, the worst log-ratio. It must not exceed ε, and
comes near enough to be a test of it. Chi-square tests have fixed seeds and reject at 1e-4.
"""

import itertools
import warnings

import numpy as np
import pytest
from scipy.stats import chisquare

from privcurve.kernels.lazybb_rules import round_scores
from privcurve.learners import LazyBBClassifier
from privcurve.privacy.calibration.one_rules import lazybb_one_rule
from privcurve.privacy.mechanisms import MECHANISMS

EPSILON = 2.0
mechanisms = pytest.mark.parametrize("mechanism", ["exponential", "permute_and_flip"])


def probabilities(errors, rate, mechanism):
    return MECHANISMS[mechanism].probabilities(-errors, rate)


def worst_log_ratio(
    n, n_columns, n_rounds, density, learning_rate, calibration, mechanism, epsilon=EPSILON
):
    n_bins = np.full(n_columns, 2)
    n_literals = 4 * n_columns + 2
    universe = list(itertools.product(*[(0, 1)] * n_columns, (-1, 1)))
    noise = lazybb_one_rule(
        n=n, n_rounds=n_rounds, density=density, learning_rate=learning_rate, epsilon=epsilon,
        delta=0.0, calibration=calibration, mechanism=mechanism,
    )  # fmt: skip

    def log_probabilities(dataset):
        points, counts = np.unique([universe[i] for i in dataset], axis=0, return_counts=True)
        X, y = points[:, :-1].astype(np.uint8), points[:, -1]
        found = np.zeros(1)
        for t, rate in enumerate(noise.rates):
            errors = [
                round_scores(
                    X, n_bins, y, counts, history, density, learning_rate, noise.normalise
                )
                for history in itertools.product(range(n_literals), repeat=t)
            ]  # fmt: skip
            step = [probabilities(each, rate, mechanism) for each in errors]
            found = (found[:, None] + np.log(step)).ravel()
        assert np.exp(found).sum() == pytest.approx(1)
        return found

    # The order of records does not matter, so a data set is a multiset.
    datasets = list(itertools.combinations_with_replacement(range(len(universe)), n))
    logs = {dataset: log_probabilities(dataset) for dataset in datasets}
    worst = 0.0
    for rest in itertools.combinations_with_replacement(range(len(universe)), n - 1):
        near = np.stack([logs[tuple(sorted((*rest, i)))] for i in range(len(universe))])
        worst = max(worst, float((near.max(axis=0) - near.min(axis=0)).max()))
    return worst


@mechanisms
@pytest.mark.parametrize(
    "case",
    # n, columns, rounds, density, learning rate
    [(4, 1, 1, 0.5, 0.45), (4, 1, 2, 0.3, 1.0), (5, 1, 2, 0.5, 0.45), (4, 1, 3, 0.5, 0.45),
     (3, 2, 2, 0.5, 0.8)],
)  # fmt: skip
def test_transcripts_stay_within_epsilon(case, mechanism):
    # The lower bounds show that the enumeration finds pairs that nearly use up ε.
    worst = worst_log_ratio(*case, "certified", mechanism)
    assert 0.45 * EPSILON <= worst <= EPSILON * (1 + 1e-9)
    # Published η = εκn/(4τ) is loose by exactly 2 (PRIVACY.md §b).
    worst = worst_log_ratio(*case, "published", mechanism)
    assert 0.1 * EPSILON <= worst <= EPSILON / 2 * (1 + 1e-9)


@mechanisms
def test_certified_single_round_is_nearly_tight(mechanism):
    worst = worst_log_ratio(6, 1, 1, 0.5, 0.45, "certified", mechanism, epsilon=6.0)
    assert 0.9 * 6.0 <= worst <= 6.0 * (1 + 1e-9)


def test_the_enumeration_finds_too_little_noise():
    # Four times the certified rate, as if ε were four times as large, must be seen.
    worst = worst_log_ratio(4, 1, 2, 0.3, 1.0, "certified", "exponential", epsilon=4 * EPSILON)
    assert worst > EPSILON


# Frequencies -----------------------------------------------------------------------

FALSE_ALARM = 1e-4
N_FITS = 4000
X = np.array([[0, 0], [0, 1], [0, 1], [1, 0], [1, 1], [1, 2]], dtype=np.uint8)
Y = np.array([-1, 1, -1, 1, 1, 1])
N_BINS = np.array([2, 3])
ONES = np.ones(6, dtype=np.int64)


def assert_frequencies(picks, expected):
    observed = np.bincount(picks, minlength=len(expected))
    assert chisquare(observed, expected * len(picks)).pvalue > FALSE_ALARM


@mechanisms
def test_two_rounds_of_lazybb(mechanism):
    density, learning_rate = 0.4, 0.7
    learner = LazyBBClassifier(
        n_rounds=2, density=density, learning_rate=learning_rate, epsilon=4.0,
        mechanism=mechanism, n_bins=N_BINS,
    )  # fmt: skip
    rngs = [np.random.default_rng([2, seed]) for seed in range(N_FITS)]
    fits = learner.fit_many(X, Y, [{}] * N_FITS, rngs)
    rates = [call.noise_rate for call in fits[0].privacy_.ledger]

    def next_pick(*history):
        errors = round_scores(X, N_BINS, Y, ONES, history, density, learning_rate, normalise=False)
        return probabilities(errors, rates[len(history)], mechanism)

    first = next_pick()
    joint = np.concatenate([first[a] * next_pick(a) for a in range(len(first))])
    # Transcripts too rare for the chi-square approximation are counted as one.
    rare = joint * N_FITS < 5
    group = np.where(rare, 0, np.cumsum(~rare))
    picks = np.array([fit.chosen_[0] * len(first) + fit.chosen_[1] for fit in fits])
    assert_frequencies(group[picks], np.bincount(group, weights=joint))


@mechanisms
def test_exact_probabilities_against_diffprivlib(mechanism):
    theirs = pytest.importorskip("diffprivlib.mechanisms")
    # An independent implementation, with the same rate: ε/(2·sensitivity) = η.
    errors = round_scores(X, N_BINS, Y, ONES, [], 1.0, 1.0, normalise=True)
    name = {"exponential": "Exponential", "permute_and_flip": "PermuteAndFlip"}[mechanism]
    other = getattr(theirs, name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        drawn = other(epsilon=9.0, sensitivity=0.5, utility=list(-errors), random_state=20240229)
        picks = [drawn.randomise() for _ in range(N_FITS)]
    assert_frequencies(picks, probabilities(errors, 9.0, mechanism))
