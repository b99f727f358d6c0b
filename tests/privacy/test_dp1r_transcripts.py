"""The whole of LazyBB with DP-1R, exactly: every transcript, every neighbouring pair.

All data sets of n records over a tiny universe; for each, the exact probability of every
sequence of picks; for each pair that differs in one record, the worst log-ratio. Nothing
is sampled. The worst of all must not exceed ε, and comes near enough to be a test of it.
"""

import itertools

import numpy as np
import pytest
from dp1r_probabilities import probabilities

from privcurve.kernels.lazybb_rules import round_scores
from privcurve.privacy.calibration.one_rules import lazybb_one_rule

EPSILON = 2.0


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
            step = [
                probabilities(
                    round_scores(
                        X, n_bins, y, counts, history, density, learning_rate, noise.normalise
                    ),
                    rate,
                    mechanism,
                )
                for history in itertools.product(range(n_literals), repeat=t)
            ]
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


CASES = [
    # n, columns, rounds, density, learning rate
    pytest.param((4, 1, 1, 0.5, 0.45), id="1 round"),
    pytest.param((4, 1, 2, 0.3, 1.0), id="2 rounds"),
    pytest.param((5, 1, 2, 0.5, 0.45), id="2 rounds, 5 records"),
    pytest.param((4, 1, 3, 0.5, 0.45), id="3 rounds"),
    pytest.param((3, 2, 2, 0.5, 0.8), id="2 columns"),
]
mechanisms = pytest.mark.parametrize("mechanism", ["exponential", "permute_and_flip"])


@mechanisms
@pytest.mark.parametrize("case", CASES)
def test_certified_transcripts_stay_within_epsilon(case, mechanism):
    worst = worst_log_ratio(*case, "certified", mechanism)
    # The lower bound shows that the enumeration finds pairs that nearly use up ε.
    assert 0.45 * EPSILON <= worst <= EPSILON * (1 + 1e-9)


@mechanisms
@pytest.mark.parametrize("case", CASES)
def test_published_transcripts_stay_within_half_of_epsilon(case, mechanism):
    # η = εκn/(4τ) is loose by exactly 2 (PRIVACY.md §b).
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
