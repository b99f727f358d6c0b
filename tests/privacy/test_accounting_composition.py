"""Accountants compared with exact values, with each other, and with dp-accounting."""

import itertools
import math

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld
from hypothesis import given, settings
from hypothesis import strategies as st

from privcurve.kernels import arithmetic
from privcurve.privacy.accountants import compose as c
from privcurve.privacy.accountants import game
from privcurve.privacy.accountants.bounded_range import MAX_CALLS, bounded_range_delta
from privcurve.privacy.accountants.compose import kov_delta
from privcurve.privacy.accountants.cost import Cost, zcdp_delta


def game_with_moves_on_a_grid(bounded_range, n_calls, epsilon, steps):
    """Return a lower bound on δ: the value of the adaptive game with moves on a grid.

    In each of the calls an adversary chooses t, the larger of the two losses of a mechanism with
    the range ε₀; here t must be a multiple of ε₀/steps.
    """
    h = bounded_range / steps
    t = h * np.arange(steps + 1)
    chance = (1 - np.exp(t - bounded_range)) / (1 - math.exp(-bounded_range))
    reach = n_calls * steps
    values = -np.expm1(np.minimum(epsilon + h * np.arange(-reach, reach + 1), 0))
    for _ in range(n_calls):
        size = values.size - 2 * steps
        values = np.max(
            [
                chance[j] * values[steps - j :][:size]
                + (1 - chance[j]) * values[2 * steps - j :][:size]
                for j in range(steps + 1)
            ],
            axis=0,
        )
    return float(values[0])


def test_adaptive_bound_of_one_call_is_the_exact_value():
    # At ε = ε₀ − 1 the best t is ε₀ − ½, far from any grid point.
    for huge in (30.0, 1e3, 1e4, 1e6):
        assert (1 - math.exp(-0.5)) ** 2 <= bounded_range_delta(huge, 1, huge - 1) <= 1
    t = np.linspace(0, 0.5, 200_001)
    chance = (1 - np.exp(t - 0.5)) / (1 - math.exp(-0.5))
    for epsilon in (0.0, 0.1, 0.3, 0.49):
        exact = np.max(chance * np.maximum(0, -np.expm1(epsilon - t)))
        bound = bounded_range_delta(0.5, 1, epsilon)
        assert exact * (1 - 1e-9) <= bound <= exact * (1 + 1e-3)


@pytest.mark.parametrize(
    ("bounded_range", "n_calls", "epsilon"),
    [(1.0, 2, 1.2), (2.0, 3, 1.0), (0.3, 8, 0.5), (0.085, 39, 1.0), (0.05, 70, 0.9)],
)
def test_adaptive_bound_is_above_strategies_and_close(bounded_range, n_calls, epsilon):
    below = game_with_moves_on_a_grid(bounded_range, n_calls, epsilon, 32)
    bound = bounded_range_delta(bounded_range, n_calls, epsilon)
    assert below <= bound <= 1.02 * below


def test_worked_example_is_near_the_optimum():
    # docs/privacy.md, 'The worked example': η = ε₀κn/2. At η = 489.3 a strategy already exceeds δ;
    # at 489.1 none can.
    unit = 2 / (0.35 * 32561)
    assert game_with_moves_on_a_grid(489.3 * unit, 39, 1.0, 64) > 1e-5
    assert bounded_range_delta(489.1 * unit, 39, 1.0) <= 1e-5


def test_adaptive_bound_lies_between_randomised_responses():
    # ε₀/2-randomised response has range ε₀; a mechanism of range ε₀ is ε₀-DP.
    for n_calls, each, epsilon in ((5, 0.4, 0.6), (39, 0.08, 1.0), (99, 0.05, 1.2)):
        bound = bounded_range_delta(each, n_calls, epsilon)
        assert kov_delta(each / 2, n_calls, epsilon) <= bound
        assert bound <= kov_delta(each, n_calls, epsilon)
        assert bound <= zcdp_delta(n_calls * each**2 / 8, epsilon)


def test_adaptive_bound_at_the_ends():
    assert bounded_range_delta(0.1, 10, 1.0) == 0
    assert bounded_range_delta(0.1, 10, 0.999) > 0
    assert bounded_range_delta(40.0, 2, 0.0) == pytest.approx(1)
    with pytest.raises(ValueError, match="n_calls"):
        bounded_range_delta(0.1, MAX_CALLS + 1, 1.0)
    with pytest.raises(ValueError, match="bounded_range"):
        bounded_range_delta(0.0, 3, 1.0)


def step_in_numpy(before, chance, bounded_range, size):
    """Return the result of the compiled step back, computed with arrays."""
    steps = len(chance) - 1
    h = bounded_range / steps
    after = np.zeros(max(size, 0))
    for j in range(steps + 1 if size > 0 else 0):  # t at grid points
        low, high = before[steps - j :][:size], before[2 * steps - j :][:size]
        np.maximum(after, chance[j] * low + (1.0 - chance[j]) * high, out=after)
    slope = np.diff(before) / arithmetic.expm1(h)
    intercept = before[:-1] - slope
    falling = slope[steps:] * arithmetic.exp(-bounded_range) - slope[:-steps]
    rising = intercept[:-steps] - intercept[steps:]
    pieces = np.flatnonzero((falling > 0) & (rising > 0))
    ratio = (arithmetic.logs(falling[pieces] / rising[pieces]) + bounded_range) / h
    lower = np.floor(ratio).astype(np.int64)
    for j in (lower, lower + 1):
        point = pieces + j + 1 - steps
        peak = 0.5 * (ratio + j + 1)
        use = (peak > j) & (peak < j + 1) & (j >= 0) & (j < steps)
        use &= (point >= 0) & (point < after.size)
        piece, t = pieces[use], h * peak[use]
        share = arithmetic.expm1s(h * (j[use] + 1) - t) / arithmetic.expm1(h)
        down = (1.0 - share) * before[piece] + share * before[piece + 1]
        up = (1.0 - share) * before[piece + steps] + share * before[piece + steps + 1]
        p = -arithmetic.expm1s(t - bounded_range) / -arithmetic.expm1(-bounded_range)
        np.maximum.at(after, point[use], p * down + (1.0 - p) * up)
    return after


@pytest.mark.parametrize(
    ("delta", "setting"),
    [
        *((bounded_range_delta, one) for one in [(0.5, 1, 0.2), (1.0, 2, 1.9), (0.3, 8, 0.01)]),
        *((bounded_range_delta, one) for one in [(9.0, 5, 8.0), (0.08, 39, 1.0), (0.01, 130, 0.1)]),
    ],
)
def test_the_compiled_step_has_the_bits_of_the_one_in_numpy(delta, setting, monkeypatch):
    """Stored noise rates depend on these bits."""
    bound = delta.__wrapped__(*setting)
    assert 0 < bound < 1
    monkeypatch.setattr(game, "step_back", step_in_numpy)
    assert delta.__wrapped__(*setting) == bound


@given(st.integers(1, 6), st.floats(0.01, 3), st.floats(0, 4), st.floats(0, 0.5), st.floats(0, 0.5))
@settings(max_examples=60)
def test_adaptive_bound_is_monotone(n_calls, each, epsilon, more, wider):
    bound = bounded_range_delta(each, n_calls, epsilon)
    slack = 1e-9 + 1e-5 * bound  # the grid moves with ε₀ and ε
    assert bounded_range_delta(each, n_calls, epsilon + more) <= bound + slack
    assert bounded_range_delta(each + wider, n_calls, epsilon) >= bound - slack
    assert bounded_range_delta(each, n_calls + 1, epsilon) >= bound - slack


@pytest.mark.parametrize("n_calls", [3, 4])
def test_kov_is_the_composition_of_randomised_responses(n_calls):
    each = 0.7
    truth = math.exp(each) / (1 + math.exp(each))
    for epsilon in (0.0, 0.5, 1.3, 2.7):
        delta = 0.0
        for answers in itertools.product((0, 1), repeat=n_calls):
            ones = sum(answers)
            p = truth**ones * (1 - truth) ** (n_calls - ones)
            q = truth ** (n_calls - ones) * (1 - truth) ** ones
            delta += max(0.0, p - math.exp(epsilon) * q)
        assert kov_delta(each, n_calls, epsilon) == pytest.approx(delta, rel=1e-12, abs=1e-15)


def test_cks_is_the_infimum():
    for rho, epsilon in ((0.03, 1.0), (1e-4, 0.1), (5.0, 20.0), (0.5, 0.0)):
        a = 1 + np.logspace(-6, 6, 200_001)
        log_delta = (
            (a - 1) * (a * rho - epsilon) + (a - 1) * np.log(a - 1) - a * np.log1p(a - 1)
        ).min()
        assert math.log(zcdp_delta(rho, epsilon)) == pytest.approx(log_delta, abs=1e-6)


def test_conversions_of_zcdp_cover_the_gaussian():
    # A Gaussian with μ is exactly μ²/2-zCDP.
    for mu, delta in ((0.2, 1e-5), (1.0, 1e-8), (3.0, 1e-3)):
        costs = (Cost("gaussian", mu),)
        exact = c.compose(c.GAUSSIAN, costs, delta)
        cks = c.compose(c.ZCDP_CKS, costs, delta)
        simple = c.compose(c.ZCDP_SIMPLE, costs, delta)
        assert exact < cks < simple
        assert simple == pytest.approx(mu**2 / 2 + mu * math.sqrt(2 * math.log(1 / delta)))


def test_dp_accounting_agrees():
    """An independent accountant, whose estimates are above the exact δ."""
    exact = c.compose(c.GAUSSIAN, (Cost("gaussian", 0.2, 25),), 1e-5)
    theirs = pld.from_gaussian_mechanism(5.0, value_discretization_interval=4e-3)
    above = theirs.self_compose(25).get_epsilon_for_delta(1e-5)
    assert exact <= above * (1 + 1e-9)
    assert exact == pytest.approx(above, rel=1e-3)
    # Bounds for any pure or zCDP calls are not below the exact value for Laplace noise.
    laplace = pld.from_laplace_mechanism(10.0, value_discretization_interval=2e-3)
    spent = laplace.self_compose(20).get_epsilon_for_delta(1e-5)
    for weaker in (c.BASIC, c.KOV, c.ZCDP_CKS):
        assert spent < c.compose(weaker, (Cost("laplace", 0.1, 20),), 1e-5)


@given(st.floats(0.01, 5), st.floats(0, 1), st.floats(-3, 3))
@settings(max_examples=200)
def test_rho_of_laplace_holds_for_numbers_and_vectors(each, split, order):
    a = 1 + 10**order

    def divergence(shift):
        # α/(2α−1) e^{(α−1)s} + (α−1)/(2α−1) e^{−αs}, the exact moment of Laplace noise.
        up = (a - 1) * shift + math.log(a / (2 * a - 1))
        down = -a * shift + math.log((a - 1) / (2 * a - 1))
        return float(np.logaddexp(up, down)) / (a - 1)

    rho = Cost("laplace", each).rho
    assert divergence(each) <= a * rho * (1 + 1e-9) + 1e-12
    assert divergence(split * each) + divergence((1 - split) * each) <= a * rho * (1 + 1e-9) + 1e-12


@given(st.floats(0.05, 3), st.floats(-4, 4), st.floats(-1, 1))
@settings(max_examples=200)
def test_bounded_range_is_an_eighth(each, tilt, order):
    # A two-point loss of range ε₀ has Rényi divergence at most a·ε₀²/8.
    q = 1 / (1 + math.exp(-tilt))
    p = 1 / (1 + math.exp(-tilt - each))
    a = 1 + 10**order
    divergence = math.log(p**a * q ** (1 - a) + (1 - p) ** a * (1 - q) ** (1 - a)) / (a - 1)
    assert divergence <= a * each**2 / 8 + 1e-12


def test_every_accountant_is_one_object():
    costs = {
        c.GAUSSIAN: (Cost("gaussian", 0.2, 25),),
        c.SAMPLED: (Cost("sampled gaussian", 0.2, 25, rate=0.5),),
    }
    for one in c.ACCOUNTANTS:
        assert c.accountant(one.name) is one
        assert (one.epsilon is None) != (one.delta is None)
        some = costs.get(one.name, (Cost("bounded_range", 0.1, 20),))
        assert one.admits(some, 1e-5)
        assert one.admits(some, 0.0) != one.needs_delta
        spent = c.compose(one.name, some, 1e-5)
        # The composed ε is at the edge of its budget, and within any larger budget.
        assert one.excess(some, spent, 1e-5) == pytest.approx(0, abs=1e-8)
        assert one.excess(some, spent * 1.01, 1e-5) < 0


def test_accountants_refuse_what_does_not_fit():
    mixed = (Cost("bounded_range", 0.1, 3), Cost("laplace", 0.2))
    for accountant in (c.ADAPTIVE, c.KOV, c.GAUSSIAN):
        with pytest.raises(ValueError, match=r"must fit delta = .*; it does not"):
            c.compose(accountant, mixed, 1e-5)
    with pytest.raises(ValueError, match=r"must fit delta = .*; it does not"):
        c.compose(c.ZCDP_CKS, mixed, 0.0)
    with pytest.raises(ValueError, match=r"must fit delta = .*; it does not"):
        c.compose(c.BASIC, (Cost("gaussian", 0.1),), 1e-5)
    with pytest.raises(ValueError, match="an accountant must be one of"):
        c.compose("moments", mixed, 1e-5)
    with pytest.raises(ValueError, match="kind"):
        Cost("noise", 1.0)
    with pytest.raises(ValueError, match="must have an amount > 0"):
        Cost("pure", 0.0)
