"""Private selection: what the best of a random number of runs costs, and what a run may spend.

A run is a mechanism whose outputs are totally ordered. It is run K times, on coins of its own each
time, and the best output is released: neither K nor the others. K has a truncated negative binomial
distribution of the shape η > −1: 1 is the geometric, 0 the logarithmic one. Of a learner, a run
trains a setting and scores it: the number of training records that it decides right, with exact
noise (`privacy.discrete`) on a grid of 2^-20 of a record.

Statements, proofs and sources are in docs/proofs.md, 'Private selection', by the numbers given
here. The accountant of this name is in `accountants.compose`; statements are made in
`privacy.noise`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from privcurve.lazy import arithmetic
from privcurve.privacy.accountants.cost import SAFETY, log_ratio, solve, zcdp_delta
from privcurve.privacy.budget import check_budget, is_private
from privcurve.privacy.mechanisms import LARGEST_SCALE

# Room for the rounding of numbers that are compared with a budget: a few errors of 1e-16.
_ROUNDING = 1 + 1e-12
# The largest ln 1/γ: a power of two whose exponential is still finite.
_LARGEST = 512.0
_NAME = "private selection (eta = {eta!r}, expected runs = {expected!r})"
_NAMED = re.compile(r"private selection \(eta = (\S+), expected runs = (\S+)\)")

# How close, from below, a training's ρ comes to the ρ that it may spend.
_NEAR = 1e-3
_MOST_STEPS = 60

# How many units of the score a record counts for.
UNITS = 2**20


@dataclass(frozen=True)
class Runs:
    """The number of runs: a truncated negative binomial number K of at least 1.

    P(K = k) is in proportion to (1 − γ)^k Π_{l<k} (l + η)/(l + 1); its generating function has
    the slope f′(u) = E[K]·(γ/(1 − (1 − γ)u))^{1+η} ('Private selection', 1).
    """

    eta: float  # η, above −1
    expected: float  # E[K], as it was asked for: at least 1
    gamma: float  # γ in (0, 1], that gives it; 1: a single run

    @property
    def name(self) -> str:
        """The name of the composition in a statement."""
        return _NAME.format(eta=self.eta, expected=self.expected)

    @property
    def mean(self) -> float:
        """E[K] of γ."""
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

    # What one more look costs --------------------------------------------------------------

    def pure_slope(self, epsilon: float) -> float:
        """Bound ln f′(u)/f′(u′) for runs that are ε-DP: reached ('Private selection', 2).

        (1 + η) ln((e^ε + γ)/(1 + γe^ε)), written so that a large ε does no harm.
        """
        shrink = arithmetic.exp(-epsilon)
        return (1 + self.eta) * arithmetic.log((1 + self.gamma * shrink) / (shrink + self.gamma))

    def rho_slope(self, rho: float) -> float:
        """Bound ln f′(u)/f′(u′) for ρ-zCDP runs: Papernot, Steinke ('Private selection', 4)."""
        log = -arithmetic.log(self.gamma)
        return (1 + self.eta) * (log if log <= rho else 2 * math.sqrt(rho * log) - rho)

    def profile_slope(self, profile: Callable[[float], float], most: float) -> float:
        """Bound ln f′(u)/f′(u′) by privacy profiles: Koskela et al. ('Private selection', 3).

        `profile` is δ(ε) of a run, for both orders of neighbours, and `most` the largest ε that is
        looked at: whatever is found is a bound.
        """
        low, high = 0.0, most
        for _ in range(60):
            middle = (low + high) / 2
            at_none, at_half = self._ratios(middle, profile(middle))
            low, high = (middle, high) if at_none > at_half else (low, middle)
        ratio = max(self._ratios(high, profile(high)))
        # −ln γ is the logarithm of the largest possible ratio of slopes f′.
        return (1 + self.eta) * float(min(-arithmetic.log(self.gamma), arithmetic.log(ratio)))

    def _ratios(self, epsilon: float, delta: float) -> tuple[float, float]:
        """Bound the ratio at the two ends where it may be largest."""
        delta = min(1.0, delta)
        p = (1 - delta) * arithmetic.exp(-epsilon) / (1 + arithmetic.exp(-epsilon))
        gap = 1 - self.gamma
        at_half = (self.gamma + gap * (1 - p)) / (self.gamma + gap * p)
        return 1 + gap * delta / self.gamma, at_half

    # What all of it costs ------------------------------------------------------------------

    def epsilon(self, epsilon: float) -> float:
        """Return ε of the selection among ε-DP runs, at δ = 0: exact ('Private selection', 2)."""
        return (epsilon + self.pure_slope(epsilon)) * _ROUNDING

    def delta(self, rho: float, epsilon: float) -> float:
        """Bound δ(ε) of the selection among ρ-zCDP runs, by the better of two theorems."""

        def profile(each: float) -> float:
            return zcdp_delta(rho, each)

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
    """Find the distribution of K with a shape and a mean.

    Raises ValueError if η is not above −1, or so near it that no number stands for γ, or fewer runs
    than one are expected.
    """
    if not -1 < eta < math.inf:
        raise ValueError(f"eta = {eta!r} is not a number above -1")
    if not 1 <= expected < math.inf:
        raise ValueError(
            f"expected_runs = {expected!r} is not a number of at least 1: there is always one"
        )
    low, high = 0.0, 1.0
    while _mean(eta, high) < expected:
        high *= 2
        if high > _LARGEST:
            raise ValueError(
                f"eta = {eta!r} is too near -1 for expected_runs = {expected!r}: give a larger "
                "one, or fewer runs"
            )
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if _mean(eta, middle) < expected else (low, middle)
    return Runs(float(eta), float(expected), arithmetic.exp(-low))


def runs_of(name: str) -> Runs | None:
    """Return the runs of a composition; None if it has none."""
    match = _NAMED.fullmatch(name)
    return None if match is None else runs(float(match[1]), float(match[2]))


# From a budget to what each run may spend ----------------------------------------------------


@dataclass(frozen=True)
class SelectionBudget:
    """The budget that private selection leaves for one run."""

    epsilon: float  # of choice and trainings together, as δ; finite
    delta: float
    runs: Runs  # how many there are
    pure: bool  # whether a run is accounted by its ε; else by ρ of zCDP
    training: float  # ε of a training, or ρ of one
    score_scale: int  # of the noise of the score, in units: Laplace if `pure`, else Gaussian

    @property
    def training_epsilon(self) -> float:
        """ε of a training: its own, or that of ρ at δ (zCDP, CKS conversion)."""
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
    """Find what one run may spend, of the ε and δ of choice and trainings together.

    `eta` and `expected_runs` are those of :class:`Runs`; the score takes a share in (0, 1) of a
    run's ε (or ρ). `pure` says whether runs are accounted by ε although δ > 0; by default where δ =
    0. Raises ValueError if a number is out of range, or ε is so small that nothing is left for a
    training.
    """
    check_budget(epsilon, delta)
    if not is_private(epsilon):
        raise ValueError("epsilon = inf needs no noise: there is nothing to pay")
    if not 0 < score_share < 1:
        raise ValueError(f"score_share = {score_share!r} is not a number in (0, 1)")
    chosen = runs(float(eta), float(expected_runs))
    pure = delta == 0 if pure is None else pure
    if pure:
        run = solve(lambda of_run: chosen.epsilon(of_run) - epsilon, epsilon / 2) * SAFETY
    else:
        own = epsilon / (2 + eta)
        guess = own * own / (4 * arithmetic.log(1 / delta) + 2 * epsilon)
        run = solve(lambda rho: log_ratio(chosen.delta(rho, epsilon), delta), guess) * SAFETY
    # A score with scale s has ε = units/s, or ρ = (units/s)²/2.
    wanted = score_share * run if pure else math.sqrt(2 * score_share * run)
    if not wanted * LARGEST_SCALE > UNITS:
        raise ValueError(
            f"epsilon = {epsilon:g} is so small that nothing is left for a training: give a larger "
            "one, or fewer expected_runs"
        )
    scale = math.ceil(UNITS / wanted)
    amount = UNITS / scale
    score = amount if pure else (amount * amount) / 2
    return SelectionBudget(epsilon, delta, chosen, pure, run - score, scale)


def epsilon_that_spends(rho: float, rho_at: Callable[[float], float], guess: float) -> float:
    """Find the ε of a learner's own calibration that spends ρ, or a thousandth less, never more.

    What a training spends, `rho_at(epsilon)`, grows with ε; the search begins at `guess`.

    Raises ValueError if a training has no ρ, or none spends so little.
    """
    # ln ρ grows nearly in proportion to ln ε: steps use that, within a bracket.
    low, high, epsilon = 0.0, math.inf, guess
    for _ in range(_MOST_STEPS):
        spent = rho_at(epsilon)
        if math.isinf(spent):
            raise ValueError(
                "what a training spends has no rho: it can't be accounted for delta > 0"
            )
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
    raise ValueError("no epsilon is so small that a training spends what a run may")


@lru_cache(maxsize=1024)
def _zcdp_epsilon(rho: float, delta: float) -> float:
    """Return the ε of ρ-zCDP at δ, by the conversion of Canonne, Kamath and Steinke."""
    root = math.sqrt(rho * arithmetic.log(1 / delta))
    return solve(lambda epsilon: -log_ratio(zcdp_delta(rho, epsilon), delta), rho + 2 * root)
