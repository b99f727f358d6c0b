"""Exact ε and δ of known distributions, and Clopper–Pearson bounds."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from privcurve.audit.bounds import (
    clopper_pearson,
    epsilon_from_counts,
    exact_delta,
    exact_epsilon,
)


def by_events(p, q, delta):
    """The smallest ε by trying every event."""
    worst = 0.0
    for size in range(1, len(p) + 1):
        for event in itertools.combinations(range(len(p)), size):
            for one, other in ((p, q), (q, p)):
                above, below = one[list(event)].sum() - delta, other[list(event)].sum()
                if above > 1e-15:
                    worst = max(worst, math.log(above / below) if below else math.inf)
    return worst


@pytest.mark.parametrize("delta", [0.0, 1e-3, 0.1, 0.5])
@pytest.mark.parametrize("seed", range(5))
def test_exact_epsilon_is_the_worst_of_all_events(seed, delta):
    rng = np.random.default_rng(seed)
    p, q = rng.dirichlet(np.full(7, 0.5), size=2)
    assert exact_epsilon(p, q, delta) == pytest.approx(by_events(p, q, delta), rel=1e-9)


@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_delta_and_epsilon_are_inverse(epsilon):
    p, q = np.random.default_rng(1).dirichlet(np.ones(9), size=2)
    delta = exact_delta(p, q, epsilon)
    assert delta > 0
    assert exact_epsilon(p, q, delta) == pytest.approx(epsilon, rel=1e-9)


def test_an_outcome_of_one_side_alone():
    p, q = [0.9, 0.1, 0.0], [1.0, 0.0, 0.0]
    assert exact_epsilon(p, q) == math.inf
    assert exact_epsilon(p, q, 0.1) == 0.0
    assert exact_epsilon(p, q, 0.05) == math.inf
    assert exact_delta(p, q, 5.0) == pytest.approx(0.1)
    assert exact_epsilon(q, q) == 0.0


@pytest.mark.parametrize("hits", [0, 1, 17, 99, 100])
def test_clopper_pearson_is_scipys(hits):
    lower, upper = clopper_pearson(hits, 100, 0.025)
    expected = stats.binomtest(hits, 100).proportion_ci(0.95, "exact")
    assert (float(lower), float(upper)) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_epsilon_from_counts_shares_the_error_and_takes_delta_off():
    lower = stats.binomtest(500, 1000).proportion_ci(0.95, "exact").low
    upper = stats.binomtest(100, 1000).proportion_ci(0.95, "exact").high
    for delta in (0.0, 0.2):
        # 95 % two-sided is 2.5 % a side: half of an error of 5 %.
        found = float(epsilon_from_counts(500, 100, 1000, delta, 0.05))
        assert found == pytest.approx(math.log((lower - delta) / upper))
    assert float(epsilon_from_counts(0, 5, 1000, 0.0, 0.05)) == -math.inf
    assert float(epsilon_from_counts(10, 0, 1000, 0.5, 0.05)) == -math.inf
