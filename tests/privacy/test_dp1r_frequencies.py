"""How often DP-1R picks a literal, against the exact probabilities of its mechanism.

Chi-square tests with fixed seeds. Each rejects at 1e-4: were the seeds drawn anew, one of
the eight tests here would fail wrongly in fewer than 1 of 1,000 runs.
"""

import warnings

import numpy as np
import pytest
from diffprivlib.mechanisms import Exponential, PermuteAndFlip
from dp1r_probabilities import probabilities
from scipy.stats import chisquare

from privcurve.kernels.lazybb_rules import round_scores
from privcurve.learners import LazyBBClassifier, OneRuleClassifier

FALSE_ALARM = 1e-4
N_FITS = 4000

X = np.array([[0, 0], [0, 1], [0, 1], [1, 0], [1, 1], [1, 2]], dtype=np.uint8)
Y = np.array([-1, 1, -1, 1, 1, 1])
N_BINS = np.array([2, 3])
ONES = np.ones(6, dtype=np.int64)

mechanisms = pytest.mark.parametrize("mechanism", ["exponential", "permute_and_flip"])
calibrations = pytest.mark.parametrize("calibration", ["certified", "published"])


def assert_frequencies(picks, expected):
    observed = np.bincount(picks, minlength=len(expected))
    assert chisquare(observed, expected * len(picks)).pvalue > FALSE_ALARM


@mechanisms
@calibrations
def test_1_rule(mechanism, calibration):
    learner = OneRuleClassifier(
        epsilon=3.0, mechanism=mechanism, calibration=calibration, n_bins=N_BINS
    )
    rngs = [np.random.default_rng([1, seed]) for seed in range(N_FITS)]
    fits = learner.fit_many(X, Y, [{}] * N_FITS, rngs)
    errors = round_scores(X, N_BINS, Y, ONES, [], 1.0, 1.0, normalise=True)
    # Published: η = εn/4; certified: η = εn/2 (PRIVACY.md §b, with ζ = 1/n).
    rate = 3.0 * 6 / (4 if calibration == "published" else 2)
    assert_frequencies([fit.chosen_[0] for fit in fits], probabilities(errors, rate, mechanism))


@mechanisms
def test_two_rounds_of_lazybb(mechanism):
    density, learning_rate = 0.4, 0.7
    learner = LazyBBClassifier(
        n_rounds=2,
        density=density,
        learning_rate=learning_rate,
        epsilon=4.0,
        mechanism=mechanism,
        n_bins=N_BINS,
    )
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
    # An independent implementation, with the same rate: ε/(2·sensitivity) = η.
    errors = round_scores(X, N_BINS, Y, ONES, [], 1.0, 1.0, normalise=True)
    other = {"exponential": Exponential, "permute_and_flip": PermuteAndFlip}[mechanism]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        drawn = other(epsilon=9.0, sensitivity=0.5, utility=list(-errors), random_state=20240229)
        picks = [drawn.randomise() for _ in range(N_FITS)]
    assert_frequencies(picks, probabilities(errors, 9.0, mechanism))
