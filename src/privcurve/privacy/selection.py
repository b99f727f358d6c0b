"""Compute the cost of private selection (the best of several runs), and the budget of a run.

A run is a mechanism with totally ordered outputs. The run is repeated K times, each time with new
random numbers. Only the best output is released; K and the other outputs stay secret. K has a
truncated negative binomial distribution with shape η > −1 (η = 1: geometric, η = 0: logarithmic). A
run of a learner trains a setting; its score is the number of correctly predicted training records,
with exact noise (`privacy.discrete`) on a grid of 2^-20 of a record.

Theorems, proofs and sources are in docs/proofs.md, 'Private selection', cited by number here. The
accountant is in `accountants.compose`; the privacy statement in `privacy.noise`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np

from privcurve.lazy import arithmetic
from privcurve.privacy.accountants.cost import SAFETY, log_ratio, solve, zcdp_delta
from privcurve.privacy.budget import check_budget, is_private
from privcurve.privacy.mechanisms import LARGEST_SCALE

# Costs are multiplied by this factor, which covers a few rounding errors of 1e-16.
_ROUNDING = 1 + 1e-12
# The largest ln 1/γ that the search tries: a power of two whose exponential is still finite.
_LARGEST = 512.0
_NAME = "private selection (eta = {eta!r}, expected runs = {expected!r})"
_NAMED = re.compile(r"private selection \(eta = (\S+), expected runs = (\S+)\)")

# If a training may spend ρ, `epsilon_that_spends` stops at an ε with which it spends at least (1 −
# _NEAR)·ρ.
_NEAR = 1e-3
_MOST_STEPS = 60

# Scores with noise are integers, in which one record counts as this number of units.
UNITS = 2**20


@dataclass(frozen=True)
class Runs:
    """The distribution of the number K ≥ 1 of runs: truncated negative binomial.

    P(K = k) is proportional to (1 − γ)^k Π_{l<k} (l + η)/(l + 1). The derivative of its generating
    function f is f′(u) = E[K]·(γ/(1 − (1 − γ)u))^{1+η} ('Private selection', 1).
    """

    eta: float  # η, above −1
    expected: float  # E[K], as requested: at least 1
    gamma: float  # γ in (0, 1] for this E[K]; 1 means a single run

    @property
    def name(self) -> str:
        """The `composition` of a statement with these runs; :func:`runs_of` reads it."""
        return _NAME.format(eta=self.eta, expected=self.expected)

    @property
    def mean(self) -> float:
        """E[K], computed from γ."""
        return _mean(self.eta, -arithmetic.log(self.gamma))

    def chances(self, most: int) -> list[float]:
        """Return P(K = k) for k = 1, …, `most`."""
        if self.gamma == 1:
            return [1.0] + [0.0] * (most - 1)
        gap, log = 1 - self.gamma, arithmetic.log(self.gamma)
        first = gap / -log if self.eta == 0 else gap * self.eta / arithmetic.expm1(-self.eta * log)
        chances = [first]
        for k in range(1, most):
            chances.append(chances[-1] * gap * (k + self.eta) / (k + 1))
        return chances

    def draw(self, rng: np.random.Generator) -> int:
        """Draw K."""
        left, k = rng.random(), 1
        chance = self.chances(1)[0]
        while left >= chance > 0:
            left -= chance
            chance *= (1 - self.gamma) * (k + self.eta) / (k + 1)
            k += 1
        return k

    # What the random number of runs adds to the cost of one run ------------------------------

    def pure_slope(self, epsilon: float) -> float:
        """Bound ln f′(u)/f′(u′) for ε-DP runs; some runs attain it ('Private selection', 2).

        u and u′ are the probabilities that a run is not better than an output, on two neighbours.

        The bound is (1 + η) ln((e^ε + γ)/(1 + γe^ε)), in a form without overflow for a large ε.
        """
        shrink = arithmetic.exp(-epsilon)
        return (1 + self.eta) * arithmetic.log((1 + self.gamma * shrink) / (shrink + self.gamma))

    def rho_slope(self, rho: float) -> float:
        """Bound ln f′(u)/f′(u′) for ρ-zCDP runs (Papernot and Steinke; 'Private selection', 4).

        u and u′ are as in :meth:`pure_slope`.
        """
        log = -arithmetic.log(self.gamma)
        return (1 + self.eta) * (log if log <= rho else 2 * math.sqrt(rho * log) - rho)

    def profile_slope(self, profile: Callable[[float], float], most: float) -> float:
        """Bound ln f′(u)/f′(u′) by privacy profiles: Koskela et al. ('Private selection', 3).

        `profile` returns δ(ε) of a run, for both orders of neighbours. Any ε gives a valid bound;
        the search for a small one tries ε up to `most`.
        """
        low, high = 0.0, most
        for _ in range(60):
            middle = (low + high) / 2
            at_none, at_half = self._ratios(middle, profile(middle))
            low, high = (middle, high) if at_none > at_half else (low, middle)
        ratio = max(self._ratios(high, profile(high)))
        # For any mechanism, ln f′(u)/f′(u′) is at most (1 + η)·(−ln γ).
        return (1 + self.eta) * float(min(-arithmetic.log(self.gamma), arithmetic.log(ratio)))

    def _ratios(self, epsilon: float, delta: float) -> tuple[float, float]:
        """Return two ratios; the larger one is r in 'Private selection', 3, for ε₁ = `epsilon`."""
        delta = min(1.0, delta)
        p = (1 - delta) * arithmetic.exp(-epsilon) / (1 + arithmetic.exp(-epsilon))
        gap = 1 - self.gamma
        at_half = (self.gamma + gap * (1 - p)) / (self.gamma + gap * p)
        return 1 + gap * delta / self.gamma, at_half

    # The cost of the selection -----------------------------------------------------------------

    def epsilon(self, epsilon: float) -> float:
        """Return ε of the selection among ε-DP runs, at δ = 0: exact ('Private selection', 2)."""
        return (epsilon + self.pure_slope(epsilon)) * _ROUNDING

    def delta(self, rho: float, epsilon: float) -> float:
        """Bound δ(ε) of the selection among ρ-zCDP runs, by the better of two theorems."""
        profile = partial(zcdp_delta, rho)
        slope = min(self.rho_slope(rho), self.profile_slope(profile, epsilon))
        if slope >= epsilon:
            return 1.0
        return min(1.0, self.mean * profile(epsilon - slope) * _ROUNDING)


def _mean(eta: float, log: float) -> float:
    """Return E[K] for γ = e^{−log}."""
    if log == 0:
        return 1.0
    if eta == 0:
        return arithmetic.expm1(log) / log
    return eta * arithmetic.exp(log) * arithmetic.expm1(-log) / arithmetic.expm1(-eta * log)


@lru_cache(maxsize=256)
def runs(eta: float, expected: float) -> Runs:
    """Find the distribution of K with shape `eta` and mean `expected`.

    Raises ValueError if η is not above −1, if it is so close to −1 that γ is not representable, or
    if fewer than one run is expected.
    """
    if not -1 < eta < math.inf:
        raise ValueError(f"eta must be a number > -1; got {eta!r}")
    if not 1 <= expected < math.inf:
        raise ValueError(f"expected_runs must be a number ≥ 1; got {expected!r}")
    low, high = 0.0, 1.0
    while _mean(eta, high) < expected:
        high *= 2
        if high > _LARGEST:
            raise ValueError(
                f"eta must be larger for expected_runs = {expected!r}; got {eta!r}, too close "
                "to -1. Give a larger one, or fewer runs"
            )
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if _mean(eta, middle) < expected else (low, middle)
    return Runs(float(eta), float(expected), arithmetic.exp(-low))


def runs_of(name: str) -> Runs | None:
    """Return the runs that a statement's `composition` names; None for other compositions."""
    match = _NAMED.fullmatch(name)
    return None if match is None else runs(float(match[1]), float(match[2]))


# The budget of each run -----------------------------------------------------------------------


@dataclass(frozen=True)
class SelectionBudget:
    """The budget that private selection leaves for one run."""

    epsilon: float  # ε and δ of the choice and all trainings together; ε is finite
    delta: float
    runs: Runs
    pure: bool  # whether the cost of a run is its ε; else it is ρ of zCDP
    training: float  # the ε (or ρ) that one training may spend
    # Noise scale of a score, in units of 1/UNITS records: Laplace if `pure`, else Gaussian.
    score_scale: int

    @property
    def training_epsilon(self) -> float:
        """The ε of a training; a budget ρ is converted to ε at δ (:func:`_zcdp_epsilon`)."""
        return self.training if self.pure else _zcdp_epsilon(self.training, self.delta)


@lru_cache(maxsize=1024)
def selection_budget(
    epsilon: float,
    delta: float,
    eta: float,
    expected_runs: float,
    score_share: float,
    pure: bool | None = None,
) -> SelectionBudget:
    """Return the budget of one run with which the choice and all runs together cost (ε, δ).

    `eta` and `expected_runs` define :class:`Runs`. The score takes the share `score_share`, in
    (0, 1), of a run's ε or ρ. `pure` decides whether runs spend ε, not ρ; by default they do if
    δ = 0. Raises ValueError if the budget is out of range, or if ε is so small that nothing remains
    for a training.
    """
    check_budget(epsilon, delta)
    if not is_private(epsilon):
        raise ValueError("epsilon must be finite for a private selection; got inf")
    chosen = runs(float(eta), float(expected_runs))
    pure = delta == 0 if pure is None else pure
    if pure:
        run = solve(lambda of_run: chosen.epsilon(of_run) - epsilon, epsilon / 2) * SAFETY
    else:
        own = epsilon / (2 + eta)
        guess = own * own / (4 * arithmetic.log(1 / delta) + 2 * epsilon)
        run = solve(lambda rho: log_ratio(chosen.delta(rho, epsilon), delta), guess) * SAFETY
    # A score with noise scale s costs ε = UNITS/s, or ρ = (UNITS/s)²/2; `wanted` is UNITS/s.
    wanted = score_share * run if pure else math.sqrt(2 * score_share * run)
    if not wanted * LARGEST_SCALE > UNITS:
        raise ValueError(
            f"epsilon must be larger; got {epsilon:g}, of which nothing remains for a training. "
            "Give a larger one, or fewer expected_runs"
        )
    scale = math.ceil(UNITS / wanted)
    amount = UNITS / scale
    score = amount if pure else (amount * amount) / 2
    return SelectionBudget(epsilon, delta, chosen, pure, run - score, scale)


def epsilon_that_spends(rho: float, rho_at: Callable[[float], float], guess: float) -> float:
    """Find the ε for which a learner's calibration spends at most ρ, and at least 0.999 ρ.

    A training calibrated for ε spends `rho_at(epsilon)`, which increases with ε. The search starts
    at `guess`. If it does not converge, the result spends less.

    Raises ValueError if a training has no ρ, or if it spends more than ρ at any ε that is tried.
    """
    # ρ is nearly proportional to ε², which gives the next ε to try; it stays between `low` and
    # `high`.
    low, high, epsilon = 0.0, math.inf, guess
    for _ in range(_MOST_STEPS):
        spent = rho_at(epsilon)
        if math.isinf(spent):
            raise ValueError("a training must have a rho for delta > 0; it has none")
        if spent <= rho:
            low = epsilon
            if spent >= rho * (1 - _NEAR):
                return epsilon
        else:
            high = epsilon
        step = epsilon * math.sqrt(rho * (1 - _NEAR / 2) / spent) if spent > 0 else 2 * epsilon
        if not low < step < high:
            step = 2 * low if math.isinf(high) else (low + high) / 2
        epsilon = step
    if low > 0:
        return low
    raise ValueError(
        f"a training must spend a rho of {rho:.3g} at most; it spends more with any epsilon. Give "
        "a smaller delta, a larger epsilon, or no sampled batches (their calls cost a full rho)"
    )


@lru_cache(maxsize=1024)
def _zcdp_epsilon(rho: float, delta: float) -> float:
    """Return the ε of ρ-zCDP at δ, by the conversion of Canonne, Kamath and Steinke."""
    root = math.sqrt(rho * arithmetic.log(1 / delta))
    return solve(lambda epsilon: -log_ratio(zcdp_delta(rho, epsilon), delta), rho + 2 * root)
